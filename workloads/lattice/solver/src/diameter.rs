//! The exact diameter of a connected lattice with blocked vertices.

use super::grid::Grid;
use super::{LatticeError, MemoryNeed};

/// The greatest number of free vertices for which the diameter of a lattice with blocked vertices
/// is computed.
pub const N_VERTICES_DIAMETER_MAX: u64 = 100_000;

/// The greatest distance between two free vertices; the lattice must be connected.
///
/// A search from one vertex gives its own eccentricity `e`, and for every other vertex at distance
/// `d` the bounds `max(d, e - d)` and `e + d`. A vertex whose upper bound does not exceed the
/// greatest eccentricity seen is never searched from. Searches start alternately from the vertex
/// that may be farthest out and from the one that may be most central, so a few dozen searches
/// usually suffice; the answer is exact in any case. The worst case is one long cycle: all its
/// vertices are alike, and each is searched from.
pub(super) fn diameter(grid: &Grid, stop: &dyn Fn() -> bool) -> Result<u64, LatticeError> {
    let graph = Graph::new(grid, stop)?;
    let n_vertices = graph.n_vertices();
    let mut sweep = Sweep::new(n_vertices);
    let mut low = vec![0; n_vertices];
    let mut high = vec![u32::MAX; n_vertices];
    let mut candidates: Vec<u32> = (0..n_vertices as u32).collect();
    let mut diameter = 0;
    let mut outward = true;
    while let Some(vertex) = pick(&candidates, &low, &high, outward) {
        outward = !outward;
        let eccentricity = sweep.from(&graph, vertex, stop)?;
        diameter = diameter.max(eccentricity);
        candidates.retain(|&other| {
            let distance = sweep.distances[other as usize];
            let (low, high) = (&mut low[other as usize], &mut high[other as usize]);
            *low = (*low).max(distance).max(eccentricity - distance);
            *high = (*high).min(eccentricity + distance);
            *high > diameter
        });
    }
    Ok(u64::from(diameter))
}

/// The memory that [`diameter`] needs on this lattice.
pub(super) fn diameter_need(grid: &Grid) -> MemoryNeed {
    let n_vertices = grid.n_free();
    let n_ends_max = n_vertices * 2 * grid.axes().len() as u64;
    MemoryNeed {
        // Per vertex: id while the graph is built, start, distance, queue, bounds, candidate.
        scratch_bytes: 4 * (7 * n_vertices + 1 + n_ends_max),
        answer_bytes: 0,
    }
}

/// The candidate with the greatest upper bound or the least lower bound; the other bound breaks
/// ties.
fn pick(candidates: &[u32], low: &[u32], high: &[u32], outward: bool) -> Option<u32> {
    let candidates = candidates.iter().copied();
    if outward {
        candidates.max_by_key(|&v| (high[v as usize], low[v as usize]))
    } else {
        candidates.min_by_key(|&v| (low[v as usize], high[v as usize]))
    }
}

/// The free vertices, numbered from 0, with all neighbours in one list.
struct Graph {
    /// The neighbours of `v` are `ends[starts[v]..starts[v + 1]]`.
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl Graph {
    fn new(grid: &Grid, stop: &dyn Fn() -> bool) -> Result<Self, LatticeError> {
        let mut free = Vec::with_capacity(grid.n_free() as usize);
        free.extend(grid.free());
        let mut starts = Vec::with_capacity(free.len() + 1);
        let mut ends = Vec::with_capacity(free.len() * 2 * grid.axes().len());
        starts.push(0);
        for (number, &vertex) in free.iter().enumerate() {
            if number % 8192 == 0 && stop() {
                return Err(LatticeError::Interrupted);
            }
            grid.free_neighbours(vertex, |neighbour| {
                let number = free.binary_search(&neighbour);
                ends.push(number.expect("a free neighbour is listed") as u32);
            });
            starts.push(ends.len() as u32);
        }
        Ok(Self { starts, ends })
    }

    fn n_vertices(&self) -> usize {
        self.starts.len() - 1
    }

    fn neighbours(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.ends[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }
}

/// A breadth-first search over the whole graph, with the distances it found.
struct Sweep {
    distances: Vec<u32>,
    queue: Vec<u32>,
}

impl Sweep {
    fn new(n_vertices: usize) -> Self {
        Self { distances: vec![0; n_vertices], queue: Vec::with_capacity(n_vertices) }
    }

    /// Searches from `vertex` and returns its eccentricity.
    fn from(
        &mut self,
        graph: &Graph,
        vertex: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<u32, LatticeError> {
        // A search of at most 10^5 vertices takes about a millisecond, so one poll per search is
        // enough.
        if stop() {
            return Err(LatticeError::Interrupted);
        }
        self.distances.fill(u32::MAX);
        self.queue.clear();
        self.distances[vertex as usize] = 0;
        self.queue.push(vertex);
        let mut farthest = 0;
        let mut head = 0;
        while let Some(&vertex) = self.queue.get(head) {
            head += 1;
            farthest = self.distances[vertex as usize];
            for &neighbour in graph.neighbours(vertex) {
                if self.distances[neighbour as usize] == u32::MAX {
                    self.distances[neighbour as usize] = farthest + 1;
                    self.queue.push(neighbour);
                }
            }
        }
        Ok(farthest)
    }
}
