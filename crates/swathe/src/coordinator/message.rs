//! What the coordinator is told, and what it commands: plain data.

use std::collections::VecDeque;
use std::time::Duration;

use crate::report::{EndCause, Remedy, SetbackCause};
use crate::{Planned, Shape, Size};

/// The number of a worker. Numbers are not used again.
pub(crate) type WorkerId = usize;

/// What a worker works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(crate) enum Place {
    Cpu,
    /// The device at this position of the settings.
    Device(usize),
}

/// Problems that a worker takes together.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(Hash))]
pub(crate) struct Range {
    pub(crate) class: u32,
    pub(crate) problems: VecDeque<Planned>,
    /// The number of this attempt, from 1.
    pub(crate) n_attempts: u32,
    /// How the problems are launched, if they are for a device.
    pub(crate) padded: Option<Padded>,
}

/// The size that the problems of a launch are padded to, and its memory on the device.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(test, derive(Hash))]
pub(crate) struct Padded {
    pub(crate) size: Size,
    pub(crate) lane_bytes: u64,
    pub(crate) launch_bytes: u64,
}

impl Range {
    /// The memory of all lanes and answers. The unfinished answers of a launch are all held at
    /// once, until they are finished one by one.
    pub(crate) fn lanes_bytes(&self) -> u64 {
        let bytes = self.problems.iter().map(|planned| {
            let held_bytes = planned.need.lane_bytes + planned.need.solution_bytes;
            match (self.padded, planned.gpu) {
                (Some(_), Some(lane)) => held_bytes.max(lane.host_bytes),
                _ => held_bytes,
            }
        });
        bytes.sum()
    }

    /// The largest scratch of the problems. A launch has it too, because workloads finish on the
    /// CPU what a device has begun.
    pub(crate) fn scratch_bytes(&self) -> u64 {
        self.problems.iter().map(|planned| planned.need.scratch_bytes).max().unwrap_or(0)
    }

    /// The memory of all answers.
    pub(crate) fn solutions_bytes(&self) -> u64 {
        self.problems.iter().map(|planned| planned.need.solution_bytes).sum()
    }

    /// The volume of all problems, without padding.
    pub(crate) fn volume(&self) -> u64 {
        self.problems.iter().map(|planned| planned.size.shape.volume()).sum()
    }

    pub(crate) fn shape(&self) -> Shape {
        let shapes = self.problems.iter().map(|planned| planned.size.shape);
        shapes.reduce(|a, b| a.union(&b)).unwrap_or_default()
    }
}

/// A planned window of problems.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Problems for the CPU alone.
    pub(crate) ranges: Vec<Range>,
    pub(crate) launches: Vec<Launchable>,
    /// Problems that have their outcome already: unreadable or too large.
    pub(crate) n_settled: usize,
}

/// Problems that devices can launch, padded alike.
#[derive(Clone, Debug)]
pub(crate) struct Launchable {
    pub(crate) padded: Padded,
    /// Whether the CPU takes them too, or leaves them to the devices.
    pub(crate) is_shared: bool,
    pub(crate) problems: Vec<Planned>,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A worker's thread runs.
    Started(WorkerId),
    /// The system refused the thread of a worker.
    Refused(WorkerId),
    Planned {
        worker: WorkerId,
        window: Window,
    },
    Memory {
        worker: WorkerId,
        answer: MemoryAnswer,
    },
    /// The range of a worker is loaded.
    Loaded(WorkerId),
    /// A worker has ended its range. What is in none of the lists and not done was given up,
    /// because the run is cancelled.
    Ended {
        worker: WorkerId,
        n_done: usize,
        /// Problems whose memory was refused while they were loaded or solved.
        refused: Vec<Planned>,
        /// Problems that were given back unsolved.
        returned: Vec<Planned>,
        /// What was learnt of costs: sizes, how many problems, and their time together.
        costs: Vec<(Size, u64, Duration)>,
    },
    Launched(Box<Launched>),
    Reopened {
        worker: WorkerId,
        error: Option<String>,
    },
    /// Outcomes of a range were delivered before the range ended.
    Flushed {
        worker: WorkerId,
        n_done: usize,
    },
    /// A worker was abandoned: its thread does nothing any more that counts.
    Abandoned(Box<Abandoned>),
    /// The thread of an abandoned worker has ended after all.
    Returned(WorkerId),
    /// The caller took so many messages with outcomes.
    Took(usize),
    Tick {
        running: Vec<Running>,
        memory: MemoryNow,
    },
    Cancel,
}

