//! Objects on grids: finding all objects, and finding all occurrences of one.

use super::collection::packed_set;
use super::color::{fits, most_color};
use super::extent::shape_of;
use super::line;
use super::paint::{asindices, sides};
use super::patch::{normalized, shifted};
use crate::evaluate::meter;
use crate::language::safe_default::{SafeDefault, safe};
use crate::set::labels;
use crate::set::{self, Set};
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::table::PackedTable;
use crate::value::Value;
use crate::value::fault::Result;
use crate::value::grid::{self, KnownGrid, dense};
use crate::value::operator as op;
use crate::value::packed::{self, Bounds, ElementKind};
use crate::value::planes::{N_TOGETHER, Planes, Rows};
use crate::value::value_table::ValueTable;
use std::rc::Rc;

pub(crate) fn objects(a: &[Value]) -> Result {
    search(a, labels::objects, |objects| {
        let sets = objects.into_iter().map(|cells| {
            let table = ValueTable::collect(cells);
            table.copied().into_value()
        });
        let sets = sets.collect::<Result<Vec<_>>>()?;
        ValueTable::collect(sets).copied().into_value()
    })
}

/// The objects as tuples of cells, in the order in which they and their cells are found.
pub(crate) fn objects_as_tuples(a: &[Value]) -> Result {
    let kind = meter::cell_kind();
    let packed = |grid: &_, sides, univalued, diagonal, background| {
        let found = labels::objects_as_reached(grid, sides, univalued, diagonal, background)?;
        let n_cells = found.iter().map(Vec::len).sum();
        meter::build(n_cells, 16)?;
        let tuple = |cells: Vec<u32>| {
            let cells = cells.into_iter().map(|x| Value::unpacked(x, kind));
            Value::tuple(cells.collect())
        };
        Value::tuple(found.into_iter().map(tuple).collect::<Result<_>>()?)
    };
    search(a, packed, |objects| {
        let tuples = objects.into_iter().map(|mut cells| {
            // The first cell is in the list twice: once as the start, once as the first candidate.
            cells.remove(0);
            Value::tuple(cells)
        });
        Value::tuple(tuples.collect::<Result<_>>()?)
    })
}

/// Searches a grid for objects: by `packed` if it is dense, otherwise by the reference's own loop, whose cells `listed`
/// makes into objects.
fn search(
    a: &[Value],
    packed: impl FnOnce(&Rc<KnownGrid>, (usize, usize), bool, bool, Option<i8>) -> Result,
    listed: impl FnOnce(Vec<Vec<Value>>) -> Result,
) -> Result {
    let grid = &a[0];
    let [univalued, diagonal, without_background] = [a[1].truth(), a[2].truth(), a[3].truth()];
    let background = if without_background { Some(most_color(grid)?) } else { None };
    if let Some(g) = dense(grid) {
        let background = background.as_ref().map(|b| grid::cell(b).expect("a colour of the grid"));
        meter::spend(g.cells().len() / 16)?;
        if let Some(seen) = labels::foreground(&g, background) {
            return packed(&seen, (g.height(), g.width()), univalued, diagonal, background);
        }
    }
    let background = background.unwrap_or(Value::None);
    listed(grown(grid, univalued, diagonal, background)?)
}

