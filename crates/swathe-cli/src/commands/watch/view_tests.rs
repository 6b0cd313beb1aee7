//! Tests of every state that a run can have, made from the contents of its files.

use swathe::{DeviceId, Phase};
use swathe_run::store::live_file::ProcessMark;

use super::*;

/// A run of 100 problems, 40 of them done in 20 seconds, the last one just now.
fn live() -> Live {
    Live {
        format: Live::FORMAT,
        process: ProcessMark::of_this(),
        beat: 40,
        written_unix_ms: 1_020_000,
        started_unix_ms: 1_000_000,
        stage: Stage::Solving,
        workload: "array".to_owned(),
        command: "swathe array map sqrt in.npz --out RUN".to_owned(),
        before: Counts::default(),
        counts: Counts { n_problems: 100, n_solved: 38, n_failed: 2, ..Counts::default() },
        elapsed_ms: 20_000.0,
        last_outcome_ms: 19_900.0,
        budget_bytes: 1 << 30,
        samples: vec![sample(0.0, 0, 0), sample(10_000.0, 10, 700), sample(20_000.0, 40, 500)],
        workers: Vec::new(),
        problem_ids: Vec::new(),
        n_setbacks: 0,
        setbacks: Vec::new(),
        n_launches: 20,
        launches: Vec::new(),
        n_mismatches: 0,
    }
}

fn sample(at_ms: f64, n_done: u64, used_bytes: u64) -> Sample {
    let resident_bytes = 10 * used_bytes;
    Sample {
        at_ms,
        n_done,
        used_bytes,
        resident_bytes,
        n_waiting: 100 - n_done,
        ..Sample::default()
    }
}

fn seen(live: Option<Live>, presence: Presence, silent_s: u64) -> Seen {
    Seen {
        folder: "RUN".to_owned(),
        run: Some(RunFacts {
            run_id: None,
            state: RunState::Running,
            workload: "array".to_owned(),
            version: "1".to_owned(),
            n_problems: 100,
            shard: None,
        }),
        committed: None,
        live: live.map(|live| SeenLive {
            live,
            presence,
            silent_for: Duration::from_secs(silent_s),
            recent: Vec::new(),
        }),
        report: None,
        has_page: false,
        trouble: None,
    }
}

fn with_state(state: RunState, report: Option<&str>) -> Seen {
    let mut seen = seen(None, Presence::Unknown, 0);
    if let Some(run) = &mut seen.run {
        run.state = state;
    }
    seen.report = report.map(|text| serde_json::from_str(text).unwrap());
    seen.has_page = seen.report.is_some();
    seen
}

#[test]
fn a_running_run_has_a_rate_and_an_end() {
    let view = view(&seen(Some(live()), Presence::Alive, 0));
    assert_eq!(view.state, RunActivity::Running);
    assert_eq!((view.n_done, view.n_problems), (40, 100));
    // 30 outcomes in the last ten seconds.
    assert_eq!(view.rate_per_s, Some(3.0));
    // As on the terminal: 40 outcomes took 20 s, and 60 are left.
    assert_eq!(view.left_ms, Some(30_000.0));
    assert_eq!(view.memory.used_bytes, 500);
    assert_eq!(view.memory.peak_bytes, 700);
    assert_eq!((view.memory.resident_bytes, view.memory.resident_peak_bytes), (5000, 7000));
    assert_eq!(view.queue.n_waiting, 60);
    assert!(!view.has_report);
}

#[test]
fn what_was_done_before_a_resume_counts_as_done_but_not_as_speed() {
    let mut live = live();
    live.before = Counts { n_problems: 900, n_solved: 890, n_panicked: 10, ..Counts::default() };
    let view = view(&seen(Some(live), Presence::Alive, 0));
    assert_eq!((view.n_done, view.n_problems), (940, 1000));
    assert_eq!((view.counts.n_solved, view.counts.n_problems), (928, 1000));
    assert_eq!((view.counts.n_failed, view.counts.n_panicked), (2, 10));
    assert_eq!(view.rate_per_s, Some(3.0));
    // As on the terminal: 40 outcomes took 20 s, and 60 are left.
    assert_eq!(view.left_ms, Some(30_000.0));
}

