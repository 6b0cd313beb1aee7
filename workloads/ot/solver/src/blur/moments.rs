//! The separable sum together with its moments: mean displacement and mean squared displacement.

use super::direct::{Lines, row_top};
use super::kernel::Kernel;
use super::listed::listed_moments;
use super::panel::{GridSide, turn};
use super::real::{Real, exp_row, log_row};
use super::separable::{Between, Blur, BlurScratch, first_block, pass, second_block};
use super::tile::{Sums, Term};
use super::{DEAD, LANES, Row, SEGMENT_MAX, Span};
use crate::stop_latch::StopLatch;
use swathe::Simd;

/// Where the mass at the output pixels of one block came from: log2 of the sum, the mean
/// displacement (input − output) along the input's lines and across them, and its mean square, px.
pub(crate) struct MomentRows<'a, T> {
    pub log: &'a [Row<f64>],
    pub along: &'a [Row<T>],
    pub across: &'a [Row<T>],
    pub square: &'a [Row<T>],
}

/// Computes the separable sum and its moments in the same tiles. Displacements are measured from
/// each tile's ray, which avoids cancellation. `take` receives the output block by block. `lent` is
/// memory for mean and mean square between the passes.
#[allow(clippy::too_many_arguments)]
pub(crate) fn moment_sums<T: Real>(
    path: Simd,
    blur: &Blur<T>,
    from: &GridSide,
    to: &GridSide,
    potential: &[Row<f64>],
    scratch: &mut BlurScratch<T>,
    between: &mut Between,
    lent: [&mut [Row<T>]; 2],
    watch: &StopLatch<'_>,
    take: &mut dyn FnMut(usize, MomentRows<'_, T>),
) {
    if from.is_list() {
        listed_moments(path, blur.first.c, from, to, potential, watch, take);
        return;
    }
    between.resize(from, to);
    let n_turned = to.n_blocks * from.n_lanes;
    let [mean, square] = lent.map(|panel| &mut panel[..n_turned]);
    let mut strips = Strips::new(to.n_lanes.max(to.n_line));
    for b in 0..from.n_blocks {
        if watch.stopped() {
            return;
        }
        let block = first_block(path, blur, from, to, b, potential, &mut between.input);
        let output = &mut between.output;
        let mut sums = MomentSums::new(&mut strips, None);
        pass(path, &blur.first, &block, output, scratch, &mut sums);
        turn(path, output, b, from.n_lanes, DEAD, &mut between.turned);
        for (strip, panel) in [(&strips.own, &mut *mean), (&strips.square, &mut *square)] {
            let strip = &strip[..to.n_lanes];
            turn(path, strip, b, from.n_lanes, T::default(), panel);
        }
    }
    let mut log = vec![[0.0; LANES]; to.n_line];
    for b in 0..to.n_blocks {
        if watch.stopped() {
            return;
        }
        let block = second_block(from, to, b, &between.turned);
        let rows = b * from.n_lanes..(b + 1) * from.n_lanes;
        let carried = [&mean[rows.clone()], &square[rows]];
        let mut sums = MomentSums::new(&mut strips, Some(carried));
        pass(path, &blur.second, &block, &mut log, scratch, &mut sums);
        let moments = MomentRows {
            log: &log,
            along: &strips.carried,
            across: &strips.own,
            square: &strips.square,
        };
        take(b, moments);
    }
}

/// Moments of one block of output lines. Rows that a block does not write keep the values of an
/// earlier block. These are finite, so they vanish when multiplied by a mass of zero.
struct Strips<T> {
    own: Vec<Row<T>>,
    square: Vec<Row<T>>,
    carried: Vec<Row<T>>,
}

impl<T: Real> Strips<T> {
    fn new(n_rows: usize) -> Strips<T> {
        let zeros = vec![[T::default(); LANES]; n_rows];
        Strips { own: zeros.clone(), square: zeros.clone(), carried: zeros }
    }
}

/// The factor that turns sums into means. A subnormal total may have no finite inverse; its mean is
/// set to zero, because a mass that small cannot change a result.
#[inline(always)]
fn one_by(total: f64) -> f64 {
    if total >= f64::MIN_POSITIVE { 1.0 / total } else { 0.0 }
}

/// The rows of one output tile.
type TileRows<T> = [Row<T>; SEGMENT_MAX];

/// Sums with moments. The results of the first pass (the mean along the other axis, the mean
/// square) enter the second pass as weights of the input.
struct MomentSums<'a, T> {
    /// Mean displacement and mean square of the input pixels from the first pass; `None` during it.
    carried: Option<[&'a [Row<T>]; 2]>,
    strips: &'a mut Strips<T>,
    /// Totals of the output tile: 1, own, square, carried.
    totals: TileRows<T>,
    own_total: TileRows<T>,
    square_total: TileRows<T>,
    carried_total: TileRows<T>,
    /// One source tile's part of the totals, and the tile weighted by the carried moments.
    part: [TileRows<T>; 3],
    weighted: TileRows<T>,
}

impl<'a, T: Real> MomentSums<'a, T> {
    fn new(strips: &'a mut Strips<T>, carried: Option<[&'a [Row<T>]; 2]>) -> MomentSums<'a, T> {
        let tile = [[T::default(); LANES]; SEGMENT_MAX];
        MomentSums {
            carried,
            strips,
            totals: tile,
            own_total: tile,
            square_total: tile,
            carried_total: tile,
            part: [tile; 3],
            weighted: tile,
        }
    }
}

