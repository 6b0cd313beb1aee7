//! Views: what is known of a run at one moment, as figures and as text.
//!
//! A view is a pure function of what the run's files contain, so that every state can be tested
//! without a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use swathe::{Counts, Launch, Sample, Setback, WorkerNow};
use swathe_run::explain::quantity::left_ms;
use swathe_run::store::live_file::{Live, Presence, Stage};
use swathe_run::store::run_folder::{RunState, sum_counts};

use super::columns::{LaunchColumns, SampleColumns};
use super::rate;

/// What a run's files contain, and what the reader learnt from polling them for a while.
pub(crate) struct Seen {
    /// The folder, as the user gave it.
    pub(crate) folder: String,
    /// From `run.json`; `None` if the file cannot be read.
    pub(crate) run: Option<RunFacts>,
    /// From `manifest.jsonl`: the outcomes of the problems that are committed; `None` if the file
    /// cannot be read.
    pub(crate) committed: Option<Counts>,
    /// From `live.json`.
    pub(crate) live: Option<SeenLive>,
    /// From `report.json`, if the file belongs to the latest attempt of the run.
    pub(crate) report: Option<ReportFacts>,
    /// Whether there is a `report.html`.
    pub(crate) has_page: bool,
    /// Why a file that exists cannot be read.
    pub(crate) trouble: Option<String>,
}

/// The parts of `run.json` that a view needs.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub(crate) run_id: Option<String>,
    pub(crate) state: RunState,
    pub(crate) workload: String,
    pub(crate) version: String,
    pub(crate) n_problems: u64,
    pub(crate) shard: Option<(usize, usize)>,
}

/// A live file, and whether the process that wrote it is still there.
pub(crate) struct SeenLive {
    pub(crate) live: Live,
    pub(crate) presence: Presence,
    /// For how long the file has not been written, as far as is known.
    pub(crate) silent_for: Duration,
    /// Moments of the run that the reader has seen: (milliseconds, problems done).
    pub(crate) recent: Vec<(f64, u64)>,
}

/// The parts of `report.json` that a view needs. Reports of earlier versions lack some of them.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ReportFacts {
    report: ReportPart,
    #[serde(default)]
    n_before: u64,
    #[serde(default)]
    before: Counts,
    #[serde(default)]
    command: String,
}

#[derive(Clone, Debug, Deserialize)]
struct ReportPart {
    counts: Counts,
    wall_ms: f64,
    #[serde(default)]
    samples: Vec<Sample>,
    #[serde(default)]
    n_setbacks: u64,
    #[serde(default)]
    setbacks: Vec<Setback>,
    #[serde(default)]
    n_launches: u64,
    memory: MemoryPart,
    #[serde(default)]
    verification: VerificationPart,
}

#[derive(Clone, Debug, Deserialize)]
struct MemoryPart {
    budget_bytes: u64,
    peak_bytes: u64,
    #[serde(default)]
    resident_peak_bytes: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct VerificationPart {
    #[serde(default)]
    mismatches: Vec<serde::de::IgnoredAny>,
}

/// The state of a run as viewers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunActivity {
    /// Outcomes arrive.
    Running,
    /// The process is there, but no outcome has arrived for a long time.
    Stalled,
    /// The process is gone without having recorded an end.
    Dead,
    /// All outcomes are there, and the tables are being merged.
    Merging,
    /// Everything is written.
    Finished,
    /// The run was stopped, and can be resumed.
    Interrupted,
    /// No process is running it, and no live file says whether one was.
    NotRunning,
    /// The files in the folder cannot be read.
    Unreadable,
}

impl ReportFacts {
    fn n_problems(&self) -> u64 {
        self.n_before + self.report.counts.n_problems
    }

    /// The outcomes of all problems. Reports of earlier versions do not record the outcomes of the
    /// problems that were done before a resume, so these are then missing.
    fn whole_counts(&self) -> Counts {
        Counts { n_problems: self.n_problems(), ..sum_counts([self.before, self.report.counts]) }
    }
}

