//! Views: what is known of a run at a moment, in figures and in words.
//!
//! A view is a pure function of what the run's files say, so that every state can be tested
//! without a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use swathe::{Counts, Launch, Sample, Setback, WorkerNow};
use swathe_run::store::live_file::{Live, Presence, Stage};
use swathe_run::store::run_folder::{RunState, sum_counts};

use super::columns::{LaunchColumns, SampleColumns};
use super::rate;

/// What a run's files say, and what was learnt by looking at them for a while.
pub(crate) struct Seen {
    /// The folder, as it was given.
    pub(crate) folder: String,
    /// Of `run.json`; `None` if it cannot be read.
    pub(crate) run: Option<RunFacts>,
    /// Of `manifest.jsonl`: what became of the problems that are committed; `None` if it cannot be
    /// read.
    pub(crate) committed: Option<Counts>,
    /// Of `live.json`.
    pub(crate) live: Option<SeenLive>,
    /// Of `report.json`, if it is of the run that was here last.
    pub(crate) report: Option<ReportFacts>,
    /// Whether there is a `report.html`.
    pub(crate) has_page: bool,
    /// Why something that is there cannot be read.
    pub(crate) trouble: Option<String>,
}

/// What is used of `run.json`.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub(crate) state: RunState,
    pub(crate) workload: String,
    pub(crate) version: String,
    pub(crate) n_problems: u64,
    pub(crate) shard: Option<(usize, usize)>,
}

/// A live file, and whether somebody stands behind it.
pub(crate) struct SeenLive {
    pub(crate) live: Live,
    pub(crate) presence: Presence,
    /// For how long it has not been written, as far as can be told.
    pub(crate) silent_for: Duration,
    /// Moments of the run that were seen while looking: (milliseconds, problems done).
    pub(crate) recent: Vec<(f64, u64)>,
}

/// What is used of `report.json`: a small part, which is looked at twice a second. Reports of
/// earlier versions lack some of it.
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
}

#[derive(Clone, Debug, Default, Deserialize)]
struct VerificationPart {
    #[serde(default)]
    mismatches: Vec<serde::de::IgnoredAny>,
}

/// How a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Doing {
    /// Outcomes come.
    Running,
    /// It is there, but no outcome has come for long.
    Stalled,
    /// Its process is gone, and did not say goodbye.
    Dead,
    /// All outcomes are there, and the tables are put together.
    Merging,
    /// All is done.
    Finished,
    /// It was stopped, and can be resumed.
    Interrupted,
    /// Nobody is at it; whether somebody was is not known.
    NotRunning,
    /// What is in the folder cannot be read.
    Unreadable,
}

impl ReportFacts {
    fn n_problems(&self) -> u64 {
        self.n_before + self.report.counts.n_problems
    }

    /// What became of all problems, as far as it is known: earlier versions do not tell how those
    /// ended that were done before.
    fn whole_counts(&self) -> Counts {
        Counts {
            n_problems: self.n_problems(),
            ..sum_counts([self.before, self.report.counts])
        }
    }
}

impl Doing {
    pub(crate) const ALL: [Doing; 8] = [
        Doing::Running,
        Doing::Stalled,
        Doing::Dead,
        Doing::Merging,
        Doing::Finished,
        Doing::Interrupted,
        Doing::NotRunning,
        Doing::Unreadable,
    ];

    /// As it stands in JSON and in labels.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Doing::Running => "running",
            Doing::Stalled => "stalled",
            Doing::Dead => "dead",
            Doing::Merging => "merging",
            Doing::Finished => "finished",
            Doing::Interrupted => "interrupted",
            Doing::NotRunning => "not_running",
            Doing::Unreadable => "unreadable",
        }
    }
}

