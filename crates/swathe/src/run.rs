//! Runs: the execution of a plan, and its report.

mod guarded;
mod samples;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

pub use guarded::{guarded, is_guarded, panic_message};
pub use samples::Samples;
pub(crate) use samples::keep_every_second;

use crate::coordinator::Policy;
use crate::device::{Cpu, DeviceUse};
use crate::driver::{self, Collected, ms};
use crate::finish::AsSolved;
use crate::report::{MemoryFigures, Report};
use crate::resident::Resident;
use crate::{
    DeviceId, DeviceKind, Finish, GpuLane, GpuLimits, Limits, Need, Outcome, OwnedWorkload, Plan,
    Planned, Settings, Size, Source, Stop, Workload, plan,
};

/// A problem's outcome, as it is delivered.
pub struct Done<S, E> {
    /// The problem's number.
    pub index: usize,
    /// What became of the problem.
    pub outcome: Outcome<S, E>,
    /// The device that solved it.
    pub device: DeviceId,
    /// How long solving it took.
    pub took: Duration,
    /// How often it was started: more than once after a setback.
    pub n_attempts: u32,
}

/// What a run delivers to its caller.
pub enum Delivery<S, E> {
    /// An outcome.
    Done(Done<S, E>),
    /// A tick, about ten times a second, with or without outcomes in between. The caller can use it
    /// to check what is unfinished.
    Tick,
}

pub(crate) type WorkloadOf<F> = <F as Finish>::Workload;
pub(crate) type ProblemOf<F> = <WorkloadOf<F> as Workload>::Problem;
pub(crate) type SolutionOf<F> = <WorkloadOf<F> as Workload>::Solution;
pub(crate) type DoneOf<F> = Done<<F as Finish>::Finished, <F as Finish>::Failure>;
pub(crate) type OutcomeOf<F> = Outcome<<F as Finish>::Finished, <F as Finish>::Failure>;
pub(crate) type SourceOf<F> = Source<ProblemOf<F>, <F as Finish>::Failure>;

/// Solves all problems of a source and calls `done` with every outcome, in the order of completion.
///
/// `done` runs on the calling thread. While it blocks, outcomes wait and hold their memory, so slow
/// output slows the solvers down instead of filling the memory. If it breaks, the run ends early.
/// An outcome depends on its problem alone: not on batch size, order, number of threads or memory.
///
/// # Panics
/// If answers are to be verified and the workload [cannot compare](Workload::can_compare) them, and
/// if `done` panics.
pub fn run<W: OwnedWorkload>(
    workload: &Arc<W>,
    source: &Source<W::Problem, W::Failure>,
    settings: &Settings,
    done: &mut dyn FnMut(Done<W::Solution, W::Failure>) -> ControlFlow<()>,
) -> Report {
    let finish = Arc::new(AsSolved(Arc::clone(workload)));
    run_finishing(&finish, source, settings, &mut |delivery| match delivery {
        Delivery::Done(outcome) => done(outcome),
        Delivery::Tick => ControlFlow::Continue(()),
    })
}

/// [`run`] for solutions that are finished before they are delivered, with ticks between the
/// outcomes.
///
/// # Panics
/// Like [`run`].
pub fn run_finishing<F: Finish>(
    finish: &Arc<F>,
    source: &Source<<F::Workload as Workload>::Problem, F::Failure>,
    settings: &Settings,
    take: &mut dyn FnMut(Delivery<F::Finished, F::Failure>) -> ControlFlow<()>,
) -> Report {
    run_until(finish, source, settings, settings.stop.for_run(), take)
}

