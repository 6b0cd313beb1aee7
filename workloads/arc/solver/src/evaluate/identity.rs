//! Whether two sets are one object in Python.
//!
//! `a & b` copies the table of `a` if both are one object, and inserts element by element otherwise, so that the order
//! of the result differs. Here caches and column kernels give one set where Python has several, or several where Python
//! has one. The order of an intersection of equal sets is therefore *in doubt*. A statement that reads such an order
//! is evaluated again with all that it depends on, *exactly*: without caches and kernels, where two sets are one object
//! if and only if Python's are.

use crate::set::set_cache::{self, CacheOff};
use crate::value::Value;
use std::cell::Cell;

thread_local! {
    static IS_EXACT: Cell<bool> = const { Cell::new(false) };
    static IS_MADE: Cell<bool> = const { Cell::new(false) };
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

/// Records that a set was made whose order may be in doubt.
pub(crate) fn record_made() {
    IS_MADE.set(true);
}

/// Whether a set whose order may be in doubt was made since the last call.
#[inline]
pub(crate) fn take_made() -> bool {
    IS_MADE.replace(false)
}

/// Records that an order that is in doubt was read.
pub(crate) fn record_doubt() {
    IS_IN_DOUBT.set(true);
}

/// Whether an order that is in doubt was read since the last call.
#[inline]
pub(crate) fn take_doubt() -> bool {
    IS_IN_DOUBT.replace(false)
}

/// Whether the order of a set in this value is in doubt.
pub(crate) fn is_in_doubt(value: &Value) -> bool {
    take_doubt();
    read_orders(value);
    take_doubt()
}

fn read_orders(value: &Value) {
    for element in value.elements().unwrap_or_default() {
        read_orders(&element);
    }
}
