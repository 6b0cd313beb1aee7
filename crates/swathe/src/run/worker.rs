//! CPU workers: they take one range at a time from the queue to its outcomes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::finishing::{finish_answered, finish_one};
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

/// How a worker ended its work on a range.
enum CarryResult {
    /// The range was delivered or put back; the worker continues.
    Done,
    /// The worker itself is lost.
    Lost,
    /// The watchdog has taken the range away from this worker.
    Abandoned,
}

/// The local state of a worker, created by the first call that needs it. If the workload panics
/// while creating it, the panic is caught there.
pub(super) type Local<F> = Option<<WorkloadOf<F> as Workload>::Local>;

pub(super) fn work<F: Finish>(shared: &Arc<Shared<F>>, worker_state: &WorkerState<F>) {
    operation::listen();
    let mut clock = Clock::new(worker_state, DeviceId::Cpu);
    let mut local: Local<F> = None;
    loop {
        clock.enter(Phase::Idle);
        let left = match shared.queue.claim(shared, worker_state) {
            Claim::End => break,
            Claim::Abandoned => return worker_returned(shared),
            Claim::Settled(done) => {
                clock.enter(Phase::Deliver);
                settle_at_once(shared, done);
                continue;
            }
            Claim::Range(range) => carry(shared, worker_state, range, &mut clock, &mut local),
            Claim::Answered(answered) => {
                carry_answered(shared, worker_state, *answered, &mut clock, &mut local)
            }
        };
        match left {
            CarryResult::Done => {}
            CarryResult::Abandoned => return worker_returned(shared),
            CarryResult::Lost => {
                Shared::replace(shared, worker_state);
                // A lost worker is not joined: its stack is freed when its thread ends.
                shared.forget(worker_state.worker);
                break;
            }
        }
    }
    shared.mailbox.post(Message::Ended(clock.finish()));
}

/// Records that an abandoned worker has ended after all.
pub(super) fn worker_returned<F: Finish>(shared: &Shared<F>) {
    shared.n_stuck.fetch_sub(1, std::sync::atomic::Ordering::AcqRel);
}

/// How often a range may be lost together with its worker.
const N_LOSSES_MAX: u32 = 3;

