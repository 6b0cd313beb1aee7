//! Own files: what a run folder makes, opens and removes inside itself. No link is followed there:
//! one that another program put into a run folder must not lead to files outside of it.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use swathe_formats::atomic_file::temporary_target;

use super::FolderError;
use crate::store::live_file::is_process_alive;

/// Makes a folder inside a run folder, unless it is there.
///
/// # Errors
/// If it is a link, or cannot be made.
pub fn make_own_folder(path: &Path) -> Result<(), FolderError> {
    refuse_link(path)?;
    fs::create_dir_all(path).map_err(FolderError::write(path))
}

/// Refuses a link. Something else, or nothing, is let pass.
pub(super) fn refuse_link(path: &Path) -> Result<(), FolderError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(FolderError::Link {
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Opens a file of a run folder, to be written.
pub(super) fn open_own(path: &Path, options: &mut OpenOptions) -> Result<File, FolderError> {
    let opened = options.custom_flags(libc::O_NOFOLLOW).open(path);
    opened.map_err(|source| match source.raw_os_error() {
        Some(libc::ELOOP) => FolderError::Link {
            path: path.to_owned(),
        },
        _ => FolderError::Write {
            path: path.to_owned(),
            source,
        },
    })
}

/// Makes sure that an open file still has its name: what is written to one that was removed is lost.
pub(super) fn check_there(path: &Path, file: &File) -> Result<(), FolderError> {
    let ours = file.metadata().map_err(FolderError::write(path))?;
    match fs::symlink_metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FolderError::write(path)(error))
        }
        _ => Err(FolderError::Vanished {
            path: path.to_owned(),
        }),
    }
}

/// Removes the temporary files in a folder whose processes are gone. The caller has the folder's
/// lock, so that none of them is this process's.
pub(super) fn remove_temporary(folder: &Path) -> Result<(), FolderError> {
    remove_where(folder, |name| {
        temporary_target(name)
            .is_some_and(|(_, pid)| pid == std::process::id() || !is_process_alive(pid))
    })
}

/// Removes the files in a folder whose names are among the wanted ones. A link is removed and what
/// it leads to stays.
pub(super) fn remove_where(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), FolderError> {
    let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|its| its.is_dir());
    let entries = fs::read_dir(folder).map_err(FolderError::read(folder))?;
    for entry in entries.flatten().filter(|entry| !is_folder(entry)) {
        if entry.file_name().to_str().is_some_and(&is_wanted) {
            let path = entry.path();
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FolderError::write(&path)(error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
