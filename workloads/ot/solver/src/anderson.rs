//! Anderson acceleration of the sweeps, and the memory of its history.

use crate::blur::{GridSide, LANES, Row, fit};
use crate::pyramid::Level;
use crate::simd::compiled_per_path;
use swathe::Simd;

/// Anderson acceleration of a fixed-point iteration (type II): the next iterate is the
/// combination of the last few images whose combined residual is least, in the norm weighted by
/// mass. The history is kept in f32: it only proposes a step, and the iteration measures the
/// residual of that step in full precision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anderson {
    depth: usize,
    /// Rows of a panel.
    n_rows: usize,
    n_stored: usize,
    next_slot: usize,
    has_before: bool,
    /// Whether the history comes from a coarser level and was laid out for this one.
    is_carried: bool,
    /// Each slot holds differences of weighted residuals, then differences of images. The last
    /// residual follows after all slots. The slot that is written next holds the previous residual.
    history: Vec<Row<f32>>,
    gram: Vec<f64>,
}

/// The greatest depth of the history.
pub(crate) const DEPTH_MAX: usize = 20;

/// The most steps that are carried from a level to the next finer one.
const CARRIED_MAX: usize = 8;

/// The depth of the history for panels of `n_rows` rows. A long history saves iterations on hard
/// pairs, but on large grids it takes most of the memory.
pub(crate) fn depth_for(n_rows: usize) -> usize {
    match n_rows * LANES {
        0..=20_000 => DEPTH_MAX,
        20_001..=80_000 => 10,
        80_001..=120_000 => 5,
        _ => 4,
    }
}

/// Rows of f32 in a history of this depth over panels of `n_rows` rows.
pub(crate) fn history_rows(depth: usize, n_rows: usize) -> usize {
    (2 * depth + 1) * n_rows
}

impl Anderson {
    /// Allocates enough for the history of the largest level.
    pub(crate) fn reserve(&mut self, levels: &[Level]) {
        let rows = |level: &Level| {
            let n_rows = level.source.n_rows();
            history_rows(depth_for(n_rows), n_rows)
        };
        self.lend(levels.iter().map(rows).max().unwrap_or(0));
        self.is_carried = false;
    }

    /// Begins an iteration: with the history carried from the coarser level, or without history.
    pub(crate) fn start(&mut self, depth: usize, n_rows: usize) {
        if !(self.is_carried && self.n_rows == n_rows) {
            self.reset(depth, n_rows);
        }
        self.is_carried = false;
    }

    /// Lays out the last few steps of a coarse level for the next finer one. Modes that converge
    /// slowly on the coarse level also do on the fine one, so the fine level can use these steps
    /// from its second sweep on.
    pub(crate) fn carry(&mut self, path: Simd, coarse: &GridSide, fine: &GridSide) {
        let (n_coarse, n_fine) = (self.n_rows, fine.n_rows());
        let (depth_coarse, depth) = (self.depth, depth_for(n_fine));
        // The slot that is written next holds a residual, not a difference.
        let n_whole = self.n_stored.min(depth_coarse - 1);
        let n_kept = n_whole.min(CARRIED_MAX).min(depth - 1);
        let next_slot = self.next_slot;
        let total = history_rows(depth, n_fine);
        // The fine steps overwrite the front of the history, so the coarse ones move to its end.
        let n_moved = 2 * n_kept * n_coarse;
        let (front, moved) = self.history[..total].split_at_mut(total - n_moved);
        if front.len() < (2 * depth_coarse * n_coarse).max(2 * n_kept * n_fine) {
            return;
        }
        for k in 0..n_kept {
            let slot = (next_slot + depth_coarse - 1 - k) % depth_coarse;
            let from = &front[2 * slot * n_coarse..][..2 * n_coarse];
            moved[2 * k * n_coarse..][..2 * n_coarse].copy_from_slice(from);
        }
        let slots = &mut front[..2 * n_kept * n_fine];
        slots.fill([0.0; LANES]);
        fine.for_live(|row, lane, y, x| {
            let (coarse_row, coarse_lane) = coarse.place(y / 2, x / 2);
            let share = fine.mass[row][lane] / coarse.mass[coarse_row][coarse_lane];
            let weight = share.sqrt() as f32;
            for k in 0..n_kept {
                let from = &moved[2 * k * n_coarse..];
                let to = &mut slots[2 * k * n_fine..];
                to[row][lane] = from[coarse_row][coarse_lane] * weight;
                to[n_fine + row][lane] = from[n_coarse + coarse_row][coarse_lane];
            }
        });
        for i in 0..n_kept {
            for j in 0..=i {
                let [a, b] = [i, j].map(|k| &slots[2 * k * n_fine..][..n_fine]);
                let product = dot(path, a, b);
                self.gram[i * DEPTH_MAX + j] = product;
                self.gram[j * DEPTH_MAX + i] = product;
            }
        }
        (self.depth, self.n_rows) = (depth, n_fine);
        (self.n_stored, self.next_slot) = (n_kept, n_kept);
        (self.has_before, self.is_carried) = (false, true);
    }

