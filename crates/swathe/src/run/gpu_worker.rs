//! Device workers: they execute one launch at a time.
//!
//! Two workers serve each device: one loads the next launch while the other's launch runs. If a
//! launch fails, its problems are split in two, queued again, or sent to the CPU.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::finishing::finish_answered;
use super::gpu_pool::Member;
use super::queue::{Claim, Range};
use super::worker::{
    Local, begin_range, deliver, load_all, put_back_smaller, settle_at_once, wait, worker_returned,
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

pub(super) fn work<F: Finish>(
    shared: &Arc<Shared<F>>,
    worker_state: &WorkerState<F>,
    number: usize,
) {
    operation::listen();
    let mut clock = Clock::new(worker_state, shared.gpu_pool.id(number));
    let mut local: Local<F> = None;
    loop {
        clock.enter(Phase::Idle);
        match shared.queue.claim(shared, worker_state) {
            Claim::End => break,
            Claim::Abandoned => return worker_returned(shared),
            Claim::Settled(done) => {
                clock.enter(Phase::Deliver);
                settle_at_once(shared, done);
            }
            Claim::Range(range) => {
                if carry(shared, worker_state, number, range, &mut clock, &mut local).is_none() {
                    return worker_returned(shared);
                }
            }
            // Only CPU workers claim these.
            Claim::Answered(answered) => shared.queue.put_back_answered(vec![*answered]),
        }
    }
    shared.mailbox.post(Message::Ended(clock.finish()));
}

/// Executes one launch from reservation to delivery; `None` if the worker was abandoned.
fn carry<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    number: usize,
    mut range: Range,
    clock: &mut Clock<F>,
    local: &mut Local<F>,
) -> Option<()> {
    let start = clock.enter(Phase::Memory);
    let device = shared.gpu_pool.id(number);
    let Some(padded) = range.padded else {
        // Device workers claim launches only; anything else goes to the CPU.
        shared.queue.put_back([range]);
        return Some(());
    };
    let n_claimed = range.problems.len();
    let member = shared.gpu_pool.member(number);
    // Includes the scratch of one problem, because workloads finish on the CPU what a device has
    // begun. A launch on the host takes its memory from the run's budget.
    let launch_bytes = match &member.device {
        Device::Gpu(_) => 0,
        Device::Host(_) => {
            let need = shared.workload().need(&padded, device.kind());
            let lane_bytes = need.lane_bytes.saturating_add(need.solution_bytes);
            need.scratch_bytes.saturating_add(lane_bytes.saturating_mul(n_claimed as u64))
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
            let cause = SetbackCause::OutOfMemory { wanted_bytes: bytes };
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
        worker: worker_state.worker,
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
    begin_range(worker_state, range, held, scratch_held, launch);
    worker_state.in_flight().lane_volume = match shared.workload().gpu_is_packed() {
        true => None,
        false => Some(padded.shape.volume()),
    };
    load_all(shared, worker_state)?;
    let load_end = clock.enter(Phase::Turn);
    // The split-off part is empty, because the scratch of a launch is on the device.
    drop(worker_state.loaded(ms(load_end - shared.started)));
    let turn = member.turn(&worker_state.stop);
    let handed = if turn.is_some() {
        let solve_start = clock.enter(Phase::Solve);
        launch_loaded(shared, worker_state, member, number, padded, solve_start)?
    } else {
        // The device was retired, or the run was cancelled.
        let loaded = worker_state.in_flight().loaded.drain(..).collect::<Vec<_>>();
        let problems: Vec<Planned> = loaded.iter().map(|(planned, _)| *planned).collect();
        match worker_state.stop.is_cancelled() {
            true => Vec::new(),
            false => vec![Requeue { problems, to: RequeueTarget::Cpu }],
        }
    };
    // Frees the device for the next launch: finishing the answers is the CPU's work.
    drop(turn);
    // Before anything is finished, because finishing may never end: these problems are in no state
    // from which the watchdog could take them.
    let mut n_left = n_claimed;
    let range = |problems: Vec<Planned>, padded: Option<Size>| Range {
        class,
        problems: problems.into(),
        n_attempts: n_attempts + 1,
        padded,
    };
    for Requeue { problems, to } in handed {
        n_left -= problems.len();
        worker_state.in_flight().leave(&problems);
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
    if !worker_state.in_flight().answered.is_empty() {
        clock.enter(Phase::Turn);
        let nothing = worker_state.in_flight().reservation.as_mut().map(|held| held.split(0));
        let turn = nothing.and_then(|nothing| shared.scratches.take(nothing, &worker_state.stop));
        worker_state.in_flight().has_turn = turn.is_some();
        clock.enter(Phase::Solve);
        finish_answered(shared, worker_state, local)?;
        worker_state.in_flight().has_turn = false;
        if let Some(turn) = turn {
            shared.scratches.give_back(turn);
        }
    }
    let end = clock.enter(Phase::Deliver);
    deliver(shared, worker_state, n_left, solutions_bytes, end);
    Some(())
}

/// Problems of a launch that have no outcome yet, and where to solve them.
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

/// Why a launch failed.
enum LaunchFailure {
    Device(GpuError),
    /// The workload's own code panicked or gave the wrong number of answers.
    Code(String),
}

/// Solves all loaded problems together. Answers stay in the worker's state until they are finished.
/// Problems to retry elsewhere are returned. `None` if the worker was abandoned meanwhile.
fn launch_loaded<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    member: &Member,
    number: usize,
    padded: Size,
    solve_start: Instant,
) -> Option<Vec<Requeue>> {
    let device = shared.gpu_pool.id(number);
    let (lanes, n_attempts) = {
        let mut in_flight = worker_state.in_flight();
        if in_flight.abandoned {
            return None;
        }
        if worker_state.stop.is_cancelled() {
            in_flight.loaded.clear();
        }
        let lanes: Vec<(Planned, ProblemOf<F>)> = in_flight.loaded.drain(..).collect();
        if let Some(launch) = &mut in_flight.launch {
            launch.solve_start_ms = ms(solve_start - shared.started);
        }
        worker_state.stop.renew();
        in_flight.on_gpu = Some(OnGpu {
            number,
            problems: lanes.iter().map(|(planned, _)| *planned).collect(),
            since: solve_start,
            is_reopening: false,
        });
        (lanes, in_flight.n_attempts)
    };
    // A problem with an injected fault goes to the CPU, where the fault affects that problem alone.
    let faults = shared.settings.memory.faults();
    let struck = |planned: &Planned| faults.strike(FaultPoint::Item, Some(planned.index)).is_some();
    let (aside, lanes): (Vec<_>, Vec<_>) =
        lanes.into_iter().partition(|(planned, _)| struck(planned));
    let mut handed = Vec::new();
    if !aside.is_empty() {
        let reason = "a fault on purpose is to strike it".to_owned();
        let problems: Vec<Planned> = aside.into_iter().map(|(planned, _)| planned).collect();
        handed.push(hand_over(shared, device, problems, reason));
    }
    let n_compiled = member.device.n_compiled();
    let launched = launch(shared, worker_state, member, padded, &lanes);
    let took = solve_start.elapsed();
    let planned: Vec<Planned> = lanes.iter().map(|(planned, _)| *planned).collect();
    if worker_state.in_flight().abandoned {
        return None;
    }
    if launched.is_err() && worker_state.stop.is_cancelled() {
        worker_state.in_flight().on_gpu = None;
        return Some(handed);
    }
    let answers = match launched {
        Ok(answers) => answers,
        Err(trouble) => {
            // `on_gpu` is still set, so that the watchdog also detects a driver that hangs in here.
            handed.push(recover_launch(
                shared,
                worker_state,
                member,
                padded.class,
                device,
                planned,
                trouble,
            ));
            let mut in_flight = worker_state.in_flight();
            if in_flight.abandoned {
                return None;
            }
            in_flight.on_gpu = None;
            return Some(handed);
        }
    };
    // A launch that compiled kernels says nothing about the time of the next one.
    if member.device.n_compiled() == n_compiled {
        learn(shared, member, device, &padded, answers.len(), took);
    }
    let lane_took = took / answers.len().max(1) as u32;
    let (mut to_cpu, mut reason) = (Vec::new(), None);
    let mut n_done = 0;
    let mut in_flight = worker_state.in_flight();
    if in_flight.abandoned {
        return None;
    }
    in_flight.on_gpu = None;
    for ((planned, problem), answer) in lanes.into_iter().zip(answers) {
        match answer {
            Lane::Done(Ok(solution)) => {
                n_done += 1;
                in_flight.answered.push_back(Answered {
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
                in_flight.done.push(Done {
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
    drop(in_flight);
    shared.gpu_pool.count_done(number, padded.class, padded.shape, n_done);
    if let Some(reason) = reason {
        handed.push(hand_over(shared, device, to_cpu, reason));
    }
    Some(handed)
}

type Answers<F> = Vec<Lane<SolutionOf<F>, <WorkloadOf<F> as Workload>::Failure>>;

/// Launches these problems once.
fn launch<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
    member: &Member,
    padded: Size,
    lanes: &[(Planned, ProblemOf<F>)],
) -> Result<Answers<F>, LaunchFailure> {
    if lanes.is_empty() {
        return Ok(Vec::new());
    }
    let problems: Vec<&ProblemOf<F>> = lanes.iter().map(|(_, problem)| problem).collect();
    let launched = guarded(|| {
        // A graphics processor injects its faults in its own calls.
        if let Device::Host(_) = member.device {
            strike_host(shared, worker_state)?;
        }
        let (device, stop) = (&member.device, &worker_state.stop);
        shared.workload().launch(device, padded.shape, &problems, stop)
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

/// Injects the fault, if any, that is due in a launch on the host.
fn strike_host<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
) -> Result<(), GpuError> {
    match shared.settings.memory.faults().strike(FaultPoint::Launch, None) {
        None => Ok(()),
        Some(Fault::Slow(delay)) => {
            wait(delay, worker_state);
            Ok(())
        }
        Some(Fault::OutOfMemory) => Err(GpuError::OutOfMemory { wanted_bytes: 0, free_bytes: 0 }),
        Some(Fault::Lost) => Err(GpuError::Lost),
        Some(Fault::Panic) => panic!("a panic on purpose"),
    }
}

/// Reports problems that kernels cannot finish, and sends them to the CPU.
fn hand_over<F: Finish>(
    shared: &Shared<F>,
    device: DeviceId,
    problems: Vec<Planned>,
    reason: String,
) -> Requeue {
    let cause = SetbackCause::HandedOver { reason };
    shared.send_setback_of(device, cause, problems.len(), Remedy::ToCpu);
    Requeue { problems, to: RequeueTarget::Cpu }
}

/// Reports a failed launch and decides where its problems go.
fn recover_launch<F: Finish>(
    shared: &Shared<F>,
    worker_state: &WorkerState<F>,
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
    // Reopening the device has a time limit of its own.
    let recover = |reason: &str| {
        if let Some(on_gpu) = &mut worker_state.in_flight().on_gpu {
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
            true => (SetbackCause::DeviceLost, Remedy::Reopened, RequeueTarget::Gpu),
            false => (SetbackCause::DeviceLost, Remedy::Retired, RequeueTarget::Gpu),
        },
        // A launch that hung may hang again. The CPU can time out a single problem.
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
    if worker_state.in_flight().abandoned {
        // The watchdog has already reported the setback.
        return Requeue { problems, to };
    }
    if remedy == Remedy::Retired {
        shared.costs_changed();
    }
    shared.send_setback_of(device, cause, n_problems, remedy);
    Requeue { problems, to }
}

/// Handles a launch that would fail again: its problems go to the CPU, and after a few failures so
/// does the class.
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
    Requeue { problems, to: RequeueTarget::Cpu }
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
