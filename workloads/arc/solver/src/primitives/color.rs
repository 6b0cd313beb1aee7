//! Colours of grids and objects.

use super::collection::{kept_sets, most_counted, one_color, packed_set};
use crate::evaluate::meter::{self, Order};
use crate::language::safe_default::{SafeDefault, is_caught, safe};
use crate::set;
use crate::set::set_cache;
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::layout::Layout;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::float;
use crate::value::grid::{self, Grid, dense};
use crate::value::hash;
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use crate::value::value_table::ValueTable;

/// The most common colour; a grid caches it. In a dialect with defaults this is the one of grids, and not-a-number
/// without cells.
pub(crate) fn most_color(v: &Value) -> Result {
    if let Value::Grid(g) = v {
        meter::spend(g.cells().len() / 16)?;
        if let Some(c) = g.background().get() {
            return Ok(Value::Int(c.into()));
        }
        // Charged already, and whether the grid knows its colour depends on other programs.
        let c = meter::unmetered(|| by_count(v, true))?;
        g.background().set(grid::cell(&c));
        return Ok(c);
    }
    if meter::dialect().has_defaults() {
        return safe(of_rows(v, true), SafeDefault::Zero);
    }
    by_count(v, true)
}

/// The most or least common value of the rows of any container; not-a-number without values.
pub(crate) fn of_rows(rows: &Value, most: bool) -> Result {
    if dense(rows).is_some() {
        return by_count(rows, most);
    }
    Ok(most_counted(&row_values(rows)?, most)?.unwrap_or(float::NAN))
}

/// `[v for r in rows for v in r]`.
pub(crate) fn row_values(rows: &Value) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    for row in op::items(rows)? {
        values.extend(op::items(&row)?);
    }
    Ok(values)
}

pub(crate) fn by_count(v: &Value, most: bool) -> Result {
    let Some(counts) = Counts::of(v)? else {
        return most_counted(&all_values(v)?, most)?.ok_or(Fault::ValueError);
    };
    let present = || counts.n[counts.slots()].iter().copied().filter(|&n| n > 0);
    let best = if most { present().max() } else { present().min() };
    let best = best.expect("a grid or object has cells");
    let tied: Vec<i64> = counts.colors().filter(|&c| counts.of_color(c) == best).collect();
    if let [only] = tied[..] {
        return Ok(Value::Int(only));
    }
    let first = counts.in_set_order(v).into_iter().find(|c| tied.contains(c));
    Ok(Value::Int(first.expect("a tied colour is present")))
}

/// `[v for r in element for v in r]` of a tuple, `[v for v, _ in element]` of anything else.
fn all_values(element: &Value) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    for e in op::items(element)? {
        if element.is_tuple() {
            values.extend(op::items(&e)?);
        } else {
            values.push(op::unpack(&e)?.0);
        }
    }
    Ok(values)
}

/// How often each colour occurs in a grid or a packed object.
struct Counts {
    n: [u32; 256],
    n_all: usize,
}

impl Counts {
    fn of(v: &Value) -> Result<Option<Counts>> {
        let mut n = [0; 256];
        let n_all;
        if let Some((_, items, ElementKind::Cell | ElementKind::Triple)) = packed_set(v) {
            meter::spend(items.len() / 8)?;
            items.iter().for_each(|x| n[(x >> 24) as usize] += 1);
            n_all = items.len();
        } else if let Some(g) = dense(v) {
            meter::spend(g.cells().len() / 16)?;
            count(g.cells(), &mut n);
            n_all = g.cells().len();
        } else {
            return Ok(None);
        }
        Ok(Some(Counts { n, n_all }))
    }

    /// How often a colour occurs.
    fn of_color(&self, c: i64) -> u32 {
        self.n[(c + 128) as usize]
    }

    /// A range of slots with all colours that occur: 16 slots are enough for most grids of tasks.
    fn slots(&self) -> std::ops::Range<usize> {
        let n_usual: u32 = self.n[128..144].iter().sum();
        if n_usual as usize == self.n_all { 128..144 } else { 0..256 }
    }

