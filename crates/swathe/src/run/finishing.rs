//! Finishing: solutions are compared if that is requested, then finished exactly once.

use std::time::Instant;

use super::worker::Local;
use super::worker_state::{Answered, Current, WorkerState};
use super::{Done, OutcomeOf, ProblemOf, Shared, SolutionOf, guarded, panic_message};
use crate::report::Mismatch;
use crate::{Difference, Finish, Outcome, Planned, Workload};

/// Turns a solution into what is delivered.
pub(super) fn finish_one<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    planned: &Planned,
    problem: &ProblemOf<F>,
    solution: SolutionOf<F>,
) -> OutcomeOf<F> {
    let finish = &*shared.finish;
    match guarded(|| finish.finish(planned.index, problem, solution, &worker_state.stop)) {
        Ok(Ok(finished)) => Outcome::Solved(finished),
        Ok(Err(_)) if worker_state.stop.is_expired() => {
            Outcome::TimedOut { after: shared.settings.time_limit }
        }
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(panic) => Outcome::Panicked { message: panic_message(panic) },
    }
}

/// Checks and finishes all solved problems of the range; `None` if the worker was abandoned
/// meanwhile.
pub(super) fn finish_answered<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    local: &mut Local<F>,
) -> Option<()> {
    loop {
        let mut in_flight = worker_state.in_flight();
        if in_flight.abandoned {
            return None;
        }
        in_flight.current = None;
        let Some(front) = in_flight.answered.front_mut() else {
            return Some(());
        };
        let planned = front.planned;
        // Checked once: if the check never ends, another worker finishes the problem without it.
        let to_check = std::mem::take(&mut front.to_check) && !worker_state.stop.is_cancelled();
        worker_state.begin(&mut in_flight, planned, Instant::now());
        let mut again = None;
        if to_check {
            in_flight.current =
                in_flight.current.map(|current| Current { is_check: true, ..current });
            drop(in_flight);
            again = Some(solve_again(shared, worker_state, planned.index, local));
            in_flight = worker_state.in_flight();
            if in_flight.abandoned {
                return None;
            }
            worker_state.begin(&mut in_flight, planned, Instant::now());
        }
        let Some(answered) = in_flight.answered.pop_front() else {
            return Some(());
        };
        drop(in_flight);
        if let Some(again) = again {
            compare(shared, worker_state, &answered, again);
        }
        let Answered { problem, solution, device, took, n_attempts, .. } = answered;
        let outcome = finish_one(shared, worker_state, &planned, &problem, solution);
        let mut in_flight = worker_state.in_flight();
        if in_flight.abandoned {
            return None;
        }
        in_flight.done.push(Done { index: planned.index, outcome, device, took, n_attempts });
    }
}

/// The result of solving a problem a second time.
enum Again<S> {
    Solution(S),
    /// The second attempt has no solution.
    Nothing,
    /// The second attempt was stopped.
    Stopped,
}

/// Loads and solves a problem once more, with a fresh scratch.
fn solve_again<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    index: usize,
    local: &mut Local<F>,
) -> Again<SolutionOf<F>> {
    let workload = shared.workload();
    let solved = guarded(|| {
        let problem = shared.source.load(index, &worker_state.stop).ok()?;
        let local = local.get_or_insert_with(|| workload.local());
        let solved = workload.solve(&problem, &mut workload.scratch(), local, &worker_state.stop);
        solved.ok()
    });
    if worker_state.stop.requested() {
        return Again::Stopped;
    }
    match solved {
        Ok(Some(solution)) => Again::Solution(solution),
        Ok(None) => Again::Nothing,
        Err(_) => {
            *local = None;
            Again::Nothing
        }
    }
}

/// Compares two solutions of one problem and records the result.
fn compare<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    answered: &Answered<F>,
    again: Again<SolutionOf<F>>,
) {
    let on = answered.device.kind();
    let compared = match &again {
        Again::Stopped => return,
        Again::Nothing => None,
        Again::Solution(reference) => {
            let workload = shared.workload();
            guarded(|| workload.agree(reference, &answered.solution, on)).ok()
        }
    };
    let difference = match compared {
        Some(agreed) => agreed.err(),
        None => Some(Difference {
            field: "outcome".to_owned(),
            expected: "no solution".to_owned(),
            found: "a solution".to_owned(),
        }),
    };
    let mut in_flight = worker_state.in_flight();
    in_flight.checked.n_checked += 1;
    let mismatch =
        difference.map(|difference| Mismatch { problem: answered.planned.index, difference });
    in_flight.checked.mismatches.extend(mismatch);
}
