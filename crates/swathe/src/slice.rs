//! Solves problems in a slice, without a plan or a queue.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::run::{guarded, panic_message};
use crate::{Outcome, Stop, Workload};

/// Solves problems that are in memory and returns their outcomes in the same order.
///
/// This is the lightweight entry point: nothing is loaded, planned or supervised. The problems are
/// borrowed, so the call waits even for a solver that never returns. Use [`run`](crate::run) for
/// solvers you do not trust and for inputs that do not fit in memory. A little work stays on the
/// calling thread, because waking another thread costs more than it saves. `n_threads` of 0 means
/// all cores.
///
/// After a stop, the remaining problems become [`Outcome::TimedOut`].
pub fn solve_slice<W: Workload>(
    workload: &W,
    problems: &[W::Problem],
    n_threads: usize,
    stop: &Stop,
) -> Vec<Outcome<W::Solution, W::Failure>> {
    /// Less remaining work than this is not worth waking a thread.
    const INLINE: Duration = Duration::from_micros(50);

    let started = Instant::now();
    let mut outcomes = Vec::with_capacity(problems.len());
    let (mut scratch, mut local) = (workload.scratch(), workload.local());
    let n_threads = match n_threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let mut n_before_look = 1;
    for problem in problems {
        // Reading the clock costs as much as a tiny problem, so it is read after 1, 2, 4, 8 …
        // problems.
        if n_threads > 1 && outcomes.len() == n_before_look {
            n_before_look *= 2;
            let elapsed = started.elapsed();
            let n_rest = problems.len() - outcomes.len();
            if elapsed.mul_f64(n_rest as f64 / outcomes.len() as f64) > INLINE {
                break;
            }
        }
        outcomes.push(solve_one(workload, problem, &mut scratch, &mut local, stop, started));
    }
    let rest = &problems[outcomes.len()..];
    if !rest.is_empty() {
        outcomes.extend(solve_rest(workload, rest, n_threads, stop, started));
    }
    outcomes
}

/// The outcomes of consecutive problems, and the number of the first.
type Part<W> = (usize, Vec<Outcome<<W as Workload>::Solution, <W as Workload>::Failure>>);

/// Distributes the problems over scoped threads, which claim ranges of them.
fn solve_rest<W: Workload>(
    workload: &W,
    problems: &[W::Problem],
    n_threads: usize,
    stop: &Stop,
    started: Instant,
) -> Vec<Outcome<W::Solution, W::Failure>> {
    let n_threads = n_threads.min(problems.len());
    // A few claims per thread balance the load without measurable overhead.
    let n_claimed = problems.len().div_ceil(16 * n_threads);
    let next = AtomicUsize::new(0);
    let parts: Mutex<Vec<Part<W>>> = Mutex::default();
    let work = || {
        let (mut scratch, mut local) = (workload.scratch(), workload.local());
        loop {
            let from = next.fetch_add(n_claimed, Ordering::Relaxed);
            let Some(rest) = problems.get(from..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            let claimed = &rest[..n_claimed.min(rest.len())];
            let outcomes = claimed
                .iter()
                .map(|problem| {
                    solve_one(workload, problem, &mut scratch, &mut local, stop, started)
                })
                .collect();
            parts.lock().unwrap_or_else(PoisonError::into_inner).push((from, outcomes));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads {
            // Without the refused thread, this thread and the running ones do the work.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_by_key(|&(from, _)| from);
    parts.into_iter().flat_map(|(_, outcomes)| outcomes).collect()
}

fn solve_one<W: Workload>(
    workload: &W,
    problem: &W::Problem,
    scratch: &mut W::Scratch,
    local: &mut W::Local,
    stop: &Stop,
    started: Instant,
) -> Outcome<W::Solution, W::Failure> {
    if stop.requested() {
        return Outcome::TimedOut { after: started.elapsed() };
    }
    match guarded(|| workload.solve(problem, scratch, local, stop)) {
        Ok(Ok(solution)) => Outcome::Solved(solution),
        Ok(Err(_)) if stop.requested() => Outcome::TimedOut { after: started.elapsed() },
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(panic) => {
            *scratch = workload.scratch();
            *local = workload.local();
            Outcome::Panicked { message: panic_message(panic) }
        }
    }
}
