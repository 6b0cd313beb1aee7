//! The figures of a lattice as a graph: counts, connectedness, diameter.

use super::diameter::{N_VERTICES_DIAMETER_MAX, diameter, diameter_need};
use super::grid::Grid;
use super::search::{search, search_need};
use super::{Lattice, LatticeError, MemoryNeed, SearchScratch};

/// The figures of a lattice. Blocked vertices and their edges do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Free vertices.
    pub n_vertices: u128,
    /// Edges between free vertices.
    pub n_edges: u128,
    /// Whether every free vertex can be reached from every other.
    ///
    /// A single free vertex is connected; a lattice without free vertices is not.
    pub connected: bool,
    /// The greatest distance between two vertices.
    ///
    /// `None` if the lattice is not connected, or if vertices are blocked and more than
    /// [`N_VERTICES_DIAMETER_MAX`] are free. A single free vertex has diameter 0.
    pub diameter: Option<u64>,
    /// `2 · edges / vertices`; 0 if no vertex is free.
    pub average_degree: f64,
    /// Always 0: a lattice is bipartite and so has no triangles, whichever vertices are blocked.
    pub clustering_coefficient: f64,
    /// Edges as a share of the pairs of vertices; 0 below two vertices.
    pub density: f64,
}

/// Counts, connectedness and diameter of a lattice.
///
/// If no vertex is blocked, all figures are in closed form and exact for any lattice. Otherwise the
/// edges are counted from the blocked vertices, one search decides whether the rest is connected,
/// and the diameter is exact up to [`N_VERTICES_DIAMETER_MAX`] free vertices.
///
/// ```
/// use swathe_lattice::Lattice;
///
/// let analysis = Lattice::new(&[100; 10])?.analyze()?;
/// assert_eq!(analysis.n_edges, 990_000_000_000_000_000_000); // beyond 64 bits
/// assert_eq!(analysis.diameter, Some(990));
/// # Ok::<(), swathe_lattice::LatticeError>(())
/// ```
///
/// # Errors
/// [`LatticeError::Interrupted`] if `stop` returns true.
pub fn analyze(
    lattice: &Lattice,
    scratch: &mut SearchScratch,
    stop: &dyn Fn() -> bool,
) -> Result<Analysis, LatticeError> {
    let n_vertices = lattice.n_free();
    let n_edges_open = n_edges_open(lattice.sizes());
    if lattice.n_blocked() == 0 {
        let diameter = lattice.sizes().iter().map(|&size| u64::from(size) - 1).sum();
        return Ok(describe(n_vertices, n_edges_open, true, Some(diameter)));
    }

    let grid = lattice.grid()?;
    let n_edges = n_edges_open - n_edges_blocked(grid, stop)?;
    let connected = is_connected(grid, scratch, stop)?;
    let diameter = if connected && grid.n_free() <= N_VERTICES_DIAMETER_MAX {
        Some(diameter(grid, stop)?)
    } else {
        None
    };
    Ok(describe(n_vertices, n_edges, connected, diameter))
}

/// The memory that [`analyze`] needs on this lattice.
pub fn analyze_need(lattice: &Lattice) -> MemoryNeed {
    match lattice.grid() {
        Ok(grid) if grid.n_blocked() > 0 => {
            let mut need = search_need(grid.n_vertices());
            if grid.n_free() <= N_VERTICES_DIAMETER_MAX {
                need.scratch_bytes += diameter_need(grid).scratch_bytes;
            }
            need
        }
        _ => MemoryNeed::default(),
    }
}

fn describe(n_vertices: u128, n_edges: u128, connected: bool, diameter: Option<u64>) -> Analysis {
    let ratio = |numerator: f64, denominator: u128| {
        if denominator == 0 { 0.0 } else { numerator / denominator as f64 }
    };
    let average_degree = ratio(2.0 * n_edges as f64, n_vertices);
    Analysis {
        n_vertices,
        n_edges,
        connected,
        diameter,
        average_degree,
        clustering_coefficient: 0.0,
        // The number of pairs itself can exceed 128 bits.
        density: ratio(average_degree, n_vertices.saturating_sub(1)),
    }
}

/// The number of edges if no vertex is blocked: each row along an axis has one edge fewer than
/// vertices.
fn n_edges_open(sizes: &[u32]) -> u128 {
    let n_vertices: u128 = sizes.iter().map(|&size| u128::from(size)).product();
    sizes.iter().map(|&size| n_vertices / u128::from(size) * u128::from(size - 1)).sum()
}

/// The number of edges with at least one blocked end.
fn n_edges_blocked(grid: &Grid, stop: &dyn Fn() -> bool) -> Result<u128, LatticeError> {
    let mut n_edges = 0;
    for (visit_idx, vertex) in grid.blocked().enumerate() {
        if visit_idx % 8192 == 0 && stop() {
            return Err(LatticeError::Interrupted);
        }
        grid.neighbours(vertex, |neighbour| {
            // An edge between two blocked vertices is counted at its lower end only.
            n_edges += u128::from(grid.is_free(neighbour) || vertex < neighbour);
        });
    }
    Ok(n_edges)
}

fn is_connected(
    grid: &Grid,
    scratch: &mut SearchScratch,
    stop: &dyn Fn() -> bool,
) -> Result<bool, LatticeError> {
    let Some(first) = grid.free().next() else {
        return Ok(false);
    };
    let mut n_reached = 0;
    search(grid, first, scratch, stop, |_, _| {
        n_reached += 1;
    })?;
    Ok(n_reached == grid.n_free())
}
