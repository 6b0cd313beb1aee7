//! The README tells the truth: its console examples are typed, and print what it says.

use std::fs;
use std::path::Path;
use std::process::Command;

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    fs::read_to_string(path).expect("the README is there")
}

/// Times and rates differ from run to run; they are the numbers with a decimal point.
fn without_times(text: &str) -> String {
    let word = |word: &str| {
        let is_time = word.contains('.') && word.trim_matches(['(', ')']).parse::<f64>().is_ok();
        if is_time {
            "#".to_owned()
        } else {
            word.to_owned()
        }
    };
    let line = |line: &str| match line.contains(" busy ") && line.contains("; memory ") {
        true => "how busy it was".to_owned(),
        false => line.split(' ').map(word).collect::<Vec<_>>().join(" "),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn console_examples_print_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let swathe = |words: &[&str], folder: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_swathe"))
            .args(words)
            .env("XDG_CACHE_HOME", folder)
            .env_remove("SWATHE_FAULTS")
            .env_remove("SWATHE_SOFTWARE_GPU")
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        // Talk comes before data, as it does on a terminal.
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
    };
    swathe(&["demo", "--out", "demo"], folder.path());
    let data = folder.path().join("demo/data");
    let readme = readme();
    let blocks: Vec<&str> = readme
        .split("```console\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .collect();
    assert!(
        blocks.len() >= 4,
        "every workload with a command has an example"
    );
    for block in blocks {
        let (command, expected) = block.split_once('\n').expect("a command and its output");
        let words: Vec<&str> = command
            .strip_prefix("$ swathe ")
            .expect("a command")
            .split(' ')
            .collect();
        let printed = swathe(&words, &data);
        // Plain progress lines appear where a machine is slow.
        let printed: Vec<&str> = printed
            .lines()
            .filter(|line| !line.contains(" done, "))
            .collect();
        assert_eq!(
            without_times(&printed.join("\n")),
            without_times(expected),
            "{command}"
        );
    }
}

/// The README's Rust is compiled and run with the documentation's examples.
#[test]
fn rust_examples_are_doc_tests() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    assert!(fs::read_to_string(lib).unwrap().contains("README.md"));
}