/// Takes one range from reservation to delivery.
fn carry<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    range: Range,
    clock: &mut Clock<F>,
    local: &mut Local<F>,
) -> CarryResult {
    let start = clock.enter(Phase::Memory);
    let n_claimed = range.problems.len();
    let bytes = range.lanes_bytes() + range.scratch_bytes();
    let solutions_bytes = range.solutions_bytes();
    let memory = &shared.settings.memory;
    let reserved = memory.reserve_unless(bytes, &shared.stop, || shared.queue.has_answered());
    let mut lanes_held = match reserved {
        Ok(reservation) => reservation,
        Err(ReserveError::OutOfMemory(_)) => {
            put_back_smaller(shared, range, bytes);
            return CarryResult::Done;
        }
        Err(ReserveError::Stopped) if !shared.stop.is_cancelled() => {
            // A solved problem holds memory until a worker finishes it, so it comes first.
            shared.queue.put_back([range]);
            return CarryResult::Done;
        }
        Err(ReserveError::Stopped) => {
            shared.queue.settle(n_claimed);
            return CarryResult::Done;
        }
    };
    let scratch_held = lanes_held.split(range.scratch_bytes());
    let mut delay = Duration::ZERO;
    match shared.settings.memory.faults().strike(FaultPoint::Launch, None) {
        None => {}
        Some(Fault::Slow(by)) => delay = by,
        Some(Fault::OutOfMemory) => {
            drop((lanes_held, scratch_held));
            put_back_smaller(shared, range, bytes);
            return CarryResult::Done;
        }
        // A range that was lost with every worker so far is solved without further injected losses.
        Some(Fault::Lost | Fault::Panic) if range.n_attempts > N_LOSSES_MAX => {}
        Some(Fault::Lost | Fault::Panic) => {
            drop((lanes_held, scratch_held));
            shared.send_setback(SetbackCause::WorkerLost, n_claimed, Remedy::Replaced);
            let n_attempts = range.n_attempts + 1;
            shared.queue.put_back([Range { n_attempts, ..range }]);
            return CarryResult::Lost;
        }
    }

    let launch = Launch {
        device: DeviceId::Cpu,
        worker: worker_state.worker,
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
    begin_range(worker_state, range, lanes_held, scratch_held, launch);
    if load_all(shared, worker_state).is_none() {
        return CarryResult::Abandoned;
    }
    let load_end = clock.enter(Phase::Turn);
    let scratch_held = worker_state.loaded(ms(load_end - shared.started));
    // Without a scratch the run is being cancelled, and the loaded problems stay unsolved.
    let taken = scratch_held.and_then(|held| shared.scratches.take(held, &worker_state.stop));
    let end = if let Some(held) = taken {
        let solve_start = clock.enter(Phase::Solve);
        let Some(held) = solve_all(shared, worker_state, held, local, solve_start, delay) else {
            return CarryResult::Abandoned;
        };
        // Measured before the turn is released, because its next holder may preempt this thread.
        let end = clock.enter(Phase::Deliver);
        shared.scratches.give_back(held);
        end
    } else {
        clock.enter(Phase::Deliver)
    };
    deliver(shared, worker_state, n_claimed, solutions_bytes, end);
    CarryResult::Done
}

/// Puts a range back after its memory was refused: two halves may fit where the whole did not.
pub(super) fn put_back_smaller<F: Finish>(shared: &Shared<F>, mut range: Range, wanted_bytes: u64) {
    let n_problems = range.problems.len();
    let cause = SetbackCause::OutOfMemory { wanted_bytes };
    if n_problems > 1 {
        shared.send_setback(cause, n_problems, Remedy::Split);
        let n_attempts = range.n_attempts + 1;
        let second =
            Range { problems: range.problems.split_off(n_problems / 2), n_attempts, ..range };
        let first = Range { n_attempts, ..range };
        shared.queue.put_back([second, first]);
        return;
    }
    let budget_bytes = shared.settings.memory.reachable_bytes();
    let too_large = |_: &Planned| Outcome::TooLarge { wanted_bytes, budget_bytes };
    if wanted_bytes > budget_bytes {
        // The plan found it to fit, but abandoned solvers hold too much of the memory.
        give_up(shared, range, too_large);
    } else {
        // The refusal is temporary.
        shared.send_setback(cause, n_problems, Remedy::Retried);
        put_back(shared, range, too_large);
    }
}

/// Puts a range back for a retry. After very many attempts its problems get this outcome.
fn put_back<F: Finish>(
    shared: &Shared<F>,
    range: Range,
    outcome: impl FnMut(&Planned) -> OutcomeOf<F>,
) {
    /// Temporary refusals have passed by then, and a fault that always strikes must not retry for
    /// ever.
    const N_ATTEMPTS_MAX: u32 = 1000;

    let n_attempts = range.n_attempts + 1;
    if n_attempts > N_ATTEMPTS_MAX {
        give_up(shared, range, outcome);
    } else {
        shared.queue.put_back([Range { n_attempts, ..range }]);
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

pub(super) fn begin_range<F: Finish>(
    worker_state: &WorkerState<F>,
    range: Range,
    lanes_held: Reservation,
    scratch_held: Reservation,
    launch: Launch,
) {
    let mut in_flight = worker_state.in_flight();
    in_flight.class = range.class;
    in_flight.n_attempts = range.n_attempts;
    in_flight.to_load = range.problems;
    in_flight.reservation = Some(lanes_held);
    in_flight.scratch_reservation = Some(scratch_held);
    in_flight.launch = Some(launch);
}

/// Loads all problems of the range; `None` if the worker was abandoned meanwhile.
pub(super) fn load_all<F: Finish>(shared: &Shared<F>, worker_state: &WorkerState<F>) -> Option<()> {
    let mut last: Option<(Planned, Loaded<F>)> = None;
    loop {
        let planned = {
            let mut in_flight = worker_state.in_flight();
            if in_flight.abandoned {
                return None;
            }
            let n_attempts = in_flight.n_attempts;
            match last.take() {
                None => {}
                Some((planned, Loaded::Problem(problem))) => {
                    in_flight.loaded.push_back((planned, problem))
                }
                Some((planned, Loaded::Refused)) => in_flight.refused.push(planned),
                Some((planned, Loaded::Outcome(outcome))) => {
                    let took = Duration::ZERO;
                    let device = DeviceId::Cpu;
                    in_flight.done.push(Done {
                        index: planned.index,
                        outcome,
                        device,
                        took,
                        n_attempts,
                    });
                }
                Some((_, Loaded::Cancelled)) => {}
            }
            in_flight.current = None;
            if worker_state.stop.is_cancelled() {
                in_flight.to_load.clear();
                in_flight.loaded.clear();
            }
            let Some(planned) = in_flight.to_load.pop_front() else {
                return Some(());
            };
            worker_state.begin(&mut in_flight, planned, Instant::now());
            planned
        };
        last = Some((planned, load_one(shared, worker_state, &planned)));
    }
}

enum Loaded<F: Finish> {
    Problem(ProblemOf<F>),
    Outcome(OutcomeOf<F>),
    Refused,
    Cancelled,
}

fn load_one<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    planned: &Planned,
) -> Loaded<F> {
    let faults = shared.settings.memory.faults();
    let fault = faults.strike(FaultPoint::Load, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Loaded::Refused;
    }
    let loaded = guarded(|| {
        inject_fault(fault, worker_state);
        let problem = shared.source.load(planned.index, &worker_state.stop)?;
        let size = shared.workload().size(&problem);
        Ok::<(ProblemOf<F>, Size), F::Failure>((problem, size))
    });
    match loaded {
        Ok(Ok((problem, size))) => {
            let planned = planned.size;
            if size.shape == planned.shape && size.class == planned.class {
                Loaded::Problem(problem)
            } else {
                Loaded::Outcome(Outcome::WrongSize { surveyed: planned.shape, loaded: size.shape })
            }
        }
        Ok(Err(_)) if worker_state.stop.is_cancelled() => Loaded::Cancelled,
        Ok(Err(_)) if worker_state.stop.is_expired() => {
            Loaded::Outcome(Outcome::TimedOut { after: shared.settings.time_limit })
        }
        Ok(Err(failure)) => Loaded::Outcome(Outcome::Failed(failure)),
        Err(panic) => Loaded::Outcome(Outcome::Panicked { message: panic_message(panic) }),
    }
}

/// Solves all loaded problems; `None` if the worker was abandoned meanwhile.
fn solve_all<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    held: ScratchLease<WorkloadOf<F>>,
    local: &mut Local<F>,
    solve_start: Instant,
    mut delay: Duration,
) -> Option<ScratchLease<WorkloadOf<F>>> {
    let ScratchLease { mut scratch, reservation } = held;
    {
        let mut in_flight = worker_state.in_flight();
        in_flight.has_turn = true;
        in_flight.scratch_reservation = Some(reservation);
        if let Some(launch) = &mut in_flight.launch {
            launch.solve_start_ms = ms(solve_start - shared.started);
        }
    }
    let mut tally = Tally::default();
    let mut last: Option<(Planned, Solved<F>, Duration)> = None;
    let mut now = solve_start;
    let reservation = loop {
        let (planned, problem) = {
            let mut in_flight = worker_state.in_flight();
            if in_flight.abandoned {
                return None;
            }
            let n_attempts = in_flight.n_attempts;
            match last.take() {
                Some((planned, Solved::Outcome(outcome), took)) => {
                    let device = DeviceId::Cpu;
                    in_flight.done.push(Done {
                        index: planned.index,
                        outcome,
                        device,
                        took,
                        n_attempts,
                    });
                }
                Some((planned, Solved::Refused, _)) => in_flight.refused.push(planned),
                Some((_, Solved::Cancelled | Solved::Delivered, _)) | None => {}
            }
            in_flight.current = None;
            if worker_state.stop.is_cancelled() {
                in_flight.loaded.clear();
            }
            let Some((planned, problem)) = in_flight.loaded.pop_front() else {
                in_flight.has_turn = false;
                break in_flight.scratch_reservation.take();
            };
            worker_state.begin(&mut in_flight, planned, now);
            (planned, problem)
        };
        if !delay.is_zero() {
            wait(std::mem::take(&mut delay), worker_state);
        }
        let solved = solve_one(shared, worker_state, &planned, &problem, &mut scratch, local);
        let began = now;
        // The end of one problem is the beginning of the next, so the clock is read once for each.
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
                        n_attempts: worker_state.in_flight().n_attempts,
                        to_check: true,
                        held: None,
                    };
                    worker_state.in_flight().answered.push_back(answered);
                    finish_answered(shared, worker_state, local)?;
                    now = Instant::now();
                    Solved::Delivered
                } else {
                    if took > FINISH_ANEW {
                        worker_state.begin(&mut worker_state.in_flight(), planned, now);
                    }
                    let outcome = finish_one(shared, worker_state, &planned, &problem, solution);
                    Solved::Outcome(outcome)
                }
            }
            Err(solved) => solved,
        };
        last = Some((planned, solved, took));
    };
    tally.flush(shared);
    reservation.map(|reservation| ScratchLease { scratch, reservation })
}

