//! Progress: how far a run is, for people and programs. All of it on stderr.

use std::fmt;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle as BarStyle};
use swathe::{Counts, Event, Observer, Remedy, Setback, SetbackCause};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressStyle {
    Auto,
    Bar,
    Plain,
    Json,
    None,
}

impl ProgressStyle {
    pub(crate) fn parse(text: &str) -> Option<ProgressStyle> {
        Some(match text {
            "auto" => ProgressStyle::Auto,
            "bar" => ProgressStyle::Bar,
            "plain" => ProgressStyle::Plain,
            "json" => ProgressStyle::Json,
            "none" => ProgressStyle::None,
            _ => return None,
        })
    }
}

/// Shows a run's progress until it is dropped.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

/// How often a log gets a line.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// How often a program gets one.
const JSON_EVERY: Duration = Duration::from_secs(1);

impl Progress {
    /// Begins to show a run called `name`, and the observer that feeds it.
    pub(crate) fn start(
        style: ProgressStyle,
        name: &str,
        n_problems: u64,
    ) -> (Progress, Option<Observer>) {
        let style = match style {
            ProgressStyle::Auto if std::io::stderr().is_terminal() => ProgressStyle::Bar,
            ProgressStyle::Auto => ProgressStyle::Plain,
            style => style,
        };
        match style {
            ProgressStyle::Bar | ProgressStyle::Auto => {
                let bar = bar(name, n_problems);
                let shown = bar.clone();
                let observer = Observer::new(move |event| match event {
                    Event::Progress { counts, .. } => {
                        shown.set_position(counts.n_done());
                        shown.set_message(failures(counts));
                    }
                    Event::Setback(setback) => {
                        shown.suspend(|| eprintln!("{}", setback_text(setback)));
                    }
                    Event::Launched(_) | Event::Mismatch(_) | Event::Sampled { .. } => {}
                });
                (Progress { bar: Some(bar) }, Some(observer))
            }
            ProgressStyle::Plain => {
                let name = name.to_owned();
                let due = Every::new(PLAIN_EVERY);
                let observer = Observer::new(move |event| match event {
                    Event::Progress { counts, elapsed } if due.is_due() => {
                        eprintln!("{name}: {}", plain_text(counts, *elapsed));
                    }
                    Event::Setback(setback) => eprintln!("{}", setback_text(setback)),
                    _ => {}
                });
                (Progress { bar: None }, Some(observer))
            }
            ProgressStyle::Json => {
                let due = Every::new(JSON_EVERY);
                let observer = Observer::new(move |event| {
                    let line = match event {
                        Event::Progress { counts, elapsed }
                            if due.is_due() || counts.n_done() == counts.n_problems =>
                        {
                            serde_json::json!({"event": "progress", "counts": counts, "elapsed_s": elapsed.as_secs_f64()})
                        }
                        Event::Setback(setback) => {
                            serde_json::json!({"event": "setback", "setback": setback})
                        }
                        Event::Mismatch(mismatch) => {
                            serde_json::json!({"event": "mismatch", "mismatch": mismatch})
                        }
                        Event::Progress { .. } | Event::Launched(_) | Event::Sampled { .. } => {
                            return;
                        }
                    };
                    eprintln!("{line}");
                });
                (Progress { bar: None }, Some(observer))
            }
            ProgressStyle::None => (Progress { bar: None }, None),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(name: &str, n_problems: u64) -> ProgressBar {
    let bar =
        ProgressBar::with_draw_target(Some(n_problems), ProgressDrawTarget::stderr_with_hz(10));
    let template =
        "{prefix} {bar:32} {percent:>3}% {human_pos}/{human_len}  {rate}  {eta} left{msg}";
    if let Ok(style) = BarStyle::with_template(template) {
        let style = style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
            // A number that cannot be written is not worth a panic.
            let _ = write!(out, "{:.1} a second", state.per_sec());
        });
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.set_prefix(name.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn failures(counts: &Counts) -> String {
    match counts.n_unsolved() {
        0 => String::new(),
        n => format!("  {n} failed"),
    }
}

fn plain_text(counts: &Counts, elapsed: Duration) -> String {
    let rate = counts.n_done() as f64 / elapsed.as_secs_f64().max(1e-9);
    let left_s = (counts.n_problems - counts.n_done()) as f64 / rate.max(1e-9);
    format!(
        "{} of {} done, {rate:.1} a second, {left_s:.0} s left{}",
        counts.n_done(),
        counts.n_problems,
        failures(counts)
    )
}

/// A fallback is spoken, never silent.
fn setback_text(setback: &Setback) -> String {
    let problems = counted(setback.n_problems as u64, "problem", "problems");
    let then = match setback.remedy {
        Remedy::Split => "tried again in smaller batches",
        Remedy::Retried => "tried again",
        Remedy::Replaced => "another takes over",
        Remedy::ToCpu => "the CPU takes over",
        Remedy::Reopened => "it is opened again",
        Remedy::Retired => "it is not used any more",
    };
    let device = setback.device;
    match &setback.cause {
        SetbackCause::OutOfMemory { wanted_bytes } => {
            format!("warning: {wanted_bytes} bytes refused on {device} for {problems}, {then}")
        }
        SetbackCause::WorkerLost => {
            format!("warning: a worker was lost with {problems} in hand, {then}")
        }
        SetbackCause::WorkerStuck { problem } => {
            format!(
                "warning: problem {problem} does not stop; its thread is left behind and {then}"
            )
        }
        SetbackCause::DeviceLost => {
            format!("warning: {device} was lost with {problems} in hand, {then}")
        }
        SetbackCause::DeviceTimedOut => {
            format!("warning: {device} did not answer in time with {problems} in hand, {then}")
        }
        SetbackCause::LaunchFailed { message } => {
            format!("warning: a launch of {problems} on {device} failed, {then}: {message}")
        }
        SetbackCause::HandedOver { reason } => {
            format!("warning: {device} cannot finish {problems}, {then}: {reason}")
        }
    }
}

/// `1 problem`, `2 problems`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Says yes at most so often.
struct Every {
    last: Arc<Mutex<Instant>>,
    interval: Duration,
}

impl Every {
    fn new(interval: Duration) -> Every {
        Every {
            last: Arc::new(Mutex::new(Instant::now())),
            interval,
        }
    }

    fn is_due(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.elapsed() >= self.interval;
        if due {
            *last = Instant::now();
        }
        due
    }
}
