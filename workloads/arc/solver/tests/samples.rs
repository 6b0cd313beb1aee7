//! The project's own tasks and programs: complete, solved, and the same as in Python.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use swathe_arc::{
    Dialect, Evaluator, Fault, Grid, Library, Limits, Order, Output, PRIMITIVES, Parsed, Task,
    Value, encode, parse, score,
};

const PROGRAMS: &str = include_str!("../samples/programs.py");

const BATT: &str = include_str!("../samples/batt.py");

/// The outcomes of the same calls in the Python reference; the file describes its own format.
const RECORDED: &str = include_str!("samples.txt");

#[test]
fn there_are_enough() {
    assert!(tasks().len() >= 30, "{} tasks", tasks().len());
    let n_programs = programs().programs.len();
    assert!(n_programs >= 60, "{n_programs} programs");
    for task in tasks() {
        assert!((2..=4).contains(&task.train.len()), "{}", task.name);
        assert!((1..=2).contains(&task.test.len()), "{}", task.name);
        for sample in task.train.iter().chain(&task.test) {
            assert!(sample.output.is_some(), "{} has no answer", task.name);
        }
    }
}

#[test]
fn the_crate_holds_every_file() {
    let held: Vec<&str> = swathe_arc::samples::TASKS.iter().map(|(name, _)| *name).collect();
    let files: Vec<String> = tasks().into_iter().map(|task| task.name).collect();
    assert_eq!(held, files);
    let combined: serde_json::Value =
        serde_json::from_str(&swathe_arc::samples::tasks_json()).expect("JSON");
    assert_eq!(combined.as_object().map(|tasks| tasks.len()), Some(held.len()));
}

#[test]
fn every_primitive_is_used() {
    let mut words = HashSet::new();
    let lines = PROGRAMS.lines().chain(BATT.lines());
    for line in lines.filter(|l| l.starts_with("    ")) {
        words.extend(line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    }
    let unused: Vec<&str> = PRIMITIVES
        .iter()
        .filter(|p| p.is_in(Dialect::ArcDsl))
        .map(|p| p.name)
        .filter(|name| !words.contains(name))
        .collect();
    assert_eq!(unused, [""; 0]);
}

#[test]
fn every_task_is_solved_by_its_own_program() {
    let library = library();
    for task in tasks() {
        let name = format!("solve_{}", task.name);
        let program = library.position(&name).unwrap_or_else(|| panic!("no {name}"));
        let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
        for sample in task.train.iter().chain(&task.test) {
            evaluator.run_some(&sample.input, [program], |_, result| {
                let output = result.unwrap_or_else(|fault| panic!("{name}: {fault}"));
                let expected = sample.output.as_ref().expect("an answer");
                assert!(score(output, expected).equal, "{name} gives {}", encode(output));
            });
        }
    }
}

#[test]
fn every_outcome_is_that_of_the_reference() {
    let library = library();
    let mut seen: Vec<(usize, usize, u64)> = vec![(0, 0, 0xcbf2_9ce4_8422_2325); library.len()];
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    for input in inputs(&tasks()) {
        evaluator.run(input, |program, result| {
            let (n_values, n_errors, hash) = &mut seen[program];
            *(if result.is_ok() { n_values } else { n_errors }) += 1;
            for byte in shown(result).bytes().chain([b'\n']) {
                *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        });
    }
    let seen: Vec<String> = library
        .names()
        .zip(&seen)
        .map(|(name, (n_values, n_errors, hash))| {
            format!("{name} {n_values} {n_errors} {hash:016x}")
        })
        .collect();
    let recorded: Vec<&str> = RECORDED.lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(seen, recorded);
}

#[test]
fn outputs_that_are_not_kept_are_still_known() {
    let library = library();
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    for input in inputs(&tasks()).step_by(7) {
        evaluator.run(input, |_, result| {
            let Ok(value) = result else { return };
            let text = encode(value);
            let whole = Output::of(value, usize::MAX);
            assert_eq!(whole.text.as_deref(), Some(text.as_str()));
            for n_bytes_max in [0, 1, 64, text.len() - 1, text.len()] {
                let cut = Output::of(value, n_bytes_max);
                assert_eq!((cut.hash, cut.n_bytes), (whole.hash, text.len()));
                assert_eq!(cut.text.is_some(), n_bytes_max >= text.len());
            }
        });
    }
}

#[test]
fn merged_is_one_by_one() {
    let (merged, tasks) = (library(), tasks());
    let alone: Vec<Library> =
        programs().programs.into_iter().map(|program| Library::new(vec![program])).collect();
    for order in [Order::Cpython, Order::Sorted] {
        let mut together = Evaluator::new(&merged, order, Limits::default());
        let mut apart: Vec<Evaluator> =
            alone.iter().map(|library| Evaluator::new(library, order, Limits::default())).collect();
        for input in inputs(&tasks) {
            let mut outcomes = Vec::new();
            together.run(input, |_, result| outcomes.push(shown(result)));
            for (k, evaluator) in apart.iter_mut().enumerate() {
                evaluator.run(input, |_, result| assert_eq!(shown(result), outcomes[k]));
            }
        }
    }
}

fn programs() -> Parsed {
    let parsed = parse("programs.py", PROGRAMS);
    assert_eq!(parsed.errors, []);
    parsed
}

fn library() -> Library {
    Library::new(programs().programs)
}

/// The tasks in the order of their names.
fn tasks() -> Vec<Task> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/tasks");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the folder of tasks")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let task = |path: &Path| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        Task::from_json(&name, &fs::read_to_string(path).expect("a readable task"))
    };
    paths.iter().map(|path| task(path).expect("a valid task")).collect()
}

fn inputs(tasks: &[Task]) -> impl Iterator<Item = &Grid> {
    tasks.iter().flat_map(|task| task.train.iter().chain(&task.test)).map(|sample| &sample.input)
}

fn shown(result: Result<&Value, &Fault>) -> String {
    result.map_or_else(|fault| fault.name().to_string(), encode)
}
