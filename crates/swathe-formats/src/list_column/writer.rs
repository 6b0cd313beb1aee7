//! Writing arrays as a Parquet list column.

use std::io::Write;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, RecordBatch, StringArray, UInt64Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use swathe::array::{Array, Dtype, Elements};

use super::ListColumnError;
use crate::arrow_elements::{arrow_array, data_type};
use crate::atomic_file::AtomicFile;

/// The largest array one row can hold: a row is in one page, whose size is a 31-bit number.
pub const ITEM_BYTES_MAX: u64 = 1 << 30;

/// A row group ends at this size, which bounds the memory of the writer.
const ROW_GROUP_BYTES: usize = 16 << 20;
const ROW_GROUP_ROWS: usize = 64 << 10;

/// Writes a Parquet file with the columns `row`, `name` and a list column.
#[derive(Debug)]
pub struct ListColumnWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    item: FieldRef,
    pending: Pending,
}

/// Rows of the current row group.
#[derive(Debug)]
struct Pending {
    rows: Vec<u64>,
    names: Vec<String>,
    values: Elements,
    /// Where each list ends; the first begins at zero.
    ends: Vec<i32>,
    is_valid: Vec<bool>,
}

impl ListColumnWriter<AtomicFile> {
    /// Creates a file that becomes `path` after [`finish`](Self::finish) and
    /// [`AtomicFile::commit`].
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, column: &str, dtype: Dtype) -> Result<Self, ListColumnError> {
        ListColumnWriter::new(AtomicFile::create(path)?, column, dtype)
    }
}

impl<W: Write + Send> ListColumnWriter<W> {
    /// Starts a file with lists of `dtype` in the column `column`.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, column: &str, dtype: Dtype) -> Result<Self, ListColumnError> {
        let item = Arc::new(Field::new("element", data_type(dtype), false));
        let described = |name: &str, data_type, description: &str| {
            let metadata = [("description".to_owned(), description.to_owned())];
            Field::new(name, data_type, false).with_metadata(metadata.into())
        };
        let schema = Arc::new(Schema::new(vec![
            described("row", DataType::UInt64, "number of the input, from 0"),
            described("name", DataType::Utf8, "name of the input"),
            described(
                column,
                DataType::List(item.clone()),
                "elements of the result; null where there is none",
            )
            .with_nullable(true),
        ]));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .build();
        Ok(ListColumnWriter {
            writer: ArrowWriter::try_new(out, schema.clone(), Some(properties))?,
            schema,
            item,
            pending: Pending::new(dtype),
        })
    }

    /// Adds a row; `None` is an input without a result. If the array is rejected, no row is added.
    ///
    /// # Errors
    /// If the array has another dtype, does not have one axis or is too large, or if `out` cannot
    /// be written.
    pub fn push(
        &mut self,
        row: u64,
        name: &str,
        array: Option<&Array>,
    ) -> Result<(), ListColumnError> {
        if let Some(array) = array {
            self.check(array)?;
            let n_bytes = self.pending.size_bytes().saturating_add(array.size_bytes());
            // Flushed before the array is added, so that a large array gets a row group of its own.
            if n_bytes > ROW_GROUP_BYTES {
                self.flush()?;
            }
            self.pending.values.append(array.elements());
        }
        self.pending.rows.push(row);
        self.pending.names.push(name.into());
        self.pending.is_valid.push(array.is_some());
        let end = i32::try_from(self.pending.values.len()).expect("a row group is under 2 GiB");
        self.pending.ends.push(end);
        if self.pending.rows.len() == ROW_GROUP_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the remaining rows and returns `out`.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn finish(mut self) -> Result<W, ListColumnError> {
        self.flush()?;
        Ok(self.writer.into_inner()?)
    }

    fn check(&self, array: &Array) -> Result<(), ListColumnError> {
        let expected = self.pending.values.dtype();
        if array.dtype() != expected {
            return Err(ListColumnError::DtypeMismatch { expected, found: array.dtype() });
        }
        if array.shape().len() != 1 {
            return Err(ListColumnError::NotOneDimensional { shape: array.shape().to_vec() });
        }
        if array.size_bytes() as u64 > ITEM_BYTES_MAX {
            return Err(ListColumnError::ItemTooLarge {
                size_bytes: array.size_bytes() as u64,
                max_bytes: ITEM_BYTES_MAX,
            });
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ListColumnError> {
        if self.pending.rows.is_empty() {
            return Ok(());
        }
        let empty = Pending::new(self.pending.values.dtype());
        let pending = mem::replace(&mut self.pending, empty);
        let offsets: Vec<i32> = std::iter::once(0).chain(pending.ends).collect();
        let lists = ListArray::try_new(
            self.item.clone(),
            OffsetBuffer::new(offsets.into()),
            arrow_array(pending.values),
            Some(NullBuffer::from(pending.is_valid)),
        )
        .map_err(ParquetError::from)?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(pending.rows)),
            Arc::new(StringArray::from(pending.names)),
            Arc::new(lists),
        ];
        let batch =
            RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from)?;
        self.writer.write(&batch)?;
        self.writer.flush()?;
        Ok(())
    }
}

impl Pending {
    fn new(dtype: Dtype) -> Pending {
        Pending {
            rows: Vec::new(),
            names: Vec::new(),
            values: Elements::empty(dtype),
            ends: Vec::new(),
            is_valid: Vec::new(),
        }
    }

    fn size_bytes(&self) -> usize {
        self.values.len() * self.values.dtype().size_bytes()
    }
}