/// What watchers are told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct View {
    /// The version of this format.
    pub(crate) format: u32,
    pub(crate) state: Doing,
    /// What that means and what to do, in sentences.
    pub(crate) words: String,
    /// Since when, in milliseconds since 1970, where that is known.
    pub(crate) since_unix_ms: Option<u64>,
    /// The command that goes on with the run, where it stopped.
    pub(crate) resume_command: Option<String>,
    /// The folder, as it was given.
    pub(crate) folder: String,
    pub(crate) workload: String,
    pub(crate) version: String,
    pub(crate) command: String,
    pub(crate) shard: Option<(usize, usize)>,
    /// Problems there are, those that were done before the run resumed included.
    pub(crate) n_problems: u64,
    /// Those of them that have an outcome. Of a run whose process is gone, only those that are
    /// committed: the others are lost.
    pub(crate) n_done: u64,
    /// Those that had one before the run resumed.
    pub(crate) n_before: u64,
    /// Those whose outcomes are committed, which nothing can undo; `None` if that is not known.
    pub(crate) n_committed: Option<u64>,
    /// What became of the problems, those that were done before the run resumed included.
    pub(crate) counts: Counts,
    pub(crate) elapsed_ms: f64,
    /// Outcomes a second lately; over the whole run once it has ended.
    pub(crate) rate_per_s: Option<f64>,
    /// How long it takes to the end at the recent rate.
    pub(crate) left_ms: Option<f64>,
    pub(crate) memory: MemoryNow,
    pub(crate) queue: QueueNow,
    pub(crate) workers: Vec<WorkerNow>,
    pub(crate) samples: SampleColumns,
    pub(crate) n_launches: u64,
    /// The last launches.
    pub(crate) launches: LaunchColumns,
    pub(crate) n_setbacks: u64,
    /// The last setbacks.
    pub(crate) setbacks: Vec<Setback>,
    pub(crate) n_mismatches: u64,
    /// Whether `/report` has a page.
    pub(crate) has_report: bool,
    /// Which writing of the live file this is from.
    pub(crate) beat: Option<u64>,
}

/// Memory against the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct MemoryNow {
    pub(crate) used_bytes: u64,
    pub(crate) budget_bytes: u64,
    /// The most that was seen.
    pub(crate) peak_bytes: u64,
}

/// Where the problems are that have no outcome yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct QueueNow {
    pub(crate) n_waiting: u64,
    pub(crate) n_in_flight: u64,
}

/// A process on another machine cannot be looked for; its file is written twice a second.
const SILENCE_MEANS_DEATH: Duration = Duration::from_secs(15);
/// A process that is not found may be in a container of its own; then its file goes on growing.
const SILENCE_CONFIRMS_DEATH: Duration = Duration::from_secs(2);
/// No outcome for less than this is nothing to speak of.
const STALL_MS_MIN: f64 = 30e3;
/// Nor for less than so many times the usual gap between outcomes.
const STALL_GAPS: f64 = 10.0;

