//! Reports: the measured figures of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::device::DeviceUse;
use crate::pool::PoolFigures;
use crate::{Costs, DeviceId, Difference, OutcomeKind, Shape};

/// The figures of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The workload's name.
    pub workload: String,
    /// The devices that took part.
    pub devices: Vec<DeviceUse>,
    /// What became of the problems.
    pub counts: Counts,
    /// From the first plan to the last outcome taken, in milliseconds.
    pub wall_ms: f64,
    /// The time of every worker, by phase.
    pub workers: Vec<WorkerFigures>,
    /// Launches, in the order they ended: every [`launches_step`](Report::launches_step)-th one.
    pub launches: Vec<Launch>,
    /// How many launches there were.
    pub n_launches: u64,
    /// One in so many launches is kept, so that at most [`Report::N_LAUNCHES_KEPT`] cover the whole
    /// run and not only its beginning.
    pub launches_step: u64,
    /// All launches summed up by device, class and shape bin.
    pub buckets: Vec<BucketFigures>,
    /// The state of the run over time; the first sample is at its start, the last at its end.
    pub samples: Vec<Sample>,
    /// Memory use against the budget.
    pub memory: MemoryFigures,
    /// What went wrong and was recovered; at most [`Report::N_SETBACKS_KEPT`] are kept.
    pub setbacks: Vec<Setback>,
    /// How many setbacks there were.
    pub n_setbacks: u64,
    /// The result of the verification.
    pub verification: Verification,
    /// The measured costs of problems.
    pub costs: Costs,
    /// Which devices solved the problems that graphics processors can run, and why.
    pub routes: Vec<Route>,
    /// Problems that ran on the CPU because no kernel supports them, although graphics processors
    /// were available.
    pub n_cpu_only: u64,
    /// Whether the run ended before every problem had its outcome.
    pub cancelled: bool,
    /// Why the engine itself ended the run early, if it did.
    #[serde(default)]
    pub ended_by: Option<EndCause>,
}

/// Why the engine ended a run before all problems were done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Too many solvers kept running after a stop.
    #[error(
        "{n_stuck} problems did not stop when their time was over and keep the processor busy, so the run ended early"
    )]
    StuckSolvers {
        /// How many solvers were stuck.
        n_stuck: usize,
        /// How many may be stuck.
        n_stuck_max: usize,
    },
    /// All workers waited for memory, and nothing in the run could release any.
    #[error(
        "all workers waited for memory, and none of the {held_bytes} bytes reserved of {budget_bytes} was released, so the run ended early"
    )]
    MemoryHeld {
        /// The bytes that were reserved.
        held_bytes: u64,
        /// The size of the budget.
        budget_bytes: u64,
    },
    /// The system refused the threads that the run needs.
    #[error("the system refused to start the threads that the run needs")]
    NoThread,
}

impl Report {
    /// The maximum number of launches in a report, so that its size does not grow with the run.
    pub const N_LAUNCHES_KEPT: usize = 10_000;
    /// The maximum number of setbacks in a report.
    pub const N_SETBACKS_KEPT: usize = 1_000;
    /// The maximum number of samples in a report.
    pub const N_SAMPLES_KEPT: usize = 600;

    /// What devices could not finish and left to the CPU, as a text for each device: how many
    /// problems, and why the first of them.
    pub fn handed_over(&self) -> Vec<String> {
        let mut by_device: BTreeMap<DeviceId, (usize, &str)> = BTreeMap::new();
        for setback in &self.setbacks {
            if let SetbackCause::HandedOver { reason } = &setback.cause {
                by_device.entry(setback.device).or_insert((0, reason)).0 += setback.n_problems;
            }
        }
        let least = match self.setbacks.len() == Report::N_SETBACKS_KEPT {
            true => "at least ",
            false => "",
        };
        let texts = by_device.into_iter().map(|(device, (n, reason))| {
            let problems = if n == 1 { "problem" } else { "problems" };
            format!("{device} left {least}{n} {problems} to the CPU; the first: {reason}")
        });
        texts.collect()
    }

    /// Problems solved per second.
    pub fn solved_per_s(&self) -> f64 {
        self.counts.n_solved as f64 / (self.wall_ms / 1e3).max(1e-9)
    }
}