/// [`run_finishing`] with a stop of its own: the holder of a clone can end the run.
pub(crate) fn run_until<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    settings: &Settings,
    stop: Stop,
    take: &mut dyn FnMut(Delivery<F::Finished, F::Failure>) -> ControlFlow<()>,
) -> Report {
    let name = <WorkloadOf<F> as Workload>::NAME;
    assert!(
        settings.n_verify == 0 || finish.workload().can_compare(),
        "answers of {name} cannot be verified: the workload does not compare them"
    );
    let resident = Resident::now();
    // The workers end even if this thread panics (`take` may panic).
    let mut run = driver::start(finish, source, settings, stop);
    let collected = driver::collect(&run, take);
    // Measured before the threads are joined: from here on no thread waits for a message.
    let wall_ms = ms(run.driver.started.elapsed());
    let samples = run.driver.all_samples(wall_ms);
    let sampled = samples.iter().map(|sample| sample.resident_bytes);
    let resident_peak_bytes = resident.peak_since(sampled);
    run.join();
    let driver = &run.driver;
    let Collected { counts, workers, mut ledger, setbacks, n_setbacks, verification, ended_by } =
        collected;
    let (n_reservations, n_refusals) = settings.memory.n_granted_refused();
    let costs = driver.costs();
    let cpu = Cpu { n_threads: settings.n_threads.max(1), ..Cpu::detect() };
    Report {
        workload: name.to_owned(),
        devices: std::iter::once(DeviceUse::Cpu(cpu)).chain(driver.device_uses()).collect(),
        routes: driver.routes(&costs),
        n_cpu_only: driver.n_cpu_only(),
        cancelled: counts.n_done() < counts.n_problems,
        ended_by,
        counts,
        wall_ms,
        workers,
        n_launches: ledger.n_launches,
        launches_step: ledger.step(),
        buckets: ledger.buckets(),
        launches: ledger.kept,
        samples,
        memory: MemoryFigures {
            budget_bytes: settings.memory.cap_bytes(),
            peak_bytes: settings.memory.peak_bytes(),
            resident_peak_bytes,
            n_reservations,
            n_refusals,
            pool: settings.memory.pool_figures(),
        },
        setbacks,
        n_setbacks,
        verification,
        costs,
    }
}

/// The whole plan of a run, without its execution. Problems without a size are not in it.
pub fn explain<F: Finish>(finish: &F, source: &SourceOf<F>, settings: &Settings) -> Plan {
    let workload = finish.workload();
    let planned: Vec<Planned> = (0..source.n_problems())
        .filter_map(|index| {
            let sized = guarded(|| {
                let size = source.size(index).ok()?;
                let kind = device_kind(settings);
                let gpu = gpu_lane(workload, &size, kind).filter(|_| {
                    !settings.devices.is_empty() && may_launch(workload, &size, settings)
                });
                Some((size, need(finish, &size), gpu))
            });
            let (size, need, gpu) = sized.ok().flatten()?;
            Some(Planned { index, size, need, gpu })
        })
        .collect();
    let name = <WorkloadOf<F> as Workload>::NAME;
    plan(name, &planned, &limits(settings), &settings.costs)
}

pub(crate) fn limits(settings: &Settings) -> Limits {
    let launch_bytes_max =
        settings.devices.iter().map(|device| device.launch_bytes_max(settings)).min();
    Limits {
        budget_bytes: settings.memory.reachable_bytes(),
        n_batches_at_once: settings.n_threads.max(1)
            + settings.n_prefetch
            + Policy::N_WORKERS_OF_DEVICE * settings.devices.len(),
        batch_size: settings.batch_size,
        batch_size_max: settings.batch_size_max.max(1),
        gpu: launch_bytes_max.map(|launch_bytes_max| GpuLimits {
            padding: settings.padding.clone(),
            launch_bytes_max,
        }),
    }
}

/// The kind of the devices: all devices of one run are of one kind.
pub(crate) fn device_kind(settings: &Settings) -> DeviceKind {
    let first = settings.devices.first();
    first.map_or(DeviceKind::Gpu, |device| device.id().kind())
}

/// The memory that solving and finishing a problem takes on the CPU.
pub(crate) fn need<F: Finish>(finish: &F, size: &Size) -> Need {
    let solving = finish.workload().need(size, DeviceKind::Cpu);
    finish.need(size, solving)
}

/// Whether the placement allows a problem of this size to be launched.
pub(crate) fn may_launch<W: Workload>(workload: &W, size: &Size, settings: &Settings) -> bool {
    settings.placement.as_ref().is_none_or(|placement| {
        workload.launch_is_exact(size.class) || placement.is_on_devices(size)
    })
}

/// How a problem of this size can be launched, if it can.
pub(crate) fn gpu_lane<W: Workload>(workload: &W, size: &Size, on: DeviceKind) -> Option<GpuLane> {
    let form = workload.launch_form(size)?;
    let need = workload.need(&Size { shape: form, ..*size }, on);
    // All answers of a launch exist before the first of them is finished.
    let solving = workload.need(size, DeviceKind::Cpu);
    Some(GpuLane {
        form,
        need,
        host_bytes: solving.lane_bytes.saturating_add(solving.solution_bytes),
    })
}
