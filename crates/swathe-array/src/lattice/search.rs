//! Breadth-first search in two bits per vertex and a little more.

use std::ops::ControlFlow;

use super::bits::ones;
use super::grid::Grid;
use super::{LatticeError, MemoryNeed};

/// Working memory of the searches, to be reused from one to the next.
#[derive(Debug, Default)]
pub struct SearchScratch {
    /// Two bits per vertex: 0 until it is reached, then its distance modulo 3, plus 1.
    marks: Vec<u64>,
    current: Frontier,
    next: Frontier,
}

/// The vertices at one distance: a list while they are few, one bit per vertex when they are many.
#[derive(Debug, Default)]
struct Frontier {
    list: Vec<u32>,
    bits: Vec<u64>,
    is_dense: bool,
}

/// How many vertices are visited, or words scanned, between two polls of the stop closure.
const N_VISITS_PER_POLL: u32 = 8192;

/// The words zeroed between two polls: 2 MiB, a fraction of a millisecond.
const N_WORDS_PER_POLL: usize = 1 << 18;

/// The scratch of one search: two bits for the marks and one for each of two dense frontiers per
/// vertex, and two lists.
pub(super) fn search_need(n_vertices: u64) -> MemoryNeed {
    let n_words = |n_bits: u64| n_bits.div_ceil(64) * 8;
    MemoryNeed {
        scratch_bytes: n_words(2 * n_vertices)
            + 2 * n_words(n_vertices)
            + 2 * 4 * list_length_max(n_vertices) as u64,
        answer_bytes: 0,
    }
}

/// Above this a frontier becomes dense: scanning its bits is then cheaper than the visits were.
fn list_length_max(n_vertices: u64) -> usize {
    (n_vertices / 64).max(64).min(n_vertices) as usize
}

/// Visits the free vertices reachable from `from` in order of distance, `from` itself first, until
/// `visit` breaks.
pub(super) fn search(
    grid: &Grid,
    from: u32,
    scratch: &mut SearchScratch,
    stop: &dyn Fn() -> bool,
    mut visit: impl FnMut(u32, u32) -> ControlFlow<()>,
) -> Result<(), LatticeError> {
    let n_vertices = grid.n_vertices();
    zero(&mut scratch.marks, n_vertices.div_ceil(32) as usize, stop)?;
    let SearchScratch {
        marks,
        current,
        next,
    } = scratch;
    current.clear();
    next.clear();

    mark(marks, from, 0);
    if visit(from, 0).is_break() {
        return Ok(());
    }
    current.push(from, n_vertices, stop)?;

    let mut n_visits = 0;
    for distance in 1.. {
        let flow = current.try_for_each(|vertex| {
            n_visits += 1;
            if n_visits % N_VISITS_PER_POLL == 0 && stop() {
                return ControlFlow::Break(Err(LatticeError::Interrupted));
            }
            let Some(vertex) = vertex else {
                return ControlFlow::Continue(());
            };
            let mut flow = ControlFlow::Continue(());
            grid.free_neighbours(vertex, |neighbour| {
                if flow.is_continue() && mark_of(marks, neighbour) == 0 {
                    mark(marks, neighbour, distance);
                    if visit(neighbour, distance).is_break() {
                        flow = ControlFlow::Break(Ok(()));
                    } else if let Err(error) = next.push(neighbour, n_vertices, stop) {
                        flow = ControlFlow::Break(Err(error));
                    }
                }
            });
            flow
        });
        if let ControlFlow::Break(answer) = flow {
            return answer;
        }
        if next.is_empty() {
            return Ok(());
        }
        std::mem::swap(current, next);
        next.clear();
    }
    unreachable!("a search ends when a frontier is empty, after at most as many as vertices")
}

impl SearchScratch {
    /// After a search: some neighbour of `vertex` that is one step nearer, where `vertex` was
    /// reached at this distance above 0.
    pub(super) fn nearer(&self, grid: &Grid, vertex: u32, distance: u32) -> u32 {
        // A lattice is bipartite, so that the neighbours lie at `distance - 1` or `distance + 1`,
        // and modulo 3 these differ.
        let wanted = code(distance - 1);
        let mut found = None;
        grid.free_neighbours(vertex, |neighbour| {
            if found.is_none() && mark_of(&self.marks, neighbour) == wanted {
                found = Some(neighbour);
            }
        });
        found.expect("a vertex is reached from a nearer one")
    }
}

impl Frontier {
    fn clear(&mut self) {
        self.list.clear();
        self.is_dense = false;
    }

    fn is_empty(&self) -> bool {
        // A frontier becomes dense only when its list is full.
        !self.is_dense && self.list.is_empty()
    }

    #[inline]
    fn push(
        &mut self,
        vertex: u32,
        n_vertices: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LatticeError> {
        if self.is_dense {
            set(&mut self.bits, vertex);
            return Ok(());
        }
        let length_max = list_length_max(n_vertices);
        if self.list.len() == length_max {
            zero(&mut self.bits, n_vertices.div_ceil(64) as usize, stop)?;
            for &vertex in &self.list {
                set(&mut self.bits, vertex);
            }
            set(&mut self.bits, vertex);
            self.is_dense = true;
            return Ok(());
        }
        if self.list.len() == self.list.capacity() {
            // Doubling, but never beyond what `search_need` promises.
            let n_more = self.list.len().max(64).min(length_max - self.list.len());
            self.list.reserve_exact(n_more);
        }
        self.list.push(vertex);
        Ok(())
    }

    /// Calls `visit` with each vertex, and with `None` for each empty word of a dense frontier, so
    /// that scanning counts as work.
    #[inline]
    fn try_for_each<B>(
        &self,
        mut visit: impl FnMut(Option<u32>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if !self.is_dense {
            return self.list.iter().try_for_each(|&vertex| visit(Some(vertex)));
        }
        for (word_idx, &word) in self.bits.iter().enumerate() {
            if word == 0 {
                visit(None)?;
            }
            for bit in ones(word) {
                visit(Some(word_idx as u32 * 64 + bit))?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Makes `words` that many zeros, asking now and then whether to go on.
fn zero(words: &mut Vec<u64>, n_words: usize, stop: &dyn Fn() -> bool) -> Result<(), LatticeError> {
    if words.len() < n_words {
        // Fresh memory is zero already: the system hands it out page by page as it is touched.
        *words = Vec::new();
        *words = vec![0; n_words];
        return Ok(());
    }
    words.truncate(n_words);
    for chunk in words.chunks_mut(N_WORDS_PER_POLL) {
        if stop() {
            return Err(LatticeError::Interrupted);
        }
        chunk.fill(0);
    }
    Ok(())
}

fn set(bits: &mut [u64], vertex: u32) {
    bits[vertex as usize / 64] |= 1 << (vertex % 64);
}

fn code(distance: u32) -> u64 {
    u64::from(distance % 3) + 1
}

fn mark(marks: &mut [u64], vertex: u32, distance: u32) {
    marks[vertex as usize / 32] |= code(distance) << (vertex % 32 * 2);
}

fn mark_of(marks: &[u64], vertex: u32) -> u64 {
    marks[vertex as usize / 32] >> (vertex % 32 * 2) & 3
}
