//! Workers: a range at a time from the queue to its outcomes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::lots::Who;
use super::queue::{Claim, Range};
use super::scratch::Held;
use super::slot::Slot;
use super::{Checked, Done, Message, Shared, lock, ms};
use crate::fault::{Fault, Point};
use crate::memory::{Reservation, ReserveError};
use crate::report::{Launch, Mismatch, Phase, Remedy, SetbackCause};
use crate::{DeviceId, DeviceKind, Difference, Outcome, Planned, Size, Workload, operation};

/// How a range left its worker.
enum Left {
    /// Delivered, or put back; the worker goes on.
    Behind,
    /// The worker itself is lost.
    Lost,
    /// The watchdog has taken everything away from this worker.
    Abandoned,
}

pub(super) fn work<W>(shared: &Arc<Shared<W>>, slot: &Slot<W>)
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    operation::listen();
    let mut clock = Clock::new(slot, DeviceId::Cpu);
    loop {
        clock.enter(Phase::Idle);
        match shared.queue.claim(shared, Who::Cpu) {
            Claim::End => break,
            Claim::Settled(done) => {
                clock.enter(Phase::Deliver);
                settle_at_once(shared, done);
            }
            Claim::Range(range) => match carry(shared, slot, range, &mut clock) {
                Left::Behind => {}
                Left::Abandoned => return,
                Left::Lost => {
                    shared.send(Message::Hired);
                    Shared::hire(shared, Who::Cpu);
                    break;
                }
            },
        }
    }
    shared.send(Message::Ended(clock.finish()));
}

/// Takes one range all the way.
fn carry<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    range: Range,
    clock: &mut Clock<W>,
) -> Left {
    let start = clock.enter(Phase::Memory);
    let n_claimed = range.problems.len();
    let bytes = range.lanes_bytes() + range.scratch_bytes();
    let solutions_bytes = range.solutions_bytes();
    let mut lanes_held = match shared.settings.memory.reserve(bytes, &shared.stop) {
        Ok(reservation) => reservation,
        Err(ReserveError::OutOfMemory(_)) => {
            put_back_smaller(shared, range, bytes);
            return Left::Behind;
        }
        Err(ReserveError::Stopped) => {
            shared.queue.settle(n_claimed);
            return Left::Behind;
        }
    };
    let scratch_held = lanes_held.split(range.scratch_bytes());
    let mut delay = Duration::ZERO;
    match shared.settings.faults.strike(Point::Launch, None) {
        None => {}
        Some(Fault::Slow(by)) => delay = by,
        Some(Fault::OutOfMemory) => {
            drop((lanes_held, scratch_held));
            put_back_smaller(shared, range, bytes);
            return Left::Behind;
        }
        Some(Fault::Lost | Fault::Panic) => {
            drop((lanes_held, scratch_held));
            shared.send_setback(SetbackCause::WorkerLost, n_claimed, Remedy::Replaced);
            put_back(shared, range, |_| Outcome::Panicked {
                message: "every worker that took it was lost".to_owned(),
            });
            return Left::Lost;
        }
    }

    let launch = Launch {
        device: DeviceId::Cpu,
        worker: slot.worker,
        class: range.class,
        shape: range.shape(),
        n_lanes: 0,
        volume_real: range.volume(),
        volume_launched: 0,
        bytes,
        start_ms: ms(start - shared.started),
        load_start_ms: ms(clock.enter(Phase::Load) - shared.started),
        load_end_ms: 0.0,
        solve_start_ms: 0.0,
        end_ms: 0.0,
    };
    take_in_hand(slot, range, lanes_held, scratch_held, launch);
    if load_all(shared, slot).is_none() {
        return Left::Abandoned;
    }
    let load_end = clock.enter(Phase::Turn);
    let scratch_held = slot.loaded(ms(load_end - shared.started));
    // Without a scratch the run is being cancelled, and what is loaded stays unsolved.
    let taken = scratch_held.and_then(|held| shared.scratches.take(held, &slot.stop));
    let end = if let Some(held) = taken {
        let solve_start = clock.enter(Phase::Solve);
        let Some(held) = solve_all(shared, slot, held, solve_start, delay) else {
            return Left::Abandoned;
        };
        // Before the turn is given away: whoever gets it may be on this core the next moment.
        let end = clock.enter(Phase::Deliver);
        shared.scratches.give_back(held);
        end
    } else {
        clock.enter(Phase::Deliver)
    };
    deliver(shared, slot, n_claimed, solutions_bytes, end);
    Left::Behind
}

