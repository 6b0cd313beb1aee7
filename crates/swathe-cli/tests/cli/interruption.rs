//! Runs that are killed, interrupted or disturbed, and then resumed.

use std::collections::HashSet;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::program::{
    Ended, Random, announced, command, json, many_floats, result_hash, swathe, swathe_with,
};

/// Each part is an eighth of the memory, so there are about ten. Every launch is delayed by 10 ms.
const LINE: &str = "array map sqrt in.npz --batch-size 2 --threads 2 --memory 1MiB";
const SLOW: &str = "slow%100=10ms:seed=1";
const N_ITEMS: u64 = 60;

fn folder_and_hash() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    swathe(folder.path(), &format!("{LINE} --out whole")).expect(0);
    let hash = result_hash(&folder.path().join("whole"));
    (folder, hash)
}

fn start(folder: &Path, faults: &str, line: &str) -> Child {
    let mut command = command(folder, line);
    command.env("SWATHE_FAULTS", faults).spawn().unwrap()
}

fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: the child has not been waited for, so its process id is not reused.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[track_caller]
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn killed_and_resumed(n_moments: u64) {
    let (folder, hash) = folder_and_hash();
    let since = Instant::now();
    let line = format!("{LINE} --out timed");
    swathe_with(folder.path(), "SWATHE_FAULTS", SLOW, &line).expect(0);
    let wall_us = since.elapsed().as_micros() as u64;
    let mut random = Random(11);
    let mut n_cut_short = 0;
    for moment in 0..n_moments {
        let run = folder.path().join(format!("run{moment}"));
        let line = format!("{LINE} --out run{moment}");
        let mut child = start(folder.path(), SLOW, &line);
        std::thread::sleep(Duration::from_micros(random.below(wall_us)));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = announced(&run);
        n_cut_short += u64::from((1..N_ITEMS).contains(&(before.len() as u64)));
        swathe(folder.path(), &format!("{line} --resume")).expect(0);
        assert_eq!(result_hash(&run), hash, "moment {moment}");
        let after = announced(&run);
        assert_eq!(after[..before.len()], before, "what was announced stays");
        let different: HashSet<&u64> = after.iter().collect();
        assert_eq!(different.len() as u64, N_ITEMS);
        assert_eq!(after.len() as u64, N_ITEMS, "nothing announced is done again");
        let report = json(&run.join("report.json"));
        assert_eq!(report["n_before"], before.len());
        for entry in
            std::fs::read_dir(&run).unwrap().chain(std::fs::read_dir(run.join("parts")).unwrap())
        {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".tmp"), "{name} is left behind");
        }
    }
    assert!(n_cut_short > n_moments / 5, "{n_cut_short} were in the middle");
}

#[test]
fn killed_at_25_moments() {
    killed_and_resumed(25);
}

#[test]
#[ignore = "a soak"]
fn killed_at_200_moments() {
    killed_and_resumed(200);
}

/// One problem that takes minutes does not delay commits: a few seconds later all others are
/// committed.
#[test]
fn what_is_finished_is_safe_while_one_problem_takes_long() {
    let (folder, hash) = folder_and_hash();
    let line = "array map sqrt in.npz --threads 2 --out slow";
    let run = folder.path().join("slow");
    let mut child = start(folder.path(), "slow@item:59=300s", line);
    wait_for("all but the slow one are announced", || announced(&run).len() as u64 == N_ITEMS - 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = start(folder.path(), SLOW, &format!("{line} --progress json --resume"));
    let ended = Ended::of(resumed.wait_with_output().unwrap()).expect(0);
    assert_eq!(json(&run.join("report.json"))["n_before"], N_ITEMS - 1);
    // All figures are of the whole run.
    let told = "60 solved, 59 of them done before";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    for line in ended.stderr.lines().filter(|line| line.starts_with('{')) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["event"] != "progress" {
            continue;
        }
        assert_eq!(line["counts"]["n_problems"], N_ITEMS, "{line}");
        assert!(line["counts"]["n_solved"].as_u64().unwrap() >= N_ITEMS - 1);
    }
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("All 60 problems are solved</h1>"));
    let text = swathe(folder.path(), "report slow --text").expect(0).stdout;
    assert!(text.contains(told), "{text}");
    assert_eq!(result_hash(&run), hash);
}

