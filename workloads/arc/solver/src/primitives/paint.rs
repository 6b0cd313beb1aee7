//! Primitives that paint patches onto grids and make patches from grids.

use super::collection::{one_color, packed_set};
use super::color::{fits, most_color};
use super::patch::{shifted, to_indices};
use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, safe};
use crate::set::set_cache;
use crate::set::{self, Set};
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::slot_spans::Span;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::grid::{self, Grid, dense};
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use crate::value::tuple::Tuple;
use std::borrow::Cow;
use std::rc::Rc;

/// `len(grid), len(grid[0])`.
pub(crate) fn sides(grid: &Value) -> Result<(usize, usize)> {
    if let Value::Grid(g) = grid {
        return Ok((g.height(), g.width()));
    }
    let h = op::len(grid)?;
    Ok((h, op::len(&op::item(grid, 0)?)?))
}

pub(crate) fn fill(a: &[Value]) -> Result {
    filled(&a[0], &a[1], &a[2], None)
}

pub(crate) fn underfill(a: &[Value]) -> Result {
    sides(&a[0])?;
    let background = most_color(&a[0])?;
    filled(&a[0], &a[1], &a[2], Some(&background))
}

pub(crate) fn covered(grid: &Value, patch: &Value) -> Result {
    let background = most_color(grid)?;
    if packed_set(patch).is_some() {
        return filled(grid, &background, patch, None);
    }
    filled(grid, &background, &to_indices(patch)?, None)
}

pub(crate) fn r#move(a: &[Value]) -> Result {
    let covered = safe(covered(&a[0], &a[1]), SafeDefault::Tuple)?;
    painted(&covered, &shifted(&a[1], &a[2])?, None)
}

/// Sets the cells of the patch to a value, where they are on the grid and hold `under`, if it is given.
fn filled(grid: &Value, value: &Value, patch: &Value, under: Option<&Value>) -> Result {
    if let (Some(g), Some(c), Value::Set(s)) = (dense(grid), grid::cell(value), patch)
        && let Some((items, _)) = s.packed()
        && let Some(under) = small(under)
    {
        meter::build(g.cells().len() + items.len(), 1)?;
        if items.is_empty() {
            return Ok(Value::Grid(g));
        }
        let mut cells = g.cells().to_vec();
        for &x in items {
            if let Some(at) = on_grid(&g, x)
                && under.is_none_or(|b| cells[at] == b)
            {
                cells[at] = c;
            }
        }
        return grid::value(g.height(), g.width(), cells);
    }
    let dense = dense(grid);
    if dense.is_none() {
        // The reference rejects a value that is not a grid before it reads the patch.
        Board::new(grid)?;
    }
    let indices = to_indices(patch)?;
    if let (Some(g), Some(c), Some(under)) = (dense, grid::cell(value), small(under))
        && let Some(places) = packed_places(&indices)
    {
        meter::build(g.cells().len() + places.len(), 1)?;
        let mut cells = g.cells().to_vec();
        for at in places.iter().filter_map(|&x| on_grid(&g, x)) {
            if under.is_none_or(|b| cells[at] == b) {
                cells[at] = c;
            }
        }
        return grid::value(g.height(), g.width(), cells);
    }
    let mut board = Board::new(grid)?;
    for index in op::items(&indices)? {
        let (i, j) = op::unpack(&index)?;
        board.put(&i, &j, value, under)?;
    }
    board.finish()
}

/// The packed places of a container in any order, if it holds nothing else.
fn packed_places(container: &Value) -> Option<Cow<'_, [u32]>> {
    match container {
        Value::Set(s) => {
            let (items, kind) = s.packed()?;
            (!kind.has_color() || items.is_empty()).then_some(Cow::Borrowed(items))
        }
        Value::Tuple(t) => match t.chained() {
            Some((sets, ElementKind::Place)) => Some(Cow::Owned(content(sets))),
            _ => packed_items(container, false).map(Cow::Owned),
        },
        _ => None,
    }
}

/// The packed elements of sets, in any order.
pub(crate) fn content(sets: &[Rc<Set>]) -> Vec<u32> {
    let parts = sets.iter().filter_map(|s| s.packed());
    parts.flat_map(|(items, _)| items).copied().collect()
}