    /// Starts with an empty history of at most `depth` panels of `n_rows`.
    pub(crate) fn reset(&mut self, depth: usize, n_rows: usize) {
        (self.depth, self.n_rows) = (depth.min(DEPTH_MAX), n_rows);
        self.forget();
        self.lend(history_rows(self.depth, n_rows));
        self.gram.resize(DEPTH_MAX * DEPTH_MAX, 0.0);
    }

    /// Drops the history.
    pub(crate) fn forget(&mut self) {
        (self.n_stored, self.next_slot, self.has_before) = (0, 0, false);
    }

    /// Lends the history's memory, at least `n_rows` rows, for another use. The memory never
    /// shrinks: a small level keeps what the next larger level will need.
    pub(crate) fn lend(&mut self, n_rows: usize) -> &mut [Row<f32>] {
        if self.history.len() < n_rows {
            fit(&mut self.history, n_rows, [0.0; LANES]);
        }
        &mut self.history
    }

    /// Computes the next step from an iterate, its image and the previous image (read only after
    /// the first step). [`Step::finish`] then writes the next iterate.
    pub(crate) fn step(
        &mut self,
        path: Simd,
        x: &[Row<f64>],
        image: &[Row<f64>],
        image_before: &[Row<f64>],
        mass: &[Row<f64>],
    ) -> Step<'_> {
        let (n, depth) = (self.n_rows, self.depth);
        let (slots, residual) = self.history.split_at_mut(2 * depth * n);
        let residual = &mut residual[..n];
        weigh(path, x, image, mass, residual);
        if self.has_before {
            let slot = self.next_slot;
            let (dr, dt) = slots[2 * slot * n..][..2 * n].split_at_mut(n);
            differences(path, residual, image, image_before, dr, dt);
            self.next_slot = (slot + 1) % depth;
            self.n_stored = (self.n_stored + 1).min(depth);
            let dr = &slots[2 * slot * n..][..n];
            for j in 0..self.n_stored {
                let product = dot(path, dr, &slots[2 * j * n..][..n]);
                self.gram[slot * DEPTH_MAX + j] = product;
                self.gram[j * DEPTH_MAX + slot] = product;
            }
        }
        // The first sweep on a level only smooths, so carried steps are used from the second on.
        let mut by = [0.0; DEPTH_MAX];
        if self.has_before {
            for j in 0..self.n_stored {
                by[j] = dot(path, &slots[2 * j * n..][..n], residual);
            }
            by = least_squares(&self.gram, self.n_stored, &by);
        }
        slots[2 * self.next_slot * n..][..n].copy_from_slice(residual);
        self.has_before = true;
        Step { slots: &slots[..2 * self.n_stored * n], n_rows: n, by }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.history.capacity() * size_of::<Row<f32>>() + self.gram.capacity() * size_of::<f64>()
    }
}

/// A combination of stored differences to subtract from an image.
pub(crate) struct Step<'a> {
    slots: &'a [Row<f32>],
    n_rows: usize,
    by: [f64; DEPTH_MAX],
}

impl Step<'_> {
    /// Writes the next iterate.
    pub(crate) fn finish(&self, path: Simd, image: &[Row<f64>], next: &mut [Row<f64>]) {
        combine(path, next, image, self.slots, self.n_rows, &self.by);
    }
}