/// The reference's own loop, for grids that are ragged or hold values other than small integers: the cells of each
/// object in the order in which they are added, the first one twice.
fn grown(
    grid: &Value,
    univalued: bool,
    diagonal: bool,
    background: Value,
) -> Result<Vec<Vec<Value>>> {
    let (h, w) = sides(grid)?;
    let indices = safe(asindices(std::slice::from_ref(grid)), SafeDefault::Set)?;
    let at = |place: &Value| -> Result {
        let (i, j) = op::unpack(place)?;
        op::cell(grid, &i, &j)
    };
    let mut objects = Vec::new();
    let mut occupied: std::collections::HashSet<(i64, i64)> = Default::default();
    for loc in op::items(&indices)? {
        meter::spend(1)?;
        if occupied.contains(&coordinates(&loc)) {
            continue;
        }
        let value = at(&loc)?;
        if op::equal(&value, &background) {
            continue;
        }
        let (i, j) = op::unpack(&loc)?;
        let mut object = vec![op::cell_of(i, j, value.clone())?];
        let mut candidates = ValueTable::collect([loc]);
        while candidates.len() > 0 {
            meter::spend(candidates.len() * 4)?;
            let mut neighborhood = ValueTable::collect([]);
            for place in candidates.iter() {
                let v = at(place)?;
                if if univalued { !op::equal(&value, &v) } else { op::equal(&v, &background) } {
                    continue;
                }
                let (i, j) = op::unpack(place)?;
                object.push(op::cell_of(i, j, v)?);
                occupied.insert(coordinates(place));
                let around = std::slice::from_ref(place);
                let around =
                    if diagonal { line::neighbors(around)? } else { line::dneighbors(around)? };
                let on_grid = op::items(&around)?.into_iter().filter(|p| {
                    let (i, j) = coordinates(p);
                    (0..h as i64).contains(&i) && (0..w as i64).contains(&j)
                });
                neighborhood.absorb(&ValueTable::collect(on_grid));
            }
            candidates =
                neighborhood.minus_where(occupied.len(), |p| occupied.contains(&coordinates(p)));
        }
        objects.push(object);
    }
    Ok(objects)
}

/// A pair of integers that this file made.
fn coordinates(place: &Value) -> (i64, i64) {
    match op::unpack(place) {
        Ok((i, j)) => (i.as_int().unwrap_or(-1), j.as_int().unwrap_or(-1)),
        Err(_) => (-1, -1),
    }
}

/// As `occurrences`, but every place of the grid is tried and the object is not measured.
pub(crate) fn occurrences_anywhere(a: &[Value]) -> Result {
    let (grid, obj) = (&a[0], &a[1]);
    if packed_set(obj).is_some_and(|(_, _, kind)| kind.has_color()) && dense(grid).is_some() {
        return occurrences(a);
    }
    let normal = normalized(obj)?;
    let (h, w) = sides(grid)?;
    occurrences_up_to(grid, &normal, (h as i64, w as i64))
}

pub(crate) fn occurrences(a: &[Value]) -> Result {
    let (grid, obj) = (&a[0], &a[1]);
    if let (Some(g), Value::Set(s)) = (dense(grid).filter(|g| fits(g)), obj)
        && let Some(places) = packed_occurrences(&g, s)
    {
        return Ok(found(places?));
    }
    let normal = normalized(obj)?;
    let (h, w) = sides(grid)?;
    let (oh, ow) = op::unpack(&shape_of(obj)?)?;
    let rows = op::int(&op::add(&op::sub(&Value::Int(h as i64), &oh)?, &Value::Int(1))?)?;
    let columns = op::int(&op::add(&op::sub(&Value::Int(w as i64), &ow)?, &Value::Int(1))?)?;
    occurrences_up_to(grid, &normal, (rows, columns))
}

/// The places, of this many rows and columns, at which a normalised object occurs.
fn occurrences_up_to(grid: &Value, normal: &Value, (rows, columns): (i64, i64)) -> Result {
    let (h, w) = sides(grid)?;
    let mut found = Vec::new();
    for i in 0..rows {
        for j in 0..columns {
            meter::spend(1)?;
            if occurs(grid, h, w, &shifted(normal, &Value::pair(i, j)?)?)? {
                found.push(Value::pair(i, j)?);
            }
        }
    }
    ValueTable::collect(found).copied().into_value()
}

