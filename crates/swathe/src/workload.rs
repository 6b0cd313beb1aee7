//! Workloads: what the engine must know about a kind of problem.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Device, GpuError, Shape, Stop};

/// A kind of problem the engine can solve.
///
/// A workload says how large a problem is, how much memory solving it takes, and how one problem
/// is solved on one thread. Everything else (order, batches, threads, memory, panics, time limits,
/// figures) is the engine's.
///
/// ```
/// use std::convert::Infallible;
/// use swathe::{DeviceKind, Need, Shape, Size, Stop, Workload};
///
/// /// Sums vectors.
/// struct Sum;
///
/// impl Workload for Sum {
///     type Problem = Vec<u64>;
///     type Solution = u64;
///     type Failure = Infallible;
///     type Scratch = ();
///     type Local = ();
///     const NAME: &'static str = "sum";
///
///     fn size(&self, problem: &Vec<u64>) -> Size {
///         Size::of(Shape::new(&[problem.len() as u32]))
///     }
///     fn need(&self, size: &Size, _on: DeviceKind) -> Need {
///         Need { lane_bytes: 8 * size.shape.volume(), scratch_bytes: 0, solution_bytes: 8 }
///     }
///     fn scratch(&self) {}
///     fn local(&self) {}
///     fn solve(
///         &self,
///         problem: &Vec<u64>,
///         _: &mut (),
///         _: &mut (),
///         _: &Stop,
///     ) -> Result<u64, Infallible> {
///         Ok(problem.iter().sum())
///     }
/// }
///
/// let outcomes = swathe::solve_slice(&Sum, &[vec![1, 2, 3], vec![]], 1, &Stop::new());
/// assert_eq!(outcomes[0].solution(), Some(&6));
/// assert_eq!(outcomes[1].solution(), Some(&0));
/// ```
pub trait Workload: Send + Sync {
    /// One input. Inputs that several problems share are best held behind an `Arc`.
    type Problem: Send + Sync;
    /// One answer.
    type Solution: Send;
    /// Why a problem has no answer.
    type Failure: Error + Send;
    /// Working memory of a solver, reused from problem to problem. There are as many as problems
    /// are solved at once; a scratch moves between workers.
    type Scratch: Send;
    /// State that belongs to one worker thread for as long as the thread lives: made there, dropped
    /// there, and so free to hold what cannot be sent (caches with `Rc`, an interpreter). `()` where
    /// there is none.
    type Local;
    /// The name users see: `ot`, `arc`, `array`.
    const NAME: &'static str;

    /// The size of a problem at hand. A loaded problem whose size is not the surveyed one is not
    /// solved: memory was planned for another.
    fn size(&self, problem: &Self::Problem) -> Size;

    /// The memory a problem of this size takes. Stands beside the kernel and is tested against
    /// the measured peak.
    fn need(&self, size: &Size, on: DeviceKind) -> Need;

    /// Fresh working memory, as small as possible: it grows while solving.
    fn scratch(&self) -> Self::Scratch;

    /// The state of a new worker, called on the worker's own thread.
    fn local(&self) -> Self::Local;

    /// The memory that the state of a worker may grow to, reserved for every worker of a run.
    fn local_bytes(&self) -> u64 {
        0
    }

    /// Solves one problem on one thread: the reference and the fallback.
    ///
    /// The engine calls it from many threads, catches panics, and sets a time limit that `stop`
    /// tells of. The answer must depend on the problem alone, not on what the scratch or the local
    /// state held.
    ///
    /// # Errors
    /// If the problem has no answer; what is returned after a stop is not looked at.
    fn solve(
        &self,
        problem: &Self::Problem,
        scratch: &mut Self::Scratch,
        local: &mut Self::Local,
        stop: &Stop,
    ) -> Result<Self::Solution, Self::Failure>;

    /// The shape in which a problem of this size can be launched together with others. `None`: it
    /// is solved alone on the CPU, and the plan says so.
    ///
    /// Problems of one class share a launch, padded to a common shape where theirs differ. Only
    /// what the kernels can really do belongs here: element types, ranges and limits included.
    fn launch_form(&self, _size: &Size) -> Option<Shape> {
        None
    }

    /// Whether launches hold problems one after another, each with its own extents, instead of
    /// padding them: then nothing is wasted where shapes differ, and reports say so.
    fn gpu_is_packed(&self) -> bool {
        false
    }

