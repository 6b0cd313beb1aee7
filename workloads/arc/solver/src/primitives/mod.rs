//! The primitives, one function each, in files by subject.
//!
//! The general path of a primitive follows the Python reference statement by statement, so that ragged grids, unusual
//! elements and errors give the same results. Common forms take a fast path before it.

pub(crate) mod batt;
pub(crate) mod collection;
pub(crate) mod color;
pub(crate) mod cut;
pub(crate) mod extent;
pub(crate) mod function;
pub(crate) mod line;
pub(crate) mod mapping;
pub(crate) mod mirror;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod paint;
pub(crate) mod patch;
pub(crate) mod scale;
pub(crate) mod sorting;