/// The places where a packed object occurs, row by row; None if the object is not a packed set of cells.
fn packed_occurrences(g: &KnownGrid, object: &Set) -> Option<Result<Vec<u32>>> {
    let (h, w) = (g.height(), g.width());
    let (items, kind) = object.packed()?;
    if items.is_empty() {
        // The empty object occurs everywhere, and also just beyond the last row and column.
        let places =
            || (0..=h as i32).flat_map(|i| (0..=w as i32).map(move |j| packed::place(i, j)));
        return Some(meter::spend((h + 1) * (w + 1)).map(|()| places().collect()));
    }
    if !kind.has_color() {
        return None;
    }
    let b = object.bounds();
    // The reference computes the object's edges to move it to the corner, and then its sides.
    let paid = meter::spend(4 * (items.len() / 32)).and_then(|()| meter::build(items.len(), 4));
    if let Err(fault) = paid {
        return Some(Err(fault));
    }
    let (n_rows, n_columns) =
        (h as i64 - i64::from(b.height()) + 1, w as i64 - i64::from(b.width()) + 1);
    if n_rows <= 0 || n_columns <= 0 {
        return Some(Ok(Vec::new()));
    }
    Some(matches(g, items, b, n_rows as usize, n_columns as usize))
}

/// The set of places, with the order of a table that was built and then copied.
fn found(places: Vec<u32>) -> Value {
    let inserted = places.clone();
    let rebuild =
        move || PackedTable::collect(ElementKind::Place, inserted.iter().copied()).copied();
    set::packed(places, ElementKind::Place, IterationOrder::Rebuilt(Box::new(rebuild)))
}