    /// The colours that occur, ascending.
    fn colors(&self) -> impl Iterator<Item = i64> + '_ {
        let slots = self.slots();
        slots.filter(|&k| self.n[k] > 0).map(|k| k as i64 - 128)
    }

    /// The colours in the iteration order of their set.
    fn in_set_order(&self, v: &Value) -> Vec<i64> {
        if meter::order() == Order::Sorted {
            return self.colors().collect();
        }
        let sequence = self.insertion_sequence(v);
        let hashes: Vec<u64> = sequence.iter().map(|&c| hash::int(c)).collect();
        Layout::of_hashes(&hashes, None).perm.iter().map(|&k| sequence[k as usize]).collect()
    }

    /// The colours ascending, if their table does not depend on the order of insertion.
    fn settled_sequence(&self) -> Option<Vec<i64>> {
        let ascending: Vec<i64> = self.colors().collect();
        let hashes: Vec<u64> = ascending.iter().map(|&c| hash::int(c)).collect();
        let layout = Layout::of_hashes(&hashes, None);
        let mask = layout.n_slots - 1;
        let settled = |(k, slot): (&u32, usize)| hashes[*k as usize] as u32 & mask == slot as u32;
        // Every colour is in its first slot for any order of insertion, so an object's order is not needed.
        let is_settled = layout.perm.iter().zip(layout.slots()).all(settled);
        is_settled.then_some(ascending)
    }

    /// The colours in an order of insertion that gives the same table as the true one.
    fn insertion_sequence(&self, v: &Value) -> Vec<i64> {
        if let Some(ascending) = self.settled_sequence() {
            return ascending;
        }
        let mut seen = [false; 256];
        let mut sequence = Vec::new();
        let mut add = |c: i64| {
            if !std::mem::replace(&mut seen[(c + 128) as usize], true) {
                sequence.push(c);
            }
        };
        if let Some((s, _, ElementKind::Cell | ElementKind::Triple)) = packed_set(v) {
            s.packed_in_order()
                .expect("the set is packed")
                .iter()
                .for_each(|&x| add(packed::color(x).into()));
        } else if let Some(g) = dense(v) {
            g.cells().iter().for_each(|&c| add(c.into()));
        }
        sequence
    }
}

/// Adds up how often each cell occurs.
fn count(cells: &[i8], n: &mut [u32; 256]) {
    let slot = |c: i8| (i32::from(c) + 128) as usize;
    if cells.len() < 4096 {
        cells.iter().for_each(|&c| n[slot(c)] += 1);
        return;
    }
    // Neighbouring cells are mostly equal: with separate counters, their increments do not depend on each other.
    let mut parts = [[0u32; 256]; 4];
    let quads = cells.chunks_exact(4);
    quads.remainder().iter().for_each(|&c| n[slot(c)] += 1);
    for quad in quads {
        for (part, &c) in parts.iter_mut().zip(quad) {
            part[slot(c)] += 1;
        }
    }
    for part in &parts {
        n.iter_mut().zip(part).for_each(|(sum, k)| *sum += k);
    }
}

pub(crate) fn palette(a: &[Value]) -> Result {
    if let Some(colors) = color_bits(&a[0]) {
        let known = set_cache::palette(colors, || {
            let counts = Counts {
                n: std::array::from_fn(|k| {
                    u32::from(colors.checked_shr(k as u32 ^ 128).unwrap_or(0) & 1)
                }),
                n_all: colors.count_ones() as usize,
            };
            let sequence = counts.settled_sequence()?;
            let table = ValueTable::collect(sequence.into_iter().map(Value::Int)).copied();
            table.into_value().ok()
        });
        if let Some(set) = known {
            // The charge for counting the colours.
            match packed_set(&a[0]) {
                Some((_, items, _)) => meter::spend(items.len() / 8)?,
                None => meter::spend(dense(&a[0]).map_or(0, |g| g.cells().len() / 16))?,
            }
            return Ok(set);
        }
    }
    palette_table(&a[0])?.into_value()
}

/// The colours of a grid or an object as bits, if all are below 16.
fn color_bits(element: &Value) -> Option<u16> {
    let mut bits = 0;
    if let Some((_, items, ElementKind::Cell | ElementKind::Triple)) = packed_set(element) {
        for &x in items {
            bits |= 1u64.checked_shl((x >> 24).wrapping_sub(128)).unwrap_or(1 << 16);
        }
    } else if let Value::Grid(g) = element {
        for &c in g.cells() {
            bits |= 1u64.checked_shl(c as u32).unwrap_or(1 << 16);
        }
    }
    u16::try_from(bits).ok().filter(|&bits| bits != 0)
}

