//! Cosine transforms of images, for the spectra in a summary.

use std::array::from_fn;

use crate::simd::compiled_per_path;
use swathe::Simd;

/// Rows that are transformed together: eight independent sums hide the latency of an addition.
const N_LANES: usize = 8;
type Lanes = [f64; N_LANES];

/// The orthonormal cosine transform (DCT-II) of rows of one length. Even lengths are split in two
/// by Lee's recursion; the remaining odd length is folded in the middle and summed.
#[derive(Clone, Debug)]
pub(crate) struct Dct {
    n: usize,
    path: Simd,
    /// 2·cos(π(2i + 1)/2n) for each length that is split, longest first.
    twiddles: Vec<Vec<f64>>,
    /// cos(π(2i + 1)k/2m) for the odd length m and i below its half, k by k.
    odd: Vec<f64>,
}

impl Dct {
    pub(crate) fn new(n: usize) -> Dct {
        Dct::on(Simd::detect(), n)
    }

    fn on(path: Simd, n: usize) -> Dct {
        let angle = |i: usize, n: usize| std::f64::consts::PI * (2 * i + 1) as f64 / (2 * n) as f64;
        let mut twiddles = Vec::new();
        let mut m = n.max(1);
        while m.is_multiple_of(2) {
            twiddles.push((0..m / 2).map(|i| 2.0 * angle(i, m).cos()).collect());
            m /= 2;
        }
        // All m² cosines are among these 4m values.
        let wave: Vec<f64> =
            (0..4 * m).map(|j| (std::f64::consts::PI * j as f64 / (2 * m) as f64).cos()).collect();
        let odd = (0..m)
            .flat_map(|k| (0..m / 2).map(move |i| (2 * i + 1) * k % (4 * m)))
            .map(|j| wave[j])
            .collect();
        Dct { n, path, twiddles, odd }
    }

    /// Transforms `N_LANES` rows in place: `block[i]` holds element `i` of every row.
    fn transform(&self, block: &mut [Lanes], scratch: &mut Vec<Lanes>) {
        scratch.clear();
        scratch.resize(self.n, [0.0; N_LANES]);
        self.split(block, scratch, 0);
        let scale = (2.0 / self.n as f64).sqrt();
        for lanes in block.iter_mut() {
            *lanes = lanes.map(|v| v * scale);
        }
        if let Some(first) = block.first_mut() {
            *first = first.map(|v| v * 0.5_f64.sqrt());
        }
    }

    fn split(&self, block: &mut [Lanes], scratch: &mut [Lanes], depth: usize) {
        let Some(twiddle) = self.twiddles.get(depth) else {
            sum_odd(self.path, &self.odd, block, scratch);
            return;
        };
        fold(self.path, twiddle, block, scratch);
        let half = block.len() / 2;
        let (even, odd) = scratch.split_at_mut(half);
        let (block_even, block_odd) = block.split_at_mut(half);
        self.split(even, block_even, depth + 1);
        self.split(odd, block_odd, depth + 1);
        weave(self.path, scratch, block);
    }
}

compiled_per_path! {
    /// Sums of opposite elements, and their differences times the twiddles.
    fn fold(twiddle: &[f64], block: &[Lanes], folded: &mut [Lanes]) {
        let n = block.len();
        let (sums, differences) = folded.split_at_mut(n / 2);
        for (i, (sum, difference)) in sums.iter_mut().zip(differences).enumerate() {
            let (x, y) = (block[i], block[n - 1 - i]);
            for lane in 0..N_LANES {
                sum[lane] = x[lane] + y[lane];
                difference[lane] = (x[lane] - y[lane]) * twiddle[i];
            }
        }
    }
}

compiled_per_path! {
    /// Interleaves the coefficients of both halves. The odd half holds sums of neighbouring
    /// coefficients, which are separated here.
    fn weave(halves: &[Lanes], block: &mut [Lanes]) {
        let (even, odd) = halves.split_at(halves.len() / 2);
        let mut before = [0.0; N_LANES];
        for (k, (even, odd)) in even.iter().zip(odd).enumerate() {
            for lane in 0..N_LANES {
                let half = 0.5 * odd[lane];
                before[lane] = if k == 0 { half } else { odd[lane] - before[lane] };
            }
            block[2 * k] = *even;
            block[2 * k + 1] = before;
        }
    }
}

/// Coefficients that are summed together, so that each element of the row is read once for all.
const N_WAVES: usize = 4;

