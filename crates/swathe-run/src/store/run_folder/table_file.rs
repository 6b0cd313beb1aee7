//! Table files: Parquet that appears whole or not at all, and is known again by its seal.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::FolderError;
use super::manifest::Checksum;
use swathe_formats::atomic_file::AtomicFile;

/// A Parquet file in the making.
pub struct TableFile {
    writer: SerializedFileWriter<Sealing>,
    schema: SchemaRef,
    columns: ArrowRowGroupWriterFactory,
    /// The row group in the making, a writer for each of its columns; empty between two.
    group: Vec<ArrowColumnWriter>,
    n_group_rows: usize,
    group_bytes: usize,
}

impl TableFile {
    /// A row group waits in memory until it is whole, so it is cut at this size …
    const GROUP_BYTES: usize = 16 << 20;
    /// … or at this one, if it has long texts, each of which is looked for among all the others: the
    /// processor's caches can hold so much …
    const TEXT_GROUP_BYTES: usize = 4 << 20;
    /// … or at so many rows: who reads some of them must unpack them all.
    const N_GROUP_ROWS_MAX: usize = 1 << 20;
    /// Rows are encoded this part of a group at a time.
    const N_SLICES: usize = 4;

    /// Begins a table at this path, under a temporary name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path, schema: SchemaRef) -> io::Result<TableFile> {
        let sealing = Sealing {
            file: AtomicFile::create(path)?,
            hasher: blake3::Hasher::new(),
            n_bytes: 0,
        };
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("swathe ", env!("CARGO_PKG_VERSION")).to_owned());
        let mut group_bytes = Self::GROUP_BYTES;
        for field in schema.fields() {
            // Long texts that repeat: each is kept once in a row group, however much they are together.
            if matches!(field.data_type(), DataType::Dictionary(_, values) if **values == DataType::LargeUtf8)
            {
                group_bytes = Self::TEXT_GROUP_BYTES;
                let column = ColumnPath::from(field.name().as_str());
                properties = properties
                    .set_column_dictionary_page_size_limit(column.clone(), 2 * group_bytes)
                    .set_column_statistics_enabled(column, EnabledStatistics::None);
            }
            // Bulk data: no two values are alike and their order means nothing, so a dictionary
            // and statistics would only be more copies of them.
            if let DataType::LargeList(element) = field.data_type() {
                let parts = [field.name().as_str(), "list", element.name()];
                let column = ColumnPath::new(parts.map(str::to_owned).to_vec());
                properties = properties
                    .set_column_dictionary_enabled(column.clone(), false)
                    .set_column_statistics_enabled(column, EnabledStatistics::None);
            }
        }
        let (writer, columns) =
            ArrowWriter::try_new(sealing, Arc::clone(&schema), Some(properties.build()))
                .and_then(ArrowWriter::into_serialized_writer)
                .map_err(system_error)?;
        Ok(TableFile {
            writer,
            schema,
            columns,
            group: Vec::new(),
            n_group_rows: 0,
            group_bytes,
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let slice_bytes = self.group_bytes / Self::N_SLICES;
        let n_rows_slice = (slice_bytes / row_bytes(batch).max(1)).max(1);
        for from in (0..batch.num_rows()).step_by(n_rows_slice) {
            let slice = batch.slice(from, n_rows_slice.min(batch.num_rows() - from));
            self.write_slice(&slice).map_err(system_error)?;
            let sizes = self.group.iter().map(|c| c.get_estimated_total_bytes());
            if sizes.sum::<usize>() >= self.group_bytes
                || self.n_group_rows >= Self::N_GROUP_ROWS_MAX
            {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn write_slice(&mut self, slice: &RecordBatch) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            let number = self.writer.flushed_row_groups().len();
            self.group = self.columns.create_column_writers(number)?;
        }
        let mut writers = self.group.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(slice.columns()) {
            for leaf in compute_leaves(field, column)? {
                let writer = writers.next().expect("every leaf has a writer");
                writer.write(&leaf)?;
            }
        }
        self.n_group_rows += slice.num_rows();
        Ok(())
    }

    /// Rows written from here on stand in another row group than those before.
    pub fn end_group(&mut self) -> io::Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        self.n_group_rows = 0;
        let columns = std::mem::take(&mut self.group);
        let end = || {
            let mut group = self.writer.next_row_group()?;
            for column in columns {
                column.close()?.append_to_row_group(&mut group)?;
            }
            group.close()
        };
        end().map_err(system_error)?;
        Ok(())
    }

    /// Takes over a row group of a file with the same columns, as it is.
    pub(super) fn copy_group(
        &mut self,
        file: &File,
        metadata: &ParquetMetaData,
        number: usize,
    ) -> io::Result<()> {
        self.end_group()?;
        let source = metadata.row_group(number);
        let column_index = metadata.column_index().map(|groups| &groups[number]);
        let offset_index = metadata.offset_index().map(|groups| &groups[number]);
        let mut copy = || {
            let mut group = self.writer.next_row_group()?;
            for (at, column) in source.columns().iter().enumerate() {
                let chunk = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: source.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: column_index.map(|columns| columns[at].clone()),
                    offset_index: offset_index.map(|columns| columns[at].clone()),
                };
                group.append_column(file, chunk)?;
            }
            group.close()
        };
        copy().map_err(system_error)?;
        Ok(())
    }

    /// Notes a text under a key, beside the rows.
    pub(super) fn note(&mut self, key: &str, text: String) {
        let note = KeyValue::new(key.to_owned(), text);
        self.writer.append_key_value_metadata(note);
    }

    /// Syncs it and gives it its name.
    pub fn commit(mut self) -> io::Result<Checksum> {
        self.end_group()?;
        let sealing = self.writer.into_inner().map_err(system_error)?;
        let seal = Checksum {
            n_bytes: sealing.n_bytes,
            blake3: sealing.hasher.finalize().to_hex().to_string(),
        };
        sealing.file.commit()?;
        Ok(seal)
    }
}

