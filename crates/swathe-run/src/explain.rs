//! Explanations of a finished run, computed from its folder alone: advice, comparisons, drawings.

pub mod advice;
pub mod comparison;
pub mod failure_groups;
pub mod flame;
pub mod quantity;
pub mod trace;
