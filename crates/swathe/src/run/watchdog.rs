//! The watchdog: times out problems, and abandons workers that do not stop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::gpu_backlog::WorkerKind;
use super::queue::Range;
use super::worker_state::{Answered, WorkerState};
use super::{Done, Message, Shared, lock, ms};
use crate::report::{EndCause, Phase, Remedy, SetbackCause};
use crate::{DeviceId, FaultPoint, Finish, Need, Outcome};

/// Starts the watchdog; `None` if the system refuses a thread.
pub(super) fn start<F: Finish>(shared: &Arc<Shared<F>>) -> Option<JoinHandle<()>> {
    if shared.settings.memory.faults().refuses(FaultPoint::Thread) {
        return None;
    }
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name("swathe-watchdog".to_owned())
        .spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| watch(&shared))) {
                shared.mailbox.post(Message::Broken(panic));
            }
        })
        .ok()
}

fn watch<F: Finish>(shared: &Arc<Shared<F>>) {
    let tick =
        (shared.settings.time_limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(50));
    let mut cancelled_at: Option<Instant> = None;
    let mut waits_for_memory = WaitsForMemory::default();
    while !shared.finished.load(Ordering::Acquire) {
        std::thread::park_timeout(tick);
        if shared.stop.is_cancelled() {
            cancelled_at.get_or_insert_with(Instant::now);
            // A stop is a flag that wakes no thread. Every tick wakes them again, because a thread
            // that read the flag just before it was set may begin to wait just after.
            shared.queue.wake();
            shared.scratches.wake();
        }
        let worker_states: Vec<Arc<WorkerState<F>>> = lock(&shared.worker_states).clone();
        for worker_state in &worker_states {
            send_finished(shared, worker_state);
            look_at(shared, worker_state, cancelled_at);
        }
        waits_for_memory.look_at(shared, &worker_states);
        shared.sample();
    }
}

/// Detects a run that waits for memory that nothing in it can release.
#[derive(Default)]
struct WaitsForMemory {
    /// Since when nothing has moved, and the budget's figures then.
    since: Option<(Instant, [u64; 3])>,
}

impl WaitsForMemory {
    /// Ends the run if for long all workers with a range have waited for memory, while the caller
    /// waited for outcomes and the budget did not move.
    fn look_at<F: Finish>(&mut self, shared: &Shared<F>, worker_states: &[Arc<WorkerState<F>>]) {
        /// Other users of the budget, such as another run, may hold it as long as a problem takes.
        const PATIENCE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];

        let phases = || worker_states.iter().map(|worker_state| worker_state.phase());
        let is_stuck = phases().any(|phase| phase == Phase::Memory)
            && phases().all(|phase| matches!(phase, Phase::Memory | Phase::Idle))
            && shared.mailbox.is_idle()
            && !shared.stop.is_cancelled();
        if !is_stuck {
            self.since = None;
            return;
        }
        let memory = &shared.settings.memory;
        let (n_granted, n_refused) = memory.n_granted_refused();
        let held_bytes = memory.used_bytes();
        let figures = [n_granted, n_refused, held_bytes];
        let (since, before) = *self.since.get_or_insert((Instant::now(), figures));
        if before != figures {
            self.since = None;
            return;
        }
        let settings = &shared.settings;
        let patience = settings.time_limit.saturating_add(settings.grace);
        if since.elapsed() > patience.clamp(PATIENCE[0], PATIENCE[1]) {
            let cause = EndCause::MemoryHeld { held_bytes, budget_bytes: memory.cap_bytes() };
            shared.end_early(cause);
        }
    }
}

/// A problem that takes longer than this no longer delays the outcomes of its range.
const HOLD_BACK_MAX: Duration = Duration::from_millis(100);

