//! Stdout: data, for people and pipes. Everything that is printed there goes through here.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use crate::cli_error::{CliError, Code};
use crate::visible::visible;

/// Prints a line.
pub fn line(text: impl std::fmt::Display) -> Result<(), CliError> {
    print(&format!("{text}\n"))
}

/// Prints text; on a terminal, control characters that inputs can contain are shown instead of sent.
pub fn print(text: &str) -> Result<(), CliError> {
    match io::stdout().is_terminal() {
        true => print_as_is(&visible(text)),
        false => print_as_is(text),
    }
}

/// Prints text with its colours. A reader that has seen enough (`| head -1`) is no fault: what is left is
/// simply not printed.
pub fn print_as_is(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CliError::new(
            Code::Output,
            format!("cannot print to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}
