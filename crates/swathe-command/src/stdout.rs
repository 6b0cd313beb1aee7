//! Stdout: data, for people and pipes. Everything that is printed there goes through here.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli_error::{CliError, Code};
use crate::visible::visible;

static IS_DISCARDED: AtomicBool = AtomicBool::new(false);

/// Carries something out whose output nothing reads.
pub fn discarded<T>(work: impl FnOnce() -> T) -> T {
    let was_discarded = IS_DISCARDED.swap(true, Ordering::Relaxed);
    let done = work();
    IS_DISCARDED.store(was_discarded, Ordering::Relaxed);
    done
}

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
    if IS_DISCARDED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CliError::new(
            Code::Output,
            format!("cannot print to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}