impl<T: Real> Sums<T> for MomentSums<'_, T> {
    #[inline(always)]
    fn add(
        &mut self,
        kernel: &Kernel<T>,
        source: &[Row<T>],
        term: &Term<T>,
        ramp: &[T],
        first: bool,
    ) {
        let n_rows = term.n_rows;
        let plain_table = term.part_of(&kernel.table);
        let tables = [plain_table, term.part_of(&kernel.first), term.part_of(&kernel.second)];
        for (table, part) in tables.into_iter().zip(&mut self.part) {
            T::tile_product(source, table, ramp, &term.scale, &mut part[..n_rows], true);
        }
        if first {
            for total in [
                &mut self.totals,
                &mut self.own_total,
                &mut self.square_total,
                &mut self.carried_total,
            ] {
                total[..n_rows].fill([T::default(); LANES]);
            }
        }
        let shear = T::from_f64(term.shear);
        let twice = T::from_f64(2.0 * term.shear);
        let [s0, s1, s2] = &self.part;
        for u in 0..n_rows {
            for l in 0..LANES {
                // Output minus input is (m − shear); the displacement is the negative of this.
                let own = shear * s0[u][l] - s1[u][l];
                let square = s2[u][l] - twice * s1[u][l] + shear * shear * s0[u][l];
                self.totals[u][l] = self.totals[u][l] + s0[u][l];
                self.own_total[u][l] = self.own_total[u][l] + own;
                self.square_total[u][l] = self.square_total[u][l] + square;
            }
        }
        let Some(carried) = self.carried else {
            return;
        };
        for (carried, total) in
            carried.into_iter().zip([&mut self.carried_total, &mut self.square_total])
        {
            let carried = &carried[term.start..][..term.len];
            let weighted = &mut self.weighted[..term.len];
            for ((out, row), by) in weighted.iter_mut().zip(source).zip(carried) {
                for l in 0..LANES {
                    out[l] = row[l] * by[l];
                }
            }
            let total = &mut total[..n_rows];
            T::tile_product(weighted, plain_table, ramp, &term.scale, total, false);
        }
    }

    #[inline(always)]
    fn totals(&self) -> &[Row<T>; SEGMENT_MAX] {
        &self.totals
    }

    #[inline(always)]
    fn take(&mut self, u: usize, out_row: usize) {
        for l in 0..LANES {
            let total = self.totals[u][l].to_f64();
            let per = one_by(total);
            let mean = |sum: T| T::from_f64(sum.to_f64() * per);
            self.strips.own[out_row][l] = mean(self.own_total[u][l]);
            self.strips.square[out_row][l] = mean(self.square_total[u][l]);
            self.strips.carried[out_row][l] = mean(self.carried_total[u][l]);
        }
    }

    #[inline(always)]
    fn exact(
        &mut self,
        lines: Lines<'_>,
        window: Span,
        c: f64,
        x: f64,
        chosen: &Row<bool>,
        out_row: usize,
    ) -> Row<f64> {
        let (top, marked) = row_top(lines, window, c, x);
        let (mut term, mut least) = ([T::default(); LANES], [0.0; LANES]);
        let mut plain = [T::default(); LANES];
        let (mut own, mut square, mut carried) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for (j, row) in lines.within(window) {
            let d = x - j as f64;
            exp_row(row, c * d * d, &top, &mut term, &mut least);
            for l in 0..LANES {
                plain[l] = plain[l] + term[l];
                own[l] -= term[l].to_f64() * d;
                square[l] += term[l].to_f64() * d * d;
            }
            if let Some([mean, mean_square]) = self.carried {
                for l in 0..LANES {
                    carried[l] += term[l].to_f64() * mean[j][l].to_f64();
                    square[l] += term[l].to_f64() * mean_square[j][l].to_f64();
                }
            }
        }
        for l in 0..LANES {
            if chosen[l] {
                let total = plain[l].to_f64();
                let per = one_by(total);
                self.strips.own[out_row][l] = T::from_f64(own[l] * per);
                self.strips.square[out_row][l] = T::from_f64(square[l] * per);
                self.strips.carried[out_row][l] = T::from_f64(carried[l] * per);
            }
        }
        let mut out = [0.0; LANES];
        log_row(&plain, &marked, 0.0, &mut out);
        out
    }
}
