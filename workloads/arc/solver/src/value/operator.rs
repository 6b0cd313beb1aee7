//! Python's operators on values: what `+`, `<`, `len`, indexing, unpacking and iteration do, errors included.

use crate::evaluate::meter;
use crate::set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::float;
use crate::value::integer::{wide, widened};
use crate::value::packed::ElementKind;
use num_bigint::{BigInt, Sign};

pub(crate) fn add(a: &Value, b: &Value) -> Result {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(sum) = x.checked_add(y)
    {
        return Ok(Value::Int(sum));
    }
    if a.is_tuple() && b.is_tuple() {
        let mut all = items(a)?;
        all.extend(items(b)?);
        return Value::tuple(all);
    }
    wide(a, b, linear, |x, y| x + y).unwrap_or_else(|| floats(a, b, |x, y| x + y))
}

pub(crate) fn sub(a: &Value, b: &Value) -> Result {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(difference) = x.checked_sub(y)
    {
        return Ok(Value::Int(difference));
    }
    if let (Value::Set(a), Value::Set(b)) = (a, b) {
        return crate::primitives::collection::minus(a, b);
    }
    wide(a, b, linear, |x, y| x - y).unwrap_or_else(|| floats(a, b, |x, y| x - y))
}

pub(crate) fn mul(a: &Value, b: &Value) -> Result {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(product) = x.checked_mul(y)
    {
        return Ok(Value::Int(product));
    }
    match (is_int(a), is_int(b)) {
        (false, true) if a.is_tuple() => repeated(a, int(b)?),
        (true, false) if b.is_tuple() => repeated(b, int(a)?),
        _ => wide(a, b, quadratic, |x, y| x * y).unwrap_or_else(|| floats(a, b, |x, y| x * y)),
    }
}

/// The steps of an operation that visits each word once.
pub(crate) fn linear(n: u64, m: u64) -> u64 {
    n + m
}

/// The steps of an operation that visits each pair of words.
fn quadratic(n: u64, m: u64) -> u64 {
    n * m
}

/// Arithmetic of two numbers of which at least one is a float.
fn floats(a: &Value, b: &Value, f: impl Fn(f64, f64) -> f64) -> Result {
    match (float::number(a), float::number(b)) {
        (Some(x), Some(y)) => Ok(float::made(f(x, y))),
        _ => Err(Fault::TypeError),
    }
}

fn repeated(v: &Value, n: i64) -> Result {
    let once = items(v)?;
    let n = usize::try_from(n).unwrap_or(0);
    meter::build(once.len().saturating_mul(n), 16)?;
    let mut all = Vec::with_capacity(once.len() * n);
    // Repeating an empty tuple is not charged, so the loop must not run n times.
    for _ in 0..if once.is_empty() { 0 } else { n } {
        all.extend_from_slice(&once);
    }
    Value::tuple(all)
}

pub(crate) fn floor_div(a: &Value, b: &Value) -> Result {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && (x, y) != (i64::MIN, -1)
    {
        return floor_div_int(x, y).map(Value::Int);
    }
    if float::number(b) == Some(0.0) && float::number(a).is_some() {
        return Err(Fault::ZeroDivisionError);
    }
    let floored = |x: BigInt, y: BigInt| {
        let (quotient, rest) = (&x / &y, &x % &y);
        let is_below = rest.sign() != Sign::NoSign && rest.sign() != y.sign();
        quotient - i32::from(is_below)
    };
    wide(a, b, quadratic, floored).unwrap_or_else(|| floats(a, b, float::floor_div))
}

/// `x // y`; x is not the least number where y is -1.
pub(crate) fn floor_div_int(x: i64, y: i64) -> Result<i64> {
    if y == 0 {
        return Err(Fault::ZeroDivisionError);
    }
    let q = x / y;
    Ok(if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q })
}

/// The remainder with the divisor's sign.
pub(crate) fn rem_int(x: i64, y: i64) -> Result<i64> {
    if y == 0 {
        return Err(Fault::ZeroDivisionError);
    }
    let r = x.checked_rem(y).unwrap_or(0);
    Ok(if r != 0 && (r < 0) != (y < 0) { r + y } else { r })
}

pub(crate) fn neg(a: &Value) -> Result {
    match a {
        Value::Float(x) => Ok(float::made(-x)),
        _ if is_int(a) => sub(&Value::Int(0), a),
        _ => Err(Fault::TypeError),
    }
}

