//! Tails: the end of a run, when some workers are idle while others are still solving.

use swathe::{Launch, Report, Shape};

use super::turns::Turns;

/// The launch that ended last.
#[derive(Clone, Debug, PartialEq)]
pub struct TailLaunch {
    /// How many problems it had.
    pub n_lanes: usize,
    /// Their shape.
    pub shape: Shape,
    /// How long they took to be solved.
    pub solve_ms: f64,
}

/// The end of a run.
pub(super) struct Tail {
    /// How long some turns were free.
    pub(super) tail_ms: f64,
    /// The total time of free turns.
    pub(super) lost_ms: f64,
    /// The total idle time of workers during the tail.
    pub(super) idle_ms: f64,
    pub(super) last: Option<TailLaunch>,
}

/// The time after the last moment at which all turns were taken.
pub(super) fn tail(report: &Report, turns: &Turns) -> Option<Tail> {
    if turns.n_turns < 2 || report.cancelled {
        return None;
    }
    match report.launches_step {
        1 => of_launches(&report.launches, turns),
        _ => of_samples(report, turns),
    }
}

fn of_launches(launches: &[Launch], turns: &Turns) -> Option<Tail> {
    let last = launches.iter().max_by(|a, b| a.end_ms.total_cmp(&b.end_ms))?;
    // Moments are visited in reverse: an end adds an active launch, a start removes one.
    let mut moments: Vec<(f64, i64)> = launches
        .iter()
        .filter(|launch| launch.solve_ms() > 0.0)
        .flat_map(|launch| [(launch.end_ms, 1), (launch.solve_start_ms, -1)])
        .collect();
    moments.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let (mut n_solving, mut until_ms) = (0i64, last.end_ms);
    let (mut lost_ms, mut idle_ms) = (0.0, 0.0);
    for (at_ms, change) in moments {
        let span_ms = until_ms - at_ms;
        lost_ms += span_ms * (turns.n_turns as i64 - n_solving) as f64;
        idle_ms += span_ms * (turns.n_workers as i64 - n_solving).max(0) as f64;
        until_ms = at_ms;
        n_solving += change;
        if n_solving >= turns.n_turns as i64 {
            break;
        }
    }
    Some(Tail {
        tail_ms: last.end_ms - until_ms,
        lost_ms,
        idle_ms,
        last: Some(TailLaunch {
            n_lanes: last.n_lanes,
            shape: last.shape,
            solve_ms: last.solve_ms(),
        }),
    })
}

/// If only some launches were kept, the samples still show when fewer problems than turns were
/// left.
fn of_samples(report: &Report, turns: &Turns) -> Option<Tail> {
    let mut tail = Tail { tail_ms: 0.0, lost_ms: 0.0, idle_ms: 0.0, last: None };
    for pair in report.samples.windows(2).rev() {
        let (from, to) = (&pair[0], &pair[1]);
        if from.n_waiting > 0 || from.n_in_flight >= turns.n_turns as u64 {
            break;
        }
        let span_ms = to.at_ms - from.at_ms;
        tail.tail_ms += span_ms;
        tail.lost_ms += span_ms * (turns.n_turns as u64 - from.n_in_flight) as f64;
        tail.idle_ms += span_ms * (turns.n_workers as u64).saturating_sub(from.n_in_flight) as f64;
    }
    (tail.tail_ms > 0.0).then_some(tail)
}
