//! Connected components of a grid, and the replay of how the reference grows them.

use crate::evaluate::meter::{self, Order};
use crate::primitives::color;
use crate::set;
use crate::set::set_cache;
use crate::set_order::index_order;
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::table::{PackedTable, Table};
use crate::value::fault::Result;
use crate::value::grid::{Grid, KnownGrid};
use crate::value::packed::{self, Bounds, ElementKind};
use crate::value::{Value, nesting_of};
use std::cell::OnceCell;
use std::rc::Rc;

/// The components of a grid: of equal colour, or of everything that is not background.
pub(crate) struct Labels {
    /// The packed cells, one component after the other.
    cells: Vec<u32>,
    /// Where each component ends.
    ends: Vec<u32>,
    /// The component of each cell of the grid, `NO_LABEL` on the background; needed only for a replay.
    of_cells: OnceCell<Vec<u32>>,
}

const NO_LABEL: u32 = u32::MAX;

impl Labels {
    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The packed cells of a component.
    fn component(&self, k: usize) -> &[u32] {
        let start = k.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cells[start as usize..self.ends[k] as usize]
    }

    /// The component of each cell of the grid.
    fn of_cells(&self, grid: &Grid) -> &[u32] {
        self.of_cells.get_or_init(|| {
            let mut labels = vec![NO_LABEL; grid.cells().len()];
            for k in 0..self.len() {
                for &x in self.component(k) {
                    let (i, j) = (packed::row(x) as usize, packed::col(x) as usize);
                    labels[i * grid.width() + j] = k as u32;
                }
            }
            labels
        })
    }
}

/// The corner of the grid that holds the foreground and the cells around it, if it is small enough to be packed.
///
/// Objects of a very wide grid are searched for in this corner; other grids are searched whole.
pub(crate) fn foreground(grid: &Rc<KnownGrid>, background: Option<i8>) -> Option<Rc<KnownGrid>> {
    if color::fits(grid) {
        return Some(grid.clone());
    }
    let background = background?;
    let (mut h, mut w) = (0, 0);
    for (i, row) in grid.rows().enumerate() {
        if let Some(j) = last_other(row, background) {
            h = i + 1;
            w = w.max(j + 1);
        }
    }
    let (h, w) = ((h + 1).min(grid.height()), (w + 1).min(grid.width()));
    if !packed::fits(h as i64, w as i64) {
        return None;
    }
    let cells = (0..h).flat_map(|i| &grid.row(i)[..w]).copied().collect();
    Some(Rc::new(Grid::new(w, cells).into()))
}

/// The column of the last cell that is not background.
fn last_other(row: &[i8], background: i8) -> Option<usize> {
    let mut end = row.len();
    // Whole blocks are tested at once, because a wide grid is mostly background.
    while end >= 64 && row[end - 64..end].iter().all(|&c| c == background) {
        end -= 64;
    }
    row[..end].iter().rposition(|&c| c != background)
}

/// The objects as lists of packed cells, in the order in which the reference finds them and their cells.
///
/// The arguments are those of `objects`.
pub(crate) fn objects_as_reached(
    grid: &Rc<KnownGrid>,
    sides: (usize, usize),
    univalued: bool,
    diagonal: bool,
    background: Option<i8>,
) -> Result<Vec<Vec<u32>>> {
    let growth = growth(grid, sides, univalued, diagonal, background)?;
    Ok(growth.as_reached())
}

/// `objects`. Calls with equal flags share the labelling, which the grid caches.
///
/// `grid` is the foreground's corner of a grid with these sides.
pub(crate) fn objects(
    grid: &Rc<KnownGrid>,
    sides: (usize, usize),
    univalued: bool,
    diagonal: bool,
    background: Option<i8>,
) -> Result {
    let growth = growth(grid, sides, univalued, diagonal, background)?;
    let labels = &growth.labels;
    if labels.len() == 0 {
        return Ok(set::empty());
    }
    let items: Vec<Value> = (0..labels.len())
        .map(|k| {
            let order = IterationOrder::Grown(growth.clone(), k as u32);
            set::packed(labels.component(k).to_vec(), growth.kind, order)
        })
        .collect();
    let (nesting, _) = nesting_of(items.iter())?;
    let order = IterationOrder::Objects(growth);
    Ok(set::general(items, None, order, nesting))
}

