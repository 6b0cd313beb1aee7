//! Extents of grids and patches, in the forms for indices (`_i`), objects (`_o`) and grids (`_t`).
//!
//! A form for the wrong kind of patch fails inside and goes on with the default: the width of an object by `width_i`
//! is 1.

use crate::language::safe_default::{SafeDefault, safe};
use crate::primitives::collection::packed_set;
use crate::primitives::extent::{
    bottom, bounds, center_of, corner, corner_of, distance, edge_of, height_of, left, matching,
    right, span, top, width_of,
};
use crate::primitives::patch::{shifted, to_indices};
use crate::set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::float;
use crate::value::operator as op;
use crate::value::packed::{Bounds, ElementKind};

/// Which kind of patch a function is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Indices,
    Object,
}

impl Of {
    /// The bounds of a packed patch of this kind that is not empty.
    fn bounds(self, patch: &Value) -> Option<Bounds> {
        let (_, _, kind) = packed_set(patch)?;
        let is_mine = kind.has_color() == (self == Of::Object);
        is_mine.then(|| bounds(patch)).flatten()
    }

    /// `toindices_i` or `toindices_o`.
    pub(crate) fn indices(self, patch: &Value) -> Result {
        match self {
            Of::Indices => Ok(patch.clone()),
            Of::Object => safe(places(patch), SafeDefault::Set),
        }
    }

    /// `uppermost_i` and its siblings. Only the rightmost column of nothing is 0.
    pub(crate) fn edge(self, patch: &Value, axis: usize, greatest: bool) -> Result {
        if let Some(b) = self.bounds(patch) {
            let edge = match (axis, greatest) {
                (0, false) => b.top,
                (0, true) => b.bottom,
                (_, false) => b.left,
                (_, true) => b.right,
            };
            return Ok(Value::Int(edge.into()));
        }
        if (axis, greatest) != (1, true) && !patch.truth() {
            return Ok(float::NAN);
        }
        let edge = self.indices(patch);
        let edge = edge.and_then(|indices| edge_of(&indices, axis, greatest));
        safe(edge, SafeDefault::Zero)
    }

    /// `height_i` and its siblings.
    pub(crate) fn span(self, patch: &Value, axis: usize) -> Result {
        let found = || {
            if op::len(patch)? == 0 {
                return Ok(Value::Int(0));
            }
            let greatest = self.edge(patch, axis, true)?;
            span(patch, &greatest, &self.edge(patch, axis, false)?)
        };
        safe(found(), SafeDefault::Zero)
    }

    /// Whether the patch is one cell wide across the axis and as long as it has elements.
    pub(crate) fn is_line(self, patch: &Value, axis: usize) -> Result {
        let is_long = self.span(patch, axis)? == Value::Int(op::len(patch)? as i64);
        let is_line = is_long && self.span(patch, 1 - axis)? == Value::Int(1);
        Ok(Value::Bool(is_line))
    }

    pub(crate) fn corner(self, patch: &Value, greatest: [bool; 2]) -> Result {
        if let Some(b) = self.bounds(patch) {
            let i = if greatest[0] { b.bottom } else { b.top };
            let j = if greatest[1] { b.right } else { b.left };
            return Ok(Value::Pair(i, j));
        }
        corner_of(&self.indices(patch)?, greatest)
    }

    pub(crate) fn normalized(self, patch: &Value) -> Result {
        if op::len(patch)? == 0 {
            return Ok(patch.clone());
        }
        let up = op::neg(&self.edge(patch, 0, false)?)?;
        let to = Value::two(up, op::neg(&self.edge(patch, 1, false)?)?)?;
        shifted(patch, &to)
    }
}

/// The places of an object's cells.
fn places(object: &Value) -> Result {
    if op::len(object)? == 0 {
        return Ok(set::empty());
    }
    if packed_set(object).is_some_and(|(_, _, kind)| kind == ElementKind::Triple) {
        return to_indices(object);
    }
    let mut all = Vec::new();
    for cell in op::items(object)? {
        let [i, j, _] = op::unpack_three(&cell)?;
        all.push(Value::two(i, j)?);
    }
    set::from_values(all)
}

pub(crate) fn toindices_o(a: &[Value]) -> Result {
    Of::Object.indices(&a[0])
}

/// A corner by its number: upper left, upper right, lower left, lower right; any other number is the first.
pub(crate) fn corner_by_number(a: &[Value]) -> Result {
    let greatest = match number(&a[1]) {
        Some(1) => [false, true],
        Some(2) => [true, false],
        Some(3) => [true, true],
        _ => [false, false],
    };
    corner(&a[0], greatest)
}

