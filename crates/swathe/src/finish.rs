//! Finishing: what is done with a solution before it is delivered.

use std::error::Error;
use std::sync::Arc;

use crate::{Need, OwnedWorkload, Size, Stop, Workload};

/// A workload and the step that turns each of its solutions into what is delivered. The step may
/// write files, sum up figures or drop large parts.
///
/// [`finish`](Finish::finish) runs on the worker that solved the problem, exactly once for every
/// solution that is delivered. Under `--verify` it runs after the whole solution has been compared,
/// and never for the second solution of a comparison. Side effects therefore belong here and not in
/// [`Workload::solve`].
///
/// ```
/// use std::convert::Infallible;
/// use std::sync::Arc;
/// use swathe::{Finish, Need, Size, Stop, Workload};
/// # use swathe::{DeviceKind, Settings, Shape, Source};
/// # struct Squares;
/// # impl Workload for Squares {
/// #     type Problem = u64; type Solution = u64; type Failure = Infallible;
/// #     type Scratch = (); type Local = ();
/// #     const NAME: &'static str = "squares";
/// #     fn size(&self, _: &u64) -> Size { Size::of(Shape::default()) }
/// #     fn need(&self, _: &Size, _: DeviceKind) -> Need { Need::default() }
/// #     fn scratch(&self) {}
/// #     fn local(&self) {}
/// #     fn solve(&self, n: &u64, _: &mut (), _: &mut (), _: &Stop) -> Result<u64, Infallible> { Ok(n * n) }
/// # }
///
/// /// Squares as text.
/// struct Written(Squares);
///
/// impl Finish for Written {
///     type Workload = Squares;
///     type Finished = String;
///     type Failure = Infallible;
///     fn workload(&self) -> &Squares {
///         &self.0
///     }
///     fn finish(&self, index: usize, n: &u64, square: u64, _: &Stop) -> Result<String, Infallible> {
///         Ok(format!("{index}: {n} times {n} is {square}"))
///     }
/// }
///
/// let source = Source::new(3, |_| Ok(Size::of(Shape::default())), |index, _| Ok(index as u64));
/// let mut lines = vec![String::new(); 3];
/// swathe::run_finishing(&Arc::new(Written(Squares)), &source, &Settings::default(), &mut |delivery| {
///     if let swathe::Delivery::Done(done) = delivery {
///         lines[done.index] = done.outcome.into_result().unwrap();
///     }
///     std::ops::ControlFlow::Continue(())
/// });
/// assert_eq!(lines[2], "2: 2 times 2 is 4");
/// ```
pub trait Finish: Send + Sync + 'static {
    /// The workload that finds the solutions.
    type Workload: OwnedWorkload;
    /// What is delivered for a solution.
    type Finished: Send + 'static;
    /// Why a problem has no answer: it could not be loaded, solved or finished.
    type Failure: Error + Send + From<<Self::Workload as Workload>::Failure> + 'static;

    /// The workload.
    fn workload(&self) -> &Self::Workload;

    /// The memory that a problem takes on the CPU, given the memory that solving it takes. An
    /// implementation adds the working memory of finishing. It replaces the bytes of the solution
    /// with those of the finished value, which is held until the outcome is taken.
    fn need(&self, _size: &Size, solving: Need) -> Need {
        solving
    }

    /// Turns a solution into what is delivered. `index` is the problem's number in its source.
    ///
    /// # Errors
    /// If the solution cannot be finished; the problem then counts as failed.
    fn finish(
        &self,
        index: usize,
        problem: &<Self::Workload as Workload>::Problem,
        solution: <Self::Workload as Workload>::Solution,
        stop: &Stop,
    ) -> Result<Self::Finished, Self::Failure>;
}

/// A workload whose solutions are delivered as they are.
pub struct AsSolved<W>(pub Arc<W>);

impl<W: OwnedWorkload> Finish for AsSolved<W> {
    type Workload = W;
    type Finished = W::Solution;
    type Failure = W::Failure;

    fn workload(&self) -> &W {
        &self.0
    }

    fn finish(
        &self,
        _: usize,
        _: &W::Problem,
        solution: W::Solution,
        _: &Stop,
    ) -> Result<W::Solution, W::Failure> {
        Ok(solution)
    }
}
