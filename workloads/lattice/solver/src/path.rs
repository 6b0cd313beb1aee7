//! A shortest path between two vertices.

use super::guided::{guided_distance, guided_need, nearer};
use super::{Lattice, LatticeError, MemoryNeed, SearchScratch};

/// The result of the search for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathAnswer {
    /// The ids of the vertices of a shortest path, both ends included.
    Found(Vec<u64>),
    /// The blocked vertices separate the two ends.
    NoPath,
}

impl PathAnswer {
    /// The number of edges of the path, if there is one.
    pub fn length(&self) -> Option<u64> {
        match self {
            PathAnswer::Found(vertices) => Some(vertices.len() as u64 - 1),
            PathAnswer::NoPath => None,
        }
    }
}

/// Finds a shortest path from one vertex to another, the same one on every call.
///
/// If no vertex is blocked, the path is written axis by axis; otherwise a search finds it. That
/// there is no path is an answer, not an error.
///
/// # Errors
/// If an end is blocked or outside the lattice, a search is needed in a lattice that is too large
/// for it, or `stop` returns true.
pub fn shortest_path(
    lattice: &Lattice,
    from: u64,
    to: u64,
    scratch: &mut SearchScratch,
    stop: &dyn Fn() -> bool,
) -> Result<PathAnswer, LatticeError> {
    let from = lattice.endpoint(from)?;
    let to = lattice.endpoint(to)?;
    if lattice.n_blocked() == 0 {
        return Ok(PathAnswer::Found(straight_path(lattice, from, to)));
    }

    let grid = lattice.grid()?;
    let (from, to) = (from as u32, to as u32);
    // The search starts at the far end, so that following nearer vertices writes the path forwards.
    let length = guided_distance(grid, to, from, scratch, stop)?;
    let Some(length) = length else {
        return Ok(PathAnswer::NoPath);
    };
    let mut vertices = Vec::with_capacity(length as usize + 1);
    vertices.push(u64::from(from));
    let mut vertex = from;
    for distance in (1..=length).rev() {
        vertex = nearer(grid, scratch, vertex, distance);
        vertices.push(u64::from(vertex));
    }
    Ok(PathAnswer::Found(vertices))
}

/// The memory that [`shortest_path`] needs on this lattice.
///
/// # Errors
/// If a search is needed in a lattice that is too large for it.
pub fn path_need(lattice: &Lattice) -> Result<MemoryNeed, LatticeError> {
    let mut need = MemoryNeed::default();
    if lattice.n_blocked() > 0 {
        need = guided_need(lattice.grid()?.n_vertices());
    }
    need.answer_bytes = 8 * (lattice.path_length_max() + 1);
    Ok(need)
}

/// The path along the first axis first, then along the second, and so on.
fn straight_path(lattice: &Lattice, from: u64, to: u64) -> Vec<u64> {
    let axes = || {
        lattice.strides().map(|(size, stride)| {
            let of = |vertex: u64| vertex / stride % size;
            (stride, of(from), of(to))
        })
    };
    let length: u64 = axes().map(|(_, start, end)| start.abs_diff(end)).sum();
    let mut vertices = Vec::with_capacity(length as usize + 1);
    let mut vertex = from;
    vertices.push(vertex);
    for (stride, start, end) in axes() {
        for _ in 0..start.abs_diff(end) {
            match start < end {
                true => vertex += stride,
                false => vertex -= stride,
            }
            vertices.push(vertex);
        }
    }
    vertices
}
