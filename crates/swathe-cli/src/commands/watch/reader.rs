//! The reader: one thread that polls the run's files, however many browsers show the page.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use axum::body::Bytes;
use axum::http::HeaderValue;
use swathe::Counts;
use swathe_run::store::live_file::{Live, Presence};
use swathe_run::store::run_folder::{RunJson, committed_counts};
use tokio::sync::watch;

use super::metrics;
use super::run_file::{RunFile, Stamp};
use super::view::{ReportFacts, RunActivity, RunFacts, Seen, SeenLive, View, view};

/// A view in every format that is served, rendered once for all requests.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// For `/data.json`.
    pub(crate) json: Bytes,
    /// Identifies this document among all others, including those of an earlier server on the same
    /// port.
    pub(crate) etag: HeaderValue,
    /// For `/metrics`.
    pub(crate) metrics: Bytes,
}

/// How often the files are polled. A run writes them about as often.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Starts to poll a run. The receiver gets a new snapshot whenever something changes; `told` is
/// called with the first view and with every view whose state is new.
pub(crate) fn start(
    run: &Path,
    told: impl Fn(&View) + Send + 'static,
) -> io::Result<watch::Receiver<Snapshot>> {
    let mut reader = Reader::new(run);
    let first = view(&reader.look());
    let (sender, receiver) = watch::channel(Snapshot::of(&first));
    told(&first);
    // A thread of its own, so that the page can still be served while a network drive does not
    // respond. The thread ends with the process.
    std::thread::Builder::new().name("swathe-watch".to_owned()).spawn(move || {
        let mut last = first;
        loop {
            std::thread::sleep(LOOK_EVERY);
            let next = view(&reader.look());
            if next == last {
                continue;
            }
            if next.state != last.state {
                told(&next);
            }
            if sender.send(Snapshot::of(&next)).is_err() {
                return;
            }
            last = next;
        }
    })?;
    Ok(receiver)
}

impl Snapshot {
    fn of(view: &View) -> Snapshot {
        let json = serde_json::to_string(view).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        json.hash(&mut hasher);
        let etag = format!("\"{:016x}\"", hasher.finish());
        Snapshot {
            etag: HeaderValue::from_str(&etag).expect("hexadecimal digits in quotes"),
            metrics: metrics::text(view).into(),
            json: json.into(),
        }
    }
}

/// Caches what was read last, so that unchanged files are not read again.
struct Reader {
    run: PathBuf,
    run_json: Cached<RunFacts>,
    manifest: Cached<Counts>,
    report: Cached<ReportFacts>,
    pulse: Option<Pulse>,
}

/// When the live file last changed, as the reader saw it.
struct Pulse {
    /// Identifies the run that wrote the file: a resumed run starts a new pulse.
    started_unix_ms: u64,
    beat: u64,
    seen: Instant,
    /// Moments since polling began: (milliseconds, problems done).
    recent: VecDeque<(f64, u64)>,
}

/// The number of moments that are remembered: two minutes.
const N_RECENT_MAX: usize = 240;

impl Reader {
    fn new(run: &Path) -> Reader {
        Reader {
            run: run.to_owned(),
            run_json: Cached::new(RunFile::Run),
            manifest: Cached::new(RunFile::Manifest),
            report: Cached::new(RunFile::Report),
            pulse: None,
        }
    }

    fn look(&mut self) -> Seen {
        let mut trouble = None;
        // The live file is read first. A run deletes it after everything else is written, so a run
        // that ends during this function is not mistaken for a dead one.
        let live = match Live::read(&self.run) {
            Ok(live) => live,
            Err(error) => {
                trouble = Some(format!("{}: {error}", RunFile::Live.name()));
                None
            }
        };
        let run = self.run_json.look(&self.run, &mut trouble, |bytes| {
            let run: RunJson = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
            Ok(RunFacts::of(run))
        });
        let report = self.report.look(&self.run, &mut trouble, |bytes| {
            serde_json::from_slice(bytes).map_err(|error| error.to_string())
        });
        // If the manifest cannot be read, only the committed counts are missing.
        let committed = self.manifest.look(&self.run, &mut None, |bytes| {
            committed_counts(bytes, run.as_ref().and_then(|run| run.run_id.as_deref()))
        });
        let page = RunFile::Page.stamp(&self.run);
        Seen {
            folder: self.run.display().to_string(),
            run,
            committed,
            live: live.map(|live| self.update_heartbeat(live)),
            report,
            has_page: page.is_ok_and(|page| page.is_some()),
            trouble,
        }
    }

