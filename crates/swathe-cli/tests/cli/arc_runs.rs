//! Runs of `swathe arc`: the same result when sharded, killed and merged; task tables and
//! submissions.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, UInt64Type};
use serde_json::{Value, json};

use crate::arc::{folder, results, run};
use crate::program::{Random, announced, command, json, result_hash, swathe, table};

#[test]
fn batches_and_threads_change_nothing() {
    let folder = folder(4);
    let mut hashes: HashMap<String, Vec<String>> = HashMap::new();
    for batch_size in [1, 3, 7, 1000] {
        for n_threads in [1, 2, 5] {
            let out = format!("run-{batch_size}-{n_threads}");
            let flags = format!("--batch-size {batch_size} --threads {n_threads} --out {out}");
            run(folder.path(), &flags, 0);
            let hash = result_hash(&folder.path().join(&out));
            hashes.entry(hash).or_default().push(out);
        }
    }
    assert_eq!(hashes.len(), 1, "{hashes:?}");
}

/// The names of tasks decide their order, so other names are another order.
#[test]
fn the_order_of_tasks_changes_no_result() {
    let folder = folder(4);
    run(folder.path(), "--out before", 0);
    let mut before = results(&folder.path().join("before"));
    let tasks = folder.path().join("tasks");
    let mut names: Vec<_> = fs::read_dir(&tasks)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    Random(5).shuffle(&mut names);
    for (k, name) in names.iter().enumerate() {
        fs::rename(tasks.join(name), tasks.join(format!("{k:03}{name}"))).unwrap();
    }
    run(folder.path(), "--out after", 0);
    let mut after = results(&folder.path().join("after"));
    for row in &mut after {
        row.task.drain(..3);
    }
    for rows in [&mut before, &mut after] {
        rows.sort_by_key(|row| {
            (row.task.clone(), row.split.clone(), row.index, row.program.clone())
        });
        rows.iter_mut().for_each(|row| row.row = 0);
    }
    assert!(before == after);
}

#[test]
fn killed_and_resumed() {
    let folder = folder(2);
    run(folder.path(), "--out whole", 0);
    let whole = folder.path().join("whole");
    let line =
        "arc --programs programs.py --tasks tasks --batch-size 1 --memory 200MiB --threads 1";
    let mut n_cut_short = 0;
    for moment in 1..=4 {
        let out = format!("run{moment}");
        let run = folder.path().join(&out);
        let mut child = command(folder.path(), &format!("{line} --out {out}"))
            .env("SWATHE_FAULTS", "slow%100=100ms:seed=1")
            .spawn()
            .unwrap();
        // A part is committed after five seconds at most.
        let since = std::time::Instant::now();
        while announced(&run).is_empty() && since.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(moment * 37));
        child.kill().unwrap();
        child.wait().unwrap();
        let n_before = announced(&run).len();
        n_cut_short += usize::from(n_before > 0);
        swathe(folder.path(), &format!("{line} --out {out} --resume")).expect(0);
        assert_eq!(json(&run.join("report.json"))["n_before"], n_before);
        assert_eq!(result_hash(&run), result_hash(&whole));
        assert!(tasks(&run) == tasks(&whole));
    }
    assert!(n_cut_short > 0, "all were killed before their first part");
    fs::write(folder.path().join("programs.py"), "def a(I):\n    return I\n").unwrap();
    let ended = swathe(folder.path(), &format!("{line} --out run1 --resume")).expect(2);
    assert!(ended.stderr.contains("programs.py: its contents changed"), "{}", ended.stderr);
}

