//! The positions and sizes of pieces: edges, corners, centres, distances.

use super::collection::packed_set;
use super::paint::{content, sides};
use super::patch::{shifted, to_indices};
use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, safe};
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::float;
use crate::value::operator as op;
use crate::value::packed::{self, Bounds, ElementKind};
use crate::value::value_table::ValueTable;
use std::borrow::Cow;

/// The bounds of a packed patch that is not empty.
pub(crate) fn bounds(patch: &Value) -> Option<Bounds> {
    let (s, items, _) = packed_set(patch)?;
    // Every call is charged alike, although the set caches its bounds.
    meter::spend(items.len() / 32).ok()?;
    Some(s.bounds())
}

pub(crate) fn top(patch: &Value) -> Result {
    bounds(patch).map_or_else(|| edge(patch, 0, false), |b| Ok(Value::Int(b.top.into())))
}

pub(crate) fn bottom(patch: &Value) -> Result {
    bounds(patch).map_or_else(|| edge(patch, 0, true), |b| Ok(Value::Int(b.bottom.into())))
}

pub(crate) fn left(patch: &Value) -> Result {
    bounds(patch).map_or_else(|| edge(patch, 1, false), |b| Ok(Value::Int(b.left.into())))
}

pub(crate) fn right(patch: &Value) -> Result {
    bounds(patch).map_or_else(|| edge(patch, 1, true), |b| Ok(Value::Int(b.right.into())))
}

/// `min(i for i, j in toindices(patch))` and its three siblings; in a dialect with defaults, not-a-number for what is
/// false.
fn edge(patch: &Value, axis: usize, greatest: bool) -> Result {
    if meter::dialect().has_defaults() && !patch.truth() {
        return Ok(float::NAN);
    }
    let edge = to_indices(patch).and_then(|indices| edge_of(&indices, axis, greatest));
    safe(edge, SafeDefault::Zero)
}

/// The least or greatest coordinate of pairs.
pub(crate) fn edge_of(indices: &Value, axis: usize, greatest: bool) -> Result {
    let mut best: Option<Value> = None;
    for index in op::items(indices)? {
        let (i, j) = op::unpack(&index)?;
        let v = if axis == 0 { i } else { j };
        let better = match &best {
            None => true,
            Some(b) if greatest => op::less(b, &v)?,
            Some(b) => op::less(&v, b)?,
        };
        if better {
            best = Some(v);
        }
    }
    best.ok_or(Fault::ValueError)
}

pub(crate) fn height(a: &[Value]) -> Result {
    height_of(&a[0])
}

pub(crate) fn width(a: &[Value]) -> Result {
    width_of(&a[0])
}

pub(crate) fn height_of(piece: &Value) -> Result {
    if let Some(b) = bounds(piece) {
        return Ok(Value::Int(b.height().into()));
    }
    if meter::dialect().has_defaults() {
        let span = || span(piece, &bottom(piece)?, &top(piece)?);
        return safe(span(), SafeDefault::Zero);
    }
    match op::len(piece)? {
        0 => Ok(Value::Int(0)),
        n if piece.is_tuple() => Ok(Value::Int(n as i64)),
        _ => {
            let span = op::sub(&bottom(piece)?, &top(piece)?)?;
            op::add(&span, &Value::Int(1))
        }
    }
}

pub(crate) fn width_of(piece: &Value) -> Result {
    if let Some(b) = bounds(piece) {
        return Ok(Value::Int(b.width().into()));
    }
    if meter::dialect().has_defaults() {
        let span = || span(piece, &right(piece)?, &left(piece)?);
        return safe(span(), SafeDefault::Zero);
    }
    if let Value::Grid(g) = piece {
        return Ok(Value::Int(g.width() as i64));
    }
    match op::len(piece)? {
        0 => Ok(Value::Int(0)),
        _ if piece.is_tuple() => Ok(Value::Int(op::len(&op::item(piece, 0)?)? as i64)),
        _ => {
            let span = op::sub(&right(piece)?, &left(piece)?)?;
            op::add(&span, &Value::Int(1))
        }
    }
}

/// The extent of a patch from its two edges; 0 if it is empty.
pub(crate) fn span(patch: &Value, greatest: &Value, least: &Value) -> Result {
    match op::len(patch)? {
        0 => Ok(Value::Int(0)),
        _ => op::add(&op::sub(greatest, least)?, &Value::Int(1)),
    }
}

pub(crate) fn shape(a: &[Value]) -> Result {
    shape_of(&a[0])
}

