//! Connected components of a grid, and the replay of how the reference grows them.

use crate::fault::Result;
use crate::grid::{Grid, KnownGrid};
use crate::hash;
use crate::layout;
use crate::memo;
use crate::meter;
use crate::packed::{self, Bounds};
use crate::primitives::color;
use crate::recipe::Recipe;
use crate::set;
use crate::table::{PackedTable, Table};
use crate::value::{Value, nesting_of};
use std::cell::OnceCell;
use std::rc::Rc;

/// The components of a grid: of equal colour, or of everything that is not background.
pub(crate) struct Labels {
    /// The component of each cell, `NO_LABEL` on the background.
    label: Vec<u32>,
    /// The packed cells of each component.
    components: Vec<Vec<u32>>,
    hashes: OnceCell<Vec<u64>>,
}

const NO_LABEL: u32 = u32::MAX;

/// The corner of the grid that holds the foreground and the cells around it, if it is small enough to be packed.
///
/// Objects of a very wide grid are found there; of other grids the whole is searched.
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

/// Where the last cell stands that is not background.
fn last_other(row: &[i8], background: i8) -> Option<usize> {
    let mut end = row.len();
    // Whole blocks are looked at together: a wide grid is mostly background.
    while end >= 64 && row[end - 64..end].iter().all(|&c| c == background) {
        end -= 64;
    }
    row[..end].iter().rposition(|&c| c != background)
}

/// `objects`: all ways of asking share the labelling of their grid.
///
/// `grid` is the foreground's corner of a grid with these sides.
pub(crate) fn objects(
    grid: &Rc<KnownGrid>,
    sides: (usize, usize),
    univalued: bool,
    diagonal: bool,
    background: Option<i8>,
) -> Result {
    meter::build(grid.cells().len(), 8)?;
    let made = || Rc::new(label(grid, univalued, diagonal, background));
    // A grid has one background. Everything as one object is hardly ever asked for twice.
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
    let hashes = labels.hashes.get_or_init(|| {
        labels
            .components
            .iter()
            .map(|c| hash::set(c.iter().map(|&p| packed::hash(p, true))))
            .collect()
    });
    if hashes.is_empty() {
        return Ok(set::empty());
    }
    let growth = Rc::new(Growth {
        grid: grid.clone(),
        sides,
        labels: labels.clone(),
        univalued,
        diagonal,
        background,
        visits: OnceCell::new(),
    });
    let items: Vec<Value> = (0..)
        .zip(&labels.components)
        .map(|(k, component)| {
            let recipe = Recipe::Grown(growth.clone(), k);
            let object = set::packed(component.clone(), true, recipe);
            if let Value::Set(s) = &object {
                s.set_hash(hashes[k as usize]);
            }
            object
        })
        .collect();
    let (nesting, _) = nesting_of(items.iter())?;
    let recipe = Recipe::Objects(growth);
    Ok(set::general(items, Some(hashes.clone()), recipe, nesting))
}

/// Finds the components, scanning row by row.
fn label(grid: &Grid, univalued: bool, diagonal: bool, background: Option<i8>) -> Labels {
    let (h, w, cells) = (grid.height(), grid.width(), grid.cells());
    let mut label = vec![NO_LABEL; cells.len()];
    let mut components = Vec::new();
    let mut stack = Vec::new();
    for start in 0..cells.len() {
        if label[start] != NO_LABEL || background == Some(cells[start]) {
            continue;
        }
        let id = components.len() as u32;
        let color = cells[start];
        let mut component = Vec::new();
        label[start] = id;
        stack.push(start);
        while let Some(at) = stack.pop() {
            let (i, j) = (at / w, at % w);
            component.push(packed::cell(cells[at].into(), i as i32, j as i32));
            let mut visit = |to: usize| {
                let joins = if univalued {
                    cells[to] == color
                } else {
                    background != Some(cells[to])
                };
                if label[to] == NO_LABEL && joins {
                    label[to] = id;
                    stack.push(to);
                }
            };
            let (up, down, left, right) = (i > 0, i + 1 < h, j > 0, j + 1 < w);
            if up {
                visit(at - w);
            }
            if down {
                visit(at + w);
            }
            if left {
                visit(at - 1);
            }
            if right {
                visit(at + 1);
            }
            if diagonal {
                if up && left {
                    visit(at - w - 1);
                }
                if up && right {
                    visit(at - w + 1);
                }
                if down && left {
                    visit(at + w - 1);
                }
                if down && right {
                    visit(at + w + 1);
                }
            }
        }
        components.push(component);
    }
    Labels {
        label,
        components,
        hashes: OnceCell::new(),
    }
}

/// What is needed to replay the growth of one object when its order is asked for.
pub(crate) struct Growth {
    grid: Rc<KnownGrid>,
    /// Of the whole grid.
    sides: (usize, usize),
    labels: Rc<Labels>,
    univalued: bool,
    diagonal: bool,
    background: Option<i8>,
    visits: OnceCell<Visits>,
}

