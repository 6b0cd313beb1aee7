//! The watchdog: ends problems whose time is over, and leaves workers behind that do not stop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::gpu_backlog::WorkerKind;
use super::queue::Range;
use super::worker_state::{Answered, WorkerState};
use super::{Done, Message, Shared, lock, ms};
use crate::report::{Remedy, SetbackCause};
use crate::{DeviceId, FaultPoint, Finish, Need, Outcome};

/// Starts it, unless the system refuses a thread.
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
    while !shared.finished.load(Ordering::Acquire) {
        std::thread::park_timeout(tick);
        if shared.stop.is_cancelled() {
            cancelled_at.get_or_insert_with(Instant::now);
            // A stop is a flag that wakes no thread; every time, because a thread that looked at
            // the flag just before it was set goes to sleep just after.
            shared.queue.wake();
            shared.scratches.wake();
        }
        let slots: Vec<Arc<WorkerState<F>>> = lock(&shared.slots).clone();
        for slot in &slots {
            send_finished(shared, slot);
            look_at(shared, slot, cancelled_at);
        }
        shared.sample();
    }
}

/// A problem that takes longer than this does not hold back the outcomes of its range.
const HOLD_BACK_MAX: Duration = Duration::from_millis(100);

/// Sends what a worker has finished of its range while one problem of it takes long.
fn send_finished<F: Finish>(shared: &Shared<F>, slot: &WorkerState<F>) {
    let mut hand = slot.hand();
    let since = match (&hand.current, &hand.on_gpu) {
        (Some(current), _) => current.since,
        (None, Some(launched)) => launched.since,
        (None, None) => return,
    };
    if hand.done.is_empty() || since.elapsed() < HOLD_BACK_MAX {
        return;
    }
    let done = std::mem::take(&mut hand.done);
    let checked = std::mem::take(&mut hand.checked);
    let n_done = done.len();
    hand.n_sent += n_done;
    drop(hand);
    shared.mailbox.post(Message::Outcomes {
        launch: None,
        done,
        checked,
        // Their memory is part of the range's, which is still there.
        _held: None,
    });
    shared.queue.settle(n_done);
}

fn look_at<F: Finish>(
    shared: &Arc<Shared<F>>,
    slot: &WorkerState<F>,
    cancelled_at: Option<Instant>,
) {
    let (limit, grace) = (shared.settings.time_limit, shared.settings.grace);
    if look_at_gpu(shared, slot, cancelled_at) {
        return;
    }
    let mut hand = slot.hand();
    let Some(current) = hand.current else { return };
    let spent = current.since.elapsed();
    if spent > limit {
        slot.stop.expire();
    }
    let overdue = spent > limit.saturating_add(grace);
    let left_over = cancelled_at.is_some_and(|at| at.elapsed() > grace);
    if !overdue && !left_over {
        return;
    }

    // The worker is left behind with its one problem and that problem's memory; all else it had
    // in hand goes on without it.
    hand.abandoned = true;
    // Counted before the worker can see that it is left behind: it is taken off when it comes back.
    shared.n_stuck.fetch_add(1, Ordering::AcqRel);
    let had_turn = std::mem::take(&mut hand.has_turn);
    let mut done = std::mem::take(&mut hand.done);
    let mut rest = std::mem::take(&mut hand.refused);
    rest.extend(hand.to_load.drain(..));
    rest.extend(hand.loaded.drain(..).map(|(planned, _)| planned));
    let mut answered: Vec<Answered<F>> = hand.answered.drain(..).collect();
    let checked = std::mem::take(&mut hand.checked);
    hand.leave(&rest);
    // A problem that is stuck in being checked is solved: another worker finishes it.
    let has_stuck_problem = !current.is_check;
    // The stuck problem is an outcome of this launch, unless the run is cancelled.
    let n_lanes = done.len() + usize::from(cancelled_at.is_none() && has_stuck_problem);
    let launch = hand.end_launch(n_lanes, ms(shared.started.elapsed()));
    let need = current.planned.need;
    let stuck_bytes = match current.is_check {
        false => need.lane_bytes + need.solution_bytes,
        true => shared.check_bytes(&current.planned.size),
    };
    let mut freed = hand.reservation.take();
    let mut stuck = freed
        .as_mut()
        .map(|reservation| reservation.split(stuck_bytes));
    for answered in &mut answered {
        let Need {
            lane_bytes,
            solution_bytes,
            ..
        } = answered.planned.need;
        let bytes = match answered.planned.index == current.planned.index {
            true => (lane_bytes + solution_bytes).saturating_sub(stuck_bytes),
            false => lane_bytes + solution_bytes,
        };
        answered.held = freed.as_mut().map(|reservation| reservation.split(bytes));
    }
    if let Some(stuck) = &mut stuck {
        stuck.strand();
    }
    hand.reservation = stuck;
    if had_turn {
        if let Some(scratch) = &mut hand.scratch_reservation {
            scratch.strand();
        }
    } else {
        // It was loading: its scratch is still on the rack.
        drop(hand.scratch_reservation.take());
    }
    let (class, n_attempts) = (hand.class, hand.n_attempts);
    drop(hand);

    shared.forget(slot.worker);
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
                device: match slot.who {
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
        // For the same device: its launches and lots wait for a worker of its own.
        Shared::replace(shared, slot);
        shared.queue.put_back([Range {
            class,
            problems: rest.into(),
            n_attempts,
            padded: None,
        }]);
        shared.queue.put_back_answered(answered);
        shared.end_if_starved();
    }
    shared.mailbox.post(Message::Outcomes {
        launch,
        done,
        checked,
        _held: freed,
    });
    shared.queue.settle(n_settled);
    shared.mailbox.post(Message::Abandoned);
}