/// An edge by its number: lowest row, highest row, leftmost column, rightmost column; None for any other number.
pub(crate) fn col_row(a: &[Value]) -> Result {
    match number(&a[1]) {
        Some(0) => bottom(&a[0]),
        Some(1) => top(&a[0]),
        Some(2) => left(&a[0]),
        Some(3) => right(&a[0]),
        _ => Ok(Value::None),
    }
}

/// The integer that a value equals.
pub(crate) fn number(v: &Value) -> Option<i64> {
    match v {
        Value::Float(x) if x.fract() == 0.0 => Some(*x as i64),
        _ => v.as_int(),
    }
}

pub(crate) fn height_t(a: &[Value]) -> Result {
    Ok(Value::Int(op::len(&a[0])? as i64))
}

pub(crate) fn width_t(a: &[Value]) -> Result {
    if let Value::Grid(g) = &a[0] {
        return Ok(Value::Int(g.width() as i64));
    }
    match a[0].truth() {
        true => Ok(Value::Int(op::len(&op::item(&a[0], 0)?)? as i64)),
        false => Ok(Value::Int(0)),
    }
}

/// Height and width, each with its own default.
fn sides_t(a: &[Value]) -> Result<(Value, Value)> {
    let h = safe(height_t(a), SafeDefault::Zero)?;
    Ok((h, safe(width_t(a), SafeDefault::Zero)?))
}

pub(crate) fn shape_t(a: &[Value]) -> Result {
    let (h, w) = sides_t(a)?;
    Value::two(h, w)
}

pub(crate) fn portrait_t(a: &[Value]) -> Result {
    let (h, w) = sides_t(a)?;
    Ok(Value::Bool(op::less(&w, &h)?))
}

pub(crate) fn square_t(a: &[Value]) -> Result {
    let (h, w) = crate::primitives::paint::sides(&a[0])?;
    Ok(Value::Bool(h == w))
}

pub(crate) fn square_f(a: &[Value]) -> Result {
    let (h, w) = (height_of(&a[0])?, width_of(&a[0])?);
    let is_full = op::mul(&h, &w)? == Value::Int(op::len(&a[0])? as i64);
    Ok(Value::Bool(is_full && h == w))
}

/// The distance of two patches; infinite if one of them is empty or has no length.
pub(crate) fn manhattan(a: &[Value]) -> Result {
    match (a[0].len(), a[1].len()) {
        (Some(1..), Some(1..)) => distance(&a[0], &a[1]),
        _ => Ok(float::INFINITY),
    }
}

/// As arc-dsl's, but without a destination it gives the source itself.
pub(crate) fn gravitate(a: &[Value]) -> Result {
    let (source, destination) = (&a[0], &a[1]);
    if !destination.truth() {
        return Ok(source.clone());
    }
    if packed_set(source).is_some() && packed_set(destination).is_some() {
        return crate::primitives::extent::gravitate(a);
    }
    let (si, sj) = op::unpack(&center_of(source)?)?;
    let (di, dj) = op::unpack(&center_of(destination)?)?;
    let towards = |p: &Value, q: &Value| Ok(if op::less(p, q)? { 1 } else { -1 });
    let (i, j) = match matching_or_not(source, destination)? {
        true => (towards(&si, &di)?, 0),
        false => (0, towards(&sj, &dj)?),
    };
    let mut source = source.clone();
    let mut n = 0;
    while n < 42 && !is_adjacent(&source, destination)? {
        n += 1;
        source = shifted(&source, &Value::pair(i, j)?)?;
    }
    Value::pair(i * n, j * n)
}

/// `vmatching`, false if it fails.
fn matching_or_not(a: &Value, b: &Value) -> Result<bool> {
    or_false(matching(a, b, 1))
}

/// `adjacent`, false if it fails.
fn is_adjacent(a: &Value, b: &Value) -> Result<bool> {
    match manhattan(&[a.clone(), b.clone()]) {
        Ok(d) => Ok(d == Value::Int(1)),
        Err(fault) => or_false(Err(fault)),
    }
}

fn or_false(result: Result<bool>) -> Result<bool> {
    let result = safe(result.map(Value::Bool), SafeDefault::False)?;
    Ok(result.truth())
}

/// `(-inf)` beyond the grid; its width is that of the first row.
pub(crate) fn index(a: &[Value]) -> Result {
    let (grid, loc) = (&a[0], &a[1]);
    if loc.tuple_len() == Some(0) {
        return Ok(float::NEGATIVE_INFINITY);
    }
    let (i, j) = op::unpack(loc)?;
    let (h, w) = crate::primitives::paint::sides(grid)?;
    if !op::is_within(&i, h)? || !op::is_within(&j, w)? {
        return Ok(float::NEGATIVE_INFINITY);
    }
    if !loc.is_tuple() {
        return Err(Fault::TypeError);
    }
    op::cell(grid, &i, &j)
}
