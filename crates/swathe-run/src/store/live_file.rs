//! The live file: the current state of a run, for programs that watch it.
//!
//! A background thread writes `live.json` into the run folder about twice a second and removes it
//! at the end of the run. Watchers read only this small file, so any number of them cost the run
//! nothing. A file whose process is gone belongs to a run that died.

mod process;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use swathe::{Counts, Event, Launch, Observer, Sample, Samples, Setback, WorkerNow};

pub(crate) use process::is_process_alive;
pub use process::{Presence, ProcessMark};
use swathe_formats::atomic_file::AtomicFile;

use crate::store::row_numbers::RowNumbers;
use crate::store::run_folder::{read, sum_counts};

/// The file's name in a run folder.
pub const FILE_NAME: &str = "live.json";

/// The contents of `live.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Live {
    /// The version of this format.
    pub format: u32,
    /// The process that writes it.
    pub process: ProcessMark,
    /// A counter that grows with every write.
    pub beat: u64,
    /// When the file was written, in milliseconds since 1970.
    pub written_unix_ms: u64,
    /// When the run began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The current stage of the run.
    pub stage: Stage,
    /// The workload's name.
    pub workload: String,
    /// The command that was given.
    pub command: String,
    /// The counts of problems that were committed before this run resumed.
    pub before: Counts,
    /// The counts of the other problems so far.
    pub counts: Counts,
    /// From the start of the run to this write.
    pub elapsed_ms: f64,
    /// When the last outcome arrived, from the start of the run.
    pub last_outcome_ms: f64,
    /// The memory budget.
    pub budget_bytes: u64,
    /// Samples over time, at most [`swathe::Report::N_SAMPLES_KEPT`], and the latest one.
    pub samples: Vec<Sample>,
    /// The current state of every worker.
    pub workers: Vec<WorkerNow>,
    /// The id of each worker's problem; empty for a worker without one.
    #[serde(default)]
    pub problem_ids: Vec<String>,
    /// How many setbacks there were.
    pub n_setbacks: u64,
    /// The last of them.
    pub setbacks: Vec<Setback>,
    /// How many launches there were.
    pub n_launches: u64,
    /// The last of them.
    pub launches: Vec<Launch>,
    /// Problems that gave another answer when they were solved again.
    pub n_mismatches: u64,
}

/// The stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Its problems are being solved.
    Solving,
    /// All outcomes are committed, and the tables are being merged.
    Merging,
}

impl Live {
    /// The version this program writes and reads.
    pub const FORMAT: u32 = 2;
    /// Setbacks kept.
    pub const N_SETBACKS_KEPT: usize = 50;
    /// Launches kept.
    pub const N_LAUNCHES_KEPT: usize = 500;

    /// The live file of a run folder; `None` if there is none.
    ///
    /// # Errors
    /// If the file exists but cannot be read or decoded.
    pub fn read(run: &Path) -> io::Result<Option<Live>> {
        let bytes = match read(&run.join(FILE_NAME)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let live: Live = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        Ok(Some(live))
    }
}

/// Writes `live.json` until it is dropped.
pub struct LiveFile {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    path: PathBuf,
    before: Counts,
    started: Instant,
    state: Mutex<State>,
    over: Condvar,
}

struct State {
    live: Live,
    samples: Samples,
    /// The latest sample: the kept samples of a long run are far apart.
    latest: Option<Sample>,
    is_over: bool,
}

/// How often the file is written. A shorter run never writes it.
const WRITE_EVERY: Duration = Duration::from_millis(500);

impl LiveFile {
    /// Starts to write into a run folder. Write errors are ignored: a run must not fail because it
    /// cannot be watched.
    pub fn start(
        run: &Path,
        workload: &str,
        command: &str,
        before: Counts,
        counts: Counts,
        budget_bytes: u64,
    ) -> LiveFile {
        let live = Live {
            format: Live::FORMAT,
            process: ProcessMark::of_this(),
            beat: 0,
            written_unix_ms: 0,
            started_unix_ms: unix_ms(),
            stage: Stage::Solving,
            workload: workload.to_owned(),
            command: command.to_owned(),
            before,
            counts,
            elapsed_ms: 0.0,
            last_outcome_ms: 0.0,
            budget_bytes,
            samples: Vec::new(),
            workers: Vec::new(),
            problem_ids: Vec::new(),
            n_setbacks: 0,
            setbacks: Vec::new(),
            n_launches: 0,
            launches: Vec::new(),
            n_mismatches: 0,
        };
        // A file left by a process that died would be mistaken for this run's.
        let _ = fs::remove_file(run.join(FILE_NAME));
        let shared = Arc::new(Shared {
            path: run.join(FILE_NAME),
            before,
            started: Instant::now(),
            state: Mutex::new(State {
                live,
                samples: Samples::default(),
                latest: None,
                is_over: false,
            }),
            over: Condvar::new(),
        });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("swathe-live".to_owned())
            .spawn(move || its.write_until_over())
            .ok();
        LiveFile { shared, thread }
    }

