//! Run files: the few files of a run folder that the server reads, and how it reads them safely.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The files that the server reads. The enum is closed, so no request can name another file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RunFile {
    /// `live.json`.
    Live,
    /// `run.json`.
    Run,
    /// `manifest.jsonl`.
    Manifest,
    /// `report.json`.
    Report,
    /// `report.html`.
    Page,
}

/// Identifies one version of a file: runs replace files instead of changing them, so each version
/// has its own inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    n_bytes: u64,
    modified: (i64, i64),
}

/// Reports are a few megabytes at most; a larger file is not one of swathe's.
const N_BYTES_MAX: u64 = 256 << 20;

impl RunFile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            RunFile::Live => swathe_run::store::live_file::FILE_NAME,
            RunFile::Run => "run.json",
            RunFile::Manifest => "manifest.jsonl",
            RunFile::Report => "report.json",
            RunFile::Page => "report.html",
        }
    }

    /// The stamp of the file; `None` if the file does not exist.
    pub(crate) fn stamp(self, run: &Path) -> io::Result<Option<Stamp>> {
        match std::fs::symlink_metadata(run.join(self.name())) {
            Ok(metadata) => Ok(Some(Stamp::of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The whole file. Links are not followed: a user who can write into a run folder must not be
    /// able to have other files served.
    pub(crate) fn read(self, run: &Path) -> io::Result<(Stamp, Vec<u8>)> {
        let file = OpenOptions::new()
            .read(true)
            // Otherwise, opening a named pipe would block.
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(run.join(self.name()))?;
        read_regular(file)
    }
}

fn read_regular(file: File) -> io::Result<(Stamp, Vec<u8>)> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(N_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > N_BYTES_MAX {
        true => Err(io::Error::other("it is too large to be a run's")),
        false => Ok((Stamp::of(&metadata), bytes)),
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            inode: metadata.ino(),
            n_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_folders_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        let run = folder.path().join("run");
        std::fs::create_dir(&run).unwrap();
        std::os::unix::fs::symlink(&secret, run.join("report.html")).unwrap();
        assert!(RunFile::Page.read(&run).is_err());
        std::fs::create_dir(run.join("report.json")).unwrap();
        assert!(RunFile::Report.read(&run).is_err());
        let pipe = std::ffi::CString::new(run.join("live.json").to_str().unwrap()).unwrap();
        // SAFETY: the path is a string that ends in a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(RunFile::Live.read(&run).is_err());
    }

    #[test]
    fn a_file_that_is_replaced_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(RunFile::Run.stamp(folder.path()).unwrap(), None);
        let write = |text: &str| {
            let temporary = folder.path().join("temporary");
            std::fs::write(&temporary, text).unwrap();
            std::fs::rename(&temporary, folder.path().join("run.json")).unwrap();
        };
        write("{}");
        let (first, bytes) = RunFile::Run.read(folder.path()).unwrap();
        assert_eq!(bytes, b"{}");
        assert_eq!(RunFile::Run.stamp(folder.path()).unwrap(), Some(first));
        write("[]");
        assert_ne!(RunFile::Run.stamp(folder.path()).unwrap(), Some(first));
    }
}
