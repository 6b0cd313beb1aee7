//! Objects and colours.

use super::extent::number;
use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, safe};
use crate::primitives::collection::{most_counted, one_color, packed_set};
use crate::primitives::color::{self, by_count, color_of, of_rows, palette_table, rows_table};
use crate::primitives::object;
use crate::set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::float;
use crate::value::grid::dense;
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use crate::value::value_table::ValueTable;

/// `objects` with its three flags in one number: univalued · 4 + diagonal · 2 + without background.
pub(crate) fn o_g(a: &[Value]) -> Result {
    match flags(a) {
        Some(args) => safe(object::objects(&args), SafeDefault::Set),
        None => Ok(Value::None),
    }
}

/// As `o_g`, with tuples in place of sets.
pub(crate) fn o_g_t(a: &[Value]) -> Result {
    match flags(a) {
        Some(args) => safe(object::objects_as_tuples(&args), SafeDefault::Tuple),
        None => Ok(Value::None),
    }
}

fn flags(a: &[Value]) -> Option<[Value; 4]> {
    let flags = number(&a[1]).filter(|n| (0..8).contains(n))?;
    let flag = |bit: i64| Value::Bool(flags & bit != 0);
    Some([a[0].clone(), flag(4), flag(2), flag(1)])
}

pub(crate) fn objects_t(a: &[Value]) -> Result {
    match a[0].tuple_len() {
        Some(0) => Value::tuple(Vec::new()),
        _ => object::objects_as_tuples(a),
    }
}

/// `[c for _, _, c in object]`.
pub(crate) fn colors_of(object: &Value) -> Result<Vec<Value>> {
    let mut colors = Vec::new();
    for cell in op::items(object)? {
        let [_, _, color] = op::unpack_three(&cell)?;
        colors.push(color);
    }
    Ok(colors)
}

/// Whether the value is a packed object that is not empty.
fn is_packed_object(v: &Value) -> bool {
    packed_set(v).is_some_and(|(_, _, kind)| kind == ElementKind::Triple)
}

pub(crate) fn leastcolor_t(a: &[Value]) -> Result {
    of_rows(&a[0], false)
}

pub(crate) fn of_object(object: &Value, most: bool) -> Result {
    if is_packed_object(object) {
        return by_count(object, most);
    }
    Ok(most_counted(&colors_of(object)?, most)?.unwrap_or(float::NAN))
}

/// The colours of a grid.
pub(crate) fn palette_t(a: &[Value]) -> Result {
    safe(rows_table(&a[0]).and_then(ValueTable::into_value), SafeDefault::Set)
}

/// The colours of an object.
pub(crate) fn palette_f(a: &[Value]) -> Result {
    safe(object_table(&a[0]).and_then(ValueTable::into_value), SafeDefault::Set)
}

fn object_table(object: &Value) -> Result<ValueTable> {
    match is_packed_object(object) {
        true => palette_table(object),
        false => Ok(ValueTable::collect(colors_of(object)?)),
    }
}

/// The colours of a grid as a tuple, in the iteration order of their set.
pub(crate) fn p_g(a: &[Value]) -> Result {
    Value::tuple(rows_table(&a[0])?.iter().cloned().collect())
}

/// The colours of an object as a tuple, in the iteration order of their set.
pub(crate) fn p_o(a: &[Value]) -> Result {
    Value::tuple(object_table(&a[0])?.iter().cloned().collect())
}

pub(crate) fn numcolors_t(a: &[Value]) -> Result {
    Ok(Value::Int(op::len(&palette_t(a)?)? as i64))
}

pub(crate) fn numcolors_f(a: &[Value]) -> Result {
    Ok(Value::Int(op::len(&palette_f(a)?)? as i64))
}

pub(crate) fn colorcount_t(a: &[Value]) -> Result {
    if dense(&a[0]).is_some() {
        return color::colorcount(a);
    }
    let mut n = 0;
    for row in op::items(&a[0])? {
        if !row.is_tuple() {
            // Only tuples have a method `count`.
            return Err(Fault::AttributeError);
        }
        n += op::items(&row)?.iter().filter(|v| **v == a[1]).count();
    }
    Ok(Value::Int(n as i64))
}

pub(crate) fn colorcount_f(a: &[Value]) -> Result {
    if is_packed_object(&a[0]) {
        return color::colorcount(a);
    }
    let colors = colors_of(&a[0])?;
    let n = colors.iter().filter(|c| op::equal(c, &a[1])).count();
    Ok(Value::Int(n as i64))
}

/// Objects that are tuples, by the colour of their first cell.
pub(crate) fn colorfilter_t(a: &[Value]) -> Result {
    let mut kept = Vec::new();
    for object in op::items(&a[0])? {
        let color = op::item(&op::item(&object, 0)?, 2)?;
        if op::equal(&color, &a[1]) {
            kept.push(object);
        }
    }
    meter::spend(kept.len())?;
    Value::tuple(kept)
}

/// The colour of the first cell, minus infinity if there is none.
pub(crate) fn color(a: &[Value]) -> Result {
    if let Some((_, items, ElementKind::Triple)) = packed_set(&a[0])
        && one_color(items)
    {
        return Ok(Value::Int(packed::color(items[0]).into()));
    }
    match op::first(&a[0]) {
        Err(Fault::StopIteration) => Ok(float::NEGATIVE_INFINITY),
        Ok(first) if first.is_tuple() => color_of(&first),
        Ok(_) => Ok(float::NEGATIVE_INFINITY),
        Err(fault) => Err(fault),
    }
}

/// As arc-dsl's, of any container of cells.
pub(crate) fn occurrences(a: &[Value]) -> Result {
    match a[1].truth() {
        true => object::occurrences(a),
        // The empty object occurs everywhere, whatever it is.
        false => object::occurrences(&[a[0].clone(), set::empty()]),
    }
}
