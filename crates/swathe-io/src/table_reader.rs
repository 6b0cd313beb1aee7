//! Table readers: the rows of a Parquet file, a few at a time, with the wanted columns only.

use std::fs::File;
use std::path::Path;

use arrow::datatypes::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::run_folder::FolderError;

/// A Parquet file and the columns of it that are read.
pub(crate) struct Table {
    /// All columns.
    pub(crate) schema: SchemaRef,
    /// The rows, with the wanted columns only.
    pub(crate) reader: ParquetRecordBatchReader,
}

/// Opens a table; rows are read a few at a time, fewer if they are large.
pub(crate) fn open(path: &Path, keep: &dyn Fn(&str) -> bool) -> Result<Table, FolderError> {
    const N_ROWS_READ: u64 = 1024;
    const N_BYTES_READ: u64 = 4 << 20;
    let damaged = |reason: String| FolderError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let file = File::open(path).map_err(|source| FolderError::Read {
        path: path.to_owned(),
        source,
    })?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| damaged(error.to_string()))?;
    let schema = builder.schema().clone();
    let kept = schema.fields().iter().enumerate();
    let kept = kept
        .filter(|(_, field)| keep(field.name()))
        .map(|(at, _)| at);
    let mask = ProjectionMask::roots(builder.parquet_schema(), kept);
    let groups = builder.metadata().row_groups().iter();
    let n_bytes: i64 = groups.map(|group| group.total_byte_size()).sum();
    let n_rows = builder.metadata().file_metadata().num_rows().max(1);
    let row_bytes = (n_bytes.max(1) as u64 / n_rows as u64).max(1);
    let reader = builder
        .with_projection(mask)
        .with_batch_size((N_BYTES_READ / row_bytes).clamp(1, N_ROWS_READ) as usize)
        .build()
        .map_err(|error| damaged(error.to_string()))?;
    Ok(Table { schema, reader })
}
