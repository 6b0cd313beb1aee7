//! Many values side by side, so that one step of a function runs over all of them.

pub(crate) mod around_kernel;
pub(crate) mod column;
pub(crate) mod column_cache;
pub(crate) mod columnwise;
pub(crate) mod line_kernel;
pub(crate) mod overlap_kernel;
pub(crate) mod result_collector;
