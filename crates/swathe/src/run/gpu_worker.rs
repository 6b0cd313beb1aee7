//! Workers of graphics processors: a launch at a time.
//!
//! Two work for each device: one loads the next launch while the other's runs. Whatever a device
//! does, the problems of its launch go on: cut in two, put back, or to the CPU.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::fleet::Member;
use super::lots::Who;
use super::queue::{Claim, Range};
use super::slot::{OnGpu, Slot};
use super::worker::{
    deliver, load_all, panic_message, put_back_smaller, settle_at_once, take_in_hand, verify,
};
use super::{Done, Shared, lock, ms};
use crate::memory::ReserveError;
use crate::report::{Launch, Phase, Remedy, SetbackCause};
use crate::{
    DeviceId, DeviceKind, GpuError, Lane, Outcome, Planned, Point, Size, Workload, operation,
};

pub(super) fn work<W>(shared: &Arc<Shared<W>>, slot: &Slot<W>, number: usize)
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    operation::listen();
    let mut clock = Clock::new(slot, shared.fleet.id(number));
    loop {
        clock.enter(Phase::Idle);
        match shared.queue.claim(shared, Who::Gpu(number)) {
            Claim::End => break,
            Claim::Settled(done) => {
                clock.enter(Phase::Deliver);
                settle_at_once(shared, done);
            }
            Claim::Range(range) => {
                if carry(shared, slot, number, range, &mut clock).is_none() {
                    return;
                }
            }
        }
        if !shared.fleet.is_alive() {
            shared.queue.all_to_cpu();
        }
    }
    shared.send(super::Message::Ended(clock.finish()));
}

