//! Primitives that only the `batt` dialect has, or that differ there.
//!
//! A function that another one calls gives its [safe default](crate::language::safe_default) to the caller, so calls
//! between functions go through `safe`.

pub(crate) mod container;
pub(crate) mod extent;
pub(crate) mod grid;
pub(crate) mod mapping;
pub(crate) mod object;
pub(crate) mod patch;
pub(crate) mod rank;
pub(crate) mod sample;
