//! Stdout: data, for people and pipes. Everything that is printed there goes through here.

use std::io::{self, ErrorKind, Write};

use crate::fault::{Code, Fault};

/// Prints a line.
pub fn line(text: impl std::fmt::Display) -> Result<(), Fault> {
    print(&format!("{text}\n"))
}

/// Prints text as it is. A reader that has seen enough (`| head -1`) is no fault: what is left is
/// simply not printed.
pub fn print(text: &str) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Fault::new(
            Code::Output,
            format!("cannot print to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}
