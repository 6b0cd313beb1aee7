//! The bytes of an archive, read by offset so that threads can share the source.

use std::fs::File;
use std::io::{self, Read};

/// A file or its bytes.
#[derive(Debug)]
pub(super) enum ByteSource {
    File { file: File, size_bytes: u64 },
    Bytes(Vec<u8>),
}

impl ByteSource {
    pub(super) fn from_file(file: File) -> io::Result<ByteSource> {
        let size_bytes = file.metadata()?.len();
        Ok(ByteSource::File { file, size_bytes })
    }

    pub(super) fn from_bytes(bytes: Vec<u8>) -> ByteSource {
        ByteSource::Bytes(bytes)
    }

    pub(super) fn size_bytes(&self) -> u64 {
        match self {
            ByteSource::File { size_bytes, .. } => *size_bytes,
            ByteSource::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// The `n_bytes` from byte `offset` on. If the source ends before, this fails without
    /// allocating.
    pub(super) fn read_vec_at(&self, offset: u64, n_bytes: u64) -> io::Result<Vec<u8>> {
        if offset.checked_add(n_bytes).is_none_or(|end| end > self.size_bytes()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; n_bytes as usize];
        self.section(offset, n_bytes).read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// A reader of the `n_bytes` from byte `offset` on, or fewer if the source ends before.
    pub(super) fn section(&self, offset: u64, n_bytes: u64) -> Section<'_> {
        Section { source: self, at: offset, n_left: n_bytes }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            ByteSource::File { file, .. } => {
                std::os::unix::fs::FileExt::read_at(file, buffer, offset)
            }
            #[cfg(windows)]
            ByteSource::File { file, .. } => {
                std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
            }
            ByteSource::Bytes(bytes) => {
                let start = usize::try_from(offset).map_or(bytes.len(), |n| n.min(bytes.len()));
                (&bytes[start..]).read(buffer)
            }
        }
    }
}

/// A range of a [`ByteSource`]'s bytes.
#[derive(Debug)]
pub(super) struct Section<'s> {
    source: &'s ByteSource,
    at: u64,
    n_left: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_max = usize::try_from(self.n_left).map_or(buffer.len(), |n| n.min(buffer.len()));
        let n = self.source.read_at(&mut buffer[..n_max], self.at)?;
        self.at += n as u64;
        self.n_left -= n as u64;
        Ok(n)
    }
}
