//! Checksums of input files that a long-lived process remembers: it solves many blocks of one run,
//! and reads a file for its checksum once.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::identity::InputFile;

/// What changes when a file is written: its length, its time and, where there are such, its number.
type Stamp = (u64, Option<SystemTime>, u64);

/// `None` unless the process asked for it: a command that runs once has no use for it.
static REMEMBERED: Mutex<Option<HashMap<PathBuf, (Stamp, InputFile)>>> = Mutex::new(None);

/// From now on, this process reads an input file again only after it changed.
pub fn remember_input_files() {
    let mut files = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    files.get_or_insert_default();
}

/// The remembered checksum of a file, or what `read` returns.
pub(super) fn remembered(
    path: &Path,
    read: impl FnOnce() -> io::Result<InputFile>,
) -> io::Result<InputFile> {
    let files = || REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    let stamp = match &*files() {
        None => None,
        Some(known) => {
            let stamp = stamp(path)?;
            match known.get(path) {
                Some((then, file)) if *then == stamp => return Ok(file.clone()),
                _ => Some(stamp),
            }
        }
    };
    // Not under the lock: threads read different files at the same time.
    let file = read()?;
    if let (Some(stamp), Some(known)) = (stamp, &mut *files()) {
        known.insert(path.to_owned(), (stamp, file.clone()));
    }
    Ok(file)
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let found = std::fs::metadata(path)?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let number = 0;
    Ok((found.len(), found.modified().ok(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_only_after_it_changed() {
        remember_input_files();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frame");
        let mut n_reads = 0;
        let mut look = |contents: &[u8]| {
            let file = remembered(&path, || {
                n_reads += 1;
                Ok(InputFile::of_bytes(&path, contents))
            });
            (file.unwrap().n_bytes, n_reads)
        };
        std::fs::write(&path, b"one").unwrap();
        assert_eq!(look(b"one"), (3, 1));
        assert_eq!(look(b"one"), (3, 1));
        std::fs::write(&path, b"three").unwrap();
        assert_eq!(look(b"three"), (5, 2));
        std::fs::remove_file(&path).unwrap();
        assert!(remembered(&path, || unreachable!("it is gone")).is_err());
    }
}
