//! Sources: where the problems of a run come from.

use std::sync::Arc;

use crate::{Size, Stop, Workload};

/// The problems of a run: how many, how large each is, and how to load one.
///
/// Sizes are asked for when the plan is made and problems are loaded when they are next, so a
/// run's memory does not grow with its input. Both functions are called from many threads, and
/// more than once for one problem if a device fails or its answer is verified. They are owned
/// (`Arc`), not borrowed: a solver that never returns is left behind, and must not hold anything
/// that somebody else wants to drop.
pub struct Source<W: Workload> {
    n_problems: usize,
    size: Arc<SizeFn<W>>,
    load: Arc<LoadFn<W>>,
}

type SizeFn<W> = dyn Fn(usize) -> Result<Size, <W as Workload>::Failure> + Send + Sync;
type LoadFn<W> = dyn Fn(usize, &Stop) -> Result<<W as Workload>::Problem, <W as Workload>::Failure>
    + Send
    + Sync;

impl<W: Workload> Source<W> {
    /// `n_problems` problems; `size` is cheap (the survey's result), `load` may read files.
    pub fn new(
        n_problems: usize,
        size: impl Fn(usize) -> Result<Size, W::Failure> + Send + Sync + 'static,
        load: impl Fn(usize, &Stop) -> Result<W::Problem, W::Failure> + Send + Sync + 'static,
    ) -> Source<W> {
        Source {
            n_problems,
            size: Arc::new(size),
            load: Arc::new(load),
        }
    }

    /// Problems that are already in memory. They are cloned when they are next: cheap ones hold
    /// their data behind an `Arc`.
    pub fn from_vec(workload: &Arc<W>, problems: Vec<W::Problem>) -> Source<W>
    where
        W: 'static,
        W::Problem: Clone + 'static,
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

    /// The size of a problem, or why it has none.
    pub fn size(&self, index: usize) -> Result<Size, W::Failure> {
        (self.size)(index)
    }

    /// Loads a problem.
    pub fn load(&self, index: usize, stop: &Stop) -> Result<W::Problem, W::Failure> {
        (self.load)(index, stop)
    }
}

impl<W: Workload> Clone for Source<W> {
    fn clone(&self) -> Source<W> {
        Source {
            n_problems: self.n_problems,
            size: Arc::clone(&self.size),
            load: Arc::clone(&self.load),
        }
    }
}
