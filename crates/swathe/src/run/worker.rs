//! Workers: a range at a time from the queue to its outcomes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::queue::{Claim, Range};
use super::scratch::Held;
use super::slot::Slot;
use super::{Checked, Done, Message, Shared, lock, ms};
use crate::fault::{Fault, Point};
use crate::memory::{Reservation, ReserveError};
use crate::report::{Launch, Mismatch, Phase, Remedy, SetbackCause};
use crate::{DeviceKind, Difference, Outcome, Planned, Size, Workload};

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
    let mut clock = Clock::new(slot.worker);
    loop {
        clock.enter(Phase::Idle);
        match shared.queue.claim(shared) {
            Claim::End => break,
            Claim::Settled(done) => {
                clock.enter(Phase::Deliver);
                let n = done.len();
                let checked = Checked::default();
                shared.send(Message::Outcomes {
                    done,
                    launch: None,
                    checked,
                    _held: None,
                });
                shared.queue.settle(n);
            }
            Claim::Range(range) => match carry(shared, slot, range, &mut clock) {
                Left::Behind => {}
                Left::Abandoned => return,
                Left::Lost => {
                    shared.send(Message::Hired);
                    Shared::hire(shared);
                    break;
                }
            },
        }
    }
    shared.send(Message::Ended(clock.finish()));
}

/// Takes one range all the way.
fn carry<W: Workload>(shared: &Shared<W>, slot: &Slot<W>, range: Range, clock: &mut Clock) -> Left {
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
            shared.send_setback(SetbackCause::WorkerLost, n_claimed, Remedy::Replaced);
            shared.queue.put_back([Range {
                n_attempts: range.n_attempts + 1,
                ..range
            }]);
            return Left::Lost;
        }
    }

    let mut launch = Launch {
        device: DeviceKind::Cpu,
        worker: slot.worker,
        class: range.class,
        shape: range.shape(),
        n_lanes: n_claimed,
        bytes,
        start_ms: ms(start - shared.started),
        solve_start_ms: 0.0,
        end_ms: 0.0,
    };
    clock.enter(Phase::Load);
    take_in_hand(slot, range, lanes_held);
    if load_all(shared, slot).is_none() {
        return Left::Abandoned;
    }
    clock.enter(Phase::Turn);
    let mut checked = Checked::default();
    // Without a scratch the run is being cancelled, and what is loaded stays unsolved.
    if let Some(held) = shared
        .scratches
        .take(&shared.workload, scratch_held, &slot.stop)
    {
        let solve_start = clock.enter(Phase::Solve);
        launch.solve_start_ms = ms(solve_start - shared.started);
        match solve_all(shared, slot, held, delay, &mut checked) {
            Some(held) => shared.scratches.give_back(held),
            None => return Left::Abandoned,
        }
    }
    let end = clock.enter(Phase::Deliver);
    launch.end_ms = ms(end - shared.started);
    deliver(shared, slot, n_claimed, solutions_bytes, launch, checked);
    Left::Behind
}

/// Memory was refused: two halves may find room where the whole did not.
fn put_back_smaller<W: Workload>(shared: &Shared<W>, mut range: Range, wanted_bytes: u64) {
    let n_problems = range.problems.len();
    let cause = SetbackCause::OutOfMemory { wanted_bytes };
    let n_attempts = range.n_attempts + 1;
    if n_problems > 1 {
        let second = range.problems.split_off(n_problems / 2);
        let halves = [
            Range {
                problems: second,
                n_attempts,
                ..range
            },
            Range {
                problems: range.problems,
                n_attempts,
                class: range.class,
            },
        ];
        shared.send_setback(cause, n_problems, Remedy::Split);
        shared.queue.put_back(halves);
    } else {
        // One problem that the plan found to fit: the refusal will pass.
        shared.send_setback(cause, n_problems, Remedy::Retried);
        shared.queue.put_back([Range {
            n_attempts,
            ..range
        }]);
    }
}

fn take_in_hand<W: Workload>(slot: &Slot<W>, range: Range, reservation: Reservation) {
    let mut hand = slot.hand();
    hand.class = range.class;
    hand.n_attempts = range.n_attempts;
    hand.to_load = range.problems.into();
    hand.reservation = Some(reservation);
}

