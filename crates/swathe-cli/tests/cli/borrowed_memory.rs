//! Borrowed memory that a search is interrupted in.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::program::{Ended, command, swathe};

/// Two Ctrl-C during the search: the second must not end the process early.
#[test]
fn borrowed_memory_is_as_it_was_after_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let lent = folder.path().join("lent");
    let before = someone_elses_data(&lent, 60 * 60 * 60 * 8);
    // The goal is enclosed by blocked vertices, so that every length up to the limit is tried.
    let line = "lattice path --size 60x60x60 --from 0 --to 215999 \
        --blocked 215998 215939 212399 --length-max 200000 --scratch lent";
    let child = command(folder.path(), line).spawn().unwrap();
    // The file itself is the memory, so its change is visible from outside.
    wait_until(|| std::fs::read(&lent).unwrap() != before);
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(1));
    interrupt(&child);
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("interrupted: lent is as it was"), "{}", ended.stderr);
    assert!(std::fs::read(&lent).unwrap() == before);

    let limited = swathe(folder.path(), &format!("{line} --time-limit 300ms"));
    assert_eq!(limited.code, 1);
    assert!(limited.stderr.contains("not finished after 300ms"), "{}", limited.stderr);
    assert!(std::fs::read(&lent).unwrap() == before);
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn someone_elses_data(path: &Path, n_bytes: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..n_bytes as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect();
    std::fs::write(path, &bytes).unwrap();
    bytes
}