/// The answer to a request for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryAnswer {
    Granted,
    /// Others hold the memory.
    Busy,
    Refused {
        /// The part of the budget that is free or can be released.
        reachable_bytes: u64,
    },
    /// The worker itself is lost.
    Lost,
}

/// The end of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Launched {
    pub(crate) worker: WorkerId,
    pub(crate) result: Result<Answers, LaunchError>,
    /// Problems of a failed launch.
    pub(crate) failed: Vec<Planned>,
    /// Problems that the CPU must solve, and why.
    pub(crate) handed: Vec<(String, Vec<Planned>)>,
    /// Problems whose memory was refused while they were loaded.
    pub(crate) refused: Vec<Planned>,
    /// Outcomes that were delivered: of all other problems, if there are no answers to finish.
    pub(crate) n_done: usize,
}

/// The answers of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    /// Answers that wait to be finished, by the same worker.
    pub(crate) n_answered: usize,
    pub(crate) n_lanes: usize,
    /// The time of the launch, if it says something about the next one.
    pub(crate) took: Option<Duration>,
}

/// Why a launch failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaunchError {
    OutOfMemory {
        wanted_bytes: u64,
    },
    Lost,
    TimedOut,
    /// It would fail again.
    Code(String),
    /// The run is cancelled.
    Cancelled,
}

/// What an abandoned worker leaves behind.
#[derive(Clone, Debug)]
pub(crate) struct Abandoned {
    pub(crate) worker: WorkerId,
    pub(crate) stuck: Stuck,
    /// The time since it began what it is stuck in.
    pub(crate) spent: Duration,
    /// Outcomes that were delivered.
    pub(crate) n_done: usize,
    /// Problems that must be solved again.
    pub(crate) rest: Vec<Planned>,
    /// Problems that are solved and only wait to be finished.
    pub(crate) answered: Vec<usize>,
}

/// What a worker is stuck in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Reading the size of this problem.
    Size(usize),
    /// Loading, solving or finishing this problem.
    Problem(usize),
    /// Solving this problem a second time; it is among the answered.
    Check(usize),
    /// A launch, the opening of a device, or the release of memory.
    Other,
}

/// A worker that is in code that may not return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) worker: WorkerId,
    /// Counts what the worker begins, so that a command that comes late does not strike the next.
    pub(crate) beat: u64,
    pub(crate) spent: Duration,
    /// Outcomes of its range that were not delivered yet.
    pub(crate) n_done: usize,
}

/// The state of the memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryNow {
    pub(crate) held_bytes: u64,
    pub(crate) budget_bytes: u64,
    /// Whether anybody reserved or released memory since the last tick.
    pub(crate) has_moved: bool,
}

/// What the driver must do.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Spawn(WorkerId, Place),
    Order(WorkerId, Order),
    /// Takes the range of a worker apart, if it is still in what it began with this beat.
    Abandon(WorkerId, u64),
    /// Stops what the worker began with this beat.
    Expire(WorkerId, u64),
    /// Delivers the outcomes that a worker has so far.
    Flush(WorkerId, u64),
    /// Delivers an outcome without an answer.
    Settle(Settled),
    Setback {
        place: Place,
        cause: SetbackCause,
        n_problems: usize,
        remedy: Remedy,
    },
    /// The run ends early.
    EndedBy(EndCause),
    /// No worker is left.
    Over,
}

/// What a worker is to do next.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// Read the sizes of these problems and plan them.
    Plan {
        first: usize,
        last: usize,
        with_devices: bool,
    },
    /// Reserve this much memory.
    Reserve {
        bytes: u64,
        n_attempts: u32,
    },
    /// Load these problems: their memory is reserved.
    Load(Range),
    /// Continue with the loaded range, or with the answers of the launch.
    Continue,
    /// Give the loaded problems back.
    GiveBack,
    /// Finish this problem, which another worker has solved.
    Finish(usize),
    Reopen,
    Quit,
}

/// An outcome that the coordinator decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settled {
    pub(crate) index: usize,
    pub(crate) verdict: Verdict,
    pub(crate) place: Place,
    pub(crate) took: Duration,
    pub(crate) n_attempts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    TimedOut,
    TooLarge { wanted_bytes: u64, budget_bytes: u64 },
}