/// `frozenset({…colours…})`.
pub(crate) fn palette_table(element: &Value) -> Result<ValueTable> {
    let values = match Counts::of(element)? {
        Some(counts) => counts.insertion_sequence(element).into_iter().map(Value::Int).collect(),
        None if meter::dialect().has_defaults() => row_values(element)?,
        None => all_values(element)?,
    };
    let table = ValueTable::collect(values);
    // One dialect inserts the colours into a frozenset, the others copy a set of them.
    Ok(match meter::dialect().has_defaults() {
        true => table,
        false => table.copied(),
    })
}

/// The colours of a grid; where a dialect has defaults, of the rows of any container, and none of what has no rows.
fn grid_palette(grid: &Value) -> Result<ValueTable> {
    if !meter::dialect().has_defaults() {
        return palette_table(grid);
    }
    match rows_table(grid) {
        Err(fault) if is_caught(fault) => Ok(ValueTable::collect([])),
        found => found,
    }
}

/// The values of rows, inserted into a set one after the other.
pub(crate) fn rows_table(rows: &Value) -> Result<ValueTable> {
    match dense(rows) {
        Some(_) => palette_table(rows),
        None => Ok(ValueTable::collect(row_values(rows)?)),
    }
}

pub(crate) fn numcolors(a: &[Value]) -> Result {
    let n = match Counts::of(&a[0])? {
        Some(counts) => counts.colors().count(),
        None => palette_table(&a[0])?.len(),
    };
    Ok(Value::Int(n as i64))
}

pub(crate) fn color(a: &[Value]) -> Result {
    if let Some((_, items, ElementKind::Cell | ElementKind::Triple)) = packed_set(&a[0])
        && one_color(items)
    {
        return Ok(Value::Int(packed::color(items[0]).into()));
    }
    op::item(&op::first(&a[0])?, 0)
}

pub(crate) fn colorcount(a: &[Value]) -> Result {
    let (element, value) = (&a[0], &a[1]);
    let color = value.as_int().filter(|c| packed::color_fits(*c));
    if let Some((_, items, ElementKind::Cell | ElementKind::Triple)) = packed_set(element) {
        meter::spend(items.len() / 8)?;
        let byte = color.map(|c| packed::color_bits(c as i32) >> 24);
        let n = items.iter().filter(|&x| Some(x >> 24) == byte).count();
        return Ok(Value::Int(n as i64));
    }
    if let Some(g) = dense(element) {
        meter::spend(g.cells().len() / 16)?;
        let cell = color.map(|c| c as i8);
        let n = g.cells().iter().filter(|&c| Some(*c) == cell).count();
        return Ok(Value::Int(n as i64));
    }
    let mut n = 0;
    for e in op::items(element)? {
        if !element.is_tuple() {
            n += i64::from(op::equal(&op::unpack(&e)?.0, value));
        } else if e.is_tuple() {
            n += op::items(&e)?.iter().filter(|v| *v == value).count() as i64;
        } else {
            // Only tuples have a method `count`.
            return Err(Fault::AttributeError);
        }
    }
    Ok(Value::Int(n))
}

pub(crate) fn colorfilter(a: &[Value]) -> Result {
    let is_wanted = |e: &Value| match packed_set(e)? {
        (_, items, ElementKind::Cell | ElementKind::Triple) if one_color(items) => {
            Some(a[1] == Value::Int(packed::color(items[0]).into()))
        }
        _ => None,
    };
    if let Some(kept) = kept_sets(&a[0], is_wanted) {
        return kept;
    }
    let mut kept = Vec::new();
    for e in op::items(&a[0])? {
        let color = match packed_set(&e) {
            Some((_, items, ElementKind::Cell | ElementKind::Triple)) if one_color(items) => {
                Value::Int(packed::color(items[0]).into())
            }
            _ => color_of(&op::first(&e).map_err(Fault::through_generator)?)?,
        };
        if op::equal(&color, &a[1]) {
            kept.push(e);
        }
    }
    set::from_values(kept)
}

/// `cell[0]`, or `cell[2]` where a cell is a triple.
pub(crate) fn color_of(cell: &Value) -> Result {
    match meter::cell_kind() {
        ElementKind::Triple => op::item(cell, 2),
        _ => op::item(cell, 0),
    }
}

