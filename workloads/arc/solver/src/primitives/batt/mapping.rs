//! Functions applied to elements, where the dialect names the kind of container or fails differently.

use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, is_caught};
use crate::primitives::mapping;
use crate::set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;

pub(crate) fn apply_t(a: &[Value]) -> Result {
    Value::tuple(mapping::results(&a[0], &a[1])?)
}

pub(crate) fn rapply_t(a: &[Value]) -> Result {
    let Value::Set(_) = &a[0] else {
        return mapping::rapply(a);
    };
    let functions = Value::tuple(op::items(&a[0])?)?;
    mapping::rapply(&[functions, a[1].clone()])
}

/// `merge(apply(f, container))`: if either fails, the empty tuple is merged or given.
pub(crate) fn mapply(a: &[Value]) -> Result {
    or_empty(mapping::mapply(a))
}

pub(crate) fn mapply_t(a: &[Value]) -> Result {
    let applied = || apply_t(a);
    or_empty(applied().and_then(|all| crate::primitives::collection::merged(&all)))
}

/// As `mapply`, but a function that fails gives the empty set.
pub(crate) fn mapply_f(a: &[Value]) -> Result {
    match mapping::mapply(a) {
        Err(fault) if is_caught(fault) => match mapping::apply(a) {
            Err(fault) if is_caught(fault) => Ok(set::empty()),
            Err(fault) => Err(fault),
            Ok(_) => SafeDefault::Tuple.value(),
        },
        found => found,
    }
}

pub(crate) fn mpapply(a: &[Value]) -> Result {
    or_empty(mapping::mpapply(a))
}

pub(crate) fn mfilter(a: &[Value]) -> Result {
    or_empty(mapping::mfilter(a))
}

fn or_empty(result: Result) -> Result {
    match result {
        Err(fault) if is_caught(fault) => SafeDefault::Tuple.value(),
        result => result,
    }
}

/// The elements for which the function holds; they are not merged.
pub(crate) fn mfilter_t(a: &[Value]) -> Result {
    sfilter_f(a)
}

pub(crate) fn sfilter_t(a: &[Value]) -> Result {
    meter::nested(1, || Value::tuple(mapping::kept(&a[0], &a[1])?))
}

pub(crate) fn sfilter_f(a: &[Value]) -> Result {
    meter::nested(1, || match &a[0] {
        Value::Set(_) => mapping::filtered(&a[0], &a[1]),
        _ => set::from_values(mapping::kept(&a[0], &a[1])?),
    })
}

/// The first element for which the condition holds; the empty set if there is none.
pub(crate) fn extract(a: &[Value]) -> Result {
    match mapping::extract(a) {
        Err(Fault::StopIteration) => Ok(set::empty()),
        found => found,
    }
}
