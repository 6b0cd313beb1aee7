//! Rows of a list column, decoded batch by batch.

use std::ops::Range;

use arrow::array::{Array as ArrowArray, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::errors::ParquetError;
use swathe::array::{Array, Dtype};

use super::guard::guarded;
use super::lists::Lists;
use super::{ItemError, ListColumn, ListColumnError};

/// One row: its number, its name, and its array (or, in a survey, its number of elements).
#[derive(Clone, Debug, PartialEq)]
pub struct Item<T = Array> {
    /// The row's number in the file, from 0.
    pub row: u64,
    /// The name, or the row's number where there is none.
    pub name: String,
    /// What the row holds, or why it is of no use.
    pub content: Result<T, ItemError>,
}

/// Iterates over the items of some rows. After an error of the file itself nothing more comes.
#[derive(Debug)]
pub struct Rows {
    decoder: Option<ParquetRecordBatchReader>,
    batch: Option<Batch>,
    column: String,
    names: Option<String>,
    dtype: Dtype,
    /// Rows that have not come yet.
    left: Range<u64>,
    n_asked: u64,
}

/// A decoded batch and how many of its rows have been handed on.
#[derive(Debug)]
struct Batch {
    lists: Lists,
    names: Option<StringArray>,
    n_rows: usize,
    n_done: usize,
}

impl Rows {
    pub(super) fn new(column: &ListColumn, rows: Range<u64>) -> Result<Rows, ListColumnError> {
        let last = rows.start.max(rows.end);
        if last > column.n_rows {
            return Err(ListColumnError::RowOutOfRange {
                row: last,
                n_rows: column.n_rows,
            });
        }
        let decoder = if rows.is_empty() {
            None
        } else {
            Some(guarded(|| column.decoder(&rows))?)
        };
        Ok(Rows {
            decoder,
            batch: None,
            column: column.column.name.clone(),
            names: column.names.as_ref().map(|names| names.name.clone()),
            dtype: column.dtype,
            n_asked: rows.end.saturating_sub(rows.start),
            left: rows,
        })
    }

    /// The same rows with the number of elements in place of the array.
    pub(super) fn sizes(mut self) -> impl Iterator<Item = Result<Item<usize>, ListColumnError>> {
        std::iter::from_fn(move || self.next_with(Lists::size))
    }

    fn next_with<T>(
        &mut self,
        content: impl Fn(&Lists, usize) -> Result<T, ItemError>,
    ) -> Option<Result<Item<T>, ListColumnError>> {
        while self.batch.as_ref().is_none_or(Batch::is_done) {
            match self.decode() {
                Ok(Some(batch)) => self.batch = Some(batch),
                Ok(None) => return None,
                Err(error) => {
                    // It may have stopped half-way: nobody shall see it again.
                    self.decoder = None;
                    return Some(Err(error));
                }
            }
        }
        let batch = self.batch.as_mut()?;
        let row = self.left.next()?;
        let idx = batch.n_done;
        batch.n_done += 1;
        let content = match guarded(|| Ok(content(&batch.lists, idx))) {
            Ok(content) => content,
            Err(error) => {
                (self.decoder, self.batch) = (None, None);
                return Some(Err(error));
            }
        };
        let (name, content) = match (&batch.names, &self.names) {
            (Some(names), _) if names.is_valid(idx) => (names.value(idx).to_owned(), content),
            (Some(_), Some(column)) => (
                row.to_string(),
                Err(ItemError::NullName {
                    column: column.clone(),
                }),
            ),
            _ => (row.to_string(), content),
        };
        Some(Ok(Item { row, name, content }))
    }

    fn decode(&mut self) -> Result<Option<Batch>, ListColumnError> {
        self.batch = None;
        let Some(decoder) = &mut self.decoder else {
            return Ok(None);
        };
        let (column, names, dtype) = (&self.column, self.names.as_deref(), self.dtype);
        let batch = guarded(|| match decoder.next() {
            None => Ok(None),
            Some(batch) => {
                let batch = batch.map_err(ParquetError::from)?;
                Batch::new(&batch, column, names, dtype).map(Some)
            }
        })?;
        if batch.is_none() {
            self.decoder = None;
            if !self.left.is_empty() {
                return Err(ListColumnError::RowsMissing {
                    expected: self.n_asked,
                    actual: self.n_asked - (self.left.end - self.left.start),
                });
            }
        }
        Ok(batch)
    }
}

impl Iterator for Rows {
    type Item = Result<Item, ListColumnError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_with(Lists::array)
    }
}

impl Batch {
    fn new(
        batch: &RecordBatch,
        column: &str,
        names: Option<&str>,
        dtype: Dtype,
    ) -> Result<Batch, ListColumnError> {
        let missing = |column: &str| ListColumnError::NoSuchColumn {
            column: column.into(),
            columns: batch
                .schema()
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
        };
        let lists = batch
            .column_by_name(column)
            .ok_or_else(|| missing(column))?;
        let names = match names {
            None => None,
            Some(name) => {
                let names = batch.column_by_name(name).ok_or_else(|| missing(name))?;
                let text = cast(names, &DataType::Utf8).map_err(ParquetError::from)?;
                Some(text.as_string::<i32>().clone())
            }
        };
        Ok(Batch {
            lists: Lists {
                column: lists.as_list::<i32>().clone(),
                dtype,
            },
            names,
            n_rows: batch.num_rows(),
            n_done: 0,
        })
    }

    fn is_done(&self) -> bool {
        self.n_done == self.n_rows
    }
}
