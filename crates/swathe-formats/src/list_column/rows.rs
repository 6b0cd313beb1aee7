//! The rows of a list column, decoded batch by batch.

use std::fmt::Write as _;
use std::ops::Range;

use arrow::array::{Array as ArrowArray, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::errors::ParquetError;
use swathe::array::{Array, Dtype};

use super::guard::guarded;
use super::lists::Lists;
use super::{ItemError, ListColumn, ListColumnError, Root};

/// One row: its number, its name and its array.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The row's number in the file, from 0.
    pub row: u64,
    /// The name, or the row's number if it has none.
    pub name: String,
    /// The row's content, or why it cannot be used.
    pub content: Result<Array, ItemError>,
}

/// What a survey tells of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Surveyed<'a> {
    /// The row's number in the file, from 0.
    pub row: u64,
    /// The name, or the row's number where there is none.
    pub name: &'a str,
    /// The array's extents, or why it is of no use.
    pub shape: Result<&'a [usize], ItemError>,
}

/// Decodes rows in order, a few megabytes at a time. The iterator ends after an error.
#[derive(Debug)]
pub struct Batches {
    decoder: Option<ParquetRecordBatchReader>,
    column: String,
    names: Option<String>,
    shapes: Option<String>,
    dtype: Dtype,
    /// Rows that are not decoded yet.
    left: Range<u64>,
    n_asked: u64,
}

/// Consecutive decoded rows.
#[derive(Debug)]
pub struct Batch {
    first_row: u64,
    n_rows: usize,
    lists: Lists,
    names: Option<StringArray>,
}

impl Batches {
    /// Opens a decoder for `rows`. The names are decoded only if `has_names` is set.
    pub(super) fn new(
        column: &ListColumn,
        rows: Range<u64>,
        has_names: bool,
    ) -> Result<Batches, ListColumnError> {
        let last = rows.start.max(rows.end);
        if last > column.n_rows {
            return Err(ListColumnError::RowOutOfRange { row: last, n_rows: column.n_rows });
        }
        let names = column.names.as_ref().filter(|_| has_names);
        let decoder = match rows.is_empty() {
            true => None,
            false => Some(guarded(|| column.decoder(&rows, names))?),
        };
        let name_of = |root: &Root| root.name.clone();
        Ok(Batches {
            decoder,
            column: column.column.name.clone(),
            names: names.map(name_of),
            shapes: column.shapes.as_ref().map(name_of),
            dtype: column.dtype,
            n_asked: rows.end.saturating_sub(rows.start),
            left: rows,
        })
    }

    /// The number of the next row.
    pub fn next_row(&self) -> u64 {
        self.left.start
    }

    fn decode(&mut self) -> Result<Option<Batch>, ListColumnError> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(None);
        };
        let decoded = guarded(|| match decoder.next() {
            None => Ok(None),
            Some(batch) => Ok(Some(batch.map_err(ParquetError::from)?)),
        })?;
        let Some(decoded) = decoded else {
            self.decoder = None;
            if !self.left.is_empty() {
                return Err(ListColumnError::RowsMissing {
                    expected: self.n_asked,
                    actual: self.n_asked - (self.left.end - self.left.start),
                });
            }
            return Ok(None);
        };
        let batch = guarded(|| self.batch(&decoded))?;
        self.left.start += batch.n_rows as u64;
        Ok(Some(batch))
    }

    fn batch(&self, decoded: &RecordBatch) -> Result<Batch, ListColumnError> {
        let column = |name: &str| -> Result<&ArrayRef, ListColumnError> {
            let column = decoded.column_by_name(name);
            column.ok_or_else(|| ListColumnError::NoSuchColumn {
                column: name.into(),
                columns: super::names_of(decoded.schema().fields()),
            })
        };
        let shapes = self.shapes.as_deref().map(column).transpose()?;
        let names = match self.names.as_deref() {
            None => None,
            Some(name) => {
                let text = cast(column(name)?, &DataType::Utf8).map_err(ParquetError::from)?;
                Some(text.as_string::<i32>().clone())
            }
        };
        let lists = column(&self.column)?;
        let found = || ListColumnError::NotAList {
            column: self.column.clone(),
            found: lists.data_type().to_string(),
        };
        Ok(Batch {
            first_row: self.left.start,
            n_rows: decoded.num_rows(),
            lists: Lists::new(lists, self.dtype, shapes).ok_or_else(found)?,
            names,
        })
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, ListColumnError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.decode();
        if batch.is_err() {
            // The decoder may be in an inconsistent state and must not be used again.
            self.decoder = None;
        }
        batch.transpose()
    }
}

impl Batch {
    /// The rows of this batch.
    pub fn rows(&self) -> Range<u64> {
        self.first_row..self.first_row + self.n_rows as u64
    }

    /// The array of a row of this batch.
    ///
    /// # Errors
    /// If the row's list or elements are null, or do not form an array.
    ///
    /// # Panics
    /// If the row is not in this batch.
    pub fn array(&self, row: u64) -> Result<Array, ItemError> {
        self.lists.array((row - self.first_row) as usize)
    }

    /// The approximate memory of the batch.
    pub fn size_bytes(&self) -> usize {
        self.lists.size_bytes()
    }

    /// The name of row `idx` of the batch; `column` names the rows, if any does.
    fn name(&self, idx: usize, column: Option<&str>) -> Result<Option<&str>, ItemError> {
        match (&self.names, column) {
            (Some(names), _) if names.is_valid(idx) => Ok(Some(names.value(idx))),
            (Some(_), Some(column)) => Err(ItemError::NullName { column: column.into() }),
            _ => Ok(None),
        }
    }

    fn item(&self, idx: usize, column: Option<&str>) -> Item {
        let row = self.first_row + idx as u64;
        let name = self.name(idx, column);
        Item {
            row,
            name: match name {
                Ok(Some(name)) => name.to_owned(),
                _ => row.to_string(),
            },
            content: name.and_then(|_| self.lists.array(idx)),
        }
    }
}

/// The items of the rows one by one; `content` computes an item's content from its list.
pub(super) fn survey(
    mut batches: Batches,
    each: &mut dyn FnMut(Surveyed<'_>),
) -> Result<(), ListColumnError> {
    let (mut number, mut shape) = (String::new(), Vec::new());
    while let Some(batch) = batches.next().transpose()? {
        for idx in 0..batch.n_rows {
            let row = batch.first_row + idx as u64;
            let name = batch.name(idx, batches.names.as_deref());
            let place = match &name {
                Ok(_) => batch.lists.place(idx, &mut shape).map(drop),
                Err(error) => Err(error.clone()),
            };
            let name = match name {
                Ok(Some(name)) => name,
                _ => {
                    number.clear();
                    let _ = write!(number, "{row}");
                    &number
                }
            };
            each(Surveyed { row, name, shape: place.map(|()| shape.as_slice()) });
        }
    }
    Ok(())
}

/// The items of some rows one by one.
pub(super) fn items(mut batches: Batches) -> impl Iterator<Item = Result<Item, ListColumnError>> {
    let mut batch: Option<(Batch, usize)> = None;
    std::iter::from_fn(move || {
        loop {
            if let Some((batch, n_done)) = &mut batch
                && *n_done < batch.n_rows
            {
                *n_done += 1;
                let item = batch.item(*n_done - 1, batches.names.as_deref());
                return Some(Ok(item));
            }
            // Dropped before the next batch is decoded, so that only one is in memory.
            batch = None;
            match batches.next()? {
                Ok(decoded) => batch = Some((decoded, 0)),
                Err(error) => return Some(Err(error)),
            }
        }
    })
}
