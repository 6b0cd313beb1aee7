//! Primitives that make functions from functions.

use crate::evaluate::meter;
use crate::set::Set;
use crate::value::Value;
use crate::value::closure::{Closure, Form, n_args};
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;
use std::rc::Rc;

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
    let form = bound(&a[0], Form::RightBound)?;
    Closure::value(form, [a[0].clone(), a[1].clone(), Value::None])
}

pub(crate) fn lbind(a: &[Value]) -> Result {
    let form = bound(&a[0], Form::LeftBound)?;
    Closure::value(form, [a[0].clone(), a[1].clone(), Value::None])
}

fn bound(f: &Value, form: impl Fn(u8) -> Form) -> Result<Form> {
    n_args(f).map(form).ok_or(Fault::AttributeError)
}

/// `rbind(f, first(set))`, for a set that is not empty.
pub(crate) fn rbind_first(f: &Value, set: &Rc<Set>) -> Result {
    Closure::of_first(bound(f, Form::RightBound)?, f, set)
}

/// `lbind(f, first(set))`, for a set that is not empty.
pub(crate) fn lbind_first(f: &Value, set: &Rc<Set>) -> Result {
    Closure::of_first(bound(f, Form::LeftBound)?, f, set)
}

/// The reference recurses n levels deep, and for ever when n is below 1.
pub(crate) fn power(a: &[Value]) -> Result {
    if matches!(a[1], Value::Float(x) if x != 1.0) {
        return Err(Fault::RecursionError);
    }
    let n = op::nearest_int(&a[1])?;
    if n < 1 || n - 1 > i64::from(meter::n_frames_left()) {
        return Err(Fault::RecursionError);
    }
    let mut f = a[0].clone();
    for _ in 1..n {
        f = Closure::value(Form::Compose, [a[0].clone(), f, Value::None])?;
    }
    meter::spend(n as usize)?;
    Ok(f)
}
