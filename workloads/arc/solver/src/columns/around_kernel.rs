//! Primitives on columns of neighbourhoods: they count the cells of a colour around each place without building the
//! sets.
//!
//! A kernel charges the meter what the primitive charges for building the sets.

use crate::columns::column::{Column, Shared};
use crate::columns::columnwise::Kernel;
use crate::evaluate::meter::{self, Usage};
use crate::primitives::{line, paint};
use crate::value::Value;
use crate::value::fault::Result;
use crate::value::grid::KnownGrid;
use crate::value::packed;
use std::rc::Rc;

pub(crate) const NEIGHBORS: Kernel = |a, _| neighbors(a, Around::All);
pub(crate) const DNEIGHBORS: Kernel = |a, _| neighbors(a, Around::Beside);
pub(crate) const INEIGHBORS: Kernel = |a, _| neighbors(a, Around::Diagonal);

/// Which places count as neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Around {
    Beside,
    Diagonal,
    All,
}

impl Around {
    fn steps(self) -> &'static [(i32, i32)] {
        match self {
            Around::Beside => &[(-1, 0), (1, 0), (0, -1), (0, 1)],
            Around::Diagonal => &[(-1, -1), (-1, 1), (1, -1), (1, 1)],
            Around::All => &[(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)],
        }
    }

    /// The set of the places around this one.
    pub(crate) fn value(self, (i, j): (i32, i32)) -> Result {
        let place = [Value::Pair(i, j)];
        match self {
            Around::Beside => line::dneighbors(&place),
            Around::Diagonal => line::ineighbors(&place),
            Around::All => line::neighbors(&place),
        }
    }

    /// The cells of a grid around this place.
    pub(crate) fn object(self, place: (i32, i32), grid: &Rc<KnownGrid>) -> Result {
        let places = self.value(place)?;
        meter::unmetered(|| paint::toobject(&[places, Value::Grid(grid.clone())]))
    }
}

fn neighbors<'a>(a: &[Shared<'a>], around: Around) -> Option<Shared<'a>> {
    let Column::Pairs(places) = &*a[0] else {
        return None;
    };
    let fits = |&(i, j): &(i32, i32)| {
        packed::fits(i64::from(i) - 1, i64::from(j) - 1)
            && packed::fits(i64::from(i) + 1, i64::from(j) + 1)
    };
    let fit = places.iter().all(fits);
    fit.then(|| Rc::new(Column::Neighbors(around, places.clone())))
}

pub(crate) fn toobject<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (Column::Neighbors(around, places), Column::Same(Value::Grid(grid))) = (&*a[0], &*a[1])
    else {
        return None;
    };
    let n_around = around.steps().len() as u64;
    meter::charge(Usage { work: n as u64 * (n_around / 8), bytes: n as u64 * n_around * 4 })
        .ok()?;
    let column = Column::NeighborCells(*around, places.clone(), grid.clone());
    Some(Rc::new(column))
}

pub(crate) fn colorcount<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (Column::NeighborCells(around, places, grid), Column::Same(Value::Int(color))) =
        (&*a[0], &*a[1])
    else {
        return None;
    };
    let (h, w) = (grid.height() as i32, grid.width() as i32);
    let color = i8::try_from(*color).ok()?;
    let mut counts = Vec::with_capacity(n);
    let mut work = 0;
    for &(i, j) in places {
        let (mut count, mut n_cells) = (0, 0);
        for (di, dj) in around.steps() {
            let (y, x) = (i + di, j + dj);
            if (0..h).contains(&y) && (0..w).contains(&x) {
                n_cells += 1;
                count += i64::from(grid.at(y as usize, x as usize) == color);
            }
        }
        work += n_cells / 8;
        counts.push(count);
    }
    meter::charge(Usage { work, bytes: 0 }).ok()?;
    Some(Rc::new(Column::Ints(counts)))
}