/// Memory was refused: two halves may find room where the whole did not.
pub(super) fn put_back_smaller<W: Workload>(
    shared: &Shared<W>,
    mut range: Range,
    wanted_bytes: u64,
) {
    let n_problems = range.problems.len();
    let cause = SetbackCause::OutOfMemory { wanted_bytes };
    if n_problems > 1 {
        shared.send_setback(cause, n_problems, Remedy::Split);
        let n_attempts = range.n_attempts + 1;
        let second = Range {
            problems: range.problems.split_off(n_problems / 2),
            n_attempts,
            ..range
        };
        let first = Range {
            n_attempts,
            ..range
        };
        shared.queue.put_back([second, first]);
        return;
    }
    let budget_bytes = shared.settings.memory.reachable_bytes();
    let too_large = |_: &Planned| Outcome::TooLarge {
        wanted_bytes,
        budget_bytes,
    };
    if wanted_bytes > budget_bytes {
        // The plan found it to fit, but solvers that were left behind keep too much of the memory.
        give_up(shared, range, too_large);
    } else {
        // The refusal will pass.
        shared.send_setback(cause, n_problems, Remedy::Retried);
        put_back(shared, range, too_large);
    }
}

/// Puts a range back to be tried again; after very many tries its problems get this outcome.
fn put_back<W: Workload>(
    shared: &Shared<W>,
    range: Range,
    outcome: impl FnMut(&Planned) -> Outcome<W>,
) {
    /// Refusals that pass have passed by then; a rule that always strikes must not go on for ever.
    const N_ATTEMPTS_MAX: u32 = 1000;

    let n_attempts = range.n_attempts + 1;
    if n_attempts > N_ATTEMPTS_MAX {
        give_up(shared, range, outcome);
    } else {
        shared.queue.put_back([Range {
            n_attempts,
            ..range
        }]);
    }
}

/// Delivers an outcome without an answer for every problem of a range.
fn give_up<W: Workload>(
    shared: &Shared<W>,
    range: Range,
    mut outcome: impl FnMut(&Planned) -> Outcome<W>,
) {
    let done: Vec<Done<W>> = range
        .problems
        .iter()
        .map(|planned| Done {
            index: planned.index,
            outcome: outcome(planned),
            device: DeviceId::Cpu,
            took: Duration::ZERO,
            n_attempts: range.n_attempts,
        })
        .collect();
    settle_at_once(shared, done);
}

/// Delivers outcomes that needed no solver.
pub(super) fn settle_at_once<W: Workload>(shared: &Shared<W>, done: Vec<Done<W>>) {
    let n_settled = done.len();
    shared.send(Message::Outcomes {
        done,
        launch: None,
        checked: Checked::default(),
        _held: None,
    });
    shared.queue.settle(n_settled);
}

pub(super) fn take_in_hand<W: Workload>(
    slot: &Slot<W>,
    range: Range,
    lanes_held: Reservation,
    scratch_held: Reservation,
    launch: Launch,
) {
    let mut hand = slot.hand();
    hand.class = range.class;
    hand.n_attempts = range.n_attempts;
    hand.to_load = range.problems;
    hand.reservation = Some(lanes_held);
    hand.scratch_reservation = Some(scratch_held);
    hand.launch = Some(launch);
}

/// Loads all problems in hand; `None` if the worker was left behind meanwhile.
pub(super) fn load_all<W: Workload>(shared: &Shared<W>, slot: &Slot<W>) -> Option<()> {
    let mut last: Option<(Planned, Loaded<W>)> = None;
    loop {
        let planned = {
            let mut hand = slot.hand();
            if hand.abandoned {
                return None;
            }
            let n_attempts = hand.n_attempts;
            match last.take() {
                None => {}
                Some((planned, Loaded::Problem(problem))) => {
                    hand.loaded.push_back((planned, problem))
                }
                Some((planned, Loaded::Refused)) => hand.refused.push(planned),
                Some((planned, Loaded::Outcome(outcome))) => {
                    let took = Duration::ZERO;
                    let device = DeviceId::Cpu;
                    hand.done.push(Done {
                        index: planned.index,
                        outcome,
                        device,
                        took,
                        n_attempts,
                    });
                }
                Some((_, Loaded::Cancelled)) => {}
            }
            hand.current = None;
            if slot.stop.is_cancelled() {
                hand.to_load.clear();
                hand.loaded.clear();
            }
            let Some(planned) = hand.to_load.pop_front() else {
                return Some(());
            };
            slot.begin(&mut hand, planned, Instant::now());
            planned
        };
        last = Some((planned, load_one(shared, slot, &planned)));
    }
}

enum Loaded<W: Workload> {
    Problem(W::Problem),
    Outcome(Outcome<W>),
    Refused,
    Cancelled,
}