    /// The counts of the whole run, given the counts of the problems that were left after a resume.
    pub fn whole(&self, counts: Counts) -> Counts {
        sum_counts([self.shared.before, counts])
    }

    /// An observer that updates the file and passes every event on to `next` with the counts of the
    /// whole run. `numbers` maps the engine's problem indices to numbers of the input: a resumed
    /// run solves only some problems.
    pub fn observer(&self, numbers: Arc<RowNumbers>, next: Option<Observer>) -> Observer {
        let shared = Arc::clone(&self.shared);
        Observer::new(move |event| {
            shared.see(event, &numbers);
            if let Some(next) = &next {
                match shared.before.n_problems {
                    0 => next.tell(event),
                    _ => next.tell(&of_whole_run(event, &shared.before)),
                }
            }
        })
    }

    /// Fills in the ids of the workers' problems; `name` returns the id of a problem number.
    pub fn name_problems(&self, name: impl Fn(u64) -> String) {
        let live = &mut self.shared.lock().live;
        if live.problem_ids.len() != live.workers.len() {
            let names = live.workers.iter().map(|now| match now.problem {
                Some((problem, _)) => name(problem as u64),
                None => String::new(),
            });
            live.problem_ids = names.collect();
        }
    }

    /// Notes that all problems have an outcome and the merge begins.
    pub fn merging(&self) {
        let mut state = self.shared.lock();
        state.live.stage = Stage::Merging;
        state.live.workers.clear();
        state.live.problem_ids.clear();
    }
}

impl Drop for LiveFile {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.over.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, event: &Event, numbers: &RowNumbers) {
        let mut state = self.lock();
        let live = &mut state.live;
        match event {
            Event::Progress { counts, elapsed } => {
                live.counts = *counts;
                live.last_outcome_ms = elapsed.as_secs_f64() * 1e3;
            }
            Event::Launched(launch) => {
                live.n_launches += 1;
                push_last(&mut live.launches, launch, Live::N_LAUNCHES_KEPT);
            }
            Event::Setback(setback) => {
                live.n_setbacks += 1;
                push_last(&mut live.setbacks, setback, Live::N_SETBACKS_KEPT);
            }
            Event::Mismatch(_) => live.n_mismatches += 1,
            Event::Sampled { sample, workers } => {
                live.workers.clone_from(workers);
                live.problem_ids.clear();
                for (problem, _) in live.workers.iter_mut().flat_map(|now| &mut now.problem) {
                    *problem = numbers.number(*problem).map_or(*problem, |row| row as usize);
                }
                if state.samples.is_due(sample.at_ms) {
                    state.samples.push(*sample);
                }
                state.latest = Some(*sample);
            }
        }
    }

