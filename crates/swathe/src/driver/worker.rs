//! Workers: each carries out one order after another, for the CPU or for a device.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::finishing::{finish_answered, finish_one};
use super::launch::launch;
use super::scratches::ScratchLease;
use super::slot::{Answered, Current, Slot};
use super::window::plan_window;
use super::{
    Done, Driver, Message, OutcomeOf, ProblemOf, SolutionOf, WorkloadOf, guarded, lock, ms,
    panic_message,
};
use crate::coordinator::{Event, MemoryAnswer, Order, Place, Range};
use crate::fault::{Fault, FaultPoint};
use crate::memory::{Grant, Reservation};
use crate::report::{Launch, Phase};
use crate::{DeviceId, Finish, Outcome, Planned, Size, Workload, operation};

/// The local state of a worker, created by the first call that needs it. If the workload panics
/// while creating it, the panic is caught there.
pub(super) type Local<F> = Option<<WorkloadOf<F> as Workload>::Local>;

/// What a worker keeps from one order to the next.
pub(super) struct Bench<'a, F: Finish> {
    pub(super) clock: Clock<'a, F>,
    pub(super) local: Local<F>,
    granted: Option<Reservation>,
    /// When it began to ask for the memory of its range.
    asked_at: Option<Instant>,
    /// An injected delay of the next launch.
    delay: Duration,
}

/// The thread of a worker.
pub(super) fn work<F: Finish>(driver: &Arc<Driver<F>>, slot: &Slot<F>) {
    slot.attach();
    operation::listen();
    let mut bench = Bench {
        clock: Clock::new(slot),
        local: None,
        granted: None,
        asked_at: None,
        delay: Duration::ZERO,
    };
    let mut event = Event::Started(slot.worker);
    loop {
        let waits_for_turn = match &event {
            Event::Loaded(_) => true,
            Event::Launched(launched) => {
                matches!(launched.result, Ok(answers) if answers.n_answered > 0)
            }
            _ => false,
        };
        let (order, phase) = driver.tell_as(Some(slot.worker), event);
        let order = order.unwrap_or_else(|| {
            bench.clock.enter(if waits_for_turn { Phase::Turn } else { phase });
            slot.wait()
        });
        if matches!(order, Order::Quit) {
            break;
        }
        match carry_out(driver, slot, order, &mut bench) {
            Some(next) => event = next,
            None => return driver.returned(slot),
        }
    }
    driver.send(Message::Ended(bench.clock.finish()));
}

/// Carries out an order; `None` if the worker was abandoned meanwhile.
fn carry_out<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    order: Order,
    bench: &mut Bench<'_, F>,
) -> Option<Event> {
    let worker = slot.worker;
    match order {
        Order::Plan { first, last, with_devices } => {
            bench.clock.enter(Phase::Idle);
            let window = plan_window(driver, slot, first, last, with_devices)?;
            Some(Event::Planned { worker, window })
        }
        Order::Reserve { bytes, n_attempts } => {
            let answer = reserve(driver, slot, bytes, n_attempts, bench)?;
            Some(Event::Memory { worker, answer })
        }
        Order::Load(range) => {
            load(driver, slot, range, bench)?;
            Some(Event::Loaded(worker))
        }
        Order::Continue if !slot.work().answered.is_empty() => {
            slot.work().has_turn = true;
            bench.clock.enter(Phase::Solve);
            finish_answered(driver, slot, &mut bench.local)?;
            Some(deliver(driver, slot, &mut bench.clock, Vec::new()))
        }
        Order::Continue => match slot.place {
            Place::Cpu => solve(driver, slot, bench),
            Place::Device(number) => launch(driver, slot, number, bench),
        },
        Order::GiveBack => {
            let (returned, problems): (_, Vec<_>) = slot.work().loaded.drain(..).unzip();
            drop(problems);
            slot.work().leave(&returned);
            drop(slot.work().scratch_reservation.take());
            Some(deliver_rest(driver, slot, &mut bench.clock, Vec::new(), returned))
        }
        Order::Finish(index) => finish_left(driver, slot, index, bench),
        Order::Reopen => {
            bench.clock.enter(Phase::Solve);
            slot.begin(Current::Other, Instant::now())?;
            let device = match slot.place {
                Place::Device(number) => &driver.devices[number],
                Place::Cpu => return Some(Event::Reopened { worker, error: None }),
            };
            let opened = device.reopen(&driver.settings.memory);
            drop(slot.end()?);
            Some(Event::Reopened { worker, error: opened.err().map(|error| error.to_string()) })
        }
        Order::Quit => None,
    }
}

/// How often a range may be lost together with its worker.
const N_LOSSES_MAX: u32 = 3;

