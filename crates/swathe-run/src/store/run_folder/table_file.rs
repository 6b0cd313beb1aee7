//! Table files: Parquet files that are written atomically and have a checksum.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use bytes::{Buf as _, Bytes};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::manifest::Checksum;
use super::{FolderError, bulk_column};
use swathe_formats::atomic_file::AtomicFile;

/// A Parquet file that is being written.
pub struct TableFile {
    writer: SerializedFileWriter<HashingWriter>,
    schema: SchemaRef,
    columns: ArrowRowGroupWriterFactory,
    /// The leaf columns of the current row group; empty between two groups.
    group: Vec<LeafColumn>,
    n_group_rows: usize,
    group_bytes: usize,
    /// Whether the file has indices of pages.
    is_indexed: bool,
    /// Reused memory for columns that are copied: fresh memory costs more than copying.
    copied: Vec<u8>,
}

/// A leaf column of a row group in the making.
enum LeafColumn {
    Encoded(Box<ArrowColumnWriter>),
    /// Encoded when the group ends: until then its arrays are only referred to.
    Bulk(FieldRef, Vec<ArrayRef>),
}

impl LeafColumn {
    fn size_bytes(&self) -> usize {
        match self {
            LeafColumn::Encoded(writer) => writer.get_estimated_total_bytes(),
            LeafColumn::Bulk(_, arrays) => arrays.iter().map(bulk_column::size_bytes).sum(),
        }
    }
}

impl TableFile {
    /// A row group is held in memory until it is complete, so it ends at this size …
    const GROUP_BYTES: usize = 16 << 20;
    /// … or at this size if a column holds long texts: the dictionary is searched for each text and
    /// should fit into the processor's caches …
    const TEXT_GROUP_BYTES: usize = 4 << 20;
    /// … or at this many rows, because a reader must decode a row group to read some of its rows.
    const N_GROUP_ROWS_MAX: usize = 1 << 20;
    /// Rows are encoded in slices of this fraction of a row group.
    const N_SLICES: usize = 4;

    /// Creates a table for this path, under a temporary name.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, schema: SchemaRef) -> io::Result<TableFile> {
        let sealing = HashingWriter {
            file: AtomicFile::create(path)?,
            hasher: blake3::Hasher::new(),
            buffer: Vec::with_capacity(HashingWriter::BUFFER_BYTES),
        };
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("swathe ", env!("CARGO_PKG_VERSION")).to_owned());
        // The Parquet crate writes indices of pages for all columns or for none, and bulk columns
        // have none.
        let mut data_types = schema.fields().iter().map(|field| field.data_type());
        let is_indexed = !data_types.any(bulk_column::is_bulk);
        if !is_indexed {
            properties = properties
                .set_statistics_enabled(EnabledStatistics::Chunk)
                .set_offset_index_disabled(true);
        }
        let mut group_bytes = Self::GROUP_BYTES;
        for field in schema.fields() {
            // Long texts that repeat: the dictionary holds each text once per row group, whatever
            // its size.
            if matches!(field.data_type(), DataType::Dictionary(_, values) if **values == DataType::LargeUtf8)
            {
                group_bytes = Self::TEXT_GROUP_BYTES;
                let column = ColumnPath::from(field.name().as_str());
                properties = properties
                    .set_column_dictionary_page_size_limit(column.clone(), 2 * group_bytes)
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
            is_indexed,
            copied: Vec::new(),
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If the rows cannot be encoded or written.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let slice_bytes = self.group_bytes / Self::N_SLICES;
        let n_rows_slice = (slice_bytes / row_bytes(batch).max(1)).max(1);
        for from in (0..batch.num_rows()).step_by(n_rows_slice) {
            let slice = batch.slice(from, n_rows_slice.min(batch.num_rows() - from));
            self.write_slice(&slice).map_err(system_error)?;
            let sizes = self.group.iter().map(LeafColumn::size_bytes);
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
            let mut writers = self.columns.create_column_writers(number)?.into_iter();
            for field in self.schema.fields() {
                let n_leaves = n_leaves(field.data_type());
                let leaves = writers.by_ref().take(n_leaves);
                match bulk_column::is_bulk(field.data_type()) {
                    false => {
                        self.group.extend(leaves.map(|leaf| LeafColumn::Encoded(Box::new(leaf))))
                    }
                    true => {
                        leaves.for_each(drop);
                        let bulk = LeafColumn::Bulk(Arc::clone(field), Vec::new());
                        self.group.push(bulk);
                    }
                }
            }
        }
        let mut leaves = self.group.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(slice.columns()) {
            if bulk_column::is_bulk(field.data_type()) {
                if let Some(LeafColumn::Bulk(_, arrays)) = leaves.next() {
                    arrays.push(Arc::clone(column));
                }
                continue;
            }
            for leaf in compute_leaves(field, column)? {
                if let Some(LeafColumn::Encoded(writer)) = leaves.next() {
                    writer.write(&leaf)?;
                }
            }
        }
        self.n_group_rows += slice.num_rows();
        Ok(())
    }

    /// Ends the current row group. Later rows go into a new one.
    ///
    /// # Errors
    /// If the row group cannot be written.
    pub fn end_group(&mut self) -> io::Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        self.n_group_rows = 0;
        let leaves = std::mem::take(&mut self.group);
        let columns = self.writer.schema_descr().columns().to_vec();
        let end = || {
            let mut group = self.writer.next_row_group()?;
            for (leaf, column) in leaves.into_iter().zip(columns) {
                match leaf {
                    LeafColumn::Encoded(writer) => {
                        writer.close()?.append_to_row_group(&mut group)?;
                    }
                    LeafColumn::Bulk(field, arrays) => {
                        bulk_column::append(&mut group, column, &field, &arrays)?;
                    }
                }
            }
            group.close()
        };
        end().map_err(system_error)?;
        Ok(())
    }

    /// Copies a row group of a file with the same columns without decoding it.
    pub(super) fn copy_group(
        &mut self,
        file: &File,
        metadata: &ParquetMetaData,
        number: usize,
    ) -> io::Result<()> {
        self.end_group()?;
        let source = metadata.row_group(number);
        let indexed = Some(metadata).filter(|_| self.is_indexed);
        let column_index = indexed.and_then(|metadata| Some(&metadata.column_index()?[number]));
        let offset_index = indexed.and_then(|metadata| Some(&metadata.offset_index()?[number]));
        let buffer = &mut self.copied;
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
                let bytes = ColumnBytes::read(file, column, std::mem::take(buffer))?;
                group.append_column(&bytes, chunk)?;
                *buffer = bytes.into_buffer();
            }
            group.close()
        };
        copy().map_err(system_error)?;
        Ok(())
    }

    /// Adds a key and a value to the file's metadata.
    pub(super) fn note(&mut self, key: &str, text: String) {
        let note = KeyValue::new(key.to_owned(), text);
        self.writer.append_key_value_metadata(note);
    }

    /// Syncs the file, renames it to its final name and returns its checksum.
    ///
    /// # Errors
    /// If the file cannot be written, synced or renamed.
    pub fn commit(mut self) -> io::Result<Checksum> {
        self.end_group()?;
        let mut sealing = self.writer.into_inner().map_err(system_error)?;
        sealing.flush()?;
        let seal = Checksum {
            n_bytes: sealing.hasher.count(),
            blake3: sealing.hasher.finalize().to_hex().to_string(),
        };
        sealing.file.commit()?;
        Ok(seal)
    }
}

