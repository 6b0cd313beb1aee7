//! Numbers and elements of containers.

use crate::evaluate::{identity, meter};
use crate::language::safe_default::{SafeDefault, safe};
use crate::primitives::collection::{self, most_counted};
use crate::primitives::number;
use crate::set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::float;
use crate::value::integer::wide;
use crate::value::operator as op;
use crate::value::value_table::ValueTable;
use std::rc::Rc;

pub(crate) fn add(a: &[Value]) -> Result {
    number::add(&or_number(a, 0))
}

pub(crate) fn subtract(a: &[Value]) -> Result {
    number::subtract(&or_number(a, 0))
}

pub(crate) fn multiply(a: &[Value]) -> Result {
    number::multiply(&or_number(a, 1))
}

pub(crate) fn divide(a: &[Value]) -> Result {
    number::divide(&or_number(a, 1))
}

/// The arguments with a number in place of empty tuples.
fn or_number(a: &[Value], n: i64) -> [Value; 2] {
    [0, 1].map(|k| match a[k].tuple_len() {
        Some(0) => Value::Int(n),
        _ => a[k].clone(),
    })
}

/// The first element, None if there is none.
pub(crate) fn first(a: &[Value]) -> Result {
    first_or(&a[0], || Ok(Value::None))
}

/// `next(iter(container), …)`.
fn first_or(container: &Value, other: impl FnOnce() -> Result) -> Result {
    match op::first(container) {
        Err(Fault::StopIteration) => other(),
        found => found,
    }
}

pub(crate) fn first_t(a: &[Value]) -> Result {
    match a[0].truth() {
        true => op::item(&a[0], 0),
        false => Value::tuple(Vec::new()),
    }
}

pub(crate) fn first_f(a: &[Value]) -> Result {
    match a[0].truth() {
        true => first(a),
        false => Ok(set::empty()),
    }
}

/// The element after the first; None if there is only one.
pub(crate) fn second(a: &[Value]) -> Result {
    let items = op::items(&a[0])?;
    if items.is_empty() {
        return Err(Fault::StopIteration);
    }
    Ok(items.get(1).cloned().unwrap_or(Value::None))
}

pub(crate) fn last(a: &[Value]) -> Result {
    match a[0].truth() {
        true => collection::last(a),
        false => Value::tuple(Vec::new()),
    }
}

pub(crate) fn last_t(a: &[Value]) -> Result {
    match a[0].truth() {
        true => op::item_at(&a[0], &Value::Int(-1)),
        false => Value::tuple(Vec::new()),
    }
}

pub(crate) fn last_f(a: &[Value]) -> Result {
    match a[0].truth() {
        true => collection::last(a),
        false => Ok(set::empty()),
    }
}

pub(crate) fn remove_t(a: &[Value]) -> Result {
    let mut rest = op::items(&a[1])?;
    rest.retain(|e| !op::equal(e, &a[0]));
    Value::tuple(rest)
}

/// `first(remove(value, container))`.
pub(crate) fn other(a: &[Value]) -> Result {
    let rest = collection::remove(&[a[1].clone(), a[0].clone()]);
    first(&[safe(rest, SafeDefault::Tuple)?])
}

pub(crate) fn other_t(a: &[Value]) -> Result {
    first_t(&[remove_t(&[a[1].clone(), a[0].clone()])?])
}

pub(crate) fn other_f(a: &[Value]) -> Result {
    let rest = collection::remove(&[a[1].clone(), a[0].clone()]);
    first_or(&safe(rest, SafeDefault::Set)?, || Ok(set::empty()))
}

/// An element of a tuple by its rank; not-a-number if there is none.
pub(crate) fn get_nth_t(a: &[Value]) -> Result {
    let Some(n) = a[0].tuple_len() else {
        return Ok(float::NAN);
    };
    Ok(at_rank(&a[1], n)?.map_or(float::NAN, |k| a[0].tuple_item(k)))
}