/// Takes one launch all the way; `None` if the worker was left behind.
fn carry<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    number: usize,
    mut range: Range,
    clock: &mut Clock<W>,
) -> Option<()> {
    let start = clock.enter(Phase::Memory);
    let device = shared.fleet.id(number);
    let Some(padded) = range.padded else {
        // Nothing but launches comes here; the CPU takes anything.
        shared.queue.put_back([range]);
        return Some(());
    };
    let n_claimed = range.problems.len();
    // With the scratch of one problem: workloads finish on the CPU what a device has begun.
    let bytes = range.lanes_bytes() + range.scratch_bytes();
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
    slot.hand().lane_volume = match shared.workload.gpu_packs() {
        true => None,
        false => Some(padded.shape.volume()),
    };
    load_all(shared, slot)?;
    let load_end = clock.enter(Phase::Turn);
    // Nothing was split off for a scratch: the launch's own is the device's.
    drop(slot.loaded(ms(load_end - shared.started)));
    let member = shared.fleet.member(number);
    let handed = if let Some(_turn) = member.turn(&slot.stop) {
        let solve_start = clock.enter(Phase::Solve);
        launch_loaded(shared, slot, member, number, padded, solve_start)?
    } else {
        // The device is not used any more, or nobody wants the answers.
        let loaded = slot.hand().loaded.drain(..).collect::<Vec<_>>();
        let problems: Vec<Planned> = loaded.iter().map(|(planned, _)| *planned).collect();
        match slot.stop.is_cancelled() {
            true => Vec::new(),
            false => vec![Handed {
                problems,
                to: To::Cpu,
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
    for Handed { problems, to } in handed {
        n_left -= problems.len();
        slot.hand().leave(&problems);
        match to {
            To::Cpu => shared.queue.put_back([range(problems, None)]),
            To::Gpu => shared.queue.put_back([range(problems, Some(padded))]),
            To::GpuHalves => {
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
struct Handed {
    problems: Vec<Planned>,
    to: To,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Cpu,
    Gpu,
    GpuHalves,
}

/// Why a launch came to nothing.
enum Trouble {
    Device(GpuError),
    /// The workload's own code panicked or gave the wrong number of answers.
    Code(String),
}

/// Solves all problems in hand together; what is to be tried elsewhere is returned. `None` if the
/// worker was left behind meanwhile.
fn launch_loaded<W: Workload>(
    shared: &Shared<W>,
    slot: &Slot<W>,
    member: &Member,
    number: usize,
    padded: Size,
    solve_start: Instant,
) -> Option<Vec<Handed>> {
    let device = shared.fleet.id(number);
    let (lanes, n_attempts) = {
        let mut hand = slot.hand();
        if hand.abandoned {
            return None;
        }
        if slot.stop.is_cancelled() {
            hand.loaded.clear();
        }
        let lanes: Vec<(Planned, W::Problem)> = hand.loaded.drain(..).collect();
        if let Some(launch) = &mut hand.launch {
            launch.solve_start_ms = ms(solve_start - shared.started);
        }
        slot.stop.renew();
        hand.on_gpu = Some(OnGpu {
            number,
            problems: lanes.iter().map(|(planned, _)| *planned).collect(),
            since: solve_start,
        });
        (lanes, hand.n_attempts)
    };
    // A problem that something is to happen to goes where that happens to it alone.
    let struck = |planned: &Planned| {
        let fault = shared
            .settings
            .faults
            .strike(Point::Item, Some(planned.index));
        fault.is_some()
    };
    let (aside, lanes): (Vec<_>, Vec<_>) =
        lanes.into_iter().partition(|(planned, _)| struck(planned));
    let mut handed = Vec::new();
    if !aside.is_empty() {
        let reason = "a fault on purpose is to strike it".to_owned();
        let problems: Vec<Planned> = aside.into_iter().map(|(planned, _)| planned).collect();
        handed.push(hand_over(shared, device, problems, reason));
    }
    let problems: Vec<&W::Problem> = lanes.iter().map(|(_, problem)| problem).collect();
    let workload = &*shared.workload;
    let n_compiled = member.gpu.n_compiled();
    let solved = if problems.is_empty() {
        Ok(Ok(Vec::new()))
    } else {
        catch_unwind(AssertUnwindSafe(|| {
            workload.solve_gpu(&member.gpu, padded.shape, &problems, &slot.stop)
        }))
    };
    let took = solve_start.elapsed();
    let planned: Vec<Planned> = lanes.iter().map(|(planned, _)| *planned).collect();
    {
        let mut hand = slot.hand();
        if hand.abandoned {
            return None;
        }
        hand.on_gpu = None;
    }
    let trouble = match solved {
        Ok(Ok(answers)) if answers.len() == planned.len() => Ok(answers),
        Ok(Ok(answers)) => Err(Trouble::Code(format!(
            "{} answers to {} problems",
            answers.len(),
            planned.len()
        ))),
        Ok(Err(_)) if slot.stop.is_cancelled() => return Some(handed),
        Ok(Err(error)) => Err(Trouble::Device(error)),
        Err(panic) => Err(Trouble::Code(panic_message(panic))),
    };
    let answers = match trouble {
        Ok(answers) => answers,
        Err(trouble) => {
            handed.push(mend(shared, member, padded.class, device, planned, trouble));
            return Some(handed);
        }
    };
    // What was spent on compiling kernels says nothing about the next launch.
    if member.gpu.n_compiled() == n_compiled {
        learn(shared, member, device, &padded, answers.len(), took);
    }
    let lane_took = took / answers.len().max(1) as u32;
    // Whoever is still without an outcome stands here, should the worker be left behind.
    slot.hand().to_load = planned.iter().copied().collect();
    let (mut to_cpu, mut reason) = (Vec::new(), None);
    let mut n_done = 0;
    for (planned, answer) in planned.iter().zip(answers) {
        let outcome = match answer {
            Lane::Done(Ok(solution)) => {
                if shared.is_verified(planned.index, &planned.size) {
                    slot.begin(&mut slot.hand(), *planned, Instant::now());
                    verify(shared, slot, planned.index, &solution, DeviceKind::Gpu);
                }
                Outcome::Solved(solution)
            }
            Lane::Done(Err(failure)) => Outcome::Failed(failure),
            Lane::ToCpu(why) => {
                let mut hand = slot.hand();
                if hand.abandoned {
                    return None;
                }
                hand.to_load.pop_front();
                drop(hand);
                to_cpu.push(*planned);
                reason.get_or_insert(why);
                continue;
            }
        };
        let mut hand = slot.hand();
        if hand.abandoned {
            return None;
        }
        hand.current = None;
        hand.to_load.pop_front();
        hand.done.push(Done {
            index: planned.index,
            outcome,
            device,
            took: lane_took,
            n_attempts,
        });
        n_done += 1;
    }
    shared
        .fleet
        .count_done(number, padded.class, padded.shape, n_done);
    if let Some(reason) = reason {
        handed.push(hand_over(shared, device, to_cpu, reason));
    }
    Some(handed)
}

/// Problems that kernels cannot finish: says so, and gives them to the CPU.
fn hand_over<W: Workload>(
    shared: &Shared<W>,
    device: DeviceId,
    problems: Vec<Planned>,
    reason: String,
) -> Handed {
    let cause = SetbackCause::HandedOver { reason };
    shared.send_setback_of(device, cause, problems.len(), Remedy::ToCpu);
    Handed {
        problems,
        to: To::Cpu,
    }
}

/// A launch came to nothing: says so, and what is to become of its problems.
fn mend<W: Workload>(
    shared: &Shared<W>,
    member: &Member,
    class: u32,
    device: DeviceId,
    problems: Vec<Planned>,
    trouble: Trouble,
) -> Handed {
    let n_problems = problems.len();
    let error = match trouble {
        Trouble::Device(error) => error,
        Trouble::Code(message) => return fail(shared, member, class, device, problems, message),
    };
    let (cause, remedy, to) = match error {
        GpuError::OutOfMemory { wanted_bytes, .. } | GpuError::TooLarge { wanted_bytes, .. } => {
            let cause = SetbackCause::OutOfMemory { wanted_bytes };
            match n_problems {
                0 | 1 => (cause, Remedy::ToCpu, To::Cpu),
                _ => (cause, Remedy::Split, To::GpuHalves),
            }
        }
        GpuError::Lost => match member.recover("lost") {
            true => (SetbackCause::DeviceLost, Remedy::Reopened, To::Gpu),
            false => (SetbackCause::DeviceLost, Remedy::Retired, To::Gpu),
        },
        // What hung once may hang again: the CPU can end a single problem.
        GpuError::TimedOut { .. } | GpuError::Stopped => {
            let cause = SetbackCause::DeviceTimedOut;
            match member.recover("did not answer") {
                true => (cause, Remedy::Reopened, To::Cpu),
                false => (cause, Remedy::Retired, To::Cpu),
            }
        }
        GpuError::Unsupported { .. } | GpuError::Kernel { .. } => {
            let message = error.to_string();
            return fail(shared, member, class, device, problems, message);
        }
    };
    if remedy == Remedy::Retired {
        shared.n_learnt.fetch_add(1, Ordering::Release);
    }
    shared.send_setback_of(device, cause, n_problems, remedy);
    Handed { problems, to }
}

/// A launch that would fail again: the CPU takes its problems, and after a few such the class.
fn fail<W: Workload>(
    shared: &Shared<W>,
    member: &Member,
    class: u32,
    device: DeviceId,
    problems: Vec<Planned>,
    message: String,
) -> Handed {
    member.count_failure(class);
    shared.n_learnt.fetch_add(1, Ordering::Release);
    let cause = SetbackCause::LaunchFailed { message };
    shared.send_setback_of(device, cause, problems.len(), Remedy::ToCpu);
    Handed {
        problems,
        to: To::Cpu,
    }
}

fn learn<W: Workload>(
    shared: &Shared<W>,
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
    costs.learn(W::NAME, padded, device, n_lanes as u64, took);
    if let Some(n_lanes) = n_lanes_best {
        costs.keep_n_lanes_best(W::NAME, padded, device, n_lanes);
    }
    drop(costs);
    shared.n_learnt.fetch_add(1, Ordering::Release);
}
