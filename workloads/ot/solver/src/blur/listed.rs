//! Sums between two lists of pixels, for frames with few live pixels.

use super::moments::MomentRows;
use super::panel::GridSide;
use super::{DEAD, LANES, NEARLY_DEAD, Real, Row};
use crate::simd::compiled_per_path;
use crate::stop_latch::StopLatch;
use swathe::Simd;

/// The sum from one list of pixels to another, term by term: out = log2 of the blurred
/// mass·2^potential. No memory of the size of their product is allocated.
pub(crate) fn listed_blur<T: Real>(
    path: Simd,
    c: f64,
    from: &GridSide,
    to: &GridSide,
    potential: &[Row<f64>],
    out: &mut [Row<f64>],
    watch: &StopLatch<'_>,
) {
    for (i, out) in out.iter_mut().enumerate() {
        if i % WATCHED_ROWS == 0 && watch.stopped() {
            return;
        }
        *out = row_sum::<T>(path, c, from, to.row_yx(i), potential);
    }
}

/// The same sum with its moments, passed to `take` block by block.
pub(crate) fn listed_moments<T: Real>(
    path: Simd,
    c: f64,
    from: &GridSide,
    to: &GridSide,
    potential: &[Row<f64>],
    watch: &StopLatch<'_>,
    take: &mut dyn FnMut(usize, MomentRows<'_, T>),
) {
    let mut log = vec![[0.0; LANES]; to.n_line];
    let mut means = [(); 3].map(|()| vec![[T::default(); LANES]; to.n_line]);
    for b in 0..to.n_blocks {
        if watch.stopped() {
            return;
        }
        for (i, row) in to.rows_of(b).enumerate() {
            let at = to.row_yx(row);
            log[i] = row_sum::<T>(path, c, from, at, potential);
            let moments = row_moments::<T>(path, c, from, at, potential, &log[i]);
            for (mean, moment) in means.iter_mut().zip(moments) {
                mean[i] = moment;
            }
        }
        let [across, along, square] = &means;
        let moments = MomentRows { log: &log, along, across, square };
        take(b, moments);
    }
}

/// Rows between two polls of the stop request.
const WATCHED_ROWS: usize = 8;

/// Coordinates (y, x) of sixteen pixels.
type RowYx = [Row<f64>; 2];

compiled_per_path! {
    /// log2 Σ 2^(L − c·d²) over all pixels of a list, for sixteen outputs.
    fn row_sum<T: Real>(c: f64, from: &GridSide, at: RowYx, potential: &[Row<f64>]) -> Row<f64> {
        let mut most = [DEAD; LANES];
        for (log, [y, x]) in from.listed(potential) {
            for l in 0..LANES {
                let (dy, dx) = (y - at[0][l], x - at[1][l]);
                let z = log - c * (dy * dy + dx * dx);
                most[l] = if z > most[l] { z } else { most[l] };
            }
        }
        let mut sum = [0.0; LANES];
        for (log, [y, x]) in from.listed(potential) {
            for l in 0..LANES {
                let (dy, dx) = (y - at[0][l], x - at[1][l]);
                let z = log - c * (dy * dy + dx * dx) - most[l];
                sum[l] += T::exp2_bits(z).to_f64();
            }
        }
        let mut out = [DEAD; LANES];
        for l in 0..LANES {
            let log = most[l] + sum[l].log2_bits();
            out[l] = if most[l] > NEARLY_DEAD { log } else { DEAD };
        }
        out
    }
}

compiled_per_path! {
    /// Mean displacement (input − output) along y and x, and its mean square, given the sums.
    fn row_moments<T: Real>(
        c: f64,
        from: &GridSide,
        at: RowYx,
        potential: &[Row<f64>],
        sums: &Row<f64>,
    ) -> [Row<T>; 3] {
        let mut means = [[0.0; LANES]; 3];
        for (log, [y, x]) in from.listed(potential) {
            for l in 0..LANES {
                let (dy, dx) = (y - at[0][l], x - at[1][l]);
                let square = dy * dy + dx * dx;
                let share = f64::exp2_bits(log - c * square - sums[l]);
                means[0][l] += share * dy;
                means[1][l] += share * dx;
                means[2][l] += share * square;
            }
        }
        let mut out = [[T::default(); LANES]; 3];
        for (out, mean) in out.iter_mut().zip(&means) {
            for l in 0..LANES {
                out[l] = T::from_f64(mean[l]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blur::{Between, Blur, BlurScratch, ReferenceMass, blur, moment_sums};
    use crate::shape::Shape;
    use crate::synth::Rng;

    const SHAPE: Shape = Shape::new(40, 70);

    fn sprinkled(dice: &mut Rng, n: usize) -> Vec<f64> {
        let mut image = vec![0.0; SHAPE.n_px()];
        for _ in 0..n {
            image[dice.below(SHAPE.n_px())] = dice.between(1e-3, 1.0);
        }
        image
    }

    /// Sum, displacement along y and x, and mean square at every output pixel in reading order.
    fn sums_of(sides: [&GridSide; 2], c: f64) -> Vec<[f64; 4]> {
        let ([from, to], path) = (sides, Simd::detect());
        let watch = StopLatch::new(&|| false);
        let mut potential = vec![[0.0; LANES]; from.n_rows()];
        from.for_live(|row, lane, y, x| {
            potential[row][lane] = 30.0 * (y as f64 / 9.0).sin() + x as f64;
        });
        let (mut scratch, mut between) = (BlurScratch::<f64>::default(), Between::default());
        let mut kernels = Blur::default();
        kernels.set(path, c, from, to, [0.0; 2], true);
        let mut log = vec![[0.0; LANES]; to.n_rows()];
        blur(path, &kernels, from, to, &potential, &mut log, &mut scratch, &mut between, &watch);
        let mut found = vec![[f64::NAN; 4]; SHAPE.n_px()];
        let n_lent = to.n_blocks * from.n_lanes;
        let mut lent = [(); 2].map(|()| vec![[0.0; LANES]; n_lent]);
        let [mean, square] = &mut lent;
        moment_sums(
            path,
            &kernels,
            from,
            to,
            &potential,
            &mut scratch,
            &mut between,
            [mean, square],
            &watch,
            &mut |b, moments| {
                let first = to.rows_of(b).start;
                to.for_live_in(b, |row, lane, y, x| {
                    let i = row - first;
                    assert!((moments.log[i][lane] - log[row][lane]).abs() < 1e-9);
                    let (across, along) = (moments.across[i][lane], moments.along[i][lane]);
                    found[y * SHAPE.w_px + x] =
                        [log[row][lane], across, along, moments.square[i][lane]];
                });
            },
        );
        found.retain(|sums| !sums[0].is_nan());
        found
    }

    #[test]
    fn lists_and_grids_have_the_same_sums() {
        let mut dice = Rng::new(5);
        for (n, c) in [(1, 0.3), (40, 0.002), (300, 0.08), (300, 2.5)] {
            let (a, b) = (sprinkled(&mut dice, n), sprinkled(&mut dice, n + 3));
            let side = |image: &[f64], along_y: bool| {
                let (mut grid, mut list) = (GridSide::default(), GridSide::default());
                grid.set(image, ReferenceMass::Mass, SHAPE, along_y);
                list.set_list(image, false, SHAPE, along_y);
                assert_eq!((grid.n_live, grid.total), (list.n_live, list.total));
                (grid, list)
            };
            let ((grid_a, list_a), (grid_b, list_b)) = (side(&a, true), side(&b, false));
            let on_grids = sums_of([&grid_b, &grid_a], c);
            let on_lists = sums_of([&list_b, &list_a], c);
            assert_eq!(on_grids.len(), on_lists.len());
            for (grid, list) in on_grids.iter().zip(&on_lists) {
                for (one, other) in grid.iter().zip(list) {
                    assert!((one - other).abs() < 1e-6 * one.abs().max(1.0), "{grid:?} {list:?}");
                }
            }
        }
    }
}