pub(crate) fn shape_of(piece: &Value) -> Result {
    let h = height_of(piece)?;
    Value::two(h, width_of(piece)?)
}

pub(crate) fn portrait(a: &[Value]) -> Result {
    let h = height_of(&a[0])?;
    Ok(Value::Bool(op::less(&width_of(&a[0])?, &h)?))
}

pub(crate) fn square(a: &[Value]) -> Result {
    let piece = &a[0];
    if let Value::Grid(g) = piece {
        return Ok(Value::Bool(g.height() == g.width()));
    }
    if piece.is_tuple() {
        return Ok(Value::Bool(op::len(piece)? == op::len(&op::item(piece, 0)?)?));
    }
    let (h, w) = (height_of(piece)?, width_of(piece)?);
    let filled = op::mul(&h, &w)? == Value::Int(op::len(piece)? as i64);
    Ok(Value::Bool(filled && h == w))
}

pub(crate) fn vline(a: &[Value]) -> Result {
    let is_long = height_of(&a[0])? == Value::Int(op::len(&a[0])? as i64);
    Ok(Value::Bool(is_long && width_of(&a[0])? == Value::Int(1)))
}

pub(crate) fn hline(a: &[Value]) -> Result {
    let is_long = width_of(&a[0])? == Value::Int(op::len(&a[0])? as i64);
    Ok(Value::Bool(is_long && height_of(&a[0])? == Value::Int(1)))
}

/// The least or greatest coordinate of each axis. The elements determine the number of axes.
pub(crate) fn corner(patch: &Value, greatest: [bool; 2]) -> Result {
    if let Some(b) = bounds(patch) {
        let i = if greatest[0] { b.bottom } else { b.top };
        return Ok(Value::Pair(i, if greatest[1] { b.right } else { b.left }));
    }
    let found = to_indices(patch).and_then(|indices| corner_of(&indices, greatest));
    safe(found, SafeDefault::Tuple)
}

/// As `corner`, of places.
pub(crate) fn corner_of(indices: &Value, greatest: [bool; 2]) -> Result {
    let mut extremes = Vec::new();
    for (k, axis) in op::zipped(&op::items(indices)?)?.iter().enumerate() {
        let greatest = match greatest {
            [g, h] if g == h => g,
            // The reference looks the axis up in a dictionary with two entries.
            _ => *greatest.get(k).ok_or(Fault::KeyError)?,
        };
        extremes.push(op::extreme(op::items(axis)?, greatest)?.ok_or(Fault::ValueError)?);
    }
    Value::tuple(extremes)
}

pub(crate) fn center_of(patch: &Value) -> Result {
    if let Some(b) = bounds(patch) {
        return Ok(Value::Pair(b.top + b.height() / 2, b.left + b.width() / 2));
    }
    safe(middle(patch), SafeDefault::Tuple)
}

fn middle(patch: &Value) -> Result {
    let half = |n: Value| op::floor_div(&n, &Value::Int(2));
    let (up, at_left) = (top(patch)?, left(patch)?);
    if float::is_the_nan(&up) || float::is_the_nan(&at_left) {
        return Value::tuple(Vec::new());
    }
    let i = op::add(&up, &half(height_of(patch)?)?)?;
    let j = op::add(&at_left, &half(width_of(patch)?)?)?;
    Value::two(i, j)
}

pub(crate) fn centerofmass(a: &[Value]) -> Result {
    let patch = &a[0];
    let indices = to_indices(patch)?;
    if let Some((_, items, _)) = packed_set(&indices) {
        meter::spend(items.len() / 8)?;
        let n = op::len(patch)? as i64;
        let sum = |f: fn(u32) -> i32| items.iter().map(|&p| i64::from(f(p))).sum::<i64>();
        return Value::pair(sum(packed::row).div_euclid(n), sum(packed::col).div_euclid(n));
    }
    let n = Value::Int(op::len(patch)? as i64);
    let mut means = Vec::new();
    for axis in op::zipped(&op::items(&indices)?)? {
        let mut sum = Value::Int(0);
        for v in op::items(&axis)? {
            sum = op::add(&sum, &v)?;
        }
        means.push(op::floor_div(&sum, &n)?);
    }
    Value::tuple(means)
}

