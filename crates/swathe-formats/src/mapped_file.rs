//! Memory-mapped files: writes to the memory are writes to the file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use memmap2::{MmapMut, MmapOptions};

/// The beginning of a file as 64-bit words, which can be changed in place.
///
/// The words are not a copy. Other processes see a write to them in the file at once, and the write
/// survives if this process is killed. While this value lives, it holds an advisory lock, which
/// excludes other processes that also lock the file.
///
/// ```
/// use swathe_formats::mapped_file::MappedFile;
///
/// let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// std::fs::write(&path, [0; 20])?;
/// let mut mapped = MappedFile::open(&path, 2)?;
/// mapped.words_mut()[1] = u64::MAX;
/// assert_eq!(std::fs::read(&path)?[6..18], [0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MappedFile {
    mapping: MmapMut,
    /// Holds the lock, and is dropped after the mapping.
    _file: File,
}

/// Why a file cannot be mapped. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappedFileError {
    /// It cannot be opened for reading and writing.
    #[error("cannot be opened for reading and writing: {0}")]
    Open(io::Error),
    /// A folder, a pipe or a device.
    #[error("is not a regular file")]
    NotAFile,
    /// It has fewer bytes than needed.
    #[error("has {n_bytes} bytes; {n_bytes_min} are needed")]
    TooShort {
        /// Its length.
        n_bytes: u64,
        /// The length needed.
        n_bytes_min: u64,
    },
    /// Another process, or another mapping in this process, holds the lock.
    #[error("is in use by another process")]
    InUse,
    /// It is sparse, and the disk has no space to fill the holes.
    #[error("has holes that cannot be given room on the disk: {0}")]
    NoRoom(io::Error),
    /// The system cannot map or lock it.
    #[error("cannot be used as memory: {0}")]
    Map(io::Error),
}

impl MappedFile {
    /// Maps the first `n_words` words of a file.
    ///
    /// The caller must pass a file that no other program writes while this value lives. The lock
    /// excludes only programs and threads that lock the file too. A program that ignores the lock
    /// and writes to the file corrupts the results computed from the words; if it shortens the
    /// file, this process may be killed.
    ///
    /// # Errors
    /// If the file cannot be opened, locked or mapped, is not a regular file, or is too short.
    pub fn open(path: &Path, n_words: usize) -> Result<MappedFile, MappedFileError> {
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(MappedFileError::Open)?;
        if !file.metadata().map_err(MappedFileError::Open)?.is_file() {
            return Err(MappedFileError::NotAFile);
        }
        // The lock comes before the check of the length, which another lock holder may change.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(MappedFileError::InUse),
            Err(TryLockError::Error(error)) => return Err(MappedFileError::Map(error)),
        }
        let metadata = file.metadata().map_err(MappedFileError::Open)?;
        let n_bytes_min = (n_words as u64).saturating_mul(8);
        if metadata.len() < n_bytes_min {
            return Err(MappedFileError::TooShort { n_bytes: metadata.len(), n_bytes_min });
        }
        if metadata.blocks().saturating_mul(512) < metadata.len() {
            fill_holes(&file, n_bytes_min)?;
        }
        // SAFETY: this process makes no second mapping of the file, because every opened `File` has
        // its own lock and the first mapping holds the lock. This value drops the mapping before
        // the lock. The file covers the whole range and has no holes, so an access cannot fail
        // while the file keeps its length. Programs that ignore the lock could still change or
        // truncate the file. No system call prevents that; `open` therefore requires a file that no
        // other program writes.
        let mapping = unsafe {
            MmapOptions::new()
                .len(n_bytes_min as usize)
                .map_mut(&file)
                .map_err(MappedFileError::Map)?
        };
        Ok(MappedFile { mapping, _file: file })
    }

    /// The words.
    pub fn words_mut(&mut self) -> &mut [u64] {
        bytemuck::cast_slice_mut(&mut self.mapping)
    }

    /// BLAKE3 of the words, to detect later changes.
    pub fn fingerprint(&self) -> [u8; 32] {
        blake3::hash(&self.mapping).into()
    }

    /// Waits until the file's contents are on the disk.
    ///
    /// # Errors
    /// If the system cannot write the contents to the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.mapping.flush()
    }
}

