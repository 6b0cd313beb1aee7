//! The timer: reports to the coordinator what runs and for how long, and takes stuck workers apart.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::slot::{Answered, Current, GONE, NOT_PLANNING, Slot, held_bytes};
use super::{Core, Driver, Message, lock, ms};
use crate::coordinator::{Abandoned, Event, MemoryNow, Running, Stuck, WorkerId};
use crate::{FaultPoint, Finish, Planned};

/// Starts the timer; `None` if the system refuses a thread.
pub(super) fn start<F: Finish>(driver: &Arc<Driver<F>>) -> Option<JoinHandle<()>> {
    if driver.settings.memory.faults().refuses(FaultPoint::Thread) {
        return None;
    }
    let driver = Arc::clone(driver);
    std::thread::Builder::new()
        .name("swathe-timer".to_owned())
        .spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| watch(&driver))) {
                driver.send(Message::Broken(panic));
            }
        })
        .ok()
}

fn watch<F: Finish>(driver: &Arc<Driver<F>>) {
    let tick =
        (driver.settings.time_limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(50));
    // Woken early when somebody else releases memory that the run waits for.
    driver.memory_line.wake_by(std::thread::current());
    let mut sizes: BTreeMap<WorkerId, (usize, Instant)> = BTreeMap::new();
    let mut figures = [0; 3];
    let mut is_cancelled = false;
    while !driver.is_finished.load(Ordering::Acquire) {
        std::thread::park_timeout(tick);
        // A stop is a flag that wakes no thread.
        if !is_cancelled && driver.stop.is_cancelled() {
            is_cancelled = true;
            driver.tell(Event::Cancel);
        }
        let memory = &driver.settings.memory;
        let (n_granted, n_refused) = memory.n_granted_refused();
        let before = std::mem::replace(&mut figures, [n_granted, n_refused, memory.used_bytes()]);
        let memory = MemoryNow {
            held_bytes: figures[2],
            budget_bytes: memory.cap_bytes(),
            has_moved: before != figures,
        };
        let slots: Vec<Arc<Slot<F>>> = lock(&driver.core).slots.values().cloned().collect();
        let running = slots.iter().filter_map(|slot| running(slot, &mut sizes)).collect();
        driver.tell(Event::Tick { running, memory });
        driver.sample();
    }
}

/// What a worker is in, if it may not return.
fn running<F: Finish>(
    slot: &Slot<F>,
    sizes: &mut BTreeMap<WorkerId, (usize, Instant)>,
) -> Option<Running> {
    let worker = slot.worker;
    match slot.planning.load(Ordering::Acquire) {
        GONE => return None,
        NOT_PLANNING => {}
        index => {
            // Reading a size takes no time worth reading the clock for, so this thread does.
            let (seen, since) = sizes.entry(worker).or_insert((index, Instant::now()));
            if *seen != index {
                (*seen, *since) = (index, Instant::now());
            }
            let spent = since.elapsed();
            return Some(Running { worker, beat: index as u64, spent, n_done: 0 });
        }
    }
    sizes.remove(&worker);
    let work = slot.work();
    if work.is_abandoned || matches!(work.current, Current::Nothing) {
        return None;
    }
    let (beat, spent, n_done) = (work.beat, work.since.elapsed(), work.done.len());
    Some(Running { worker, beat, spent, n_done })
}

/// Stops what a worker began with this beat.
pub(super) fn expire<F: Finish>(slot: &Slot<F>, beat: u64) {
    let work = slot.work();
    if work.beat == beat && !matches!(work.current, Current::Nothing) {
        slot.stop.expire();
    }
}

/// Sends the outcomes of a range of which one problem takes long. Returns how many there are.
pub(super) fn flush<F: Finish>(driver: &Driver<F>, slot: &Slot<F>, beat: u64) -> usize {
    let mut work = slot.work();
    if work.beat != beat || work.is_abandoned {
        return 0;
    }
    let done = std::mem::take(&mut work.done);
    let checked = std::mem::take(&mut work.checked);
    let n_done = done.len();
    work.n_sent += n_done;
    drop(work);
    if n_done > 0 {
        // Their memory is part of the range's reservation, which is still held.
        driver.send(Message::Outcomes { launch: None, done, checked, _held: None });
    }
    n_done
}

