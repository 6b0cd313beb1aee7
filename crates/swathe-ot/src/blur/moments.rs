use super::direct::row_top;
use super::kernel::Kernel;
use super::panel::{GridSide, transpose};
use super::real::{Real, exp_row, log_row};
use super::separable::{Blur, BlurScratch, Pass, run_pass};
use super::tile::{Block, Sums, Term};
use super::{LANES, Row, SEGMENT_MAX, Span};
use crate::simd::SimdPath;
use crate::watch::Watch;

/// Where mass at the output pixels came from: log2 of the sum, the mean displacement
/// (input − output) along the input's lines and across them, and its mean square, px.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    pub log: Vec<Row<f64>>,
    pub along: Vec<Row<f64>>,
    pub across: Vec<Row<f64>>,
    pub square: Vec<Row<f64>>,
}

/// The separable sum with its moments carried in the same tiles: displacements are counted from
/// each tile's ray, so that nothing cancels.
pub(crate) fn moment_sums<T: Real>(
    path: SimdPath,
    blur: &Blur<T>,
    from: &GridSide,
    to: &GridSide,
    input: &[Row<f64>],
    scratch: &mut BlurScratch<T>,
    watch: &Watch<'_>,
) -> Moments {
    let zeros = |n: usize| vec![[0.0; LANES]; n];
    let n_mid = from.n_blocks * to.n_lanes;
    let mut log = zeros(n_mid);
    let mut sums = MomentSums::<T>::new(Vec::new(), n_mid);
    let pass = Pass::first(&blur.first, from, to);
    run_pass(path, &pass, input, &mut log, scratch, &mut sums, watch);
    let turn = |panel: &[Row<f64>]| {
        let mut turned = zeros(to.n_blocks * from.n_lanes);
        transpose(path, panel, to.n_lanes, from.n_lanes, &mut turned);
        turned
    };
    let log = turn(&log);
    let carried = vec![turn(&sums.own), turn(&sums.square)];
    let mut sums = MomentSums::<T>::new(carried, to.n_rows());
    let mut out = zeros(to.n_rows());
    let pass = Pass::second(&blur.second, from, to);
    run_pass(path, &pass, &log, &mut out, scratch, &mut sums, watch);
    Moments {
        log: out,
        along: sums.carried_mean,
        across: sums.own,
        square: sums.square,
    }
}

/// Sums with moments. What an earlier pass found (the mean along the other axis, the mean
/// square) is carried along as weights of the input.
struct MomentSums<T> {
    /// Mean displacement and mean square of the input pixels from the pass before; or nothing.
    carried: Vec<Vec<Row<f64>>>,
    /// Row of the panels where the current block of the input, and of the output, starts.
    in_row: usize,
    out_row: usize,
    own: Vec<Row<f64>>,
    square: Vec<Row<f64>>,
    carried_mean: Vec<Row<f64>>,
    /// Totals of the output tile: 1, own, square, carried.
    totals: [Row<T>; SEGMENT_MAX],
    own_total: [Row<T>; SEGMENT_MAX],
    square_total: [Row<T>; SEGMENT_MAX],
    carried_total: [Row<T>; SEGMENT_MAX],
    weighted: Vec<Row<T>>,
}

impl<T: Real> MomentSums<T> {
    fn new(carried: Vec<Vec<Row<f64>>>, n_out_rows: usize) -> MomentSums<T> {
        let zeros = vec![[0.0; LANES]; n_out_rows];
        let tile = [[T::default(); LANES]; SEGMENT_MAX];
        MomentSums {
            carried_mean: if carried.is_empty() {
                Vec::new()
            } else {
                zeros.clone()
            },
            carried,
            in_row: 0,
            out_row: 0,
            own: zeros.clone(),
            square: zeros,
            totals: tile,
            own_total: tile,
            square_total: tile,
            carried_total: tile,
            weighted: Vec::new(),
        }
    }
}

impl<T: Real> Sums<T> for MomentSums<T> {
    fn start_block(&mut self, in_row: usize, out_row: usize) {
        (self.in_row, self.out_row) = (in_row, out_row);
    }

