//! Patches: sets of cells or of indices.

use super::collection::{minus, packed_set};
use super::extent::{bounds, corner, height_of, left, top, width_of};
use super::paint::content;
use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, safe};
use crate::set::distinct;
use crate::set::{self, Set};
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::table::PackedTable;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use crate::value::value_table::ValueTable;
use std::rc::Rc;

/// The reference's test for cells, which looks at the first element: is its second part a tuple, or, where cells are
/// triples, has it three parts?
pub(crate) fn has_cells(patch: &Value) -> Result<bool> {
    if let Some((_, _, kind)) = packed_set(patch) {
        return Ok(kind.has_color());
    }
    if let Value::Tuple(t) = patch
        && let Some((_, kind)) = t.chained()
    {
        return Ok(kind.has_color());
    }
    let first = op::first(patch)?;
    match meter::cell_kind() {
        ElementKind::Triple => Ok(op::len(&first)? == 3),
        _ => Ok(op::item(&first, 1)?.is_tuple()),
    }
}

/// The places of a patch; in a dialect with defaults, the empty set for what is no patch.
pub(crate) fn to_indices(patch: &Value) -> Result {
    if let Some((s, items, kind)) = packed_set(patch) {
        if kind == ElementKind::Place {
            return Ok(patch.clone());
        }
        meter::build(items.len(), 4)?;
        if super::collection::one_color(items) {
            let color = items[0] & !packed::PLACE_MASK;
            return Ok(set::sum(s, color.wrapping_neg(), ElementKind::Place, s.known_bounds()));
        }
        let places: Vec<u32> = items.iter().map(|x| x & packed::PLACE_MASK).collect();
        let items = distinct::cells(places.clone());
        return Ok(set::packed(
            items,
            ElementKind::Place,
            IterationOrder::Mapped(s.clone(), places),
        ));
    }
    safe(indices_of(patch), SafeDefault::Set)
}

fn indices_of(patch: &Value) -> Result {
    if op::len(patch)? == 0 {
        return Ok(set::empty());
    }
    if !has_cells(patch)? {
        return Ok(patch.clone());
    }
    if let Value::Tuple(t) = patch
        && let Some((sets, _)) = t.chained()
    {
        meter::build(t.len(), 16)?;
        meter::build(t.len(), 16)?;
        return Ok(places_of(sets));
    }
    let indices = op::items(patch)?.iter().map(place_of).collect::<Result<_>>()?;
    set::from_values(indices)
}

/// The place of a cell.
fn place_of(cell: &Value) -> Result {
    if meter::cell_kind() == ElementKind::Triple {
        let [i, j, _] = op::unpack_three(cell)?;
        return Value::two(i, j);
    }
    Ok(op::unpack(cell)?.1)
}

/// The places of the cells of sets, inserted one set after the other.
fn places_of(sets: &[Rc<Set>]) -> Value {
    let content = sets.iter().filter_map(|s| s.packed());
    let places = content.flat_map(|(items, _)| items.iter().map(|x| x & packed::PLACE_MASK));
    let places = distinct::cells(places.collect());
    let sets = sets.to_vec();
    let rebuild = move || {
        let in_order = sets.iter().filter_map(|s| s.packed_in_order());
        let places = in_order.flatten().map(|x| x & packed::PLACE_MASK);
        PackedTable::collect(ElementKind::Place, places)
    };
    set::packed(places, ElementKind::Place, IterationOrder::Rebuilt(Box::new(rebuild)))
}

pub(crate) fn recolor(a: &[Value]) -> Result {
    let (value, indices) = (&a[0], to_indices(&a[1])?);
    if let (Some((s, items, ElementKind::Place)), &Value::Int(c)) = (packed_set(&indices), value)
        && packed::color_fits(c)
    {
        meter::build(items.len(), 4)?;
        let bits = packed::color_bits(c as i32);
        return Ok(set::sum(s, bits, meter::cell_kind(), s.known_bounds()));
    }
    let cells = op::items(&indices)?
        .into_iter()
        .map(|e| Value::two(value.clone(), e))
        .collect::<Result<_>>()?;
    set::from_values(cells)
}

