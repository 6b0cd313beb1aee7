//! Rectangular grids of small integers.

use crate::evaluate::meter;
use crate::set::labels::Labels;
use crate::value::Value;
use crate::value::fault::Result;
use crate::value::packed::ElementKind;
use crate::value::planes::Planes;
use crate::value::tuple::Tuple;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

/// A rectangular grid of small integers, at least one row and one column.
///
/// ```
/// use swathe_arc::Grid;
/// let grid = Grid::from_rows(&[vec![0, 1], vec![2, 3]]).unwrap();
/// assert_eq!((grid.height(), grid.width()), (2, 2));
/// assert_eq!(grid.row(1), &[2, 3]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// Follows from the other fields; stored because it is read for every cell.
    h: usize,
    w: usize,
    cells: Vec<i8>,
}

impl Grid {
    /// A grid of these rows, or None if they are ragged or empty.
    pub fn from_rows(rows: &[Vec<i8>]) -> Option<Grid> {
        let w = rows.first()?.len();
        if w == 0 || rows.iter().any(|r| r.len() != w) {
            return None;
        }
        Some(Grid::new(w, rows.concat()))
    }

    /// A grid of this width; there is at least one whole row.
    pub(crate) fn new(w: usize, cells: Vec<i8>) -> Grid {
        debug_assert!(w > 0 && !cells.is_empty() && cells.len().is_multiple_of(w));
        let h = cells.len() / w;
        Grid { h, w, cells }
    }

    /// The number of rows.
    #[inline]
    pub fn height(&self) -> usize {
        self.h
    }

    /// The number of columns.
    #[inline]
    pub fn width(&self) -> usize {
        self.w
    }

    /// The cells row by row.
    #[inline]
    pub fn cells(&self) -> &[i8] {
        &self.cells
    }

    /// One row.
    ///
    /// # Panics
    /// If the grid has no such row.
    #[inline]
    pub fn row(&self, i: usize) -> &[i8] {
        &self.cells[i * self.w..(i + 1) * self.w]
    }

    /// The rows from top to bottom.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &[i8]> + ExactSizeIterator {
        self.cells.chunks_exact(self.w)
    }

    #[inline]
    pub(crate) fn at(&self, i: usize, j: usize) -> i8 {
        self.cells[i * self.w + j]
    }

    pub(crate) fn row_value(&self, i: usize) -> Value {
        match *self.row(i) {
            [a, b] => Value::Pair(a.into(), b.into()),
            [a, b, c] if meter::cell_kind() == ElementKind::Triple => {
                Value::Triple(a.into(), b.into(), c.into())
            }
            ref cells => Value::Tuple(Rc::new(Tuple::row(cells.to_vec()))),
        }
    }
}

/// A grid as a value, with cached facts about it.
pub struct KnownGrid {
    grid: Grid,
    background: Cell<Option<i8>>,
    /// Connected components, cached because programs compute the objects of one grid in several
    /// ways.
    labels: [OnceCell<Rc<Labels>>; 6],
    /// Where each colour is, cached because programs search one grid for many objects.
    planes: OnceCell<Box<Planes>>,
}

impl KnownGrid {
    /// The most common colour, once `mostcolor` has found it.
    pub(crate) fn background(&self) -> &Cell<Option<i8>> {
        &self.background
    }

    pub(crate) fn planes(&self) -> &Planes {
        self.planes.get_or_init(|| Box::new(Planes::of(&self.grid)))
    }

    pub(crate) fn labels(&self, k: usize) -> &OnceCell<Rc<Labels>> {
        &self.labels[k]
    }
}

impl From<Grid> for KnownGrid {
    fn from(grid: Grid) -> KnownGrid {
        KnownGrid {
            grid,
            background: Cell::new(None),
            labels: Default::default(),
            planes: OnceCell::new(),
        }
    }
}

impl std::ops::Deref for KnownGrid {
    type Target = Grid;

    fn deref(&self) -> &Grid {
        &self.grid
    }
}

impl From<Grid> for Value {
    fn from(grid: Grid) -> Value {
        Value::Grid(Rc::new(grid.into()))
    }
}

/// The value of rows of equal width; without rows or columns, the empty tuples that Python has.
pub(crate) fn value(h: usize, w: usize, cells: Vec<i8>) -> Result {
    if h == 0 {
        return Value::tuple(vec![]);
    }
    if w == 0 {
        let row = Value::tuple(vec![])?;
        return Value::tuple(vec![row; h]);
    }
    Ok(Grid::new(w, cells).into())
}

/// The value as a grid, if it is a rectangular, non-empty tuple of tuples of small integers.
///
/// Other values (ragged rows, None, booleans, wide integers) take the general paths of the
/// primitives.
pub(crate) fn dense(v: &Value) -> Option<Rc<KnownGrid>> {
    if let Value::Grid(g) = v {
        return Some(g.clone());
    }
    let h = v.tuple_len()?;
    if h == 0 {
        return None;
    }
    let mut w = 0;
    let mut cells = Vec::new();
    for i in 0..h {
        let row = v.tuple_item(i);
        let n = row.tuple_len()?;
        if i == 0 {
            w = n;
            cells.reserve_exact(w * h);
        }
        if n != w || n == 0 {
            return None;
        }
        if let Value::Tuple(t) = &row
            && let Some(row) = t.cells()
        {
            cells.extend_from_slice(row);
            continue;
        }
        for j in 0..n {
            match row.tuple_item(j) {
                Value::Int(c) if packed_color(c) => cells.push(c as i8),
                _ => return None,
            }
        }
    }
    Some(Rc::new(Grid::new(w, cells).into()))
}

/// The colour that a grid can hold, if the value is one.
#[inline]
pub(crate) fn cell(v: &Value) -> Option<i8> {
    match *v {
        Value::Int(c) if packed_color(c) => Some(c as i8),
        _ => None,
    }
}

/// Cells of grids and of packed objects have one range, so that objects of a grid always pack.
#[inline]
fn packed_color(c: i64) -> bool {
    crate::value::packed::color_fits(c)
}
