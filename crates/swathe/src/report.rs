//! Reports: the figures of a run, all of them measured.

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
    /// What every worker did, by phase.
    pub workers: Vec<WorkerFigures>,
    /// Launches, in the order they ended: every [`launches_step`](Report::launches_step)-th one.
    pub launches: Vec<Launch>,
    /// How many launches there were.
    pub n_launches: u64,
    /// One in so many launches is kept, so that there are [`Report::N_LAUNCHES_KEPT`] at most and
    /// they show the whole run, not its beginning.
    pub launches_step: u64,
    /// All launches together, by device, class and rough shape.
    pub buckets: Vec<BucketFigures>,
    /// The run from moment to moment; the first is its start, the last its end.
    pub samples: Vec<Sample>,
    /// Memory against the budget.
    pub memory: MemoryFigures,
    /// What went wrong and was mended; at most [`Report::N_SETBACKS_KEPT`] are kept.
    pub setbacks: Vec<Setback>,
    /// How many setbacks there were.
    pub n_setbacks: u64,
    /// What solving again showed.
    pub verification: Verification,
    /// What problems were measured to take.
    pub costs: Costs,
    /// Where problems that could run on graphics processors went, and why.
    pub routes: Vec<Route>,
    /// Problems that ran on the CPU because no kernel can do them, while graphics processors were
    /// at hand.
    pub n_cpu_only: u64,
    /// Whether the run ended before every problem had its outcome.
    pub cancelled: bool,
    /// Why the engine itself ended the run early, if it did.
    #[serde(default)]
    pub ended_by: Option<EndCause>,
}

/// Why the engine ended a run before its problems did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Too many solvers ran on after they were told to stop.
    StuckSolvers {
        /// How many.
        n_stuck: usize,
        /// How many there may be.
        n_stuck_max: usize,
    },
    /// The system refused the threads that the run needs.
    NoThread,
}

impl Report {
    /// A report's size does not grow with the run beyond this.
    pub const N_LAUNCHES_KEPT: usize = 10_000;
    /// Likewise.
    pub const N_SETBACKS_KEPT: usize = 1_000;
    /// Likewise.
    pub const N_SAMPLES_KEPT: usize = 600;

    /// Problems solved in a second.
    pub fn solved_per_s(&self) -> f64 {
        self.counts.n_solved as f64 / (self.wall_ms / 1e3).max(1e-9)
    }
}

/// What became of the problems of a run.
///
/// Without a cancellation `n_problems` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All of them.
    pub n_problems: u64,
    /// Those with an answer.
    pub n_solved: u64,
    /// Those that failed for a reason of their own, of wrong size included.
    pub n_failed: u64,
    /// Those that fit nowhere.
    pub n_too_large: u64,
    /// Those that did not finish in time.
    pub n_timed_out: u64,
    /// Those whose solver panicked.
    pub n_panicked: u64,
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

    /// Those that have an outcome.
    pub fn n_done(&self) -> u64 {
        self.n_solved + self.n_unsolved()
    }

    /// Those that have an outcome, but no answer.
    pub fn n_unsolved(&self) -> u64 {
        self.n_failed + self.n_too_large + self.n_timed_out + self.n_panicked
    }
}

/// What a worker does at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing: there was no batch to take.
    #[default]
    Idle,
    /// Waits for memory.
    Memory,
    /// Loads problems.
    Load,
    /// Waits until fewer than `n_threads` others solve.
    Turn,
    /// Solves.
    Solve,
    /// Hands outcomes over; waits if they are not taken.
    Deliver,
}

/// What a worker did, in milliseconds of wall time. The phases and the idle time add up to the wall.
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
    /// From the worker's first moment to its last.
    pub wall_ms: f64,
}

impl WorkerFigures {
    /// All phases together.
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
    /// Where it ran.
    pub device: DeviceId,
    /// Which worker ran it.
    pub worker: usize,
    /// The class of its problems.
    pub class: u32,
    /// The shape all of them fit in.
    pub shape: Shape,
    /// How many problems.
    pub n_lanes: usize,
    /// The sum of their own volumes; what [`Launch::volume_launched`] has more is padding.
    pub volume_real: u64,
    /// The volume that was computed on: that of all lanes, padded if the device needs it.
    pub volume_launched: u64,
    /// The memory reserved for it.
    pub bytes: u64,
    /// When it was taken and began to wait for memory, from the start of the run.
    pub start_ms: f64,
    /// When it began to load.
    pub load_start_ms: f64,
    /// When its problems were loaded and it began to wait for its turn.
    pub load_end_ms: f64,
    /// When its turn had come.
    pub solve_start_ms: f64,
    /// When its last problem was solved.
    pub end_ms: f64,
}

impl Launch {
    /// The time from one moment to a later one, which may not have come.
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

    /// How long it waited for its turn.
    pub fn turn_ms(&self) -> f64 {
        Launch::span(self.load_end_ms, self.solve_start_ms)
    }

    /// How long its problems took to be solved.
    pub fn solve_ms(&self) -> f64 {
        Launch::span(self.solve_start_ms, self.end_ms)
    }
}

/// All launches of one class and rough shape on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BucketFigures {
    /// Where they ran.
    pub device: DeviceId,
    /// Their class.
    pub class: u32,
    /// What the workload calls the class.
    pub class_name: String,
    /// The shape that launches were padded to; where nothing is padded, their shape with every
    /// extent rounded up to a power of two.
    pub shape: Shape,
    /// How many launches.
    pub n_launches: u64,
    /// How many problems in them.
    pub n_lanes: u64,
    /// Launches of 1, of 2 to 3, of 4 to 7 lanes and so on; no zeros at the end.
    pub n_launches_by_lanes: Vec<u64>,
    /// The sum of the problems' own volumes.
    pub volume_real: u64,
    /// The volume that was computed on.
    pub volume_launched: u64,
    /// The most memory reserved for one launch.
    pub bytes_max: u64,
    /// All waiting for memory.
    pub memory_ms: f64,
    /// All loading.
    pub load_ms: f64,
    /// All waiting for turns.
    pub turn_ms: f64,
    /// All solving.
    pub solve_ms: f64,
    /// What loading and solving were spent on, as far as the workload says ([`crate::timed`]).
    pub operations: Vec<OperationFigures>,
}

