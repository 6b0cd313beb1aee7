//! Cosine transforms of images, for the spectra in a summary.

use std::array::from_fn;

/// Rows that are transformed side by side: a sum waits for its last addition, eight of them do not.
const N_LANES: usize = 8;
type Lanes = [f64; N_LANES];

/// The orthonormal cosine transform (DCT-II) of rows of one length: even lengths are split in
/// two by Lee's recursion, what is left of odd length is summed as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Dct {
    n: usize,
    /// 2·cos(π(2i + 1)/2n) for each length that is split, longest first.
    twiddles: Vec<Vec<f64>>,
    /// cos(π(2i + 1)k/2m) for the odd length m.
    odd: Vec<f64>,
}

impl Dct {
    pub(crate) fn new(n: usize) -> Dct {
        let angle = |i: usize, n: usize| std::f64::consts::PI * (2 * i + 1) as f64 / (2 * n) as f64;
        let mut twiddles = Vec::new();
        let mut m = n.max(1);
        while m.is_multiple_of(2) {
            twiddles.push((0..m / 2).map(|i| 2.0 * angle(i, m).cos()).collect());
            m /= 2;
        }
        let odd = (0..m * m)
            .map(|at| (angle(at % m, m) * (at / m) as f64).cos())
            .collect();
        Dct { n, twiddles, odd }
    }

    /// Transforms some rows in place: element `i` of all of them is `block[i]`.
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
        let n = block.len();
        let Some(twiddle) = self.twiddles.get(depth) else {
            for (out, waves) in scratch.iter_mut().zip(self.odd.chunks_exact(n.max(1))) {
                let mut sums = [0.0; N_LANES];
                for (lanes, wave) in block.iter().zip(waves) {
                    for (sum, x) in sums.iter_mut().zip(lanes) {
                        *sum += x * wave;
                    }
                }
                *out = sums;
            }
            block.copy_from_slice(scratch);
            return;
        };
        let half = n / 2;
        for i in 0..half {
            let (x, y) = (block[i], block[n - 1 - i]);
            scratch[i] = from_fn(|lane| x[lane] + y[lane]);
            scratch[half + i] = from_fn(|lane| (x[lane] - y[lane]) * twiddle[i]);
        }
        let (even, odd) = scratch.split_at_mut(half);
        let (block_even, block_odd) = block.split_at_mut(half);
        self.split(even, block_even, depth + 1);
        self.split(odd, block_odd, depth + 1);
        // The odd half holds sums of neighbouring odd coefficients.
        let mut before = scratch[half].map(|v| 0.5 * v);
        for k in 0..half {
            let odd = if k == 0 {
                before
            } else {
                from_fn(|lane| scratch[half + k][lane] - before[lane])
            };
            block[2 * k] = scratch[k];
            block[2 * k + 1] = odd;
            before = odd;
        }
    }
}

/// Transforms an image in place, rows first.
pub(crate) fn transform_image(image: &mut [f64], rows: &Dct, columns: &Dct) {
    let (h, w) = (columns.n, rows.n);
    along(image, rows, (w, 1), (h, w));
    along(image, columns, (h, w), (w, 1));
}

/// Transforms along an axis, some lines at a time; an axis is its extent and its stride.
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
                    assert!(
                        (found - wanted).abs() < 1e-9,
                        "n {n} k {k}: {found}, not {wanted}"
                    );
                }
            }
        }
    }
}
