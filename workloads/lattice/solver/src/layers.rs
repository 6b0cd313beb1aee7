//! Layers: the vertices around one vertex, counted by distance.

use super::grid::Grid;
use super::search::{search, search_need};
use super::{Lattice, LatticeError, MemoryNeed, SearchScratch};

/// The entry in [`Layers::distances`] of a vertex that is blocked or cannot be reached.
pub const UNREACHABLE: u32 = u32::MAX;

/// The distances of the vertices of a lattice from one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// `counts[d]` vertices are at distance `d`; the first count is 1 and none is 0.
    ///
    /// Ids have 64 bits, so 64 bits hold every count.
    pub counts: Vec<u64>,
    /// Free vertices that cannot be reached.
    pub n_unreachable: u64,
    /// The distance of each vertex by id, or [`UNREACHABLE`]; `None` unless requested.
    pub distances: Option<Vec<u32>>,
}

impl Layers {
    /// The distance of the farthest vertex that can be reached.
    pub fn eccentricity(&self) -> u64 {
        self.counts.len() as u64 - 1
    }
}

/// Counts the vertices at each distance from one vertex, and lists all distances if
/// `with_distances`.
///
/// If no vertex is blocked, the counts are the coefficients of a product of one small polynomial
/// per axis. Otherwise a breadth-first search counts.
///
/// # Errors
/// If `from` is outside the lattice or blocked, a search or the list of distances is needed in a
/// lattice that is too large for it, or `stop` returns true.
pub fn layers(
    lattice: &Lattice,
    from: u64,
    with_distances: bool,
    scratch: &mut SearchScratch,
    stop: &dyn Fn() -> bool,
) -> Result<Layers, LatticeError> {
    let from = lattice.endpoint(from)?;
    if lattice.n_blocked() == 0 {
        let distances = if with_distances {
            Some(straight_distances(lattice.grid()?, from as u32, stop)?)
        } else {
            None
        };
        return Ok(Layers { counts: straight_counts(lattice, from), n_unreachable: 0, distances });
    }

    let (grid, from) = (lattice.grid()?, from as u32);
    let mut counts: Vec<u64> = Vec::new();
    let mut distances = if with_distances {
        Some(unreachable_distances(grid.n_vertices() as usize, stop)?)
    } else {
        None
    };
    search(grid, from, scratch, stop, |vertex, distance| {
        match counts.get_mut(distance as usize) {
            Some(count) => *count += 1,
            None => counts.push(1),
        }
        if let Some(distances) = &mut distances {
            distances[vertex as usize] = distance;
        }
    })?;
    Ok(Layers { n_unreachable: grid.n_free() - counts.iter().sum::<u64>(), counts, distances })
}

/// The memory that [`layers`] needs on this lattice.
///
/// # Errors
/// If a search or the list of distances is needed in a lattice that is too large for it.
pub fn layers_need(lattice: &Lattice, with_distances: bool) -> Result<MemoryNeed, LatticeError> {
    let mut need = MemoryNeed::default();
    if lattice.n_blocked() > 0 {
        need = search_need(lattice.grid()?.n_vertices());
    }
    // A growing list is up to half empty, and while it is reallocated, the old one still exists.
    // The product of polynomials has two lists as well.
    need.answer_bytes = 3 * 8 * (lattice.path_length_max() + 1).max(4);
    if with_distances {
        need.answer_bytes += 4 * lattice.grid()?.n_vertices();
    }
    Ok(need)
}

/// A distance is a sum of one distance per axis, so the counts are a product of polynomials.
fn straight_counts(lattice: &Lattice, from: u64) -> Vec<u64> {
    let mut counts: Vec<u64> = vec![1];
    for (size, stride) in lattice.strides() {
        let coordinate = from / stride % size;
        // The number of vertices of the axis on either side, one at each distance.
        let sides = [coordinate as usize, (size - 1 - coordinate) as usize];
        let n = counts.len() + sides[0].max(sides[1]);
        let mut product = Vec::with_capacity(n);
        product.extend_from_slice(&counts);
        product.resize(n, 0);
        for n_side in sides {
            // A sliding window sums the counts at 1 to `n_side` positions before.
            let mut sum = 0;
            for (at, total) in product.iter_mut().enumerate().skip(1) {
                sum += counts.get(at - 1).copied().unwrap_or(0);
                if let Some(left) = at.checked_sub(n_side + 1) {
                    sum -= counts.get(left).copied().unwrap_or(0);
                }
                *total += sum;
            }
        }
        counts = product;
    }
    counts
}

/// Fills row by row along the last axis, adding the distance along the other axes.
fn straight_distances(
    grid: &Grid,
    from: u32,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<u32>, LatticeError> {
    let row_length = grid.axes().last().map_or(1, |axis| axis.size);
    let column = from % row_length;
    let mut distances = Vec::with_capacity(grid.n_vertices() as usize);
    for row_start in (0..grid.n_vertices()).step_by(row_length as usize) {
        let row_idx = row_start / u64::from(row_length);
        if row_idx % 1024 == 0 && stop() {
            return Err(LatticeError::Interrupted);
        }
        let to_row = grid.manhattan(from, row_start as u32 + column);
        distances.extend((0..row_length).map(|x| to_row + x.abs_diff(column)));
    }
    Ok(distances)
}

/// Filled in pieces, because filling gigabytes takes longer than `stop` may wait.
fn unreachable_distances(n: usize, stop: &dyn Fn() -> bool) -> Result<Vec<u32>, LatticeError> {
    let mut distances = Vec::with_capacity(n);
    while distances.len() < n {
        if stop() {
            return Err(LatticeError::Interrupted);
        }
        distances.resize(n.min(distances.len() + (1 << 20)), UNREACHABLE);
    }
    Ok(distances)
}
