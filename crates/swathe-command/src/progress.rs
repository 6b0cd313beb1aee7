//! Progress of a run on stderr: a bar, lines or JSON.

mod setback_warnings;

use std::fmt;
use std::io::IsTerminal;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle as BarStyle};
use swathe::{Counts, Event, Observer, Sample};
use swathe_run::explain::quantity;

use crate::setting_value::WrongValue;
use crate::summary::counted;
use crate::{status, stderr, warning};
use setback_warnings::SetbackWarnings;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStyle {
    /// A bar on a terminal, lines elsewhere.
    Auto,
    /// A bar.
    Bar,
    /// Lines at growing intervals.
    Plain,
    /// A line of JSON for every event, for programs.
    Json,
    /// Nothing.
    None,
}

impl FromStr for ProgressStyle {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<ProgressStyle, WrongValue> {
        Ok(match text {
            "auto" => ProgressStyle::Auto,
            "bar" => ProgressStyle::Bar,
            "plain" => ProgressStyle::Plain,
            "json" => ProgressStyle::Json,
            "none" => ProgressStyle::None,
            _ => {
                let hint = "write auto, bar, plain, json or none";
                return Err(WrongValue::not("a way to show progress", hint));
            }
        })
    }
}

/// Shows a run's progress until it is dropped.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Setbacks that are not printed yet are printed at the end.
    spoken: Option<Arc<Mutex<SetbackWarnings>>>,
}

/// How often a JSON progress line is printed.
const JSON_EVERY: Duration = Duration::from_secs(1);

impl Progress {
    /// Starts to show a run called `name` and returns the observer that updates the display.
    /// Outcomes of an event at time zero were there before the run resumed: they count as done, but
    /// not for the rate.
    pub fn start(
        style: ProgressStyle,
        name: &str,
        n_problems: u64,
    ) -> (Progress, Option<Observer>) {
        let style = match style {
            ProgressStyle::Auto if std::io::stderr().is_terminal() => ProgressStyle::Bar,
            ProgressStyle::Auto => ProgressStyle::Plain,
            style => style,
        };
        let style = match style {
            // In quiet mode, plain style prints only warnings.
            ProgressStyle::Bar if stderr::is_quiet() => ProgressStyle::Plain,
            style => style,
        };
        match style {
            ProgressStyle::Bar | ProgressStyle::Auto => Progress::with_bar(name, n_problems),
            ProgressStyle::Plain => Progress::with_lines(name),
            ProgressStyle::Json => Progress::with_json(),
            ProgressStyle::None => {
                let progress = Progress { bar: None, spoken: None };
                (progress, None)
            }
        }
    }

    /// A bar, for terminals.
    fn with_bar(name: &str, n_problems: u64) -> (Progress, Option<Observer>) {
        let n_before = Arc::new(AtomicU64::new(0));
        let elapsed_ms = Arc::new(AtomicU64::new(0));
        let bar = bar(name, n_problems, Arc::clone(&n_before), Arc::clone(&elapsed_ms));
        let spoken = Arc::new(Mutex::new(SetbackWarnings::default()));
        let (shown, heard) = (bar.clone(), Arc::clone(&spoken));
        let observer = Observer::new(move |event| {
            let mut spoken = lock(&heard);
            let line = match event {
                Event::Progress { counts, elapsed } => {
                    // A shard has fewer problems than the whole input.
                    shown.set_length(counts.n_problems);
                    match elapsed.is_zero() && counts.n_done() > 0 {
                        true => {
                            n_before.store(counts.n_done(), Ordering::Relaxed);
                            begin_at(&shown, counts.n_done());
                        }
                        false => shown.set_position(counts.n_done()),
                    }
                    shown.set_message(trouble(counts.n_unsolved(), spoken.n_setbacks()));
                    None
                }
                Event::Setback(setback) => spoken.hear(setback, Instant::now()),
                Event::Sampled { sample, .. } => {
                    elapsed_ms.store(sample.at_ms as u64, Ordering::Relaxed);
                    shown.tick();
                    spoken.due(Instant::now())
                }
                Event::Launched(_) | Event::Mismatch(_) => None,
            };
            if let Some(line) = line {
                shown.suspend(|| warning!("{line}"));
            }
        });
        let progress = Progress { bar: Some(bar), spoken: Some(spoken) };
        (progress, Some(observer))
    }

