//! The directories of a TIFF file: one for each page, with tags that say how its pixels are stored.
//! No count or offset in the file is trusted before it was compared with the file's length.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::{FrameError, open};

/// A TIFF file and the places of its directories.
#[derive(Debug)]
pub(super) struct TiffDirectories {
    file: File,
    n_bytes: u64,
    pub(super) is_little_endian: bool,
    /// Whether offsets have 64 bits (BigTIFF).
    is_big: bool,
    offsets: Vec<u64>,
}

/// One directory.
#[derive(Debug)]
pub(super) struct Directory(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    /// Where its values are in the file.
    at: u64,
}

impl TiffDirectories {
    /// Opens a file and follows the chain of its directories.
    pub(super) fn open(path: &Path) -> Result<TiffDirectories, FrameError> {
        let (file, n_bytes) = open(path)?;
        let mut directories = TiffDirectories {
            file,
            n_bytes,
            is_little_endian: true,
            is_big: false,
            offsets: Vec::new(),
        };
        let start = directories.bytes(0, 4, || "its header".to_owned())?;
        directories.is_little_endian = start.starts_with(b"II");
        let version = directories.number(&start[2..]);
        directories.is_big = version == 43;
        if !(start.starts_with(b"II") || start.starts_with(b"MM")) || !matches!(version, 42 | 43) {
            return Err(damaged(format!(
                "is not a TIFF file, whatever its name says: it begins with the bytes {start:02x?}"
            )));
        }
        let (at, n) = if directories.is_big { (8, 8) } else { (4, 4) };
        let first = directories.bytes(at, n, || "its header".to_owned())?;
        directories.follow(directories.number(&first))?;
        Ok(directories)
    }

    fn follow(&mut self, first: u64) -> Result<(), FrameError> {
        let mut seen = HashSet::new();
        let mut next = first;
        while next != 0 {
            if !seen.insert(next) {
                return Err(damaged("its directories form a loop; the file is damaged".to_owned()));
            }
            self.offsets.push(next);
            (_, next) = self.directory_and_next(self.offsets.len() - 1)?;
        }
        if self.offsets.is_empty() {
            return Err(damaged("has no page".to_owned()));
        }
        Ok(())
    }

    /// How many directories there are; at least one.
    pub(super) fn n(&self) -> usize {
        self.offsets.len()
    }

    /// The file's length.
    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    pub(super) fn directory(&self, number: usize) -> Result<Directory, FrameError> {
        Ok(self.directory_and_next(number)?.0)
    }

    /// A directory and the place of the next one; 0 after the last.
    fn directory_and_next(&self, number: usize) -> Result<(Directory, u64), FrameError> {
        let at = self.offsets[number];
        let what = || format!("the directory of page {number}");
        let (count_bytes, entry_bytes, place_bytes) =
            if self.is_big { (8, 20, 8) } else { (2, 12, 4) };
        let n_entries = self.number(&self.bytes(at, count_bytes, what)?);
        let n_bytes = n_entries.saturating_mul(entry_bytes);
        let bytes = self.bytes(at + count_bytes, n_bytes.saturating_add(place_bytes), what)?;
        let (entries, next) = bytes.split_at(n_bytes as usize);
        let entries = entries.chunks_exact(entry_bytes as usize).enumerate();
        let entries = entries.map(|(place, entry)| {
            let count = self.number(&entry[4..entry.len() - place_bytes as usize]);
            let kind = self.number(&entry[2..4]) as u16;
            let (_, value) = entry.split_at(entry.len() - place_bytes as usize);
            let is_inside = count.saturating_mul(element_bytes(kind)) <= place_bytes;
            let inside = at + count_bytes + (place as u64 + 1) * entry_bytes - place_bytes;
            Entry {
                tag: self.number(&entry[..2]) as u16,
                kind,
                count,
                at: if is_inside { inside } else { self.number(value) },
            }
        });
        Ok((Directory(entries.collect()), self.number(next)))
    }

