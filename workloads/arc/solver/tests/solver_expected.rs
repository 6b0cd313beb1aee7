//! Solvers and verifiers of other dialects against what Python makes of them.
//!
//! `SWATHE_SOLVER_EXPECTED` (JSON lines), `SWATHE_SOLVER_FILE` (the programs) and `SWATHE_ARC_TASKS` (a folder or a file
//! of tasks) compare programs that are not part of the project. Without them, those in `tests/solvers` are compared.

mod recorded;

use recorded::{Tasks, decode};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use swathe_arc::{Dialect, Evaluator, Library, Limits, Order, encode, parse, set_dialect};

#[test]
fn outputs_are_those_of_python() {
    let from_outside = ["SWATHE_SOLVER_EXPECTED", "SWATHE_SOLVER_FILE", "SWATHE_ARC_TASKS"]
        .map(|name| std::env::var_os(name).map(PathBuf::from));
    if let [Some(expected), Some(file), Some(tasks)] = from_outside {
        check(&expected, &file, tasks);
        return;
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for dialect in [Dialect::Batt, Dialect::ReArc] {
        let own = folder.join("tests/solvers").join(dialect.name());
        let found = check(
            &own.with_extension("jsonl"),
            &own.with_extension("py"),
            folder.join("samples/tasks"),
        );
        assert_eq!(found, dialect, "the dialect is detected");
    }
}

/// Compares all lines, and tells the dialect of the file.
fn check(expected: &Path, file: &Path, tasks: PathBuf) -> Dialect {
    let text = std::fs::read_to_string(file).expect("a file of programs");
    let parsed = parse(&file.display().to_string(), &text);
    assert_eq!(parsed.errors, []);
    let dialect = parsed.dialect;
    let names: Vec<String> = parsed.programs.iter().map(|p| p.name.clone()).collect();
    let library = Library::new(parsed.programs);
    let tasks = Tasks::new(tasks);
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    let text = std::fs::read_to_string(expected).expect("the expected outputs");
    let (mut n_lines, mut differences) = (0, Vec::new());
    for line in text.lines() {
        let line: Json = serde_json::from_str(line).expect("a line of JSON");
        if line.get("unstable").is_some() {
            // The value depends on an address in Python.
            continue;
        }
        n_lines += 1;
        let name = line["task"].as_str().expect("a task's name");
        let task = tasks.get(name);
        let samples = match line["split"].as_str() {
            Some("test") => &task.test,
            _ => &task.train,
        };
        let sample = &samples[line["sample"].as_u64().expect("a number") as usize];
        let own = |n: &String| n.strip_suffix(name).is_some_and(|n| n.ends_with('_'));
        let program = names.iter().position(own).expect("the task's program");
        let mut got = String::new();
        evaluator.start_task(&task.train);
        evaluator.run_some(sample, [program], |_, result| {
            got = result.map_or_else(|fault| fault.to_string(), encode);
        });
        set_dialect(dialect);
        let wanted = match line.get("error") {
            Some(error) => error.as_str().expect("an error's name").to_string(),
            None => encode(&decode(dialect, &line["out"])),
        };
        if got != wanted {
            let short = |text: &str| text.chars().take(200).collect::<String>();
            let (got, wanted) = (short(&got), short(&wanted));
            differences.push(format!("{name} {}: wanted {wanted}, got {got}", line["sample"]));
        }
    }
    let n_different = differences.len();
    differences.truncate(10);
    assert!(
        differences.is_empty(),
        "{n_different} of {n_lines} lines differ:\n{}",
        differences.join("\n")
    );
    assert!(n_lines > 0, "no lines were compared");
    dialect
}