    /// Lines at growing intervals, for logs.
    fn with_lines(name: &str) -> (Progress, Option<Observer>) {
        let name = name.to_owned();
        let spoken = Arc::new(Mutex::new(SetbackWarnings::default()));
        let heard = Arc::clone(&spoken);
        let (last_line_ms, n_before) = (Mutex::new(0.0), AtomicU64::new(0));
        let observer = Observer::new(move |event| match event {
            Event::Setback(setback) => {
                if let Some(line) = lock(&heard).hear(setback, Instant::now()) {
                    warning!("{line}");
                }
            }
            Event::Sampled { sample, .. } => {
                let mut spoken = lock(&heard);
                if let Some(line) = spoken.due(Instant::now()) {
                    warning!("{line}");
                }
                let mut last_ms = lock(&last_line_ms);
                if sample.at_ms - *last_ms >= plain_every_ms(sample.at_ms) {
                    *last_ms = sample.at_ms;
                    let n_before = n_before.load(Ordering::Relaxed);
                    let text = plain_text(sample, n_before, spoken.n_setbacks());
                    status!("{name}: {text}");
                }
            }
            Event::Progress { counts, elapsed } if elapsed.is_zero() => {
                n_before.store(counts.n_done(), Ordering::Relaxed);
            }
            Event::Progress { .. } | Event::Launched(_) | Event::Mismatch(_) => {}
        });
        let progress = Progress { bar: None, spoken: Some(spoken) };
        (progress, Some(observer))
    }

    /// JSON lines, for programs: every setback at once, and counts once a second.
    fn with_json() -> (Progress, Option<Observer>) {
        let state = Mutex::new((Instant::now(), 0u64));
        let observer = Observer::new(move |event| {
            let mut state = lock(&state);
            let (last, n_setbacks) = &mut *state;
            let line = match event {
                Event::Progress { counts, elapsed } => {
                    if last.elapsed() < JSON_EVERY && counts.n_done() != counts.n_problems {
                        return;
                    }
                    *last = Instant::now();
                    json_progress(counts, *elapsed, *n_setbacks)
                }
                Event::Setback(setback) => {
                    *n_setbacks += 1;
                    serde_json::json!({"event": "setback", "setback": setback})
                }
                Event::Mismatch(mismatch) => {
                    serde_json::json!({"event": "mismatch", "mismatch": mismatch})
                }
                Event::Launched(_) | Event::Sampled { .. } => return,
            };
            stderr::print_json(&line);
        });
        let progress = Progress { bar: None, spoken: None };
        (progress, Some(observer))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(spoken) = &self.spoken {
            for line in lock(spoken).rest() {
                warning!("{line}");
            }
        }
    }
}

/// Moves the bar to the position at which a run resumes, without counting the jump as speed.
fn begin_at(bar: &ProgressBar, n_done: u64) {
    // The rate is computed at ticks, and a manual tick does nothing while the steady tick is on.
    bar.disable_steady_tick();
    bar.set_position(n_done);
    bar.tick();
    bar.reset_eta();
    bar.enable_steady_tick(TICK_EVERY);
}

const TICK_EVERY: Duration = Duration::from_millis(200);

