//! The Python interpreter that tests compare with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An interpreter that has NumPy: `SWATHE_PYTHON`, or that of the repository's `.venv`. Without one
/// the test is skipped, but never where everything has to run.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub fn with_numpy() -> Option<PathBuf> {
    let python = std::env::var_os("SWATHE_PYTHON").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python"),
        PathBuf::from,
    );
    let has_numpy = Command::new(&python)
        .args(["-c", "import numpy"])
        .output()
        .is_ok_and(|output| output.status.success());
    if has_numpy {
        return Some(python);
    }
    let reason = format!("no NumPy with {}", python.display());
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    println!("SKIPPED: {reason}");
    None
}

/// Runs a script to its end.
///
/// # Panics
/// If it fails, with what it said.
pub fn run(command: &mut Command) {
    let output = command.output().expect("the interpreter is there");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
