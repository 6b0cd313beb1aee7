//! Many values side by side, so that one step of a function runs over all of them.

pub(crate) mod around_kernel;
pub(crate) mod column;
pub(crate) mod columnwise;
pub(crate) mod gathered;
pub(crate) mod line_kernel;
pub(crate) mod overlap_kernel;
pub(crate) mod recall;