impl RunActivity {
    pub(crate) const ALL: [RunActivity; 8] = [
        RunActivity::Running,
        RunActivity::Stalled,
        RunActivity::Dead,
        RunActivity::Merging,
        RunActivity::Finished,
        RunActivity::Interrupted,
        RunActivity::NotRunning,
        RunActivity::Unreadable,
    ];

    /// The name in JSON and in metric labels.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RunActivity::Running => "running",
            RunActivity::Stalled => "stalled",
            RunActivity::Dead => "dead",
            RunActivity::Merging => "merging",
            RunActivity::Finished => "finished",
            RunActivity::Interrupted => "interrupted",
            RunActivity::NotRunning => "not_running",
            RunActivity::Unreadable => "unreadable",
        }
    }
}

/// What the page, `/data.json` and `/metrics` show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct View {
    /// The version of this format.
    pub(crate) format: u32,
    pub(crate) state: RunActivity,
    /// What the state means and what to do about it, in sentences.
    pub(crate) words: String,
    /// When the state began, in milliseconds since 1970, if known.
    pub(crate) since_unix_ms: Option<u64>,
    /// The command that resumes the run, if it has stopped.
    pub(crate) resume_command: Option<String>,
    /// The folder, as the user gave it.
    pub(crate) folder: String,
    pub(crate) workload: String,
    pub(crate) version: String,
    pub(crate) command: String,
    pub(crate) shard: Option<(usize, usize)>,
    /// All problems, including those that were done before the run resumed.
    pub(crate) n_problems: u64,
    /// Problems that have an outcome. If the run's process is gone, only committed outcomes count:
    /// the others are lost.
    pub(crate) n_done: u64,
    /// Problems that had an outcome before the run resumed.
    pub(crate) n_before: u64,
    /// Problems whose outcomes are committed and so cannot be lost; `None` if that is not known.
    pub(crate) n_committed: Option<u64>,
    /// The outcomes by kind, including those from before the run resumed.
    pub(crate) counts: Counts,
    pub(crate) elapsed_ms: f64,
    /// Recent outcomes per second; over the whole run once it has ended.
    pub(crate) rate_per_s: Option<f64>,
    /// The estimated time until the end.
    pub(crate) left_ms: Option<f64>,
    pub(crate) memory: MemoryNow,
    pub(crate) queue: QueueNow,
    pub(crate) workers: Vec<WorkerNow>,
    /// The names of the workers' problems.
    pub(crate) problem_ids: Vec<String>,
    pub(crate) samples: SampleColumns,
    pub(crate) n_launches: u64,
    /// The last launches.
    pub(crate) launches: LaunchColumns,
    pub(crate) n_setbacks: u64,
    /// The last setbacks.
    pub(crate) setbacks: Vec<Setback>,
    pub(crate) n_mismatches: u64,
    /// Whether `/report` serves a page.
    pub(crate) has_report: bool,
    /// The number of the live file's version that this view was made from.
    pub(crate) beat: Option<u64>,
}

/// Memory against the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct MemoryNow {
    /// Reserved now.
    pub(crate) used_bytes: u64,
    pub(crate) budget_bytes: u64,
    /// The most that was reserved.
    pub(crate) peak_bytes: u64,
    /// Resident memory of the process now.
    pub(crate) resident_bytes: u64,
    /// The most that was resident.
    pub(crate) resident_peak_bytes: u64,
}

/// Where the problems without an outcome are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct QueueNow {
    pub(crate) n_waiting: u64,
    pub(crate) n_in_flight: u64,
}

/// The process table of another machine cannot be inspected; its live file is written twice a
/// second.
const SILENCE_MEANS_DEATH: Duration = Duration::from_secs(15);
/// A process that is not found may run in a container; then its live file still changes.
const SILENCE_CONFIRMS_DEATH: Duration = Duration::from_secs(2);
/// A shorter time without an outcome is no stall.
const STALL_MS_MIN: f64 = 30e3;
/// Nor is a time shorter than this many usual gaps between outcomes.
const STALL_GAPS: f64 = 10.0;

