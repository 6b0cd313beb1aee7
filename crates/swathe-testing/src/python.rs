//! Runs the Python interpreter that tests compare results with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An interpreter that has NumPy; see [`with`].
///
/// # Panics
/// As for [`with`].
pub fn with_numpy() -> Option<PathBuf> {
    with("numpy")
}

/// An interpreter that has these modules, separated by commas: `SWATHE_PYTHON`, or the one in the
/// repository's `.venv`. `None` if there is none: the caller then skips the test.
///
/// # Panics
/// If there is none and `CI` is set, where no test may be skipped.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub fn with(modules: &str) -> Option<PathBuf> {
    let python = interpreter();
    let has_modules = Command::new(&python)
        .args(["-c", &format!("import {modules}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if has_modules {
        return Some(python);
    }
    let reason = format!("no {modules} with {}", python.display());
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    println!("SKIPPED: {reason}");
    None
}

/// The interpreter of [`with`], which may lack modules or not exist at all.
pub fn interpreter() -> PathBuf {
    std::env::var_os("SWATHE_PYTHON").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python"),
        PathBuf::from,
    )
}

/// Runs a script to its end.
///
/// # Panics
/// If the script fails; the message is its stderr.
pub fn run(command: &mut Command) {
    let output = command.output().expect("the interpreter is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