pub(crate) fn ofcolor(a: &[Value]) -> Result {
    let (element, value) = (&a[0], &a[1]);
    if let Some(g) = dense(element).filter(|g| fits(g)) {
        meter::build(g.cells().len(), 4)?;
        let Some(c) = value.as_int().filter(|c| packed::color_fits(*c)) else {
            return Ok(set::empty());
        };
        return Ok(set::packed(
            places_of(&g, c as i8),
            ElementKind::Place,
            IterationOrder::Sequence,
        ));
    }
    let mut places = Vec::new();
    for (i, row) in op::items(element)?.iter().enumerate() {
        for (j, v) in op::items(row)?.iter().enumerate() {
            if op::equal(v, value) {
                places.push(Value::pair(i as i64, j as i64)?);
            }
        }
    }
    set::from_values(places)
}

/// Whether all indices of the grid can be packed.
pub(crate) fn fits(g: &Grid) -> bool {
    packed::fits(g.height() as i64, g.width() as i64)
}

fn places_of(g: &Grid, c: i8) -> Vec<u32> {
    let n = g.cells().iter().filter(|&&v| v == c).count();
    let mut places = Vec::with_capacity(n);
    for (i, row) in g.rows().enumerate() {
        if places.len() == n {
            break;
        }
        let first = packed::place(i as i32, 0);
        places.extend((first..).zip(row).filter(|(_, v)| **v == c).map(|(p, _)| p));
    }
    places
}

pub(crate) fn replace(a: &[Value]) -> Result {
    if let (Value::Grid(g), Some(from), Some(to)) = (&a[0], a[1].as_int(), grid::cell(&a[2])) {
        meter::build(g.cells().len(), 1)?;
        let cells = match i8::try_from(from) {
            Ok(from) => {
                let cells = g.cells().iter();
                cells.map(|&c| if c == from { to } else { c }).collect()
            }
            Err(_) => g.cells().to_vec(),
        };
        return grid::value(g.height(), g.width(), cells);
    }
    recolored(&a[0], |v| if op::equal(v, &a[1]) { a[2].clone() } else { v.clone() })
}

pub(crate) fn switch(a: &[Value]) -> Result {
    let (x, y) = (&a[1], &a[2]);
    let is_one = x == y;
    recolored(&a[0], |v| {
        let to = if v == x && !is_one {
            y
        } else if v == y {
            x
        } else {
            v
        };
        to.clone()
    })
}

fn recolored(grid: &Value, map: impl Fn(&Value) -> Value) -> Result {
    if let Some(g) = dense(grid) {
        meter::build(g.cells().len(), 1)?;
        let mut table = [None; 256];
        let cells: Option<Vec<i8>> = g
            .cells()
            .iter()
            .map(|&c| {
                *table[(i32::from(c) + 128) as usize]
                    .get_or_insert_with(|| grid::cell(&map(&Value::Int(c.into()))))
            })
            .collect();
        if let Some(cells) = cells {
            return grid::value(g.height(), g.width(), cells);
        }
    }
    let mut rows = Vec::new();
    for row in op::items(grid)? {
        rows.push(Value::tuple(op::items(&row)?.iter().map(&map).collect())?);
    }
    Value::tuple(rows)
}

pub(crate) fn partition(a: &[Value]) -> Result {
    let colors = grid_palette(&a[0])?;
    parts(&a[0], colors.iter())
}

pub(crate) fn fgpartition(a: &[Value]) -> Result {
    let palette = grid_palette(&a[0])?;
    let background = ValueTable::collect([most_color(&a[0])?]);
    parts(&a[0], palette.minus(&background).iter())
}

/// The set of the cells of each colour.
fn parts<'a>(grid: &Value, colors: impl Iterator<Item = &'a Value>) -> Result {
    let dense = dense(grid).filter(|g| fits(g));
    let mut all = Vec::new();
    for color in colors {
        if let (Some(g), Some(c)) = (&dense, grid::cell(color)) {
            meter::build(g.cells().len(), 4)?;
            let bits = packed::color_bits(c.into());
            let cells = places_of(g, c).into_iter().map(|p| p | bits).collect();
            all.push(set::packed(cells, meter::cell_kind(), IterationOrder::Sequence));
            continue;
        }
        let mut cells = Vec::new();
        for (i, row) in op::items(grid)?.iter().enumerate() {
            for (j, v) in op::items(row)?.into_iter().enumerate() {
                if op::equal(&v, color) {
                    cells.push(op::cell_of(Value::Int(i as i64), Value::Int(j as i64), v)?);
                }
            }
        }
        all.push(set::from_values(cells)?);
    }
    set::from_values(all)
}
