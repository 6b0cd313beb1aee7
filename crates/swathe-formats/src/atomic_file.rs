//! A file that appears under its name only when it is whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file written under a temporary name beside its own and renamed by [`commit`](Self::commit).
/// Dropped without that, it leaves nothing behind.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    path: PathBuf,
    /// Empty once committed.
    temporary: Option<PathBuf>,
}

impl AtomicFile {
    /// Begins to write the file that will be `path`.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        static N_CREATED: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name")
        })?;
        // The process and a count make the name unique among all writers on this machine.
        let mut temporary_name = OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(format!(
            ".{}-{}.tmp",
            process::id(),
            N_CREATED.fetch_add(1, Ordering::Relaxed)
        ));
        let temporary = path.with_file_name(temporary_name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        Ok(AtomicFile {
            file,
            path: path.to_owned(),
            temporary: Some(temporary),
        })
    }

    /// Syncs what was written and gives the file its name, replacing an older one.
    pub fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        self.commit_unsynced()
    }

    /// Gives the file its name without syncing it, for what can be done without: should the power
    /// fail soon, the file may be empty under its name.
    pub fn commit_unsynced(mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing more can be done about a temporary file that cannot be removed.
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