fn occurs(grid: &Value, h: usize, w: usize, object: &Value) -> Result<bool> {
    for e in op::items(object)? {
        let [i, j, value] = op::cell_parts(&e)?;
        let inside = op::is_within(&i, h)? && op::is_within(&j, w)?;
        if !inside || !op::equal(&op::cell(grid, &i, &j)?, &value) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The places where every cell of the object meets its colour, row by row.
///
/// Each colour of the grid is a plane of bits; a row of candidates is the AND of shifted rows.
fn matches(
    g: &KnownGrid,
    object: &[u32],
    bounds: Bounds,
    n_rows: usize,
    n_columns: usize,
) -> Result<Vec<u32>> {
    let (planes, h) = (g.planes(), g.height());
    let found = match planes.rows() {
        Rows::Narrow(rows) => {
            let stride = h + N_TOGETHER;
            let first = |plane, i, j| (plane * stride + i, j as u32);
            met(object, bounds, planes, first)
                .map(|cells| matches_together(rows, &cells, n_rows, n_columns))
        }
        Rows::Wide(words, n_words) => {
            let first = |plane, i, j| ((plane * h + i) * n_words + j / 64, (j % 64) as u32);
            met(object, bounds, planes, first)
                .map(|cells| matches_by_word(words, *n_words, &cells, n_rows, n_columns))
        }
    };
    found.unwrap_or_else(|| Ok(Vec::new()))
}

/// The first word of the planes that each cell of the object is compared with, and the column in that word; `first`
/// computes both from plane, row and column. None if a cell has a colour that does not occur.
fn met(
    object: &[u32],
    bounds: Bounds,
    planes: &Planes,
    first: impl Fn(usize, usize, usize) -> (usize, u32),
) -> Option<Vec<(usize, u32)>> {
    let mut cells = Vec::with_capacity(object.len());
    for &x in object {
        let plane = planes.number(packed::color(x))?;
        let (i, j) = (packed::row(x) - bounds.top, packed::col(x) - bounds.left);
        cells.push(first(plane, i as usize, j as usize));
    }
    Some(cells)
}

/// The work for a row of candidates that took this many tests.
fn row_work(n_tests: usize) -> usize {
    n_tests / 2 + 1
}

/// Several rows of candidates at a time, each a word.
fn matches_together(
    rows: &[u32],
    cells: &[(usize, u32)],
    n_rows: usize,
    n_columns: usize,
) -> Result<Vec<u32>> {
    let all = u32::MAX >> (32 - n_columns);
    let mut places = Vec::new();
    for from in (0..n_rows).step_by(N_TOGETHER) {
        let n_here = N_TOGETHER.min(n_rows - from);
        let mut open = [0; N_TOGETHER];
        open[..n_here].fill(all);
        let mut n_tests = [0u32; N_TOGETHER];
        for &(at, shift) in cells {
            let here: &[u32; N_TOGETHER] =
                rows[from + at..].first_chunk().expect("a plane ends with empty rows");
            let mut any = 0;
            for k in 0..N_TOGETHER {
                n_tests[k] += u32::from(open[k] != 0);
                open[k] &= here[k] >> shift;
                any |= open[k];
            }
            if any == 0 {
                break;
            }
        }
        let work = n_tests[..n_here].iter().map(|&n| row_work(n as usize));
        meter::spend(work.sum())?;
        for (i, mut open) in (from..).zip(open) {
            while open != 0 {
                let j = open.trailing_zeros();
                open &= open - 1;
                places.push(packed::place(i as i32, j as i32));
            }
        }
    }
    Ok(places)
}

/// A word of candidates at a time.
fn matches_by_word(
    words: &[u64],
    n_words: usize,
    cells: &[(usize, u32)],
    n_rows: usize,
    n_columns: usize,
) -> Result<Vec<u32>> {
    let mut places = Vec::new();
    for i in 0..n_rows {
        for word in 0..n_columns.div_ceil(64) {
            let n_left = n_columns - word * 64;
            let mut open = if n_left >= 64 { u64::MAX } else { (1 << n_left) - 1 };
            let mut n_tests = 0;
            let from = i * n_words + word;
            for &(at, shift) in cells {
                n_tests += 1;
                // Every row ends with an empty word, so a next word always exists. The left shift takes two steps,
                // because a shift by 64 overflows.
                open &= words[from + at] >> shift | words[from + at + 1] << 1 << (63 - shift);
                if open == 0 {
                    break;
                }
            }
            meter::spend(row_work(n_tests))?;
            while open != 0 {
                let j = open.trailing_zeros();
                open &= open - 1;
                places.push(packed::place(i as i32, (word * 64) as i32 + j as i32));
            }
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::meter::{Limits, measured};
    use crate::value::grid::Grid;

    /// Narrow grids and wide ones with the same cells: the same places for the same work.
    #[test]
    fn rows_together_are_like_one_word_after_the_other() {
        let mut state = 1u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        let mut n_found = 0;
        for round in 0..400 {
            let (h, w) = (1 + next(30) as usize, 1 + next(32) as usize);
            let n_colors = 1 + round % 3;
            let cells: Vec<i8> = (0..h * w).map(|_| next(n_colors) as i8 - 1).collect();
            let narrow = KnownGrid::from(Grid::new(w, cells.clone()));
            // Wide enough for the other form, filled with a colour that no object has.
            let wide = cells.chunks(w).flat_map(|row| {
                let rest = vec![9; 33];
                row.iter().copied().chain(rest).collect::<Vec<i8>>()
            });
            let wide = KnownGrid::from(Grid::new(w + 33, wide.collect()));
            let (oh, ow) = (1 + next(h.min(4) as u64), 1 + next(w.min(4) as u64));
            let object: Vec<u32> = (0..oh * ow)
                .map(|at| {
                    let (i, j) = ((at / ow) as i32, (at % ow) as i32);
                    packed::color_bits(next(n_colors) as i32 - 1) | packed::place(i + 5, j - 3)
                })
                .collect();
            let bounds = Bounds::of(&object);
            let (n_rows, n_columns) = (h - oh as usize + 1, w - ow as usize + 1);
            let search = |g: &KnownGrid| {
                measured(&Limits::default(), 0, || matches(g, &object, bounds, n_rows, n_columns))
            };
            let found = search(&narrow);
            n_found += found.0.as_ref().map_or(0, Vec::len);
            assert!(found == search(&wide), "round {round}");
        }
        assert!(n_found > 1000, "{n_found} found");
    }
}
