//! Lines, frontiers, boxes and neighbourhoods: sets of indices with a simple shape.

use super::extent::{bottom, corner, left, right, top};
use super::patch::range;
use crate::evaluate::meter;
use crate::set;
use crate::set::line_segment::LineSegment;
use crate::set::set_cache;
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::table::PackedTable;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use crate::value::value_table::ValueTable;

pub(crate) fn shoot(a: &[Value]) -> Result {
    let (start, direction) = (&a[0], &a[1]);
    let far = |k: usize| -> Result {
        let from = op::item(start, k)?;
        op::add(&from, &op::mul(&Value::Int(42), &op::item(direction, k)?)?)
    };
    let i = far(0)?;
    connected(start, &Value::two(i, far(1)?)?)
}

/// The straight or diagonal line between two places, or nothing.
pub(crate) fn connected(a: &Value, b: &Value) -> Result {
    if let (&Value::Pair(ai, aj), &Value::Pair(bi, bj)) = (a, b)
        && packed::fits(ai.into(), aj.into())
        && packed::fits(bi.into(), bj.into())
    {
        return packed_line(ai, aj, bi, bj);
    }
    let ((ai, aj), (bi, bj)) = (op::unpack(a)?, op::unpack(b)?);
    let [x, y, z, w] = [op::int(&ai)?, op::int(&aj)?, op::int(&bi)?, op::int(&bj)?];
    let (si, sj) = (x.min(z), y.min(w));
    let end = |v: i64| v.checked_add(1).ok_or(Fault::OverflowError);
    let (ei, ej) = (end(x.max(z))?, end(y.max(w))?);
    let mut all = Vec::new();
    if x == z {
        // The row is kept as it was given: a boolean stays a boolean.
        for j in range(sj, ej)? {
            all.push(Value::two(ai.clone(), Value::Int(j))?);
        }
    } else if y == w {
        for i in range(si, ei)? {
            all.push(Value::two(Value::Int(i), aj.clone())?);
        }
    } else if i128::from(z) - i128::from(x) == i128::from(w) - i128::from(y) {
        for (i, j) in range(si, ei)?.zip(sj..ej) {
            all.push(Value::pair(i, j)?);
        }
    } else if i128::from(z) - i128::from(x) == i128::from(y) - i128::from(w) {
        for (i, j) in range(si, ei)?.zip((sj..ej).rev()) {
            all.push(Value::pair(i, j)?);
        }
    }
    set::from_values(all)
}

fn packed_line(ai: i32, aj: i32, bi: i32, bj: i32) -> Result {
    let line = LineSegment::between((ai, aj), (bi, bj));
    meter::build(line.len(), 4)?;
    Ok(line.value(ElementKind::Place))
}

pub(crate) fn vfrontier(a: &[Value]) -> Result {
    let j = op::item(&a[0], 1)?;
    if let Value::Int(j) = j
        && packed::fits(0, j)
    {
        meter::build(30, 16)?;
        return Ok(LineSegment::between((0, j as i32), (29, j as i32)).value(ElementKind::Place));
    }
    set::from_values((0..30).map(|i| Value::two(Value::Int(i), j.clone())).collect::<Result<_>>()?)
}

pub(crate) fn hfrontier(a: &[Value]) -> Result {
    let i = op::item(&a[0], 0)?;
    if let Value::Int(i) = i
        && packed::fits(i, 0)
    {
        meter::build(30, 16)?;
        return Ok(LineSegment::between((i as i32, 0), (i as i32, 29)).value(ElementKind::Place));
    }
    set::from_values((0..30).map(|j| Value::two(i.clone(), Value::Int(j))).collect::<Result<_>>()?)
}

pub(crate) fn dneighbors(a: &[Value]) -> Result {
    around(&a[0], 3, set_cache::dneighbors, |p| {
        Ok(four(p, [(-1, 0), (1, 0), (0, -1), (0, 1)])?.copied())
    })
}

pub(crate) fn ineighbors(a: &[Value]) -> Result {
    around(&a[0], 4, set_cache::ineighbors, |p| {
        Ok(four(p, [(-1, -1), (-1, 1), (1, -1), (1, 1)])?.copied())
    })
}

pub(crate) fn neighbors(a: &[Value]) -> Result {
    around(&a[0], 5, set_cache::neighbors, |p| {
        let direct = four(p, [(-1, 0), (1, 0), (0, -1), (0, 1)])?.copied();
        let diagonal = four(p, [(-1, -1), (-1, 1), (1, -1), (1, 1)])?.copied();
        Ok(direct.union(&diagonal))
    })
}