#[test]
fn ctrl_c_and_sigterm_keep_what_is_finished() {
    let (folder, hash) = folder_and_hash();
    for (name, number) in [("int", libc::SIGINT), ("term", libc::SIGTERM)] {
        let line = format!("{LINE} --out {name}");
        let run = folder.path().join(name);
        let child = start(folder.path(), "slow%100=40ms:seed=1", &line);
        wait_for("a part is announced", || !announced(&run).is_empty());
        signal(&child, number);
        let asked = Instant::now();
        let ended = Ended::of(child.wait_with_output().unwrap()).expect(130);
        // Only detects a hang; how soon the run ends on a busy machine depends on the disk.
        assert!(asked.elapsed() < Duration::from_secs(60));
        assert!(ended.stderr.contains("--resume"), "{}", ended.stderr);
        assert_eq!(ended.stdout, format!("{name}\n"));
        assert_eq!(json(&run.join("run.json"))["state"], "interrupted");
        let report = json(&run.join("report.json"));
        let n_solved = report["report"]["counts"]["n_solved"].as_u64().unwrap();
        assert_eq!(announced(&run).len() as u64, n_solved, "all that is finished");
        assert!(n_solved < N_ITEMS);
        let ended = swathe(folder.path(), &line).expect(2);
        assert!(ended.stderr.contains("add --resume"), "{}", ended.stderr);
        swathe(folder.path(), &format!("{line} --resume")).expect(0);
        assert_eq!(result_hash(&run), hash);
    }
}

#[test]
fn a_second_process_is_turned_away() {
    let (folder, hash) = folder_and_hash();
    let line = format!("{LINE} --out run");
    let run = folder.path().join("run");
    let first = start(folder.path(), "slow%100=60ms:seed=1", &line);
    wait_for("a part is announced", || !announced(&run).is_empty());
    let second = swathe(folder.path(), &format!("{line} --resume")).expect(4);
    assert!(second.stderr.contains("another process is writing run"), "{}", second.stderr);
    swathe(folder.path(), &line).expect(2);
    Ended::of(first.wait_with_output().unwrap()).expect(0);
    assert_eq!(result_hash(&run), hash);
}

#[test]
fn every_store_fault_is_mended() {
    let (folder, hash) = folder_and_hash();
    let n_stores = 2 * std::fs::read_to_string(folder.path().join("whole/manifest.jsonl"))
        .unwrap()
        .lines()
        .count();
    assert!(n_stores >= 10, "{n_stores}");
    for k in 1..=n_stores {
        let faults = format!("oom@store:{k}");
        let line = format!("{LINE} --out run{k}");
        swathe_with(folder.path(), "SWATHE_FAULTS", &faults, &line).expect(0);
        assert_eq!(result_hash(&folder.path().join(format!("run{k}"))), hash);
    }
    let line = format!("{LINE} --out refused");
    let ended = swathe_with(folder.path(), "SWATHE_FAULTS", "oom%100:store", &line).expect(4);
    assert!(ended.stderr.contains("refused/parts/000000.parquet"), "{}", ended.stderr);
    swathe(folder.path(), &format!("{line} --resume")).expect(0);
    assert_eq!(result_hash(&folder.path().join("refused")), hash);
}

#[test]
fn a_torn_last_line_costs_its_part_alone() {
    let (folder, hash) = folder_and_hash();
    let run = folder.path().join("whole");
    let manifest = run.join("manifest.jsonl");
    let text = std::fs::read(&manifest).unwrap();
    let last = text[..text.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    for n_kept in [last + 1, (last + text.len()) / 2, text.len() - 1] {
        std::fs::write(&manifest, &text[..n_kept]).unwrap();
        let n_before = announced(&run).len();
        swathe(folder.path(), &format!("{LINE} --out whole --resume")).expect(0);
        assert_eq!(result_hash(&run), hash);
        assert_eq!(json(&run.join("report.json"))["n_before"], n_before);
        assert_eq!(announced(&run).len() as u64, N_ITEMS);
    }
}

/// Output that is deleted during a run is reported, and the run does not end as a success.
#[test]
fn output_that_vanishes_is_named() {
    let (folder, _) = folder_and_hash();
    for name in ["manifest.jsonl", "parts/000000.parquet", "parts", ""] {
        let run = folder.path().join("run");
        let child = start(folder.path(), "slow%100=40ms:seed=1", &format!("{LINE} --out run"));
        wait_for("a part is announced", || !announced(&run).is_empty());
        let path = run.join(name);
        match path.is_dir() {
            // Repeated, because the run may write into the folder meanwhile.
            true => while std::fs::remove_dir_all(&path).is_err() && path.exists() {},
            false => std::fs::remove_file(&path).unwrap(),
        }
        let ended = Ended::of(child.wait_with_output().unwrap()).expect(4);
        let named = format!("run/{name}");
        assert!(ended.stderr.contains(named.trim_end_matches('/')), "{}", ended.stderr);
        let _ = std::fs::remove_dir_all(&run);
    }
}
