//! Writing `.npz` files, one array after another.

use std::collections::HashSet;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::Crc;
use flate2::write::DeflateEncoder;
use swathe::array::{Array, Dtype};

use super::NpzError;
use crate::atomic_file::AtomicFile;
use crate::npy;

const NAME_BYTES_MAX: usize = u16::MAX as usize - ".npy".len();
/// Zip64 has been in use since the format's version 4.5.
const VERSION: u16 = 45;
/// 1 January 1980, the format's zero: files with the same arrays are the same bytes.
const DATE: u16 = 1 << 5 | 1;
/// A plain file that its owner may read and write, as Unix says it.
const ATTRIBUTES: u32 = 0o600 << 16;
const MADE_ON_UNIX: u16 = 3 << 8;
const UTF8_FLAG: u16 = 0x800;

/// How members are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// As they are, as `numpy.savez` does.
    #[default]
    Stored,
    /// By deflate, as `numpy.savez_compressed` does.
    Deflate,
}

/// Writes `arrays` under their names to the file at `path`, which appears only when it is whole.
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

/// A `.npz` file being written: only its directory is kept in memory.
#[derive(Debug)]
pub struct NpzWriter<W: Write + Seek> {
    out: BufWriter<W>,
    compression: Compression,
    entries: Vec<Entry>,
    names: HashSet<String>,
    /// Where the next record goes.
    at: u64,
}

#[derive(Debug)]
struct Entry {
    file_name: String,
    method: u16,
    crc: u32,
    compressed_bytes: u64,
    size_bytes: u64,
    offset: u64,
}

impl NpzWriter<AtomicFile> {
    /// Begins the file that will be `path` after [`finish`](Self::finish) and
    /// [`AtomicFile::commit`].
    pub fn create(path: &Path, compression: Compression) -> Result<Self, NpzError> {
        NpzWriter::new(AtomicFile::create(path)?, compression)
    }
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Begins a file at `out`'s present position.
    pub fn new(mut out: W, compression: Compression) -> Result<Self, NpzError> {
        let at = out.stream_position()?;
        Ok(NpzWriter {
            out: BufWriter::with_capacity(64 << 10, out),
            compression,
            entries: Vec::new(),
            names: HashSet::new(),
            at,
        })
    }

    /// Adds `array` as the member `name` and `.npy`. After an error of `out` itself the file is
    /// of no use.
    pub fn add(&mut self, name: &str, array: &Array) -> Result<(), NpzError> {
        self.add_member(name, npy::encoded_bytes(array), &mut |out| {
            npy::write(array, out)
        })
    }

    /// Adds an array that is written row by row: `write` gives all its elements, little-endian,
    /// in row-major order.
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
        if !self.names.insert(name.into()) {
            return Err(NpzError::DuplicateMember { name: name.into() });
        }
        let mut entry = Entry {
            file_name: format!("{name}.npy"),
            method: match self.compression {
                Compression::Stored => 0,
                Compression::Deflate => 8,
            },
            crc: 0,
            compressed_bytes: 0,
            size_bytes,
            offset: self.at,
        };
        // Checksum and compressed size are known only afterwards: the header is written again.
        let header_bytes = entry.local_header().len() as u64;
        self.out.write_all(&entry.local_header())?;
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
        self.out.write_all(&entry.local_header())?;
        self.out.seek(SeekFrom::Start(self.at))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the directory and hands `out` back.
    pub fn finish(mut self) -> Result<W, NpzError> {
        let mut directory = Vec::new();
        for entry in &self.entries {
            entry.write_to_directory(&mut directory);
        }
        write_end(&mut directory, self.entries.len() as u64, self.at);
        self.out.write_all(&directory)?;
        self.out
            .into_inner()
            .map_err(|error| error.into_error().into())
    }
}

/// Writes the array compressed; gives the checksum of what went in and the bytes that came out.
fn deflate(
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    out: Counted<impl Write>,
) -> io::Result<(u32, u64)> {
    let mut plain = Counted::new(DeflateEncoder::new(out, flate2::Compression::default()));
    write(&mut plain)?;
    Ok((plain.crc.sum(), plain.out.finish()?.n_bytes))
}