/// When the reference comes to each component.
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
            let n = self.labels.components.len();
            let mut visits = Visits {
                start: vec![0; n],
                n_occupied: vec![0; n],
                rank: vec![u32::MAX; n],
            };
            let (mut rank, mut n_occupied) = (0, 0);
            self.for_each_index(|at| {
                let k = self.labels.label[at as usize];
                if k == NO_LABEL || visits.rank[k as usize] != u32::MAX {
                    return;
                }
                visits.rank[k as usize] = rank;
                visits.start[k as usize] = at;
                visits.n_occupied[k as usize] = n_occupied;
                rank += 1;
                n_occupied += self.labels.components[k as usize].len() as u32;
            });
            visits
        })
    }

    /// The cells' numbers in the iteration order of the set of all indices.
    fn for_each_index(&self, mut visit: impl FnMut(u32)) {
        let (h, w) = self.sides;
        if packed::fits(h as i64, w as i64) {
            if let Value::Set(indices) = memo::indices(h, w) {
                indices.layout().perm.iter().for_each(|&at| visit(at));
            }
            return;
        }
        let (seen_h, seen_w) = (self.grid.height(), self.grid.width());
        layout::visit_indices(h, w, |i, j| {
            if i < seen_h && j < seen_w {
                visit((i * seen_w + j) as u32);
            }
        });
    }

    /// The table of the set of the objects, which are added as the reference visits them.
    pub(crate) fn outer_table(&self, hashes: &[u64]) -> Table {
        let hash_of = |k: u32| hashes[k as usize];
        let build = |sequence: &[u32]| {
            let mut table = Table::new();
            for &k in sequence {
                table.insert_new(k, &hash_of);
            }
            table.copied(&hash_of)
        };
        let mut sequence: Vec<u32> = (0..hashes.len() as u32).collect();
        let table = build(&sequence);
        // When every element sits in its first slot the order of insertion has left no trace.
        let mask = table.mask();
        let settled = |(slot, &key): (usize, &u32)| {
            key >= crate::table::DUMMY || hashes[key as usize] as usize & mask == slot
        };
        if hashes.len() == 1 || table.slots.iter().enumerate().all(settled) {
            return table;
        }
        let visits = self.visits();
        sequence.sort_unstable_by_key(|&k| visits.rank[k as usize]);
        build(&sequence)
    }

    /// The table of object k after the reference's breadth-first growth.
    pub(crate) fn replay(&self, k: u32) -> PackedTable {
        let (h, w) = (self.sides.0 as i32, self.sides.1 as i32);
        let seen_w = self.grid.width() as i32;
        let number = |p: u32| (packed::row(p) * seen_w + packed::col(p)) as usize;
        let visits = self.visits();
        let rank = visits.rank[k as usize];
        let start = visits.start[k as usize] as usize;
        let start_place = packed::place(start as i32 / seen_w, start as i32 % seen_w);
        let color = self.grid.cells()[start];
        // Marks inside the object's own rectangle: a grid may have as many objects as cells.
        let bounds = Bounds::of(&self.labels.components[k as usize]);
        let mut mine = vec![false; bounds.area()];
        let is_mine = |mine: &[bool], p: u32| bounds.holds(p) && mine[bounds.rank(p)];
        let mut n_occupied = visits.n_occupied[k as usize] as usize;
        let mut object =
            PackedTable::collect(true, [packed::color_bits(color.into()) | start_place]);
        let mut candidates = PackedTable::collect(false, [start_place]);
        while candidates.table.used > 0 {
            let mut neighborhood = PackedTable::new(false);
            for p in candidates.table.keys() {
                let c = self.grid.cells()[number(p)];
                let joins = if self.univalued {
                    c == color
                } else {
                    self.background != Some(c)
                };
                if !joins {
                    continue;
                }
                object.add(packed::color_bits(c.into()) | p);
                if !std::mem::replace(&mut mine[bounds.rank(p)], true) {
                    n_occupied += 1;
                }
                let (i, j) = (packed::row(p), packed::col(p));
                let around = if self.diagonal {
                    memo::neighbors(i, j)
                } else {
                    memo::dneighbors(i, j)
                };
                let on_grid = around.table.keys().filter(|&q| {
                    (0..h).contains(&packed::row(q)) && (0..w).contains(&packed::col(q))
                });
                neighborhood.absorb(&PackedTable::collect(false, on_grid));
            }
            candidates = neighborhood.minus(n_occupied, |p| {
                is_mine(&mine, p) || {
                    let other = self.labels.label[number(p)];
                    other != NO_LABEL && visits.rank[other as usize] < rank
                }
            });
        }
        object.copied()
    }
}
