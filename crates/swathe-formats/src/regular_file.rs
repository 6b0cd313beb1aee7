//! Opens only regular files, which have an end. Reading a FIFO, a device or a socket could block or
//! never end.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
/// If it cannot be opened, or is a folder or another file that is not regular.
pub fn open(path: &Path) -> io::Result<File> {
    // Without this flag, opening a FIFO would block until a writer opens it. Regular files ignore
    // the flag.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// The contents of a regular file.
///
/// # Errors
/// As for [`open`], or if the file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// As for [`read`], or if the contents are not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
    String::from_utf8(read(path)?).map_err(not_text)
}

/// Checks that a file type is a regular file.
///
/// # Errors
/// If it is not; the error names the type.
pub fn check(file_type: FileType) -> io::Result<()> {
    let what = match file_type {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => return Err(io::Error::from_raw_os_error(libc::EISDIR)),
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    };
    let complaint = format!("it is {what}, not a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, complaint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "text");
        let told = |path: &Path| read(path).unwrap_err().to_string();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        assert_eq!(told(&fifo), "it is a FIFO, not a regular file");
        assert_eq!(told(Path::new("/dev/zero")), "it is a device, not a regular file");
        assert!(told(folder.path()).starts_with("Is a directory"));
        // A socket cannot be opened at all.
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(open(&socket).is_err());
    }
}