/// Sends the finished outcomes of a range while one of its problems takes long.
fn send_finished<F: Finish>(shared: &Shared<F>, worker_state: &WorkerState<F>) {
    let mut in_flight = worker_state.in_flight();
    let since = match (&in_flight.current, &in_flight.on_gpu) {
        (Some(current), _) => current.since,
        (None, Some(launched)) => launched.since,
        (None, None) => return,
    };
    if in_flight.done.is_empty() || since.elapsed() < HOLD_BACK_MAX {
        return;
    }
    let done = std::mem::take(&mut in_flight.done);
    let checked = std::mem::take(&mut in_flight.checked);
    let n_done = done.len();
    in_flight.n_sent += n_done;
    drop(in_flight);
    shared.mailbox.post(Message::Outcomes {
        launch: None,
        done,
        checked,
        // Their memory is part of the range's reservation, which is still held.
        _held: None,
    });
    shared.queue.settle(n_done);
}

fn look_at<F: Finish>(
    shared: &Arc<Shared<F>>,
    worker_state: &WorkerState<F>,
    cancelled_at: Option<Instant>,
) {
    let (limit, grace) = (shared.settings.time_limit, shared.settings.grace);
    if look_at_gpu(shared, worker_state, cancelled_at) {
        return;
    }
    let mut in_flight = worker_state.in_flight();
    let left_over = cancelled_at.is_some_and(|at| at.elapsed() > grace);
    let Some(current) = in_flight.current else {
        if in_flight.is_planning && left_over {
            // A size that does not come: nothing but the end of the run waits for this worker.
            in_flight.abandoned = true;
            shared.n_stuck.fetch_add(1, Ordering::AcqRel);
            drop(in_flight);
            shared.forget(worker_state.worker);
            shared.mailbox.post(Message::Abandoned);
        }
        return;
    };
    let spent = current.since.elapsed();
    if spent > limit {
        worker_state.stop.expire();
    }
    let overdue = spent > limit.saturating_add(grace);
    if !overdue && !left_over {
        return;
    }

    // The worker is abandoned with its one problem and that problem's memory. The rest of its range
    // continues without it.
    in_flight.abandoned = true;
    // Counted before the worker can see that it is abandoned: it uncounts itself when it returns.
    shared.n_stuck.fetch_add(1, Ordering::AcqRel);
    let had_turn = std::mem::take(&mut in_flight.has_turn);
    let mut done = std::mem::take(&mut in_flight.done);
    let mut rest = std::mem::take(&mut in_flight.refused);
    rest.extend(in_flight.to_load.drain(..));
    rest.extend(in_flight.loaded.drain(..).map(|(planned, _)| planned));
    let mut answered: Vec<Answered<F>> = in_flight.answered.drain(..).collect();
    let checked = std::mem::take(&mut in_flight.checked);
    in_flight.leave(&rest);
    // A problem that is stuck in its check is already solved: another worker finishes it.
    let has_stuck_problem = !current.is_check;
    // The stuck problem is an outcome of this launch, unless the run is cancelled.
    let n_lanes = done.len() + usize::from(cancelled_at.is_none() && has_stuck_problem);
    let launch = in_flight.end_launch(n_lanes, ms(shared.started.elapsed()));
    let need = current.planned.need;
    let stuck_bytes = match current.is_check {
        false => need.lane_bytes + need.solution_bytes,
        true => shared.check_bytes(&current.planned.size),
    };
    let mut freed = in_flight.reservation.take();
    let mut stuck = freed.as_mut().map(|reservation| reservation.split(stuck_bytes));
    for answered in &mut answered {
        let Need { lane_bytes, solution_bytes, .. } = answered.planned.need;
        let bytes = match answered.planned.index == current.planned.index {
            true => (lane_bytes + solution_bytes).saturating_sub(stuck_bytes),
            false => lane_bytes + solution_bytes,
        };
        answered.held = freed.as_mut().map(|reservation| reservation.split(bytes));
    }
    if let Some(stuck) = &mut stuck {
        stuck.strand();
    }
    in_flight.reservation = stuck;
    if had_turn {
        if let Some(scratch) = &mut in_flight.scratch_reservation {
            scratch.strand();
        }
    } else {
        // The worker was loading: its scratch is still in the pool.
        drop(in_flight.scratch_reservation.take());
    }
    let (class, n_attempts) = (in_flight.class, in_flight.n_attempts);
    drop(in_flight);

    shared.forget(worker_state.worker);
    if had_turn {
        shared.scratches.release_turn();
    }
    let index = current.planned.index;
    let n_rest = rest.len() + answered.len();
    let n_settled;
    if cancelled_at.is_some() {
        n_settled = done.len() + usize::from(has_stuck_problem) + n_rest;
        drop(answered);
    } else {
        if has_stuck_problem {
            done.push(Done {
                index,
                outcome: Outcome::TimedOut { after: limit },
                device: match worker_state.who {
                    WorkerKind::Cpu => DeviceId::Cpu,
                    WorkerKind::Gpu(number) => shared.gpu_pool.id(number),
                },
                took: spent,
                n_attempts,
            });
        }
        n_settled = done.len();
        shared.send_setback(
            SetbackCause::WorkerStuck { problem: index },
            1 + n_rest,
            Remedy::Replaced,
        );
        // Answers first: they hold memory, and a worker that took another range before them could
        // wait for that memory.
        shared.queue.put_back_answered(answered);
        // The new worker serves the same device, whose launches and lots wait for a worker of its
        // own.
        Shared::replace(shared, worker_state);
        shared.queue.put_back([Range { class, problems: rest.into(), n_attempts, padded: None }]);
        shared.end_if_starved();
    }
    shared.mailbox.post(Message::Outcomes { launch, done, checked, _held: freed });
    shared.queue.settle(n_settled);
    shared.mailbox.post(Message::Abandoned);
}

