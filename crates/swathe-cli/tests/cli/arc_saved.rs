//! `--save-programs` and `--harvest`: what is kept of a run can begin the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::AsArray;
use swathe_arc::{Task, parse};

use crate::arc::{Row, folder, results, run};
use crate::program::{command, result_hash, swathe, table};

/// All files below a folder, relative to it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// `task`, `solved_by` and `best_program` of `tasks.parquet`.
fn solved(run: &Path) -> Vec<(String, Vec<String>, Option<String>)> {
    let mut rows = Vec::new();
    for batch in table(&run.join("tasks.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let lists = column("solved_by").as_list::<i32>();
        for at in 0..batch.num_rows() {
            let text = |name: &str| column(name).as_string::<i32>().value(at).to_owned();
            let list = lists.value(at);
            let names = list.as_string::<i32>().iter().flatten().map(str::to_owned);
            rows.push((text("task"), names.collect(), Some(text("best_program"))));
        }
    }
    rows
}

/// Program, task, split and sample.
type CallKey<'a> = (&'a str, &'a str, &'a str, u32);

/// What each program made of each sample: outcome and output.
fn by_call(rows: &[Row]) -> BTreeMap<CallKey<'_>, (&str, Option<&str>)> {
    rows.iter()
        .map(|row| {
            let key = (row.program.as_str(), row.task.as_str(), row.split.as_str(), row.index);
            (key, (row.outcome.as_str(), row.output.as_deref()))
        })
        .collect()
}

#[test]
fn kept_programs_are_files_with_the_same_results() {
    let folder = folder(6);
    run(folder.path(), "--out run --save-programs kept", 0);
    let at = |name: &str| folder.path().join(name);
    let tasks = solved(&at("run"));
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for (_, solved_by, best) in &tasks {
        wanted.extend(solved_by.iter().cloned().chain(best.clone()));
    }
    let files = files_below(&at("kept"));
    let stem = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    assert_eq!(files.iter().map(stem).collect::<BTreeSet<_>>(), wanted);
    let all = parse("programs.py", &fs::read_to_string(at("programs.py")).unwrap()).programs;
    assert!(wanted.len() < all.len());
    // Each has only the statements that it needs.
    for file in &files {
        let text = fs::read_to_string(at("kept").join(file)).unwrap();
        let program = &parse("kept.py", &text).programs[0];
        assert_eq!(program.n_statements(), program.minimised().n_statements());
    }
    let names: Vec<String> = files.iter().map(|f| format!("kept/{}", f.display())).collect();
    let line = format!("arc --programs {} --tasks tasks --out again", names.join(" "));
    swathe(folder.path(), &line).expect(0);
    let (before, after) = (results(&at("run")), results(&at("again")));
    let (before, after) = (by_call(&before), by_call(&after));
    assert_eq!(after.len(), wanted.len() * before.len() / all.len());
    for (key, made) in after {
        // A statement that is not needed may have been what failed.
        assert!(before[&key] == made || before[&key].0 != "ok", "{key:?}");
    }
}

const BATT: &str = "\
def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    t1 = equality(I, C)
    t2 = branch(t1, THOUSAND, ZERO)
    t3 = astuple(t2, C)
    s.append((3, 'None', 'differ_same', t3))
    t4 = mir_rot_t(I, R2)
    t5 = hconcat(I, t4)
    o.append((5, True, '01fce304', t5))
    t6 = equality(t5, C)
    t7 = branch(t6, THOUSAND, ZERO)
    t8 = astuple(t7, C)
    s.append((8, '01fce304', 'differ_same', t8))
    t9 = mir_rot_t(I, R0)
    o.append((9, False, 'b', t9))
    return o, s
";

