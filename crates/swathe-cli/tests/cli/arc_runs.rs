//! Runs of `swathe arc` that are killed or interrupted.

use std::fs;
use std::time::Duration;

use crate::arc::{folder, run};
use crate::cases::tables::same_table;
use crate::program::{announced, command, json, result_hash, swathe};

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
        let tables = [format!("{out}/tasks.parquet"), "whole/tasks.parquet".to_owned()];
        same_table(folder.path(), &tables).unwrap();
    }
    assert!(n_cut_short > 0, "all were killed before their first part");
    fs::write(folder.path().join("programs.py"), "def a(I):\n    return I\n").unwrap();
    let ended = swathe(folder.path(), &format!("{line} --out run1 --resume")).expect(2);
    assert!(ended.stderr.contains("programs.py: its contents changed"), "{}", ended.stderr);
}

#[test]
fn a_harvest_can_be_interrupted_and_does_not_begin_in_vain() {
    let folder = folder(1);
    let line = "arc --programs programs.py --tasks tasks --harvest --threads 1 --batch-size 1";
    let mut child = command(folder.path(), &format!("{line} --out cut"))
        .env("SWATHE_FAULTS", "slow%100=200ms:seed=1")
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
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
