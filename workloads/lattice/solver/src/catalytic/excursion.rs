//! Excursions: reversible steps in borrowed memory, which are always undone.

use std::ops::ControlFlow;

use super::cone::{Cone, Row};
use crate::LatticeError;
use crate::grid::Grid;

/// Borrowed memory while its content is changed. Dropping the excursion restores it bit for bit.
///
/// There is one word per vertex. A step replaces the word of each vertex that matters by
///
/// ```text
/// word ← weight · (sum of the words of its free neighbours) - word        modulo 2^64
/// ```
///
/// The neighbours have the other colour of the chessboard and do not change during the step. So
/// doing a step twice undoes it, and doing part of a step twice undoes that part. Everything else
/// that a step depends on (weights, vertices, blocked vertices) is computed from the question. The
/// words may hold any content.
pub(super) struct Excursion<'a> {
    grid: &'a Grid,
    cone: &'a Cone<'a>,
    seed: u64,
    words: &'a mut [u64],
    is_disturbed: bool,
    /// The number of completed steps.
    n_steps: u32,
    /// The number of rows done in the step after those.
    n_rows: u64,
    /// Vertices updated since `stop` was last polled.
    n_unpolled: u32,
}

/// Takes some tens of microseconds.
const N_UPDATES_PER_POLL: u32 = 4096;

impl<'a> Excursion<'a> {
    /// Starts with the words as they are, or with 1 added to the word at the cone's start.
    pub(super) fn new(
        grid: &'a Grid,
        cone: &'a Cone<'a>,
        seed: u64,
        words: &'a mut [u64],
        is_disturbed: bool,
    ) -> Self {
        if is_disturbed {
            let word = &mut words[cone.from as usize];
            *word = word.wrapping_add(1);
        }
        Self { grid, cone, seed, words, is_disturbed, n_steps: 0, n_rows: 0, n_unpolled: 0 }
    }

    /// Takes one more step. On an interruption, dropping the excursion undoes the partial step too.
    pub(super) fn step(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LatticeError> {
        let cone = self.cone;
        let flow = cone.rows(self.n_steps + 1, |row| {
            update(self.grid, self.seed, &row, self.words);
            // Counted before `stop` is called: if that panics, the row is undone as well.
            self.n_rows += 1;
            self.n_unpolled += 1 + (row.last - row.first) / 2;
            if self.n_unpolled >= N_UPDATES_PER_POLL {
                self.n_unpolled = 0;
                if stop() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        if flow.is_break() {
            return Err(LatticeError::Interrupted);
        }
        self.n_steps += 1;
        self.n_rows = 0;
        Ok(())
    }

    /// The present word of a vertex.
    pub(super) fn word(&self, vertex: u32) -> u64 {
        self.words[vertex as usize]
    }
}

impl Drop for Excursion<'_> {
    fn drop(&mut self) {
        let mut n_rows_left = self.n_rows;
        if n_rows_left > 0 {
            let _ = self.cone.rows(self.n_steps + 1, |row| {
                update(self.grid, self.seed, &row, self.words);
                n_rows_left -= 1;
                if n_rows_left == 0 {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
        }
        for step in (1..=self.n_steps).rev() {
            let _ = self.cone.rows(step, |row| {
                update(self.grid, self.seed, &row, self.words);
                ControlFlow::Continue(())
            });
        }
        if self.is_disturbed {
            let word = &mut self.words[self.cone.from as usize];
            *word = word.wrapping_sub(1);
        }
    }
}

/// Updates the free vertices of a row that matter. A second call undoes the first.
fn update(grid: &Grid, seed: u64, row: &Row<'_>, words: &mut [u64]) {
    let word_if_free = |words: &[u64], vertex: u32| words[vertex as usize] & grid.free_mask(vertex);
    for (vertex, column) in row.vertices() {
        if !grid.is_free(vertex) {
            continue;
        }
        let mut sum = 0_u64;
        if column > 0 {
            sum = sum.wrapping_add(word_if_free(words, vertex - 1));
        }
        if column + 1 < row.length {
            sum = sum.wrapping_add(word_if_free(words, vertex + 1));
        }
        for &offset in row.offsets {
            let neighbour = (vertex as isize + offset) as u32;
            sum = sum.wrapping_add(word_if_free(words, neighbour));
        }
        let word = &mut words[vertex as usize];
        *word = weight(seed, vertex).wrapping_mul(sum).wrapping_sub(*word);
    }
}

/// The weight of every edge into a vertex: odd, because an even weight would lose the highest bit.
fn weight(seed: u64, vertex: u32) -> u64 {
    mix(seed.wrapping_add((u64::from(vertex) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))) | 1
}

/// The finalizer of SplitMix64: a permutation that leaves no pattern in consecutive numbers.
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
