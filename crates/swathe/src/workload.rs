//! Workloads: what the engine must know about a kind of problem.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Device, GpuError, Shape, Stop};

/// A kind of problem the engine can solve.
///
/// A workload defines how large a problem is, how much memory solving it takes, and how one problem
/// is solved on one thread. The engine does everything else: order, batches, threads, memory,
/// panics, time limits and figures.
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
    /// Working memory of a solver, reused from problem to problem. There are as many scratches as
    /// problems are solved at once; a scratch moves between workers.
    type Scratch: Send;
    /// State of one worker thread. The thread creates it and drops it, so it may hold values that
    /// are not `Send` (caches with `Rc`, an interpreter). `()` where there is none.
    type Local;
    /// The name users see: `ot`, `arc`, `array`.
    const NAME: &'static str;

    /// The size of a loaded problem. The engine does not solve a loaded problem whose size differs
    /// from the surveyed size, because memory was planned for the surveyed size.
    fn size(&self, problem: &Self::Problem) -> Size;

    /// The memory a problem of this size takes. The implementation stands beside the kernel and is
    /// tested against the measured peak.
    fn need(&self, size: &Size, on: DeviceKind) -> Need;

    /// New working memory, as small as possible: it grows while solving.
    fn scratch(&self) -> Self::Scratch;

    /// Creates the state of a worker. Called on the worker's own thread.
    fn local(&self) -> Self::Local;

    /// The memory that the state of one worker may grow to. A run reserves it for every worker.
    fn local_bytes(&self) -> u64 {
        0
    }

    /// Solves one problem on one thread. This is the reference and the fallback for launches.
    ///
    /// The engine calls it from many threads, catches panics, and sets `stop` when the time limit
    /// has passed. The answer must depend on the problem alone, not on earlier contents of the
    /// scratch or the local state.
    ///
    /// # Errors
    /// If the problem has no answer. The engine ignores an error that is returned after a stop.
    fn solve(
        &self,
        problem: &Self::Problem,
        scratch: &mut Self::Scratch,
        local: &mut Self::Local,
        stop: &Stop,
    ) -> Result<Self::Solution, Self::Failure>;

    /// The shape in which a problem of this size can be launched together with others. `None` means
    /// that it is solved alone on the CPU, and the plan shows it there.
    ///
    /// Problems of one class share a launch. Where their shapes differ, they are padded to a common
    /// shape. Return a shape only if the kernels support the size, including its element type,
    /// range and limits.
    fn launch_form(&self, _size: &Size) -> Option<Shape> {
        None
    }

    /// Whether launches hold problems one after another, each with its own extents, instead of
    /// padding them. Packed launches waste nothing where shapes differ, and reports say so.
    fn gpu_is_packed(&self) -> bool {
        false
    }

    /// Solves problems together on a device. Returns one entry for each problem, in their order.
    ///
    /// All problems have one class and a [form](Self::launch_form) that fits in `padded`. The
    /// answer to a problem must depend on the problem alone, not on the other problems in its
    /// launch. Kernels must have bounded loops. The implementation polls `stop` between launches;
    /// waiting for the device already polls it.
    ///
    /// # Errors
    /// If the launch failed as a whole. The engine retries with fewer problems, on another device,
    /// or on the CPU.
    #[expect(clippy::type_complexity, reason = "an entry for each problem, or none at all")]
    fn launch(
        &self,
        _device: &Device,
        _padded: Shape,
        _problems: &[&Self::Problem],
        _stop: &Stop,
    ) -> Result<Vec<Lane<Self::Solution, Self::Failure>>, GpuError> {
        Err(GpuError::Unsupported { what: format!("{} has no kernels", Self::NAME) })
    }

    /// Whether launches of this class give the CPU's answers to the last bit. If they do not, a
    /// [`Placement`](crate::Placement) assigns each size either to the CPU or to the devices.
    fn launch_is_exact(&self, _class: u32) -> bool {
        false
    }

    /// Whether [`agree`](Self::agree) compares answers. A run with verification refuses a workload
    /// that cannot compare them.
    fn can_compare(&self) -> bool {
        false
    }

    /// Whether two answers to one problem are equal within what this workload promises for answers
    /// from `on`. Called only if the workload [can compare](Self::can_compare) answers.
    ///
    /// # Errors
    /// If the answers differ; the error is the first difference.
    ///
    /// # Panics
    /// The default implementation panics. A workload that can compare answers must override it.
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
        if class == 0 { Self::NAME.to_owned() } else { format!("{} {class}", Self::NAME) }
    }
}

/// A workload that borrows nothing. Every workload whose types are `'static` implements it.
/// [`run`](crate::run) requires it because a solver that never returns is abandoned and must not
/// hold borrowed data. ([`solve_slice`](crate::solve_slice) takes any workload.)
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

/// The result of one problem in a launch.
#[derive(Clone, Debug)]
pub enum Lane<S, E> {
    /// The problem is done, with an answer or a failure of its own.
    Done(Result<S, E>),
    /// The kernels cannot finish the problem, for this reason. The CPU solves it, and the report
    /// counts it.
    ToCpu(String),
}

/// How large a problem is, known before it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(Hash))]
pub struct Size {
    /// The problem's extents.
    pub shape: Shape,
    /// Problems of different classes never share a launch. A class is, for example, an element type
    /// or an operation.
    pub class: u32,
    /// Problems of one affinity share inputs and should run close together: a task, a series.
    pub affinity: u64,
}

impl Size {
    /// The size of a problem of this shape, in class 0.
    pub fn of(shape: Shape) -> Size {
        Size { shape, class: 0, affinity: 0 }
    }
}

/// The memory a problem takes.
///
/// On a graphics processor these are bytes of the device's memory. The host meanwhile holds the
/// CPU's need, with one scratch for all lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(Hash))]
pub struct Need {
    /// The loaded problem, held while it is in flight.
    pub lane_bytes: u64,
    /// The worker's scratch, held while the problem is solved and kept for the next one. On a
    /// graphics processor: what a launch takes besides its lanes.
    pub scratch_bytes: u64,
    /// The answer, held from solving until the outcome is taken.
    pub solution_bytes: u64,
}

impl Need {
    /// The sum of the three.
    pub fn total_bytes(&self) -> u64 {
        self.lane_bytes.saturating_add(self.scratch_bytes).saturating_add(self.solution_bytes)
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
    /// Its value in the other answer.
    pub found: String,
}
