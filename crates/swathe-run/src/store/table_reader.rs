//! Table readers: the rows of a Parquet file, a few at a time, with the wanted columns only.

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

/// A Parquet file that is open, of which no row is read yet.
pub struct TableReader {
    path: PathBuf,
    /// The file's schema and metadata, and which rows and columns are read.
    pub builder: ParquetRecordBatchReaderBuilder<File>,
}

/// The rows of a table, a few at a time, fewer if they are large.
pub struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl TableReader {
    /// Opens a table; all its columns are read.
    pub fn open(path: &Path) -> Result<TableReader, FolderError> {
        let file = regular_file::open(path).map_err(FolderError::read(path))?;
        let builder = guarded(path, || ParquetRecordBatchReaderBuilder::try_new(file))?;
        Ok(TableReader {
            path: path.to_owned(),
            builder,
        })
    }

    /// Opens the table of a run that has this name.
    pub fn of_run(run: &Path, table: &str) -> Result<TableReader, FolderError> {
        TableReader::open(&run.join(format!("{table}.parquet")))
    }

    /// Reads only columns with these names.
    pub fn columns(self, names: &[&str]) -> TableReader {
        self.columns_where(|name| names.contains(&name))
    }

    /// Reads only columns whose names are wanted.
    pub fn columns_where(self, is_wanted: impl Fn(&str) -> bool) -> TableReader {
        let fields = self.builder.schema().fields().iter().enumerate();
        let wanted = fields.filter(|(_, field)| is_wanted(field.name()));
        let mask = ProjectionMask::roots(self.builder.parquet_schema(), wanted.map(|(at, _)| at));
        TableReader {
            builder: self.builder.with_projection(mask),
            ..self
        }
    }

    /// Calls `take` with all rows, a few at a time. What it complains about is damage of the table.
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

    /// The rows.
    pub fn batches(self) -> Result<Batches, FolderError> {
        let builder = self.builder;
        let n_rows = n_rows_read(builder.metadata());
        let reader = guarded(&self.path, || builder.with_batch_size(n_rows).build())?;
        Ok(Batches {
            path: self.path,
            reader,
        })
    }
}

impl Batches {
    /// The error that something is wrong with the table.
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

/// A column of texts, whichever way it is stored.
pub fn string_column(batch: &RecordBatch, name: &str) -> Result<StringArray, String> {
    let plain = cast(column(batch, name)?, &DataType::Utf8).map_err(|error| error.to_string())?;
    Ok(plain.as_string::<i32>().clone())
}

/// A column of numbers of one type.
pub fn number_column<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, String> {
    let numbers = column(batch, name)?.as_primitive_opt::<T>();
    numbers.ok_or_else(|| format!("the column {name:?} does not hold numbers"))
}

/// A column of any type.
pub fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array, String> {
    let column = batch.column_by_name(name).map(AsRef::as_ref);
    column.ok_or_else(|| format!("it has no column {name:?}"))
}

/// How many rows to read at a time: some, but not too many bytes; one row is read whatever its size.
fn n_rows_read(metadata: &ParquetMetaData) -> usize {
    const N_ROWS_MAX: u64 = 8192;
    const N_BYTES_MAX: u64 = 4 << 20;
    let groups = metadata.row_groups().iter();
    let row_bytes =
        groups.map(|group| group.total_byte_size().max(0) as u64 / group.num_rows().max(1) as u64);
    let row_bytes = row_bytes.max().unwrap_or(0);
    (N_BYTES_MAX / row_bytes.max(1)).clamp(1, N_ROWS_MAX) as usize
}

/// Damaged files can bring the decoder to panic; nothing of it is used after an error.
fn guarded<T, E: std::fmt::Display>(
    path: &Path,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, FolderError> {
    match swathe::guarded(decode) {
        Ok(decoded) => decoded.map_err(FolderError::damaged(path)),
        Err(_) => Err(FolderError::damaged(path)("its contents cannot be decoded")),
    }
}