fn load_one<W: Workload>(shared: &Shared<W>, slot: &Slot<W>, planned: &Planned) -> Loaded<W> {
    let fault = shared
        .settings
        .faults
        .strike(Point::Load, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Loaded::Refused;
    }
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        act_out(fault, slot);
        let problem = shared.source.load(planned.index, &slot.stop)?;
        let size = shared.workload.size(&problem);
        Ok::<(W::Problem, Size), W::Failure>((problem, size))
    }));
    match loaded {
        Ok(Ok((problem, size))) => {
            let planned = planned.size;
            if size.shape == planned.shape && size.class == planned.class {
                Loaded::Problem(problem)
            } else {
                Loaded::Outcome(Outcome::WrongSize {
                    surveyed: planned.shape,
                    loaded: size.shape,
                })
            }
        }
        Ok(Err(_)) if slot.stop.is_cancelled() => Loaded::Cancelled,
        Ok(Err(_)) if slot.stop.is_expired() => Loaded::Outcome(Outcome::TimedOut {
            after: shared.settings.time_limit,
        }),
        Ok(Err(failure)) => Loaded::Outcome(Outcome::Failed(failure)),
        Err(panic) => Loaded::Outcome(Outcome::Panicked {
            message: panic_message(panic),
        }),
    }
}

/// Solves all problems in hand; `None` if the worker was left behind meanwhile.
fn solve_all<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    held: Held<W>,
    solve_start: Instant,
    mut delay: Duration,
) -> Option<Held<W>> {
    let Held {
        mut scratch,
        reservation,
    } = held;
    {
        let mut hand = slot.hand();
        hand.has_turn = true;
        hand.scratch_reservation = Some(reservation);
        if let Some(launch) = &mut hand.launch {
            launch.solve_start_ms = ms(solve_start - shared.started);
        }
    }
    let mut tally = Tally::default();
    let mut last: Option<(Planned, Solved<W>, Duration)> = None;
    let mut now = solve_start;
    let reservation = loop {
        let (planned, problem) = {
            let mut hand = slot.hand();
            if hand.abandoned {
                return None;
            }
            let n_attempts = hand.n_attempts;
            match last.take() {
                Some((planned, Solved::Outcome(outcome), took)) => {
                    let device = DeviceId::Cpu;
                    hand.done.push(Done {
                        index: planned.index,
                        outcome,
                        device,
                        took,
                        n_attempts,
                    });
                }
                Some((planned, Solved::Refused, _)) => hand.refused.push(planned),
                Some((_, Solved::Cancelled, _)) | None => {}
            }
            hand.current = None;
            if slot.stop.is_cancelled() {
                hand.loaded.clear();
            }
            let Some((planned, problem)) = hand.loaded.pop_front() else {
                hand.has_turn = false;
                break hand.scratch_reservation.take();
            };
            slot.begin(&mut hand, planned, now);
            (planned, problem)
        };
        if !delay.is_zero() {
            wait(std::mem::take(&mut delay), slot);
        }
        let solved = solve_one(shared, slot, &planned, &problem, &mut scratch);
        let began = now;
        // The end of one problem is the beginning of the next: one look at the clock for each.
        now = Instant::now();
        let took = now - began;
        if let Solved::Outcome(Outcome::Solved(solution)) = &solved {
            tally.add(&planned.size, took);
            if shared.is_verified(planned.index, &planned.size) {
                verify(shared, slot, planned.index, solution, DeviceKind::Cpu);
                now = Instant::now();
            }
        }
        last = Some((planned, solved, took));
    };
    tally.flush(shared);
    reservation.map(|reservation| Held {
        scratch,
        reservation,
    })
}

enum Solved<W: Workload> {
    Outcome(Outcome<W>),
    Refused,
    Cancelled,
}

fn solve_one<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    planned: &Planned,
    problem: &W::Problem,
    scratch: &mut Option<W::Scratch>,
) -> Solved<W> {
    let fault = shared
        .settings
        .faults
        .strike(Point::Item, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Solved::Refused;
    }
    let workload = &*shared.workload;
    let solved = catch_unwind(AssertUnwindSafe(|| {
        act_out(fault, slot);
        let scratch = scratch.get_or_insert_with(|| workload.scratch());
        workload.solve(problem, scratch, &slot.stop)
    }));
    Solved::Outcome(match solved {
        Ok(Ok(solution)) => Outcome::Solved(solution),
        Ok(Err(_)) if slot.stop.is_cancelled() => return Solved::Cancelled,
        Ok(Err(_)) if slot.stop.is_expired() => Outcome::TimedOut {
            after: shared.settings.time_limit,
        },
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(panic) => {
            // Whatever the panic left in the scratch is nobody's to read.
            *scratch = None;
            Outcome::Panicked {
                message: panic_message(panic),
            }
        }
    })
}

