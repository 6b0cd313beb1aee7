//! Runs whose stdout or stderr is full or closed.

use std::fs;
use std::process::Stdio;

use crate::program::{command, many_floats, result_hash, swathe};

const MAP: &str = "array map sqrt in.npz --threads 2";

#[test]
fn a_stderr_that_is_full_or_closed_does_not_end_a_run() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for style in ["auto", "bar", "plain", "json", "none"] {
        let line = format!("{MAP} --progress {style}");
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = format!("full-{style}");
        let mut run = command(folder.path(), &format!("{line} --out {out}"));
        assert_eq!(run.stderr(full).status().unwrap().code(), Some(0), "{style}");
        result_hash(&folder.path().join(out));

        let out = format!("closed-{style}");
        let mut run = command(folder.path(), &format!("{line} --out {out}"));
        let mut run = run.stdout(Stdio::null()).spawn().unwrap();
        drop(run.stderr.take());
        assert_eq!(run.wait().unwrap().code(), Some(0), "{style}");
        result_hash(&folder.path().join(out));
    }
    // Errors cannot be printed then; the exit status still reports them.
    for line in ["array map sqrt missing.npz --out x", "frobnicate"] {
        let mut run = command(folder.path(), line).spawn().unwrap();
        drop(run.stderr.take());
        assert_eq!(run.wait().unwrap().code(), Some(2), "{line}");
    }
}

#[test]
fn a_stdout_that_is_closed_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    swathe(folder.path(), &format!("{MAP} --out run")).expect(0);
    for line in [
        &format!("{MAP} --out again"),
        &format!("{MAP} --out plan --explain"),
        "report run --text",
        "report run run",
        "completions bash",
        "devices",
        "--help",
        "ot --help",
    ] {
        let mut run = command(folder.path(), line).spawn().unwrap();
        drop(run.stdout.take());
        let output = run.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
    }
}
