//! `swathe arc`: every call gives the same result as the library.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, LargeStringArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, UInt32Type, UInt64Type};
use swathe_arc::{Evaluator, Library, Limits, Order, Output, Task, encode, parse, score};
use tempfile::TempDir;

use crate::program::{Ended, swathe, table};

/// The project's own programs and tasks.
pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/arc/solver/samples")
}

/// A folder with the project's own programs and some of its tasks, one in `step`.
pub(crate) fn folder(step: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(samples().join("programs.py"), folder.path().join("programs.py")).unwrap();
    std::fs::create_dir(folder.path().join("tasks")).unwrap();
    for path in task_files().iter().step_by(step) {
        let name = path.file_name().unwrap();
        std::fs::copy(path, folder.path().join("tasks").join(name)).unwrap();
    }
    folder
}

fn task_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(samples().join("tasks")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

pub(crate) fn tasks_in(folder: &Path) -> Vec<Arc<Task>> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let task = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy();
        Arc::new(Task::from_json(&name, &std::fs::read_to_string(path).unwrap()).unwrap())
    };
    paths.iter().map(task).collect()
}

pub(crate) fn run(folder: &Path, flags: &str, code: i32) -> Ended {
    let line = format!("arc --programs programs.py --tasks tasks {flags}");
    swathe(folder, &line).expect(code)
}

/// A row of `results.parquet`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) row: u64,
    pub(crate) program: String,
    pub(crate) task: String,
    pub(crate) split: String,
    pub(crate) index: u32,
    pub(crate) outcome: String,
    pub(crate) error_kind: Option<String>,
    pub(crate) equal: Option<bool>,
    pub(crate) score: Option<f64>,
    pub(crate) output: Option<String>,
    pub(crate) output_hash: Option<u64>,
    pub(crate) output_bytes: Option<u64>,
}

pub(crate) fn results(run: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in table(&run.join("results.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let words = |name: &str| -> StringArray {
            let plain = cast(column(name), &DataType::Utf8).unwrap();
            plain.as_string::<i32>().clone()
        };
        let word = |words: &StringArray, at: usize| words.value(at).to_owned();
        let [program, task, split, outcome, error_kind] =
            ["program", "task", "split", "outcome", "error_kind"].map(words);
        let output = cast(column("output"), &DataType::LargeUtf8).unwrap();
        let output: &LargeStringArray = output.as_string();
        let number = |name: &str| column(name).as_primitive::<UInt64Type>().clone();
        let (row, hash, n_bytes) = (number("row"), number("output_hash"), number("output_bytes"));
        let index = column("sample").as_primitive::<UInt32Type>();
        let equal = column("equal").as_boolean();
        let score = column("score").as_primitive::<Float64Type>();
        for at in 0..batch.num_rows() {
            rows.push(Row {
                row: row.value(at),
                program: word(&program, at),
                task: word(&task, at),
                split: word(&split, at),
                index: index.value(at),
                outcome: word(&outcome, at),
                error_kind: error_kind.is_valid(at).then(|| word(&error_kind, at)),
                equal: equal.is_valid(at).then(|| equal.value(at)),
                score: score.is_valid(at).then(|| score.value(at)),
                output: output.is_valid(at).then(|| output.value(at).to_owned()),
                output_hash: hash.is_valid(at).then(|| hash.value(at)),
                output_bytes: n_bytes.is_valid(at).then(|| n_bytes.value(at)),
            });
        }
    }
    rows
}

/// The library's results of the same calls, one program and one sample at a time.
fn expected(folder: &Path, order: Order, is_own: bool) -> Vec<Row> {
    let mut rows = expected_whole(folder, order, is_own);
    for row in &mut rows {
        row.output.take_if(|text| text.len() > 64 << 10);
    }
    rows
}