/// Counts and sums what passes through.
struct Counted<W> {
    out: W,
    n_bytes: u64,
    crc: Crc,
}

impl<W> Counted<W> {
    fn new(out: W) -> Counted<W> {
        Counted {
            out,
            n_bytes: 0,
            crc: Crc::new(),
        }
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
    fn flags(&self) -> u16 {
        if self.file_name.is_ascii() {
            0
        } else {
            UTF8_FLAG
        }
    }

    /// Always in the 64-bit form, as NumPy writes it: the size need not be known beforehand.
    fn local_header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(50 + self.file_name.len());
        out.extend(b"PK\x03\x04");
        self.write_shared_fields(&mut out, u32::MAX, u32::MAX);
        out.extend(20u16.to_le_bytes());
        out.extend(self.file_name.as_bytes());
        out.extend(1u16.to_le_bytes());
        out.extend(16u16.to_le_bytes());
        out.extend(self.size_bytes.to_le_bytes());
        out.extend(self.compressed_bytes.to_le_bytes());
        out
    }

    fn write_to_directory(&self, out: &mut Vec<u8>) {
        let wide: Vec<u64> = [self.size_bytes, self.compressed_bytes, self.offset]
            .into_iter()
            .filter(|&value| narrow(value) == u32::MAX)
            .collect();
        out.extend(b"PK\x01\x02");
        out.extend((MADE_ON_UNIX | VERSION).to_le_bytes());
        self.write_shared_fields(out, narrow(self.compressed_bytes), narrow(self.size_bytes));
        let extra_bytes = if wide.is_empty() {
            0
        } else {
            4 + 8 * wide.len()
        };
        out.extend((extra_bytes as u16).to_le_bytes());
        out.extend([0; 6]); // no comment, first disk, no internal attributes
        out.extend(ATTRIBUTES.to_le_bytes());
        out.extend(narrow(self.offset).to_le_bytes());
        out.extend(self.file_name.as_bytes());
        if !wide.is_empty() {
            out.extend(1u16.to_le_bytes());
            out.extend((8 * wide.len() as u16).to_le_bytes());
            out.extend(wide.iter().flat_map(|value| value.to_le_bytes()));
        }
    }

    /// From the version needed to the length of the name.
    fn write_shared_fields(&self, out: &mut Vec<u8>, compressed_bytes: u32, size_bytes: u32) {
        for field in [VERSION, self.flags(), self.method, 0, DATE] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.crc, compressed_bytes, size_bytes] {
            out.extend(field.to_le_bytes());
        }
        out.extend((self.file_name.len() as u16).to_le_bytes());
    }
}

/// Closes a directory that begins at byte `offset` of the file.
fn write_end(directory: &mut Vec<u8>, n_members: u64, offset: u64) {
    let size_bytes = directory.len() as u64;
    let n_members_narrow = u16::try_from(n_members).unwrap_or(u16::MAX);
    if n_members_narrow == u16::MAX || narrow(size_bytes) == u32::MAX || narrow(offset) == u32::MAX
    {
        let end64_at = offset + size_bytes;
        directory.extend(b"PK\x06\x06");
        directory.extend(44u64.to_le_bytes());
        directory.extend((MADE_ON_UNIX | VERSION).to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend([0; 8]); // first disk, twice
        for field in [n_members, n_members, size_bytes, offset] {
            directory.extend(field.to_le_bytes());
        }
        directory.extend(b"PK\x06\x07");
        directory.extend([0; 4]); // first disk
        directory.extend(end64_at.to_le_bytes());
        directory.extend(1u32.to_le_bytes());
    }
    directory.extend(b"PK\x05\x06");
    directory.extend([0; 4]); // first disk, twice
    directory.extend(n_members_narrow.to_le_bytes());
    directory.extend(n_members_narrow.to_le_bytes());
    directory.extend(narrow(size_bytes).to_le_bytes());
    directory.extend(narrow(offset).to_le_bytes());
    directory.extend([0; 2]); // no comment
}

/// A value for a 32-bit field, whose limit says that the value stands elsewhere.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