/// Solves (G + ridge)·y = rhs by Cholesky factorisation. Returns zeros if G + ridge is not
/// positive definite.
fn least_squares(gram: &[f64], n: usize, rhs: &[f64; DEPTH_MAX]) -> [f64; DEPTH_MAX] {
    let mut a = [[0.0; DEPTH_MAX]; DEPTH_MAX];
    let trace: f64 = (0..n).map(|i| gram[i * DEPTH_MAX + i]).sum();
    for i in 0..n {
        a[i][..n].copy_from_slice(&gram[i * DEPTH_MAX..i * DEPTH_MAX + n]);
        a[i][i] = a[i][i] * (1.0 + 1e-9) + 1e-14 * trace;
    }
    let nothing = [0.0; DEPTH_MAX];
    for j in 0..n {
        for i in j..n {
            let left = a[i][j] - (0..j).map(|k| a[i][k] * a[j][k]).sum::<f64>();
            if i > j {
                a[i][j] = left / a[j][j];
            } else if left > 0.0 {
                a[j][j] = left.sqrt();
            } else {
                return nothing;
            }
        }
    }
    let mut y = *rhs;
    for i in 0..n {
        y[i] = (y[i] - (0..i).map(|k| a[i][k] * y[k]).sum::<f64>()) / a[i][i];
    }
    for i in (0..n).rev() {
        y[i] = (y[i] - (i + 1..n).map(|k| a[k][i] * y[k]).sum::<f64>()) / a[i][i];
    }
    if y.iter().all(|v| v.is_finite()) { y } else { nothing }
}

compiled_per_path! {
    /// The change of every pixel, weighted by the root of its mass.
    fn weigh(x: &[Row<f64>], image: &[Row<f64>], mass: &[Row<f64>], out: &mut [Row<f32>]) {
        for (((x, image), mass), out) in x.iter().zip(image).zip(mass).zip(out) {
            for l in 0..LANES {
                out[l] = ((image[l] - x[l]) as f32) * (mass[l].sqrt() as f32);
            }
        }
    }
}

compiled_per_path! {
    /// On entry `dr` holds the previous residual; it becomes the difference of residuals.
    fn differences(
        residual: &[Row<f32>],
        image: &[Row<f64>],
        image_before: &[Row<f64>],
        dr: &mut [Row<f32>],
        dt: &mut [Row<f32>],
    ) {
        for (now, out) in residual.iter().zip(dr) {
            for l in 0..LANES {
                out[l] = now[l] - out[l];
            }
        }
        for ((now, before), out) in image.iter().zip(image_before).zip(dt) {
            for l in 0..LANES {
                out[l] = (now[l] - before[l]) as f32;
            }
        }
    }
}

compiled_per_path! {
    fn dot(a: &[Row<f32>], b: &[Row<f32>]) -> f64 {
        let mut sum = [0.0_f64; LANES];
        // Sixteen rows are summed in f32, these sums in f64: accurate, and twice as fast as f64
        // throughout.
        for (a, b) in a.chunks(16).zip(b.chunks(16)) {
            let mut part = [0.0_f32; LANES];
            for (a, b) in a.iter().zip(b) {
                for l in 0..LANES {
                    part[l] = a[l].mul_add(b[l], part[l]);
                }
            }
            for l in 0..LANES {
                sum[l] += f64::from(part[l]);
            }
        }
        sum.iter().sum()
    }
}

compiled_per_path! {
    fn combine(
        x: &mut [Row<f64>],
        image: &[Row<f64>],
        slots: &[Row<f32>],
        n_rows: usize,
        by: &[f64; DEPTH_MAX],
    ) {
        // Works in blocks that stay in cache while all steps are subtracted.
        for start in (0..x.len()).step_by(64) {
            let end = (start + 64).min(x.len());
            let out = &mut x[start..end];
            out.copy_from_slice(&image[start..end]);
            for (slot, by) in slots.chunks_exact(2 * n_rows).zip(by) {
                let step = &slot[n_rows..];
                for (out, step) in out.iter_mut().zip(&step[start..end]) {
                    for l in 0..LANES {
                        out[l] = (-by).mul_add(f64::from(step[l]), out[l]);
                    }
                }
            }
        }
    }
}