#[test]
fn folders_of_tokpidjin_have_scores_and_hashes_in_their_paths() {
    let folder = folder(6);
    fs::write(folder.path().join("batt.py"), BATT).unwrap();
    let line = "arc batt batt.py --tasks tasks --only 01fce304 --out run --save-programs next --layout tokpidjin";
    swathe(folder.path(), line).expect(0);
    let next = folder.path().join("next");
    let text = fs::read_to_string(folder.path().join("tasks/01fce304.json")).unwrap();
    let task = Task::from_json("01fce304", &text).unwrap();
    let n_samples = task.train.len() + task.test.len();
    // One program is right on all samples, the other on none.
    let files = files_below(&next);
    let words = |path: &PathBuf| -> Vec<String> {
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        parts.collect()
    };
    let files: Vec<Vec<String>> = files.iter().map(words).collect();
    let of = |folder: &str| -> Vec<&Vec<String>> {
        files.iter().filter(|parts| parts[0] == folder).collect()
    };
    for kind in ["solver", "differ"] {
        let (linked, plain) = (of(&format!("{kind}_dir")), of(&format!("{kind}_md5")));
        assert_eq!((linked.len(), plain.len()), (1, 1), "{files:?}");
        let [_, task, score, class, name] = linked[0].as_slice() else {
            panic!("{linked:?}");
        };
        // A differ that compares with nothing is worth 0, and 1000 with the expected output.
        assert_eq!((task.as_str(), score), ("solve_01fce304", &(1000 * n_samples).to_string()));
        assert!((5..32).contains(&class.parse::<u32>().unwrap()), "{class}");
        assert_eq!(name, &plain[0][1]);
        let stem = name.strip_suffix(".py").unwrap();
        assert!(stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit()), "{name}");
        let path: PathBuf = linked[0].iter().collect();
        let text = fs::read_to_string(next.join(path)).unwrap();
        let head = match kind {
            "solver" => "def solve(S, I, C):",
            _ => "def differ(S, I, C):",
        };
        assert!(text.contains(head) && !text.contains("try:"), "{text}");
    }
    let solver: PathBuf = of("solver_dir")[0].iter().collect();
    let line = format!(
        "arc --programs next/{} --tasks tasks --only 01fce304 --out again",
        solver.display()
    );
    swathe(folder.path(), &line).expect(0);
    assert!(results(&folder.path().join("again")).iter().all(|row| row.equal == Some(true)));
}

/// Programs that do too much: their tasks are solved on the way.
fn longer_programs(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("programs.py")).unwrap();
    let programs = parse("programs.py", &text).programs.into_iter();
    let longer = programs.map(|program| {
        let definition = program.definition(&program.name);
        definition.replace("return O", "x0 = hconcat(O, O)\n    return x0")
    });
    longer.collect()
}

#[test]
fn statements_that_solve_tasks_are_programs() {
    let folder = folder(4);
    run(folder.path(), "--out whole", 0);
    let n_solved = |run: &str| {
        let tasks = solved(&folder.path().join(run));
        let n = tasks.iter().filter(|(_, by, _)| !by.is_empty()).count();
        (n, tasks.len())
    };
    let (n_tasks, _) = n_solved("whole");
    fs::write(folder.path().join("programs.py"), longer_programs(folder.path())).unwrap();
    run(folder.path(), "--out without", 0);
    assert!(n_solved("without").0 < n_tasks / 2);
    let flags = "--harvest --save-programs kept --submission s.json";
    let ended = run(folder.path(), &format!("--out with {flags}"), 0);
    assert!(ended.stderr.contains(" programs harvested"), "{}", ended.stderr);
    assert_eq!(n_solved("with"), (n_tasks, n_tasks));
    // The harvested programs are in the run's folder, ranked, and saved.
    let with = folder.path().join("with");
    let text = fs::read_to_string(with.join("harvest-arc-dsl.py")).unwrap();
    let harvested = parse("harvest-arc-dsl.py", &text).programs;
    let (_, solved_by, best) = &solved(&with)[0];
    let best = best.as_ref().unwrap();
    assert!(best.starts_with("harvest_") && solved_by.contains(best), "{best}");
    let program = harvested.iter().find(|program| program.name == *best).unwrap();
    assert_eq!(*best, format!("harvest_{}", program.digest()));
    assert!(folder.path().join(format!("kept/{best}.py")).exists());
    let submission = fs::read_to_string(folder.path().join("s.json")).unwrap();
    let plain = "arc submit without --to t.json";
    swathe(folder.path(), plain).expect(0);
    assert!(submission != fs::read_to_string(folder.path().join("t.json")).unwrap());
    // Shards and threads find the same, and a second harvest finds nothing new.
    for number in 1..=2 {
        run(folder.path(), &format!("--out parts --harvest --shard {number}/2 --threads 3"), 0);
    }
    swathe(folder.path(), "merge parts").expect(0);
    assert_eq!(result_hash(&with), result_hash(&folder.path().join("parts")));
    let line =
        "arc --programs programs.py with/harvest-arc-dsl.py --tasks tasks --harvest --out again";
    let ended = swathe(folder.path(), line).expect(0);
    assert!(ended.stderr.contains("0 programs harvested"), "{}", ended.stderr);
    // A plan evaluates nothing.
    let ended = run(folder.path(), "--out plan --harvest --explain", 0);
    assert!(ended.stderr.contains("without harvested programs"), "{}", ended.stderr);
}