fn bar(
    name: &str,
    n_problems: u64,
    n_before: Arc<AtomicU64>,
    elapsed_ms: Arc<AtomicU64>,
) -> ProgressBar {
    let bar =
        ProgressBar::with_draw_target(Some(n_problems), ProgressDrawTarget::stderr_with_hz(10));
    let template = "{prefix} {wide_bar} {percent:>3}% {human_pos}/{human_len}  {rate_left}{msg}";
    if let Ok(style) = BarStyle::with_template(template) {
        // A write error is ignored: a progress text is not worth a panic.
        let style =
            style.with_key("rate_left", move |state: &ProgressState, out: &mut dyn fmt::Write| {
                let n_now = state.pos().saturating_sub(n_before.load(Ordering::Relaxed));
                let per_s = if n_now > 0 { state.per_sec() } else { 0.0 };
                let n_left = state.len().unwrap_or(0).saturating_sub(state.pos());
                let left = left_text(n_left, n_now, elapsed_ms.load(Ordering::Relaxed) as f64);
                let _ = write!(out, "{}  {left}", quantity::rate(per_s));
            });
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.set_prefix(name.to_owned());
    bar
}

/// The estimated remaining time; unknown before the first outcome.
fn left_text(n_left: u64, n_now: u64, elapsed_ms: f64) -> String {
    match quantity::left_ms(n_left, n_now, elapsed_ms) {
        None => "no outcome yet".to_owned(),
        Some(left_ms) if left_ms < 1e3 => "< 1 s left".to_owned(),
        Some(left_ms) => format!("{} left", quantity::time((left_ms / 1e3).round() * 1e3)),
    }
}

/// The number of failures and setbacks so far, as text.
fn trouble(n_unsolved: u64, n_setbacks: u64) -> String {
    let mut text = String::new();
    if n_unsolved > 0 {
        text += &format!(", {n_unsolved} failed");
    }
    if n_setbacks > 0 {
        text += &format!(", {}", counted(n_setbacks, "setback", "setbacks"));
    }
    text
}

/// The interval between lines: from five seconds at the start to thirty after three minutes.
fn plain_every_ms(elapsed_ms: f64) -> f64 {
    (elapsed_ms / 6.0).clamp(5e3, 30e3)
}

fn plain_text(sample: &Sample, n_before: u64, n_setbacks: u64) -> String {
    let n_problems = sample.n_done + sample.n_in_flight + sample.n_waiting;
    let n_now = sample.n_done.saturating_sub(n_before);
    let per_s = n_now as f64 / (sample.at_ms / 1e3).max(1e-9);
    format!(
        "{} of {n_problems} done, {per_s:.1} a second, {}{}",
        sample.n_done,
        left_text(n_problems - sample.n_done, n_now, sample.at_ms),
        trouble(sample.n_unsolved, n_setbacks)
    )
}

fn json_progress(counts: &Counts, elapsed: Duration, n_setbacks: u64) -> serde_json::Value {
    serde_json::json!({
        "event": "progress",
        "counts": counts,
        "elapsed_s": elapsed.as_secs_f64(),
        "n_setbacks": n_setbacks,
    })
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_get_fewer_lines_as_a_run_gets_longer() {
        let (mut at_ms, mut lines) = (0.0, Vec::new());
        let mut last_ms = 0.0;
        while at_ms < 600e3 {
            at_ms += 100.0;
            if at_ms - last_ms >= plain_every_ms(at_ms) {
                last_ms = at_ms;
                lines.push(at_ms);
            }
        }
        assert_eq!(lines[0], 5e3, "the first after five seconds");
        let gaps: Vec<f64> = lines.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.windows(2).all(|pair| pair[0] <= pair[1]), "{gaps:?}");
        assert_eq!(gaps.last(), Some(&30e3), "{gaps:?}");
        assert!(lines.len() < 40, "{}", lines.len());
    }

    #[test]
    fn a_line_says_how_far_it_is_and_what_went_wrong() {
        let mut sample = Sample {
            at_ms: 10e3,
            n_done: 40,
            n_in_flight: 10,
            n_waiting: 350,
            ..Sample::default()
        };
        let text = plain_text(&sample, 0, 0);
        assert_eq!(text, "40 of 400 done, 4.0 a second, 90 s left");
        sample.n_unsolved = 3;
        let text = plain_text(&sample, 0, 1);
        assert!(text.ends_with("90 s left, 3 failed, 1 setback"), "{text}");
        sample.n_done = 0;
        assert!(plain_text(&sample, 0, 0).contains("no outcome yet"));
        // Problems done before a resume count as done, but not for the rate.
        (sample.n_done, sample.n_unsolved) = (340, 0);
        (sample.n_in_flight, sample.n_waiting) = (0, 60);
        let text = plain_text(&sample, 300, 0);
        assert_eq!(text, "340 of 400 done, 4.0 a second, 15 s left");
        assert!(plain_text(&sample, 340, 0).contains("no outcome yet"));
    }
}
