//! Integers beyond 64 bits.
//!
//! They come about where arithmetic on smaller ones overflows, and from the text of programs; all other code computes
//! with 64 bits.

use crate::evaluate::meter;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use num_bigint::{BigInt, Sign};
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

/// An integer that does not fit 64 bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BigInteger(BigInt);

/// Larger integers are refused, because writing one takes a time that grows with the square of its length.
const BITS_MAX: u64 = 1 << 20;

/// Steps of an operation for one unit of work.
const N_STEPS_UNIT: u64 = 4096;

impl fmt::Display for BigInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl BigInteger {
    pub(crate) fn is_negative(&self) -> bool {
        self.0.sign() == Sign::Minus
    }

    pub(crate) fn is_even(&self) -> bool {
        !self.0.bit(0)
    }

    /// CPython's hash: the remainder by 2^61 - 1 with the sign of the number.
    pub(crate) fn py_hash(&self) -> u64 {
        let rest = &self.0 % BigInt::from((1i64 << 61) - 1);
        let rest = i64::try_from(rest).expect("a remainder by a number of 61 bits");
        crate::value::hash::int(rest)
    }

    /// The nearest float that is finite.
    pub(crate) fn to_float(&self) -> f64 {
        let text = self.0.to_string();
        let nearest: f64 = text.parse().expect("digits are a number");
        nearest.clamp(f64::MIN, f64::MAX)
    }

    /// The weight of a value of this many words.
    pub(crate) fn weight(&self) -> u32 {
        1 + (self.0.bits() / 64) as u32
    }
}

impl FromStr for Value {
    type Err = num_bigint::ParseBigIntError;

    /// The integer that these decimal digits are.
    fn from_str(text: &str) -> std::result::Result<Value, Self::Err> {
        text.parse().map(narrowed)
    }
}

/// The result of an operation on two integers, however large they are; None if one is not an integer.
///
/// `n_steps` is about how many pairs of words the operation visits, from the numbers of words.
#[cold]
pub(crate) fn wide(
    a: &Value,
    b: &Value,
    n_steps: fn(u64, u64) -> u64,
    operation: fn(BigInt, BigInt) -> BigInt,
) -> Option<Result> {
    let (a, b) = (widened(a)?, widened(b)?);
    let (n, m) = (a.bits() / 64 + 1, b.bits() / 64 + 1);
    let paid = meter::build((n + m) as usize, 8);
    if let Err(fault) = paid.and_then(|()| meter::spend((n_steps(n, m) / N_STEPS_UNIT) as usize)) {
        return Some(Err(fault));
    }
    let result = operation(a, b);
    if result.bits() > BITS_MAX {
        return Some(Err(Fault::Memory));
    }
    Some(Ok(narrowed(result)))
}

/// The integer of a value, however large.
pub(crate) fn widened(v: &Value) -> Option<BigInt> {
    match v {
        Value::Big(n) => Some(n.0.clone()),
        _ => v.as_int().map(BigInt::from),
    }
}

/// An integer as a value.
pub(crate) fn narrowed(n: BigInt) -> Value {
    match i64::try_from(&n) {
        Ok(n) => Value::Int(n),
        Err(_) => Value::Big(Rc::new(BigInteger(n))),
    }
}

/// Ascending order of two integers of which at least one is large.
pub(crate) fn ascending(a: &Value, b: &Value) -> std::cmp::Ordering {
    widened(a).cmp(&widened(b))
}