/// `a < b`: integers by value, tuples by their first difference, sets by proper inclusion.
pub(crate) fn less(a: &Value, b: &Value) -> Result<bool> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => return Ok(x < y),
        (Value::Pair(x, y), Value::Pair(z, w)) => return Ok((x, y) < (z, w)),
        (Value::Set(x), Value::Set(y)) => {
            meter::spend(x.len() / 4)?;
            return Ok(x.len() < y.len() && x.is_subset(y));
        }
        _ => {}
    }
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return Ok(x < y);
    }
    let (Some(n), Some(m)) = (a.tuple_len(), b.tuple_len()) else {
        if let (Some(x), Some(y)) = (widened(a), widened(b)) {
            return Ok(x < y);
        }
        return match (float::number(a), float::number(b)) {
            (Some(x), Some(y)) => Ok(x < y),
            _ => Err(Fault::TypeError),
        };
    };
    for k in 0..n.min(m) {
        let (x, y) = (a.tuple_item(k), b.tuple_item(k));
        if x != y {
            return less(&x, &y);
        }
    }
    Ok(n < m)
}

/// `a == b`: as elements of containers compare, except that a not-a-number does not equal itself.
#[inline]
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    !matches!(a, Value::Float(x) if x.is_nan()) && a == b
}

/// `0 <= v < n`, or `TypeError` if v cannot be compared with numbers.
#[inline]
pub(crate) fn is_within(v: &Value, n: usize) -> Result<bool> {
    match v.as_int() {
        Some(v) => Ok((0..n as i64).contains(&v)),
        None => match float::number(v) {
            Some(x) => Ok((0.0..n as f64).contains(&x)),
            None => Err(Fault::TypeError),
        },
    }
}

/// The integer, or `TypeError`; `OverflowError` if it exceeds 64 bits.
#[inline]
pub(crate) fn int(v: &Value) -> Result<i64> {
    v.as_int().ok_or(match v {
        Value::Big(_) => Fault::OverflowError,
        _ => Fault::TypeError,
    })
}

/// The integer, or the nearest of 64 bits: for ends of ranges and slices, where that makes no difference.
#[inline]
pub(crate) fn nearest_int(v: &Value) -> Result<i64> {
    match v {
        Value::Big(n) if n.is_negative() => Ok(i64::MIN),
        Value::Big(_) => Ok(i64::MAX),
        _ => int(v),
    }
}

#[inline]
pub(crate) fn is_int(v: &Value) -> bool {
    matches!(v, Value::Int(_) | Value::Bool(_) | Value::Big(_))
}

#[inline]
pub(crate) fn len(v: &Value) -> Result<usize> {
    v.len().ok_or(Fault::TypeError)
}

/// `v[k]`.
#[inline]
pub(crate) fn item(v: &Value, k: usize) -> Result {
    match v.tuple_len() {
        Some(n) if k < n => Ok(v.tuple_item(k)),
        Some(_) => Err(Fault::IndexError),
        None => Err(Fault::TypeError),
    }
}

/// `v[k]` for an index that is a value; negative indices count from the end.
pub(crate) fn item_at(v: &Value, k: &Value) -> Result {
    let n = v.tuple_len().ok_or(Fault::TypeError)? as i64;
    let k = nearest_int(k)?;
    let k = if k < 0 { k.saturating_add(n) } else { k };
    if (0..n).contains(&k) { Ok(v.tuple_item(k as usize)) } else { Err(Fault::IndexError) }
}

/// `grid[i][j]`, without making the row of a grid into a value.
pub(crate) fn cell(grid: &Value, i: &Value, j: &Value) -> Result {
    if let (Value::Grid(g), Some(i), Some(j)) = (grid, i.as_int(), j.as_int())
        && (0..g.height() as i64).contains(&i)
        && (0..g.width() as i64).contains(&j)
    {
        return Ok(Value::Int(g.at(i as usize, j as usize).into()));
    }
    item_at(&item_at(grid, i)?, j)
}

/// `a, b = v`.
#[inline]
pub(crate) fn unpack(v: &Value) -> Result<(Value, Value)> {
    match v {
        Value::Set(s) if s.len() == 2 => {
            let mut both = s.iter();
            Ok((both.next().expect("two elements"), both.next().expect("two elements")))
        }
        _ => match v.len() {
            Some(2) => Ok((v.tuple_item(0), v.tuple_item(1))),
            Some(_) => Err(Fault::ValueError),
            None => Err(Fault::TypeError),
        },
    }
}