    fn write_until_over(&self) {
        let mut state = self.lock();
        let mut is_there = false;
        loop {
            let waited = self.over.wait_timeout_while(state, WRITE_EVERY, |state| !state.is_over);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.is_over {
                break;
            }
            state.live.beat += 1;
            state.live.written_unix_ms = unix_ms();
            state.live.elapsed_ms = self.started.elapsed().as_secs_f64() * 1e3;
            let mut samples = state.samples.kept().to_vec();
            samples.extend(state.latest.filter(|latest| samples.last() != Some(latest)));
            let live = Live { samples, ..state.live.clone() };
            // The lock is released before the write, so a slow disk does not block the run.
            drop(state);
            is_there |= self.write(&live).is_ok();
            state = self.lock();
        }
        drop(state);
        if is_there {
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Not synced: after a crash of the machine there is no watcher left to read the file.
    fn write(&self, live: &Live) -> io::Result<()> {
        let mut file = AtomicFile::create(&self.path)?;
        file.write_all(&serde_json::to_vec(live)?)?;
        file.commit_unsynced()
    }
}

/// The event with the counts of the whole run, including what was done before a resume.
fn of_whole_run(event: &Event, before: &Counts) -> Event {
    match event {
        Event::Progress { counts, elapsed } => {
            Event::Progress { counts: sum_counts([*before, *counts]), elapsed: *elapsed }
        }
        Event::Sampled { sample, workers } => Event::Sampled {
            sample: Sample {
                n_done: before.n_done() + sample.n_done,
                n_unsolved: before.n_unsolved() + sample.n_unsolved,
                ..*sample
            },
            workers: workers.clone(),
        },
        event => event.clone(),
    }
}

/// Appends an item and keeps only the last `n_kept_max`.
fn push_last<T: Clone>(kept: &mut Vec<T>, item: &T, n_kept_max: usize) {
    if kept.len() == n_kept_max {
        kept.remove(0);
    }
    kept.push(item.clone());
}

fn unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use super::{FILE_NAME, Live, LiveFile, RowNumbers, Stage};
    use crate::store::run_folder::Spans;
    use swathe::{Counts, DeviceId, Event, Observer, Phase, Sample, WorkerNow};

    fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
        for _ in 0..600 {
            if holds() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{what} did not come to be");
    }

    #[test]
    fn a_live_file_tells_of_the_run_and_is_gone_after_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let counts = Counts { n_problems: 10, ..Counts::default() };
        let before = Counts { n_problems: 3, n_solved: 2, n_timed_out: 1, ..Counts::default() };
        let file = LiveFile::start(folder.path(), "sum", "swathe sum", before, counts, 1 << 20);
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let next = Observer::new(move |event| {
            heard.lock().expect("no panic").push(match event {
                Event::Progress { counts, .. } => (counts.n_done(), counts.n_unsolved()),
                Event::Sampled { sample, .. } => (sample.n_done, sample.n_unsolved),
                _ => (0, 0),
            });
        });
        let spans = Spans::of(vec![7, 8, 9]);
        let left = RowNumbers::new(&spans);
        let observer = file.observer(Arc::new(left), Some(next));
        observer.tell(&Event::Progress {
            counts: Counts { n_solved: 4, ..counts },
            elapsed: Duration::from_millis(70),
        });
        let sample = Sample { at_ms: 70.0, n_done: 4, ..Sample::default() };
        let worker = |problem| WorkerNow {
            worker: 0,
            device: DeviceId::Cpu,
            phase: Phase::Solve,
            problem: Some((problem, 12.0)),
        };
        observer.tell(&Event::Sampled { sample, workers: vec![worker(1)] });
        let read = || Live::read(folder.path()).ok().flatten();
        eventually("a live file", || read().is_some());
        let live = read().expect("it is there");
        assert_eq!((live.counts.n_solved, live.before), (4, before));
        let told = told.lock().expect("no panic").clone();
        assert_eq!(told, [(7, 1), (7, 1)], "the whole run is passed on");
        assert_eq!(live.samples, [sample]);
        assert_eq!(live.workers, [worker(8)], "under the input's number");
        assert_eq!(live.stage, Stage::Solving);
        assert!(live.process.is_alive(), "this process writes it");
        file.merging();
        eventually("the next stage", || read().is_some_and(|live| live.stage == Stage::Merging));
        drop(file);
        assert!(!folder.path().join(FILE_NAME).exists());
    }
}
