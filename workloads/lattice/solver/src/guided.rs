//! A* search for the distance between two vertices.

use super::grid::Grid;
use super::pool::{Pool, zero};
use super::search::{N_VISITS_PER_POLL, SearchScratch};
use super::{LatticeError, MemoryNeed};

/// The distance between two free vertices, or `None` if there is no path; afterwards [`nearer`]
/// leads from `goal` back to `start`.
///
/// This is A* with the distance in the open lattice as its heuristic. A step towards the goal
/// leaves the estimated length of the path as it is, a step away adds 2. So the frontier holds only
/// two kinds of vertices: those of the present estimate (`estimate`) and those of the next. The length
/// of the path to a vertex follows from the estimate, so only the vertex is stored. If few vertices
/// are blocked, the search visits hardly more than the path itself.
pub(super) fn guided_distance(
    grid: &Grid,
    start: u32,
    goal: u32,
    scratch: &mut SearchScratch,
    stop: &dyn Fn() -> bool,
) -> Result<Option<u32>, LatticeError> {
    let n_vertices = grid.n_vertices();
    let SearchScratch { marks, current, next } = scratch;
    zero(marks, n_vertices.div_ceil(32) as usize, stop)?;
    current.reset(n_vertices);
    next.reset(n_vertices);
    let goal_coordinates = grid.coordinates(goal);

    let mut estimate = grid.manhattan(start, goal);
    let mut n_visits = 0_u32;
    mark(marks, start, 0);
    current.push(start, n_vertices, stop)?;
    loop {
        while let Some(vertex) = current.pop() {
            if vertex == goal {
                return Ok(Some(estimate));
            }
            n_visits = n_visits.wrapping_add(1);
            if n_visits.is_multiple_of(N_VISITS_PER_POLL) && stop() {
                return Err(LatticeError::Interrupted);
            }
            // The distance modulo 3 of a vertex is enough to mark its neighbours.
            let distance = mark_of(marks, vertex) as u32 - 1;
            let mut pushed = Ok(());
            grid.neighbours_towards(vertex, &goal_coordinates, |neighbour, is_towards| {
                if mark_of(marks, neighbour) != 0 || !grid.is_free(neighbour) || pushed.is_err() {
                    return;
                }
                if is_towards {
                    mark(marks, neighbour, distance + 1);
                    pushed = current.push(neighbour, n_vertices, stop);
                } else {
                    // Not marked yet: a shorter path to it may still be found with the present
                    // estimate.
                    pushed = next.push(neighbour, n_vertices, stop);
                }
            });
            pushed?;
        }
        if next.is_empty() {
            return Ok(None);
        }
        estimate += 2;
        while let Some(vertex) = next.pop() {
            n_visits = n_visits.wrapping_add(1);
            if n_visits.is_multiple_of(N_VISITS_PER_POLL) && stop() {
                return Err(LatticeError::Interrupted);
            }
            if mark_of(marks, vertex) == 0 {
                mark(marks, vertex, estimate - grid.manhattan(vertex, goal));
                current.push(vertex, n_vertices, stop)?;
            }
        }
    }
}

/// The scratch memory of one guided search: two bits per vertex, and two pools.
pub(super) fn guided_need(n_vertices: u64) -> MemoryNeed {
    MemoryNeed {
        scratch_bytes: n_vertices.div_ceil(32) * 8 + 2 * Pool::need_bytes(n_vertices),
        answer_bytes: 0,
    }
}

/// A neighbour of `vertex` that is one step nearer to the start. The search must have found its
/// goal, and `vertex` must be on a shortest path at this distance, above 0, from the start.
pub(super) fn nearer(grid: &Grid, scratch: &SearchScratch, vertex: u32, distance: u32) -> u32 {
    // A lattice is bipartite, so the neighbours are at `distance - 1` or `distance + 1`, and these
    // differ modulo 3.
    let wanted = code(distance - 1);
    let mut found = None;
    grid.neighbours(vertex, |neighbour| {
        if found.is_none() && mark_of(&scratch.marks, neighbour) == wanted {
            found = Some(neighbour);
        }
    });
    found.expect("a vertex is reached from a nearer one")
}

/// The mark of a distance; 0 marks a vertex that was not reached.
fn code(distance: u32) -> u64 {
    u64::from(distance % 3) + 1
}

fn mark(marks: &mut [u64], vertex: u32, distance: u32) {
    marks[vertex as usize / 32] |= code(distance) << (vertex % 32 * 2);
}

fn mark_of(marks: &[u64], vertex: u32) -> u64 {
    marks[vertex as usize / 32] >> (vertex % 32 * 2) & 3
}
