//! Rotations and mirrors of grids and patches.

use super::collection::packed_set;
use super::extent::corner;
use super::patch::map_places;
use crate::evaluate::meter;
use crate::set;
use crate::set_order::iteration_order::IterationOrder;
use crate::value::Value;
use crate::value::fault::Result;
use crate::value::grid::{self, Grid, dense};
use crate::value::operator as op;
use crate::value::packed::{self, Bounds};

pub(crate) fn rot90(a: &[Value]) -> Result {
    quarter_turn(&a[0])
}

/// `zip(*grid[::-1])`.
pub(crate) fn quarter_turn(v: &Value) -> Result {
    if let Some(g) = dense(v) {
        return transposed(&g, |g, i, j| g.at(g.height() - 1 - j, i));
    }
    Value::tuple(op::zipped(&op::items(&op::reversed(v)?)?)?)
}

/// The grid with exchanged sides whose cell (i, j) is `f(i, j)`.
fn transposed(g: &Grid, f: impl Fn(&Grid, usize, usize) -> i8) -> Result {
    meter::build(g.cells().len(), 1)?;
    let (h, w) = (g.width(), g.height());
    let mut cells = Vec::with_capacity(h * w);
    for i in 0..h {
        cells.extend((0..w).map(|j| f(g, i, j)));
    }
    grid::value(h, w, cells)
}

pub(crate) fn rot180(a: &[Value]) -> Result {
    if let Some(g) = dense(&a[0]) {
        meter::build(g.cells().len(), 1)?;
        return grid::value(g.height(), g.width(), g.cells().iter().rev().copied().collect());
    }
    rows_reversed(&op::reversed(&a[0])?)
}

/// `tuple(row[::-1] for row in v)`.
fn rows_reversed(v: &Value) -> Result {
    Value::tuple(op::items(v)?.iter().map(op::reversed).collect::<Result<_>>()?)
}

pub(crate) fn rot270(a: &[Value]) -> Result {
    three_quarter_turn(&a[0])
}

pub(crate) fn three_quarter_turn(v: &Value) -> Result {
    if let Some(g) = dense(v) {
        return transposed(&g, |g, i, j| g.at(j, g.width() - 1 - i));
    }
    op::reversed(&rows_reversed(&quarter_turn(v)?)?)
}

pub(crate) fn hmirror(a: &[Value]) -> Result {
    let piece = &a[0];
    if let Value::Grid(g) = piece {
        meter::build(g.cells().len(), 1)?;
        let mut cells = Vec::with_capacity(g.cells().len());
        g.rows().rev().for_each(|row| cells.extend_from_slice(row));
        return grid::value(g.height(), g.width(), cells);
    }
    if piece.is_tuple() {
        return op::reversed(piece);
    }
    if let Some(mirrored) = map_packed(piece, |b, i, j| (b.top + b.bottom - i, j)) {
        return mirrored;
    }
    let d = opposite(piece, 0)?;
    map_places(piece, |i, j| Ok((op::sub(&d, i)?, j.clone())))
}

pub(crate) fn vmirror(a: &[Value]) -> Result {
    vertical(&a[0])
}

fn vertical(piece: &Value) -> Result {
    if let Some(g) = dense(piece) {
        meter::build(g.cells().len(), 1)?;
        let mut cells = g.cells().to_vec();
        cells.chunks_exact_mut(g.width()).for_each(<[i8]>::reverse);
        return grid::value(g.height(), g.width(), cells);
    }
    if piece.is_tuple() {
        return rows_reversed(piece);
    }
    if let Some(mirrored) = map_packed(piece, |b, i, j| (i, b.left + b.right - j)) {
        return mirrored;
    }
    let d = opposite(piece, 1)?;
    map_places(piece, |i, j| Ok((i.clone(), op::sub(&d, j)?)))
}

/// `ulcorner(piece)[axis] + lrcorner(piece)[axis]`.
fn opposite(piece: &Value, axis: usize) -> Result {
    let first = op::item(&corner(piece, [false, false])?, axis)?;
    op::add(&first, &op::item(&corner(piece, [true, true])?, axis)?)
}

/// A packed patch with its places mapped one to one, if the results can be packed.
fn map_packed(piece: &Value, f: impl Fn(&Bounds, i32, i32) -> (i32, i32)) -> Option<Result> {
    let (s, items, kind) = packed_set(piece)?;
    let b = s.bounds();
    for (i, j) in [(b.top, b.left), (b.bottom, b.right)] {
        let (i, j) = f(&b, i, j);
        if !packed::fits(i.into(), j.into()) {
            return None;
        }
    }
    if let Err(fault) = meter::build(items.len(), 4) {
        return Some(Err(fault));
    }
    let mapped = items
        .iter()
        .map(|&x| {
            let (i, j) = f(&b, packed::row(x), packed::col(x));
            (x & !packed::PLACE_MASK) | packed::place(i, j)
        })
        .collect();
    Some(Ok(set::packed(mapped, kind, IterationOrder::Via(s.clone()))))
}

pub(crate) fn dmirror(a: &[Value]) -> Result {
    diagonal(&a[0])
}

pub(crate) fn diagonal(piece: &Value) -> Result {
    if let Some(g) = dense(piece) {
        return transposed(&g, |g, i, j| g.at(j, i));
    }
    if piece.is_tuple() {
        return Value::tuple(op::zipped(&op::items(piece)?)?);
    }
    if let Some(mirrored) = map_packed(piece, |b, i, j| (j - b.left + b.top, i - b.top + b.left)) {
        return mirrored;
    }
    let (a, b) = op::unpack(&corner(piece, [false, false])?)?;
    map_places(piece, |i, j| Ok((op::add(&op::sub(j, &b)?, &a)?, op::add(&op::sub(i, &a)?, &b)?)))
}

pub(crate) fn cmirror(a: &[Value]) -> Result {
    let piece = &a[0];
    if let Some(g) = dense(piece) {
        return transposed(&g, |g, i, j| g.at(g.height() - 1 - j, g.width() - 1 - i));
    }
    if piece.is_tuple() {
        let rows = op::items(&op::reversed(piece)?)?;
        let rows = rows.iter().map(op::reversed).collect::<Result<Vec<_>>>()?;
        return Value::tuple(op::zipped(&rows)?);
    }
    vertical(&diagonal(&vertical(piece)?)?)
}
