//! The state that the page reports, from what is in the run's folder.

use std::process::Command;

use swathe::{DeviceId, Phase, WorkerNow};
use swathe_run::store::live_file::{ProcessMark, Stage};

use crate::folders::Unfinished;
use crate::watching::{Watch, wait_for};

#[test]
fn running_stalled_merging() {
    let unfinished = Unfinished::beating();
    let watch = Watch::start(unfinished.path(), "run");
    let view = watch.until_state("running");
    assert_eq!((view["n_done"].as_u64(), view["n_problems"].as_u64()), (Some(20), Some(100)));
    assert_eq!(view["rate_per_s"], 2.0);
    assert_eq!(view["left_ms"], 40_000.0);
    let live = unfinished.change(|live| {
        live.elapsed_ms = 100_000.0;
        live.workers.push(WorkerNow {
            worker: 1,
            device: DeviceId::Cpu,
            phase: Phase::Solve,
            problem: Some((57, 90_000.0)),
        });
    });
    let view = watch.until_state("stalled");
    let words = view["words"].as_str().unwrap();
    assert!(words.contains("no new outcome for 90 s"), "{words}");
    assert!(words.contains("Worker 1 has been in problem 57 for 90 s."), "{words}");
    let since = view["since_unix_ms"].as_u64().unwrap();
    assert_eq!(since, live.started_unix_ms + 9_900);
    unfinished.change(|live| live.stage = Stage::Merging);
    watch.until_state("merging");
    wait_for("every state on stderr", || {
        let said = watch.said();
        ["running (20 of 100 done, ", "stalled", "merging"].iter().all(|state| said.contains(state))
    });
}

#[test]
fn a_process_that_is_gone_is_dead_whether_it_was_waited_for_or_not() {
    let unfinished = Unfinished::silent();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let live = unfinished.change(|live| {
        live.process.pid = child.id();
        live.process.start_ticks = start_ticks(child.id());
    });
    let watch = Watch::start(unfinished.path(), "run");
    watch.until_state("running");
    child.kill().unwrap();
    let view = watch.until_state("dead");
    let command = view["resume_command"].as_str().unwrap();
    assert_eq!(command, format!("{} --resume", live.command));
    child.wait().unwrap();
    assert_eq!(watch.data()["state"], "dead");
    // The next process takes over.
    unfinished.change(|live| live.process = ProcessMark::of_this());
    watch.until_state("running");
}

/// The start time as `/proc` reports it: the twentieth field after the name.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(") ").unwrap().1;
    fields.split(' ').nth(19).map(|ticks| ticks.parse().unwrap())
}

#[test]
fn a_process_on_another_machine_is_dead_when_it_falls_silent() {
    let unfinished = Unfinished::silent();
    unfinished.change(|live| live.process.host = Some("far".to_owned()));
    let watch = Watch::start(unfinished.path(), "run");
    let view = watch.until_state("running");
    assert_eq!(view["words"], "At work on far.");
    let view = watch.until_state("dead");
    let words = view["words"].as_str().unwrap();
    assert!(words.starts_with("The process on far has not been heard of for"), "{words}");
}

#[test]
fn a_folder_of_before_is_not_running_and_one_that_vanishes_cannot_be_read() {
    let unfinished = Unfinished::silent();
    std::fs::remove_file(unfinished.run().join("live.json")).unwrap();
    let watch = Watch::start(unfinished.path(), "run");
    let view = watch.until_state("not_running");
    assert!(view["words"].as_str().unwrap().contains("--resume"), "{view}");
    std::fs::rename(unfinished.run(), unfinished.path().join("away")).unwrap();
    watch.until_state("unreadable");
    std::fs::rename(unfinished.path().join("away"), unfinished.run()).unwrap();
    watch.until_state("not_running");
}

#[test]
fn a_damaged_live_file_is_told_and_nothing_falls_over() {
    let unfinished = Unfinished::silent();
    let watch = Watch::start(unfinished.path(), "run");
    for text in ["", "{", "null", "{\"format\": 1}", "\u{0}\u{0}"] {
        std::fs::write(unfinished.run().join("live.json"), text).unwrap();
        let view = watch.until_state("unreadable");
        assert!(view["words"].as_str().unwrap().contains("live.json"), "{view}");
        unfinished.change(|_| {});
        watch.until_state("running");
    }
}