/// The position of a rank that may count from the end: None if it is out of range.
pub(crate) fn at_rank(rank: &Value, n: usize) -> Result<Option<usize>> {
    let Some(rank) = rank.as_int() else {
        let is_in_range = |x: f64| -(n as f64) <= x && x < n as f64;
        return match float::number(rank) {
            Some(x) if !is_in_range(x) => Ok(None),
            _ => Err(Fault::TypeError),
        };
    };
    let place = if rank < 0 { rank + n as i64 } else { rank };
    Ok(usize::try_from(place).ok().filter(|&k| k < n))
}

/// An element by its rank in iteration order; the empty set for a missing rank.
pub(crate) fn get_nth_f(a: &[Value]) -> Result {
    let rank = op::nearest_int(&a[1])?;
    if rank == 0 {
        return first_or(&a[0], || Ok(set::empty()));
    }
    let n = op::len(&a[0])?;
    let Some(k) = at_rank(&Value::Int(rank), n)? else {
        return Ok(set::empty());
    };
    match &a[0] {
        Value::Set(s) => {
            meter::build(n, 16)?;
            Ok(s.get(s.layout().perm[k] as usize))
        }
        tuple => Ok(tuple.tuple_item(k)),
    }
}

pub(crate) fn combine_t(a: &[Value]) -> Result {
    op::add(&a[0], &a[1])
}

/// `a | b`.
pub(crate) fn combine_f(a: &[Value]) -> Result {
    match (&a[0], &a[1]) {
        (Value::Set(x), Value::Set(y)) => {
            meter::build(x.len() + y.len(), 16)?;
            let copy = ValueTable::of_set(x).copied();
            // CPython is done after the copy if both are one object.
            let is_one = Rc::ptr_eq(x, y);
            if is_one && identity::is_exact() {
                return copy.into_value();
            }
            let before = (is_one || !identity::is_exact() && x.equals(y)).then(|| copy.clone());
            let mut all = copy;
            all.absorb(&ValueTable::of_set(y));
            match before {
                Some(copy) if !all.iter().eq(copy.iter()) => {
                    identity::record_ambiguous_read();
                    if is_one { copy } else { all }.into_value()
                }
                _ => all.into_value(),
            }
        }
        (Value::Bool(x), Value::Bool(y)) => Ok(Value::Bool(x | y)),
        _ => match (a[0].as_int(), a[1].as_int()) {
            (Some(x), Some(y)) => Ok(Value::Int(x | y)),
            _ => wide(&a[0], &a[1], op::linear, |x, y| x | y).ok_or(Fault::TypeError)?,
        },
    }
}

pub(crate) fn common(container: &Value, most: bool) -> Result {
    most_counted(&op::items(container)?, most)?.ok_or(Fault::ValueError)
}

/// `(ij[0], ij[1], c)`.
pub(crate) fn ascell(a: &[Value]) -> Result {
    Value::tuple(vec![op::item(&a[0], 0)?, op::item(&a[0], 1)?, a[1].clone()])
}

pub(crate) fn astriple(a: &[Value]) -> Result {
    Value::tuple(a.to_vec())
}

pub(crate) fn toij(a: &[Value]) -> Result {
    Value::two(op::item(&a[0], 0)?, op::item(&a[0], 1)?)
}

/// Pairs and colours, zipped to cells.
pub(crate) fn celltuple(a: &[Value]) -> Result {
    let (pairs, colors) = (op::items(&a[0])?, op::items(&a[1])?);
    let cells = pairs.iter().zip(colors).map(|(pair, color)| {
        let (i, j) = op::unpack(pair)?;
        Value::tuple(vec![i, j, color])
    });
    Value::tuple(cells.collect::<Result<_>>()?)
}

pub(crate) fn sizefilter_t(a: &[Value]) -> Result {
    let mut kept = Vec::new();
    for e in op::items(&a[0])? {
        if Value::Int(op::len(&e)? as i64) == a[1] {
            kept.push(e);
        }
    }
    Value::tuple(kept)
}