/// Makes the view from what the files contain.
pub(crate) fn view(seen: &Seen) -> View {
    let Some(run) = &seen.run else {
        return unreadable(seen);
    };
    match &seen.live {
        // A process may be running, but its live file cannot be read.
        None if run.state == RunState::Running && seen.trouble.is_some() => unreadable(seen),
        Some(live) if is_dead(live) && run.state == RunState::Complete => ended(seen, run),
        Some(live) => going_on(seen, run, live),
        None => ended(seen, run),
    }
}

fn is_dead(seen: &SeenLive) -> bool {
    match seen.presence {
        Presence::Alive => false,
        Presence::Gone => seen.silent_for >= SILENCE_CONFIRMS_DEATH,
        Presence::Unknown => seen.silent_for >= SILENCE_MEANS_DEATH,
    }
}

/// The view of a run that has a live file.
fn going_on(seen: &Seen, run: &RunFacts, seen_live: &SeenLive) -> View {
    let live = &seen_live.live;
    let (state, mut words, since_unix_ms) = doing_now(seen_live);
    let n_problems = live.before.n_problems + live.counts.n_problems;
    let mut counts = sum_counts([live.before, live.counts]);
    if state == RunActivity::Dead {
        let n_solved = counts.n_done();
        counts = Counts { n_problems, ..seen.committed.unwrap_or(live.before) };
        words += &lost_words(n_solved.saturating_sub(counts.n_done()));
    }
    let n_done = counts.n_done();
    let is_moving = state == RunActivity::Running;
    let rate_per_s = is_moving.then(|| rate::recent_per_s(live, &seen_live.recent)).flatten();
    let last = live.samples.last().copied().unwrap_or_default();
    let peak = |of: fn(&Sample) -> u64| live.samples.iter().map(of).max().unwrap_or(0);
    View {
        state,
        words,
        since_unix_ms,
        resume_command: (state == RunActivity::Dead).then(|| resume_command(&live.command)),
        command: live.command.clone(),
        n_problems,
        n_done,
        n_before: live.before.n_problems,
        counts,
        elapsed_ms: rounded(live.elapsed_ms),
        rate_per_s: rate_per_s.map(rounded),
        left_ms: rate_per_s
            .and_then(|_| {
                let n_left = n_problems - n_done.min(n_problems);
                left_ms(n_left, live.counts.n_done(), live.elapsed_ms)
            })
            .map(rounded),
        memory: MemoryNow {
            used_bytes: last.used_bytes,
            budget_bytes: live.budget_bytes,
            peak_bytes: peak(|sample| sample.used_bytes),
            resident_bytes: last.resident_bytes,
            resident_peak_bytes: peak(|sample| sample.resident_bytes),
        },
        queue: QueueNow { n_waiting: last.n_waiting, n_in_flight: last.n_in_flight },
        workers: live.workers.clone(),
        problem_ids: live.problem_ids.clone(),
        samples: SampleColumns::of(&live.samples),
        n_launches: live.n_launches,
        launches: LaunchColumns::of(&live.launches),
        n_setbacks: live.n_setbacks,
        setbacks: live.setbacks.clone(),
        n_mismatches: live.n_mismatches,
        has_report: false,
        beat: Some(live.beat),
        ..bare(seen, run)
    }
}

