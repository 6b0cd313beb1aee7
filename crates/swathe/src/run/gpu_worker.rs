//! Workers of devices: a launch at a time.
//!
//! Two work for each device: one loads the next launch while the other's runs. Whatever a device
//! does, the problems of its launch go on: cut in two, put back, or to the CPU.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::finishing::finish_answered;
use super::gpu_backlog::WorkerKind;
use super::gpu_pool::Member;
use super::queue::{Claim, Range};
use super::worker::{
    Local, came_back, deliver, load_all, put_back_smaller, settle_at_once, take_in_hand, wait,
};
use super::worker_state::{Answered, OnGpu, WorkerState};
use super::{
    Done, Message, ProblemOf, Shared, SolutionOf, WorkloadOf, guarded, lock, ms, panic_message,
};
use crate::fault::{Fault, FaultPoint};
use crate::memory::ReserveError;
use crate::report::{Launch, Phase, Remedy, SetbackCause};
use crate::{
    Device, DeviceId, Finish, GpuError, Lane, Outcome, Planned, Size, Workload, operation,
};

pub(super) fn work<F: Finish>(shared: &Arc<Shared<F>>, slot: &WorkerState<F>, number: usize) {
    operation::listen();
    let mut clock = Clock::new(slot, shared.gpu_pool.id(number));
    let mut local: Local<F> = None;
    loop {
        clock.enter(Phase::Idle);
        match shared.queue.claim(shared, WorkerKind::Gpu(number)) {
            Claim::End => break,
            Claim::Settled(done) => {
                clock.enter(Phase::Deliver);
                settle_at_once(shared, done);
            }
            Claim::Range(range) => {
                if carry(shared, slot, number, range, &mut clock, &mut local).is_none() {
                    return came_back(shared);
                }
            }
            // Only workers of the CPU claim these.
            Claim::Answered(answered) => shared.queue.put_back_answered(vec![*answered]),
        }
    }
    shared.mailbox.post(Message::Ended(clock.finish()));
}

