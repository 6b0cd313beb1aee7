//! Stdout: data, for people and pipes. Everything that is printed there goes through here.

use std::io::{self, ErrorKind, Write};

use crate::cli_error::{CliError, Code};

/// Prints a line.
pub fn line(text: impl std::fmt::Display) -> Result<(), CliError> {
    print(&format!("{text}\n"))
}

/// Prints text as it is. A reader that has seen enough (`| head -1`) is no fault: what is left is
/// simply not printed.
pub fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CliError::new(
            Code::Output,
            format!("cannot print to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}
