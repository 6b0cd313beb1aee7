//! Own files: the files that a run creates, opens and removes in its folder. Symbolic links are
//! never followed: a link that another program put there must not lead to files outside the folder.

use std::fs::{self, DirEntry, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use swathe_formats::atomic_file::temporary_target;
use swathe_formats::regular_file;

use super::FolderError;
use crate::store::live_file::is_process_alive;

/// Creates a folder inside a run folder, unless it exists.
///
/// # Errors
/// If the path is a symbolic link, or if the folder cannot be created.
pub fn make_own_folder(path: &Path) -> Result<(), FolderError> {
    refuse_link(path)?;
    fs::create_dir_all(path).map_err(FolderError::write(path))
}

/// Fails if the path is a symbolic link. Any other file, or none, is fine.
pub(super) fn refuse_link(path: &Path) -> Result<(), FolderError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(FolderError::Link { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Opens a file of a run folder for writing.
pub(super) fn open_own(path: &Path, options: &mut OpenOptions) -> Result<File, FolderError> {
    if let Ok(there) = fs::symlink_metadata(path)
        && !there.is_symlink()
    {
        check_own(&there).map_err(FolderError::read(path))?;
    }
    // Without the second flag, opening a FIFO that was put there since would block.
    let opened = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    opened.map_err(|source| match source.raw_os_error() {
        Some(libc::ELOOP) => FolderError::Link { path: path.to_owned() },
        _ => FolderError::Write { path: path.to_owned(), source },
    })
}

/// The longest `run.json`, manifest or report of a run: a million inputs, or a million pairs with a
/// file each, take about 200 MB.
const N_BYTES_MAX: u64 = 1 << 30;

/// Checks that a file can be one that runs write: it is regular, and not too long.
fn check_own(found: &Metadata) -> io::Result<()> {
    regular_file::check(found.file_type())?;
    match found.len() > N_BYTES_MAX {
        true => Err(io::Error::other(format!(
            "it has {} bytes, more than any file of its kind that a run writes",
            found.len()
        ))),
        false => Ok(()),
    }
}

/// The contents of a file that a run wrote: `run.json`, a manifest, a report. What cannot be such a
/// file is refused without reading it.
///
/// # Errors
/// If there is no such file, if it cannot be read, is not regular or is too long.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = regular_file::open(path)?;
    check_own(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Checks that the path still refers to this open file: data written to a removed file is lost.
pub(super) fn check_there(path: &Path, file: &File) -> Result<(), FolderError> {
    let ours = file.metadata().map_err(FolderError::write(path))?;
    match fs::symlink_metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FolderError::write(path)(error))
        }
        _ => Err(FolderError::Vanished { path: path.to_owned() }),
    }
}

/// Removes temporary files whose processes are gone. The caller holds the folder's lock, so a file
/// with this process's id is left over from an earlier process with the same id.
pub(super) fn remove_temporary(folder: &Path) -> Result<(), FolderError> {
    remove_where(folder, |name| {
        temporary_target(name)
            .is_some_and(|(_, pid)| pid == std::process::id() || !is_process_alive(pid))
    })
}

/// Removes the files in a folder whose names `is_wanted` selects. A symbolic link is removed, its
/// target is not.
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