/// Takes one launch all the way; `None` if the worker was left behind.
fn carry<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    number: usize,
    mut range: Range,
    clock: &mut Clock<F>,
    local: &mut Local<F>,
) -> Option<()> {
    let start = clock.enter(Phase::Memory);
    let device = shared.gpu_pool.id(number);
    let Some(padded) = range.padded else {
        // Nothing but launches comes here; the CPU takes anything.
        shared.queue.put_back([range]);
        return Some(());
    };
    let n_claimed = range.problems.len();
    let member = shared.gpu_pool.member(number);
    // With the scratch of one problem: workloads finish on the CPU what a device has begun. The
    // memory of a launch on the host is the run's own.
    let launch_bytes = match &member.device {
        Device::Gpu(_) => 0,
        Device::Host(_) => {
            let need = shared.workload().need(&padded, device.kind());
            let lane_bytes = need.lane_bytes.saturating_add(need.solution_bytes);
            need.scratch_bytes
                .saturating_add(lane_bytes.saturating_mul(n_claimed as u64))
        }
    };
    let bytes = range.lanes_bytes() + range.scratch_bytes() + launch_bytes;
    let solutions_bytes = range.solutions_bytes();
    let mut held = match shared.settings.memory.reserve(bytes, &shared.stop) {
        Ok(held) => held,
        Err(ReserveError::OutOfMemory(_)) if n_claimed > 1 => {
            put_back_smaller(shared, range, bytes);
            return Some(());
        }
        Err(ReserveError::OutOfMemory(_)) => {
            let cause = SetbackCause::OutOfMemory {
                wanted_bytes: bytes,
            };
            shared.send_setback_of(device, cause, n_claimed, Remedy::ToCpu);
            range.padded = None;
            range.n_attempts += 1;
            shared.queue.put_back([range]);
            return Some(());
        }
        Err(ReserveError::Stopped) => {
            shared.queue.settle(n_claimed);
            return Some(());
        }
    };
    let (class, n_attempts) = (range.class, range.n_attempts);
    let launch = Launch {
        device,
        worker: slot.worker,
        class,
        shape: padded.shape,
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
    let scratch_held = held.split(0);
    take_in_hand(slot, range, held, scratch_held, launch);
    slot.hand().lane_volume = match shared.workload().gpu_is_packed() {
        true => None,
        false => Some(padded.shape.volume()),
    };
    load_all(shared, slot)?;
    let load_end = clock.enter(Phase::Turn);
    // Nothing was split off for a scratch: the launch's own is the device's.
    drop(slot.loaded(ms(load_end - shared.started)));
    let handed = if let Some(turn) = member.turn(&slot.stop) {
        let solve_start = clock.enter(Phase::Solve);
        let handed = launch_loaded(shared, slot, member, number, padded, solve_start)?;
        // The device is for the next launch: what is left to do with the answers is the CPU's work.
        drop(turn);
        if !slot.hand().answered.is_empty() {
            clock.enter(Phase::Turn);
            let nothing = slot.hand().reservation.as_mut().map(|held| held.split(0));
            let turn = nothing.and_then(|nothing| shared.scratches.take(nothing, &slot.stop));
            slot.hand().has_turn = turn.is_some();
            clock.enter(Phase::Solve);
            finish_answered(shared, slot, local)?;
            slot.hand().has_turn = false;
            if let Some(turn) = turn {
                shared.scratches.give_back(turn);
            }
        }
        handed
    } else {
        // The device is not used any more, or the run is cancelled.
        let loaded = slot.hand().loaded.drain(..).collect::<Vec<_>>();
        let problems: Vec<Planned> = loaded.iter().map(|(planned, _)| *planned).collect();
        match slot.stop.is_cancelled() {
            true => Vec::new(),
            false => vec![Requeue {
                problems,
                to: RequeueTarget::Cpu,
            }],
        }
    };
    let end = clock.enter(Phase::Deliver);
    let mut n_left = n_claimed;
    let range = |problems: Vec<Planned>, padded: Option<Size>| Range {
        class,
        problems: problems.into(),
        n_attempts: n_attempts + 1,
        padded,
    };
    for Requeue { problems, to } in handed {
        n_left -= problems.len();
        slot.hand().leave(&problems);
        match to {
            RequeueTarget::Cpu => shared.queue.put_back([range(problems, None)]),
            RequeueTarget::Gpu => shared.queue.put_back([range(problems, Some(padded))]),
            RequeueTarget::GpuHalves => {
                let mut first = problems;
                let second = first.split_off(first.len() / 2);
                let halves = [range(second, Some(padded)), range(first, Some(padded))];
                shared.queue.put_back(halves);
            }
        }
    }
    deliver(shared, slot, n_left, solutions_bytes, end);
    Some(())
}

/// Problems of a launch that have no outcome yet.
struct Requeue {
    problems: Vec<Planned>,
    to: RequeueTarget,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RequeueTarget {
    Cpu,
    Gpu,
    GpuHalves,
}

/// Why a launch came to nothing.
enum LaunchFailure {
    Device(GpuError),
    /// The workload's own code panicked or gave the wrong number of answers.
    Code(String),
}

/// Solves all problems in hand together: answers wait in hand to be finished, and what is to be
/// tried elsewhere is returned. `None` if the worker was left behind meanwhile.
fn launch_loaded<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    member: &Member,
    number: usize,
    padded: Size,
    solve_start: Instant,
) -> Option<Vec<Requeue>> {
    let device = shared.gpu_pool.id(number);
    let (lanes, n_attempts) = {
        let mut hand = slot.hand();
        if hand.abandoned {
            return None;
        }
        if slot.stop.is_cancelled() {
            hand.loaded.clear();
        }
        let lanes: Vec<(Planned, ProblemOf<F>)> = hand.loaded.drain(..).collect();
        if let Some(launch) = &mut hand.launch {
            launch.solve_start_ms = ms(solve_start - shared.started);
        }
        slot.stop.renew();
        hand.on_gpu = Some(OnGpu {
            number,
            problems: lanes.iter().map(|(planned, _)| *planned).collect(),
            since: solve_start,
            is_reopening: false,
        });
        (lanes, hand.n_attempts)
    };
    // A problem that a fault is to strike goes where the fault strikes it alone.
    let faults = shared.settings.memory.faults();
    let struck = |planned: &Planned| {
        faults
            .strike(FaultPoint::Item, Some(planned.index))
            .is_some()
    };
    let (aside, lanes): (Vec<_>, Vec<_>) =
        lanes.into_iter().partition(|(planned, _)| struck(planned));
    let mut handed = Vec::new();
    if !aside.is_empty() {
        let reason = "a fault on purpose is to strike it".to_owned();
        let problems: Vec<Planned> = aside.into_iter().map(|(planned, _)| planned).collect();
        handed.push(hand_over(shared, device, problems, reason));
    }
    let n_compiled = member.device.n_compiled();
    let launched = launch(shared, slot, member, padded, &lanes);
    let took = solve_start.elapsed();
    let planned: Vec<Planned> = lanes.iter().map(|(planned, _)| *planned).collect();
    if slot.hand().abandoned {
        return None;
    }
    if launched.is_err() && slot.stop.is_cancelled() {
        slot.hand().on_gpu = None;
        return Some(handed);
    }
    let answers = match launched {
        Ok(answers) => answers,
        Err(trouble) => {
            // Still on the device as far as the watchdog sees: a driver may hang in here as well.
            handed.push(recover_launch(
                shared,
                slot,
                member,
                padded.class,
                device,
                planned,
                trouble,
            ));
            let mut hand = slot.hand();
            if hand.abandoned {
                return None;
            }
            hand.on_gpu = None;
            return Some(handed);
        }
    };
    // What was spent on compiling kernels says nothing about the next launch.
    if member.device.n_compiled() == n_compiled {
        learn(shared, member, device, &padded, answers.len(), took);
    }
    let lane_took = took / answers.len().max(1) as u32;
    let (mut to_cpu, mut reason) = (Vec::new(), None);
    let mut n_done = 0;
    let mut hand = slot.hand();
    if hand.abandoned {
        return None;
    }
    hand.on_gpu = None;
    for ((planned, problem), answer) in lanes.into_iter().zip(answers) {
        match answer {
            Lane::Done(Ok(solution)) => {
                n_done += 1;
                hand.answered.push_back(Answered {
                    planned,
                    problem,
                    solution,
                    device,
                    took: lane_took,
                    n_attempts,
                    to_check: shared.is_verified(planned.index, &planned.size),
                    held: None,
                });
            }
            Lane::Done(Err(failure)) => {
                n_done += 1;
                hand.done.push(Done {
                    index: planned.index,
                    outcome: Outcome::Failed(failure.into()),
                    device,
                    took: lane_took,
                    n_attempts,
                });
            }
            Lane::ToCpu(why) => {
                to_cpu.push(planned);
                reason.get_or_insert(why);
            }
        }
    }
    drop(hand);
    shared
        .gpu_pool
        .count_done(number, padded.class, padded.shape, n_done);
    if let Some(reason) = reason {
        handed.push(hand_over(shared, device, to_cpu, reason));
    }
    Some(handed)
}

type Answers<F> = Vec<Lane<SolutionOf<F>, <WorkloadOf<F> as Workload>::Failure>>;

/// One launch of these problems.
fn launch<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    member: &Member,
    padded: Size,
    lanes: &[(Planned, ProblemOf<F>)],
) -> Result<Answers<F>, LaunchFailure> {
    if lanes.is_empty() {
        return Ok(Vec::new());
    }
    let problems: Vec<&ProblemOf<F>> = lanes.iter().map(|(_, problem)| problem).collect();
    let launched = guarded(|| {
        // A graphics processor meets its faults where it is called.
        if let Device::Host(_) = member.device {
            strike_host(shared, slot)?;
        }
        let (device, stop) = (&member.device, &slot.stop);
        shared
            .workload()
            .launch(device, padded.shape, &problems, stop)
    });
    match launched {
        Ok(Ok(answers)) if answers.len() == lanes.len() => Ok(answers),
        Ok(Ok(answers)) => Err(LaunchFailure::Code(format!(
            "{} answers to {} problems",
            answers.len(),
            lanes.len()
        ))),
        Ok(Err(error)) => Err(LaunchFailure::Device(error)),
        Err(panic) => Err(LaunchFailure::Code(panic_message(panic))),
    }
}