    #[inline(always)]
    fn add(
        &mut self,
        kernel: &Kernel<T>,
        source: &[Row<T>],
        term: &Term<T>,
        ramp: &[T],
        first: bool,
    ) {
        let tile = [[T::default(); LANES]; SEGMENT_MAX];
        let plain_table = term.part_of(&kernel.table);
        let s0 = product(source, plain_table, term, ramp);
        let s1 = product(source, term.part_of(&kernel.first), term, ramp);
        let s2 = product(source, term.part_of(&kernel.second), term, ramp);
        let shear = T::from_f64(term.shear);
        let twice = T::from_f64(2.0 * term.shear);
        if first {
            (
                self.totals,
                self.own_total,
                self.square_total,
                self.carried_total,
            ) = (tile, tile, tile, tile);
        }
        for u in 0..term.n_rows {
            for l in 0..LANES {
                // Output minus input is (m − shear); displacement is its negative.
                let own = shear * s0[u][l] - s1[u][l];
                let square = s2[u][l] - twice * s1[u][l] + shear * shear * s0[u][l];
                self.totals[u][l] = self.totals[u][l] + s0[u][l];
                self.own_total[u][l] = self.own_total[u][l] + own;
                self.square_total[u][l] = self.square_total[u][l] + square;
            }
        }
        for (which, carried) in self.carried.iter().enumerate() {
            self.weighted.clear();
            let carried = &carried[self.in_row + term.start..][..term.len];
            self.weighted
                .extend(source.iter().zip(carried).map(|(row, by)| {
                    let mut out = *row;
                    for l in 0..LANES {
                        out[l] = row[l] * T::from_f64(by[l]);
                    }
                    out
                }));
            let sum = product(&self.weighted, plain_table, term, ramp);
            let total = if which == 0 {
                &mut self.carried_total
            } else {
                &mut self.square_total
            };
            for u in 0..term.n_rows {
                for l in 0..LANES {
                    total[u][l] = total[u][l] + sum[u][l];
                }
            }
        }
    }

    #[inline(always)]
    fn totals(&self) -> &[Row<T>; SEGMENT_MAX] {
        &self.totals
    }

    #[inline(always)]
    fn take(&mut self, u: usize, out_row: usize) {
        let at = self.out_row + out_row;
        for l in 0..LANES {
            let total = self.totals[u][l].to_f64();
            let per = if total > 0.0 { 1.0 / total } else { 0.0 };
            self.own[at][l] = self.own_total[u][l].to_f64() * per;
            self.square[at][l] = self.square_total[u][l].to_f64() * per;
            if !self.carried.is_empty() {
                self.carried_mean[at][l] = self.carried_total[u][l].to_f64() * per;
            }
        }
    }

    #[inline(always)]
    fn exact(
        &mut self,
        block: &Block<'_>,
        window: Span,
        c: f64,
        x: f64,
        chosen: &Row<bool>,
        out_row: usize,
    ) -> Row<f64> {
        let (top, marked) = row_top(block.input, window, c, x);
        let (mut term, mut least) = ([T::default(); LANES], [0.0; LANES]);
        let mut plain = [T::default(); LANES];
        let (mut own, mut square, mut carried) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for j in window.start..window.end {
            let d = x - j as f64;
            exp_row(&block.input[j], c * d * d, &top, &mut term, &mut least);
            for l in 0..LANES {
                plain[l] = plain[l] + term[l];
                own[l] -= term[l].to_f64() * d;
                square[l] += term[l].to_f64() * d * d;
            }
            if let [mean, mean_square] = &self.carried[..] {
                let (mean, mean_square) = (&mean[self.in_row + j], &mean_square[self.in_row + j]);
                for l in 0..LANES {
                    carried[l] += term[l].to_f64() * mean[l];
                    square[l] += term[l].to_f64() * mean_square[l];
                }
            }
        }
        let at = self.out_row + out_row;
        for l in 0..LANES {
            if chosen[l] {
                let total = plain[l].to_f64();
                let per = if total > 0.0 { 1.0 / total } else { 0.0 };
                self.own[at][l] = own[l] * per;
                self.square[at][l] = square[l] * per;
                if !self.carried.is_empty() {
                    self.carried_mean[at][l] = carried[l] * per;
                }
            }
        }
        let mut out = [0.0; LANES];
        log_row(&plain, &marked, 0.0, &mut out);
        out
    }
}

#[inline(always)]
fn product<T: Real>(
    source: &[Row<T>],
    table: &[T],
    term: &Term<T>,
    ramp: &[T],
) -> [Row<T>; SEGMENT_MAX] {
    let mut total = [[T::default(); LANES]; SEGMENT_MAX];
    T::tile_product(
        source,
        table,
        ramp,
        &term.scale,
        &mut total[..term.n_rows],
        true,
    );
    total
}
