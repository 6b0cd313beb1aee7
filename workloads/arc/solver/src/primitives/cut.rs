//! Primitives that cut grids up and join them.

use super::extent::{corner, shape_of};
use super::mirror::{diagonal, quarter_turn, three_quarter_turn};
use super::paint::sides;
use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, safe};
use crate::set_order::table::PackedTable;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::grid::{self, Grid, dense};
use crate::value::operator as op;
use crate::value::packed;
use crate::value::value_table::ValueTable;

/// `tuple(r[start[1]:start[1]+dims[1]] for r in grid[start[0]:start[0]+dims[0]])`.
pub(crate) fn cropped(grid: &Value, start: &Value, dims: &Value) -> Result {
    if meter::dialect().has_defaults() && !safe_window(grid, start, dims)? {
        return Value::tuple(Vec::new());
    }
    if let (Value::Grid(g), &Value::Pair(i, j), &Value::Pair(h, w)) = (grid, start, dims) {
        return window(g, (i.into(), j.into()), (h.into(), w.into()));
    }
    let span = |k: usize| -> Result<(i64, i64)> {
        let from = op::item(start, k)?;
        let to = op::add(&from, &op::item(dims, k)?)?;
        Ok((op::nearest_int(&from)?, op::nearest_int(&to)?))
    };
    let (from, to) = span(0)?;
    let rows = op::items(&op::slice(grid, from, to)?)?;
    let mut cut = Vec::with_capacity(rows.len());
    for row in rows {
        let (from, to) = span(1)?;
        cut.push(op::slice(&row, from, to)?);
    }
    Value::tuple(cut)
}