/// A problem that took longer than this to solve gets its whole time limit again for finishing. A
/// shorter one has nearly all of it left.
const FINISH_ANEW: Duration = Duration::from_millis(1);

enum Solved<F: Finish> {
    Outcome(OutcomeOf<F>),
    Refused,
    Cancelled,
    /// Its outcome is already in `done`.
    Delivered,
}

fn solve_one<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
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
        inject_fault(fault, worker_state);
        let scratch = scratch.get_or_insert_with(|| workload.scratch());
        let local = local.get_or_insert_with(|| workload.local());
        workload.solve(problem, scratch, local, &worker_state.stop)
    });
    match solved {
        Ok(Ok(solution)) => Ok(solution),
        Ok(Err(_)) if worker_state.stop.is_cancelled() => Err(Solved::Cancelled),
        Ok(Err(_)) if worker_state.stop.is_expired() => {
            Err(Solved::Outcome(Outcome::TimedOut { after: shared.settings.time_limit }))
        }
        Ok(Err(failure)) => Err(Solved::Outcome(Outcome::Failed(failure.into()))),
        Err(panic) => {
            // The panic may have left them in an inconsistent state.
            *scratch = None;
            *local = None;
            Err(Solved::Outcome(Outcome::Panicked { message: panic_message(panic) }))
        }
    }
}