/// Problems that a dead process had solved but not committed do not count as done.
#[test]
fn of_a_dead_run_what_is_committed_is_done() {
    let committed = Counts { n_problems: 31, n_solved: 30, n_failed: 1, ..Counts::default() };
    let mut seen = seen(Some(live()), Presence::Alive, 0);
    seen.committed = Some(committed);
    let running = view(&seen);
    assert_eq!((running.n_done, running.n_committed), (40, Some(31)));
    seen.live.as_mut().unwrap().presence = Presence::Gone;
    seen.live.as_mut().unwrap().silent_for = Duration::from_secs(9);
    let dead = view(&seen);
    assert_eq!((dead.state, dead.n_done), (RunActivity::Dead, 31));
    assert_eq!((dead.counts.n_solved, dead.counts.n_problems), (30, 100));
    let lost = "9 problems were solved, but not committed: they are solved again.";
    assert!(dead.words.ends_with(lost), "{}", dead.words);
    seen.live = None;
    let gone = view(&seen);
    assert_eq!((gone.state, gone.n_done), (RunActivity::NotRunning, 31));
}

#[test]
fn moments_seen_while_looking_sharpen_the_rate() {
    let mut live = live();
    live.samples.truncate(1);
    let mut seen = seen(Some(live), Presence::Alive, 0);
    assert_eq!(view(&seen).rate_per_s, Some(2.0), "over the whole run");
    seen.live.as_mut().unwrap().recent = vec![(9_000.0, 0), (10_000.0, 20)];
    assert_eq!(view(&seen).rate_per_s, Some(2.0), "20 in ten seconds");
    seen.live.as_mut().unwrap().recent = vec![(10_000.0, 39)];
    assert_eq!(view(&seen).rate_per_s, Some(0.1));
}

#[test]
fn no_outcome_for_long_is_a_stall_and_says_who_is_busy() {
    // One outcome every half second: after 30 seconds something is wrong.
    let mut live = live();
    live.elapsed_ms = 49_000.0;
    assert_eq!(view(&seen(Some(live.clone()), Presence::Alive, 0)).state, RunActivity::Running);
    live.elapsed_ms = 95_000.0;
    live.workers = vec![
        WorkerNow { worker: 0, device: DeviceId::Cpu, phase: Phase::Idle, problem: None },
        WorkerNow {
            worker: 1,
            device: DeviceId::Cpu,
            phase: Phase::Solve,
            problem: Some((57, 75_000.0)),
        },
    ];
    let stalled = view(&seen(Some(live.clone()), Presence::Alive, 0));
    assert_eq!(stalled.state, RunActivity::Stalled);
    assert_eq!(stalled.since_unix_ms, Some(1_019_900));
    assert_eq!(
        stalled.words,
        "There has been no new outcome for 75 s, where one usually comes every 497 ms. \
         Worker 1 has been in problem 57 for 75 s."
    );
    assert_eq!((stalled.rate_per_s, stalled.left_ms), (None, None));
    // If outcomes are rare, longer gaps are usual.
    live.counts.n_solved = 2;
    live.counts.n_failed = 0;
    assert_eq!(view(&seen(Some(live.clone()), Presence::Alive, 0)).state, RunActivity::Running);
    live.counts.n_solved = 0;
    live.last_outcome_ms = 0.0;
    let words = view(&seen(Some(live.clone()), Presence::Alive, 0)).words;
    assert!(words.starts_with("There has been no outcome yet, after 95 s."), "{words}");
    // Once all problems have their outcome, nothing is left to wait for.
    live.counts.n_solved = 100;
    assert_eq!(view(&seen(Some(live), Presence::Alive, 0)).state, RunActivity::Running);
}

#[test]
fn a_process_that_is_there_but_silent_is_stalled() {
    let view = view(&seen(Some(live()), Presence::Alive, 80));
    assert_eq!(view.state, RunActivity::Stalled);
    assert!(view.words.contains("has not told its figures for 80 s"), "{}", view.words);
}

#[test]
fn a_process_that_is_gone_is_dead_and_the_way_on_is_told() {
    let gone = view(&seen(Some(live()), Presence::Gone, 3));
    assert_eq!(gone.state, RunActivity::Dead);
    assert_eq!(
        gone.words,
        "The process is gone. What was committed is safe: go on with --resume. \
         40 problems were solved, but not committed: they are solved again."
    );
    let command = "swathe array map sqrt in.npz --out RUN --resume";
    assert_eq!(gone.resume_command.as_deref(), Some(command));
    let mut resumed = live();
    resumed.command = command.to_owned();
    let view = view(&seen(Some(resumed), Presence::Gone, 3));
    assert_eq!(view.resume_command.as_deref(), Some(command));
}

#[test]
fn a_process_in_a_container_of_its_own_lives_as_long_as_its_file_grows() {
    assert_eq!(view(&seen(Some(live()), Presence::Gone, 1)).state, RunActivity::Running);
}

