//! Stdout: the data that a command outputs. All output to stdout goes through this module.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli_error::{CliError, Code};
use crate::visible::visible;

static IS_DISCARDED: AtomicBool = AtomicBool::new(false);

/// Calls `work` and discards its output to stdout.
pub fn discarded<T>(work: impl FnOnce() -> T) -> T {
    let was_discarded = IS_DISCARDED.swap(true, Ordering::Relaxed);
    let done = work();
    IS_DISCARDED.store(was_discarded, Ordering::Relaxed);
    done
}

/// Prints a line.
///
/// # Errors
/// As for [`print_as_is`].
pub fn line(text: impl std::fmt::Display) -> Result<(), CliError> {
    print(&format!("{text}\n"))
}

/// Prints text. On a terminal, control characters, which inputs can contain, are escaped.
///
/// # Errors
/// As for [`print_as_is`].
pub fn print(text: &str) -> Result<(), CliError> {
    match io::stdout().is_terminal() {
        true => print_as_is(&visible(text)),
        false => print_as_is(text),
    }
}

/// Prints text unchanged, including colours. A closed pipe (`| head -1`) is not an error: the rest
/// is dropped.
///
/// # Errors
/// If stdout cannot be written for a reason other than a closed pipe.
pub fn print_as_is(text: &str) -> Result<(), CliError> {
    if IS_DISCARDED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::new(Code::Output, format!("cannot print to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