    fn update_heartbeat(&mut self, live: Live) -> SeenLive {
        let now = Instant::now();
        let pulse = self
            .pulse
            .take()
            .filter(|pulse| pulse.started_unix_ms == live.started_unix_ms)
            .unwrap_or_else(|| Pulse {
                started_unix_ms: live.started_unix_ms,
                beat: live.beat,
                seen: now,
                recent: VecDeque::new(),
            });
        let pulse = self.pulse.insert(pulse);
        if pulse.beat != live.beat {
            (pulse.beat, pulse.seen) = (live.beat, now);
        }
        let moment = (live.elapsed_ms, live.counts.n_done());
        if pulse.recent.back() != Some(&moment) {
            if pulse.recent.len() == N_RECENT_MAX {
                pulse.recent.pop_front();
            }
            pulse.recent.push_back(moment);
        }
        let presence = live.process.presence();
        // The clock of another machine may be wrong; the clock of this machine can be compared.
        let by_clock = match presence {
            Presence::Unknown => Duration::ZERO,
            Presence::Alive | Presence::Gone => since_unix_ms(live.written_unix_ms),
        };
        SeenLive {
            presence,
            silent_for: by_clock.max(now - pulse.seen),
            recent: pulse.recent.iter().copied().collect(),
            live,
        }
    }
}

impl RunFacts {
    fn of(run: RunJson) -> RunFacts {
        RunFacts {
            run_id: run.run_id,
            state: run.state,
            workload: run.identity.workload,
            version: run.identity.version,
            n_problems: run.identity.n_problems,
            shard: run.identity.shard,
        }
    }
}

fn since_unix_ms(then_ms: u64) -> Duration {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(then_ms);
    then.elapsed().unwrap_or_default()
}

/// The content of a file when it was last read.
struct Cached<T> {
    file: RunFile,
    held: Option<(Stamp, Result<T, String>)>,
}

impl<T: Clone> Cached<T> {
    fn new(file: RunFile) -> Cached<T> {
        Cached { file, held: None }
    }

    /// The content of the file; `None` if the file does not exist or cannot be read. In the second
    /// case `trouble` says why.
    fn look(
        &mut self,
        run: &Path,
        trouble: &mut Option<String>,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Option<T> {
        let found = match self.file.stamp(run) {
            Ok(None) => {
                self.held = None;
                return None;
            }
            Ok(Some(stamp)) => {
                if self.held.as_ref().is_none_or(|(held, _)| *held != stamp) {
                    self.held = match self.file.read(run) {
                        Ok((stamp, bytes)) => Some((stamp, parse(&bytes))),
                        Err(error) => Some((stamp, Err(error.to_string()))),
                    };
                }
                self.held.as_ref().map(|(_, found)| found.clone())?
            }
            Err(error) => Err(error.to_string()),
        };
        found.map_err(|error| *trouble = Some(format!("{}: {error}", self.file.name()))).ok()
    }
}

/// The line on stderr when a run's state changes.
pub(crate) fn state_line(view: &View) -> String {
    let name = view.state.name().replace('_', " ");
    let figures = match view.state {
        RunActivity::Unreadable | RunActivity::NotRunning => String::new(),
        _ => {
            let committed = match view.n_committed {
                Some(n) if n < view.n_done => format!(", {n} of them committed"),
                _ => String::new(),
            };
            format!(" ({} of {} done{committed})", view.n_done, view.n_problems)
        }
    };
    format!("{name}{figures}: {}", view.words)
}