/// Asks for the memory of a range.
fn reserve<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    bytes: u64,
    n_attempts: u32,
    bench: &mut Bench<'_, F>,
) -> Option<MemoryAnswer> {
    let now = bench.clock.enter(Phase::Memory);
    bench.asked_at.get_or_insert(now);
    // Whoever holds memory is asked to release it, which may not return.
    slot.begin(Current::Other, now)?;
    let grant = driver.memory_line.request(bytes);
    drop(slot.end()?);
    let reservation = match grant {
        Grant::Granted(reservation) => reservation,
        Grant::Busy => return Some(MemoryAnswer::Busy),
        Grant::Refused { reachable_bytes } => {
            bench.asked_at = None;
            return Some(MemoryAnswer::Refused { reachable_bytes });
        }
    };
    bench.granted = Some(reservation);
    // Devices inject the faults of launches in their own calls.
    let faults = driver.settings.memory.faults();
    let fault = match slot.place {
        Place::Cpu => faults.strike(FaultPoint::Launch, None),
        Place::Device(_) => None,
    };
    let answer = match fault {
        // A range that was lost with every worker so far is solved without further injected losses.
        Some(Fault::Lost | Fault::Panic) if n_attempts <= N_LOSSES_MAX => MemoryAnswer::Lost,
        Some(Fault::OutOfMemory) => {
            bench.granted = None;
            bench.asked_at = None;
            let reachable_bytes = driver.settings.memory.reachable_bytes();
            MemoryAnswer::Refused { reachable_bytes }
        }
        Some(Fault::Slow(by)) => {
            bench.delay = by;
            MemoryAnswer::Granted
        }
        Some(Fault::Lost | Fault::Panic) | None => MemoryAnswer::Granted,
    };
    if answer == MemoryAnswer::Lost {
        bench.granted = None;
    }
    Some(answer)
}

/// Loads all problems of a range, whose memory was granted.
fn load<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    range: Range,
    bench: &mut Bench<'_, F>,
) -> Option<()> {
    let load_start = bench.clock.enter(Phase::Load);
    let start = bench.asked_at.take().unwrap_or(load_start);
    let mut lanes_held = bench.granted.take();
    let bytes = lanes_held.as_ref().map_or(0, Reservation::bytes);
    // The memory of a launch includes the scratch of one problem, because workloads finish on the
    // CPU what a device has begun.
    let scratch_held = match slot.place {
        Place::Cpu => lanes_held.as_mut().map(|held| held.split(range.scratch_bytes())),
        Place::Device(_) => None,
    };
    let launch = Launch {
        device: slot.device,
        worker: slot.worker,
        class: range.class,
        shape: range.padded.map_or_else(|| range.shape(), |padded| padded.size.shape),
        n_lanes: 0,
        volume_real: range.volume(),
        volume_launched: 0,
        bytes,
        start_ms: ms(start - driver.started),
        load_start_ms: ms(load_start - driver.started),
        load_end_ms: 0.0,
        solve_start_ms: 0.0,
        end_ms: 0.0,
    };
    {
        let mut work = slot.work();
        work.class = range.class;
        work.n_attempts = range.n_attempts;
        work.solutions_bytes = range.solutions_bytes();
        work.reservation = lanes_held;
        work.scratch_reservation = scratch_held;
        work.lane_volume = range
            .padded
            .filter(|_| !driver.workload().gpu_is_packed())
            .map(|padded| padded.size.shape.volume());
        work.launch = Some(launch);
        work.padded = range.padded.map(|padded| padded.size);
        work.to_load = range.problems;
    }
    load_all(driver, slot)?;
    let load_end = bench.clock.enter(Phase::Turn);
    let mut work = slot.work();
    work.note_operations(Phase::Load);
    if let Some(launch) = &mut work.launch {
        launch.load_end_ms = ms(load_end - driver.started);
    }
    Some(())
}

/// Loads all problems of the range; `None` if the worker was abandoned meanwhile.
fn load_all<F: Finish>(driver: &Driver<F>, slot: &Slot<F>) -> Option<()> {
    let mut last: Option<(Planned, Loaded<F>)> = None;
    loop {
        let planned = {
            let mut work = slot.end()?;
            let n_attempts = work.n_attempts;
            match last.take() {
                None => {}
                Some((planned, Loaded::Problem(problem))) => {
                    work.loaded.push_back((planned, problem));
                }
                Some((planned, Loaded::Refused)) => work.refused.push(planned),
                Some((planned, Loaded::Outcome(outcome))) => {
                    let took = Duration::ZERO;
                    let device = DeviceId::Cpu;
                    let index = planned.index;
                    work.done.push(Done { index, outcome, device, took, n_attempts });
                }
                Some((_, Loaded::Cancelled)) => {}
            }
            if slot.stop.is_cancelled() {
                work.to_load.clear();
            }
            let Some(planned) = work.to_load.pop_front() else {
                return Some(());
            };
            work.begin(slot, Current::problem(&planned), Instant::now());
            planned
        };
        last = Some((planned, load_one(driver, slot, &planned)));
    }
}