impl BucketFigures {
    /// The share of the volume computed on that is padding, 0 to 1.
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
    /// What the workload calls it.
    pub name: String,
    /// The phase it belongs to: [`Phase::Load`] or [`Phase::Solve`].
    pub phase: Phase,
    /// How often.
    pub n_calls: u64,
    /// How long, without the operations inside it.
    pub ms: f64,
}

/// A run at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, from the start of the run.
    pub at_ms: f64,
    /// Problems that have an outcome.
    pub n_done: u64,
    /// Those of them that have no answer.
    pub n_unsolved: u64,
    /// Problems that workers have in hand.
    pub n_in_flight: u64,
    /// Problems that wait for a worker, not yet planned ones included.
    pub n_waiting: u64,
    /// Memory reserved of the budget.
    pub used_bytes: u64,
}

/// What a worker does right now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerNow {
    /// The worker's number.
    pub worker: usize,
    /// The device it works for.
    pub device: DeviceId,
    /// What it does.
    pub phase: Phase,
    /// The problem it loads or solves, and for how long already.
    pub problem: Option<(usize, f64)>,
}

/// Where problems of one class and padded shape went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Their class.
    pub class: u32,
    /// The shape they are padded to.
    pub padded: Shape,
    /// The sum of their own volumes.
    pub volume_real: u64,
    /// Whether launches hold them one after another instead of padding them.
    pub packed: bool,
    /// How many there were.
    pub n_problems: u64,
    /// What each device did of them and what it was measured to take.
    pub devices: Vec<RouteDevice>,
    /// The device that is fastest for them, all its threads together.
    pub choice: Option<DeviceId>,
    /// How long the next best one would have taken for all of them, beside how long that one does.
    pub other_ms: Option<f64>,
    /// How long the chosen one takes for all of them.
    pub choice_ms: Option<f64>,
}

impl Route {
    /// The share of the launched volume that is padding, 0 to 1.
    pub fn waste(&self) -> f64 {
        let padded = self.padded.volume() as f64 * self.n_problems as f64;
        if padded == 0.0 || self.packed {
            0.0
        } else {
            1.0 - self.volume_real as f64 / padded
        }
    }
}

/// A device's part in a [`Route`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteDevice {
    /// The device.
    pub device: DeviceId,
    /// How many of the problems it solved.
    pub n_lanes: u64,
    /// What one of them takes there, in milliseconds; on the CPU on one thread.
    pub lane_ms: Option<f64>,
}

/// Memory against the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFigures {
    /// The budget.
    pub budget_bytes: u64,
    /// The most that was reserved at once.
    pub peak_bytes: u64,
    /// Reservations granted.
    pub n_reservations: u64,
    /// Reservations refused.
    pub n_refusals: u64,
    /// Buffers used again, if the workload has a pool.
    pub pool: PoolFigures,
}

/// Why a launch was split, tried again or moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setback {
    /// When, from the start of the run.
    pub at_ms: f64,
    /// On which device.
    pub device: DeviceId,
    /// Why.
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
        /// What was asked for.
        wanted_bytes: u64,
    },
    /// The worker was lost.
    WorkerLost,
    /// A solver did not stop when its time was over, and its worker was left behind.
    WorkerStuck {
        /// The problem it is stuck in.
        problem: usize,
    },
    /// The system refused to start threads.
    ThreadsRefused {
        /// How many.
        n_refused: usize,
    },
    /// A graphics processor was lost.
    DeviceLost,
    /// A graphics processor did not answer in time.
    DeviceTimedOut,
    /// A launch came to nothing.
    LaunchFailed {
        /// What the driver or the kernel said.
        message: String,
    },
    /// Kernels could not finish some problems of a launch.
    HandedOver {
        /// Why not.
        reason: String,
    },
}

/// What was done about a setback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The launch was cut in two.
    Split,
    /// It was put back to be tried again.
    Retried,
    /// A new worker took over what was left of it.
    Replaced,
    /// The CPU takes it.
    ToCpu,
    /// The device was opened again, and the launch put back.
    Reopened,
    /// The device is not used any more, and the launch put back.
    Retired,
    /// The run goes on with fewer workers.
    FewerWorkers,
}

/// What solving again showed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Outcomes that were solved again.
    pub n_checked: u64,
    /// Chosen ones that were not, because they failed or there was no memory to hold them twice.
    pub n_skipped: u64,
    /// Those whose answers differ.
    pub mismatches: Vec<Mismatch>,
}

/// A problem that was solved twice with different answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The problem.
    pub problem: usize,
    /// Where the answers differ.
    pub difference: Difference,
}

/// Something that happened during a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// Outcomes were taken; the counts so far.
    Progress {
        /// What became of the problems so far.
        counts: Counts,
        /// Time since the start.
        elapsed: Duration,
    },
    /// A launch ended.
    Launched(Launch),
    /// Something went wrong and was mended.
    Setback(Setback),
    /// Two answers to one problem differ.
    Mismatch(Mismatch),
    /// A moment of the run, at least a few times a second whether anything happens or not.
    Sampled {
        /// The moment.
        sample: Sample,
        /// What every worker does.
        workers: Vec<WorkerNow>,
    },
}
