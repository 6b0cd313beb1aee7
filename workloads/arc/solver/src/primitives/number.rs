//! Primitives on numbers, pairs of numbers and truth values.

use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::float;
use crate::value::integer;
use crate::value::operator as op;
use num_bigint::Sign;
use std::cmp::Ordering;

type Binary = fn(&Value, &Value) -> Result;

pub(crate) fn identity(a: &[Value]) -> Result {
    Ok(a[0].clone())
}

pub(crate) fn add(a: &[Value]) -> Result {
    if let (Value::Pair(i, j), Value::Pair(k, l)) = (&a[0], &a[1])
        && let (Some(i), Some(j)) = (i.checked_add(*k), j.checked_add(*l))
    {
        return Ok(Value::Pair(i, j));
    }
    elementwise(&a[0], &a[1], op::add)
}

pub(crate) fn subtract(a: &[Value]) -> Result {
    if let (Value::Pair(i, j), Value::Pair(k, l)) = (&a[0], &a[1])
        && let (Some(i), Some(j)) = (i.checked_sub(*k), j.checked_sub(*l))
    {
        return Ok(Value::Pair(i, j));
    }
    elementwise(&a[0], &a[1], op::sub)
}

pub(crate) fn multiply(a: &[Value]) -> Result {
    elementwise(&a[0], &a[1], op::mul)
}

pub(crate) fn divide(a: &[Value]) -> Result {
    elementwise(&a[0], &a[1], op::floor_div)
}

/// Integers together, pairs element by element, an integer with both elements of a pair.
fn elementwise(a: &Value, b: &Value, f: Binary) -> Result {
    match (op::is_int(a), op::is_int(b)) {
        (true, true) => f(a, b),
        _ if a.is_tuple() && b.is_tuple() => {
            let x = f(&op::item(a, 0)?, &op::item(b, 0)?)?;
            let y = f(&op::item(a, 1)?, &op::item(b, 1)?)?;
            Value::two(x, y)
        }
        (true, _) if b.is_tuple() => {
            let x = f(a, &op::item(b, 0)?)?;
            Value::two(x, f(a, &op::item(b, 1)?)?)
        }
        _ => {
            let x = f(&op::item(a, 0)?, b)?;
            Value::two(x, f(&op::item(a, 1)?, b)?)
        }
    }
}

/// An integer, or both elements of a pair.
fn each(n: &Value, f: impl Fn(&Value) -> Result) -> Result {
    if op::is_int(n) {
        return f(n);
    }
    let x = f(&op::item(n, 0)?)?;
    Value::two(x, f(&op::item(n, 1)?)?)
}

pub(crate) fn invert(a: &[Value]) -> Result {
    each(&a[0], op::neg)
}

pub(crate) fn even(a: &[Value]) -> Result {
    Ok(Value::Bool(match &a[0] {
        Value::Big(n) => n.is_even(),
        n => op::int(n)? % 2 == 0,
    }))
}

pub(crate) fn double(a: &[Value]) -> Result {
    each(&a[0], |n| op::mul(n, &Value::Int(2)))
}

pub(crate) fn halve(a: &[Value]) -> Result {
    each(&a[0], |n| op::floor_div(n, &Value::Int(2)))
}

pub(crate) fn increment(a: &[Value]) -> Result {
    each(&a[0], |n| op::add(n, &Value::Int(1)))
}

pub(crate) fn decrement(a: &[Value]) -> Result {
    each(&a[0], |n| op::sub(n, &Value::Int(1)))
}

pub(crate) fn crement(a: &[Value]) -> Result {
    each(&a[0], |n| {
        if let Value::Float(x) = n {
            // A not-a-number is not above 0.
            return Ok(float::made(if *x > 0.0 { x + 1.0 } else { x - 1.0 }));
        }
        // `x == 0` holds for no container, and the comparison with 0 that follows is a type error.
        op::add(n, &Value::Int(op::nearest_int(n)?.signum()))
    })
}

pub(crate) fn sign(a: &[Value]) -> Result {
    each(&a[0], |n| match n {
        Value::Float(x) => Ok(Value::Int(if *x > 0.0 { 1 } else { -1 })),
        _ => Ok(Value::Int(op::nearest_int(n)?.signum())),
    })
}

pub(crate) fn positive(a: &[Value]) -> Result {
    Ok(Value::Bool(op::less(&Value::Int(0), &a[0])?))
}

pub(crate) fn toivec(a: &[Value]) -> Result {
    Value::two(a[0].clone(), Value::Int(0))
}

pub(crate) fn tojvec(a: &[Value]) -> Result {
    Value::two(Value::Int(0), a[0].clone())
}

pub(crate) fn astuple(a: &[Value]) -> Result {
    Value::two(a[0].clone(), a[1].clone())
}

pub(crate) fn interval(a: &[Value]) -> Result {
    if a.iter().any(|n| matches!(n, Value::Big(_))) {
        return wide_interval(a);
    }
    let (start, stop, step) = (op::int(&a[0])?, op::int(&a[1])?, op::int(&a[2])?);
    if step == 0 {
        return Err(Fault::ValueError);
    }
    let (distance, stride) = if step > 0 {
        (i128::from(stop) - i128::from(start), i128::from(step))
    } else {
        (i128::from(start) - i128::from(stop), -i128::from(step))
    };
    let n = (distance.max(0) + stride - 1) / stride;
    crate::evaluate::meter::build(usize::try_from(n).unwrap_or(usize::MAX), 16)?;
    Value::tuple((0..n as i64).map(|k| Value::Int(start + k * step)).collect())
}

/// `interval` where an end or the step exceeds 64 bits.
#[cold]
fn wide_interval(a: &[Value]) -> Result {
    let number = |k: usize| integer::widened(&a[k]).ok_or(Fault::TypeError);
    let (mut at, stop, step) = (number(0)?, number(1)?, number(2)?);
    let before_stop = match step.sign() {
        Sign::Plus => Ordering::Less,
        Sign::Minus => Ordering::Greater,
        Sign::NoSign => return Err(Fault::ValueError),
    };
    let mut all = Vec::new();
    while at.cmp(&stop) == before_stop {
        crate::evaluate::meter::build(at.bits() as usize / 64 + 3, 8)?;
        all.push(integer::narrowed(at.clone()));
        at += &step;
    }
    Value::tuple(all)
}

pub(crate) fn flip(a: &[Value]) -> Result {
    Ok(Value::Bool(!a[0].truth()))
}

pub(crate) fn equality(a: &[Value]) -> Result {
    crate::evaluate::meter::spend(a[0].len().unwrap_or(0) / 8)?;
    Ok(Value::Bool(op::equal(&a[0], &a[1])))
}

pub(crate) fn greater(a: &[Value]) -> Result {
    Ok(Value::Bool(op::less(&a[1], &a[0])?))
}

pub(crate) fn both(a: &[Value]) -> Result {
    Ok(if a[0].truth() { a[1].clone() } else { a[0].clone() })
}

pub(crate) fn either(a: &[Value]) -> Result {
    Ok(if a[0].truth() { a[0].clone() } else { a[1].clone() })
}

pub(crate) fn branch(a: &[Value]) -> Result {
    Ok(if a[0].truth() { a[1].clone() } else { a[2].clone() })
}
