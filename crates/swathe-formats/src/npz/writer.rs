//! Writing `.npz` files, one array after another.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::Crc;
use flate2::write::DeflateEncoder;
use swathe::array::{Array, Dtype};

use super::NpzError;
use crate::atomic_file::AtomicFile;
use crate::name_list::{NameIndex, NameList};
use crate::npy;

/// What follows an array's name in that of its member.
const SUFFIX: &str = ".npy";
const NAME_BYTES_MAX: usize = u16::MAX as usize - SUFFIX.len();
/// Zip64 has been in use since the format's version 4.5.
const VERSION: u16 = 45;
/// 1 January 1980, the format's first date. A fixed date makes files with the same arrays
/// byte-identical.
const DATE: u16 = 1 << 5 | 1;
/// Unix permissions: the owner may read and write.
const ATTRIBUTES: u32 = 0o600 << 16;
const MADE_ON_UNIX: u16 = 3 << 8;
const UTF8_FLAG: u16 = 0x800;

/// How members are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// Uncompressed, as `numpy.savez` does.
    #[default]
    Stored,
    /// With deflate, as `numpy.savez_compressed` does.
    Deflate,
}

/// Writes `arrays` under their names to the file at `path` atomically.
///
/// # Errors
/// If two arrays have the same name, a name is too long, or the file cannot be written.
pub fn save<'a>(
    path: &Path,
    arrays: impl IntoIterator<Item = (&'a str, &'a Array)>,
    compression: Compression,
) -> Result<(), NpzError> {
    let mut writer = NpzWriter::create(path, compression)?;
    for (name, array) in arrays {
        writer.add(name, array)?;
    }
    Ok(writer.finish()?.commit()?)
}

/// A `.npz` file that is being written. Only its directory is kept in memory.
#[derive(Debug)]
pub struct NpzWriter<W: Write + Seek> {
    out: BufWriter<W>,
    compression: Compression,
    entries: Vec<Entry>,
    /// The names of the entries, without `.npy`.
    names: NameList,
    index: NameIndex,
    /// Where the next record goes.
    at: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    compressed_bytes: u64,
    size_bytes: u64,
    offset: u64,
    crc: u32,
    method: u16,
}

impl NpzWriter<AtomicFile> {
    /// Creates a file that becomes `path` after [`finish`](Self::finish) and
    /// [`AtomicFile::commit`].
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, compression: Compression) -> Result<Self, NpzError> {
        NpzWriter::new(AtomicFile::create(path)?, compression)
    }
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Starts an archive at the current position of `out`.
    ///
    /// # Errors
    /// If the position of `out` cannot be read.
    pub fn new(mut out: W, compression: Compression) -> Result<Self, NpzError> {
        let at = out.stream_position()?;
        Ok(NpzWriter {
            out: BufWriter::with_capacity(64 << 10, out),
            compression,
            entries: Vec::new(),
            names: NameList::default(),
            index: NameIndex::default(),
            at,
        })
    }

    /// Adds `array` as the member `name.npy`. If writing to `out` fails, the archive is unusable.
    ///
    /// # Errors
    /// If the name is taken or too long, or if `out` cannot be written.
    pub fn add(&mut self, name: &str, array: &Array) -> Result<(), NpzError> {
        self.add_member(name, npy::encoded_bytes(array), &mut |out| npy::write(array, out))
    }

    /// Adds an array that is written row by row: `write` must write all its elements,
    /// little-endian, in row-major order.
    ///
    /// # Errors
    /// If the name is taken or too long, or if `write` fails or `out` cannot be written.
    pub fn add_rows(
        &mut self,
        name: &str,
        shape: &[usize],
        dtype: Dtype,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), NpzError> {
        let header = npy::encode_header(shape, dtype);
        let n_elements: usize = shape.iter().product();
        let size_bytes = (header.len() + n_elements * dtype.size_bytes()) as u64;
        self.add_member(name, size_bytes, &mut |out| {
            out.write_all(&header)?;
            write(out)
        })
    }

    fn add_member(
        &mut self,
        name: &str,
        size_bytes: u64,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), NpzError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(NpzError::NameTooLong {
                start: name.chars().take(60).collect(),
                name_bytes: name.len(),
                max_bytes: NAME_BYTES_MAX,
            });
        }
        if self.index.find(&self.names, name).is_some() {
            return Err(NpzError::DuplicateMember { name: name.into() });
        }
        let mut entry = Entry {
            method: match self.compression {
                Compression::Stored => 0,
                Compression::Deflate => 8,
            },
            crc: 0,
            compressed_bytes: 0,
            size_bytes,
            offset: self.at,
        };
        // Checksum and compressed size are known only after the data, so the header is written
        // twice.
        let header_bytes = entry.local_header(name).len() as u64;
        self.out.write_all(&entry.local_header(name))?;
        let data = Counted::new(&mut self.out);
        let counts = match self.compression {
            Compression::Stored => {
                let mut data = data;
                write(&mut data)?;
                (data.crc.sum(), data.n_bytes)
            }
            Compression::Deflate => deflate(write, data)?,
        };
        (entry.crc, entry.compressed_bytes) = counts;
        self.at += header_bytes + entry.compressed_bytes;
        self.out.seek(SeekFrom::Start(entry.offset))?;
        self.out.write_all(&entry.local_header(name))?;
        self.out.seek(SeekFrom::Start(self.at))?;
        self.entries.push(entry);
        self.names.push(name);
        let inserted = self.index.insert(&self.names, self.names.len() - 1);
        debug_assert!(inserted.is_ok(), "a duplicate was refused above");
        Ok(())
    }

    /// Writes the directory and returns `out`.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn finish(mut self) -> Result<W, NpzError> {
        let (mut record, mut directory_bytes) = (Vec::new(), 0);
        for (entry, name) in self.entries.iter().zip(self.names.iter()) {
            record.clear();
            entry.write_to_directory(name, &mut record);
            self.out.write_all(&record)?;
            directory_bytes += record.len() as u64;
        }
        let end = end_records(directory_bytes, self.entries.len() as u64, self.at);
        self.out.write_all(&end)?;
        self.out.into_inner().map_err(|error| error.into_error().into())
    }
}