/// What became of the problems of a run.
///
/// Unless the run was cancelled, `n_problems` is the sum of the other counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All problems.
    pub n_problems: u64,
    /// Problems with an answer.
    pub n_solved: u64,
    /// Problems that failed for a reason of their own, including those of wrong size.
    pub n_failed: u64,
    /// Problems that fit in no device's memory.
    pub n_too_large: u64,
    /// Problems that timed out.
    pub n_timed_out: u64,
    /// Problems whose solver panicked.
    pub n_panicked: u64,
}

impl std::ops::Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            n_problems: self.n_problems + other.n_problems,
            n_solved: self.n_solved + other.n_solved,
            n_failed: self.n_failed + other.n_failed,
            n_too_large: self.n_too_large + other.n_too_large,
            n_timed_out: self.n_timed_out + other.n_timed_out,
            n_panicked: self.n_panicked + other.n_panicked,
        }
    }
}

impl Counts {
    /// Counts one more outcome.
    pub fn add(&mut self, kind: OutcomeKind) {
        match kind {
            OutcomeKind::Solved => self.n_solved += 1,
            OutcomeKind::Failed | OutcomeKind::WrongSize => self.n_failed += 1,
            OutcomeKind::TooLarge => self.n_too_large += 1,
            OutcomeKind::TimedOut => self.n_timed_out += 1,
            OutcomeKind::Panicked => self.n_panicked += 1,
        }
    }

    /// The problems that have an outcome.
    pub fn n_done(&self) -> u64 {
        self.n_solved + self.n_unsolved()
    }

    /// The problems that have an outcome, but no answer.
    pub fn n_unsolved(&self) -> u64 {
        self.n_failed + self.n_too_large + self.n_timed_out + self.n_panicked
    }
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Does nothing: there was no batch to take.
    #[default]
    Idle,
    /// Waits for memory.
    Memory,
    /// Loads problems.
    Load,
    /// Waits until fewer than `n_threads` other workers solve.
    Turn,
    /// Solves.
    Solve,
    /// Delivers outcomes; waits until they are taken.
    Deliver,
}

/// The wall time of a worker by phase, in milliseconds. The phases, including idle, add up to the
/// wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// The worker's number.
    pub worker: usize,
    /// The device it worked for.
    pub device: DeviceId,
    /// See [`Phase::Idle`].
    pub idle_ms: f64,
    /// See [`Phase::Memory`].
    pub memory_ms: f64,
    /// See [`Phase::Load`].
    pub load_ms: f64,
    /// See [`Phase::Turn`].
    pub turn_ms: f64,
    /// See [`Phase::Solve`].
    pub solve_ms: f64,
    /// See [`Phase::Deliver`].
    pub deliver_ms: f64,
    /// From the start of the worker to its end.
    pub wall_ms: f64,
}

impl WorkerFigures {
    /// The sum of all phases.
    pub fn phases_ms(&self) -> f64 {
        self.idle_ms
            + self.memory_ms
            + self.load_ms
            + self.turn_ms
            + self.solve_ms
            + self.deliver_ms
    }
}

/// One launch: a batch, or the part of one that a worker took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The device it ran on.
    pub device: DeviceId,
    /// The worker that ran it.
    pub worker: usize,
    /// The class of its problems.
    pub class: u32,
    /// The shape that all its problems fit in.
    pub shape: Shape,
    /// How many problems it had.
    pub n_lanes: usize,
    /// The sum of the problems' own volumes; the rest of [`Launch::volume_launched`] is padding.
    pub volume_real: u64,
    /// The computed volume: that of all lanes, padded if the device needs it.
    pub volume_launched: u64,
    /// The memory reserved for the launch.
    pub bytes: u64,
    /// When a worker took it and began to wait for memory, from the start of the run.
    pub start_ms: f64,
    /// When it began to load.
    pub load_start_ms: f64,
    /// When its problems were loaded and it began to wait for a turn to solve.
    pub load_end_ms: f64,
    /// When it began to solve.
    pub solve_start_ms: f64,
    /// When its last problem was solved.
    pub end_ms: f64,
}

