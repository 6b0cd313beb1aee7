//! The lock of a run folder: only one process at a time writes it.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::FolderError;
use super::own_files::open_own;

pub(super) const FILE_NAME: &str = "run.lock";

/// Held while a process writes the folder. The operating system releases the lock if the process
/// dies.
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    pub(super) fn take(folder: &Path) -> Result<FolderLock, FolderError> {
        let path = folder.join(FILE_NAME);
        let file = open_own(&path, OpenOptions::new().write(true).create(true).truncate(false))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse { path: folder.to_owned() }),
            Err(TryLockError::Error(source)) => Err(FolderError::Write { path, source }),
        }
    }
}
