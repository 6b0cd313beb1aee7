//! Floating-point numbers: what the `batt` dialect gives for a lookup that found nothing.
//!
//! Python compares elements of containers by identity first, and a not-a-number equals nothing else. Each one made by
//! arithmetic is a new object, so it gets bits of its own.

use crate::value::Value;
use std::cell::Cell;
use std::cmp::Ordering;

/// The one not-a-number that lookups give.
pub(crate) const NAN: Value = Value::Float(f64::from_bits(NAN_BITS));
pub(crate) const INFINITY: Value = Value::Float(f64::INFINITY);
pub(crate) const NEGATIVE_INFINITY: Value = Value::Float(f64::NEG_INFINITY);

const NAN_BITS: u64 = 0x7ff8_0000_0000_0000;

thread_local! {
    /// How many were made by arithmetic on this thread.
    static N_MADE: Cell<u64> = const { Cell::new(0) };
}

/// A result of arithmetic; a not-a-number is a new object.
pub(crate) fn made(x: f64) -> Value {
    if !x.is_nan() {
        return Value::Float(x);
    }
    let n = N_MADE.get() + 1;
    N_MADE.set(n);
    Value::Float(f64::from_bits(NAN_BITS | n & 0x7_ffff_ffff_ffff))
}

/// Whether the value is the not-a-number that lookups give, by identity.
pub(crate) fn is_the_nan(v: &Value) -> bool {
    matches!(v, Value::Float(x) if x.to_bits() == NAN_BITS)
}

/// The number as a float: an integer or a float.
pub(crate) fn number(v: &Value) -> Option<f64> {
    match v {
        Value::Float(x) => Some(*x),
        Value::Big(n) => Some(n.to_float()),
        _ => v.as_int().map(|n| n as f64),
    }
}

/// Equality of elements of containers, where one of the values is a float.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x.to_bits() == y.to_bits() || x == y,
        _ => match (number(a), number(b)) {
            (Some(x), Some(y)) => x == y,
            _ => false,
        },
    }
}

/// Ascending order, where one of the values is a float: not-a-number, then all others by value.
pub(crate) fn ascending(a: &Value, b: &Value) -> Ordering {
    let (Some(x), Some(y)) = (number(a), number(b)) else {
        return Ordering::Equal;
    };
    match (x.is_nan(), y.is_nan()) {
        // When they were made must not decide.
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => x.total_cmp(&y),
    }
}

/// Python's `x // y` of floats; y is not zero.
pub(crate) fn floor_div(x: f64, y: f64) -> f64 {
    let r = x % y;
    let mut quotient = (x - r) / y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) {
        quotient -= 1.0;
    }
    quotient.round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_equals_only_itself() {
        let new = made(f64::NAN);
        assert!(same(&NAN, &NAN) && same(&new, &new));
        assert!(!same(&NAN, &new) && !same(&new, &made(f64::NAN)));
        assert!(is_the_nan(&NAN) && !is_the_nan(&new));
        assert!(same(&Value::Float(0.0), &Value::Bool(false)));
    }

    #[test]
    fn division_is_pythons() {
        assert!(floor_div(f64::INFINITY, 2.0).is_nan());
        assert_eq!(floor_div(1.0, f64::INFINITY), 0.0);
        assert_eq!(floor_div(-1.0, f64::INFINITY), -1.0);
        assert_eq!(floor_div(7.0, -2.0), -4.0);
    }
}
