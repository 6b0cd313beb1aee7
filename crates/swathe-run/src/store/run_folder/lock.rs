//! The lock: one process at a time writes a run folder.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::FolderError;

pub(super) const FILE_NAME: &str = "run.lock";

/// Held while a process writes the folder. The system frees it when the process dies, however.
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    pub(super) fn take(folder: &Path) -> Result<FolderLock, FolderError> {
        let path = folder.join(FILE_NAME);
        let file = File::create(&path).map_err(FolderError::write(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse {
                path: folder.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(FolderError::Write { path, source }),
        }
    }
}