/// Allocates disk space for the holes of a sparse file without changing its contents. Otherwise, if
/// the disk is full, a write to a hole through the mapping would kill the process.
#[cfg(target_os = "linux")]
fn fill_holes(file: &File, n_bytes: u64) -> Result<(), MappedFileError> {
    let Ok(n_bytes) = libc::off_t::try_from(n_bytes) else {
        return Ok(());
    };
    // SAFETY: the descriptor is open; the call changes no memory of this process.
    if n_bytes > 0 && unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, n_bytes) } != 0 {
        let error = io::Error::last_os_error();
        // Other errors are ignored: the file system does not support the call, and the space cannot
        // be reserved.
        let is_full =
            matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG));
        if is_full {
            return Err(MappedFileError::NoRoom(error));
        }
    }
    Ok(())
}

/// Other systems do not have this call.
#[cfg(not(target_os = "linux"))]
fn fill_holes(_file: &File, _n_bytes: u64) -> Result<(), MappedFileError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(bytes: &[u8]) -> tempfile::TempPath {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn words_are_the_files_own_bytes() {
        let bytes: Vec<u8> = (0..8 * 1000 + 3).map(|at| (at * 7) as u8).collect();
        let path = file_of(&bytes);
        let mut mapped = MappedFile::open(&path, 1000).unwrap();
        let before = mapped.fingerprint();
        assert_eq!(before, *blake3::hash(&bytes[..8000]).as_bytes());
        for (word, bytes) in mapped.words_mut().iter().zip(bytes.chunks_exact(8)) {
            assert_eq!(word.to_ne_bytes(), bytes);
        }
        mapped.words_mut()[999] ^= u64::MAX;
        assert_ne!(mapped.fingerprint(), before);
        let now = std::fs::read(&path).unwrap();
        assert_eq!(now[..7992], bytes[..7992]);
        assert_eq!(now[7992], !bytes[7992]);
        assert_eq!(now[8000..], bytes[8000..]);
        mapped.words_mut()[999] ^= u64::MAX;
        mapped.sync().unwrap();
        drop(mapped);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn what_cannot_be_memory_is_refused() {
        let path = file_of(&[0; 39]);
        assert!(matches!(
            MappedFile::open(&path, 5),
            Err(MappedFileError::TooShort { n_bytes: 39, n_bytes_min: 40 })
        ));
        assert!(MappedFile::open(&path, 4).is_ok());
        assert!(MappedFile::open(&path, 0).unwrap().words_mut().is_empty());
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            MappedFile::open(folder.path(), 1),
            Err(MappedFileError::Open(_) | MappedFileError::NotAFile)
        ));
        let absent = folder.path().join("absent");
        assert!(matches!(MappedFile::open(&absent, 1), Err(MappedFileError::Open(_))));
        assert!(!absent.exists());
    }

    #[test]
    fn one_user_at_a_time() {
        let path = file_of(&[0; 64]);
        let first = MappedFile::open(&path, 8).unwrap();
        assert!(matches!(MappedFile::open(&path, 8), Err(MappedFileError::InUse)));
        drop(first);
        assert!(MappedFile::open(&path, 8).is_ok());
    }

    #[test]
    fn holes_are_filled_with_what_was_read_from_them() {
        let path = file_of(b"begin");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        let mut mapped = MappedFile::open(&path, 1 << 17).unwrap();
        assert_eq!(mapped.words_mut()[1..], vec![0; (1 << 17) - 1]);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((&bytes[..5], bytes.len()), (&b"begin"[..], 1 << 20));
    }
}