/// `a, b, c = v`.
pub(crate) fn unpack_three(v: &Value) -> Result<[Value; 3]> {
    match v {
        Value::Triple(i, j, c) => Ok([*i, *j, *c].map(|n| Value::Int(n.into()))),
        _ => match v.len() {
            Some(3) => {
                let items = items(v)?;
                Ok(items.try_into().expect("three elements"))
            }
            Some(_) => Err(Fault::ValueError),
            None => Err(Fault::TypeError),
        },
    }
}

/// The row, column and colour of a cell in the layout of this thread's dialect.
#[inline]
pub(crate) fn cell_parts(cell: &Value) -> Result<[Value; 3]> {
    if meter::cell_kind() == ElementKind::Triple {
        return unpack_three(cell);
    }
    let (color, place) = unpack(cell)?;
    let (i, j) = unpack(&place)?;
    Ok([i, j, color])
}

/// A cell in the layout of this thread's dialect.
pub(crate) fn cell_of(i: Value, j: Value, color: Value) -> Result {
    if meter::cell_kind() == ElementKind::Triple {
        return Value::tuple(vec![i, j, color]);
    }
    Value::two(color, Value::two(i, j)?)
}

/// The elements in iteration order; `TypeError` if there is nothing to iterate.
pub(crate) fn items(v: &Value) -> Result<Vec<Value>> {
    meter::build(len(v)?, 16)?;
    Ok(v.elements().expect("containers have elements"))
}

/// `next(iter(v))`.
pub(crate) fn first(v: &Value) -> Result {
    match v {
        Value::Set(s) => s.first().ok_or(Fault::StopIteration),
        _ => match v.tuple_len() {
            Some(0) => Err(Fault::StopIteration),
            Some(_) => Ok(v.tuple_item(0)),
            None => Err(Fault::TypeError),
        },
    }
}

/// `type(like)(values)`.
pub(crate) fn rebuilt(like: &Value, values: Vec<Value>) -> Result {
    match like {
        Value::Set(_) => set::from_values(values),
        _ => Value::tuple(values),
    }
}

/// `v[from:to]` of a tuple.
pub(crate) fn slice(v: &Value, from: i64, to: i64) -> Result {
    let n = v.tuple_len().ok_or(Fault::TypeError)?;
    let (from, to) = clamp_slice(from, to, n);
    if let Value::Grid(g) = v {
        let w = g.width();
        return crate::value::grid::value(to - from, w, g.cells()[from * w..to * w].to_vec());
    }
    meter::build(to - from, 16)?;
    Value::tuple((from..to).map(|k| v.tuple_item(k)).collect())
}

/// Python's rules for slices of a sequence of n: negative ends count from the end, the rest is clamped.
pub(crate) fn clamp_slice(from: i64, to: i64, n: usize) -> (usize, usize) {
    let end =
        |x: i64| if x < 0 { x.saturating_add(n as i64).max(0) } else { x.min(n as i64) } as usize;
    let (from, to) = (end(from), end(to));
    (from, to.max(from))
}

/// `v[::-1]` of a tuple.
pub(crate) fn reversed(v: &Value) -> Result {
    if !v.is_tuple() {
        return Err(Fault::TypeError);
    }
    let mut all = items(v)?;
    all.reverse();
    Value::tuple(all)
}

/// `zip(*rows)`: columns up to the shortest row.
pub(crate) fn zipped(rows: &[Value]) -> Result<Vec<Value>> {
    let rows: Vec<Vec<Value>> = rows.iter().map(items).collect::<Result<_>>()?;
    let n = rows.iter().map(Vec::len).min().unwrap_or(0);
    meter::build(n * rows.len(), 16)?;
    (0..n).map(|k| Value::tuple(rows.iter().map(|r| r[k].clone()).collect())).collect()
}

/// `min(values)`, or `max` if `greatest`; the first of several that tie.
pub(crate) fn extreme(
    values: impl IntoIterator<Item = Value>,
    greatest: bool,
) -> Result<Option<Value>> {
    let mut best: Option<Value> = None;
    for v in values {
        let better = match &best {
            None => true,
            Some(b) if greatest => less(b, &v)?,
            Some(b) => less(&v, b)?,
        };
        if better {
            best = Some(v);
        }
    }
    Ok(best)
}
