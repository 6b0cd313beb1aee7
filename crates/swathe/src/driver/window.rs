//! Windows: the sizes of some problems are read, and the problems planned, without any lock.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::slot::{NOT_PLANNING, Slot};
use super::{Checked, Done, Driver, Message, OutcomeOf, WorkloadOf, guarded, lock, panic_message};
use crate::coordinator::{Launchable, Padded, Range, Window};
use crate::run::limits;
use crate::{DeviceId, DeviceKind, Finish, Outcome, Planned, Routing, Size, Workload, plan};

/// A stop is looked for after so many sizes: most take less time than looking.
const N_SIZES_UNTIL_STOP: usize = 32;

/// Plans the problems from `first` to `last`. Those that are unreadable or too large are delivered.
/// `None` if the worker was abandoned meanwhile, because a size did not come.
pub(super) fn plan_window<F: Finish>(
    driver: &Driver<F>,
    slot: &Slot<F>,
    first: usize,
    last: usize,
    with_devices: bool,
) -> Option<Window> {
    let mut done = Vec::new();
    let mut settle = |index: usize, outcome: OutcomeOf<F>| {
        let (device, took) = (DeviceId::Cpu, Duration::ZERO);
        done.push(Done { index, outcome, device, took, n_attempts: 1 });
    };
    let mut planned = Vec::with_capacity(last - first);
    let mut before = NOT_PLANNING;
    for index in first..last {
        if index % N_SIZES_UNTIL_STOP == 0 && driver.stop.is_cancelled() {
            break;
        }
        move_on(slot, before, index)?;
        before = index;
        let sized = guarded(|| {
            let size = driver.source.size(index)?;
            Ok(Planned {
                index,
                size,
                need: driver.need(index, &size),
                gpu: driver.gpu_lane(&size),
            })
        });
        match sized {
            Ok(Ok(problem)) => planned.push(problem),
            Ok(Err(failure)) => settle(index, Outcome::Failed(failure)),
            Err(panic) => settle(index, Outcome::Panicked { message: panic_message(panic) }),
        }
    }
    move_on(slot, before, NOT_PLANNING)?;
    let mut limits = limits(&driver.settings);
    if !with_devices {
        limits.gpu = None;
    }
    let costs = lock(&driver.core).coordinator.costs().clone();
    let plan = plan(WorkloadOf::<F>::NAME, &planned, &limits, &costs);
    for (index, wanted_bytes) in plan.too_large {
        settle(index, Outcome::TooLarge { wanted_bytes, budget_bytes: limits.budget_bytes });
    }
    let mut window = Window { n_settled: done.len(), ..Window::default() };
    for batch in plan.batches {
        let problems = batch.problems.iter().map(|&index| {
            // `planned` is sorted by number, and a problem is in its own place if all before it
            // have a size.
            let at = match planned.get(index - first) {
                Some(problem) if problem.index == index => index - first,
                _ => planned.partition_point(|problem| problem.index < index),
            };
            planned[at]
        });
        if batch.device == DeviceKind::Gpu {
            let problems: Vec<Planned> = problems.collect();
            window.launches.extend(launchable(driver, batch.class, batch.shape, problems));
            continue;
        }
        if !driver.devices.is_empty() {
            driver.n_cpu_only.fetch_add(batch.problems.len() as u64, Ordering::Relaxed);
        }
        let problems = problems.collect();
        window.ranges.push(Range { class: batch.class, problems, n_attempts: 1, padded: None });
    }
    if !done.is_empty() {
        driver.send(Message::Outcomes {
            done,
            launch: None,
            checked: Checked::default(),
            _held: None,
        });
    }
    Some(window)
}

/// Tells the timer which size is read now.
fn move_on<F: Finish>(slot: &Slot<F>, before: usize, now: usize) -> Option<()> {
    let moved = slot.planning.compare_exchange(before, now, Ordering::AcqRel, Ordering::Acquire);
    moved.ok().map(drop)
}

fn launchable<F: Finish>(
    driver: &Driver<F>,
    class: u32,
    shape: crate::Shape,
    problems: Vec<Planned>,
) -> Option<Launchable> {
    let first = problems.first()?;
    let size = Size { shape, class, ..first.size };
    let volumes = problems.iter().filter_map(|planned| planned.gpu);
    let volume = volumes.fold(0, |sum: u64, lane| sum.saturating_add(lane.form.volume()));
    let n_devices = driver.devices.len();
    let n_problems = problems.len() as u64;
    lock(&driver.routes).count_planned(size, first.size, n_problems, volume, n_devices);
    let settings = &driver.settings;
    let need = driver.workload().need(&size, crate::run::device_kind(settings));
    let lane_bytes = need.lane_bytes.saturating_add(need.solution_bytes);
    let is_placed = settings.placement.is_some() && !driver.workload().launch_is_exact(class);
    Some(Launchable {
        padded: Padded { size, lane_bytes, launch_bytes: need.scratch_bytes },
        is_shared: !is_placed && settings.routing == Routing::Measured,
        problems,
    })
}