/// The neighbourhood of a place, from the cache if it can be packed.
fn around(
    place: &Value,
    kind: u64,
    table: fn(i32, i32) -> PackedTable,
    general: impl Fn(&Value) -> Result<ValueTable>,
) -> Result {
    if let &Value::Pair(i, j) = place
        && packed::fits(i64::from(i) - 1, i64::from(j) - 1)
        && packed::fits(i64::from(i) + 1, i64::from(j) + 1)
    {
        let key = kind << 56 | u64::from(packed::place(i, j));
        return Ok(set_cache::set(key, || {
            let items = table(i, j).table.keys().collect();
            set::packed(
                items,
                ElementKind::Place,
                IterationOrder::Rebuilt(Box::new(move || table(i, j))),
            )
        }));
    }
    general(place)?.into_value()
}

fn four(place: &Value, steps: [(i64, i64); 4]) -> Result<ValueTable> {
    let mut all = Vec::new();
    for (di, dj) in steps {
        let moved = |k: usize, d: i64| -> Result {
            let v = op::item(place, k)?;
            match d {
                0 => Ok(v),
                -1 => op::sub(&v, &Value::Int(1)),
                _ => op::add(&v, &Value::Int(1)),
            }
        };
        let i = moved(0, di)?;
        all.push(Value::two(i, moved(1, dj)?)?);
    }
    Ok(ValueTable::collect(all))
}

/// The outline of the bounds moved outwards by one cell, or inwards.
pub(crate) fn grown_box(patch: &Value, by: i64) -> Result {
    let by = Value::Int(by);
    let (ai, aj) = (op::sub(&top(patch)?, &by)?, op::sub(&left(patch)?, &by)?);
    let (bi, bj) = (op::add(&bottom(patch)?, &by)?, op::add(&right(patch)?, &by)?);
    outline(&ai, &aj, &bi, &bj)
}

pub(crate) fn box_of(a: &[Value]) -> Result {
    let patch = &a[0];
    if op::len(patch)? == 0 {
        return match meter::dialect().has_defaults() {
            true => Ok(set::empty()),
            false => Ok(patch.clone()),
        };
    }
    let (ai, aj) = op::unpack(&corner(patch, [false, false])?)?;
    let (bi, bj) = op::unpack(&corner(patch, [true, true])?)?;
    outline(&ai, &aj, &bi, &bj)
}

/// The four sides of a rectangle, by the reference's unions: the verticals, the horizontals, then
/// both.
fn outline(ai: &Value, aj: &Value, bi: &Value, bj: &Value) -> Result {
    let [x, y, z, w] = [op::int(ai)?, op::int(aj)?, op::int(bi)?, op::int(bj)?];
    let (si, sj, ei, ej) = (x.min(z), y.min(w), x.max(z), y.max(w));
    if packed::fits(si, sj) && packed::fits(ei, ej) {
        let (si, sj, ei, ej) = (si as i32, sj as i32, ei as i32, ej as i32);
        meter::build(2 * (ei - si + ej - sj + 2) as usize, 4)?;
        let place = packed::place;
        let rebuild = move || {
            let vertical =
                |j: i32| PackedTable::collect(ElementKind::Place, (si..=ei).map(|i| place(i, j)));
            let horizontal =
                |i: i32| PackedTable::collect(ElementKind::Place, (sj..=ej).map(|j| place(i, j)));
            let verticals = vertical(sj).union(&vertical(ej));
            verticals.union(&horizontal(si).union(&horizontal(ei))).copied()
        };
        let mut items: Vec<u32> = (si..=ei).map(|i| place(i, sj)).collect();
        if ej != sj {
            items.extend((si..=ei).map(|i| place(i, ej)));
        }
        items.extend((sj + 1..ej).map(|j| place(si, j)));
        if ei != si {
            items.extend((sj + 1..ej).map(|j| place(ei, j)));
        }
        return Ok(set::packed(
            items,
            ElementKind::Place,
            IterationOrder::Rebuilt(Box::new(rebuild)),
        ));
    }
    let last = |v: i64| v.checked_add(1).ok_or(Fault::OverflowError);
    let (rows, columns) = (range(si, last(ei)?)?, range(sj, last(ej)?)?);
    let vertical = |j: i64| -> Result<ValueTable> {
        Ok(ValueTable::collect(
            rows.clone().map(|i| Value::pair(i, j)).collect::<Result<Vec<_>>>()?,
        ))
    };
    let horizontal = |i: i64| -> Result<ValueTable> {
        Ok(ValueTable::collect(
            columns.clone().map(|j| Value::pair(i, j)).collect::<Result<Vec<_>>>()?,
        ))
    };
    let verticals = vertical(sj)?.union(&vertical(ej)?);
    verticals.union(&horizontal(si)?.union(&horizontal(ei)?)).copied().into_value()
}