pub(crate) fn shifted(patch: &Value, directions: &Value) -> Result {
    if let (Some((s, items, _)), &Value::Pair(di, dj)) = (packed_set(patch), directions)
        && packed::fits(di.into(), dj.into())
    {
        meter::build(items.len(), 4)?;
        if s.bounds().moved(di, dj).fits() {
            return Ok(moved(s, di, dj));
        }
    }
    if let (Value::Tuple(t), &Value::Pair(di, dj)) = (patch, directions)
        && let Some((sets, kind)) = t.chained()
        && packed::fits(di.into(), dj.into())
        && sets.iter().all(|s| s.bounds().moved(di, dj).fits())
    {
        meter::build(t.len(), 16)?;
        meter::build(t.len(), 16)?;
        return Ok(chain_shifted(sets, kind, packed::step(di, dj)));
    }
    safe(shifted_one_by_one(patch, directions), SafeDefault::Set)
}

fn shifted_one_by_one(patch: &Value, directions: &Value) -> Result {
    if meter::dialect().has_defaults() {
        if !patch.truth() {
            return Ok(set::empty());
        }
        if directions.tuple_len() == Some(0) {
            return Ok(patch.clone());
        }
    } else if op::len(patch)? == 0 {
        return Ok(patch.clone());
    }
    let (di, dj) = op::unpack(directions)?;
    map_places(patch, |i, j| Ok((op::add(i, &di)?, op::add(j, &dj)?)))
}

/// A packed set that is not empty, moved; the caller has checked that the result fits.
pub(crate) fn moved(set: &Rc<Set>, di: i32, dj: i32) -> Value {
    let bounds = set.bounds().moved(di, dj);
    set::sum(set, packed::step(di, dj), set.kind(), Some(bounds))
}

/// The set of the elements of sets, moved by a packed step and inserted one set after the other.
fn chain_shifted(sets: &[Rc<Set>], kind: ElementKind, step: u32) -> Value {
    let moved = content(sets).into_iter().map(|x| x.wrapping_add(step));
    let items = distinct::cells(moved.collect());
    let sets = sets.to_vec();
    let rebuild = move || {
        let in_order = sets.iter().filter_map(|s| s.packed_in_order());
        let moved = in_order.flatten().map(|x| x.wrapping_add(step));
        PackedTable::collect(kind, moved)
    };
    set::packed(items, kind, IterationOrder::Rebuilt(Box::new(rebuild)))
}

/// The patch with every place mapped; cells keep their colour.
pub(crate) fn map_places(
    patch: &Value,
    f: impl Fn(&Value, &Value) -> Result<(Value, Value)>,
) -> Result {
    let with_colors = has_cells(patch)?;
    let mut all = Vec::new();
    for e in op::items(patch)? {
        if with_colors {
            let [i, j, value] = op::cell_parts(&e)?;
            let (i, j) = f(&i, &j)?;
            all.push(op::cell_of(i, j, value)?);
        } else {
            let (i, j) = op::unpack(&e)?;
            let (i, j) = f(&i, &j)?;
            all.push(Value::two(i, j)?);
        }
    }
    set::from_values(all)
}

pub(crate) fn normalized(patch: &Value) -> Result {
    safe(moved_to_origin(patch), SafeDefault::Set)
}

fn moved_to_origin(patch: &Value) -> Result {
    if op::len(patch)? == 0 {
        return Ok(patch.clone());
    }
    let up = op::neg(&top(patch)?)?;
    let to = Value::two(up, op::neg(&left(patch)?)?)?;
    shifted(patch, &to)
}

pub(crate) fn corners(a: &[Value]) -> Result {
    let patch = &a[0];
    let all = [[false, false], [false, true], [true, false], [true, true]];
    let all = all.into_iter().map(|g| corner(patch, g)).collect::<Result<Vec<_>>>()?;
    ValueTable::collect(all).copied().into_value()
}

