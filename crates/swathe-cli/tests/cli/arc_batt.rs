//! `swathe arc batt`: differs have the values that the library gives them, also in runs that are
//! cut short.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{UInt32Type, UInt64Type};
use swathe_arc::{Evaluator, Inputs, Library, Limits, Order, RowList, Value, encode, parse};
use tempfile::TempDir;

use crate::arc::{folder, tasks_in};
use crate::cases::tables::same_table;
use crate::program::{Ended, command, result_hash, swathe, table};

/// Candidates for two of the tasks, one that tries to return the answer, and differs.
const BATT: &str = include_str!("../../../../tests/cases/arc/batt.py");

/// A folder with the file `batt.py` and some tasks; the test of the first task has no answer.
fn batt_folder() -> TempDir {
    let folder = folder(6);
    fs::write(folder.path().join("batt.py"), BATT).unwrap();
    let mut tasks: Vec<_> = fs::read_dir(folder.path().join("tasks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    tasks.sort();
    let text = fs::read_to_string(&tasks[1]).unwrap();
    let mut task: serde_json::Value = serde_json::from_str(&text).unwrap();
    task["test"][0].as_object_mut().unwrap().remove("output");
    fs::write(&tasks[1], task.to_string()).unwrap();
    folder
}

fn batt(folder: &Path, flags: &str, code: i32) -> Ended {
    let line = format!("arc batt batt.py --tasks tasks {flags}");
    swathe(folder, &line).expect(code)
}

/// What a differ said: the value, and the score if it has one.
type Said = (Option<String>, Option<u32>);

/// A row of `differs.parquet`.
#[derive(Clone, Debug, PartialEq)]
struct DifferValue {
    task: String,
    split: String,
    sample: u32,
    number: u32,
    candidate: Option<String>,
    differ: String,
    without: Said,
    with: Said,
}

fn differs(run: &Path) -> Vec<DifferValue> {
    let mut rows = Vec::new();
    for batch in table(&run.join("differs.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let text = |name: &str, at: usize| {
            let texts = column(name).as_string::<i32>();
            texts.is_valid(at).then(|| texts.value(at).to_owned())
        };
        let number = |name: &str, at: usize| {
            let numbers = column(name).as_primitive::<UInt32Type>();
            numbers.is_valid(at).then(|| numbers.value(at))
        };
        for at in 0..batch.num_rows() {
            let row = column("row").as_primitive::<UInt64Type>().value(at);
            assert_eq!(row, rows.len() as u64);
            rows.push(DifferValue {
                task: text("task", at).unwrap(),
                split: text("split", at).unwrap(),
                sample: number("sample", at).unwrap(),
                number: number("number", at).unwrap(),
                candidate: text("candidate", at),
                differ: text("differ", at).unwrap(),
                without: (text("without", at), number("without_score", at)),
                with: (text("with", at), number("with_score", at)),
            });
        }
    }
    rows
}

/// The same, one differ and one sample at a time by the library. `shows_tests`: with the answers of
/// tests.
fn expected(folder: &Path, shows_tests: bool) -> Vec<DifferValue> {
    let parsed = parse("batt.py", BATT);
    assert_eq!((parsed.errors.len(), parsed.differs.len()), (0, 4));
    let said = |differ: usize, task: &swathe_arc::Task, inputs: Inputs<'_>| -> Said {
        let library = Library::new(vec![parsed.differs[differ].clone()]);
        let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
        evaluator.start_task(&task.train);
        let mut said = None;
        evaluator.run(inputs, |_, result| {
            let value = result.unwrap();
            let score = match value.elements().unwrap()[0] {
                Value::Int(n) => Some(n.clamp(0, 1000) as u32),
                _ => None,
            };
            said = Some((Some(encode(value)), score));
        });
        said.unwrap()
    };
    let mut rows = Vec::new();
    for task in tasks_in(&folder.join("tasks")) {
        let splits = [("train", &task.train), ("test", &task.test)];
        for (split, samples) in splits {
            for (sample, of) in samples.iter().enumerate() {
                for (k, differ) in parsed.differs.iter().enumerate() {
                    let row = differ.row.as_ref().unwrap();
                    let RowList::Differs { differ: name } = &row.list else {
                        panic!("{row:?}");
                    };
                    let is_shown = of.output.is_some() && (shows_tests || split == "train");
                    rows.push(DifferValue {
                        task: task.name.clone(),
                        split: split.to_owned(),
                        sample: sample as u32,
                        number: row.number,
                        candidate: row.task.clone(),
                        differ: name.clone(),
                        without: said(k, &task, Inputs::from(of)),
                        with: match is_shown {
                            true => said(k, &task, Inputs::with_expected(of)),
                            false => (None, None),
                        },
                    });
                }
            }
        }
    }
    rows
}

#[test]
fn differs_are_as_the_library_evaluates_them_alone() {
    let folder = batt_folder();
    let ended = batt(folder.path(), "--out run --verify 3", 0);
    assert_eq!(ended.stdout, "run\n");
    let run = folder.path().join("run");
    let wanted = expected(folder.path(), true);
    let found = differs(&run);
    assert_eq!(found, wanted);
    let is_unknown = |row: &&DifferValue| row.with == (None, None);
    assert_eq!(found.iter().filter(is_unknown).count(), 4);
    // Booleans are no scores.
    let of_bools: Vec<_> = found.iter().filter(|row| row.number == 11).collect();
    assert!(of_bools.iter().all(|row| row.without.1.is_none() && row.without.0.is_some()));
    // The sums of the differs' scores, by the rule of run_batt.
    let mut sums: BTreeMap<(String, Option<String>, String), u64> = BTreeMap::new();
    for row in &wanted {
        let key = (row.task.clone(), row.candidate.clone(), row.differ.clone());
        let sum = sums.entry(key).or_default();
        for score in [row.without.1, row.with.1].into_iter().flatten() {
            *sum += if row.candidate.is_none() { 1000 } else { u64::from(score) };
        }
    }
    let mut found = BTreeMap::new();
    for batch in table(&run.join("differ_scores.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let text = |name: &str, at: usize| {
            let texts = column(name).as_string::<i32>();
            texts.is_valid(at).then(|| texts.value(at).to_owned())
        };
        let score = column("batt_score").as_primitive::<UInt64Type>();
        for at in 0..batch.num_rows() {
            let key =
                (text("task", at).unwrap(), text("candidate", at), text("differ", at).unwrap());
            assert_eq!(found.insert(key, score.value(at)), None);
        }
    }
    assert_eq!(found, sums);
}

#[test]
fn differs_do_not_see_tests_if_a_submission_is_made() {
    let folder = batt_folder();
    batt(folder.path(), "--out run --submission s.json", 0);
    let found = differs(&folder.path().join("run"));
    assert_eq!(found, expected(folder.path(), false));
    assert!(folder.path().join("s.json").exists());
    // Another run would have other values.
    let ended = batt(folder.path(), "--out run --resume", 2);
    assert!(ended.stderr.contains("--differs-see"), "{}", ended.stderr);
}

#[test]
fn sharded_killed_and_threaded_runs_have_the_same_differs() {
    let folder = batt_folder();
    let wanted = expected(folder.path(), true);
    batt(folder.path(), "--out whole --threads 1", 0);
    let whole = folder.path().join("whole");
    for number in 1..=3 {
        batt(folder.path(), &format!("--out parts --shard {number}/3 --threads 3"), 0);
    }
    swathe(folder.path(), "merge parts").expect(0);
    let parts = folder.path().join("parts");
    assert_eq!(differs(&parts), wanted);
    assert_eq!(result_hash(&parts), result_hash(&whole));
    let tables = ["parts/batt_scores.parquet", "whole/batt_scores.parquet"].map(str::to_owned);
    same_table(folder.path(), &tables).unwrap();
    // Interrupted by Ctrl-C, then resumed.
    let line = "arc batt batt.py --tasks tasks --out cut --batch-size 1 --threads 1";
    let mut child =
        command(folder.path(), line).env("SWATHE_FAULTS", "slow%100=100ms:seed=1").spawn().unwrap();
    let cut = folder.path().join("cut");
    let files = || fs::read_dir(cut.join("differs")).map_or(0, Iterator::count);
    while !cut.join("differs").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    // SAFETY: the child has not been waited for, so the number is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!cut.join("differs.parquet").exists());
    assert_eq!(files(), 1, "a file for the part");
    // What a process leaves that dies before it announces its part.
    let first = fs::read(cut.join("differs/000000.parquet")).unwrap();
    let n_samples = wanted.len() / 4;
    let left = cut.join(format!("differs/{:06}.parquet", n_samples - 1));
    fs::write(&left, first).unwrap();
    batt(folder.path(), "--out cut --resume", 0);
    assert_eq!(files(), 2, "a file for each part");
    assert!(!left.exists());
    assert_eq!(differs(&cut), wanted);
    assert_eq!(result_hash(&cut), result_hash(&whole));
}