/// The approximate bytes per row. A batch may be a slice of a larger one, and a dictionary may be
/// shared with rows outside the batch, so neither counts in full.
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

/// How many Parquet columns a column has.
fn n_leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::List(element) | DataType::LargeList(element) => n_leaves(element.data_type()),
        DataType::Struct(fields) => fields.iter().map(|field| n_leaves(field.data_type())).sum(),
        _ => 1,
    }
}

/// Checks a file against its checksum: a flipped bit in a Parquet file can decode as a valid
/// number.
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

/// Checks only the length of a file, which is quicker than [`check`].
pub(super) fn check_length(path: &Path, seal: &Checksum) -> Result<(), FolderError> {
    let damaged = |reason: String| FolderError::Damaged { path: path.to_owned(), reason };
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

/// A writer that hashes the bytes it passes on. The Parquet writer passes 8 KiB at a time, which is
/// slow to write and, with wide vectors, slow to hash.
struct HashingWriter {
    file: AtomicFile,
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl HashingWriter {
    const BUFFER_BYTES: usize = 256 << 10;

    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        Ok(())
    }
}

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > Self::BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= Self::BUFFER_BYTES {
            self.pass_on(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let passed = self.pass_on(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        passed?;
        self.file.flush()
    }
}

/// A column chunk of a file, read at once: the Parquet crate reads and copies 8 KiB at a time.
pub(super) struct ColumnBytes {
    start: u64,
    bytes: Bytes,
}

impl ColumnBytes {
    /// Reads the chunk into a buffer whose contents do not matter.
    pub(super) fn read(
        mut file: &File,
        column: &ColumnChunkMetaData,
        mut buffer: Vec<u8>,
    ) -> Result<ColumnBytes, ParquetError> {
        let (start, n_bytes) = column.byte_range();
        // A damaged file can claim any length.
        let n_bytes_left = file.metadata()?.len().saturating_sub(start);
        if n_bytes > n_bytes_left {
            return Err(ParquetError::EOF("it ends before its column does".to_owned()));
        }
        buffer.clear();
        buffer.reserve_exact(n_bytes as usize);
        file.seek(SeekFrom::Start(start))?;
        file.take(n_bytes).read_to_end(&mut buffer)?;
        let bytes = Bytes::from(buffer);
        Ok(ColumnBytes { start, bytes })
    }

    /// The buffer, to be used again.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.bytes.try_into_mut().map(Vec::from).unwrap_or_default()
    }

    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let at = start.checked_sub(self.start).map(|at| at as usize);
        let at = at.filter(|&at| at <= self.bytes.len());
        let at = at.ok_or_else(|| ParquetError::EOF("it lies outside its column".to_owned()))?;
        Ok(self.bytes.slice(at..))
    }
}

impl Length for ColumnBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ColumnBytes {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.from(start)?;
        match length <= bytes.len() {
            true => Ok(bytes.slice(..length)),
            false => Err(ParquetError::EOF("it ends too early".to_owned())),
        }
    }
}

/// Extracts the operating system's error, which says, for example, that the disk is full.
fn system_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}