fn growth(
    grid: &Rc<KnownGrid>,
    sides: (usize, usize),
    univalued: bool,
    diagonal: bool,
    background: Option<i8>,
) -> Result<Rc<Growth>> {
    meter::build(grid.cells().len(), 8)?;
    let made = || {
        let label = match (univalued, diagonal) {
            (true, true) => label::<true, true>,
            (true, false) => label::<true, false>,
            (false, true) => label::<false, true>,
            (false, false) => label::<false, false>,
        };
        Rc::new(label(grid, background))
    };
    // A grid has one background. The whole grid as one object is hardly ever computed twice, so it is not cached.
    let slot = match (univalued, background) {
        (true, Some(_)) => Some(0),
        (true, None) => Some(2),
        (false, Some(_)) => Some(4),
        (false, None) => None,
    };
    let labels = match slot {
        Some(slot) => (grid.labels(slot + usize::from(diagonal)).get_or_init(made)).clone(),
        None => made(),
    };
    Ok(Rc::new(Growth {
        kind: meter::cell_kind(),
        grid: grid.clone(),
        sides,
        labels,
        univalued,
        diagonal,
        background,
        visits: OnceCell::new(),
    }))
}

/// Marks a cell that no component can take; it is no colour.
const TAKEN: i16 = i16::MIN;

/// Finds the components, scanning row by row.
fn label<const UNIVALUED: bool, const DIAGONAL: bool>(
    grid: &Grid,
    background: Option<i8>,
) -> Labels {
    let (h, w) = (grid.height(), grid.width());
    // Taken cells pad the grid between the rows, above and below, so that every cell has all its neighbours.
    let stride = w + 1;
    let mut open = vec![TAKEN; (h + 2) * stride + 1];
    let background = background.map(i16::from);
    let mut n_open = 0;
    for (row, cells) in open[stride + 1..].chunks_mut(stride).zip(grid.rows()) {
        for (cell, &c) in row.iter_mut().zip(cells) {
            let c = i16::from(c);
            *cell = if Some(c) == background { TAKEN } else { c };
        }
        n_open += row[..w].iter().filter(|&&c| c != TAKEN).count();
    }
    let mut cells = Vec::with_capacity(n_open);
    let mut ends = Vec::with_capacity(16);
    let mut stack: Vec<(u32, u32)> = Vec::with_capacity(64);
    let colored = |c: i16, place: u32| packed::color_bits(c.into()) | place;
    for i in 0..h {
        let mut from = (i + 1) * stride + 1;
        let end = from + w;
        while let Some(skipped) = open[from..end].iter().position(|&c| c != TAKEN) {
            let start = from + skipped;
            from = start + 1;
            let color = std::mem::replace(&mut open[start], TAKEN);
            let place = packed::place(i as i32, (w - (end - start)) as i32);
            stack.push((start as u32, colored(color, place)));
            while let Some((at, x)) = stack.pop() {
                cells.push(x);
                let (at, place) = (at as usize, x & packed::PLACE_MASK);
                let mut visit = |to: usize, place: u32| {
                    let c = open[to];
                    if if UNIVALUED { c == color } else { c != TAKEN } {
                        open[to] = TAKEN;
                        stack.push((to as u32, colored(c, place)));
                    }
                };
                let (up, down) = (place - ROW, place + ROW);
                visit(at - stride, up);
                visit(at + stride, down);
                visit(at - 1, place - 1);
                visit(at + 1, place + 1);
                if DIAGONAL {
                    visit(at - stride - 1, up - 1);
                    visit(at - stride + 1, up + 1);
                    visit(at + stride - 1, down - 1);
                    visit(at + stride + 1, down + 1);
                }
            }
            ends.push(cells.len() as u32);
        }
    }
    Labels { cells, ends, of_cells: OnceCell::new() }
}

/// A packed place and the one below differ by this.
const ROW: u32 = 1 << 12;

/// The data for a replay of the objects' growth when a program reads their order.
pub(crate) struct Growth {
    grid: Rc<KnownGrid>,
    /// Of the whole grid.
    sides: (usize, usize),
    labels: Rc<Labels>,
    kind: ElementKind,
    univalued: bool,
    diagonal: bool,
    background: Option<i8>,
    visits: OnceCell<Visits>,
}

/// When the reference reaches each component.
struct Visits {
    /// The cell at which it starts.
    start: Vec<u32>,
    /// How many cells belong to earlier objects.
    n_occupied: Vec<u32>,
    rank: Vec<u32>,
}

impl Growth {
    fn visits(&self) -> &Visits {
        self.visits.get_or_init(|| {
            let n = self.labels.len();
            let labels = self.labels.of_cells(&self.grid);
            let mut visits =
                Visits { start: vec![0; n], n_occupied: vec![0; n], rank: vec![u32::MAX; n] };
            let (mut rank, mut n_occupied) = (0, 0);
            self.for_each_index(|at| {
                let k = labels[at as usize];
                if k == NO_LABEL || visits.rank[k as usize] != u32::MAX {
                    return;
                }
                visits.rank[k as usize] = rank;
                visits.start[k as usize] = at;
                visits.n_occupied[k as usize] = n_occupied;
                rank += 1;
                n_occupied += self.labels.component(k as usize).len() as u32;
            });
            visits
        })
    }