pub(crate) fn backdrop_of(patch: &Value) -> Result {
    safe(rectangle_of(patch), SafeDefault::Set)
}

fn rectangle_of(patch: &Value) -> Result {
    if let Some(b) = bounds(patch) {
        meter::build(b.area(), 4)?;
        let mut items = Vec::with_capacity(b.area());
        for i in b.top..=b.bottom {
            items.extend((b.left..=b.right).map(|j| packed::place(i, j)));
        }
        return Ok(set::packed_within(
            items,
            ElementKind::Place,
            IterationOrder::Sequence,
            Some(b),
        ));
    }
    if op::len(patch)? == 0 {
        return Ok(set::empty());
    }
    // One dialect takes the corner of the patch, the others that of its places.
    let from = match meter::dialect().has_defaults() {
        true => corner(patch, [false, false])?,
        false => corner(&to_indices(patch)?, [false, false])?,
    };
    let (si, sj) = op::unpack(&from)?;
    let (ei, ej) = op::unpack(&corner(patch, [true, true])?)?;
    let (rows, columns) = (range(op::int(&si)?, end(&ei)?)?, range(op::int(&sj)?, end(&ej)?)?);
    // Each side may be within the limits and their product beyond them.
    meter::build(rows.clone().count().saturating_mul(columns.clone().count()), 16)?;
    let mut all = Vec::new();
    for i in rows {
        for j in columns.clone() {
            all.push(Value::pair(i, j)?);
        }
    }
    set::from_values(all)
}

/// `v + 1`, as the end of a range.
fn end(v: &Value) -> Result<i64> {
    op::int(&op::add(v, &Value::Int(1))?)
}

/// `range(from, to)`, charged before it is iterated.
pub(crate) fn range(from: i64, to: i64) -> Result<std::ops::Range<i64>> {
    let n = i128::from(to) - i128::from(from);
    meter::build(usize::try_from(n.max(0)).unwrap_or(usize::MAX), 16)?;
    Ok(from..to)
}

pub(crate) fn delta(a: &[Value]) -> Result {
    let patch = &a[0];
    if op::len(patch)? == 0 {
        return Ok(set::empty());
    }
    let all = backdrop_of(patch)?;
    match (&all, &to_indices(patch)?) {
        (Value::Set(all), Value::Set(own)) => minus(all, own),
        _ => Err(Fault::TypeError),
    }
}

/// The least shift along the axis under which the object repeats itself.
pub(crate) fn period(obj: &Value, axis: usize) -> Result {
    let normal = normalized(obj)?;
    let n = if axis == 1 { width_of(&normal)? } else { height_of(&normal)? };
    if let Some((_, items, ElementKind::Cell | ElementKind::Triple)) = packed_set(&normal) {
        let mut sorted = items.to_vec();
        sorted.sort_unstable();
        let n = op::int(&n)? as i32;
        for p in 1..n {
            meter::spend(items.len() / 4)?;
            let step = if axis == 1 { packed::step(0, p) } else { packed::step(p, 0) };
            let coordinate = if axis == 1 { packed::col } else { packed::row };
            let repeats =
                |x: &u32| coordinate(*x) < p || sorted.binary_search(&x.wrapping_sub(step)).is_ok();
            if items.iter().all(repeats) {
                return Ok(Value::Int(p.into()));
            }
        }
        return Ok(Value::Int(n.into()));
    }
    for p in range(1, op::int(&n)?)? {
        let by = if axis == 1 { Value::pair(0, -p)? } else { Value::pair(-p, 0)? };
        let mut repeats = true;
        for e in op::items(&shifted(&normal, &by)?)? {
            let [i, j, _] = op::cell_parts(&e)?;
            let coordinate = if axis == 1 { j } else { i };
            if !op::less(&coordinate, &Value::Int(0))? && !super::collection::contains(&normal, &e)?
            {
                repeats = false;
            }
        }
        if repeats {
            return Ok(Value::Int(p));
        }
    }
    Ok(n)
}