/// The packed elements of a container in its order, if all can be packed and are of the wanted kind.
fn packed_items(container: &Value, are_cells: bool) -> Option<Vec<u32>> {
    match container {
        Value::Set(s) => {
            let (items, kind) = s.packed()?;
            if kind.has_color() != are_cells && !items.is_empty() {
                None
            } else {
                s.packed_in_order()
            }
        }
        Value::Tuple(t) if t.chained().is_some_and(|(_, kind)| kind.has_color() == are_cells) => {
            let (sets, _) = t.chained()?;
            let in_order = sets.iter().filter_map(|s| s.packed_in_order());
            Some(in_order.flatten().collect())
        }
        Value::Tuple(t) => t
            .items()
            .iter()
            .map(|v| v.packed().filter(|p| p.1.has_color() == are_cells).map(|p| p.0))
            .collect(),
        _ => None,
    }
}

pub(crate) fn underpaint(a: &[Value]) -> Result {
    sides(&a[0])?;
    let background = most_color(&a[0])?;
    painted(&a[0], &a[1], Some(&background))
}

pub(crate) fn painted(grid: &Value, obj: &Value, under: Option<&Value>) -> Result {
    if let (Some(g), Value::Set(s)) = (dense(grid), obj)
        && let Some((items, kind)) = s.packed()
        && (kind.has_color() || items.is_empty())
        && let Some(under) = small(under)
    {
        meter::build(g.cells().len() + items.len(), 1)?;
        if items.is_empty() {
            return Ok(Value::Grid(g));
        }
        let mut board = Painting::new(&g, under);
        let is_done = board.put_all(items) || (under.is_none() && board.put_last(s, items));
        if !is_done {
            board = Painting::new(&g, under);
            let in_order = s.packed_in_order().expect("the set is packed");
            in_order.iter().for_each(|&x| board.put(x));
        }
        return grid::value(g.height(), g.width(), board.cells);
    }
    if let (Some(g), Value::Tuple(t), Some(under)) = (dense(grid), obj, small(under))
        && let Some((items, in_any_order)) = paint_content(t, obj)
    {
        meter::build(g.cells().len() + t.len(), 1)?;
        let mut board = Painting::new(&g, under);
        if !in_any_order {
            items.iter().for_each(|&x| board.put(x));
        } else if !board.put_all(&items) {
            board = Painting::new(&g, under);
            let in_order = packed_items(obj, true).expect("the tuple is packed");
            in_order.iter().for_each(|&x| board.put(x));
        }
        return grid::value(g.height(), g.width(), board.cells);
    }
    let mut board = Board::new(grid)?;
    for e in op::items(obj)? {
        let [i, j, value] = op::cell_parts(&e)?;
        board.put(&i, &j, &value, under)?;
    }
    board.finish()
}

/// The packed cells of a tuple, and whether they are not in its order.
fn paint_content(t: &Tuple, obj: &Value) -> Option<(Vec<u32>, bool)> {
    match t.chained() {
        Some((sets, ElementKind::Cell | ElementKind::Triple)) => Some((content(sets), true)),
        _ => packed_items(obj, true).map(|items| (items, false)),
    }
}

/// A grid that is being painted.
struct Painting<'a> {
    grid: &'a Grid,
    cells: Vec<i8>,
    under: Option<i8>,
}

