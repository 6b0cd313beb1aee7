//! Primitives that only `batt` files call.
//!
//! Objects have the reference's form here as well: `(colour, (row, column))`.

use super::collection::contains;
use super::{mirror, object};
use crate::set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;

/// `objects` with its three flags in one number: univalued · 4 + diagonal · 2 + without background.
pub(crate) fn o_g(a: &[Value]) -> Result {
    let Some(flags @ 0..=7) = a[1].as_int() else {
        return Ok(Value::None);
    };
    let flag = |bit: i64| Value::Bool(flags & bit != 0);
    object::objects(&[a[0].clone(), flag(4), flag(2), flag(1)])
}

/// The colours of a grid as a tuple, in the iteration order of their set.
pub(crate) fn p_g(a: &[Value]) -> Result {
    let mut cells = Vec::new();
    for row in op::items(&a[0])? {
        cells.extend(op::items(&row)?);
    }
    Value::tuple(op::items(&set::from_values(cells)?)?)
}

/// The element after the first; None if there is only one.
pub(crate) fn second(a: &[Value]) -> Result {
    let items = op::items(&a[0])?;
    if items.is_empty() {
        return Err(Fault::StopIteration);
    }
    Ok(items.get(1).cloned().unwrap_or(Value::None))
}

/// The elements of the first container that are not in the second, in order and with duplicates.
pub(crate) fn difference_tuple(a: &[Value]) -> Result {
    let mut rest = Vec::new();
    for item in op::items(&a[0])? {
        if !contains(&a[1], &item)? {
            rest.push(item);
        }
    }
    op::rebuilt(&a[0], rest)
}

/// An element of a tuple by its rank; negative ranks count from the end.
///
/// For a missing rank the dialect gives a floating-point NaN, which is no value here. The call fails instead, and a
/// guarded line gives `()`.
pub(crate) fn get_nth_t(a: &[Value]) -> Result {
    op::item_at(&a[0], &a[1])
}

/// An element of a set by its rank in iteration order; the empty set for a missing rank.
pub(crate) fn get_nth_f(a: &[Value]) -> Result {
    let items = op::items(&a[0])?;
    let rank = op::int(&a[1])?;
    let n = items.len() as i64;
    let place = if rank < 0 { rank + n } else { rank };
    match usize::try_from(place).ok().and_then(|k| items.get(k)) {
        Some(item) => Ok(item.clone()),
        None => set::from_values(Vec::new()),
    }
}

/// A grid mirrored (0 to 3) or turned (4 to 6) by number; any other number leaves it as it is.
pub(crate) fn mir_rot_t(a: &[Value]) -> Result {
    let grid = std::slice::from_ref(&a[0]);
    match a[1].as_int() {
        Some(0..=3) if !a[0].is_tuple() => Err(Fault::TypeError),
        Some(4) => mirror::rot90(grid),
        Some(5) => mirror::rot180(grid),
        Some(6) => mirror::rot270(grid),
        _ => mirrored(a),
    }
}

/// A patch mirrored by number; any other number leaves it as it is.
pub(crate) fn mir_rot_f(a: &[Value]) -> Result {
    match a[1].as_int() {
        Some(0..=3) if !matches!(a[0], Value::Set(_)) => Err(Fault::TypeError),
        _ => mirrored(a),
    }
}

fn mirrored(a: &[Value]) -> Result {
    let piece = std::slice::from_ref(&a[0]);
    match a[1].as_int() {
        Some(0) => mirror::hmirror(piece),
        Some(1) => mirror::dmirror(piece),
        Some(2) => mirror::vmirror(piece),
        Some(3) => mirror::cmirror(piece),
        _ => Ok(a[0].clone()),
    }
}