/// What must be dropped without a lock, because it may be anything.
pub(super) type Trash = Vec<Box<dyn Any>>;

/// Abandons a worker with its one problem and that problem's memory, if it is still in what it began
/// with this beat. The rest of its range continues without it.
pub(super) fn take_apart<F: Finish>(
    driver: &Driver<F>,
    core: &mut Core<F>,
    worker: WorkerId,
    beat: u64,
    trash: &mut Trash,
) -> Option<Abandoned> {
    let slot = Arc::clone(core.slots.get(&worker)?);
    let index = slot.planning.load(Ordering::Acquire);
    if index != NOT_PLANNING {
        let taken = slot.planning.compare_exchange(
            beat as usize,
            GONE,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        taken.ok()?;
        core.forget(worker);
        return Some(Abandoned {
            worker,
            stuck: Stuck::Size(index),
            spent: driver.settings.time_limit,
            n_done: 0,
            rest: Vec::new(),
            answered: Vec::new(),
        });
    }
    let mut work = slot.work();
    if work.beat != beat || work.is_abandoned {
        return None;
    }
    let (stuck, stuck_bytes) = match work.current {
        Current::Nothing => return None,
        Current::Problem(index, bytes) => (Stuck::Problem(index), bytes),
        Current::Check(index, bytes) => (Stuck::Check(index), bytes),
        Current::Other => (Stuck::Other, u64::MAX),
    };
    work.is_abandoned = true;
    let done = std::mem::take(&mut work.done);
    let checked = std::mem::take(&mut work.checked);
    let mut rest = std::mem::take(&mut work.refused);
    rest.extend(work.to_load.drain(..));
    rest.extend(std::mem::take(&mut work.launched));
    let (loaded, problems): (Vec<Planned>, Vec<_>) = work.loaded.drain(..).unzip();
    rest.extend(loaded);
    trash.push(Box::new(problems));
    let mut answered: Vec<Answered<F>> = work.answered.drain(..).collect();
    work.leave(&rest);
    // The stuck problem is an outcome of this launch, unless the run is cancelled or the problem is
    // only stuck in its check.
    let is_outcome = matches!(stuck, Stuck::Problem(_)) && !core.coordinator.is_cancelled();
    let n_lanes = done.len() + usize::from(is_outcome);
    let launch = match stuck {
        Stuck::Other => None,
        _ => work.end_launch(n_lanes, ms(driver.started.elapsed())),
    };
    let mut freed = work.reservation.take();
    let mut stuck_held = freed.as_mut().map(|held| held.split(stuck_bytes));
    for answered in &mut answered {
        let bytes = match stuck {
            Stuck::Check(index) if index == answered.planned.index => {
                held_bytes(&answered.planned).saturating_sub(stuck_bytes)
            }
            _ => held_bytes(&answered.planned),
        };
        answered.held = freed.as_mut().map(|held| held.split(bytes));
    }
    if let Some(held) = &mut stuck_held {
        held.strand();
    }
    work.reservation = stuck_held;
    if work.has_turn {
        if let Some(scratch) = &mut work.scratch_reservation {
            scratch.strand();
        }
    } else {
        // The worker was loading: it has no scratch yet.
        drop(work.scratch_reservation.take());
    }
    let spent = work.since.elapsed();
    drop(work);
    core.forget(worker);
    let n_done = done.len();
    let indices = answered.iter().map(|answered| answered.planned.index).collect();
    if core.coordinator.is_cancelled() {
        trash.push(Box::new(answered));
    } else {
        core.left.extend(answered.into_iter().map(|answered| (answered.planned.index, answered)));
    }
    // The memory of the delivered answers is held until they are taken.
    driver.send(Message::Outcomes { launch, done, checked, _held: freed });
    Some(Abandoned { worker, stuck, spent, n_done, rest, answered: indices })
}