#[test]
fn a_process_elsewhere_is_judged_by_its_silence() {
    let mut live = live();
    live.process.host = Some("far".to_owned());
    let running = view(&seen(Some(live.clone()), Presence::Unknown, 14));
    assert_eq!((running.state, running.words.as_str()), (RunActivity::Running, "At work on far."));
    let dead = view(&seen(Some(live), Presence::Unknown, 16));
    assert_eq!(dead.state, RunActivity::Dead);
    assert!(dead.words.starts_with("The process on far has not been heard of for 16 s."));
}

#[test]
fn merging_is_told() {
    let mut live = live();
    live.stage = Stage::Merging;
    live.elapsed_ms = 1e6;
    assert_eq!(view(&seen(Some(live), Presence::Alive, 0)).state, RunActivity::Merging);
}

const REPORT: &str = r#"{
    "report": {
        "counts": {"n_problems": 90, "n_solved": 88, "n_failed": 1, "n_too_large": 0,
                   "n_timed_out": 1, "n_panicked": 0},
        "wall_ms": 45000.0,
        "memory": {"budget_bytes": 1000, "peak_bytes": 900}
    },
    "n_before": 10, "command": "swathe array", "figures": {}
}"#;

#[test]
fn ended_runs_are_told_from_their_report() {
    let finished = view(&with_state(RunState::Complete, Some(REPORT)));
    assert_eq!(finished.state, RunActivity::Finished);
    assert_eq!((finished.n_done, finished.n_problems), (100, 100));
    assert_eq!(finished.rate_per_s, Some(2.0));
    assert_eq!(finished.resume_command, None);
    let has_outcome = "Every problem has its outcome, and the tables are written.";
    assert_eq!(finished.words, has_outcome);
    let all_solved = REPORT
        .replace("\"n_failed\": 1", "\"n_failed\": 0")
        .replace("\"n_timed_out\": 1", "\"n_timed_out\": 0");
    let words = |report: &str| view(&with_state(RunState::Complete, Some(report))).words;
    assert_eq!(words(&all_solved), has_outcome, "ten were done before");
    let at_once = all_solved
        .replace("\"n_before\": 10", "\"n_before\": 0")
        .replace("\"n_solved\": 88", "\"n_solved\": 90");
    assert_eq!(words(&at_once), "Every problem is solved, and the tables are written.");
    assert!(finished.has_report);
    let interrupted = view(&with_state(RunState::Interrupted, Some(REPORT)));
    assert_eq!(interrupted.state, RunActivity::Interrupted);
    assert_eq!(interrupted.resume_command.as_deref(), Some("swathe array --resume"));
    let earlier = view(&with_state(RunState::Running, Some(REPORT)));
    assert_eq!(earlier.state, RunActivity::NotRunning);
    assert!(!earlier.has_report, "the report is of an earlier attempt");
    assert_eq!(earlier.n_done, 0);
}

#[test]
fn a_run_without_live_file_or_report_is_not_running() {
    let view = view(&with_state(RunState::Running, None));
    assert_eq!((view.state, view.n_problems), (RunActivity::NotRunning, 100));
}

#[test]
fn a_process_that_died_after_its_work_left_a_finished_run() {
    let mut seen = seen(Some(live()), Presence::Gone, 60);
    seen.run.as_mut().unwrap().state = RunState::Complete;
    assert_eq!(view(&seen).state, RunActivity::Finished);
    // While the process is there, it may still be writing the report.
    seen.live.as_mut().unwrap().presence = Presence::Alive;
    assert_ne!(view(&seen).state, RunActivity::Finished);
}

#[test]
fn a_folder_that_cannot_be_read_is_said_to_be_so() {
    let mut seen = seen(None, Presence::Unknown, 0);
    seen.run = None;
    seen.trouble = Some("run.json: permission denied".to_owned());
    let view = view(&seen);
    assert_eq!(view.state, RunActivity::Unreadable);
    assert!(view.words.contains("permission denied"), "{}", view.words);
}

#[test]
fn a_live_file_that_cannot_be_read_is_no_proof_of_death() {
    let mut seen = with_state(RunState::Running, None);
    seen.trouble = Some("live.json: of another version".to_owned());
    assert_eq!(view(&seen).state, RunActivity::Unreadable);
}

#[test]
fn names_of_states_are_those_of_the_json() {
    for state in RunActivity::ALL {
        assert_eq!(serde_json::json!(state), state.name());
    }
}

#[test]
fn times_are_spoken() {
    for (ms, text) in [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (119_999, "119 s"),
        (120_000, "2 min 0 s"),
        (7_200_000, "2 h 0 min"),
    ] {
        assert_eq!(spoken(Duration::from_millis(ms)), text);
    }
}