pub(crate) fn position(a: &[Value]) -> Result {
    let x = op::unpack(&center_of(&to_indices(&a[0])?)?)?;
    let y = op::unpack(&center_of(&to_indices(&a[1])?)?)?;
    let towards = |p: &Value, q: &Value| Ok(if op::less(p, q)? { 1 } else { -1 });
    if x.0 == y.0 {
        return Value::pair(0, towards(&x.1, &y.1)?);
    }
    if x.1 == y.1 {
        return Value::pair(towards(&x.0, &y.0)?, 0);
    }
    if op::less(&x.0, &y.0)? {
        return Value::pair(1, towards(&x.1, &y.1)?);
    }
    if op::less(&y.0, &x.0)? {
        return Value::pair(-1, towards(&x.1, &y.1)?);
    }
    Ok(Value::None)
}

pub(crate) fn bordering(a: &[Value]) -> Result {
    let (patch, grid) = (&a[0], &a[1]);
    if top(patch)? == Value::Int(0) || left(patch)? == Value::Int(0) {
        return Ok(Value::Bool(true));
    }
    let h = op::len(grid)? as i64;
    if bottom(patch)? == Value::Int(h - 1) {
        return Ok(Value::Bool(true));
    }
    let edge = right(patch)?;
    let (_, w) = sides(grid)?;
    Ok(Value::Bool(edge == Value::Int(w as i64 - 1)))
}

/// Whether the patches share a row (axis 0) or a column.
pub(crate) fn matching(a: &Value, b: &Value, axis: usize) -> Result<bool> {
    if let (Some((s, x, _)), Some((t, y, _))) = (packed_set(a), packed_set(b)) {
        meter::spend((x.len() + y.len()) / 8)?;
        let (b, d) = (s.bounds(), t.bounds());
        let (from, to) = if axis == 0 {
            (b.top.max(d.top), b.bottom.min(d.bottom))
        } else {
            (b.left.max(d.left), b.right.min(d.right))
        };
        // The bounds decide if the patches are apart, or if each is one cell.
        if from > to || (x.len() == 1 && y.len() == 1) {
            return Ok(from <= to);
        }
        let coordinate = |p: u32| ((p >> if axis == 0 { 12 } else { 0 }) & 4095) as usize;
        let mut bits = [0u64; 64];
        for &p in x {
            let k = coordinate(p);
            bits[k >> 6] |= 1 << (k & 63);
        }
        return Ok(y.iter().any(|&p| {
            let k = coordinate(p);
            bits[k >> 6] >> (k & 63) & 1 == 1
        }));
    }
    let coordinates = |v: &Value| -> Result<ValueTable> {
        let mut all = Vec::new();
        for index in op::items(&to_indices(v)?)? {
            let (i, j) = op::unpack(&index)?;
            all.push(if axis == 0 { i } else { j });
        }
        Ok(ValueTable::collect(all))
    };
    let (x, y) = (coordinates(a)?, coordinates(b)?);
    meter::spend(x.len() * y.len() / 8)?;
    Ok(x.iter().any(|v| y.iter().any(|u| u == v)))
}

pub(crate) fn manhattan(a: &[Value]) -> Result {
    distance(&a[0], &a[1])
}

pub(crate) fn adjacent(a: &[Value]) -> Result {
    Ok(Value::Bool(distance(&a[0], &a[1])? == Value::Int(1)))
}

/// The least distance between cells of the two patches.
pub(crate) fn distance(a: &Value, b: &Value) -> Result {
    if let (Some((s, x, _)), Some((t, y, _))) = (packed_set(a), packed_set(b)) {
        meter::spend(x.len() * y.len() / 16)?;
        return Ok(Value::Int(least_distance(s.bounds(), x, t.bounds(), y).into()));
    }
    if let (Some(x), Some(y)) = (places(a), places(b)) {
        meter::build(x.len(), 16)?;
        x.iter().try_for_each(|_| meter::build(y.len(), 16))?;
        let (s, t) = (Bounds::of(&x), Bounds::of(&y));
        return Ok(Value::Int(least_distance(s, &x, t, &y).into()));
    }
    let mut best: Option<Value> = None;
    for p in op::items(&to_indices(a)?)? {
        let (ai, aj) = op::unpack(&p)?;
        for q in op::items(&to_indices(b)?)? {
            let (bi, bj) = op::unpack(&q)?;
            let d = op::add(&absolute(&op::sub(&ai, &bi)?)?, &absolute(&op::sub(&aj, &bj)?)?)?;
            if best.as_ref().is_none_or(|b| op::less(&d, b) == Ok(true)) {
                best = Some(d);
            }
        }
    }
    best.ok_or(Fault::ValueError)
}