impl Launch {
    /// The time between two moments; 0 if the later moment was not reached.
    fn span(from_ms: f64, to_ms: f64) -> f64 {
        (to_ms - from_ms).max(0.0)
    }

    /// How long it waited for memory.
    pub fn memory_ms(&self) -> f64 {
        Launch::span(self.start_ms, self.load_start_ms)
    }

    /// How long its problems took to load.
    pub fn load_ms(&self) -> f64 {
        Launch::span(self.load_start_ms, self.load_end_ms)
    }

    /// How long it waited for a turn to solve.
    pub fn turn_ms(&self) -> f64 {
        Launch::span(self.load_end_ms, self.solve_start_ms)
    }

    /// How long its problems took to be solved.
    pub fn solve_ms(&self) -> f64 {
        Launch::span(self.solve_start_ms, self.end_ms)
    }
}

/// All launches of one class and shape bin on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BucketFigures {
    /// The device they ran on.
    pub device: DeviceId,
    /// The class of the problems.
    pub class: u32,
    /// What the workload calls the class.
    pub class_name: String,
    /// The shape that launches were padded to. Without padding, the shape of the launches with
    /// every extent rounded up to a power of two.
    pub shape: Shape,
    /// How many launches.
    pub n_launches: u64,
    /// How many problems were in them.
    pub n_lanes: u64,
    /// How many launches had 1 lane, 2 to 3 lanes, 4 to 7 lanes and so on, without trailing zeros.
    pub n_launches_by_lanes: Vec<u64>,
    /// The sum of the problems' own volumes.
    pub volume_real: u64,
    /// The computed volume.
    pub volume_launched: u64,
    /// The most memory reserved for one launch.
    pub bytes_max: u64,
    /// Total time waiting for memory.
    pub memory_ms: f64,
    /// Total time loading.
    pub load_ms: f64,
    /// Total time waiting for a turn to solve.
    pub turn_ms: f64,
    /// Total time solving.
    pub solve_ms: f64,
    /// The operations inside loading and solving that the workload times with [`crate::timed`].
    pub operations: Vec<OperationFigures>,
}

impl BucketFigures {
    /// The share of the computed volume that is padding, 0 to 1.
    pub fn waste(&self) -> f64 {
        match self.volume_launched {
            0 => 0.0,
            launched => 1.0 - self.volume_real.min(launched) as f64 / launched as f64,
        }
    }
}

/// Time spent on one operation inside a solver or a loader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationFigures {
    /// The workload's name for the operation.
    pub name: String,
    /// The phase it belongs to: [`Phase::Load`] or [`Phase::Solve`].
    pub phase: Phase,
    /// How often it ran.
    pub n_calls: u64,
    /// How long it ran, without the operations nested in it.
    pub ms: f64,
}

/// The state of a run at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, from the start of the run.
    pub at_ms: f64,
    /// Problems that have an outcome.
    pub n_done: u64,
    /// Of these, the problems that have no answer.
    pub n_unsolved: u64,
    /// Problems that workers are working on.
    pub n_in_flight: u64,
    /// Problems that wait for a worker, including those not yet planned.
    pub n_waiting: u64,
    /// Memory reserved from the budget.
    pub used_bytes: u64,
    /// Resident memory of the process; 0 if the system does not report it, and in reports of
    /// earlier versions.
    #[serde(default)]
    pub resident_bytes: u64,
}

/// What a worker is doing right now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerNow {
    /// The worker's number.
    pub worker: usize,
    /// The device it works for.
    pub device: DeviceId,
    /// The current phase.
    pub phase: Phase,
    /// The problem it loads or solves, and for how many milliseconds so far.
    pub problem: Option<(usize, f64)>,
}

/// Where problems of one class and padded shape ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The class of the problems.
    pub class: u32,
    /// The shape that the problems are padded to.
    pub padded: Shape,
    /// The sum of the problems' own volumes.
    pub volume_real: u64,
    /// Whether launches hold the problems one after another instead of padding them.
    pub packed: bool,
    /// How many problems there were.
    pub n_problems: u64,
    /// The part that each device solved, and its measured cost.
    pub devices: Vec<RouteDevice>,
    /// The device that is fastest for these problems, with all its threads together.
    pub choice: Option<DeviceId>,
    /// How long the second fastest device would take for all of them.
    pub other_ms: Option<f64>,
    /// How long the fastest device takes for all of them.
    pub choice_ms: Option<f64>,
}

