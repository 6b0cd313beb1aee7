//! Whether two sets are one object in Python.
//!
//! `a & b` copies the table of `a` if both are one object, and inserts element by element otherwise, so that the order
//! of the result differs. Here caches and column kernels give one set where Python has several, or several where Python
//! has one. The order of an intersection of equal sets is therefore *in doubt*. A statement that reads such an order
//! is evaluated again with all that it depends on, *exactly*: without caches and kernels, where two sets are one object
//! if and only if Python's are.

use crate::set::set_cache::{self, CacheOff};
use std::cell::Cell;

thread_local! {
    static IS_EXACT: Cell<bool> = const { Cell::new(false) };
    static IS_IN_DOUBT: Cell<bool> = const { Cell::new(false) };
}

/// Whether two sets are one object if and only if Python's are.
#[inline]
pub(crate) fn is_exact() -> bool {
    IS_EXACT.get()
}

/// Evaluates without caches and kernels until the guard is dropped.
pub(crate) fn start_exact() -> ExactGuard {
    IS_EXACT.set(true);
    ExactGuard(set_cache::turn_off())
}

pub(crate) struct ExactGuard(#[expect(dead_code, reason = "kept until it is dropped")] CacheOff);

impl Drop for ExactGuard {
    fn drop(&mut self) {
        IS_EXACT.set(false);
    }
}

/// Records that an order that is in doubt was read.
pub(crate) fn doubt() {
    IS_IN_DOUBT.set(true);
}

/// Whether an order that is in doubt was read since the last call.
#[inline]
pub(crate) fn take_doubt() -> bool {
    IS_IN_DOUBT.replace(false)
}