#[test]
fn a_harvest_can_be_interrupted_and_does_not_begin_in_vain() {
    let folder = folder(1);
    let line = "arc --programs programs.py --tasks tasks --harvest --threads 1 --batch-size 1";
    let mut child = command(folder.path(), &format!("{line} --out cut"))
        .env("SWATHE_FAULTS", "slow%100=200ms:seed=1")
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    // SAFETY: the child has not been waited for, so the number is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!folder.path().join("cut").exists());
    // A folder that holds a run is refused before anything is evaluated.
    run(folder.path(), "--out whole --limit 1", 0);
    let ended = run(folder.path(), "--out whole --harvest", 2);
    assert!(ended.stderr.contains("holds a run already"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("harvested"), "{}", ended.stderr);
}

/// The contents of all files below a folder, by their paths.
fn contents_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(folder.join(&path)).unwrap();
        (path, text)
    };
    files_below(folder).into_iter().map(read).collect()
}

#[test]
fn programs_of_finished_and_merged_runs_are_saved() {
    let folder = folder(6);
    let at = |name: &str| folder.path().join(name);
    let text =
        "def batt_less(S, I, C):\n    x1 = vmirror_t(I)\n    x2 = hmirror_t(x1)\n    return x2\n";
    fs::write(at("other.py"), text).unwrap();
    let arc = |line: &str, code: i32| swathe(folder.path(), &format!("arc {line}")).expect(code);
    let all = "--programs programs.py other.py --tasks tasks --harvest --augment";
    arc(&format!("{all} --out whole --save-programs wanted"), 0);
    let wanted = contents_below(&at("wanted"));
    let is_harvest = |path: &PathBuf| path.display().to_string().starts_with("harvest_");
    assert!(wanted.keys().any(is_harvest) && wanted.len() > 6);
    let ended = arc("save whole --to again", 0);
    assert_eq!(ended.stdout, "again\n");
    assert_eq!(contents_below(&at("again")), wanted);
    for number in 1..=2 {
        arc(&format!("{all} --out parts --shard {number}/2"), 0);
    }
    let ended = arc("save parts --to early", 2);
    assert!(ended.stderr.contains("parts"), "{}", ended.stderr);
    let ended = arc("save parts/shards/1-of-2 --to early", 2);
    assert!(ended.stderr.contains("is a shard"), "{}", ended.stderr);
    swathe(folder.path(), "merge parts").expect(0);
    arc("save parts --to merged", 0);
    assert_eq!(contents_below(&at("merged")), wanted);
    let ended = arc("save whole --to folders --layout tokpidjin", 2);
    let told = "--layout tokpidjin is for programs of the dialect batt";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    // Programs are those that were run.
    fs::write(at("other.py"), text.replace("x2\n", "x1\n")).unwrap();
    let ended = arc("save whole --to changed", 2);
    let told = "files of whole changed since the run: other.py";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    fs::remove_file(at("other.py")).unwrap();
    let ended = arc("save whole --to changed", 2);
    assert!(ended.stderr.contains("cannot read other.py"), "{}", ended.stderr);
    assert!(!at("changed").exists());
}

#[test]
fn the_layout_of_tokpidjin_can_be_saved_later() {
    let folder = folder(6);
    fs::write(folder.path().join("batt.py"), BATT).unwrap();
    let line = "arc batt batt.py --tasks tasks --out run --save-programs wanted --layout tokpidjin";
    swathe(folder.path(), line).expect(0);
    let line = "arc save run --to again --layout tokpidjin";
    swathe(folder.path(), line).expect(0);
    for kind in ["solver_md5", "differ_md5"] {
        let below = |of: &str| contents_below(&folder.path().join(of).join(kind));
        assert_eq!(below("again"), below("wanted"));
        assert!(!below("wanted").is_empty());
    }
    // The time class is measured, and may differ.
    let tasks = |of: &str| {
        let files = files_below(&folder.path().join(of).join("solver_dir"));
        let task = |path: &PathBuf| path.iter().take(2).collect::<PathBuf>();
        files.iter().map(task).collect::<Vec<_>>()
    };
    assert_eq!(tasks("again"), tasks("wanted"));
}