/// The fault, if any, that strikes a launch on the host.
fn strike_host<F: Finish>(shared: &Shared<F>, slot: &WorkerState<F>) -> Result<(), GpuError> {
    match shared
        .settings
        .memory
        .faults()
        .strike(FaultPoint::Launch, None)
    {
        None => Ok(()),
        Some(Fault::Slow(delay)) => {
            wait(delay, slot);
            Ok(())
        }
        Some(Fault::OutOfMemory) => Err(GpuError::OutOfMemory {
            wanted_bytes: 0,
            free_bytes: 0,
        }),
        Some(Fault::Lost) => Err(GpuError::Lost),
        Some(Fault::Panic) => panic!("a panic on purpose"),
    }
}

/// Problems that kernels cannot finish: says so, and gives them to the CPU.
fn hand_over<F: Finish>(
    shared: &Shared<F>,
    device: DeviceId,
    problems: Vec<Planned>,
    reason: String,
) -> Requeue {
    let cause = SetbackCause::HandedOver { reason };
    shared.send_setback_of(device, cause, problems.len(), Remedy::ToCpu);
    Requeue {
        problems,
        to: RequeueTarget::Cpu,
    }
}

/// A launch came to nothing: says so, and what is to become of its problems.
fn recover_launch<F: Finish>(
    shared: &Shared<F>,
    slot: &WorkerState<F>,
    member: &Member,
    class: u32,
    device: DeviceId,
    problems: Vec<Planned>,
    trouble: LaunchFailure,
) -> Requeue {
    let n_problems = problems.len();
    let error = match trouble {
        LaunchFailure::Device(error) => error,
        LaunchFailure::Code(message) => {
            return fail(shared, member, class, device, problems, message);
        }
    };
    // Opening the device has a limit of its own.
    let recover = |reason: &str| {
        if let Some(on_gpu) = &mut slot.hand().on_gpu {
            on_gpu.since = Instant::now();
            on_gpu.is_reopening = true;
        }
        member.recover(reason, &shared.settings.memory)
    };
    let (cause, remedy, to) = match error {
        GpuError::OutOfMemory { wanted_bytes, .. } | GpuError::TooLarge { wanted_bytes, .. } => {
            let cause = SetbackCause::OutOfMemory { wanted_bytes };
            match n_problems {
                0 | 1 => (cause, Remedy::ToCpu, RequeueTarget::Cpu),
                _ => (cause, Remedy::Split, RequeueTarget::GpuHalves),
            }
        }
        GpuError::Lost => match recover("lost") {
            true => (
                SetbackCause::DeviceLost,
                Remedy::Reopened,
                RequeueTarget::Gpu,
            ),
            false => (
                SetbackCause::DeviceLost,
                Remedy::Retired,
                RequeueTarget::Gpu,
            ),
        },
        // What hung once may hang again: the CPU can end a single problem.
        GpuError::TimedOut { .. } | GpuError::Stopped => {
            let cause = SetbackCause::DeviceTimedOut;
            match recover("did not answer") {
                true => (cause, Remedy::Reopened, RequeueTarget::Cpu),
                false => (cause, Remedy::Retired, RequeueTarget::Cpu),
            }
        }
        GpuError::Unsupported { .. } | GpuError::Kernel { .. } => {
            let message = error.to_string();
            return fail(shared, member, class, device, problems, message);
        }
    };
    if slot.hand().abandoned {
        // Told by the watchdog.
        return Requeue { problems, to };
    }
    if remedy == Remedy::Retired {
        shared.costs_changed();
    }
    shared.send_setback_of(device, cause, n_problems, remedy);
    Requeue { problems, to }
}

/// A launch that would fail again: the CPU takes its problems, and after a few such the class.
fn fail<F: Finish>(
    shared: &Shared<F>,
    member: &Member,
    class: u32,
    device: DeviceId,
    problems: Vec<Planned>,
    message: String,
) -> Requeue {
    member.count_failure(class);
    shared.costs_changed();
    let cause = SetbackCause::LaunchFailed { message };
    shared.send_setback_of(device, cause, problems.len(), Remedy::ToCpu);
    Requeue {
        problems,
        to: RequeueTarget::Cpu,
    }
}

fn learn<F: Finish>(
    shared: &Shared<F>,
    member: &Member,
    device: DeviceId,
    padded: &Size,
    n_lanes: usize,
    took: Duration,
) {
    if n_lanes == 0 {
        return;
    }
    let n_lanes_best = member.learn(padded.class, padded.shape, n_lanes, took);
    let mut costs = lock(&shared.costs);
    let name = WorkloadOf::<F>::NAME;
    costs.learn(name, padded, device, n_lanes as u64, took);
    if let Some(n_lanes) = n_lanes_best {
        costs.keep_n_lanes_best(name, padded, device, n_lanes);
    }
    drop(costs);
    shared.costs_changed();
}
