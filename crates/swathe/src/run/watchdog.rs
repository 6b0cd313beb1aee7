//! The watchdog: ends problems whose time is over, and leaves workers behind that do not stop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::lots::Who;
use super::queue::Range;
use super::slot::Slot;
use super::{Done, Message, Shared, lock, ms};
use crate::report::{Remedy, SetbackCause};
use crate::{DeviceId, Outcome, Workload};

pub(super) fn start<W>(shared: &Arc<Shared<W>>) -> JoinHandle<()>
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name("swathe-watchdog".to_owned())
        .spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| watch(&shared))) {
                shared.send(Message::Broken(panic));
            }
        })
        .expect("the system can start a thread")
}

/// How often an observer is told of a moment, whether anything happens or not.
const TELL_EVERY: Duration = Duration::from_millis(100);

fn watch<W>(shared: &Arc<Shared<W>>)
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    let tick =
        (shared.settings.time_limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(50));
    let mut cancelled_at: Option<Instant> = None;
    let mut told = Instant::now();
    while !shared.finished.load(Ordering::Acquire) {
        std::thread::park_timeout(tick);
        if shared.stop.is_cancelled() {
            cancelled_at.get_or_insert_with(Instant::now);
            // A stop is a flag that signals nobody; every time, because one who looked at the
            // flag just before it was set goes to sleep just after.
            shared.queue.wake();
            shared.scratches.wake();
        }
        let slots: Vec<Arc<Slot<W>>> = lock(&shared.slots).clone();
        for slot in &slots {
            look_at(shared, slot, cancelled_at);
        }
        shared.sample();
        if shared.settings.observer.is_some() && told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            shared.tell_sample(&slots);
        }
    }
}

fn look_at<W>(shared: &Arc<Shared<W>>, slot: &Slot<W>, cancelled_at: Option<Instant>)
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
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
    let overdue = spent > limit + grace;
    let left_over = cancelled_at.is_some_and(|at| at.elapsed() > grace);
    if !overdue && !left_over {
        return;
    }

    // The worker is left behind with its one problem and that problem's memory; all else it had
    // in hand goes on without it.
    hand.abandoned = true;
    let had_turn = std::mem::take(&mut hand.has_turn);
    let mut done = std::mem::take(&mut hand.done);
    let mut rest = std::mem::take(&mut hand.refused);
    rest.extend(hand.to_load.drain(..));
    rest.extend(hand.loaded.drain(..).map(|(planned, _)| planned));
    let checked = std::mem::take(&mut hand.checked);
    hand.leave(&rest);
    // The stuck problem is an outcome of this launch, unless nobody waits for any.
    let n_lanes = done.len() + usize::from(cancelled_at.is_none());
    let launch = hand.end_launch(n_lanes, ms(shared.started.elapsed()));
    let stuck_bytes = current.planned.need.lane_bytes + current.planned.need.solution_bytes;
    let mut freed = hand.reservation.take();
    let mut stuck = freed
        .as_mut()
        .map(|reservation| reservation.split(stuck_bytes));
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
    let n_rest = rest.len();
    let n_settled;
    if cancelled_at.is_some() {
        n_settled = done.len() + 1 + n_rest;
    } else {
        let outcome = Outcome::TimedOut { after: limit };
        done.push(Done {
            index,
            outcome,
            device: DeviceId::Cpu,
            took: spent,
            n_attempts,
        });
        n_settled = done.len();
        shared.send_setback(
            SetbackCause::WorkerStuck { problem: index },
            1 + n_rest,
            Remedy::Replaced,
        );
        shared.send(Message::Hired);
        Shared::hire(shared, Who::Cpu);
        shared.queue.put_back([Range {
            class,
            problems: rest.into(),
            n_attempts,
            padded: None,
        }]);
    }
    shared.send(Message::Outcomes {
        launch,
        done,
        checked,
        _held: freed,
    });
    shared.queue.settle(n_settled);
    shared.send(Message::Abandoned);
}

/// Whether a worker has a launch on a graphics processor. If the driver does not come back from it,
/// the worker and the device are left behind, and the CPU takes the problems.
fn look_at_gpu<W>(shared: &Arc<Shared<W>>, slot: &Slot<W>, cancelled_at: Option<Instant>) -> bool
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    let (limit, grace) = (shared.settings.time_limit, shared.settings.grace);
    let mut hand = slot.hand();
    let Some(launched) = &hand.on_gpu else {
        return false;
    };
    let spent = launched.since.elapsed();
    if spent > limit {
        slot.stop.expire();
    }
    // Drivers look at the clock by themselves and are given the time to do so.
    let overdue = spent > 2 * limit + grace;
    let left_over = cancelled_at.is_some_and(|at| at.elapsed() > grace);
    if !overdue && !left_over {
        return true;
    }
    hand.abandoned = true;
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
        .fleet
        .member(launched.number)
        .retire("its driver does not come back");
    shared.n_learnt.fetch_add(1, Ordering::Release);
    let n_done = done.len();
    let n_settled = if cancelled_at.is_some() {
        n_done + rest.len()
    } else {
        let device = shared.fleet.id(launched.number);
        let cause = SetbackCause::DeviceTimedOut;
        shared.send_setback_of(device, cause, rest.len(), Remedy::Retired);
        shared.queue.put_back([Range {
            class,
            problems: rest.into(),
            n_attempts: n_attempts + 1,
            padded: None,
        }]);
        if !shared.fleet.is_alive() {
            shared.queue.all_to_cpu();
        }
        n_done
    };
    shared.send(Message::Outcomes {
        launch: None,
        done,
        checked,
        _held: None,
    });
    shared.queue.settle(n_settled);
    shared.send(Message::Abandoned);
    true
}
