//! `cargo xtask test`: the set-up, then every check, the fast ones first.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::flags::TestOptions;
use crate::new_workload;
use crate::process::{self, cargo};
use crate::setup::{self, Ready};
use crate::skipped::{Failure, Sieve, Skip};
use crate::step::{Steps, Verdict};
use crate::tidy;
use crate::workspace::Workspace;

/// Runs the steps and prints the table. Returns whether no step failed.
pub(crate) fn test(workspace: &Workspace, options: TestOptions) -> bool {
    let root = &workspace.root;
    let ci = setup::is_ci();
    let mut steps = Steps::new(ci);
    let mut ready = Ready::default();
    let mut sieve = Sieve::default();
    // Without a selection cargo tests everything, including examples and doc tests.
    let selection: &[&str] = if options.fast { &["--lib", "--bins", "--tests"] } else { &[] };

    steps.gate("set-up", "what the tests need beyond cargo", || {
        match setup::set_up(root, !options.no_install) {
            Ok(found) => {
                ready = found;
                set_up_verdict(&ready)
            }
            Err(error) => Verdict::Failed(error.to_string()),
        }
    });
    steps.step("fmt", "the code is formatted", || {
        with_component(root, "fmt", "rustfmt", &["fmt", "--all", "--check"])
    });
    steps.step("tidy", "the repository's rules", || tidy::verdict(workspace));
    steps.step("clippy", "no lint is broken", || {
        let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        with_component(root, "clippy", "clippy", &args)
    });
    steps.gate("build", "everything the tests run", || {
        process::run(cargo(root).args(["test", "--workspace", "--no-run"]).args(selection)).into()
    });
    steps.step("tests", "unit, integration and, without --fast, doc tests", || {
        let mut command = cargo(root);
        command.args(["test", "--workspace", "--no-fail-fast"]).args(selection);
        command.args(["--", "--show-output"]);
        ready.export(&mut command, workspace);
        run_tests(&mut command, ci, &mut sieve)
    });
    if options.fast {
        steps.leave_out("doc tests", "--fast");
        steps.leave_out("demo", "--fast");
        steps.leave_out("template", "--fast");
    } else {
        steps.step("demo", "`swathe demo` on this machine, in the tests' profile", || {
            demo(workspace, &ready)
        });
        steps.step("template", "a new workload in a copy of the workspace", || {
            new_workload::verdict(workspace, &ready)
        });
    }

    if !sieve.failures.is_empty() {
        println!("\ntests that failed:");
        for Failure { test, lines } in &sieve.failures {
            println!("  FAILED {test}");
            for line in lines {
                println!("    {line}");
            }
        }
    }
    if !sieve.skips.is_empty() {
        println!("\ntests that could not run:");
        for Skip { test, reason } in &sieve.skips {
            println!("  SKIPPED {test}: {reason}");
        }
    }
    println!("\n{}", steps.summary());
    steps.all_well()
}

fn set_up_verdict(ready: &Ready) -> Verdict {
    if ready.missing.is_empty() {
        Verdict::Passed
    } else {
        Verdict::Skipped(format!("missing {}", ready.missing.join("; missing ")))
    }
}

/// Runs a cargo subcommand that is a separate component and may not be installed.
fn with_component(root: &Path, subcommand: &str, component: &str, args: &[&str]) -> Verdict {
    if !process::succeeds(cargo(root).args([subcommand, "--version"])) {
        return Verdict::Skipped(format!("{component} is not installed"));
    }
    process::run(cargo(root).args(args)).into()
}

/// Runs Rust tests, and collects those that failed or could not run.
fn run_tests(command: &mut Command, ci: bool, sieve: &mut Sieve) -> Verdict {
    process::say(command);
    let status = command.stdout(Stdio::piped()).spawn().and_then(|mut child| {
        let stdout = child.stdout.take().expect("stdout was asked to be piped");
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            if sieve.shows(&line) {
                println!("{line}");
            }
        }
        child.wait()
    });
    match process::judge(command, status) {
        Ok(()) if ci && !sieve.skips.is_empty() => Verdict::Failed(format!(
            "{} tests could not run, which CI does not excuse",
            sieve.skips.len()
        )),
        judged => judged.into(),
    }
}

/// Runs the demo into its own folder under the target folder. It uses the program that was built
/// with the tests: building the program alone would select other features of its dependencies and
/// compile all of them again.
fn demo(workspace: &Workspace, ready: &Ready) -> Verdict {
    let out = workspace.target_dir.join("xtask-demo");
    if out.exists()
        && let Err(error) = std::fs::remove_dir_all(&out)
    {
        return Verdict::Failed(format!("{} is in the way: {error}", out.display()));
    }
    let mut command = Command::new(workspace.target_dir.join("debug/swathe"));
    command.args(["demo", "--out"]).arg(&out);
    ready.export(&mut command, workspace);
    process::run(&mut command).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A substitute for `cargo test` that passes with one test skipped.
    fn skipping() -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", r"printf 'successes:\n---- a stdout ----\nSKIPPED: no b\n'"]);
        command
    }

    #[test]
    fn a_skipped_test_fails_the_step_only_under_ci() {
        let mut sieve = Sieve::default();
        assert_eq!(run_tests(&mut skipping(), false, &mut sieve), Verdict::Passed);
        assert_eq!(sieve.skips, [Skip { test: "a".to_owned(), reason: "no b".to_owned() }]);
        assert!(matches!(run_tests(&mut skipping(), true, &mut sieve), Verdict::Failed(_)));
    }

    #[test]
    fn failing_tests_fail_the_step() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 101"]);
        assert!(matches!(
            run_tests(&mut command, false, &mut Sieve::default()),
            Verdict::Failed(_)
        ));
    }

    #[test]
    fn what_is_missing_skips_the_set_up() {
        assert_eq!(set_up_verdict(&Ready::default()), Verdict::Passed);
        let ready = Ready { python: None, missing: vec!["x; run: y".to_owned()] };
        assert_eq!(set_up_verdict(&ready), Verdict::Skipped("missing x; run: y".to_owned()));
    }
}
