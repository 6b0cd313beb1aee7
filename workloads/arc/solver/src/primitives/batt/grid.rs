//! Grids: mirrors, windows and cell-by-cell comparison.

use super::extent::{index, number};
use crate::language::safe_default::{SafeDefault, safe};
use crate::primitives::cut::{self, columns_of};
use crate::primitives::{mirror, paint};
use crate::set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::grid::dense;
use crate::value::operator as op;

pub(crate) fn hmirror_t(a: &[Value]) -> Result {
    match a[0].is_tuple() {
        true => mirror::hmirror(a),
        false => Err(Fault::TypeError),
    }
}

/// The rows of any container, each reversed.
pub(crate) fn vmirror_t(a: &[Value]) -> Result {
    if a[0].is_tuple() {
        return mirror::vmirror(a);
    }
    let rows = op::items(&a[0])?;
    Value::tuple(rows.iter().map(op::reversed).collect::<Result<_>>()?)
}

pub(crate) fn dmirror_t(a: &[Value]) -> Result {
    match dense(&a[0]) {
        Some(_) => mirror::dmirror(a),
        None => columns_of(&a[0]),
    }
}

pub(crate) fn cmirror_t(a: &[Value]) -> Result {
    match a[0].is_tuple() {
        true => mirror::cmirror(a),
        false => Err(Fault::TypeError),
    }
}

/// A grid mirrored (0 to 3) or turned (4 to 6) by number; any other number leaves it as it is.
pub(crate) fn mir_rot_t(a: &[Value]) -> Result {
    match number(&a[1]) {
        Some(0) => hmirror_t(a),
        Some(1) => dmirror_t(a),
        Some(2) => vmirror_t(a),
        Some(3) => cmirror_t(a),
        Some(4) => mirror::rot90(a),
        Some(5) => mirror::rot180(a),
        Some(6) => mirror::rot270(a),
        _ => Ok(a[0].clone()),
    }
}

pub(crate) fn subgrid(a: &[Value]) -> Result {
    match a[0].is_empty() {
        true => Value::tuple(Vec::new()),
        false => cut::subgrid(a),
    }
}

/// As arc-dsl's, but a cell that the second grid does not have differs from any other.
pub(crate) fn cellwise(a: &[Value]) -> Result {
    if let (Some(x), Some(y)) = (dense(&a[0]), dense(&a[1]))
        && y.height() >= x.height()
        && y.width() >= x.width()
    {
        return cut::cellwise(a);
    }
    let (h, w) = paint::sides(&a[0])?;
    let mut rows = Vec::new();
    for i in 0..h as i64 {
        let mut row = Vec::new();
        for j in 0..w as i64 {
            let x = op::cell(&a[0], &Value::Int(i), &Value::Int(j))?;
            let y = index(&[a[1].clone(), Value::pair(i, j)?]);
            let is_same = op::equal(&x, &safe(y, SafeDefault::Zero)?);
            row.push(if is_same { x } else { a[2].clone() });
        }
        rows.push(Value::tuple(row)?);
    }
    Value::tuple(rows)
}

/// Whether the value is anything but a tuple of tuples of integers.
pub(crate) fn is_no_grid(a: &[Value]) -> Result {
    Ok(Value::Bool(!is_grid(&a[0])))
}

fn is_grid(v: &Value) -> bool {
    let is_row = |row: Value| match row.tuple_len() {
        Some(n) => (0..n).all(|k| op::is_int(&row.tuple_item(k))),
        None => false,
    };
    match v {
        Value::Grid(_) => true,
        _ => match v.tuple_len() {
            Some(n) => (0..n).all(|k| is_row(v.tuple_item(k))),
            None => false,
        },
    }
}

pub(crate) fn asobject(a: &[Value]) -> Result {
    match is_grid(&a[0]) {
        true => paint::asobject(a),
        false => Ok(set::empty()),
    }
}
