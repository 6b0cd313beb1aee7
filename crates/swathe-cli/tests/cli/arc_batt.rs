//! `swathe arc batt`: candidates and differs of generated files, scored as `run_batt` scores them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, UInt32Type, UInt64Type};
use swathe_arc::{Evaluator, Inputs, Library, Limits, Order, RowList, Value, encode, parse};
use tempfile::TempDir;

use crate::arc::{folder, results, tasks_in};
use crate::program::{Ended, command, result_hash, swathe, table};

/// Candidates for two of the tasks, one that tries to return the answer, and differs.
pub(crate) const BATT: &str = "\
def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    t1 = equality(I, C)
    t2 = branch(t1, THOUSAND, ZERO)
    t3 = astuple(t2, C)
    s.append((3, 'None', 'differ_same', t3))
    t4 = size(I)
    t5 = astuple(t4, I)
    s.append((5, 'None', 'differ_size', t5))
    t6 = mir_rot_t(I, R2)
    t7 = hconcat(I, t6)
    o.append((7, True, '01fce304', t7))
    t8 = equality(t7, C)
    t9 = branch(t8, THOUSAND, NEG_ONE)
    t10 = astuple(t9, t8)
    s.append((10, '01fce304', 'differ_same', t10))
    t11 = astuple(t8, t8)
    s.append((11, '01fce304', 'differ_size', t11))
    t12 = identity(C)
    o.append((12, False, 'cheat', t12))
    t13 = mir_rot_t(I, R0)
    o.append((13, False, '01fce304', t13))
    return o, s
";

/// A folder with the file `batt.py` and some tasks; the test of the first task has no answer.
pub(crate) fn batt_folder() -> TempDir {
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

/// The same, one differ and one sample at a time by the library. `shows_tests`: with the answers of tests.
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

/// A row of `batt_scores.parquet`: task, rank, candidate, program, batt_score, score.
type Scored = (String, u32, String, String, u64, f64);

fn scores(run: &Path) -> Vec<Scored> {
    let mut rows = Vec::new();
    for batch in table(&run.join("batt_scores.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let text = |name: &str, at: usize| column(name).as_string::<i32>().value(at).to_owned();
        for at in 0..batch.num_rows() {
            rows.push((
                text("task", at),
                column("rank").as_primitive::<UInt32Type>().value(at),
                text("candidate", at),
                text("program", at),
                column("batt_score").as_primitive::<UInt64Type>().value(at),
                column("score").as_primitive::<Float64Type>().value(at),
            ));
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
fn candidates_never_see_the_answer_and_are_scored_by_the_rule() {
    let folder = batt_folder();
    batt(folder.path(), "--out run", 0);
    let line = "arc --programs batt.py --tasks tasks --out plain";
    swathe(folder.path(), line).expect(0);
    let run = folder.path().join("run");
    // The differs change nothing for the candidates.
    assert_eq!(result_hash(&run), result_hash(&folder.path().join("plain")));
    let rows = results(&run);
    let cheats: Vec<_> = rows.iter().filter(|row| row.program == "batt_cheat_12").collect();
    assert!(!cheats.is_empty());
    assert!(cheats.iter().all(|row| row.output.as_deref() == Some("null")));
    // 1000 for each sample that is right, tests included, summed over the rows of one id.
    let mut wanted: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in &rows {
        let id = row.program.split('_').nth(1).unwrap();
        let sum = wanted.entry((row.task.clone(), id.to_owned())).or_default();
        *sum += 1000 * u64::from(row.equal == Some(true));
    }
    let found = scores(&run);
    let by_id = found.iter().map(|row| ((row.0.clone(), row.2.clone()), row.4));
    assert_eq!(by_id.collect::<BTreeMap<_, _>>(), wanted);
    let n_samples = rows.iter().filter(|row| row.task == "01fce304").count() as u64 / 3;
    let best = found.iter().find(|row| row.0 == "01fce304" && row.1 == 1).unwrap();
    assert_eq!((best.2.as_str(), best.3.as_str()), ("01fce304", "batt_01fce304_7"));
    assert_eq!((best.4, best.5), (1000 * n_samples, 1.0));
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
    assert_eq!(scores(&parts), scores(&whole));
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

#[test]
fn a_plan_is_explained_and_a_file_without_differs_runs() {
    let folder = batt_folder();
    let ended = batt(folder.path(), "--out run --explain --memory 1GiB", 0);
    assert!(ended.stdout.contains(" problems in "), "{}", ended.stdout);
    assert!(!folder.path().join("run").exists());
    let line = "arc batt programs.py --tasks tasks --limit 2 --out plain";
    swathe(folder.path(), line).expect(0);
    let plain = folder.path().join("plain");
    assert_eq!(differs(&plain), []);
    // Every program solves the task of its name.
    let scores = scores(&plain);
    let best: Vec<_> = scores.iter().filter(|row| row.1 == 1).collect();
    assert_eq!(best.len(), 2);
    assert!(best.iter().all(|row| row.5 == 1.0), "{best:?}");
}

#[test]
fn exit_codes_are_those_of_every_run() {
    let folder = batt_folder();
    // A row that cannot be used costs that row.
    let unknown = BATT.replace("mir_rot_t(I, R0)", "turn(I)");
    fs::write(folder.path().join("batt.py"), unknown).unwrap();
    let ended = batt(folder.path(), "--only 01fce304 --out run", 1);
    assert!(ended.stderr.contains("unknown function `turn`"), "{}", ended.stderr);
    let run = folder.path().join("run");
    assert!(results(&run).iter().all(|row| row.program != "batt_01fce304_13"));
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("batt_01fce304_7"));
    // A file that is gone is noticed.
    fs::remove_file(run.join("differs/000000.parquet")).unwrap();
    let ended = batt(folder.path(), "--only 01fce304 --out run --resume", 2);
    let told = "differs/000000.parquet is damaged";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    // Files are not written through a link.
    fs::create_dir_all(folder.path().join("parts/shards")).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("parts/differs")).unwrap();
    let ended = batt(folder.path(), "--out parts --shard 1/2", 4);
    assert!(ended.stderr.contains("parts/differs"), "{}", ended.stderr);
    let ended = batt(folder.path(), "--only absent --out other", 2);
    assert!(ended.stderr.contains("absent"), "{}", ended.stderr);
}
