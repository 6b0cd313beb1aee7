//! The documents are correct: their examples for the shell are run, and print what they show.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cases::transcript::{compare, shell};
use crate::cases::vocabulary;

/// A folder with the demo, in whose `data` the examples can be typed.
fn demo() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let said = shell(folder.path(), "swathe demo --out demo");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let data = folder.path().join("demo/data");
    (folder, data)
}

/// The README and every page of `docs`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("docs")];
    let mut documents = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents
}

/// A document in pieces: what is outside of blocks of a language, and what is inside, in turn.
fn pieces<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    let mut pieces = Vec::new();
    let mut rest = document;
    while let Some(at) = rest.find(&start) {
        let (outside, inside) = rest.split_at(at + start.len());
        let end = inside.find("```").expect("a block ends");
        pieces.extend([outside, &inside[..end]]);
        rest = &inside[end..];
    }
    pieces.push(rest);
    pieces
}

/// A figure of the run's speed is a number with a decimal point; how busy a run was is one line.
fn without_figures(text: &str) -> String {
    let word = |word: &str| {
        let is_figure = word.contains('.') && word.trim_matches(['(', ')']).parse::<f64>().is_ok();
        if is_figure { "#".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| match line.contains(" busy ") && line.contains("; memory ") {
        true => "how busy it was".to_owned(),
        false => line.split(' ').map(word).collect::<Vec<_>>().join(" "),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// `SNAPSHOTS=overwrite` writes what is printed into the documents.
#[test]
fn console_examples_print_what_they_show() {
    for path in documents() {
        let document = fs::read_to_string(&path).unwrap();
        let pieces = pieces(&document, "console");
        if pieces.len() == 1 {
            continue;
        }
        let (_folder, data) = demo();
        let mut actual = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            if at % 2 == 0 {
                actual += piece;
                continue;
            }
            let (line, expected) = piece.split_once('\n').expect("a command and its output");
            let said = shell(&data, line.strip_prefix("$ ").expect("a command"));
            assert_eq!(said.code, 0, "{line}: {}", said.stderr);
            let printed = said.without_progress();
            let is_same = without_figures(&printed) == without_figures(expected);
            actual += &format!("{line}\n{}", if is_same { expected } else { &printed });
        }
        compare(&actual, &path);
    }
}

/// The lines that are only typed, without output, run in the order of the README.
#[test]
fn shell_examples_run() {
    let (_folder, data) = demo();
    let readme = fs::read_to_string(&documents()[0]).unwrap();
    let pieces = pieces(&readme, "sh");
    let mut n_run = 0;
    for line in pieces.iter().skip(1).step_by(2).flat_map(|block| block.lines()) {
        let typed = line.split(" #").next().unwrap_or("").trim();
        if !typed.starts_with("swathe ") {
            // What builds the project is run by continuous integration itself.
            assert!(typed.is_empty() || typed.starts_with("cargo "), "{line}");
            continue;
        }
        // Measuring takes minutes in a build for tests; `gpu/devices.case` has a test of it.
        if typed.contains("--calibrate") {
            continue;
        }
        // A software device is slow, so that only what needs a device gets one.
        let typed = match typed.contains("--device gpu") {
            true => match vocabulary::run(&data, "needs gpu") {
                Some(Err(why)) => {
                    crate::cases::transcript::skip(&why);
                    continue;
                }
                _ => format!("SWATHE_SOFTWARE_GPU=1 {typed} --limit 2"),
            },
            false => typed.to_owned(),
        };
        let said = shell(&data, &typed);
        assert_eq!(said.code, 0, "{typed}: {}", said.stderr);
        n_run += 1;
    }
    assert!(n_run >= 2, "{n_run} lines were run");
}

/// The README's Rust examples are compiled and run as doc tests.
#[test]
fn rust_examples_are_doc_tests() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    assert!(fs::read_to_string(lib).unwrap().contains("README.md"));
}