/// Finishes a problem that another worker has solved.
fn carry_answered<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    mut answered: Answered<F>,
    clock: &mut Clock<F>,
    local: &mut Local<F>,
) -> CarryResult {
    clock.enter(Phase::Memory);
    let need = answered.planned.need;
    // Not waited for, because the answer holds memory itself: the stuck check that it comes from may
    // hold the rest for ever. A solved problem is finished even if this memory is refused.
    let scratch_held = shared.settings.memory.try_reserve(need.scratch_bytes);
    clock.enter(Phase::Turn);
    {
        let mut in_flight = worker_state.in_flight();
        in_flight.reservation = answered.held.take();
        in_flight.class = answered.planned.size.class;
        in_flight.n_attempts = answered.n_attempts;
        in_flight.answered.push_back(answered);
    }
    let turn = match scratch_held {
        Ok(held) => shared.scratches.take(held, &worker_state.stop),
        Err(_) => None,
    };
    worker_state.in_flight().has_turn = turn.is_some();
    clock.enter(Phase::Solve);
    if finish_answered(shared, worker_state, local).is_none() {
        return CarryResult::Abandoned;
    }
    worker_state.in_flight().has_turn = false;
    let end = clock.enter(Phase::Deliver);
    if let Some(held) = turn {
        shared.scratches.give_back(held);
    }
    deliver(shared, worker_state, 1, need.solution_bytes, end);
    CarryResult::Done
}

/// Delivers the outcomes of a range, and puts back problems whose memory was refused.
pub(super) fn deliver<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    n_claimed: usize,
    solutions_bytes: u64,
    end: Instant,
) {
    let mut in_flight = worker_state.in_flight();
    let done = std::mem::take(&mut in_flight.done);
    let refused = std::mem::take(&mut in_flight.refused);
    in_flight.leave(&refused);
    let refused = Range {
        class: in_flight.class,
        problems: refused.into(),
        n_attempts: in_flight.n_attempts,
        padded: None,
    };
    let checked = std::mem::take(&mut in_flight.checked);
    in_flight.note_operations(Phase::Solve);
    let n_sent = in_flight.n_sent;
    let launch = in_flight.end_launch(done.len(), ms(end - shared.started));
    let mut reservation = in_flight.reservation.take();
    drop(in_flight);
    // The problems are dropped. The memory of the answers is held until they are taken.
    let held = reservation.as_mut().map(|reservation| reservation.split(solutions_bytes));
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
    shared.mailbox.send(Message::Outcomes { launch, done, checked, _held: held });
    shared.queue.settle(n_settled);
}

/// Injects a fault inside the code whose failure it simulates.
fn inject_fault<F: Finish>(fault: Option<Fault>, worker_state: &WorkerState<F>) {
    match fault {
        Some(Fault::Panic) => panic!("a panic on purpose"),
        Some(Fault::Slow(delay)) => wait(delay, worker_state),
        Some(Fault::Lost | Fault::OutOfMemory) | None => {}
    }
}

/// Sleeps like a solver that polls its stop.
pub(super) fn wait<F: Finish>(delay: Duration, worker_state: &WorkerState<F>) {
    let start = Instant::now();
    while start.elapsed() < delay && !worker_state.stop.requested() {
        std::thread::sleep(Duration::from_millis(1).min(delay));
    }
}

/// The times of the problems of a range by class and shape, learnt together.
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
            None => self.rows.push((Size { shape: bin, ..*size }, 1, took)),
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