    /// Solves problems together on a device: an entry for each, in their order.
    ///
    /// All of them have one class and a [form](Self::launch_form) that fits in `padded`. The answer
    /// to a problem depends on the problem alone, not on who shares its launch. Kernels have bounded
    /// loops, and `stop` is looked at between launches (waiting for the device does so by itself).
    ///
    /// # Errors
    /// If the launch as a whole came to nothing; the engine tries again with fewer problems,
    /// elsewhere, or on the CPU.
    #[expect(
        clippy::type_complexity,
        reason = "an entry for each problem, or none at all"
    )]
    fn launch(
        &self,
        _device: &Device,
        _padded: Shape,
        _problems: &[&Self::Problem],
        _stop: &Stop,
    ) -> Result<Vec<Lane<Self::Solution, Self::Failure>>, GpuError> {
        Err(GpuError::Unsupported {
            what: format!("{} has no kernels", Self::NAME),
        })
    }

    /// Whether launches of this class give the CPU's answers to the last bit. If they do not, a
    /// [`Placement`](crate::Placement) keeps each size to one of the two.
    fn launch_is_exact(&self, _class: u32) -> bool {
        false
    }

    /// Whether [`agree`](Self::agree) compares answers. A run that is to verify answers refuses a
    /// workload that cannot compare them.
    fn can_compare(&self) -> bool {
        false
    }

    /// Whether two answers to one problem are the same, as far as this workload promises for
    /// answers from `on`. Called only if the workload [can compare](Self::can_compare) answers.
    ///
    /// # Errors
    /// If they differ: the first difference.
    ///
    /// # Panics
    /// Unless a workload that can compare answers brings its own.
    fn agree(
        &self,
        _reference: &Self::Solution,
        _other: &Self::Solution,
        _on: DeviceKind,
    ) -> Result<(), Difference> {
        panic!("{} says that it cannot compare answers", Self::NAME)
    }

    /// What the classes of this workload's sizes are called in plans and reports.
    fn class_name(&self, class: u32) -> String {
        if class == 0 {
            Self::NAME.to_owned()
        } else {
            format!("{} {class}", Self::NAME)
        }
    }
}

/// A workload that borrows nothing, which is every one whose types do not: what
/// [`run`](crate::run) takes, because a solver that never returns is left behind and must not hold
/// anything that its owner wants to drop. ([`solve_slice`](crate::solve_slice) takes any workload.)
pub trait OwnedWorkload:
    Workload<
        Problem: 'static,
        Solution: 'static,
        Failure: 'static,
        Scratch: 'static,
        Local: 'static,
    > + 'static
{
}

impl<W> OwnedWorkload for W where
    W: Workload<
            Problem: 'static,
            Solution: 'static,
            Failure: 'static,
            Scratch: 'static,
            Local: 'static,
        > + 'static
{
}

/// What became of a problem in a launch.
#[derive(Clone, Debug)]
pub enum Lane<S, E> {
    /// It is done, with an answer or a failure of its own.
    Done(Result<S, E>),
    /// The kernels cannot finish it: the CPU shall, and the report counts it.
    ToCpu(String),
}

/// How large a problem is, known before it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Its extents.
    pub shape: Shape,
    /// What must not share a launch: element type, operation.
    pub class: u32,
    /// What should run close together: a task, a series. Problems of one affinity share inputs.
    pub affinity: u64,
}

impl Size {
    /// The size of a problem of this shape, in class 0.
    pub fn of(shape: Shape) -> Size {
        Size {
            shape,
            class: 0,
            affinity: 0,
        }
    }
}

/// The memory a problem takes.
///
/// On a graphics processor these are bytes of the device's memory; what the host holds meanwhile
/// is the CPU's need with one scratch for all lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// While it is in flight: the loaded problem.
    pub lane_bytes: u64,
    /// While it is solved: the worker's scratch, kept for the next problem; on a graphics
    /// processor what a launch takes besides its lanes.
    pub scratch_bytes: u64,
    /// From solving until its outcome is taken: the answer.
    pub solution_bytes: u64,
}

impl Need {
    /// All of it at once.
    pub fn total_bytes(&self) -> u64 {
        self.lane_bytes
            .saturating_add(self.scratch_bytes)
            .saturating_add(self.solution_bytes)
    }
}

/// What kind of device a batch runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The processor's cores.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// The processor's cores, for launches of many problems together.
    Host,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Gpu => "gpu",
            DeviceKind::Host => "host",
        })
    }
}

/// Where two answers to one problem differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field} is {found}, not {expected}")]
pub struct Difference {
    /// The part of the answer that differs.
    pub field: String,
    /// Its value in the reference answer.
    pub expected: String,
    /// Its value in the other.
    pub found: String,
}