impl<'a> Painting<'a> {
    fn new(grid: &'a Grid, under: Option<i8>) -> Painting<'a> {
        Painting { grid, cells: grid.cells().to_vec(), under }
    }

    #[inline]
    fn put(&mut self, x: u32) {
        if let Some(at) = on_grid(self.grid, x)
            && self.under.is_none_or(|b| self.cells[at] == b)
        {
            self.cells[at] = packed::color(x) as i8;
        }
    }

    /// Paints cells in any order; gives up if two of different colours share a place of the grid, because then the
    /// order matters.
    fn put_all(&mut self, items: &[u32]) -> bool {
        if items.is_empty() || one_color(items) {
            items.iter().for_each(|&x| self.put(x));
            return true;
        }
        // Colour bytes are never zero, and zeroed memory for a wide grid costs no writes.
        let mut wanted = vec![0u8; self.cells.len()];
        for &x in items {
            if let Some(at) = on_grid(self.grid, x) {
                let color = packed::color_byte(x);
                if wanted[at] != 0 && wanted[at] != color {
                    return false;
                }
                wanted[at] = color;
                self.put(x);
            }
        }
        true
    }

    /// Paints the last of the cells that share a place, if the spans of slots decide which one is last.
    fn put_last(&mut self, set: &Set, items: &[u32]) -> bool {
        let Some(spans) = set.spans() else {
            return false;
        };
        // For each place of the grid, one more than its position in `lasts`; 0 if there is none.
        let mut numbers = vec![0u32; self.cells.len()];
        let mut lasts: Vec<Last> = Vec::with_capacity(items.len());
        for (&x, &span) in items.iter().zip(&spans) {
            if let Some(at) = on_grid(self.grid, x) {
                let color = packed::color(x) as i8;
                if numbers[at] == 0 {
                    lasts.push(Last { at, span, others: None, color });
                    numbers[at] = lasts.len() as u32;
                } else {
                    lasts[numbers[at] as usize - 1].add(span, color);
                }
            }
        }
        for last in &lasts {
            if last.others >= Some(last.span.0) {
                return false;
            }
            self.cells[last.at] = last.color;
        }
        true
    }
}

/// Which of the cells at a place comes last.
struct Last {
    at: usize,
    span: Span,
    /// The last slot that any other cell at the place may have.
    others: Option<u32>,
    color: i8,
}

impl Last {
    fn add(&mut self, span: Span, color: i8) {
        if span.0 > self.span.0 {
            self.others = self.others.max(Some(self.span.1));
            (self.span, self.color) = (span, color);
        } else {
            self.others = self.others.max(Some(span.1));
        }
    }
}

/// The background as a grid's cell; None if it is something a grid cannot hold.
#[expect(
    clippy::option_option,
    reason = "no background and one that does not fit are different answers"
)]
fn small(under: Option<&Value>) -> Option<Option<i8>> {
    match under {
        None => Some(None),
        Some(v) => grid::cell(v).map(Some),
    }
}

/// The number of the cell at a packed place, if it is on the grid.
#[inline]
fn on_grid(g: &Grid, x: u32) -> Option<usize> {
    let (i, j) = (packed::row(x), packed::col(x));
    let inside = i >= 0 && j >= 0 && (i as usize) < g.height() && (j as usize) < g.width();
    inside.then(|| i as usize * g.width() + j as usize)
}

/// Any tuple of rows, as lists that can be written to.
struct Board {
    h: usize,
    w: usize,
    rows: Vec<Vec<Value>>,
}

impl Board {
    fn new(grid: &Value) -> Result<Board> {
        let (h, w) = sides(grid)?;
        let rows = op::items(grid)?.iter().map(op::items).collect::<Result<_>>()?;
        Ok(Board { h, w, rows })
    }

    fn put(&mut self, i: &Value, j: &Value, value: &Value, under: Option<&Value>) -> Result<()> {
        if !op::is_within(i, self.h)? || !op::is_within(j, self.w)? {
            return Ok(());
        }
        let row = &mut self.rows[op::int(i)? as usize];
        let cell = row.get_mut(op::int(j)? as usize).ok_or(Fault::IndexError)?;
        if under.is_none_or(|b| op::equal(cell, b)) {
            *cell = value.clone();
        }
        Ok(())
    }

    fn finish(self) -> Result {
        Value::tuple(self.rows.into_iter().map(Value::tuple).collect::<Result<_>>()?)
    }
}

pub(crate) fn asindices(a: &[Value]) -> Result {
    if let Some(g) = dense(&a[0]).filter(|g| fits(g)) {
        meter::build(g.cells().len(), 4)?;
        return Ok(set_cache::indices(g.height(), g.width()));
    }
    let h = op::len(&a[0])?;
    if h == 0 {
        return Ok(set::empty());
    }
    let w = op::len(&op::item(&a[0], 0)?)?;
    meter::build(h * w, 16)?;
    let all = (0..h as i64).flat_map(|i| (0..w as i64).map(move |j| Value::pair(i, j)));
    set::from_values(all.collect::<Result<_>>()?)
}

