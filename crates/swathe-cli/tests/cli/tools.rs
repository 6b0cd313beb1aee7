//! Selecting part of an input, `replay`, `bench` and `config`.

use std::fs;

use serde_json::Value;

use crate::ot_suggest::discs;
use crate::program::{
    Random, command, failures, json, many_floats, result_hash, save, swathe, swathe_with, table,
};

fn n_rows(path: &std::path::Path) -> usize {
    table(path).iter().map(|batch| batch.num_rows()).sum()
}

#[test]
fn a_part_of_the_input_is_chosen_by_number_and_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random(3);
    let items: Vec<_> = (0..20).map(|k| (format!("item{k}"), random.floats(&[1 + k]))).collect();
    save(folder, "in.npz", &items);
    let line = "array map square in.npz";
    swathe(folder, &format!("{line} --out few --limit 3")).expect(0);
    assert_eq!(n_rows(&folder.join("few/items.parquet")), 3);
    swathe(folder, &format!("{line} --out some --only item4 item11")).expect(0);
    assert_eq!(n_rows(&folder.join("some/items.parquet")), 2);
    // The selection is part of the run's identity.
    let run = json(&folder.join("some/run.json"));
    assert_eq!(run["settings"]["only"], serde_json::json!(["item4", "item11"]));
    let ended = swathe(folder, &format!("{line} --out some --resume")).expect(2);
    assert!(ended.stderr.contains("--only"), "{}", ended.stderr);
    let ended = swathe(folder, &format!("{line} --out no --only item99")).expect(2);
    assert!(
        ended.stderr.contains("has no item \"item99\"") && ended.stderr.contains("\"item0\""),
        "{}",
        ended.stderr
    );
    assert!(!folder.join("no").exists());
    swathe(folder, &format!("{line} --out no --limit 0")).expect(2);
}

#[test]
fn one_problem_is_replayed_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random(4);
    let items = |random: &mut Random| -> Vec<_> {
        (0..9).map(|k| (format!("item {k}"), random.floats(&[4 + k]))).collect()
    };
    save(folder, "in.npz", &items(&mut random));
    swathe(folder, "array map exp in.npz --out run").expect(0);
    for problem in ["3", "item 3"] {
        let mut replay = command(folder, "replay run");
        let ended = crate::program::Ended::of(replay.arg(problem).output().unwrap()).expect(0);
        assert!(ended.stdout.contains("item 3: "), "{}", ended.stdout);
        assert!(ended.stdout.contains("the recorded answer, to the last bit"), "{}", ended.stdout);
    }
    // The input has changed since the run.
    save(folder, "in.npz", &items(&mut random));
    let ended = swathe(folder, "replay run 3").expect(3);
    assert!(ended.stdout.contains("not the recorded answer"), "{}", ended.stdout);
    let ended = swathe(folder, "replay run 99").expect(2);
    assert!(ended.stderr.contains("no problem \"99\""), "{}", ended.stderr);
}

/// Settings from a variable or a file are not in the command, and may have changed since.
#[test]
fn a_replay_has_the_settings_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_floats(folder);
    let toml = |text: &str| fs::write(folder.join("swathe.toml"), text).unwrap();
    let same = |variable: &str, value: &str, run: &str, problem: &str| {
        let line = format!("replay {run} {problem}");
        let ended = swathe_with(folder, variable, value, &line).expect(0);
        let told = "the recorded answer, to the last bit";
        assert!(ended.stdout.contains(told), "{line}: {}", ended.stdout);
    };
    toml("time-limit = \"20s\"\n[array]\noperand = 3\n");
    swathe(folder, "array map add in.npz --out file").expect(0);
    let made = &json(&folder.join("file/run.json"))["made"];
    assert_eq!(made["settings"], serde_json::json!({"operand": "3", "time-limit": "20s"}));
    toml("[array]\noperand = 4\n");
    same("SWATHE_PREFETCH", "0", "file", "item7");
    fs::remove_file(folder.join("swathe.toml")).unwrap();
    same("SWATHE_OPERAND", "5", "file", "item7");
    swathe_with(folder, "SWATHE_OPERAND", "7", "array map add in.npz --out variable").expect(0);
    same("SWATHE_PREFETCH", "0", "variable", "item7");
    fs::write(folder.join("other.toml"), "[array]\noperand = 9\n").unwrap();
    swathe(folder, "array map add in.npz --out given --config other.toml").expect(0);
    fs::remove_file(folder.join("other.toml")).unwrap();
    same("SWATHE_PREFETCH", "0", "given", "item7");
    // A merged run was made by the commands of its shards.
    for k in 1..=2 {
        let line = format!("array map add in.npz --out cut --shard {k}/2");
        swathe_with(folder, "SWATHE_OPERAND", "7", &line).expect(0);
    }
    swathe(folder, "merge cut").expect(0);
    same("SWATHE_PREFETCH", "0", "cut", "item7");
    // Automatic settings are those that all pairs together chose.
    let mut table = "pair_id,src,tgt\n".to_owned();
    for (name, before, after) in [
        ("near", [(40.0, 30.0, 8.0), (40.0, 48.0, 8.0)], [(43.0, 30.0, 8.0), (37.0, 48.0, 8.0)]),
        ("far", [(40.0, 30.0, 8.0); 2], [(41.0, 32.0, 8.0); 2]),
    ] {
        discs(&folder.join(format!("{name}0.npy")), &before);
        discs(&folder.join(format!("{name}1.npy")), &after);
        table += &format!("{name},{name}0.npy,{name}1.npy\n");
    }
    fs::write(folder.join("pairs.csv"), table).unwrap();
    let line = "ot pairs.csv --epsilon auto --out pairs";
    swathe_with(folder, "SWATHE_RELAXATION", "2", line).expect(0);
    swathe(folder, "ot pairs.csv --only far --out alone").expect(0);
    let epsilon =
        |run: &str| json(&folder.join(run).join("run.json"))["settings"]["epsilon"].clone();
    assert_ne!(epsilon("pairs"), epsilon("alone"));
    same("SWATHE_RELAXATION", "5", "pairs", "far");
    same("SWATHE_EPSILON", "1e-2", "pairs", "near");
}

