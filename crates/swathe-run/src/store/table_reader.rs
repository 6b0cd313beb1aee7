//! Table readers: read selected columns of a Parquet file in batches of rows.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;

use crate::store::run_folder::FolderError;
use swathe_formats::regular_file;

/// An open Parquet file. No row has been read yet.
pub struct TableReader {
    path: PathBuf,
    /// The file's schema and metadata, and the selection of rows and columns.
    pub builder: ParquetRecordBatchReaderBuilder<File>,
}

/// The rows of a table in batches, which are smaller if the rows are large.
pub struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl TableReader {
    /// Opens a table with all its columns selected.
    ///
    /// # Errors
    /// If the file is missing, is not a regular file, or is not valid Parquet.
    pub fn open(path: &Path) -> Result<TableReader, FolderError> {
        let file = regular_file::open(path).map_err(FolderError::read(path))?;
        let builder = guarded(path, || ParquetRecordBatchReaderBuilder::try_new(file))?;
        Ok(TableReader { path: path.to_owned(), builder })
    }

    /// Opens the table with this name in a run folder.
    ///
    /// # Errors
    /// As for [`open`](TableReader::open).
    pub fn of_run(run: &Path, table: &str) -> Result<TableReader, FolderError> {
        TableReader::open(&run.join(format!("{table}.parquet")))
    }

    /// Selects only the columns with these names.
    pub fn columns(self, names: &[&str]) -> TableReader {
        self.columns_where(|name| names.contains(&name))
    }

    /// Selects only the columns whose names `is_wanted` accepts.
    pub fn columns_where(self, is_wanted: impl Fn(&str) -> bool) -> TableReader {
        let fields = self.builder.schema().fields().iter().enumerate();
        let wanted = fields.filter(|(_, field)| is_wanted(field.name()));
        let mask = ProjectionMask::roots(self.builder.parquet_schema(), wanted.map(|(at, _)| at));
        TableReader { builder: self.builder.with_projection(mask), ..self }
    }

    /// Selects only `n_rows` rows, from the one at `first` on.
    #[must_use]
    pub fn slice(self, first: usize, n_rows: usize) -> TableReader {
        let builder = self.builder.with_offset(first).with_limit(n_rows);
        TableReader { builder, ..self }
    }

    /// Calls `take` with each batch of rows. An error of `take` means that the table is damaged.
    ///
    /// # Errors
    /// If a batch cannot be decoded, or if `take` fails.
    pub fn for_each(
        self,
        mut take: impl FnMut(&RecordBatch) -> Result<(), String>,
    ) -> Result<(), FolderError> {
        let path = self.path.clone();
        for batch in self.batches()? {
            take(&batch?).map_err(FolderError::damaged(&path))?;
        }
        Ok(())
    }

    /// Starts to read the selected rows and columns.
    ///
    /// # Errors
    /// If the file cannot be decoded.
    pub fn batches(self) -> Result<Batches, FolderError> {
        let builder = self.builder;
        let n_rows = n_rows_read(builder.metadata());
        let reader = guarded(&self.path, || builder.with_batch_size(n_rows).build())?;
        Ok(Batches { path: self.path, reader })
    }
}

impl Batches {
    /// The error for a table that is damaged for this reason.
    pub fn damaged(&self, reason: &str) -> FolderError {
        FolderError::damaged(&self.path)(reason)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, FolderError>;

    fn next(&mut self) -> Option<Self::Item> {
        guarded(&self.path, || self.reader.next().transpose()).transpose()
    }
}

/// A column of strings, whether or not it is dictionary-encoded.
///
/// # Errors
/// If there is no such column, or if its values cannot be cast to strings.
pub fn string_column(batch: &RecordBatch, name: &str) -> Result<StringArray, String> {
    let plain = cast(column(batch, name)?, &DataType::Utf8).map_err(|error| error.to_string())?;
    Ok(plain.as_string::<i32>().clone())
}

/// A column of numbers of one type.
///
/// # Errors
/// If there is no such column, or if it has another type.
pub fn number_column<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, String> {
    let numbers = column(batch, name)?.as_primitive_opt::<T>();
    numbers.ok_or_else(|| format!("the column {name:?} does not hold numbers"))
}

/// A column of any type.
///
/// # Errors
/// If there is no such column.
pub fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array, String> {
    let column = batch.column_by_name(name).map(AsRef::as_ref);
    column.ok_or_else(|| format!("it has no column {name:?}"))
}

/// How many rows to read at a time: limited in rows and in bytes, but at least one.
fn n_rows_read(metadata: &ParquetMetaData) -> usize {
    const N_ROWS_MAX: u64 = 8192;
    const N_BYTES_MAX: u64 = 4 << 20;
    let groups = metadata.row_groups().iter();
    let row_bytes =
        groups.map(|group| group.total_byte_size().max(0) as u64 / group.num_rows().max(1) as u64);
    let row_bytes = row_bytes.max().unwrap_or(0);
    (N_BYTES_MAX / row_bytes.max(1)).clamp(1, N_ROWS_MAX) as usize
}

/// A damaged file can make the decoder panic. The panic becomes an error, after which the decoder
/// is not used again.
pub(super) fn guarded<T, E: std::fmt::Display>(
    path: &Path,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, FolderError> {
    match swathe::guarded(decode) {
        Ok(decoded) => decoded.map_err(FolderError::damaged(path)),
        Err(_) => Err(FolderError::damaged(path)("its contents cannot be decoded")),
    }
}