/// The bytes of a row, roughly. A batch may be a slice of a larger one, and a dictionary is shared
/// by more rows than there are here.
pub(super) fn row_bytes(batch: &RecordBatch) -> usize {
    let column_bytes = |column: &ArrayRef| match column.as_any_dictionary_opt() {
        Some(dictionary) => {
            let words = dictionary.values();
            let word_bytes = words.get_array_memory_size() / words.len().max(1);
            column.len() * (size_of::<i32>() + word_bytes)
        }
        None => (column.to_data().get_slice_memory_size()).unwrap_or(usize::MAX),
    };
    let bytes = batch.columns().iter().map(column_bytes);
    bytes.fold(0, usize::saturating_add) / batch.num_rows().max(1)
}

/// Whether a file is still what was written, to the last byte: a flipped bit in a Parquet file can
/// pass for a number.
pub(super) fn check(path: &Path, seal: &Checksum) -> Result<(), FolderError> {
    check_length(path, seal)?;
    if Checksum::of(path).map_err(FolderError::read(path))? != *seal {
        return Err(FolderError::Damaged {
            path: path.to_owned(),
            reason: "its contents are not what was written".to_owned(),
        });
    }
    Ok(())
}

/// The quick half of [`check`].
pub(super) fn check_length(path: &Path, seal: &Checksum) -> Result<(), FolderError> {
    let damaged = |reason: String| FolderError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let n_bytes = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(damaged("it is gone".to_owned()));
        }
        Err(error) => return Err(FolderError::read(path)(error)),
    };
    if n_bytes != seal.n_bytes {
        return Err(damaged(format!(
            "it has {n_bytes} bytes, but was written with {}",
            seal.n_bytes
        )));
    }
    Ok(())
}

/// Passes bytes on and remembers what they were.
struct Sealing {
    file: AtomicFile,
    hasher: blake3::Hasher,
    n_bytes: u64,
}

impl Write for Sealing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        self.n_bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The system's own error is inside: it says whether the disk is full.
fn system_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}