/// Loads and solves a problem once more, with fresh scratch, and compares.
pub(super) fn verify<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    index: usize,
    solution: &W::Solution,
    on: DeviceKind,
) {
    slot.begin_again();
    let workload = &*shared.workload;
    let compared = catch_unwind(AssertUnwindSafe(|| {
        let problem = shared.source.load(index, &slot.stop).ok()?;
        let reference = workload
            .solve(&problem, &mut workload.scratch(), &slot.stop)
            .ok()?;
        Some(workload.agree(&reference, solution, on).err())
    }));
    if slot.stop.requested() {
        return;
    }
    let difference = match compared {
        Ok(Some(difference)) => difference,
        Ok(None) | Err(_) => Some(Difference {
            field: "outcome".to_owned(),
            expected: "no solution".to_owned(),
            found: "a solution".to_owned(),
        }),
    };
    let mut hand = slot.hand();
    hand.checked.n_checked += 1;
    let mismatch = difference.map(|difference| Mismatch {
        problem: index,
        difference,
    });
    hand.checked.mismatches.extend(mismatch);
}

/// Hands over what came of a range, and puts back what was refused on the way.
pub(super) fn deliver<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    n_claimed: usize,
    solutions_bytes: u64,
    end: Instant,
) {
    let mut hand = slot.hand();
    let done = std::mem::take(&mut hand.done);
    let refused = std::mem::take(&mut hand.refused);
    hand.leave(&refused);
    let refused = Range {
        class: hand.class,
        problems: refused.into(),
        n_attempts: hand.n_attempts,
        padded: None,
    };
    let checked = std::mem::take(&mut hand.checked);
    hand.note_operations(Phase::Solve);
    let launch = hand.end_launch(done.len(), ms(end - shared.started));
    let mut reservation = hand.reservation.take();
    drop(hand);
    // The problems are gone; the answers' memory is held until they are taken.
    let held = reservation
        .as_mut()
        .map(|reservation| reservation.split(solutions_bytes));
    drop(reservation);
    let n_settled = n_claimed - refused.problems.len();
    if !refused.problems.is_empty() {
        let wanted_bytes = refused.lanes_bytes() + refused.scratch_bytes();
        let cause = SetbackCause::OutOfMemory { wanted_bytes };
        shared.send_setback(cause, refused.problems.len(), Remedy::Retried);
        let budget_bytes = shared.settings.memory.cap_bytes();
        put_back(shared, refused, |planned| Outcome::TooLarge {
            wanted_bytes: planned.need.total_bytes(),
            budget_bytes,
        });
    }
    shared.send(Message::Outcomes {
        launch,
        done,
        checked,
        _held: held,
    });
    shared.queue.settle(n_settled);
}

/// Carries out a fault inside the code that it pretends to come from.
fn act_out<W: Workload>(fault: Option<Fault>, slot: &Slot<W>) {
    match fault {
        Some(Fault::Panic) => panic!("a panic on purpose"),
        Some(Fault::Slow(delay)) => wait(delay, slot),
        Some(Fault::Lost | Fault::OutOfMemory) | None => {}
    }
}

/// Sleeps like a solver that polls.
fn wait<W: Workload>(delay: Duration, slot: &Slot<W>) {
    let start = Instant::now();
    while start.elapsed() < delay && !slot.stop.requested() {
        std::thread::sleep(Duration::from_millis(1).min(delay));
    }
}

pub(crate) fn panic_message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => match panic.downcast::<&'static str>() {
            Ok(message) => (*message).to_owned(),
            Err(_) => "something that is not text".to_owned(),
        },
    }
}

/// What the problems of a range took, by class and shape, to be learnt in one go.
#[derive(Default)]
struct Tally {
    rows: Vec<(Size, u64, Duration)>,
}

impl Tally {
    fn add(&mut self, size: &Size, took: Duration) {
        let bin = size.shape.bin();
        match self
            .rows
            .iter_mut()
            .find(|(other, ..)| other.class == size.class && other.shape == bin)
        {
            Some((_, n, sum)) => {
                *n += 1;
                *sum += took;
            }
            None => self.rows.push((
                Size {
                    shape: bin,
                    ..*size
                },
                1,
                took,
            )),
        }
    }

    fn flush<W: Workload>(self, shared: &Shared<W>) {
        let mut costs = lock(&shared.costs);
        for (size, n, took) in self.rows {
            costs.learn(W::NAME, &size, DeviceId::Cpu, n, took);
        }
        drop(costs);
        shared.n_learnt.fetch_add(1, Ordering::Release);
    }
}