    /// The integers of a tag; `None` if the page does not have it.
    pub(super) fn integers(
        &self,
        directory: &Directory,
        tag: u16,
    ) -> Result<Option<Vec<u64>>, FrameError> {
        let Some(entry) = directory.find(tag) else {
            return Ok(None);
        };
        if matches!(entry.kind, 2 | 5 | 10 | 11 | 12) {
            return Err(damaged(format!("its tag {tag} does not hold integers")));
        }
        let bytes = self.value_bytes(entry)?;
        let numbers = bytes.chunks_exact(element_bytes(entry.kind) as usize);
        Ok(Some(numbers.map(|number| self.number(number)).collect()))
    }

    /// The first integer of a tag.
    pub(super) fn integer(
        &self,
        directory: &Directory,
        tag: u16,
    ) -> Result<Option<u64>, FrameError> {
        let integers = self.integers(directory, tag)?;
        Ok(integers.and_then(|all| all.first().copied()))
    }

    /// A fraction, such as the resolution; `None` if it is absent or has no value.
    pub(super) fn fraction(&self, directory: &Directory, tag: u16) -> Option<f64> {
        let entry = directory.find(tag).filter(|entry| entry.kind == 5)?;
        let bytes = self.value_bytes(entry).ok()?;
        let (upper, lower) = bytes.get(..8)?.split_at(4);
        let value = self.number(upper) as f64 / self.number(lower) as f64;
        (value > 0.0 && value.is_finite()).then_some(value)
    }

    /// The bytes of a tag; none if the page does not have it.
    pub(super) fn tag_bytes(&self, directory: &Directory, tag: u16) -> Result<Vec<u8>, FrameError> {
        match directory.find(tag) {
            Some(entry) => self.value_bytes(entry),
            None => Ok(Vec::new()),
        }
    }

    /// The text of a tag, in UTF-8 or else in Latin-1.
    pub(super) fn text(&self, directory: &Directory, tag: u16) -> Result<String, FrameError> {
        let bytes = self.tag_bytes(directory, tag)?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(match std::str::from_utf8(text) {
            Ok(text) => text.to_owned(),
            Err(_) => text.iter().map(|&byte| char::from(byte)).collect(),
        })
    }

    fn value_bytes(&self, entry: &Entry) -> Result<Vec<u8>, FrameError> {
        let n_bytes = entry.count.saturating_mul(element_bytes(entry.kind));
        self.bytes(entry.at, n_bytes, || format!("the values of tag {}", entry.tag))
    }

    fn bytes(&self, at: u64, n: u64, what: impl FnOnce() -> String) -> Result<Vec<u8>, FrameError> {
        let mut bytes = Vec::new();
        self.append(at, n, &mut bytes, what)?;
        Ok(bytes)
    }

    /// Appends a part of the file. Fails if the file ends before it; `what` names the part.
    pub(super) fn append(
        &self,
        at: u64,
        n: u64,
        bytes: &mut Vec<u8>,
        what: impl FnOnce() -> String,
    ) -> Result<(), FrameError> {
        let end = at.saturating_add(n);
        if end > self.n_bytes {
            return Err(FrameError::CutOff { what: what(), end_bytes: end, n_bytes: self.n_bytes });
        }
        let start = bytes.len();
        bytes.resize(start + n as usize, 0);
        self.file.read_exact_at(&mut bytes[start..], at).map_err(FrameError::of_io)
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.is_little_endian {
            bytes.iter().rev().fold(0, fold)
        } else {
            bytes.iter().fold(0, fold)
        }
    }
}

impl Directory {
    pub(super) fn has(&self, tag: u16) -> bool {
        self.find(tag).is_some()
    }

    fn find(&self, tag: u16) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.tag == tag)
    }
}

/// The bytes of one value. Types that do not exist count as bytes.
fn element_bytes(kind: u16) -> u64 {
    match kind {
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => 1,
    }
}

pub(super) fn damaged(message: String) -> FrameError {
    FrameError::Image { message }
}