pub(crate) fn asobject(a: &[Value]) -> Result {
    if let Some(g) = dense(&a[0]).filter(|g| fits(g)) {
        meter::build(g.cells().len(), 4)?;
        let mut cells = Vec::with_capacity(g.cells().len());
        for (i, row) in g.rows().enumerate() {
            cells.extend(
                row.iter().enumerate().map(|(j, &c)| packed::cell(c.into(), i as i32, j as i32)),
            );
        }
        return Ok(set::packed(cells, meter::cell_kind(), IterationOrder::Sequence));
    }
    let mut cells = Vec::new();
    for (i, row) in op::items(&a[0])?.iter().enumerate() {
        for (j, v) in op::items(row)?.into_iter().enumerate() {
            cells.push(op::cell_of(Value::Int(i as i64), Value::Int(j as i64), v)?);
        }
    }
    set::from_values(cells)
}

pub(crate) fn toobject(a: &[Value]) -> Result {
    let (patch, grid) = (&a[0], &a[1]);
    let (h, w) = sides(grid)?;
    let indices = to_indices(patch)?;
    if let (Some(g), Some((s, items, ElementKind::Place))) = (dense(grid), packed_set(&indices)) {
        meter::build(items.len(), 4)?;
        let colored =
            |x: u32| on_grid(&g, x).map(|at| x | packed::color_bits(g.cells()[at].into()));
        if s.bounds().inside(h, w) {
            let cells = items.iter().filter_map(|&x| colored(x)).collect();
            return Ok(set::packed_within(
                cells,
                meter::cell_kind(),
                IterationOrder::Via(s.clone()),
                Some(s.bounds()),
            ));
        }
        let kept =
            (0..items.len() as u32).filter(|&k| on_grid(&g, items[k as usize]).is_some()).collect();
        let cells = items.iter().filter_map(|&x| colored(x)).collect();
        return Ok(set::packed(cells, meter::cell_kind(), IterationOrder::Kept(s.clone(), kept)));
    }
    let mut cells = Vec::new();
    for index in op::items(&indices)? {
        let (i, j) = op::unpack(&index)?;
        if op::is_within(&i, h)? && op::is_within(&j, w)? {
            let value = op::cell(grid, &i, &j)?;
            cells.push(op::cell_of(i, j, value)?);
        }
    }
    set::from_values(cells)
}

pub(crate) fn index(a: &[Value]) -> Result {
    let (grid, loc) = (&a[0], &a[1]);
    if let (Value::Grid(g), &Value::Pair(i, j)) = (grid, loc) {
        let inside = i >= 0 && j >= 0 && (i as usize) < g.height() && (j as usize) < g.width();
        return Ok(if inside {
            Value::Int(g.at(i as usize, j as usize).into())
        } else {
            Value::None
        });
    }
    let (i, j) = op::unpack(loc)?;
    let (h, w) = sides(grid)?;
    if !(0..h as i64).contains(&op::nearest_int(&i)?)
        || !(0..w as i64).contains(&op::nearest_int(&j)?)
    {
        return Ok(Value::None);
    }
    let row = op::item_at(grid, &op::item(loc, 0)?)?;
    op::item_at(&row, &op::item(loc, 1)?)
}

pub(crate) fn canvas(a: &[Value]) -> Result {
    let (value, dimensions) = (&a[0], &a[1]);
    let h = usize::try_from(op::nearest_int(&op::item(dimensions, 0)?)?).unwrap_or(0);
    if h == 0 {
        return Value::tuple(vec![]);
    }
    let w = usize::try_from(op::nearest_int(&op::item(dimensions, 1)?)?).unwrap_or(0);
    if let Some(c) = grid::cell(value) {
        meter::build(h.saturating_mul(w.max(1)), 1)?;
        return grid::value(h, w, vec![c; h * w]);
    }
    meter::build(h.saturating_mul(w.max(1)), 16)?;
    let row = Value::tuple(vec![value.clone(); w])?;
    Value::tuple(vec![row; h])
}