/// Opening a device takes a second or so. A driver that takes longer than this does not return.
const REOPEN_TIME_MAX: Duration = Duration::from_secs(30);

/// Returns whether a worker has a launch on a device. If the driver does not return from it, the
/// worker and the device are abandoned, and the CPU takes the problems.
fn look_at_gpu<F: Finish>(
    shared: &Arc<Shared<F>>,
    worker_state: &WorkerState<F>,
    cancelled_at: Option<Instant>,
) -> bool {
    let (limit, grace) = (shared.settings.time_limit, shared.settings.grace);
    let mut in_flight = worker_state.in_flight();
    let Some(launched) = &in_flight.on_gpu else {
        return false;
    };
    let spent = launched.since.elapsed();
    if spent > limit {
        worker_state.stop.expire();
    }
    let time_max = match launched.is_reopening {
        true => limit.min(REOPEN_TIME_MAX),
        // Drivers check the time limit themselves and get the time to do so.
        false => limit.saturating_mul(2),
    };
    let overdue = spent > time_max.saturating_add(grace);
    let left_over = cancelled_at.is_some_and(|at| at.elapsed() > grace);
    if !overdue && !left_over {
        return true;
    }
    in_flight.abandoned = true;
    // Counted before the worker can see that it is abandoned: it uncounts itself when it returns.
    shared.n_stuck.fetch_add(1, Ordering::AcqRel);
    let Some(launched) = in_flight.on_gpu.take() else {
        return true;
    };
    let done = std::mem::take(&mut in_flight.done);
    let mut rest = std::mem::take(&mut in_flight.refused);
    rest.extend(launched.problems);
    let checked = std::mem::take(&mut in_flight.checked);
    if let Some(stuck) = &mut in_flight.reservation {
        stuck.strand();
    }
    let (class, n_attempts) = (in_flight.class, in_flight.n_attempts);
    drop(in_flight);
    shared.forget(worker_state.worker);
    shared.gpu_pool.member(launched.number).retire("its driver does not come back");
    shared.costs_changed();
    let n_done = done.len();
    let n_settled = if cancelled_at.is_some() {
        n_done + rest.len()
    } else {
        let device = shared.gpu_pool.id(launched.number);
        let cause = SetbackCause::DeviceTimedOut;
        shared.send_setback_of(device, cause, rest.len(), Remedy::Retired);
        shared.queue.put_back([Range {
            class,
            problems: rest.into(),
            n_attempts: n_attempts + 1,
            padded: None,
        }]);
        shared.end_if_starved();
        n_done
    };
    shared.mailbox.post(Message::Outcomes { launch: None, done, checked, _held: None });
    shared.queue.settle(n_settled);
    shared.mailbox.post(Message::Abandoned);
    true
}
