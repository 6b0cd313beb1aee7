//! Breadth-first search over all vertices that can be reached from one vertex.

use super::grid::Grid;
use super::pool::Pool;
use super::{LatticeError, MemoryNeed};

/// Working memory of the searches, which can be reused from one call to the next.
#[derive(Debug, Default)]
pub struct SearchScratch {
    /// One or two bits per vertex: the state of the vertex in the search.
    pub(super) marks: Vec<u64>,
    pub(super) current: Pool,
    pub(super) next: Pool,
}

/// How many vertices are visited between two polls of the stop closure.
pub(super) const N_VISITS_PER_POLL: u32 = 8192;

/// The scratch memory of one search: one bit per vertex, and two pools.
pub(super) fn search_need(n_vertices: u64) -> MemoryNeed {
    MemoryNeed {
        scratch_bytes: n_vertices.div_ceil(64) * 8 + 2 * Pool::need_bytes(n_vertices),
        answer_bytes: 0,
    }
}

/// Calls `visit` with each free vertex that can be reached from `from` and its distance, in order
/// of distance, `from` itself first.
pub(super) fn search(
    grid: &Grid,
    from: u32,
    scratch: &mut SearchScratch,
    stop: &dyn Fn() -> bool,
    mut visit: impl FnMut(u32, u32),
) -> Result<(), LatticeError> {
    let n_vertices = grid.n_vertices();
    let SearchScratch { marks: closed, current, next } = scratch;
    // Blocked vertices are closed from the start, so that a single test decides.
    grid.write_blocked(closed, stop)?;
    current.reset(n_vertices);
    next.reset(n_vertices);

    close(closed, from);
    visit(from, 0);
    current.push(from, n_vertices, stop)?;
    let mut distance = 0;
    let mut n_visits = 0_u32;
    while !current.is_empty() {
        distance += 1;
        while let Some(vertex) = current.pop() {
            n_visits = n_visits.wrapping_add(1);
            if n_visits.is_multiple_of(N_VISITS_PER_POLL) && stop() {
                return Err(LatticeError::Interrupted);
            }
            let mut pushed = Ok(());
            grid.neighbours(vertex, |neighbour| {
                if close(closed, neighbour) && pushed.is_ok() {
                    visit(neighbour, distance);
                    pushed = next.push(neighbour, n_vertices, stop);
                }
            });
            pushed?;
        }
        std::mem::swap(current, next);
    }
    Ok(())
}

/// Closes a vertex and returns whether it was open.
#[inline]
fn close(closed: &mut [u64], vertex: u32) -> bool {
    let word = &mut closed[vertex as usize / 64];
    let bit = 1 << (vertex % 64);
    let was_open = *word & bit == 0;
    *word |= bit;
    was_open
}
