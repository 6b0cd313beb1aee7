//! Where an archive's bytes are: read by position, so that threads can share it.

use std::fs::File;
use std::io::{self, Read};

/// A file or its bytes.
#[derive(Debug)]
pub(super) enum Source {
    File { file: File, size_bytes: u64 },
    Bytes(Vec<u8>),
}

impl Source {
    pub(super) fn from_file(file: File) -> io::Result<Source> {
        let size_bytes = file.metadata()?.len();
        Ok(Source::File { file, size_bytes })
    }

    pub(super) fn from_bytes(bytes: Vec<u8>) -> Source {
        Source::Bytes(bytes)
    }

    pub(super) fn size_bytes(&self) -> u64 {
        match self {
            Source::File { size_bytes, .. } => *size_bytes,
            Source::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Fills `buffer` from byte `offset` on.
    pub(super) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.section(offset, buffer.len() as u64).read_exact(buffer)
    }

    /// The `n_bytes` from byte `offset` on, or fewer if the file ends before.
    pub(super) fn section(&self, offset: u64, n_bytes: u64) -> Section<'_> {
        Section {
            source: self,
            at: offset,
            n_left: n_bytes,
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Source::File { file, .. } => std::os::unix::fs::FileExt::read_at(file, buffer, offset),
            #[cfg(windows)]
            Source::File { file, .. } => {
                std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
            }
            Source::Bytes(bytes) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                (&bytes[start..]).read(buffer)
            }
        }
    }
}

/// A run of bytes of a [`Source`], to be read in order.
#[derive(Debug)]
pub(super) struct Section<'s> {
    source: &'s Source,
    at: u64,
    n_left: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_max = usize::try_from(self.n_left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let n = self.source.read_at(&mut buffer[..n_max], self.at)?;
        self.at += n as u64;
        self.n_left -= n as u64;
        Ok(n)
    }
}