/// Loads all problems in hand; `None` if the worker was left behind meanwhile.
fn load_all<W: Workload>(shared: &Shared<W>, slot: &Slot<W>) -> Option<()> {
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
                    let device = DeviceKind::Cpu;
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
            slot.begin(&mut hand, planned);
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
    mut held: Held<W>,
    mut delay: Duration,
    checked: &mut Checked,
) -> Option<Held<W>> {
    let mut tally = Tally::default();
    let mut last: Option<(Planned, Solved<W>, Duration)> = None;
    loop {
        let (planned, problem, since) = {
            let mut hand = slot.hand();
            if hand.abandoned {
                return None;
            }
            let n_attempts = hand.n_attempts;
            match last.take() {
                None => hand.has_turn = true,
                Some((planned, Solved::Outcome(outcome), took)) => {
                    let device = DeviceKind::Cpu;
                    hand.done.push(Done {
                        index: planned.index,
                        outcome,
                        device,
                        took,
                        n_attempts,
                    });
                }
                Some((planned, Solved::Refused, _)) => hand.refused.push(planned),
                Some((_, Solved::Cancelled, _)) => {}
            }
            hand.current = None;
            if slot.stop.is_cancelled() {
                hand.loaded.clear();
            }
            let Some((planned, problem)) = hand.loaded.pop_front() else {
                hand.has_turn = false;
                break;
            };
            slot.begin(&mut hand, planned);
            (
                planned,
                problem,
                hand.current
                    .map_or_else(Instant::now, |current| current.since),
            )
        };
        if !delay.is_zero() {
            wait(std::mem::take(&mut delay), slot);
        }
        let solved = solve_one(shared, slot, &planned, &problem, &mut held, checked);
        let took = since.elapsed();
        if matches!(solved, Solved::Outcome(Outcome::Solved(_))) {
            tally.add(&planned.size, took);
        }
        last = Some((planned, solved, took));
    }
    tally.flush(shared);
    Some(held)
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
    held: &mut Held<W>,
    checked: &mut Checked,
) -> Solved<W> {
    let fault = shared
        .settings
        .faults
        .strike(Point::Item, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Solved::Refused;
    }
    let solved = catch_unwind(AssertUnwindSafe(|| {
        act_out(fault, slot);
        shared
            .workload
            .solve(problem, &mut held.scratch, &slot.stop)
    }));
    let outcome = match solved {
        Ok(Ok(solution)) => Outcome::Solved(solution),
        Ok(Err(_)) if slot.stop.is_cancelled() => return Solved::Cancelled,
        Ok(Err(_)) if slot.stop.is_expired() => Outcome::TimedOut {
            after: shared.settings.time_limit,
        },
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(panic) => {
            // Whatever the panic left in the scratch is nobody's to read.
            held.scratch = shared.workload.scratch();
            Outcome::Panicked {
                message: panic_message(panic),
            }
        }
    };
    if let Outcome::Solved(solution) = &outcome
        && shared.is_verified(
            planned.index,
            &shared.workload.need(&planned.size, DeviceKind::Cpu),
        )
    {
        verify(shared, slot, planned.index, solution, checked);
    }
    Solved::Outcome(outcome)
}

/// Loads and solves a problem once more, with fresh scratch, and compares.
fn verify<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    index: usize,
    solution: &W::Solution,
    checked: &mut Checked,
) {
    let again = catch_unwind(AssertUnwindSafe(|| {
        let problem = shared.source.load(index, &slot.stop).ok()?;
        shared
            .workload
            .solve(&problem, &mut shared.workload.scratch(), &slot.stop)
            .ok()
    }));
    let difference = match again {
        _ if slot.stop.requested() => return,
        Ok(Some(reference)) => shared
            .workload
            .agree(&reference, solution, DeviceKind::Cpu)
            .err(),
        Ok(None) | Err(_) => Some(Difference {
            field: "outcome".to_owned(),
            expected: "no solution".to_owned(),
            found: "a solution".to_owned(),
        }),
    };
    checked.n_checked += 1;
    checked
        .mismatches
        .extend(difference.map(|difference| Mismatch {
            problem: index,
            difference,
        }));
}

/// Hands over what came of a range, and puts back what was refused on the way.
fn deliver<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    n_claimed: usize,
    solutions_bytes: u64,
    launch: Launch,
    checked: Checked,
) {
    let (done, refused, mut reservation, class, n_attempts) = {
        let mut hand = slot.hand();
        let done = std::mem::take(&mut hand.done);
        let refused = std::mem::take(&mut hand.refused);
        (
            done,
            refused,
            hand.reservation.take(),
            hand.class,
            hand.n_attempts,
        )
    };
    // The problems are gone; the answers' memory is held until they are taken.
    let held = reservation
        .as_mut()
        .map(|reservation| reservation.split(solutions_bytes));
    drop(reservation);
    let n_refused = refused.len();
    if n_refused > 0 {
        let wanted_bytes = refused
            .iter()
            .map(|planned| planned.need.total_bytes())
            .sum();
        let cause = SetbackCause::OutOfMemory { wanted_bytes };
        shared.send_setback(cause, n_refused, Remedy::Retried);
        shared.queue.put_back([Range {
            class,
            problems: refused,
            n_attempts: n_attempts + 1,
        }]);
    }
    shared.send(Message::Outcomes {
        done,
        launch: Some(launch),
        checked,
        _held: held,
    });
    shared.queue.settle(n_claimed - n_refused);
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
            costs.learn(W::NAME, &size, DeviceKind::Cpu, n, took);
        }
    }
}