/// The packed places of a set, or of a tuple of the places of sets, in any order.
fn places(patch: &Value) -> Option<Cow<'_, [u32]>> {
    match patch {
        Value::Tuple(t) => match t.chained()? {
            (sets, ElementKind::Place) => Some(Cow::Owned(content(sets))),
            _ => None,
        },
        _ => match packed_set(patch)? {
            (_, items, ElementKind::Place) => Some(Cow::Borrowed(items)),
            _ => None,
        },
    }
}

fn absolute(v: &Value) -> Result {
    if let Value::Float(x) = v {
        return Ok(float::made(x.abs()));
    }
    match op::less(v, &Value::Int(0))? {
        true => op::neg(v),
        false if matches!(v, Value::Bool(_)) => Ok(Value::Int(op::int(v)?)),
        false => Ok(v.clone()),
    }
}

fn least_distance(s: Bounds, x: &[u32], t: Bounds, y: &[u32]) -> i32 {
    let gap = |a: i32, b: i32, c: i32, d: i32| (c - b).max(a - d).max(0);
    // No two cells are closer than their rectangles, so the search may stop there.
    let floor = gap(s.top, s.bottom, t.top, t.bottom) + gap(s.left, s.right, t.left, t.right);
    let others: Vec<(i32, i32)> = y.iter().map(|&q| (packed::row(q), packed::col(q))).collect();
    let mut best = i32::MAX;
    for &p in x {
        let (i, j) = (packed::row(p), packed::col(p));
        let nearest = others.iter().map(|&(k, l)| (i - k).abs() + (j - l).abs()).min();
        best = best.min(nearest.expect("patches are not empty"));
        if best == floor {
            break;
        }
    }
    best
}

pub(crate) fn gravitate(a: &[Value]) -> Result {
    let (mut source, destination) = (a[0].clone(), &a[1]);
    let (si, sj) = op::unpack(&center_of(&source)?)?;
    let (di, dj) = op::unpack(&center_of(destination)?)?;
    let towards = |p: &Value, q: &Value| Ok(if op::less(p, q)? { 1 } else { -1 });
    let (i, j) = if matching(&source, destination, 1)? {
        (towards(&si, &di)?, 0)
    } else {
        (0, towards(&sj, &dj)?)
    };
    if let (Some((s, x, _)), Some((t, y, _))) = (packed_set(&source), packed_set(destination)) {
        let reach = s.bounds().moved(42 * i as i32, 42 * j as i32);
        if reach.fits() && t.bounds().fits() {
            let n = n_steps(x, y, i as i32, j as i32);
            // The reference moves the source and measures the distance at each step.
            let n_measured = if n < 42 { n + 1 } else { 42 };
            for _ in 0..n {
                meter::build(x.len(), 4)?;
            }
            meter::spend(n_measured as usize * (x.len() * y.len() / 16))?;
            return Value::pair(i * n, j * n);
        }
    }
    let mut n = 0;
    while n < 42 && distance(&source, destination)? != Value::Int(1) {
        n += 1;
        source = shifted(&source, &Value::pair(i, j)?)?;
    }
    Value::pair(i * n, j * n)
}

/// How many steps by (di, dj), at most 42, until the least distance between the patches is 1.
///
/// This depends only on pairs of cells that are at most one apart across the direction. Two cells in one line are at
/// distance 1 a step before they meet and a step after. Two cells in neighbouring lines are at distance 1 when they are
/// level.
fn n_steps(x: &[u32], y: &[u32], di: i32, dj: i32) -> i64 {
    let split = |p: u32| {
        let (i, j) = (packed::row(p), packed::col(p));
        if di != 0 { (i * di, j) } else { (j * dj, i) }
    };
    let others: Vec<(i32, i32)> = y.iter().map(|&q| split(q)).collect();
    // Bit n: after n steps some pair is at distance 0, or at distance 1.
    let (mut meet, mut touch) = (0u64, 0u64);
    let bit = |n: i32| if (0..=42).contains(&n) { 1u64 << n } else { 0 };
    for &p in x {
        let (along, across) = split(p);
        for &(other_along, other_across) in &others {
            let n = other_along - along;
            match (other_across - across).abs() {
                0 => {
                    meet |= bit(n);
                    touch |= bit(n - 1) | bit(n + 1);
                }
                1 => touch |= bit(n),
                _ => {}
            }
        }
    }
    i64::from((touch & !meet).trailing_zeros().min(42))
}