    /// The cells' numbers in the iteration order of the set of all indices.
    fn for_each_index(&self, mut visit: impl FnMut(u32)) {
        let (h, w) = self.sides;
        if packed::fits(h as i64, w as i64) {
            if let Value::Set(indices) = set_cache::indices(h, w) {
                indices.layout().perm.iter().for_each(|&at| visit(at));
            }
            return;
        }
        let seen = (self.grid.height(), self.grid.width());
        index_order::visit_indices((h, w), seen, |i, j| visit((i * seen.1 + j) as u32));
    }

    /// The table of the set of the objects, which are added as the reference visits them.
    pub(crate) fn outer_table(&self, hashes: &[u64]) -> Table {
        let mut sequence: Vec<u32> = (0..hashes.len() as u32).collect();
        let table = Table::copy_of_inserted(hashes, &sequence);
        // If every element is in its first slot, the order of insertion does not matter.
        let mask = table.mask();
        let settled = |(slot, &key): (usize, &u32)| {
            key >= crate::set_order::table::DUMMY || hashes[key as usize] as usize & mask == slot
        };
        if hashes.len() == 1 || table.slots.iter().enumerate().all(settled) {
            return table;
        }
        let visits = self.visits();
        sequence.sort_unstable_by_key(|&k| visits.rank[k as usize]);
        Table::copy_of_inserted(hashes, &sequence)
    }

    /// The table of object k after the reference's breadth-first growth.
    pub(crate) fn replay(&self, k: u32) -> PackedTable {
        let start = self.visits().start[k as usize] as usize;
        let seen_w = self.grid.width() as i32;
        let place = packed::place(start as i32 / seen_w, start as i32 % seen_w);
        let color = packed::color_bits(self.grid.cells()[start].into());
        let mut object = PackedTable::collect(self.kind, [color | place]);
        self.grow(k, |x| object.add(x));
        object.copied()
    }

    /// The objects in the order in which the reference finds them, each with its cells in the order in which it
    /// reaches them.
    fn as_reached(&self) -> Vec<Vec<u32>> {
        let rank = &self.visits().rank;
        let mut order: Vec<u32> = (0..self.labels.len() as u32).collect();
        order.sort_unstable_by_key(|&k| rank[k as usize]);
        let cells = |k: u32| {
            let mut cells = Vec::with_capacity(self.labels.component(k as usize).len());
            self.grow(k, |x| cells.push(x));
            cells
        };
        order.into_iter().map(cells).collect()
    }

    /// The reference's breadth-first growth of object k: each cell as it joins.
    fn grow(&self, k: u32, mut joined: impl FnMut(u32)) {
        let (h, w) = (self.sides.0 as i32, self.sides.1 as i32);
        let seen_w = self.grid.width() as i32;
        let number = |p: u32| (packed::row(p) * seen_w + packed::col(p)) as usize;
        let (visits, labels) = (self.visits(), self.labels.of_cells(&self.grid));
        let rank = visits.rank[k as usize];
        let start = visits.start[k as usize] as usize;
        let start_place = packed::place(start as i32 / seen_w, start as i32 % seen_w);
        let color = self.grid.cells()[start];
        // The marks cover only the object's own rectangle, because a grid may have as many objects as cells.
        let bounds = Bounds::of(self.labels.component(k as usize));
        let mut mine = vec![false; bounds.area()];
        let is_mine = |mine: &[bool], p: u32| bounds.holds(p) && mine[bounds.rank(p)];
        let mut n_occupied = visits.n_occupied[k as usize] as usize;
        let mut candidates = PackedTable::collect(ElementKind::Place, [start_place]);
        while candidates.table.used > 0 {
            let mut neighborhood = PackedTable::new(ElementKind::Place);
            let mut in_order: Vec<u32> = candidates.table.keys().collect();
            if meter::order() == Order::Sorted {
                in_order.sort_unstable();
            }
            for p in in_order {
                let c = self.grid.cells()[number(p)];
                let joins = if self.univalued { c == color } else { self.background != Some(c) };
                if !joins {
                    continue;
                }
                joined(packed::color_bits(c.into()) | p);
                if !std::mem::replace(&mut mine[bounds.rank(p)], true) {
                    n_occupied += 1;
                }
                let (i, j) = (packed::row(p), packed::col(p));
                let around = if self.diagonal {
                    set_cache::neighbors(i, j)
                } else {
                    set_cache::dneighbors(i, j)
                };
                let on_grid = around.table.keys().filter(|&q| {
                    (0..h).contains(&packed::row(q)) && (0..w).contains(&packed::col(q))
                });
                neighborhood.absorb(&PackedTable::collect(ElementKind::Place, on_grid));
            }
            candidates = neighborhood.minus(n_occupied, |p| {
                is_mine(&mine, p) || {
                    let other = labels[number(p)];
                    other != NO_LABEL && visits.rank[other as usize] < rank
                }
            });
        }
    }
}
