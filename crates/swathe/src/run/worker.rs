//! Workers: a range at a time from the queue to its outcomes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::finishing::{finish_answered, finish_one};
use super::gpu_backlog::WorkerKind;
use super::queue::{Claim, Range};
use super::scratch_pool::ScratchLease;
use super::worker_state::{Answered, WorkerState};
use super::{
    Checked, Done, DoneOf, Message, OutcomeOf, ProblemOf, Shared, SolutionOf, WorkloadOf, guarded,
    lock, ms, panic_message,
};
use crate::fault::{Fault, FaultPoint};
use crate::memory::{Reservation, ReserveError};
use crate::report::{Launch, Phase, Remedy, SetbackCause};
use crate::{DeviceId, Finish, Outcome, Planned, Size, Workload, operation};

/// How a range left its worker.
enum CarryResult {
    /// Delivered, or put back; the worker goes on.
    Behind,
    /// The worker itself is lost.
    Lost,
    /// The watchdog has taken everything away from this worker.
    Abandoned,
}

/// The state of a worker, made by the first call that needs it: a workload whose state cannot be
/// made panics there, where panics are caught.
pub(super) type Local<F> = Option<<WorkloadOf<F> as Workload>::Local>;

pub(super) fn work<F: Finish>(shared: &Arc<Shared<F>>, slot: &WorkerState<F>) {
    operation::listen();
    let mut clock = Clock::new(slot, DeviceId::Cpu);
    let mut local: Local<F> = None;
    loop {
        clock.enter(Phase::Idle);
        let left = match shared.queue.claim(shared, WorkerKind::Cpu) {
            Claim::End => break,
            Claim::Settled(done) => {
                clock.enter(Phase::Deliver);
                settle_at_once(shared, done);
                continue;
            }
            Claim::Range(range) => carry(shared, slot, range, &mut clock, &mut local),
            Claim::Answered(answered) => {
                carry_answered(shared, slot, *answered, &mut clock, &mut local)
            }
        };
        match left {
            CarryResult::Behind => {}
            CarryResult::Abandoned => return came_back(shared),
            CarryResult::Lost => {
                Shared::replace(shared, slot);
                // Nothing waits for a lost worker: its stack is freed when it ends.
                shared.forget(slot.worker);
                break;
            }
        }
    }
    shared.mailbox.post(Message::Ended(clock.finish()));
}

/// A worker that was left behind has ended after all.
pub(super) fn came_back<F: Finish>(shared: &Shared<F>) {
    shared
        .n_stuck
        .fetch_sub(1, std::sync::atomic::Ordering::AcqRel);
}

/// So often problems may be lost with their worker.
const N_LOSSES_MAX: u32 = 3;

