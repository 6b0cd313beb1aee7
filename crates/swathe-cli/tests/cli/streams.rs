//! Output on stdout and stderr, and runs that cannot write to them.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::{
    Ended, Random, command, in_folder, many_floats, result_hash, save, swathe, swathe_with,
};

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

#[test]
fn arguments_that_are_no_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"in\xff.npz");
    let mut run = command(folder.path(), "array map sqrt --out run");
    let ended = Ended::of(run.arg(name).output().unwrap()).expect(2);
    assert!(
        ended.stderr.starts_with("error: argument 6 is not UTF-8: \"in\\xFF.npz\"\nhint: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn threads_that_the_system_refuses_are_done_without() {
    let folder = tempfile::tempdir().unwrap();
    let items: Vec<_> = (0..600).map(|k| (format!("item{k}"), Random(k).floats(&[100]))).collect();
    save(folder.path(), "in.npz", &items);
    let line = "array map sqrt in.npz --progress plain --threads 4";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    let hash = result_hash(&folder.path().join("whole"));

    let faults = "SWATHE_FAULTS";
    let rule = "oom@thread:4,oom@thread:5";
    let some = swathe_with(folder.path(), faults, rule, &format!("{line} --out some")).expect(0);
    let said = "warning: the system refused to start 2 threads, the run goes on with fewer\n";
    assert!(some.stderr.contains(said), "{}", some.stderr);
    assert_eq!(result_hash(&folder.path().join("some")), hash);

    // Starting the first worker is retried once.
    let no_worker = "oom@thread:2,oom@thread:3";
    for (rule, out) in [("oom@thread:1", "watchdog"), (no_worker, "worker")] {
        let line = format!("{line} --out {out}");
        let none = swathe_with(folder.path(), faults, rule, &line).expect(1);
        let said = "error: the system refused to start the threads that the run needs\nhint: ";
        assert!(none.stderr.contains(said), "{}", none.stderr);
        swathe(folder.path(), &format!("{line} --resume")).expect(0);
        assert_eq!(result_hash(&folder.path().join(out)), hash);
    }

    // A real failure: 400 threads with stacks of 16 MiB do not fit.
    let program = env!("CARGO_BIN_EXE_swathe");
    let line = "array map sqrt in.npz --progress plain --prefetch 0 --memory 64MiB --threads 400";
    let limited = format!("ulimit -v 3000000; exec {program} {line} --out limited");
    let mut shell = in_folder(Command::new("sh"), folder.path());
    // Slow launches, because threads that end at once would make room for the next.
    shell.env(faults, "slow%100=300ms:seed=1");
    let output = shell.args(["-c", &limited]).output();
    let ended = Ended::of(output.unwrap()).expect(0);
    let said = "warning: the system refused to start ";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert_eq!(result_hash(&folder.path().join("limited")), hash);
}

#[test]
fn json_is_all_there_is_on_stderr_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let events = |ended: &Ended| -> Vec<String> {
        let parsed = ended.stderr.lines().map(|line| {
            let line: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{error}: {line:?} in {}", ended.stderr));
            line["event"].as_str().unwrap().to_owned()
        });
        parsed.collect()
    };
    let run = swathe(folder.path(), &format!("{MAP} --out run --progress json")).expect(0);
    let found = events(&run);
    for event in ["progress", "status"] {
        assert!(found.iter().any(|found| found == event), "{}", run.stderr);
    }
    for line in [
        "array map sqrt missing.npz --out no --progress json",
        "array map --progress=json",
        &format!("{MAP} --out run --progress json --memory lots"),
    ] {
        let failed = swathe(folder.path(), line).expect(2);
        assert_eq!(events(&failed), ["error"], "{}", failed.stderr);
    }
    fs::write(folder.path().join("swathe.toml"), "progress = \"json\"\n").unwrap();
    let filed = swathe_with(folder.path(), "SWATHE_SED", "1", &format!("{MAP} --out filed"));
    // The variables are read before swathe.toml, so a warning about one is still text.
    let (first, rest) = filed.stderr.split_once('\n').unwrap();
    assert!(first.starts_with("warning: "), "{first}");
    let rest = Ended { stderr: rest.to_owned(), ..filed };
    assert!(events(&rest).contains(&"status".to_owned()));
}

#[test]
fn quiet_runs_say_nothing_but_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for (line, out) in [
        (format!("{MAP} -o one -q"), "one"),
        (format!("-q {MAP} -o two"), "two"),
        (format!("{MAP} --quiet --progress plain -o three"), "three"),
    ] {
        let ended = swathe(folder.path(), &line).expect(0);
        assert_eq!(ended.stderr, "", "{line}");
        assert_eq!(ended.stdout, format!("{out}\n"));
    }
    let ended = swathe(folder.path(), "merge missing -q").expect(2);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
}

#[test]
fn misspelt_variables_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    for (name, said) in [
        (
            "SWATHE_EPSILN",
            "warning: the variable SWATHE_EPSILN is not known and not used; did you mean SWATHE_EPSILON?\n",
        ),
        (
            "SWATHE_TIMELIMIT",
            "warning: the variable SWATHE_TIMELIMIT is not known and not used; did you mean SWATHE_TIME_LIMIT?\n",
        ),
        ("SWATHE_QQQ", "warning: the variable SWATHE_QQQ is not known and not used\n"),
        ("SWATHE_MEMORY", ""),
        ("SWATHE_WATCH_TOKEN", ""),
        ("OTHER", ""),
    ] {
        let ended = swathe_with(folder.path(), name, "1", "completions bash").expect(0);
        assert_eq!(ended.stderr, said);
    }
}

#[test]
fn control_characters_of_inputs_are_shown_and_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let bell = "\x1b]0;mine\x07";
    let program = format!("def solve(I):\n    O = vmirrr(I) {bell}\n    return O\n");
    fs::write(folder.path().join("bad.py"), program).unwrap();
    fs::write(folder.path().join("bad.toml"), "\"a\\u001b[2Jb\" = 1\n").unwrap();
    save(folder.path(), "in.npz", &[(format!("x{bell}"), Random(1).bytes(4))]);
    let task = format!(r#"{{"x{}": 5}}"#, "\\u001b[2J");
    fs::write(folder.path().join("tasks.json"), task).unwrap();
    for line in [
        "arc explain --programs bad.py",
        "arc --programs bad.py --tasks tasks.json --out arc",
        "array map sqrt in.npz --config bad.toml --out run",
        "array map sqrt in.npz --out out.npz",
        "array map sqrt in.npz --out run",
    ] {
        let ended = swathe(folder.path(), line);
        assert_ne!(ended.code, 101, "{}", ended.stderr);
        let is_raw = ended.stderr.contains(|c: char| c.is_control() && c != '\n');
        assert!(!is_raw, "{line}: {:?}", ended.stderr);
        let is_silent = !ended.stderr.contains("\\u{1b}");
        assert!(!is_silent || line.ends_with("--out run"), "{line}: {}", ended.stderr);
    }
}
