//! What explains a finished run, from its folder alone.

pub mod advice;
pub mod comparison;
pub mod failure_groups;
pub mod flame;
pub mod quantity;
pub mod trace;
