//! Table files: Parquet that appears whole or not at all, and is known again by its seal.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::FolderError;
use super::manifest::Seal;
use crate::atomic_file::AtomicFile;

/// A Parquet file in the making.
pub(crate) struct TableFile {
    writer: ArrowWriter<Sealing>,
}

impl TableFile {
    /// A row group waits in memory until it is whole, so it is cut at this size, not at a number
    /// of rows.
    const ROW_GROUP_BYTES: usize = 16 << 20;
    /// Rows are encoded this much at a time.
    const SLICE_BYTES: usize = 4 << 20;

    pub(crate) fn create(path: &Path, schema: SchemaRef) -> io::Result<TableFile> {
        let sealing = Sealing {
            file: AtomicFile::create(path)?,
            hasher: blake3::Hasher::new(),
            n_bytes: 0,
        };
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("swathe ", env!("CARGO_PKG_VERSION")).to_owned());
        for field in schema.fields() {
            // Long texts that repeat: each is kept once in a row group, however much they are together.
            if matches!(field.data_type(), DataType::Dictionary(_, values) if **values == DataType::LargeUtf8)
            {
                let column = ColumnPath::from(field.name().as_str());
                properties = properties
                    .set_column_dictionary_page_size_limit(
                        column.clone(),
                        2 * Self::ROW_GROUP_BYTES,
                    )
                    .set_column_statistics_enabled(column, EnabledStatistics::None);
            }
            // Bulk data: no two values are alike and their order means nothing, so a dictionary
            // and statistics would only be more copies of them.
            if *field.data_type() == DataType::LargeBinary {
                let column = ColumnPath::from(field.name().as_str());
                properties = properties
                    .set_column_dictionary_enabled(column.clone(), false)
                    .set_column_statistics_enabled(column, EnabledStatistics::None);
            }
        }
        let properties = properties.build();
        let writer =
            ArrowWriter::try_new(sealing, schema, Some(properties)).map_err(system_error)?;
        Ok(TableFile { writer })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let row_bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
        let n_rows_slice = (Self::SLICE_BYTES / row_bytes.max(1)).max(1);
        for from in (0..batch.num_rows()).step_by(n_rows_slice) {
            let slice = batch.slice(from, n_rows_slice.min(batch.num_rows() - from));
            self.writer.write(&slice).map_err(system_error)?;
            if self.writer.in_progress_size() >= Self::ROW_GROUP_BYTES {
                self.writer.flush().map_err(system_error)?;
            }
        }
        Ok(())
    }

    /// Syncs it and gives it its name.
    pub(crate) fn commit(self) -> io::Result<Seal> {
        let sealing = self.writer.into_inner().map_err(system_error)?;
        let seal = Seal {
            n_bytes: sealing.n_bytes,
            blake3: sealing.hasher.finalize().to_hex().to_string(),
        };
        sealing.file.commit()?;
        Ok(seal)
    }
}

/// Whether a file is still what was written, to the last byte: a flipped bit in a Parquet file can
/// pass for a number.
pub(super) fn check(path: &Path, seal: &Seal) -> Result<(), FolderError> {
    check_length(path, seal)?;
    let mut file = File::open(path).map_err(FolderError::read(path))?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer).map_err(FolderError::read(path))? {
            0 => break,
            n => hasher.update(&buffer[..n]),
        };
    }
    if hasher.finalize().to_hex().as_str() != seal.blake3 {
        return Err(FolderError::Damaged {
            path: path.to_owned(),
            reason: "its contents are not what was written".to_owned(),
        });
    }
    Ok(())
}

/// The quick half of [`check`].
pub(super) fn check_length(path: &Path, seal: &Seal) -> Result<(), FolderError> {
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
            "it has {n_bytes} bytes, the manifest says {}",
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
