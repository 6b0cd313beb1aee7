//! What depends on a task's demonstrations alone, kept per thread from one of its samples to the next.
//!
//! Values do not leave their thread, so each thread keeps its own, for the task it met last; the engine keeps
//! the samples of a task together.

use crate::evaluate::TaskValues;
use crate::meter::{Limits, Order};
use crate::task::Task;
use std::cell::RefCell;
use std::sync::Arc;

/// Whose values they are: they serve the same library on the same task under the same rules.
#[derive(Clone)]
pub(crate) struct Owner {
    /// The number of the workload.
    pub(crate) workload: u64,
    pub(crate) task: Arc<Task>,
    pub(crate) order: Order,
    pub(crate) limits: Limits,
}

impl Owner {
    fn is(&self, other: &Owner) -> bool {
        self.workload == other.workload
            && Arc::ptr_eq(&self.task, &other.task)
            && self.order == other.order
            && self.limits == other.limits
    }
}

thread_local! {
    static KEPT: RefCell<Option<(Owner, TaskValues)>> = const { RefCell::new(None) };
}

/// The values that this owner left on this thread. Those of another are dropped.
pub(crate) fn take(owner: &Owner) -> Option<TaskValues> {
    let kept = KEPT.with(|kept| kept.borrow_mut().take());
    kept.and_then(|(of, values)| of.is(owner).then_some(values))
}

/// Leaves values for the next sample of the task.
pub(crate) fn keep(owner: Owner, values: TaskValues) {
    let old = KEPT.with(|kept| kept.borrow_mut().replace((owner, values)));
    drop(old);
}
