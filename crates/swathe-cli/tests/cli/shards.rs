//! Shards, and the runs that `swathe merge` makes of them.

use crate::program::{command, json, many_floats, result_hash, swathe};

/// Every launch takes a while, so that a process can be met while it works.
const SLOW: &str = "slow%100=300ms:seed=1";

/// Eight processes work on one folder at once; two are killed, listed as dead and run again by the
/// commands that the list names. The merged run has the whole's tables and a report of its own.
#[test]
fn killed_shards_are_listed_run_again_and_merged() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let line = "array map exp in.npz --memory 4MiB --batch-size 2 --threads 2";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    let start = |k: usize| {
        let line = format!("{line} --out run --shard {k}/8");
        let mut command = command(folder.path(), &line);
        if [3, 6].contains(&k) {
            command.env("SWATHE_FAULTS", SLOW);
        }
        command.spawn().unwrap()
    };
    let mut children: Vec<_> = (1..=7).map(start).collect();
    let run = folder.path().join("run");
    let has_begun = |k: usize| run.join(format!("shards/{k}-of-8/live.json")).exists();
    let since = std::time::Instant::now();
    while !(has_begun(3) && has_begun(6)) {
        assert!(since.elapsed() < std::time::Duration::from_secs(30));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    for k in [3, 6] {
        children[k - 1].kill().unwrap();
    }
    for mut child in children {
        child.wait().unwrap();
    }

    let ended = swathe(folder.path(), "shards run --json").expect(1);
    let shards: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let states: Vec<&str> = (0..8).map(|k| shards[k]["state"].as_str().unwrap()).collect();
    let f = "finished";
    assert_eq!(states, [f, f, "dead", f, f, "dead", f, "missing"]);
    let ended = swathe(folder.path(), "merge run").expect(2);
    assert!(ended.stderr.contains("shard 3/8 is not finished"), "{}", ended.stderr);

    let ended = swathe(folder.path(), "shards run").expect(1);
    assert!(
        ended.stderr.starts_with("8 shards: 5 finished, 2 dead, 1 missing; "),
        "{}",
        ended.stderr
    );
    let commands: Vec<&str> =
        ended.stdout.lines().filter_map(|line| Some(line.split_once("swathe ")?.1)).collect();
    assert_eq!(commands.len(), 3, "{}", ended.stdout);
    assert!(commands[0].ends_with("--shard 3/8 --resume"), "{}", commands[0]);
    assert!(commands[2].ends_with("--shard 8/8"), "{}", commands[2]);
    for line in commands {
        swathe(folder.path(), line).expect(0);
    }
    let ended = swathe(folder.path(), "shards run").expect(0);
    assert!(ended.stderr.contains("swathe merge run"), "{}", ended.stderr);

    let ended = swathe(folder.path(), "merge run --watch").expect(0);
    assert_eq!(ended.stdout, "run\n");
    assert_eq!(result_hash(&run), result_hash(&folder.path().join("whole")));
    let report = json(&run.join("report.json"));
    assert_eq!(report["report"]["counts"]["n_solved"], 60);
    assert_eq!(report["n_before"], 0);
    let n_workers = report["report"]["workers"].as_array().unwrap().len();
    assert!(n_workers >= 16, "{n_workers} workers of eight processes");
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("swathe merge run"));
    let ended = swathe(folder.path(), "report run --text").expect(0);
    assert!(ended.stdout.starts_with("array: 60 solved\n"), "{}", ended.stdout);
}

/// Two processes that are given the same shard do not disturb each other.
#[test]
fn a_shard_is_solved_by_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let line = "array map exp in.npz --memory 4MiB --batch-size 2 --out run --shard 1/2";
    let mut first = command(folder.path(), line);
    let mut first = first.env("SWATHE_FAULTS", SLOW).spawn().unwrap();
    let live = folder.path().join("run/shards/1-of-2/live.json");
    let since = std::time::Instant::now();
    while !live.exists() {
        assert!(since.elapsed() < std::time::Duration::from_secs(30));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let ended = swathe(folder.path(), &format!("{line} --resume"));
    assert_eq!(ended.code, 4, "{}", ended.stderr);
    assert!(ended.stderr.contains("another process is writing"), "{}", ended.stderr);
    assert!(first.wait().unwrap().success());
    let ended = swathe(folder.path(), "shards run").expect(1);
    assert!(
        ended.stderr.starts_with("2 shards: 1 finished, 1 missing; 30 of 60"),
        "{}",
        ended.stderr
    );
}
