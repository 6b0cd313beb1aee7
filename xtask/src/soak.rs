//! `cargo xtask soak`: the tests that are too long for continuous integration.

use std::process::Command;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Lists the tests marked `#[ignore]`, then runs them; true when they pass.
pub(crate) fn soak(workspace: &Workspace, filter: Option<&str>) -> bool {
    let mut listing = ignored_tests(workspace, filter);
    listing.args(["--list", "--format=terse"]);
    let Some(listed) = process::answer(&mut listing) else {
        // Once more in the open, so that what went wrong can be read.
        return process::run(&mut listing).is_ok();
    };
    let names = test_names(&listed);
    if names.is_empty() {
        println!("no test marked #[ignore] matches; nothing ran");
        return filter.is_none();
    }
    println!("{} tests:", names.len());
    for name in names {
        println!("  {name}");
    }
    match process::run(&mut ignored_tests(workspace, filter)) {
        Ok(()) => true,
        Err(error) => {
            println!("FAILED: {error}");
            false
        }
    }
}

/// Doc tests stay out: marked `ignore`, they are text rather than long tests.
fn ignored_tests(workspace: &Workspace, filter: Option<&str>) -> Command {
    let mut command = cargo(&workspace.root);
    command.env("SWATHE_SOAK", "1");
    command.args([
        "test",
        "--workspace",
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
        "--",
    ]);
    command.arg("--ignored").args(filter);
    command
}

/// The names in what the harness lists: one `name: test` per line.
fn test_names(listed: &str) -> Vec<&str> {
    listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_are_named() {
        let listed = "kill::at_200_moments: test\n\nspeed: benchmark\nfaults::pairs: test\n";
        assert_eq!(
            test_names(listed),
            ["kill::at_200_moments", "faults::pairs"]
        );
    }
}