/// Opening a device takes a second or so; a driver that takes longer than this does not come back.
const REOPEN_TIME_MAX: Duration = Duration::from_secs(30);

/// Whether a worker has a launch on a device. If the driver does not come back from it, the worker
/// and the device are left behind, and the CPU takes the problems.
fn look_at_gpu<F: Finish>(
    shared: &Arc<Shared<F>>,
    slot: &WorkerState<F>,
    cancelled_at: Option<Instant>,
) -> bool {
    let (limit, grace) = (shared.settings.time_limit, shared.settings.grace);
    let mut hand = slot.hand();
    let Some(launched) = &hand.on_gpu else {
        return false;
    };
    let spent = launched.since.elapsed();
    if spent > limit {
        slot.stop.expire();
    }
    let time_max = match launched.is_reopening {
        true => limit.min(REOPEN_TIME_MAX),
        // Drivers look at the clock by themselves and are given the time to do so.
        false => limit.saturating_mul(2),
    };
    let overdue = spent > time_max.saturating_add(grace);
    let left_over = cancelled_at.is_some_and(|at| at.elapsed() > grace);
    if !overdue && !left_over {
        return true;
    }
    hand.abandoned = true;
    // Counted before the worker can see that it is left behind: it is taken off when it comes back.
    shared.n_stuck.fetch_add(1, Ordering::AcqRel);
    let Some(launched) = hand.on_gpu.take() else {
        return true;
    };
    let done = std::mem::take(&mut hand.done);
    let mut rest = std::mem::take(&mut hand.refused);
    rest.extend(launched.problems);
    let checked = std::mem::take(&mut hand.checked);
    if let Some(stuck) = &mut hand.reservation {
        stuck.strand();
    }
    let (class, n_attempts) = (hand.class, hand.n_attempts);
    drop(hand);
    shared.forget(slot.worker);
    shared
        .gpu_pool
        .member(launched.number)
        .retire("its driver does not come back");
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
    shared.mailbox.post(Message::Outcomes {
        launch: None,
        done,
        checked,
        _held: None,
    });
    shared.queue.settle(n_settled);
    shared.mailbox.post(Message::Abandoned);
    true
}
