//! The README is correct: its console examples are run, and print what it shows.

use std::fs;
use std::path::Path;
use std::process::Command;

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    fs::read_to_string(path).expect("the README is there")
}

/// Removes times and rates, which differ from run to run; they are the numbers with a decimal
/// point.
fn without_times(text: &str) -> String {
    let word = |word: &str| {
        let is_time = word.contains('.') && word.trim_matches(['(', ')']).parse::<f64>().is_ok();
        if is_time { "#".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| match line.contains(" busy ") && line.contains("; memory ") {
        true => "how busy it was".to_owned(),
        false => line.split(' ').map(word).collect::<Vec<_>>().join(" "),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs a command in a folder and returns what it prints, messages before data.
fn swathe(words: &[&str], folder: &Path, software_gpu: Option<&str>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swathe"));
    command
        .args(words)
        .env("XDG_CACHE_HOME", folder)
        .env_remove("SWATHE_FAULTS")
        .env_remove("SWATHE_SOFTWARE_GPU")
        .current_dir(folder);
    if let Some(value) = software_gpu {
        command.env("SWATHE_SOFTWARE_GPU", value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
}

/// The README's code blocks in a language.
fn blocks<'a>(readme: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    let parts = readme.split(&start).skip(1);
    parts.filter_map(|block| block.split("```").next()).collect()
}

/// The lines that are only typed, without output, run in the order of the README.
#[test]
fn shell_examples_run() {
    let folder = tempfile::tempdir().unwrap();
    swathe(&["demo", "--out", "demo"], folder.path(), None);
    let data = folder.path().join("demo/data");
    let devices = swathe(&["devices", "--json"], &data, Some("1"));
    let has_gpu = devices.contains("\"kind\": \"gpu\"") || devices.contains("\"kind\":\"gpu\"");
    let readme = readme();
    let mut n_run = 0;
    for line in blocks(&readme, "sh").iter().flat_map(|block| block.lines()) {
        let typed = line.split(" #").next().unwrap_or("").trim();
        let Some(words) = typed.strip_prefix("swathe ") else {
            // What builds the project is run by continuous integration itself.
            assert!(typed.is_empty() || typed.starts_with("cargo "), "{line}");
            continue;
        };
        // A software device is slow, so that only what needs a device gets one.
        let needs_gpu = words.contains("--device gpu");
        if needs_gpu && !has_gpu {
            assert!(std::env::var_os("CI").is_none(), "there is no device");
            eprintln!("SKIPPED: no graphics processor, not even a software device");
            continue;
        }
        // Measuring takes minutes in a build for tests; `gpus.rs` has a test of it.
        if words.contains("--calibrate") {
            continue;
        }
        let mut words: Vec<&str> = words.split_whitespace().collect();
        if needs_gpu {
            words.extend(["--limit", "2"]);
        }
        swathe(&words, &data, needs_gpu.then_some("1"));
        n_run += 1;
    }
    assert!(n_run >= 2, "{n_run} lines were run");
}

#[test]
fn console_examples_print_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    swathe(&["demo", "--out", "demo"], folder.path(), None);
    let data = folder.path().join("demo/data");
    let readme = readme();
    let blocks = blocks(&readme, "console");
    assert!(blocks.len() >= 4, "every workload with a command has an example");
    for block in blocks {
        let (command, expected) = block.split_once('\n').expect("a command and its output");
        let words: Vec<&str> =
            command.strip_prefix("$ swathe ").expect("a command").split(' ').collect();
        let printed = swathe(&words, &data, None);
        // Plain progress lines appear only on a slow machine.
        let printed: Vec<&str> = printed.lines().filter(|line| !line.contains(" done, ")).collect();
        assert_eq!(without_times(&printed.join("\n")), without_times(expected), "{command}");
    }
}

/// The README's Rust examples are compiled and run as doc tests.
#[test]
fn rust_examples_are_doc_tests() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    assert!(fs::read_to_string(lib).unwrap().contains("README.md"));
}