impl Route {
    /// The share of the launched volume that is padding, 0 to 1.
    pub fn waste(&self) -> f64 {
        let padded = self.padded.volume() as f64 * self.n_problems as f64;
        if padded == 0.0 || self.packed { 0.0 } else { 1.0 - self.volume_real as f64 / padded }
    }
}

/// A device's part in a [`Route`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteDevice {
    /// The device.
    pub device: DeviceId,
    /// How many of the problems it solved.
    pub n_lanes: u64,
    /// The time of one problem on the device, in milliseconds; for the CPU on one thread.
    pub lane_ms: Option<f64>,
}

/// Memory use against the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFigures {
    /// The budget.
    pub budget_bytes: u64,
    /// The most bytes reserved at once.
    pub peak_bytes: u64,
    /// The most resident memory of the process during the run; 0 if the system does not report it,
    /// and in reports of earlier versions.
    #[serde(default)]
    pub resident_peak_bytes: u64,
    /// Reservations granted.
    pub n_reservations: u64,
    /// Reservations refused.
    pub n_refusals: u64,
    /// How often buffers were reused, if the workload has a pool.
    pub pool: PoolFigures,
}

/// Why a launch was split, retried or moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setback {
    /// When, from the start of the run.
    pub at_ms: f64,
    /// The device it happened on.
    pub device: DeviceId,
    /// What went wrong.
    pub cause: SetbackCause,
    /// How many problems it concerned.
    pub n_problems: usize,
    /// What was done about it.
    pub remedy: Remedy,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetbackCause {
    /// Memory was refused.
    OutOfMemory {
        /// The bytes that were requested.
        wanted_bytes: u64,
    },
    /// The worker was lost.
    WorkerLost,
    /// A solver did not stop after its time limit, and its worker was abandoned.
    WorkerStuck {
        /// The problem that the worker is stuck in.
        problem: usize,
    },
    /// The system refused to start threads.
    ThreadsRefused {
        /// How many threads.
        n_refused: usize,
    },
    /// A graphics processor was lost.
    DeviceLost,
    /// A graphics processor timed out.
    DeviceTimedOut,
    /// A launch failed as a whole.
    LaunchFailed {
        /// The message of the driver or the kernel.
        message: String,
    },
    /// Kernels could not finish some problems of a launch.
    HandedOver {
        /// Why the kernels could not finish them.
        reason: String,
    },
}

/// What was done about a setback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The launch was split in two.
    Split,
    /// The launch was queued again for a retry.
    Retried,
    /// A new worker took over the rest of the launch.
    Replaced,
    /// The CPU solves the problems.
    ToCpu,
    /// The device was reopened and the launch queued again.
    Reopened,
    /// The device is no longer used, and the launch was queued again.
    Retired,
    /// The run continues with fewer workers.
    FewerWorkers,
}

/// The result of solving some problems again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Outcomes that were solved again.
    pub n_checked: u64,
    /// Chosen outcomes that were not solved again, because they failed or there was no memory to
    /// hold them twice.
    pub n_skipped: u64,
    /// Problems whose two answers differ.
    pub mismatches: Vec<Mismatch>,
}

/// A problem that was solved twice with different answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The number of the problem.
    pub problem: usize,
    /// Where the answers differ.
    pub difference: Difference,
}

/// Something that happened during a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// Outcomes were taken.
    Progress {
        /// What became of the problems so far.
        counts: Counts,
        /// Time since the start.
        elapsed: Duration,
    },
    /// A launch ended.
    Launched(Launch),
    /// Something went wrong and was recovered.
    Setback(Setback),
    /// Two answers to one problem differ.
    Mismatch(Mismatch),
    /// A periodic sample, at least a few times a second whether anything happens or not.
    Sampled {
        /// The sample.
        sample: Sample,
        /// What every worker is doing.
        workers: Vec<WorkerNow>,
    },
}
