//! Atomic files: a file that gets its name only once it is complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is written under a temporary name in the target's folder and renamed by
/// [`commit`](Self::commit). If it is dropped before that, the temporary file is removed.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    path: PathBuf,
    /// `None` once committed.
    temporary: Option<PathBuf>,
}

impl AtomicFile {
    /// Creates a temporary file that will become `path`.
    ///
    /// # Errors
    /// If the path has no file name, or if the temporary file cannot be created.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        static N_CREATED: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name")
        })?;
        loop {
            // The process id and a counter make the name unique on this machine.
            let mut temporary_name = OsString::from(".");
            temporary_name.push(name);
            temporary_name.push(format!(
                ".{}-{}.tmp",
                process::id(),
                N_CREATED.fetch_add(1, Ordering::Relaxed)
            ));
            let temporary = path.with_file_name(temporary_name);
            let created = OpenOptions::new().write(true).create_new(true).open(&temporary);
            match created {
                // A killed process with the same id left this file; try the next number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    return Ok(AtomicFile {
                        file,
                        path: path.to_owned(),
                        temporary: Some(temporary),
                    });
                }
            }
        }
    }

    /// Syncs the file and renames it to its final name, replacing an older file.
    ///
    /// # Errors
    /// If the file cannot be synced or renamed.
    pub fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        self.commit_unsynced()
    }

    /// Renames the file without syncing it, for data that may be lost: after a power failure the
    /// file may be empty.
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn commit_unsynced(mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }
}

/// The final name and the process id that a temporary name stands for; `None` if [`AtomicFile`]
/// does not make such names.
pub fn temporary_target(name: &str) -> Option<(&str, u32)> {
    let (target, writer) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (pid, number) = writer.split_once('-')?;
    number.parse::<u64>().ok()?;
    (!target.is_empty()).then_some((target, pid.parse().ok()?))
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // A destructor has no way to report the error.
            let _ = fs::remove_file(temporary);
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_known_again_and_others_are_not() {
        assert_eq!(temporary_target(".timing.parquet.4805-1.tmp"), Some(("timing.parquet", 4805)));
        for other in [
            "timing.parquet.4805-1.tmp",
            ".swp.tmp",
            ".a.b.tmp",
            ".a.1-x.tmp",
            ".a.-1.tmp",
            "..1-2.tmp",
            ".a.1-2",
        ] {
            assert_eq!(temporary_target(other), None, "{other}");
        }
        let folder = std::env::temp_dir();
        let path = folder.join(format!("atomic-{}", process::id()));
        let file = AtomicFile::create(&path).unwrap();
        let name = file.temporary.as_ref().unwrap().file_name().unwrap();
        let target = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(temporary_target(name.to_str().unwrap()), Some((target, process::id())));
    }
}
