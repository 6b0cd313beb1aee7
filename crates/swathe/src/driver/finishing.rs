//! Finishing: solutions are compared if that is requested, then finished exactly once.

use std::time::Instant;

use super::slot::{Answered, Current, Slot};
use super::worker::Local;
use super::{Done, Driver, OutcomeOf, ProblemOf, SolutionOf, guarded, panic_message};
use crate::report::Mismatch;
use crate::{Difference, Finish, Outcome, Planned, Workload};

/// Turns a solution into what is delivered.
pub(super) fn finish_one<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    planned: &Planned,
    problem: &ProblemOf<F>,
    solution: SolutionOf<F>,
) -> OutcomeOf<F> {
    let finish = &*driver.finish;
    match guarded(|| finish.finish(planned.index, problem, solution, &slot.stop)) {
        Ok(Ok(finished)) => Outcome::Solved(finished),
        Ok(Err(_)) if slot.stop.is_expired() => {
            Outcome::TimedOut { after: driver.settings.time_limit }
        }
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(panic) => Outcome::Panicked { message: panic_message(panic) },
    }
}

/// Checks and finishes all solved problems of the range; `None` if the worker was abandoned
/// meanwhile.
pub(super) fn finish_answered<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    local: &mut Local<F>,
) -> Option<()> {
    loop {
        let mut work = slot.end()?;
        let Some(front) = work.answered.front_mut() else {
            return Some(());
        };
        let planned = front.planned;
        // Checked once: if the check never ends, another worker finishes the problem without it.
        let to_check = std::mem::take(&mut front.to_check) && !slot.stop.is_cancelled();
        let mut again = None;
        if to_check {
            let check = Current::Check(planned.index, driver.check_bytes(&planned.size));
            work.begin(slot, check, Instant::now());
            drop(work);
            again = Some(solve_again(driver, slot, planned.index, local));
            work = slot.end()?;
        }
        work.begin(slot, Current::problem(&planned), Instant::now());
        let Some(answered) = work.answered.pop_front() else {
            return Some(());
        };
        drop(work);
        if let Some(again) = again {
            compare(driver, slot, &answered, again);
        }
        let Answered { problem, solution, device, took, n_attempts, .. } = answered;
        let outcome = finish_one(driver, slot, &planned, &problem, solution);
        let mut work = slot.end()?;
        work.done.push(Done { index: planned.index, outcome, device, took, n_attempts });
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
    driver: &Driver<F>,
    slot: &Slot<F>,
    index: usize,
    local: &mut Local<F>,
) -> Again<SolutionOf<F>> {
    let workload = driver.workload();
    let solved = guarded(|| {
        let problem = driver.source.load(index, &slot.stop).ok()?;
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

/// Compares two solutions of one problem and records the result.
fn compare<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    answered: &Answered<F>,
    again: Again<SolutionOf<F>>,
) {
    let on = answered.device.kind();
    let compared = match &again {
        Again::Stopped => return,
        Again::Nothing => None,
        Again::Solution(reference) => {
            let workload = driver.workload();
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
    let mut work = slot.work();
    work.checked.n_checked += 1;
    let mismatch =
        difference.map(|difference| Mismatch { problem: answered.planned.index, difference });
    work.checked.mismatches.extend(mismatch);
}