#[test]
fn shards_make_the_whole() {
    let folder = folder(3);
    run(folder.path(), "--out whole --submission whole.json", 0);
    for k in 1..=3 {
        run(folder.path(), &format!("--out run --shard {k}/3"), 0);
    }
    let ended = swathe(folder.path(), "merge run").expect(0);
    assert!(
        ended.stderr.contains("14 of 15 tasks solved, 15 fit their demonstrations"),
        "{}",
        ended.stderr
    );
    let (whole, merged) = (folder.path().join("whole"), folder.path().join("run"));
    assert_eq!(result_hash(&merged), result_hash(&whole));
    assert!(tasks(&merged) == tasks(&whole));
    let ended = run(folder.path(), "--out other --shard 1/2 --submission s.json", 2);
    assert!(ended.stderr.contains("arc submit"), "{}", ended.stderr);
    swathe(folder.path(), "arc submit run --to run.json").expect(0);
    assert_eq!(json(&folder.path().join("run.json")), json(&folder.path().join("whole.json")));
}

/// `task`, `solved_by`, `best_program` and `best_score`.
type TaskRow = (String, Vec<String>, Option<String>, Option<f64>);

fn tasks(run: &std::path::Path) -> Vec<TaskRow> {
    let mut rows = Vec::new();
    for batch in table(&run.join("tasks.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let (task, best) =
            (column("task").as_string::<i32>(), column("best_program").as_string::<i32>());
        let score = column("best_score").as_primitive::<Float64Type>();
        let solved_by = column("solved_by").as_list::<i32>();
        for at in 0..batch.num_rows() {
            let solvers = solved_by.value(at);
            let solvers = solvers.as_string::<i32>().iter();
            rows.push((
                task.value(at).to_owned(),
                solvers.map(|name| name.unwrap().to_owned()).collect(),
                best.is_valid(at).then(|| best.value(at).to_owned()),
                score.is_valid(at).then(|| score.value(at)),
            ));
        }
    }
    rows
}

#[test]
fn a_profile_counts_every_statement() {
    let folder = folder(11);
    let programs = "\
def a(I):
    x1 = hmirror(I)
    return vmirror(x1)
def b(I):
    x1 = hmirror(I)
    return rot90(x1)
";
    fs::write(folder.path().join("programs.py"), programs).unwrap();
    let ended = run(folder.path(), "--out run --profile", 0);
    assert!(ended.stderr.contains("primitive "), "{}", ended.stderr);
    let run = folder.path().join("run");
    let n_samples: u64 =
        table(&run.join("samples.parquet")).iter().map(|batch| batch.num_rows() as u64).sum();
    let mut calls: Vec<(String, String, u64)> = Vec::new();
    for batch in table(&run.join("profile.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let word = |name: &str, at: usize| column(name).as_string::<i32>().value(at).to_owned();
        for at in 0..batch.num_rows() {
            let n = column("calls").as_primitive::<UInt64Type>().value(at);
            calls.push((word("kind", at), word("name", at), n));
        }
    }
    calls.sort();
    let row = |kind: &str, name: &str, n: u64| (kind.to_owned(), name.to_owned(), n * n_samples);
    // What both programs share is evaluated once and counts for the first.
    let wanted = [
        row("primitive", "hmirror", 1),
        row("primitive", "rot90", 1),
        row("primitive", "vmirror", 1),
        row("program", "a", 2),
        row("program", "b", 1),
    ];
    assert_eq!(calls, wanted);
}

/// Programs that differ from each other in one criterion of the ranking.
const RANKED: &str = "\
def wrong_shape(I):
    return hconcat(I, I)
def zz_right(I):
    return vmirror(I)
def right_but_long(I):
    x1 = vmirror(I)
    x2 = vmirror(x1)
    return vmirror(x2)
def aa_right(I):
    return vmirror(I)
def near(I):
    x1 = vmirror(I)
    return fill(x1, SEVEN, initset(ORIGIN))
def near_too(I):
    x1 = vmirror(I)
    return fill(x1, EIGHT, initset(ORIGIN))
def no_grid(I):
    return asindices(I)
def fails(I):
    return first(ofcolor(I, NINE))
def too_large(I):
    return upscale(I, 31)
";

#[test]
fn tasks_and_submissions_name_the_best() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tasks")).unwrap();
    let pair = |input: Value, output: Value| json!({"input": input, "output": output});
    let mirror = json!({
        "train": [
            pair(json!([[1, 2], [3, 4]]), json!([[2, 1], [4, 3]])),
            pair(json!([[1, 2, 3]]), json!([[3, 2, 1]])),
        ],
        "test": [{"input": [[5, 6]]}, {"input": [[6, 5], [1, 1]]}],
    });
    let untestable = json!({"train": [pair(json!([[1]]), json!([[2]]))], "test": []});
    let unlearnable = json!({"train": [], "test": [{"input": [[1, 0]]}]});
    for (name, task) in [("mirror", mirror), ("plain", untestable), ("bare", unlearnable)] {
        fs::write(folder.path().join(format!("tasks/{name}.json")), task.to_string()).unwrap();
    }
    fs::write(folder.path().join("programs.py"), RANKED).unwrap();
    run(folder.path(), "--out run --submission s.json", 0);
    let tasks = tasks(&folder.path().join("run"));
    let names: Vec<&str> = tasks.iter().map(|task| task.0.as_str()).collect();
    assert_eq!(names, ["bare", "mirror", "plain"]);
    assert_eq!(tasks[1].1, ["zz_right", "right_but_long", "aa_right"]);
    assert_eq!((tasks[1].2.as_deref(), tasks[1].3), (Some("aa_right"), Some(1.0)));
    assert_eq!((tasks[2].1.len(), tasks[2].3), (0, Some(0.0)));
    assert_eq!(tasks[0].1.len(), 0, "without demonstrations nothing is solved");
    let submission = json(&folder.path().join("s.json"));
    assert_eq!(
        submission["mirror"],
        json!([
            {"attempt_1": [[6, 5]], "attempt_2": [[7, 5]]},
            {"attempt_1": [[5, 6], [1, 1]], "attempt_2": [[7, 6], [1, 1]]},
        ])
    );
    // Fewer statements, then the name: `aa_right`, then `wrong_shape`.
    assert_eq!(submission["bare"], json!([{"attempt_1": [[0, 1]], "attempt_2": [[1, 0, 1, 0]]}]));
    assert_eq!(submission.as_object().unwrap().len(), 2, "no tests, no attempts");

    fs::write(folder.path().join("programs.py"), "def a(I):\n    return asindices(I)\n").unwrap();
    run(folder.path(), "--out none --submission n.json", 0);
    let none = json!({"attempt_1": [[0]], "attempt_2": [[0]]});
    assert_eq!(json(&folder.path().join("n.json"))["mirror"], json!([none, none]));
    fs::write(folder.path().join("programs.py"), "def a(I):\n    return I\n").unwrap();
    run(folder.path(), "--out one --submission o.json", 0);
    let one = json!([{"attempt_1": [[1, 0]], "attempt_2": [[1, 0]]}]);
    assert_eq!(json(&folder.path().join("o.json"))["bare"], one);
}

#[test]
fn attempts_are_voted_on_and_ranked_by_keys() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tasks")).unwrap();
    let task = json!({
        "train": [{"input": [[1, 2]], "output": [[2, 1]]}],
        "test": [{"input": [[1, 2], [3, 4]]}],
    });
    fs::write(folder.path().join("tasks/turn.json"), task.to_string()).unwrap();
    // All but the last are right at the demonstration; the long ones agree on the test.
    let programs = "\
def short(I):
    return vmirror(I)
def long_one(I):
    x1 = hmirror(I)
    return vmirror(x1)
def long_two(I):
    x1 = rot90(I)
    return rot90(x1)
def wrong(I):
    return I
def wrong_too(I):
    x1 = vmirror(I)
    return vmirror(x1)
def wrong_three(I):
    return rot180(rot180(I))
";
    fs::write(folder.path().join("programs.py"), programs).unwrap();
    let (mirrored, turned) = (json!([[2, 1], [4, 3]]), json!([[4, 3], [2, 1]]));
    let same = json!([[1, 2], [3, 4]]);
    let check = |file: &str, first: &Value, second: &Value| {
        let wanted = json!([{"attempt_1": first, "attempt_2": second}]);
        assert_eq!(json(&folder.path().join(file))["turn"], wanted, "{file}");
    };
    let ended = run(folder.path(), "--out run --submission plain.json", 0);
    assert!(ended.stderr.starts_with("1 of 1 task fits its demonstrations\n"), "{}", ended.stderr);
    check("plain.json", &mirrored, &turned);
    // Three programs agree on the grid as it is, but they are not right at the demonstration.
    run(folder.path(), "--out voted --submission voted.json --vote", 0);
    check("voted.json", &turned, &mirrored);
    swathe(folder.path(), "arc submit run --vote --to later.json").expect(0);
    check("later.json", &turned, &mirrored);
    let keys = "program,key\nwrong,2\nlong_two,1.5\n";
    fs::write(folder.path().join("keys.csv"), keys).unwrap();
    swathe(folder.path(), "arc submit run --rank-by keys.csv --to keys.json").expect(0);
    check("keys.json", &same, &turned);
    let keys = "program,key\nwrong,1\nshort,1\nlong_two,1\nlong_one,1\n";
    fs::write(folder.path().join("equal.csv"), keys).unwrap();
    swathe(folder.path(), "arc submit run --rank-by equal.csv --vote --to equal.json").expect(0);
    check("equal.json", &turned, &mirrored);
    for (text, wanted) in [
        ("program\nshort\n", "there is no column key"),
        ("program,key\nshort,best\n", "line 2: the key 'best' is no number"),
        ("program,key\nshort,1\nshort,2\n", "line 3: short has a key already"),
    ] {
        fs::write(folder.path().join("bad.csv"), text).unwrap();
        let ended = swathe(folder.path(), "arc submit run --rank-by bad.csv").expect(2);
        assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
    }
}