compiled_per_path! {
    /// The coefficients of a row of odd length. Even waves are symmetric about the middle and odd
    /// waves antisymmetric, so half of the products are enough.
    fn sum_odd(waves: &[f64], block: &mut [Lanes], folded: &mut [Lanes]) {
        let n = block.len();
        let half = n / 2;
        for i in 0..half {
            let (x, y) = (block[i], block[n - 1 - i]);
            for lane in 0..N_LANES {
                folded[i][lane] = x[lane] + y[lane];
                folded[half + i][lane] = x[lane] - y[lane];
            }
        }
        let middle = block.get(half).copied().unwrap_or_default();
        for parity in 0..2 {
            let side = &folded[parity * half..(parity + 1) * half];
            for first in (parity..n).step_by(2 * N_WAVES) {
                // Beyond the last coefficient, the last one is summed again and discarded below.
                let last = n - 1 - (n - 1 + parity) % 2;
                let wave: [&[f64]; N_WAVES] = from_fn(|j| {
                    let k = (first + 2 * j).min(last);
                    &waves[k * half..(k + 1) * half]
                });
                let mut sums = [[0.0; N_LANES]; N_WAVES];
                for (i, lanes) in side.iter().enumerate() {
                    for (sums, wave) in sums.iter_mut().zip(wave) {
                        let height = wave[i];
                        for (sum, x) in sums.iter_mut().zip(lanes) {
                            *sum += x * height;
                        }
                    }
                }
                for (j, sums) in sums.iter().enumerate() {
                    let k = first + 2 * j;
                    let at_middle = [1.0, 0.0, -1.0, 0.0][k % 4];
                    if k < n {
                        block[k] = from_fn(|lane| sums[lane] + middle[lane] * at_middle);
                    }
                }
            }
        }
    }
}

/// Transforms an image in place, rows first.
pub(crate) fn transform_image(image: &mut [f64], rows: &Dct, columns: &Dct) {
    let (h, w) = (columns.n, rows.n);
    along(image, rows, (w, 1), (h, w));
    along(image, columns, (h, w), (w, 1));
}

/// Transforms along an axis, `N_LANES` lines at a time. An axis is (extent, stride).
fn along(image: &mut [f64], dct: &Dct, axis: (usize, usize), across: (usize, usize)) {
    let (mut block, mut scratch) = (vec![[0.0; N_LANES]; axis.0], Vec::new());
    for first in (0..across.0).step_by(N_LANES) {
        let n_lanes = N_LANES.min(across.0 - first);
        let at = |i: usize, lane: usize| i * axis.1 + (first + lane) * across.1;
        for (i, lanes) in block.iter_mut().enumerate() {
            for (lane, value) in lanes[..n_lanes].iter_mut().enumerate() {
                *value = image[at(i, lane)];
            }
        }
        dct.transform(&mut block, &mut scratch);
        for (i, lanes) in block.iter().enumerate() {
            for (lane, value) in lanes[..n_lanes].iter().enumerate() {
                image[at(i, lane)] = *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dct, N_LANES};
    use swathe::Simd;

    #[test]
    fn every_path_gives_the_same_bits() {
        for n in [1, 3, 13, 52, 199, 416] {
            let block: Vec<[f64; N_LANES]> = (0..n)
                .map(|i| std::array::from_fn(|lane| ((i * 31 + lane * 7) % 101) as f64 / 9.7 - 4.0))
                .collect();
            let transformed = |path| {
                let mut block = block.clone();
                Dct::on(path, n).transform(&mut block, &mut Vec::new());
                block.concat().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            };
            let portable = transformed(Simd::portable());
            assert_eq!(transformed(Simd::detect()), portable, "n {n}");
        }
    }

    #[test]
    fn splitting_equals_the_definition() {
        for n in [1, 2, 3, 4, 6, 7, 12, 16, 20, 48, 129, 160] {
            let value = |i: usize, lane: usize| ((i * i + 3 * lane + 3) % 17) as f64 - 5.0;
            let mut fast: Vec<_> = (0..n)
                .map(|i| std::array::from_fn::<f64, N_LANES, _>(|lane| value(i, lane)))
                .collect();
            Dct::new(n).transform(&mut fast, &mut Vec::new());
            for (k, lanes) in fast.iter().enumerate() {
                let wave = |i: usize| {
                    (std::f64::consts::PI * (2 * i + 1) as f64 * k as f64 / (2 * n) as f64).cos()
                };
                let scale = (if k == 0 { 1.0 } else { 2.0 } / n as f64).sqrt();
                for (lane, found) in lanes.iter().enumerate() {
                    let sum: f64 = (0..n).map(|i| value(i, lane) * wave(i)).sum();
                    let wanted = scale * sum;
                    assert!((found - wanted).abs() < 1e-9, "n {n} k {k}: {found}, not {wanted}");
                }
            }
        }
    }
}