/// Takes one range all the way.
fn carry<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    range: Range,
    clock: &mut Clock<F>,
    local: &mut Local<F>,
) -> CarryResult {
    let start = clock.enter(Phase::Memory);
    let n_claimed = range.problems.len();
    let bytes = range.lanes_bytes() + range.scratch_bytes();
    let solutions_bytes = range.solutions_bytes();
    let mut lanes_held = match shared.settings.memory.reserve(bytes, &shared.stop) {
        Ok(reservation) => reservation,
        Err(ReserveError::OutOfMemory(_)) => {
            put_back_smaller(shared, range, bytes);
            return CarryResult::Behind;
        }
        Err(ReserveError::Stopped) => {
            shared.queue.settle(n_claimed);
            return CarryResult::Behind;
        }
    };
    let scratch_held = lanes_held.split(range.scratch_bytes());
    let mut delay = Duration::ZERO;
    match shared
        .settings
        .memory
        .faults()
        .strike(FaultPoint::Launch, None)
    {
        None => {}
        Some(Fault::Slow(by)) => delay = by,
        Some(Fault::OutOfMemory) => {
            drop((lanes_held, scratch_held));
            put_back_smaller(shared, range, bytes);
            return CarryResult::Behind;
        }
        // The last resort is the plain way: what was lost with every worker that took it is solved
        // whatever happens.
        Some(Fault::Lost | Fault::Panic) if range.n_attempts > N_LOSSES_MAX => {}
        Some(Fault::Lost | Fault::Panic) => {
            drop((lanes_held, scratch_held));
            shared.send_setback(SetbackCause::WorkerLost, n_claimed, Remedy::Replaced);
            let n_attempts = range.n_attempts + 1;
            shared.queue.put_back([Range {
                n_attempts,
                ..range
            }]);
            return CarryResult::Lost;
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
        return CarryResult::Abandoned;
    }
    let load_end = clock.enter(Phase::Turn);
    let scratch_held = slot.loaded(ms(load_end - shared.started));
    // Without a scratch the run is being cancelled, and what is loaded stays unsolved.
    let taken = scratch_held.and_then(|held| shared.scratches.take(held, &slot.stop));
    let end = if let Some(held) = taken {
        let solve_start = clock.enter(Phase::Solve);
        let Some(held) = solve_all(shared, slot, held, local, solve_start, delay) else {
            return CarryResult::Abandoned;
        };
        // Before the turn is given away: its next holder may be on this core the next moment.
        let end = clock.enter(Phase::Deliver);
        shared.scratches.give_back(held);
        end
    } else {
        clock.enter(Phase::Deliver)
    };
    deliver(shared, slot, n_claimed, solutions_bytes, end);
    CarryResult::Behind
}

/// Memory was refused: two halves may find room where the whole did not.
pub(super) fn put_back_smaller<F: Finish>(shared: &Shared<F>, mut range: Range, wanted_bytes: u64) {
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
fn put_back<F: Finish>(
    shared: &Shared<F>,
    range: Range,
    outcome: impl FnMut(&Planned) -> OutcomeOf<F>,
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
fn give_up<F: Finish>(
    shared: &Shared<F>,
    range: Range,
    mut outcome: impl FnMut(&Planned) -> OutcomeOf<F>,
) {
    let done: Vec<DoneOf<F>> = range
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
pub(super) fn settle_at_once<F: Finish>(shared: &Shared<F>, done: Vec<DoneOf<F>>) {
    let n_settled = done.len();
    shared.mailbox.send(Message::Outcomes {
        done,
        launch: None,
        checked: Checked::default(),
        _held: None,
    });
    shared.queue.settle(n_settled);
}

pub(super) fn take_in_hand<F: Finish>(
    slot: &WorkerState<F>,
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
pub(super) fn load_all<F: Finish>(shared: &Shared<F>, slot: &WorkerState<F>) -> Option<()> {
    let mut last: Option<(Planned, Loaded<F>)> = None;
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

enum Loaded<F: Finish> {
    Problem(ProblemOf<F>),
    Outcome(OutcomeOf<F>),
    Refused,
    Cancelled,
}

fn load_one<F: Finish>(shared: &Shared<F>, slot: &WorkerState<F>, planned: &Planned) -> Loaded<F> {
    let faults = shared.settings.memory.faults();
    let fault = faults.strike(FaultPoint::Load, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Loaded::Refused;
    }
    let loaded = guarded(|| {
        inject_fault(fault, slot);
        let problem = shared.source.load(planned.index, &slot.stop)?;
        let size = shared.workload().size(&problem);
        Ok::<(ProblemOf<F>, Size), F::Failure>((problem, size))
    });
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
fn solve_all<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    held: ScratchLease<WorkloadOf<F>>,
    local: &mut Local<F>,
    solve_start: Instant,
    mut delay: Duration,
) -> Option<ScratchLease<WorkloadOf<F>>> {
    let ScratchLease {
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
    let mut last: Option<(Planned, Solved<F>, Duration)> = None;
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
                Some((_, Solved::Cancelled | Solved::Delivered, _)) | None => {}
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
        let solved = solve_one(shared, slot, &planned, &problem, &mut scratch, local);
        let began = now;
        // The end of one problem is the beginning of the next: one look at the clock for each.
        now = Instant::now();
        let took = now - began;
        let solved = match solved {
            Ok(solution) => {
                tally.add(&planned.size, took);
                if shared.is_verified(planned.index, &planned.size) {
                    let answered = Answered {
                        planned,
                        problem,
                        solution,
                        device: DeviceId::Cpu,
                        took,
                        n_attempts: slot.hand().n_attempts,
                        to_check: true,
                        held: None,
                    };
                    slot.hand().answered.push_back(answered);
                    finish_answered(shared, slot, local)?;
                    now = Instant::now();
                    Solved::Delivered
                } else {
                    if took > FINISH_ANEW {
                        slot.begin(&mut slot.hand(), planned, now);
                    }
                    let outcome = finish_one(shared, slot, &planned, &problem, solution);
                    Solved::Outcome(outcome)
                }
            }
            Err(solved) => solved,
        };
        last = Some((planned, solved, took));
    };
    tally.flush(shared);
    reservation.map(|reservation| ScratchLease {
        scratch,
        reservation,
    })
}

/// A problem that took longer has all of its time again to be finished; a shorter one has nearly all
/// of it left.
const FINISH_ANEW: Duration = Duration::from_millis(1);

enum Solved<F: Finish> {
    Outcome(OutcomeOf<F>),
    Refused,
    Cancelled,
    /// Its outcome is among those done already.
    Delivered,
}

fn solve_one<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    planned: &Planned,
    problem: &ProblemOf<F>,
    scratch: &mut Option<<WorkloadOf<F> as Workload>::Scratch>,
    local: &mut Local<F>,
) -> Result<SolutionOf<F>, Solved<F>> {
    let faults = shared.settings.memory.faults();
    let fault = faults.strike(FaultPoint::Item, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Err(Solved::Refused);
    }
    let workload = shared.workload();
    let solved = guarded(|| {
        inject_fault(fault, slot);
        let scratch = scratch.get_or_insert_with(|| workload.scratch());
        let local = local.get_or_insert_with(|| workload.local());
        workload.solve(problem, scratch, local, &slot.stop)
    });
    match solved {
        Ok(Ok(solution)) => Ok(solution),
        Ok(Err(_)) if slot.stop.is_cancelled() => Err(Solved::Cancelled),
        Ok(Err(_)) if slot.stop.is_expired() => Err(Solved::Outcome(Outcome::TimedOut {
            after: shared.settings.time_limit,
        })),
        Ok(Err(failure)) => Err(Solved::Outcome(Outcome::Failed(failure.into()))),
        Err(panic) => {
            // Nothing may read what the panic left in them.
            *scratch = None;
            *local = None;
            Err(Solved::Outcome(Outcome::Panicked {
                message: panic_message(panic),
            }))
        }
    }
}

/// Finishes a problem that another worker has solved.
fn carry_answered<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    mut answered: Answered<F>,
    clock: &mut Clock<F>,
    local: &mut Local<F>,
) -> CarryResult {
    clock.enter(Phase::Memory);
    let need = answered.planned.need;
    // What is solved is not given up for want of memory.
    let scratch_held = shared
        .settings
        .memory
        .reserve(need.scratch_bytes, &shared.stop);
    clock.enter(Phase::Turn);
    {
        let mut hand = slot.hand();
        hand.reservation = answered.held.take();
        hand.class = answered.planned.size.class;
        hand.n_attempts = answered.n_attempts;
        hand.answered.push_back(answered);
    }
    let turn = match scratch_held {
        Ok(held) => shared.scratches.take(held, &slot.stop),
        Err(_) => None,
    };
    slot.hand().has_turn = turn.is_some();
    clock.enter(Phase::Solve);
    if finish_answered(shared, slot, local).is_none() {
        return CarryResult::Abandoned;
    }
    slot.hand().has_turn = false;
    let end = clock.enter(Phase::Deliver);
    if let Some(held) = turn {
        shared.scratches.give_back(held);
    }
    deliver(shared, slot, 1, need.solution_bytes, end);
    CarryResult::Behind
}

/// Hands over what came of a range, and puts back what was refused on the way.
pub(super) fn deliver<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
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
    let n_sent = hand.n_sent;
    let launch = hand.end_launch(done.len(), ms(end - shared.started));
    let mut reservation = hand.reservation.take();
    drop(hand);
    // The problems are gone; the answers' memory is held until they are taken.
    let held = reservation
        .as_mut()
        .map(|reservation| reservation.split(solutions_bytes));
    drop(reservation);
    let n_settled = n_claimed - refused.problems.len() - n_sent;
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
    shared.mailbox.send(Message::Outcomes {
        launch,
        done,
        checked,
        _held: held,
    });
    shared.queue.settle(n_settled);
}

/// Carries out a fault inside the code that it pretends to come from.
fn inject_fault<F: Finish>(fault: Option<Fault>, slot: &WorkerState<F>) {
    match fault {
        Some(Fault::Panic) => panic!("a panic on purpose"),
        Some(Fault::Slow(delay)) => wait(delay, slot),
        Some(Fault::Lost | Fault::OutOfMemory) | None => {}
    }
}

/// Sleeps like a solver that polls.
pub(super) fn wait<F: Finish>(delay: Duration, slot: &WorkerState<F>) {
    let start = Instant::now();
    while start.elapsed() < delay && !slot.stop.requested() {
        std::thread::sleep(Duration::from_millis(1).min(delay));
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

    fn flush<F: Finish>(self, shared: &Shared<F>) {
        let mut costs = lock(&shared.costs);
        for (size, n, took) in self.rows {
            costs.learn(WorkloadOf::<F>::NAME, &size, DeviceId::Cpu, n, took);
        }
        drop(costs);
        shared.costs_changed();
    }
}
