//! Whether two sets are one object in Python.
//!
//! `a & b` copies the table of `a` if both are one object, and inserts element by element otherwise, so that the order
//! of the result differs. Here caches and column kernels give one set where Python has several, or several where Python
//! has one. The order of an intersection of equal sets is therefore *ambiguous*. A statement that reads such an order
//! is evaluated again with all that it depends on, *exactly*: without caches and kernels, where two sets are one object
//! if and only if Python's are.

use crate::set::set_cache::{self, CacheOff};
use crate::value::Value;
use std::cell::Cell;

thread_local! {
    static IS_EXACT: Cell<bool> = const { Cell::new(false) };
    static AMBIGUITY: Cell<OrderAmbiguity> = const { Cell::new(OrderAmbiguity::NONE) };
}

/// What happened since the last call of [`take_ambiguity`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct OrderAmbiguity {
    /// A set was made whose order may be ambiguous.
    pub(crate) is_made: bool,
    /// An order that is ambiguous was read.
    pub(crate) is_read: bool,
}

impl OrderAmbiguity {
    const NONE: OrderAmbiguity = OrderAmbiguity { is_made: false, is_read: false };
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

/// Records that a set was made whose order may be ambiguous.
pub(crate) fn record_made() {
    AMBIGUITY.set(OrderAmbiguity { is_made: true, ..AMBIGUITY.get() });
}

/// Records that an order that is ambiguous was read.
pub(crate) fn record_ambiguous_read() {
    AMBIGUITY.set(OrderAmbiguity { is_read: true, ..AMBIGUITY.get() });
}

/// What happened since the last call.
#[inline]
pub(crate) fn take_ambiguity() -> OrderAmbiguity {
    AMBIGUITY.replace(OrderAmbiguity::NONE)
}

/// Whether `body` reads an order that is ambiguous, and its result.
pub(crate) fn watched<T>(body: impl FnOnce() -> T) -> (T, bool) {
    let before = take_ambiguity();
    let result = body();
    let during = take_ambiguity();
    AMBIGUITY.set(OrderAmbiguity {
        is_made: before.is_made || during.is_made,
        is_read: before.is_read || during.is_read,
    });
    (result, during.is_read)
}

/// Whether the order of a set in this value is ambiguous.
pub(crate) fn is_ambiguous(value: &Value) -> bool {
    take_ambiguity();
    read_orders(value);
    take_ambiguity().is_read
}

fn read_orders(value: &Value) {
    for element in value.elements().unwrap_or_default() {
        read_orders(&element);
    }
}