fn doing_now(seen: &SeenLive) -> (RunActivity, String, Option<u64>) {
    let live = &seen.live;
    if is_dead(seen) {
        let gone = match seen.presence {
            Presence::Unknown => {
                let host = live.process.host.as_deref().unwrap_or("another machine");
                format!(
                    "The process on {host} has not been heard of for {}.",
                    spoken(seen.silent_for)
                )
            }
            _ => "The process is gone.".to_owned(),
        };
        let words = format!("{gone} What was committed is safe: go on with --resume.");
        return (RunActivity::Dead, words, Some(live.written_unix_ms));
    }
    if live.stage == Stage::Merging {
        let words = "All outcomes are there; the tables are put together.".to_owned();
        return (RunActivity::Merging, words, None);
    }
    if seen.silent_for >= SILENCE_MEANS_DEATH {
        let words = format!(
            "The process is there, but has not told its figures for {}: it may be stopped, or \
             the disk full or slow.",
            spoken(seen.silent_for)
        );
        return (RunActivity::Stalled, words, Some(live.written_unix_ms));
    }
    let n_done = live.counts.n_done();
    let gap_ms = live.elapsed_ms - live.last_outcome_ms;
    let usual_gap_ms = match n_done {
        0 => 0.0,
        n => live.last_outcome_ms / n as f64,
    };
    let is_at_work = n_done < live.counts.n_problems;
    if is_at_work && gap_ms > STALL_MS_MIN.max(STALL_GAPS * usual_gap_ms) {
        let gap = spoken(Duration::from_secs_f64(gap_ms / 1e3));
        let words = match n_done {
            0 => format!("There has been no outcome yet, after {gap}."),
            _ => format!(
                "There has been no new outcome for {gap}, where one usually comes every {}.",
                spoken(Duration::from_secs_f64(usual_gap_ms / 1e3))
            ),
        };
        let words = [words, busy_words(live)].join(" ");
        let since = live.started_unix_ms + live.last_outcome_ms as u64;
        return (RunActivity::Stalled, words.trim_end().to_owned(), Some(since));
    }
    let words = match seen.presence {
        Presence::Unknown => {
            let host = live.process.host.as_deref().unwrap_or("another machine");
            format!("At work on {host}.")
        }
        _ => format!("At work on this machine, as process {}.", live.process.pid),
    };
    (RunActivity::Running, words, Some(live.started_unix_ms))
}

/// How many outcomes were lost when the process died.
fn lost_words(n_lost: u64) -> String {
    match n_lost {
        0 => String::new(),
        1 => " One problem was solved, but not committed: it is solved again.".to_owned(),
        n => format!(" {n} problems were solved, but not committed: they are solved again."),
    }
}

/// Which worker solves which problem, the longest-running first.
fn busy_words(live: &Live) -> String {
    /// Enough to see what is wrong; the page lists all of them.
    const N_NAMED_MAX: usize = 3;
    let workers = live.workers.iter().enumerate();
    let mut busy: Vec<(f64, usize, String)> = workers
        .filter_map(|(at, worker)| {
            let (problem, for_ms) = worker.problem?;
            let name = match live.problem_ids.get(at) {
                Some(id) if !id.is_empty() => id.clone(),
                _ => format!("problem {problem}"),
            };
            Some((for_ms, worker.worker, name))
        })
        .collect();
    busy.sort_by(|one, other| other.0.total_cmp(&one.0));
    let sentences = busy.iter().take(N_NAMED_MAX).map(|(for_ms, worker, problem)| {
        let time = spoken(Duration::from_secs_f64(for_ms.max(0.0) / 1e3));
        format!("Worker {worker} has been in {problem} for {time}.")
    });
    sentences.collect::<Vec<_>>().join(" ")
}

