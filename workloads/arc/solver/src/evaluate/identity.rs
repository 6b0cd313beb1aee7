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
    static DOUBTS: Cell<Doubts> = const { Cell::new(Doubts::NONE) };
}

/// What happened since the last call of [`take_doubts`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Doubts {
    /// A set was made whose order may be in doubt.
    pub(crate) is_made: bool,
    /// An order that is in doubt was read.
    pub(crate) is_read: bool,
}

impl Doubts {
    const NONE: Doubts = Doubts { is_made: false, is_read: false };
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
    DOUBTS.set(Doubts { is_made: true, ..DOUBTS.get() });
}

/// Records that an order that is in doubt was read.
pub(crate) fn record_doubt() {
    DOUBTS.set(Doubts { is_read: true, ..DOUBTS.get() });
}

/// What happened since the last call.
#[inline]
pub(crate) fn take_doubts() -> Doubts {
    DOUBTS.replace(Doubts::NONE)
}

/// Whether `body` reads an order that is in doubt, and its result.
pub(crate) fn watched<T>(body: impl FnOnce() -> T) -> (T, bool) {
    let before = take_doubts();
    let result = body();
    let during = take_doubts();
    DOUBTS.set(Doubts {
        is_made: before.is_made || during.is_made,
        is_read: before.is_read || during.is_read,
    });
    (result, during.is_read)
}

/// Whether the order of a set in this value is in doubt.
pub(crate) fn is_in_doubt(value: &Value) -> bool {
    take_doubts();
    read_orders(value);
    take_doubts().is_read
}

fn read_orders(value: &Value) {
    for element in value.elements().unwrap_or_default() {
        read_orders(&element);
    }
}
