//! The inputs of `swathe arc`: every form of tasks, and malformed ones.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::arc::{folder, results, run, tasks_in};
use crate::program::{result_hash, swathe};

fn raw_tasks(folder: &Path) -> Vec<(String, Value)> {
    let tasks = tasks_in(&folder.join("tasks"));
    let raw = tasks.iter().map(|task| {
        let path = folder.join(format!("tasks/{}.json", task.name));
        let json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        (task.name.clone(), json)
    });
    raw.collect()
}

#[test]
fn every_form_of_tasks_gives_the_same_results() {
    let folder = folder(5);
    run(folder.path(), "--out run", 0);
    let (mut combined, mut challenges, mut solutions) = (Map::new(), Map::new(), Map::new());
    for (name, task) in raw_tasks(folder.path()) {
        combined.insert(name.clone(), task.clone());
        let mut challenge = task.clone();
        let answers: Vec<Value> = challenge["test"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .map(|sample| sample.as_object_mut().unwrap().remove("output").unwrap())
            .collect();
        solutions.insert(name.clone(), json!(answers));
        challenges.insert(name, challenge);
    }
    let write = |name: &str, contents: Map<String, Value>| {
        fs::write(folder.path().join(name), Value::Object(contents).to_string()).unwrap();
    };
    fs::create_dir(folder.path().join("kaggle")).unwrap();
    write("combined.json", combined);
    write("kaggle/arc-agi_training_challenges.json", challenges.clone());
    write("kaggle/arc-agi_training_solutions.json", solutions);
    write("alone_challenges.json", challenges);
    let hash = result_hash(&folder.path().join("run"));
    for (k, form) in
        ["combined.json", "kaggle/arc-agi_training_challenges.json", "kaggle"].iter().enumerate()
    {
        let line = format!("arc --programs programs.py --tasks {form} --out form{k}");
        swathe(folder.path(), &line).expect(0);
        assert_eq!(result_hash(&folder.path().join(format!("form{k}"))), hash, "{form}");
    }
    // Without answers, the tests cannot be compared.
    let line = "arc --programs programs.py --tasks alone_challenges.json --out alone";
    swathe(folder.path(), line).expect(0);
    let whole = results(&folder.path().join("run"));
    for (alone, whole) in results(&folder.path().join("alone")).iter().zip(&whole) {
        assert_eq!(alone.output, whole.output);
        let is_known = alone.split == "train";
        assert_eq!(
            (alone.equal, alone.score),
            if is_known { (whole.equal, whole.score) } else { (None, None) }
        );
    }
    let one = raw_tasks(folder.path())[0].0.clone();
    let line = format!("arc --programs programs.py --tasks tasks/{one}.json --out one");
    swathe(folder.path(), &line).expect(0);
    let rows = results(&folder.path().join("one"));
    assert_eq!(rows, whole[..rows.len()]);
}

#[test]
fn malformed_tasks_are_named_and_passed_over() {
    let folder = folder(15);
    run(folder.path(), "--out clean", 0);
    let grid =
        |grid: Value| json!({"train": [{"input": grid, "output": [[1]]}], "test": []}).to_string();
    let wide: Vec<u8> = vec![0; 31];
    for (name, contents) in [
        ("ragged", grid(json!([[1, 2], [3]]))),
        ("colour", grid(json!([[1, 10]]))),
        ("negative", grid(json!([[-1]]))),
        ("fraction", grid(json!([[1.5]]))),
        ("wide", grid(json!([wide]))),
        ("empty_grid", grid(json!([]))),
        ("words", "no JSON at all".to_owned()),
        ("nothing", String::new()),
        ("list", "[]".to_owned()),
        ("bare", "{}".to_owned()),
        ("samples", json!({"train": [], "test": []}).to_string()),
        ("answer", json!({"train": [{"input": [[1]]}], "test": []}).to_string()),
        ("deep", "[".repeat(100_000)),
    ] {
        fs::write(folder.path().join(format!("tasks/bad_{name}.json")), contents).unwrap();
    }
    fs::write(folder.path().join("tasks/bad_bytes.json"), [0xff, 0xfe, 0x00]).unwrap();
    let ended = run(folder.path(), "--out run", 1);
    insta::assert_snapshot!(
        ended.stderr.lines().filter(|line| line.contains("task")).collect::<Vec<_>>().join("\n")
    );
    let rejected = fs::read_to_string(folder.path().join("run/rejected.txt")).unwrap();
    assert_eq!(rejected.lines().count(), 14);
    assert_eq!(results(&folder.path().join("run")), results(&folder.path().join("clean")));
    for shard in ["1/2", "2/2"] {
        run(folder.path(), &format!("--shard {shard} --out shards"), 1);
    }
    swathe(folder.path(), "merge shards").expect(0);
    let merged = fs::read_to_string(folder.path().join("shards/rejected.txt")).unwrap();
    assert_eq!(merged, rejected);
}

#[test]
fn rejected_programs_are_shown_where_they_are_wrong() {
    let folder = folder(44);
    let wrong = "\
def good(I):
    return vmirror(I)
def typo(I):
    x1 = vmirrr(I)
    return x1
def early(I):
    x1 = hmirror(x2)
    x2 = vmirror(I)
    return x1
def again(I):
    x1 = again(I)
    return x1
def half(I):
    x1 = vmirror(I
    return x1
def good(I):
    return hmirror(I)
";
    fs::write(folder.path().join("programs.py"), wrong).unwrap();
    fs::write(
        folder.path().join("more.py"),
        "def good(I):\n    return I\ndef other(I):\n    return I\n",
    )
    .unwrap();
    let line = "arc --programs programs.py more.py --tasks tasks --out run";
    let ended = swathe(folder.path(), line).expect(1);
    let told = ended.stderr.split("arc: ").next().unwrap();
    insta::assert_snapshot!(told);
    let mut ran: Vec<String> =
        results(&folder.path().join("run")).into_iter().map(|row| row.program).collect();
    ran.sort();
    ran.dedup();
    assert_eq!(ran, ["good", "other"]);
}

#[test]
fn a_file_without_programs_is_one_line() {
    let folder = folder(44);
    let functions: String = (0..50)
        .map(|k| format!("def helper_{k}(a, b, c, d):\n    return a if b else [c for c in d]\n\n"))
        .collect();
    fs::write(folder.path().join("module.py"), functions).unwrap();
    let line = "arc --programs module.py --tasks tasks --out none";
    let ended = swathe(folder.path(), line).expect(2);
    let told: Vec<&str> = ended.stderr.lines().collect();
    assert!(
        told[0].starts_with(
            "error: module.py is no file of programs: 50 errors, the first is module.py:1:"
        ),
        "{}",
        ended.stderr
    );
    // No other program could run.
    assert_eq!(told[1], "error: none of the programs can be used", "{}", ended.stderr);
    assert!(!folder.path().join("none").exists());
    let unknown = "def solve_a(I):\n    O = vmirrr(I)\n    return O\n";
    fs::write(folder.path().join("bad.py"), unknown).unwrap();
    for verb in ["", "batt "] {
        let files = if verb.is_empty() { "--programs bad.py" } else { "bad.py" };
        let line = format!("arc {verb}{files} --tasks tasks --out none");
        let ended = swathe(folder.path(), &line).expect(2);
        assert!(ended.stderr.contains("error: bad.py:2:"), "{}", ended.stderr);
        assert!(ended.stderr.contains("none of the programs can be used"), "{}", ended.stderr);
        assert!(!folder.path().join("none").exists());
        // Beside a file that can be used, it is one program less.
        let both = line.replace("bad.py", "bad.py programs.py");
        let ended = swathe(folder.path(), &both).expect(1);
        assert!(ended.stderr.contains("1 program rejected, the others run"), "{}", ended.stderr);
        fs::remove_dir_all(folder.path().join("none")).unwrap();
    }
}