/// Writes the array compressed. Returns the checksum of the plain bytes and the number of
/// compressed bytes.
fn deflate(
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    out: Counted<impl Write>,
) -> io::Result<(u32, u64)> {
    let mut plain = Counted::new(DeflateEncoder::new(out, flate2::Compression::default()));
    write(&mut plain)?;
    Ok((plain.crc.sum(), plain.out.finish()?.n_bytes))
}

/// A writer that counts the bytes and computes their checksum.
struct Counted<W> {
    out: W,
    n_bytes: u64,
    crc: Crc,
}

impl<W> Counted<W> {
    fn new(out: W) -> Counted<W> {
        Counted { out, n_bytes: 0, crc: Crc::new() }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.crc.update(&bytes[..n]);
        self.n_bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Entry {
    /// Always in the 64-bit form, as NumPy writes it: the size need not be known beforehand.
    fn local_header(&self, name: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(54 + name.len());
        out.extend(b"PK\x03\x04");
        self.write_shared_fields(name, &mut out, u32::MAX, u32::MAX);
        out.extend(20u16.to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(SUFFIX.as_bytes());
        out.extend(1u16.to_le_bytes());
        out.extend(16u16.to_le_bytes());
        out.extend(self.size_bytes.to_le_bytes());
        out.extend(self.compressed_bytes.to_le_bytes());
        out
    }

    fn write_to_directory(&self, name: &str, out: &mut Vec<u8>) {
        let wide: Vec<u64> = [self.size_bytes, self.compressed_bytes, self.offset]
            .into_iter()
            .filter(|&value| narrow(value) == u32::MAX)
            .collect();
        out.extend(b"PK\x01\x02");
        out.extend((MADE_ON_UNIX | VERSION).to_le_bytes());
        let narrow_bytes = [self.compressed_bytes, self.size_bytes].map(narrow);
        self.write_shared_fields(name, out, narrow_bytes[0], narrow_bytes[1]);
        let extra_bytes = if wide.is_empty() { 0 } else { 4 + 8 * wide.len() };
        out.extend((extra_bytes as u16).to_le_bytes());
        out.extend([0; 6]); // no comment, first disk, no internal attributes
        out.extend(ATTRIBUTES.to_le_bytes());
        out.extend(narrow(self.offset).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(SUFFIX.as_bytes());
        if !wide.is_empty() {
            out.extend(1u16.to_le_bytes());
            out.extend((8 * wide.len() as u16).to_le_bytes());
            out.extend(wide.iter().flat_map(|value| value.to_le_bytes()));
        }
    }

    /// Writes the fields from the required version to the length of the name.
    fn write_shared_fields(
        &self,
        name: &str,
        out: &mut Vec<u8>,
        compressed_bytes: u32,
        size_bytes: u32,
    ) {
        let flags = if name.is_ascii() { 0 } else { UTF8_FLAG };
        for field in [VERSION, flags, self.method, 0, DATE] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.crc, compressed_bytes, size_bytes] {
            out.extend(field.to_le_bytes());
        }
        out.extend(((name.len() + SUFFIX.len()) as u16).to_le_bytes());
    }
}

/// Appends the end records to a directory that begins at byte `offset` of the file.
fn end_records(size_bytes: u64, n_members: u64, offset: u64) -> Vec<u8> {
    let mut end = Vec::with_capacity(98);
    let n_members_narrow = u16::try_from(n_members).unwrap_or(u16::MAX);
    if n_members_narrow == u16::MAX || narrow(size_bytes) == u32::MAX || narrow(offset) == u32::MAX
    {
        let end64_at = offset + size_bytes;
        end.extend(b"PK\x06\x06");
        end.extend(44u64.to_le_bytes());
        end.extend((MADE_ON_UNIX | VERSION).to_le_bytes());
        end.extend(VERSION.to_le_bytes());
        end.extend([0; 8]); // first disk, twice
        for field in [n_members, n_members, size_bytes, offset] {
            end.extend(field.to_le_bytes());
        }
        end.extend(b"PK\x06\x07");
        end.extend([0; 4]); // first disk
        end.extend(end64_at.to_le_bytes());
        end.extend(1u32.to_le_bytes());
    }
    end.extend(b"PK\x05\x06");
    end.extend([0; 4]); // first disk, twice
    end.extend(n_members_narrow.to_le_bytes());
    end.extend(n_members_narrow.to_le_bytes());
    end.extend(narrow(size_bytes).to_le_bytes());
    end.extend(narrow(offset).to_le_bytes());
    end.extend([0; 2]); // no comment
    end
}

/// A value for a 32-bit field. The largest value means that the 64-bit field holds the value.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
