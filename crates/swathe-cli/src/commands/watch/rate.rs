//! Rates: how fast a run has been lately.

use swathe_run::store::live_file::Live;

/// Outcomes per second over the recent past: long enough to be steady, short enough to notice a
/// change. `None` before the first outcome.
///
/// The samples of a long run are far apart, so the reader thread also remembers `recent` moments:
/// (milliseconds, problems done).
pub(crate) fn recent_per_s(live: &Live, recent: &[(f64, u64)]) -> Option<f64> {
    let now = (live.elapsed_ms, live.counts.n_done());
    if now.1 == 0 {
        return None;
    }
    let window_ms = (now.0 / 5.0).clamp(WINDOW_MS_MIN, WINDOW_MS_MAX);
    let samples = live.samples.iter().map(|sample| (sample.at_ms, sample.n_done));
    // The last moment before the window, or the run's start if the run is younger than the window.
    let from = samples
        .chain(recent.iter().copied())
        .filter(|(at_ms, _)| *at_ms <= now.0 - window_ms)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .unwrap_or((0.0, 0));
    per_s(from, now).or_else(|| per_s((0.0, 0), now))
}

const WINDOW_MS_MIN: f64 = 10e3;
const WINDOW_MS_MAX: f64 = 60e3;

/// `None` if there was no outcome between the two moments; the caller then uses the whole run.
fn per_s(from: (f64, u64), to: (f64, u64)) -> Option<f64> {
    let ms = to.0 - from.0;
    let n = to.1.checked_sub(from.1)?;
    (ms > 0.0 && n > 0).then(|| n as f64 / ms * 1e3)
}