/// The view of a run without a live file, or whose live file was left behind by a process that died
/// after its work was done.
fn ended(seen: &Seen, run: &RunFacts) -> View {
    let report = seen.report.as_ref();
    let command = report.map(|report| report.command.clone()).unwrap_or_default();
    let (state, words) = match run.state {
        RunState::Complete => {
            let words = match report {
                Some(report) if report.whole_counts().n_solved == report.n_problems() => {
                    "Every problem is solved, and the tables are written."
                }
                Some(_) => "Every problem has its outcome, and the tables are written.",
                None => "The tables are written; there is no report of how it went.",
            };
            (RunActivity::Finished, words)
        }
        RunState::Interrupted => (
            RunActivity::Interrupted,
            "It was stopped before its end. What was finished is kept: go on with --resume.",
        ),
        RunState::Running => (
            RunActivity::NotRunning,
            "Nobody is at work here: it may be about to begin, or was ended without notice. \
             What was committed is safe: the same command with --resume goes on.",
        ),
    };
    let can_resume = state != RunActivity::Finished && !command.is_empty();
    let mut view = View {
        state,
        words: words.to_owned(),
        resume_command: can_resume.then(|| resume_command(&command)),
        command,
        has_report: seen.has_page && report.is_some(),
        ..bare(seen, run)
    };
    if let Some(committed) = seen.committed.filter(|_| state == RunActivity::NotRunning) {
        view.n_done = committed.n_done();
        view.counts = Counts { n_problems: view.n_problems, ..committed };
    }
    // If the run is neither complete nor interrupted, the report belongs to an earlier attempt.
    let Some(report) = report.filter(|_| state != RunActivity::NotRunning) else {
        view.has_report = false;
        return view;
    };
    let part = &report.report;
    let last = part.samples.last().copied().unwrap_or_default();
    view.counts = report.whole_counts();
    view.n_before = report.n_before;
    view.n_problems = report.n_problems();
    view.n_done = report.n_before + part.counts.n_done();
    view.elapsed_ms = rounded(part.wall_ms);
    view.rate_per_s =
        (part.wall_ms > 0.0).then(|| rounded(part.counts.n_done() as f64 / (part.wall_ms / 1e3)));
    view.memory = MemoryNow {
        used_bytes: 0,
        budget_bytes: part.memory.budget_bytes,
        peak_bytes: part.memory.peak_bytes,
        resident_bytes: 0,
        resident_peak_bytes: part.memory.resident_peak_bytes,
    };
    view.queue.n_waiting = if state == RunActivity::Interrupted { last.n_waiting } else { 0 };
    view.samples = SampleColumns::of(&part.samples);
    view.n_launches = part.n_launches;
    view.n_setbacks = part.n_setbacks;
    let n_passed_over = part.setbacks.len().saturating_sub(Live::N_SETBACKS_KEPT);
    view.setbacks = part.setbacks[n_passed_over..].to_vec();
    view.n_mismatches = part.verification.mismatches.len() as u64;
    view
}

fn unreadable(seen: &Seen) -> View {
    let run = RunFacts {
        run_id: None,
        state: RunState::Running,
        workload: String::new(),
        version: String::new(),
        n_problems: 0,
        shard: None,
    };
    let why = seen.trouble.as_deref().unwrap_or("its run.json is gone");
    View {
        state: RunActivity::Unreadable,
        words: format!("The run folder cannot be read: {why}."),
        ..bare(seen, &run)
    }
}

/// The parts of a view that are known of every run.
fn bare(seen: &Seen, run: &RunFacts) -> View {
    View {
        format: 1,
        state: RunActivity::NotRunning,
        words: String::new(),
        since_unix_ms: None,
        resume_command: None,
        folder: seen.folder.clone(),
        workload: run.workload.clone(),
        version: run.version.clone(),
        command: String::new(),
        shard: run.shard,
        n_problems: run.n_problems,
        n_done: 0,
        n_before: 0,
        n_committed: seen.committed.map(|counts| counts.n_done()),
        counts: Counts::default(),
        elapsed_ms: 0.0,
        rate_per_s: None,
        left_ms: None,
        memory: MemoryNow::default(),
        queue: QueueNow::default(),
        workers: Vec::new(),
        problem_ids: Vec::new(),
        samples: SampleColumns::default(),
        n_launches: 0,
        launches: LaunchColumns::of(&[] as &[Launch]),
        n_setbacks: 0,
        setbacks: Vec::new(),
        n_mismatches: 0,
        has_report: false,
        beat: None,
    }
}

/// The command that resumes a run.
fn resume_command(command: &str) -> String {
    match command.split_whitespace().any(|word| word == "--resume") {
        true => command.to_owned(),
        false => format!("{command} --resume"),
    }
}

/// Rounds to four digits after the point; further digits are noise and would make the JSON longer.
fn rounded(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

/// `45 s`, `3 min 20 s`, `2 h 5 min`.
fn spoken(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0 => format!("{} ms", time.as_millis()),
        1..120 => format!("{s} s"),
        120..7200 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{} h {} min", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