/// What to tell watchers.
pub(crate) fn view(seen: &Seen) -> View {
    let Some(run) = &seen.run else {
        return unreadable(seen);
    };
    match &seen.live {
        // Somebody may be at work; what is there to tell of it cannot be read.
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

/// A run that has a live file.
fn going_on(seen: &Seen, run: &RunFacts, seen_live: &SeenLive) -> View {
    let live = &seen_live.live;
    let (state, mut words, since_unix_ms) = doing_now(seen_live);
    let n_problems = live.before.n_problems + live.counts.n_problems;
    let mut counts = sum_counts([live.before, live.counts]);
    if state == Doing::Dead {
        let n_solved = counts.n_done();
        counts = Counts {
            n_problems,
            ..seen.committed.unwrap_or(live.before)
        };
        words += &lost_words(n_solved.saturating_sub(counts.n_done()));
    }
    let n_done = counts.n_done();
    let is_moving = state == Doing::Running;
    let rate_per_s = is_moving
        .then(|| rate::recent_per_s(live, &seen_live.recent))
        .flatten();
    let last = live.samples.last().copied().unwrap_or_default();
    let peak_bytes = live.samples.iter().map(|sample| sample.used_bytes).max();
    View {
        state,
        words,
        since_unix_ms,
        resume_command: (state == Doing::Dead).then(|| resume_command(&live.command)),
        command: live.command.clone(),
        n_problems,
        n_done,
        n_before: live.before.n_problems,
        counts,
        elapsed_ms: rounded(live.elapsed_ms),
        rate_per_s: rate_per_s.map(rounded),
        left_ms: rate_per_s
            .filter(|rate| *rate > 0.0)
            .map(|rate| rounded((n_problems - n_done.min(n_problems)) as f64 / rate * 1e3)),
        memory: MemoryNow {
            used_bytes: last.used_bytes,
            budget_bytes: live.budget_bytes,
            peak_bytes: peak_bytes.unwrap_or(0),
        },
        queue: QueueNow {
            n_waiting: last.n_waiting,
            n_in_flight: last.n_in_flight,
        },
        workers: live.workers.clone(),
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

fn doing_now(seen: &SeenLive) -> (Doing, String, Option<u64>) {
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
        return (Doing::Dead, words, Some(live.written_unix_ms));
    }
    if live.stage == Stage::Merging {
        let words = "All outcomes are there; the tables are put together.".to_owned();
        return (Doing::Merging, words, None);
    }
    if seen.silent_for >= SILENCE_MEANS_DEATH {
        let words = format!(
            "The process is there, but has not told its figures for {}: it may be stopped, or \
             the disk full or slow.",
            spoken(seen.silent_for)
        );
        return (Doing::Stalled, words, Some(live.written_unix_ms));
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
        let words = [words, busy_words(&live.workers)].join(" ");
        let since = live.started_unix_ms + live.last_outcome_ms as u64;
        return (Doing::Stalled, words.trim_end().to_owned(), Some(since));
    }
    let words = match seen.presence {
        Presence::Unknown => {
            let host = live.process.host.as_deref().unwrap_or("another machine");
            format!("At work on {host}.")
        }
        _ => format!("At work on this machine, as process {}.", live.process.pid),
    };
    (Doing::Running, words, Some(live.started_unix_ms))
}

/// What a process took with it when it died.
fn lost_words(n_lost: u64) -> String {
    match n_lost {
        0 => String::new(),
        1 => " One problem was solved, but not committed: it is solved again.".to_owned(),
        n => format!(" {n} problems were solved, but not committed: they are solved again."),
    }
}

/// Which workers are in which problem, the longest first.
fn busy_words(workers: &[WorkerNow]) -> String {
    /// Enough to see what is wrong; the page has all of them.
    const N_NAMED_MAX: usize = 3;
    let mut busy: Vec<(f64, usize, usize)> = workers
        .iter()
        .filter_map(|worker| {
            let (problem, for_ms) = worker.problem?;
            Some((for_ms, worker.worker, problem))
        })
        .collect();
    busy.sort_by(|one, other| other.0.total_cmp(&one.0));
    let sentences = busy
        .iter()
        .take(N_NAMED_MAX)
        .map(|(for_ms, worker, problem)| {
            let time = spoken(Duration::from_secs_f64(for_ms.max(0.0) / 1e3));
            format!("Worker {worker} has been in problem {problem} for {time}.")
        });
    sentences.collect::<Vec<_>>().join(" ")
}

/// A run that has no live file, or one that was left behind by a process that died after its work
/// was done.
fn ended(seen: &Seen, run: &RunFacts) -> View {
    let report = seen.report.as_ref();
    let command = report
        .map(|report| report.command.clone())
        .unwrap_or_default();
    let (state, words) = match run.state {
        RunState::Complete => {
            let words = match report {
                Some(report) if report.whole_counts().n_solved == report.n_problems() => {
                    "Every problem is solved, and the tables are written."
                }
                Some(_) => "Every problem has its outcome, and the tables are written.",
                None => "The tables are written; there is no report of how it went.",
            };
            (Doing::Finished, words)
        }
        RunState::Interrupted => (
            Doing::Interrupted,
            "It was stopped before its end. What was finished is kept: go on with --resume.",
        ),
        RunState::Running => (
            Doing::NotRunning,
            "Nobody is at work here: it may be about to begin, or was ended without notice. \
             What was committed is safe: the same command with --resume goes on.",
        ),
    };
    let can_resume = state != Doing::Finished && !command.is_empty();
    let mut view = View {
        state,
        words: words.to_owned(),
        resume_command: can_resume.then(|| resume_command(&command)),
        command,
        has_report: seen.has_page && report.is_some(),
        ..bare(seen, run)
    };
    if let Some(committed) = seen.committed.filter(|_| state == Doing::NotRunning) {
        view.n_done = committed.n_done();
        view.counts = Counts {
            n_problems: view.n_problems,
            ..committed
        };
    }
    // A report beside a run that is neither complete nor interrupted is of an earlier attempt.
    let Some(report) = report.filter(|_| state != Doing::NotRunning) else {
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
    };
    view.queue.n_waiting = if state == Doing::Interrupted {
        last.n_waiting
    } else {
        0
    };
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
        state: RunState::Running,
        workload: String::new(),
        version: String::new(),
        n_problems: 0,
        shard: None,
    };
    let why = seen.trouble.as_deref().unwrap_or("its run.json is gone");
    View {
        state: Doing::Unreadable,
        words: format!("The run folder cannot be read: {why}."),
        ..bare(seen, &run)
    }
}

/// What is known of every run.
fn bare(seen: &Seen, run: &RunFacts) -> View {
    View {
        format: 1,
        state: Doing::NotRunning,
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

/// The command that goes on with a run.
fn resume_command(command: &str) -> String {
    match command.split_whitespace().any(|word| word == "--resume") {
        true => command.to_owned(),
        false => format!("{command} --resume"),
    }
}

/// To four digits after the point; more are noise that would have to be sent.
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