#[test]
fn a_bench_lists_ways_and_operations() {
    let folder = folder(3);
    let line = "bench --repeat 1 --page bench.html arc --programs programs.py --tasks tasks";
    let ended = swathe(folder.path(), line).expect(0);
    let (ways, operations) = ended.stdout.split_once("\noperation ").unwrap();
    for way in [
        "one by one",
        "batched within a task, one thread",
        "all cores ",
        "all cores, batches of 1024",
    ] {
        assert!(ways.contains(way), "{ways}");
    }
    let n_same = ways.matches("the same bits").count();
    assert_eq!(n_same, ways.lines().count() - 2, "{ways}");
    let lines: Vec<&str> = operations.lines().collect();
    assert!(lines[0].ends_with("share") && lines.len() == 16, "{operations}");
    let page = fs::read_to_string(folder.path().join("bench.html")).unwrap();
    assert!(page.contains("<h2>Operations</h2>"));
    let line = "bench --repeat 1 --json arc --programs programs.py --tasks tasks --limit 2";
    let figures = swathe(folder.path(), line).expect(0).stdout;
    let figures: Value = serde_json::from_str(&figures).unwrap();
    assert_eq!(figures["ways"][1]["agreement"], "the same bits");
    let operations = figures["operations"].as_array().unwrap();
    let sum = |key: &str| -> f64 { operations.iter().map(|o| o[key].as_f64().unwrap()).sum() };
    assert!((sum("share") - 1.0).abs() < 1e-9 && sum("n_calls") > 100.0);
    assert!(operations.is_sorted_by(|a, b| a["time_ms"].as_f64() >= b["time_ms"].as_f64()));
}

#[test]
fn batches_within_a_task_hold_samples_of_one() {
    let folder = folder(5);
    let plan = |flags: &str| {
        let line = format!(
            "arc --programs programs.py --tasks tasks --explain --out run --batch-size 1024 --memory 1GiB {flags}"
        );
        swathe(folder.path(), &line).expect(0).stdout
    };
    let n_tasks = fs::read_dir(folder.path().join("tasks")).unwrap().count();
    let told = format!(" problems in {n_tasks} batches");
    let text = plan("--batch-within-task");
    assert!(text.contains(&told), "{text}");
    assert!(!plan("").contains(&told));
}