/// The same, with outputs of any length.
fn expected_whole(folder: &Path, order: Order, is_own: bool) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.join("programs.py")).unwrap();
    let programs = parse("programs.py", &text).programs;
    let libraries: Vec<(String, Library)> = programs
        .into_iter()
        .map(|program| (program.name.clone(), Library::new(vec![program])))
        .collect();
    let mut rows = Vec::new();
    for task in tasks_in(&folder.join("tasks")) {
        let splits = [("train", &task.train), ("test", &task.test)];
        let samples = splits.iter().flat_map(|(split, samples)| {
            let numbered = samples.iter().enumerate();
            numbered.map(move |(index, sample)| (*split, index, sample))
        });
        for (split, index, sample) in samples {
            for (program, library) in &libraries {
                if is_own && *program != format!("solve_{}", task.name) {
                    continue;
                }
                let mut evaluator = Evaluator::new(library, order, Limits::default());
                evaluator.run(&sample.input, |_, result| {
                    let wanted = sample.output.as_ref().unwrap();
                    let scored = result.map(|value| score(value, wanted)).ok();
                    let outcome = match result {
                        Ok(_) => "ok",
                        Err(fault) if fault.is_limit() => fault.name(),
                        Err(_) => "error",
                    };
                    rows.push(Row {
                        row: rows.len() as u64,
                        program: program.clone(),
                        task: task.name.clone(),
                        split: split.to_owned(),
                        index: index as u32,
                        outcome: outcome.to_owned(),
                        error_kind: result.err().map(|fault| fault.name().to_owned()),
                        equal: Some(scored.is_some_and(|scored| scored.equal)),
                        score: Some(scored.map_or(0.0, |scored| scored.score)),
                        output: result.ok().map(encode),
                        output_hash: result
                            .ok()
                            .map(|value| Output::of(value, usize::MAX).hash as u64),
                        output_bytes: result.ok().map(|value| encode(value).len() as u64),
                    });
                });
            }
        }
    }
    rows
}

#[track_caller]
fn check(found: &[Row], expected: &[Row]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn every_call_is_as_the_library_evaluates_it_alone() {
    let folder = folder(1);
    let wanted = expected(folder.path(), Order::Cpython, false);
    let ended = run(folder.path(), "--out run --verify 5", 0);
    assert_eq!(ended.stdout, "run\n");
    check(&results(&folder.path().join("run")), &wanted);
    let told = |what: &str| assert!(ended.stderr.contains(what), "{what}: {}", ended.stderr);
    told(&format!("{} calls\n", wanted.len()));
    let n_equal = wanted.iter().filter(|row| row.equal == Some(true)).count();
    told(&format!("{n_equal} calls gave the expected output"));
    told("43 of 44 tasks solved, 44 fit their demonstrations\n");
    told("5 problems solved again, all agree");
}

#[test]
fn ascending_sets_and_own_tasks_are_as_in_the_library() {
    let folder = folder(3);
    run(folder.path(), "--order sorted --out sorted", 0);
    let wanted = expected(folder.path(), Order::Sorted, false);
    check(&results(&folder.path().join("sorted")), &wanted);
    assert_ne!(wanted, expected(folder.path(), Order::Cpython, false));
    run(folder.path(), "--pairing own --out own", 0);
    let wanted = expected(folder.path(), Order::Cpython, true);
    check(&results(&folder.path().join("own")), &wanted);
    assert!(wanted.iter().all(|row| row.equal == Some(true)));
}

#[test]
fn long_outputs_are_kept_if_asked_for() {
    let folder = folder(44);
    let programs = "def large(I):\n    return upscale(I, 100)\ndef same(I):\n    return I\n";
    std::fs::write(folder.path().join("programs.py"), programs).unwrap();
    let ended = run(folder.path(), "--out short", 0);
    assert!(ended.stderr.contains("too long to be kept"), "{}", ended.stderr);
    let short = results(&folder.path().join("short"));
    run(folder.path(), "--outputs all --out all", 0);
    let all = results(&folder.path().join("all"));
    check(&all, &expected_whole(folder.path(), Order::Cpython, false));
    check(&short, &expected(folder.path(), Order::Cpython, false));
    let n_kept = |rows: &[Row]| rows.iter().filter(|row| row.output.is_some()).count();
    assert_eq!((n_kept(&all), n_kept(&short)), (all.len(), all.len() / 2));
}
