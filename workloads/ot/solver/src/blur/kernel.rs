//! The one-dimensional Gaussian kernel of a pass, as a table.

use super::panel::fit;
use super::{Real, SEGMENT_MAX, SEGMENT_MIN};
use crate::simd::compiled_per_path;
use swathe::Simd;

/// Kernels sharper than this (bits per px²) are summed directly: tiles would be too small.
const SHARP_BITS: f64 = 1.5;

/// The one-dimensional kernel 2^(−c·(m + fraction)²) as a table over integers m and, on request,
/// the tables of its first and second moments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel<T> {
    /// Bits per px².
    pub c: f64,
    /// Coordinate of output position 0 minus that of input position 0.
    pub offset: f64,
    /// `offset` rounded to an integer.
    pub offset_px: i32,
    /// Tables hold m = −reach..=reach.
    pub reach_px: i32,
    /// Length of a tile's side.
    pub segment: usize,
    pub table: Vec<T>,
    pub first: Vec<T>,
    pub second: Vec<T>,
}

impl<T: Real> Kernel<T> {
    /// Sets the kernel for lines of at most `n_max` positions, reusing its memory.
    pub(crate) fn set(
        &mut self,
        path: Simd,
        c: f64,
        offset: f64,
        n_max: usize,
        with_moments: bool,
    ) {
        let bits = -f64::from(T::FLOOR_BITS);
        let needed = (bits / c).sqrt().ceil() + 1.0;
        let reach = needed.min(2.0 * n_max as f64) as i32 + 3 * SEGMENT_MAX as i32;
        let offset_px = offset.round();
        let fraction = offset - offset_px;
        self.c = c;
        self.offset = offset;
        self.offset_px = offset_px as i32;
        self.reach_px = reach;
        // Exponents within a tile may differ by 70 bits, which is far from the floor of f32.
        self.segment =
            [48, 24, 12].into_iter().find(|s| c * (s * s) as f64 <= 70.0).unwrap_or(SEGMENT_MIN);
        let n = 2 * reach as usize + 1;
        fit(&mut self.table, n, T::default());
        let first_m = -f64::from(reach) + fraction;
        powers(path, c, first_m, &mut self.table);
        self.first.clear();
        self.second.clear();
        if with_moments {
            fit(&mut self.first, n, T::default());
            fit(&mut self.second, n, T::default());
            times_distance(path, first_m, &self.table, &mut self.first);
            times_distance(path, first_m, &self.first, &mut self.second);
        }
    }

    /// Whether lines are summed directly and not by tiles.
    pub(crate) fn is_sharp(&self) -> bool {
        self.c > SHARP_BITS
    }
}

compiled_per_path! {
    /// 2^(−c·m²) for m = first_m, first_m + 1, …
    fn powers<T: Real>(c: f64, first_m: f64, out: &mut [T]) {
        for (i, out) in out.iter_mut().enumerate() {
            let m = first_m + i as i32 as f64;
            *out = T::exp2_bits(-c * m * m);
        }
    }
}

compiled_per_path! {
    fn times_distance<T: Real>(first_m: f64, values: &[T], out: &mut [T]) {
        for (i, (value, out)) in values.iter().zip(out).enumerate() {
            let m = first_m + i as i32 as f64;
            *out = T::from_f64(value.to_f64() * m);
        }
    }
}