enum Loaded<F: Finish> {
    Problem(ProblemOf<F>),
    Outcome(OutcomeOf<F>),
    Refused,
    Cancelled,
}

fn load_one<F: Finish>(driver: &Driver<F>, slot: &Slot<F>, planned: &Planned) -> Loaded<F> {
    let faults = driver.settings.memory.faults();
    let fault = faults.strike(FaultPoint::Load, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Loaded::Refused;
    }
    let loaded = guarded(|| {
        inject_fault(fault, slot);
        let problem = driver.source.load(planned.index, &slot.stop)?;
        let size = driver.workload().size(&problem);
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
        Ok(Err(_)) if slot.stop.is_cancelled() => Loaded::Cancelled,
        Ok(Err(_)) if slot.stop.is_expired() => {
            Loaded::Outcome(Outcome::TimedOut { after: driver.settings.time_limit })
        }
        Ok(Err(failure)) => Loaded::Outcome(Outcome::Failed(failure)),
        Err(panic) => Loaded::Outcome(Outcome::Panicked { message: panic_message(panic) }),
    }
}

/// Solves and finishes the loaded problems one by one.
fn solve<F: Finish>(driver: &Driver<F>, slot: &Slot<F>, bench: &mut Bench<'_, F>) -> Option<Event> {
    let solve_start = bench.clock.enter(Phase::Solve);
    let mut lease = {
        let mut work = slot.work();
        work.has_turn = true;
        if let Some(launch) = &mut work.launch {
            launch.solve_start_ms = ms(solve_start - driver.started);
        }
        let reservation = work.scratch_reservation.take();
        drop(work);
        reservation.map(|reservation| driver.scratches.take(reservation))
    };
    let mut scratch = None;
    if let Some(ScratchLease { scratch: kept, reservation }) = lease.take() {
        scratch = kept;
        // Where the timer finds it, if this worker gets stuck.
        slot.work().scratch_reservation = Some(reservation);
    }
    let mut tally = Tally::default();
    let delay = std::mem::take(&mut bench.delay);
    let reservation =
        solve_all(driver, slot, &mut scratch, &mut bench.local, solve_start, delay, &mut tally)?;
    if let Some(reservation) = reservation {
        driver.scratches.give_back(ScratchLease { scratch, reservation });
    }
    Some(deliver(driver, slot, &mut bench.clock, tally.rows))
}

/// Solves all loaded problems, and returns the memory of the scratch. `None` if the worker was
/// abandoned meanwhile.
fn solve_all<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    scratch: &mut Option<<WorkloadOf<F> as Workload>::Scratch>,
    local: &mut Local<F>,
    solve_start: Instant,
    mut delay: Duration,
    tally: &mut Tally,
) -> Option<Option<Reservation>> {
    let mut last: Option<(Planned, Solved<F>, Duration)> = None;
    let mut now = solve_start;
    loop {
        let (planned, problem) = {
            let mut work = slot.end()?;
            let n_attempts = work.n_attempts;
            match last.take() {
                Some((planned, Solved::Outcome(outcome), took)) => {
                    let device = DeviceId::Cpu;
                    let index = planned.index;
                    work.done.push(Done { index, outcome, device, took, n_attempts });
                }
                Some((planned, Solved::Refused, _)) => work.refused.push(planned),
                Some((_, Solved::Cancelled | Solved::Delivered, _)) | None => {}
            }
            if slot.stop.is_cancelled() {
                work.loaded.clear();
            }
            let Some((planned, problem)) = work.loaded.pop_front() else {
                work.has_turn = false;
                return Some(work.scratch_reservation.take());
            };
            work.begin(slot, Current::problem(&planned), now);
            (planned, problem)
        };
        if !delay.is_zero() {
            wait(std::mem::take(&mut delay), slot);
        }
        let solved = solve_one(driver, slot, &planned, &problem, scratch, local);
        let began = now;
        // The end of one problem is the beginning of the next, so the clock is read once for each.
        now = Instant::now();
        let took = now - began;
        let solved = match solved {
            Ok(solution) => {
                tally.add(&planned.size, took);
                if driver.is_verified(planned.index, &planned.size) {
                    let mut work = slot.end()?;
                    let answered = Answered {
                        planned,
                        problem,
                        solution,
                        device: DeviceId::Cpu,
                        took,
                        n_attempts: work.n_attempts,
                        to_check: true,
                        held: None,
                    };
                    work.answered.push_back(answered);
                    drop(work);
                    finish_answered(driver, slot, local)?;
                    now = Instant::now();
                    Solved::Delivered
                } else {
                    if took > FINISH_ANEW {
                        slot.begin(Current::problem(&planned), now)?;
                    }
                    let outcome = finish_one(driver, slot, &planned, &problem, solution);
                    Solved::Outcome(outcome)
                }
            }
            Err(solved) => solved,
        };
        last = Some((planned, solved, took));
    }
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
    driver: &Driver<F>,
    slot: &Slot<F>,
    planned: &Planned,
    problem: &ProblemOf<F>,
    scratch: &mut Option<<WorkloadOf<F> as Workload>::Scratch>,
    local: &mut Local<F>,
) -> Result<SolutionOf<F>, Solved<F>> {
    let faults = driver.settings.memory.faults();
    let fault = faults.strike(FaultPoint::Item, Some(planned.index));
    if fault == Some(Fault::OutOfMemory) {
        return Err(Solved::Refused);
    }
    let workload = driver.workload();
    let solved = guarded(|| {
        inject_fault(fault, slot);
        let scratch = scratch.get_or_insert_with(|| workload.scratch());
        let local = local.get_or_insert_with(|| workload.local());
        workload.solve(problem, scratch, local, &slot.stop)
    });
    match solved {
        Ok(Ok(solution)) => Ok(solution),
        Ok(Err(_)) if slot.stop.is_cancelled() => Err(Solved::Cancelled),
        Ok(Err(_)) if slot.stop.is_expired() => {
            Err(Solved::Outcome(Outcome::TimedOut { after: driver.settings.time_limit }))
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
fn finish_left<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    index: usize,
    bench: &mut Bench<'_, F>,
) -> Option<Event> {
    bench.clock.enter(Phase::Solve);
    let left = lock(&driver.core).left.remove(&index);
    let mut answered = left.expect("an answer that is left is finished once");
    let need = answered.planned.need;
    // Not waited for, because the answer holds memory itself: the stuck check that it comes from may
    // hold the rest for ever. A solved problem is finished even if this memory is refused.
    let scratch_held = driver.settings.memory.try_reserve(need.scratch_bytes).ok();
    {
        let mut work = slot.work();
        work.reservation = answered.held.take();
        work.scratch_reservation = scratch_held;
        work.solutions_bytes = need.solution_bytes;
        work.class = answered.planned.size.class;
        work.n_attempts = answered.n_attempts;
        work.has_turn = true;
        work.answered.push_back(answered);
    }
    finish_answered(driver, slot, &mut bench.local)?;
    Some(deliver(driver, slot, &mut bench.clock, Vec::new()))
}

/// Delivers the outcomes of a range that has ended.
pub(super) fn deliver<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    clock: &mut Clock<'_, F>,
    costs: Vec<(Size, u64, Duration)>,
) -> Event {
    deliver_rest(driver, slot, clock, costs, Vec::new())
}

fn deliver_rest<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    clock: &mut Clock<'_, F>,
    costs: Vec<(Size, u64, Duration)>,
    returned: Vec<Planned>,
) -> Event {
    let (n_done, refused) = send_range(driver, slot, clock);
    Event::Ended { worker: slot.worker, n_done, refused, returned, costs }
}