#[test]
fn a_bench_compares_ways_to_run_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_floats(folder);
    let line = "bench --json --repeat 1 --page bench.html array map square in.npz --limit 20";
    let ended = swathe(folder, line).expect(0);
    let figures: Value = serde_json::from_str(&ended.stdout).unwrap();
    // Arrays do not time their operations.
    assert_eq!(figures["operations"], serde_json::json!([]));
    let lines = figures["ways"].as_array().unwrap();
    let ways: Vec<&str> = lines.iter().map(|line| line["way"].as_str().unwrap()).collect();
    assert_eq!(ways[0], "one by one");
    assert!(ways.contains(&"batches of 64, one thread") && ways.contains(&"all cores"));
    for line in &lines[1..] {
        assert_eq!(line["agreement"], "the same bits", "{line}");
        assert_eq!(line["n_solved"], 20);
        assert!(line["speed_up"].as_f64().unwrap() > 0.0);
    }
    let page = fs::read_to_string(folder.join("bench.html")).unwrap();
    assert!(page.contains("one by one") && page.contains("<title>swathe bench array"));
    let ended = swathe(folder, "bench sheep in.npz").expect(2);
    assert!(ended.stderr.contains("no workload 'sheep'"), "{}", ended.stderr);
}

#[test]
fn settings_are_shown_with_where_they_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "memory = \"256MiB\"\n[arc]\npairing = \"own\"\ncall-work = 5000\n";
    fs::write(folder.join("swathe.toml"), text).unwrap();
    let shown = swathe_with(folder, "SWATHE_THREADS", "3", "config arc").expect(0).stdout;
    let line = |name: &str| -> Vec<&str> {
        let mut lines = shown.lines().map(|line| line.split_whitespace().collect());
        lines
            .find(|words: &Vec<&str>| words.first() == Some(&name))
            .unwrap_or_else(|| panic!("no {name} in {shown}"))
    };
    assert_eq!(line("threads"), ["threads", "3", "SWATHE_THREADS"]);
    assert_eq!(line("memory"), ["memory", "256MiB", "memory", "in", "swathe.toml"]);
    assert_eq!(line("pairing"), ["pairing", "own", "pairing", "in", "swathe.toml"]);
    assert_eq!(line("seed"), ["seed", "0", "default"]);
    // An option takes the file's value unless the command line sets it.
    swathe(folder, "demo --out demo").expect(0);
    let arc = "arc --programs demo/data/programs.py --tasks demo/data/tasks.json";
    swathe(folder, &format!("{arc} --out own")).expect(0);
    assert_eq!(json(&folder.join("own/run.json"))["settings"]["pairing"], "own");
    assert_eq!(json(&folder.join("own/run.json"))["settings"]["call-work"], 5000);
    swathe(folder, &format!("{arc} --out all --pairing all")).expect(0);
    assert_eq!(json(&folder.join("all/run.json"))["settings"]["pairing"], "all");
    let line = format!("{arc} --out variable");
    let ended = swathe_with(folder, "SWATHE_PAIRING", "all", &line).expect(0);
    assert!(!ended.stderr.contains("not known"), "{}", ended.stderr);
    let settings = json(&folder.join("variable/run.json"))["settings"].clone();
    assert_eq!(settings["pairing"], "all");
    fs::write(folder.join("swathe.toml"), "[arc]\nparing = \"own\"\n").unwrap();
    let ended = swathe(folder, "config arc").expect(2);
    assert!(ended.stderr.contains("no setting called 'paring'"), "{}", ended.stderr);
}

#[test]
fn reasons_of_failures_are_told_with_counts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random(5);
    let left: Vec<_> = (0..12).map(|k| (format!("p{k}"), random.floats(&[2, 3]))).collect();
    let right: Vec<_> = (0..12)
        .map(|k| (format!("p{k}"), random.floats(&[if k < 9 { 5 } else { 3 }, 2])))
        .collect();
    save(folder, "a.npz", &left);
    save(folder, "b.npz", &right);
    let ended = swathe(folder, "array matmul a.npz --with b.npz --out run").expect(1);
    assert_eq!(failures(&folder.join("run")).len(), 9);
    let told = ended.stderr.lines().find(|line| line.contains("(first: p0)"));
    let told = told.unwrap_or_else(|| panic!("{}", ended.stderr));
    assert!(told.trim_start().starts_with("9 failed: "), "{told}");
    let report = swathe(folder, "report run --text").expect(0).stdout;
    assert!(report.contains(told.trim()), "{report}");
}

#[test]
fn what_is_lost_with_every_worker_is_solved_the_plain_way() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_floats(folder);
    let line = "array map square in.npz";
    swathe(folder, &format!("{line} --out plain")).expect(0);
    swathe_with(folder, "SWATHE_FAULTS", "lost%100", &format!("{line} --out lost")).expect(0);
    assert_eq!(result_hash(&folder.join("plain")), result_hash(&folder.join("lost")));
}
