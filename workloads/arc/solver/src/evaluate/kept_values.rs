//! What does not depend on the sample at hand, kept per thread from one sample to the next.
//!
//! Values do not leave their thread, so each thread keeps its own: the constants of the library it met last,
//! and what depends on the demonstrations of the task it met last; the engine keeps the samples of a task together.

use crate::evaluate::Values;
use crate::evaluate::meter::{Limits, Order};
use crate::task::Task;
use std::cell::RefCell;
use std::sync::Arc;

/// Whose values they are: they serve the same library under the same rules.
pub(crate) struct Owner {
    /// The number of the workload.
    pub(crate) workload: u64,
    pub(crate) task: Arc<Task>,
    pub(crate) order: Order,
    pub(crate) limits: Limits,
}

impl Owner {
    fn is(&self, other: &Owner) -> bool {
        self.workload == other.workload && self.order == other.order && self.limits == other.limits
    }
}

thread_local! {
    static KEPT: RefCell<Option<(Owner, Values)>> = const { RefCell::new(None) };
}

/// The values that this owner left on this thread, and whether the task is still the same. Those of another are
/// dropped.
pub(crate) fn take(owner: &Owner) -> Option<(Values, bool)> {
    let (of, values) = KEPT.take()?;
    (of.is(owner)).then(|| (values, Arc::ptr_eq(&of.task, &owner.task)))
}

/// Leaves values for the next sample.
pub(crate) fn keep(owner: Owner, values: Values) {
    drop(KEPT.replace(Some((owner, values))));
}
