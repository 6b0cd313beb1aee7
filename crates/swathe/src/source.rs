//! Sources: where the problems of a run come from.

use std::sync::Arc;

use crate::{Size, Stop, Workload};

/// The problems of a run: how many, how large each is, and how to load one.
///
/// Sizes are read when the plan is made, and each problem is loaded shortly before it is solved, so
/// a run's memory does not grow with its input. Both functions are called from many threads. They
/// are called more than once for one problem if a device fails or the answer is verified. They are
/// owned (`Arc`), not borrowed, because a solver that never returns is abandoned and must not hold
/// borrowed data.
pub struct Source<P, E> {
    n_problems: usize,
    size: Arc<SizeFn<E>>,
    load: Arc<LoadFn<P, E>>,
}

type SizeFn<E> = dyn Fn(usize) -> Result<Size, E> + Send + Sync;
type LoadFn<P, E> = dyn Fn(usize, &Stop) -> Result<P, E> + Send + Sync;

impl<P, E> Source<P, E> {
    /// `n_problems` problems. `size` must be cheap (it returns the survey's result); `load` may
    /// read files.
    pub fn new(
        n_problems: usize,
        size: impl Fn(usize) -> Result<Size, E> + Send + Sync + 'static,
        load: impl Fn(usize, &Stop) -> Result<P, E> + Send + Sync + 'static,
    ) -> Source<P, E> {
        Source { n_problems, size: Arc::new(size), load: Arc::new(load) }
    }

    /// Problems that are already in memory. Each is cloned when it is loaded; the clone is cheap if
    /// the problem holds its data behind an `Arc`.
    pub fn from_vec<W>(workload: &Arc<W>, problems: Vec<P>) -> Source<P, E>
    where
        W: Workload<Problem = P> + 'static,
        P: Clone + Send + Sync + 'static,
    {
        let workload = Arc::clone(workload);
        let problems = Arc::new(problems);
        let loaded = Arc::clone(&problems);
        Source::new(
            problems.len(),
            move |index| Ok(workload.size(&problems[index])),
            move |index, _| Ok(loaded[index].clone()),
        )
    }

    /// How many problems there are.
    pub fn n_problems(&self) -> usize {
        self.n_problems
    }

    /// The size of a problem.
    ///
    /// # Errors
    /// If the problem has no size because it could not be read when the input was surveyed.
    pub fn size(&self, index: usize) -> Result<Size, E> {
        (self.size)(index)
    }

    /// Loads a problem.
    ///
    /// # Errors
    /// If the problem cannot be read.
    pub fn load(&self, index: usize, stop: &Stop) -> Result<P, E> {
        (self.load)(index, stop)
    }
}

impl<P, E> Clone for Source<P, E> {
    fn clone(&self) -> Source<P, E> {
        Source {
            n_problems: self.n_problems,
            size: Arc::clone(&self.size),
            load: Arc::clone(&self.load),
        }
    }
}
