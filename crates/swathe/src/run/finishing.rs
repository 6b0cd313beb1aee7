//! Finishing: what is solved is compared where that is asked for, then finished, once.

use std::time::Instant;

use super::worker::Local;
use super::worker_state::{Answered, Current, WorkerState};
use super::{Done, OutcomeOf, ProblemOf, Shared, SolutionOf, guarded, panic_message};
use crate::report::Mismatch;
use crate::{Difference, Finish, Outcome, Planned, Workload};

/// Makes of a solution what is delivered.
pub(super) fn finish_one<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    planned: &Planned,
    problem: &ProblemOf<F>,
    solution: SolutionOf<F>,
) -> OutcomeOf<F> {
    let finish = &*shared.finish;
    match guarded(|| finish.finish(planned.index, problem, solution, &slot.stop)) {
        Ok(Ok(finished)) => Outcome::Solved(finished),
        Ok(Err(_)) if slot.stop.is_expired() => Outcome::TimedOut {
            after: shared.settings.time_limit,
        },
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(panic) => Outcome::Panicked {
            message: panic_message(panic),
        },
    }
}

/// Checks and finishes all problems in hand that are solved; `None` if the worker was left behind
/// meanwhile.
pub(super) fn finish_answered<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    local: &mut Local<F>,
) -> Option<()> {
    loop {
        let mut hand = slot.hand();
        if hand.abandoned {
            return None;
        }
        hand.current = None;
        let Some(front) = hand.answered.front_mut() else {
            return Some(());
        };
        let planned = front.planned;
        // Checked once: should the check never end, another worker finishes the problem as it is.
        let to_check = std::mem::take(&mut front.to_check) && !slot.stop.is_cancelled();
        slot.begin(&mut hand, planned, Instant::now());
        let mut again = None;
        if to_check {
            hand.current = hand.current.map(|current| Current {
                is_check: true,
                ..current
            });
            drop(hand);
            again = Some(solve_again(shared, slot, planned.index, local));
            hand = slot.hand();
            if hand.abandoned {
                return None;
            }
            slot.begin(&mut hand, planned, Instant::now());
        }
        let Some(answered) = hand.answered.pop_front() else {
            return Some(());
        };
        drop(hand);
        if let Some(again) = again {
            compare(shared, slot, &answered, again);
        }
        let Answered {
            problem,
            solution,
            device,
            took,
            n_attempts,
            ..
        } = answered;
        let outcome = finish_one(shared, slot, &planned, &problem, solution);
        let mut hand = slot.hand();
        if hand.abandoned {
            return None;
        }
        hand.done.push(Done {
            index: planned.index,
            outcome,
            device,
            took,
            n_attempts,
        });
    }
}

/// What solving a problem a second time gave.
enum Again<S> {
    Solution(S),
    /// It has no solution this time.
    Nothing,
    /// There was no time for it.
    Stopped,
}

/// Loads and solves a problem once more, with fresh scratch.
fn solve_again<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    index: usize,
    local: &mut Local<F>,
) -> Again<SolutionOf<F>> {
    let workload = shared.workload();
    let solved = guarded(|| {
        let problem = shared.source.load(index, &slot.stop).ok()?;
        let local = local.get_or_insert_with(|| workload.local());
        let solved = workload.solve(&problem, &mut workload.scratch(), local, &slot.stop);
        solved.ok()
    });
    if slot.stop.requested() {
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

/// Compares two solutions of one problem and takes note of the result.
fn compare<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
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
    let mut hand = slot.hand();
    hand.checked.n_checked += 1;
    let mismatch = difference.map(|difference| Mismatch {
        problem: answered.planned.index,
        difference,
    });
    hand.checked.mismatches.extend(mismatch);
}
