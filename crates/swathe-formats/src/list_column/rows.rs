//! Rows of a list column, decoded batch by batch.

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

/// One row: its number, its name, and its array (or, in a survey, the array's extents).
#[derive(Clone, Debug, PartialEq)]
pub struct Item<T = Array> {
    /// The row's number in the file, from 0.
    pub row: u64,
    /// The name, or the row's number where there is none.
    pub name: String,
    /// What the row holds, or why it is of no use.
    pub content: Result<T, ItemError>,
}

/// Decodes some rows front to back, a few megabytes at a time. After an error nothing more comes.
#[derive(Debug)]
pub struct Batches {
    decoder: Option<ParquetRecordBatchReader>,
    column: String,
    names: Option<String>,
    shapes: Option<String>,
    dtype: Dtype,
    /// Rows that have not come yet.
    left: Range<u64>,
    n_asked: u64,
}

/// Rows that follow one another, decoded.
#[derive(Debug)]
pub struct Batch {
    first_row: u64,
    n_rows: usize,
    lists: Lists,
    names: Option<StringArray>,
}

impl Batches {
    /// The names are decoded only where they are wanted.
    pub(super) fn new(
        column: &ListColumn,
        rows: Range<u64>,
        has_names: bool,
    ) -> Result<Batches, ListColumnError> {
        let last = rows.start.max(rows.end);
        if last > column.n_rows {
            return Err(ListColumnError::RowOutOfRange {
                row: last,
                n_rows: column.n_rows,
            });
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

    /// The number of the row that comes next.
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
            // The decoder may have stopped half-way and must not be used again.
            self.decoder = None;
        }
        batch.transpose()
    }
}

impl Batch {
    /// The rows that are here.
    pub fn rows(&self) -> Range<u64> {
        self.first_row..self.first_row + self.n_rows as u64
    }

    /// The array of a row that is here.
    pub fn array(&self, row: u64) -> Result<Array, ItemError> {
        self.lists.array((row - self.first_row) as usize)
    }

    /// The memory it occupies, roughly.
    pub fn size_bytes(&self) -> usize {
        self.lists.size_bytes()
    }

    fn item<T>(
        &self,
        idx: usize,
        names: Option<&str>,
        content: fn(&Lists, usize) -> Result<T, ItemError>,
    ) -> Item<T> {
        let row = self.first_row + idx as u64;
        let content = content(&self.lists, idx);
        let (name, content) = match (&self.names, names) {
            (Some(names), _) if names.is_valid(idx) => (names.value(idx).to_owned(), content),
            (Some(_), Some(column)) => (
                row.to_string(),
                Err(ItemError::NullName {
                    column: column.into(),
                }),
            ),
            _ => (row.to_string(), content),
        };
        Item { row, name, content }
    }
}

/// The items of some rows one by one, made by `content` of their lists.
pub(super) fn items<T>(
    mut batches: Batches,
    content: fn(&Lists, usize) -> Result<T, ItemError>,
) -> impl Iterator<Item = Result<Item<T>, ListColumnError>> {
    let mut batch: Option<(Batch, usize)> = None;
    std::iter::from_fn(move || {
        loop {
            if let Some((batch, n_done)) = &mut batch
                && *n_done < batch.n_rows
            {
                *n_done += 1;
                let item = batch.item(*n_done - 1, batches.names.as_deref(), content);
                return Some(Ok(item));
            }
            // Before the next one is decoded: two need not be held.
            batch = None;
            match batches.next()? {
                Ok(decoded) => batch = Some((decoded, 0)),
                Err(error) => return Some(Err(error)),
            }
        }
    })
}