/// Sends the outcomes of the range to the caller and releases its memory. Returns how many there
/// are, and the problems whose memory was refused.
pub(super) fn send_range<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    clock: &mut Clock<'_, F>,
) -> (usize, Vec<Planned>) {
    let end = clock.enter(Phase::Deliver);
    let mut work = slot.work();
    let done = std::mem::take(&mut work.done);
    let refused = std::mem::take(&mut work.refused);
    work.leave(&refused);
    let checked = std::mem::take(&mut work.checked);
    work.note_operations(Phase::Solve);
    let launch = work.end_launch(done.len(), ms(end - driver.started));
    let mut reservation = work.reservation.take();
    let scratch_reservation = work.scratch_reservation.take();
    let solutions_bytes = work.solutions_bytes;
    work.has_turn = false;
    drop(work);
    // The problems are dropped. The memory of the answers is held until they are taken.
    let held = reservation.as_mut().map(|reservation| reservation.split(solutions_bytes));
    drop((reservation, scratch_reservation));
    let n_done = done.len();
    driver.send(Message::Outcomes { launch, done, checked, _held: held });
    (n_done, refused)
}

/// Injects a fault inside the code whose failure it simulates.
fn inject_fault<F: Finish>(fault: Option<Fault>, slot: &Slot<F>) {
    match fault {
        Some(Fault::Panic) => panic!("a panic on purpose"),
        Some(Fault::Slow(delay)) => wait(delay, slot),
        Some(Fault::Lost | Fault::OutOfMemory) | None => {}
    }
}

/// Sleeps like a solver that polls its stop.
pub(super) fn wait<F: Finish>(delay: Duration, slot: &Slot<F>) {
    let start = Instant::now();
    while start.elapsed() < delay && !slot.stop.requested() {
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
}
