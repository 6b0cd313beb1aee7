//! `cargo xtask soak`: runs the tests that take too long for continuous integration.

use std::process::Command;

use crate::process::{self, CommandError, cargo};
use crate::setup::{self, Ready};
use crate::workspace::Workspace;

/// Lists the tests marked `#[ignore]`, then runs them. Returns true if they pass.
pub(crate) fn soak(workspace: &Workspace, filter: Option<&str>) -> bool {
    let ready = match setup::set_up(&workspace.root, true) {
        Ok(ready) => ready,
        Err(error) => {
            eprintln!("error: {error}");
            return false;
        }
    };
    for sentence in &ready.missing {
        println!("missing: {sentence}");
    }
    match run(workspace, &ready, filter) {
        Ok(n_tests) => n_tests > 0 || filter.is_none(),
        Err(error) => {
            println!("FAILED: {error}");
            false
        }
    }
}

/// Builds, lists and runs the tests. Returns their number.
fn run(workspace: &Workspace, ready: &Ready, filter: Option<&str>) -> Result<usize, CommandError> {
    process::run(&mut long_tests(workspace, &["--no-run"]))?;
    let mut listing = long_tests(workspace, &["--"]);
    listing.args(["--ignored", "--list", "--format=terse"]).args(filter);
    let Some(listed) = process::answer(&mut listing) else {
        // Run again with visible output, so that the user can read the error.
        return process::run(&mut listing).map(|()| 0);
    };
    let names = test_names(&listed);
    if names.is_empty() {
        println!("no test marked #[ignore] matches; nothing ran");
        return Ok(0);
    }
    println!("long tests: {}", names.len());
    for name in &names {
        println!("  {name}");
    }
    // Without capture, because a long test prints its progress.
    let mut command = long_tests(workspace, &["--no-fail-fast", "--"]);
    command.args(["--ignored", "--nocapture"]).args(filter);
    ready.export(&mut command, workspace);
    process::run(&mut command)?;
    Ok(names.len())
}

/// Doc tests are excluded: those marked `ignore` are plain text, not long tests.
fn long_tests(workspace: &Workspace, args: &[&str]) -> Command {
    let mut command = cargo(&workspace.root);
    command.env("SWATHE_SOAK", "1");
    command.args(["test", "--workspace", "--lib", "--bins", "--tests"]).args(args);
    command
}

/// The names in the harness's list, which has one `name: test` per line.
fn test_names(listed: &str) -> Vec<&str> {
    listed.lines().filter_map(|line| line.strip_suffix(": test")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_are_named() {
        let listed = "kill::at_200_moments: test\n\nspeed: benchmark\nfaults::pairs: test\n";
        assert_eq!(test_names(listed), ["kill::at_200_moments", "faults::pairs"]);
    }
}
