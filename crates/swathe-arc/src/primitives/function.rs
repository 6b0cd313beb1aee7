//! Functions made of functions.

use crate::closure::{Closure, Form, n_args};
use crate::fault::{Fault, Result};
use crate::meter;
use crate::operator as op;
use crate::value::Value;

pub(crate) fn compose(a: &[Value]) -> Result {
    Closure::value(Form::Compose, [a[0].clone(), a[1].clone(), Value::None])
}

pub(crate) fn chain(a: &[Value]) -> Result {
    Closure::value(Form::Chain, [a[0].clone(), a[1].clone(), a[2].clone()])
}

pub(crate) fn matcher(a: &[Value]) -> Result {
    Closure::value(Form::Matcher, [a[0].clone(), a[1].clone(), Value::None])
}

pub(crate) fn fork(a: &[Value]) -> Result {
    Closure::value(Form::Fork, [a[0].clone(), a[1].clone(), a[2].clone()])
}

pub(crate) fn rbind(a: &[Value]) -> Result {
    let n = n_args(&a[0]).ok_or(Fault::AttributeError)?;
    Closure::value(
        Form::RightBound(n),
        [a[0].clone(), a[1].clone(), Value::None],
    )
}

pub(crate) fn lbind(a: &[Value]) -> Result {
    let n = n_args(&a[0]).ok_or(Fault::AttributeError)?;
    Closure::value(
        Form::LeftBound(n),
        [a[0].clone(), a[1].clone(), Value::None],
    )
}

/// The reference recurses n levels deep, and for ever when n is below 1.
pub(crate) fn power(a: &[Value]) -> Result {
    let n = op::int(&a[1])?;
    if n < 1 || n > i64::from(meter::n_frames_left()) {
        return Err(Fault::RecursionError);
    }
    let mut f = a[0].clone();
    for _ in 1..n {
        f = Closure::value(Form::Compose, [a[0].clone(), f, Value::None])?;
    }
    meter::spend(n as usize)?;
    Ok(f)
}