/// Whether a dialect with defaults cuts this window out: it lies on the grid, whose first row is its width.
fn safe_window(grid: &Value, start: &Value, dims: &Value) -> Result<bool> {
    if grid.tuple_len() == Some(0) {
        return Ok(false);
    }
    let (h, w) = sides(grid)?;
    for (k, n) in [(0, h), (1, w)] {
        let from = op::item(start, k)?;
        if op::less(&from, &Value::Int(0))? || !op::less(&from, &Value::Int(n as i64))? {
            return Ok(false);
        }
    }
    for (k, n) in [(0, h), (1, w)] {
        let to = op::add(&op::item(start, k)?, &op::item(dims, k)?)?;
        if op::less(&Value::Int(n as i64), &to)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn window(g: &Grid, start: (i64, i64), dims: (i64, i64)) -> Result {
    let (top, bottom) = op::clamp_slice(start.0, start.0 + dims.0, g.height());
    let (left, right) = op::clamp_slice(start.1, start.1 + dims.1, g.width());
    meter::build((bottom - top) * (right - left), 1)?;
    let mut cells = Vec::with_capacity((bottom - top) * (right - left));
    for i in top..bottom {
        cells.extend_from_slice(&g.row(i)[left..right]);
    }
    grid::value(bottom - top, right - left, cells)
}

pub(crate) fn subgrid(a: &[Value]) -> Result {
    let start = corner(&a[0], [false, false])?;
    cropped(&a[1], &start, &shape_of(&a[0])?)
}

pub(crate) fn trim(a: &[Value]) -> Result {
    if let Value::Grid(g) = &a[0] {
        return window(g, (1, 1), ((g.height() as i64 - 2).max(0), (g.width() as i64 - 2).max(0)));
    }
    let rows = op::items(&op::slice(&a[0], 1, -1)?)?;
    Value::tuple(rows.iter().map(|r| op::slice(r, 1, -1)).collect::<Result<_>>()?)
}

pub(crate) fn upper(grid: &Value) -> Result {
    op::slice(grid, 0, op::len(grid)? as i64 / 2)
}

pub(crate) fn lower(grid: &Value) -> Result {
    let n = op::len(grid)? as i64;
    op::slice(grid, n / 2 + n % 2, n)
}

pub(crate) fn lefthalf(a: &[Value]) -> Result {
    if let Value::Grid(g) = &a[0]
        && g.width() > 1
    {
        return window(g, (0, 0), (g.height() as i64, g.width() as i64 / 2));
    }
    three_quarter_turn(&upper(&quarter_turn(&a[0])?)?)
}

pub(crate) fn righthalf(a: &[Value]) -> Result {
    if let Value::Grid(g) = &a[0]
        && g.width() > 1
    {
        let from = (g.width() / 2 + g.width() % 2) as i64;
        return window(g, (0, from), (g.height() as i64, g.width() as i64 - from));
    }
    three_quarter_turn(&lower(&quarter_turn(&a[0])?)?)
}

pub(crate) fn hsplit(a: &[Value]) -> Result {
    let (h, w) = sides(&a[0])?;
    split(&a[0], &a[1], w, |at, size| ((0, at), (h as i64, size)))
}

pub(crate) fn vsplit(a: &[Value]) -> Result {
    let h = op::len(&a[0])?;
    let n = op::nearest_int(&a[1])?;
    op::floor_div_int(h as i64, n)?;
    let (h, w) = sides(&a[0])?;
    split(&a[0], &a[1], h, |at, size| ((at, 0), (size, w as i64)))
}

type Span = ((i64, i64), (i64, i64));

/// n parts along an axis of this length; one cell is skipped between two parts if n does not divide
/// the length.
fn split(grid: &Value, n: &Value, length: usize, part: impl Fn(i64, i64) -> Span) -> Result {
    let n = op::nearest_int(n)?;
    let size = op::floor_div_int(length as i64, n)?;
    let offset = i64::from(op::rem_int(length as i64, n)? != 0);
    meter::build(usize::try_from(n).unwrap_or(0), 64)?;
    let mut parts = Vec::new();
    for k in 0..n {
        let ((i, j), (h, w)) = part(size * k + k * offset, size);
        let part = cropped(grid, &Value::pair(i, j)?, &Value::pair(h, w)?);
        parts.push(safe(part, SafeDefault::Tuple)?);
    }
    Value::tuple(parts)
}

pub(crate) fn hconcat(a: &[Value]) -> Result {
    if let (Some(x), Some(y)) = (dense(&a[0]), dense(&a[1])) {
        meter::build(x.cells().len() + y.cells().len(), 1)?;
        let h = x.height().min(y.height());
        let mut cells = Vec::with_capacity(h * (x.width() + y.width()));
        for i in 0..h {
            cells.extend_from_slice(x.row(i));
            cells.extend_from_slice(y.row(i));
        }
        return grid::value(h, x.width() + y.width(), cells);
    }
    let (x, y) = (op::items(&a[0])?, op::items(&a[1])?);
    Value::tuple(x.iter().zip(&y).map(|(i, j)| op::add(i, j)).collect::<Result<_>>()?)
}

pub(crate) fn vconcat(a: &[Value]) -> Result {
    if let (Value::Grid(x), Value::Grid(y)) = (&a[0], &a[1])
        && x.width() == y.width()
    {
        meter::build(x.cells().len() + y.cells().len(), 1)?;
        let cells = [x.cells(), y.cells()].concat();
        return grid::value(x.height() + y.height(), x.width(), cells);
    }
    op::add(&a[0], &a[1])
}

pub(crate) fn cellwise(a: &[Value]) -> Result {
    if let (Some(x), Some(y), Some(fallback)) = (dense(&a[0]), dense(&a[1]), grid::cell(&a[2]))
        && y.height() >= x.height()
        && y.width() >= x.width()
    {
        meter::build(x.cells().len(), 1)?;
        let mut cells = Vec::with_capacity(x.cells().len());
        for i in 0..x.height() {
            cells.extend(
                x.row(i).iter().zip(y.row(i)).map(|(&p, &q)| if p == q { p } else { fallback }),
            );
        }
        return grid::value(x.height(), x.width(), cells);
    }
    let (h, w) = sides(&a[0])?;
    let mut rows = Vec::new();
    for i in 0..h {
        let mut row = Vec::new();
        meter::build(w, 16)?;
        for j in 0..w {
            let (at_i, at_j) = (Value::Int(i as i64), Value::Int(j as i64));
            let x = op::cell(&a[0], &at_i, &at_j)?;
            let y = op::cell(&a[1], &at_i, &at_j)?;
            row.push(if x == y { x } else { a[2].clone() });
        }
        rows.push(Value::tuple(row)?);
    }
    Value::tuple(rows)
}

/// `tuple(zip(*grid))`.
pub(crate) fn columns_of(grid: &Value) -> Result {
    Value::tuple(op::zipped(&op::items(grid)?)?)
}

/// The rows and the columns that hold one value only.
fn uniform(grid: &Value) -> Result<(Vec<usize>, Vec<usize>)> {
    if let Some(g) = dense(grid) {
        meter::spend(g.cells().len() / 8)?;
        let rows = (0..g.height()).filter(|&i| g.row(i).iter().all(|c| *c == g.row(i)[0]));
        let columns = (0..g.width()).filter(|&j| (0..g.height()).all(|i| g.at(i, j) == g.at(0, j)));
        return Ok((rows.collect(), columns.collect()));
    }
    let lines = |v: &Value| -> Result<Vec<usize>> {
        let mut all = Vec::new();
        for (k, line) in op::items(v)?.iter().enumerate() {
            let items = op::items(line)?;
            if !items.is_empty() && items.iter().all(|v| *v == items[0]) {
                all.push(k);
            }
        }
        Ok(all)
    };
    let rows = lines(grid)?;
    let columns = match meter::dialect().has_defaults() {
        true => safe(columns_of(grid), SafeDefault::Tuple)?,
        false => diagonal(grid)?,
    };
    Ok((rows, lines(&columns)?))
}

pub(crate) fn compress(a: &[Value]) -> Result {
    let (rows, columns) = uniform(&a[0])?;
    let kept = |k: usize, without: &[usize]| without.binary_search(&k).is_err();
    if let Some(g) = dense(&a[0]) {
        meter::build(g.cells().len(), 1)?;
        let kept_rows: Vec<usize> = (0..g.height()).filter(|&i| kept(i, &rows)).collect();
        let kept_columns: Vec<usize> = (0..g.width()).filter(|&j| kept(j, &columns)).collect();
        let mut cells = Vec::with_capacity(kept_rows.len() * kept_columns.len());
        for &i in &kept_rows {
            cells.extend(kept_columns.iter().map(|&j| g.at(i, j)));
        }
        return grid::value(kept_rows.len(), kept_columns.len(), cells);
    }
    let mut out = Vec::new();
    for (i, row) in op::items(&a[0])?.iter().enumerate() {
        if kept(i, &rows) {
            let cells = op::items(row)?.into_iter().enumerate();
            out.push(Value::tuple(
                cells.filter(|(j, _)| kept(*j, &columns)).map(|(_, v)| v).collect(),
            )?);
        }
    }
    Value::tuple(out)
}

pub(crate) fn frontiers(a: &[Value]) -> Result {
    let grid = &a[0];
    let (h, w) = sides(grid)?;
    let (rows, columns) = uniform(grid)?;
    meter::build(rows.len() * w + columns.len() * h, 16)?;
    let horizontal = lines(grid, rows.iter().map(|&i| (0..w).map(|j| (i, j)).collect()))?;
    let vertical = lines(grid, columns.iter().map(|&j| (0..h).map(|i| (i, j)).collect()))?;
    horizontal.union(&vertical).into_value()
}

/// `frozenset({frozenset({(grid[i][j], (i, j)) …}) …})`.
fn lines(grid: &Value, places: impl Iterator<Item = Vec<(usize, usize)>>) -> Result<ValueTable> {
    let dense = dense(grid).filter(|g| super::color::fits(g));
    let kind = meter::cell_kind();
    let mut all = Vec::new();
    for line in places {
        if let Some(g) = &dense {
            let cells =
                line.iter().map(|&(i, j)| packed::cell(g.at(i, j).into(), i as i32, j as i32));
            let items: Vec<u32> = cells.collect();
            let inserted = items.clone();
            let rebuild = move || PackedTable::collect(kind, inserted.iter().copied()).copied();
            all.push(crate::set::packed(
                items,
                kind,
                crate::set_order::iteration_order::IterationOrder::Rebuilt(Box::new(rebuild)),
            ));
            continue;
        }
        let mut cells = Vec::new();
        for (i, j) in line {
            let (i, j) = (Value::Int(i as i64), Value::Int(j as i64));
            let value = op::cell(grid, &i, &j)?;
            cells.push(op::cell_of(i, j, value)?);
        }
        all.push(ValueTable::collect(cells).copied().into_value()?);
    }
    Ok(ValueTable::collect(all).copied())
}

pub(crate) fn downscale(a: &[Value]) -> Result {
    let (h, w) = sides(&a[0])?;
    let step = match &a[1] {
        // No remainder is 0.
        Value::Float(x) if x.is_nan() => return Value::tuple(Vec::new()),
        // Only the remainder of 0 is 0.
        Value::Float(_) => usize::MAX,
        factor => match op::nearest_int(factor)?.unsigned_abs() {
            0 => return Err(Fault::ZeroDivisionError),
            n => usize::try_from(n).unwrap_or(usize::MAX),
        },
    };
    if let Some(g) = dense(&a[0]) {
        meter::build(g.cells().len(), 1)?;
        let mut cells = Vec::new();
        for i in (0..h).step_by(step) {
            cells.extend(g.row(i).iter().step_by(step));
        }
        return grid::value(h.div_ceil(step), w.div_ceil(step), cells);
    }
    let mut rows = Vec::new();
    for i in 0..h {
        let mut row = Vec::new();
        for j in (0..w).step_by(step) {
            row.push(op::cell(&a[0], &Value::Int(i as i64), &Value::Int(j as i64))?);
        }
        if i % step == 0 {
            rows.push(Value::tuple(row)?);
        }
    }
    Value::tuple(rows)
}
