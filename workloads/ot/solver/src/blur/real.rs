//! The number types of tile mantissas, f32 and f64, with their exponentials and logarithms.

use super::{DEAD, LANES, Row};
use std::ops::{Add, Mul, Sub};

/// The number type of tile mantissas. Logarithms are always f64.
pub(crate) trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
{
    /// Powers of two below this are flushed to zero.
    const FLOOR_BITS: i32;
    /// Output rows of one micro-kernel call: as many as fill twelve 256-bit accumulators.
    const N_ROWS: usize;
    /// A tile this far below the largest is skipped (a certificate is checked afterwards).
    const SKIP_BITS: i32;
    /// A term this far below the largest is left out where terms are summed one by one.
    const TERM_BITS: i32;
    /// Terms further than twice this below the row's maximum are negligible.
    const WINDOW_BITS: f64;

    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn mul_add(self, by: Self, plus: Self) -> Self;
    /// 2^z for z ≤ 1, flushed to zero below `FLOOR_BITS`.
    fn exp2_bits(z: f64) -> Self;
    /// log2 of a positive normal number.
    fn log2_bits(self) -> f64;
    /// 2^k exactly, clamped to the range of the type; zero below it.
    fn pow2(k: i32) -> Self;
    /// The inner product of tiles: `total[u] (+)= ramp[u]·scale·Σ_w table[u − w]·source[w]`.
    fn tile_product(
        source: &[Row<Self>],
        table: &[Self],
        ramp: &[Self],
        scale: &Row<Self>,
        total: &mut [Row<Self>],
        first: bool,
    );
}

/// Adding this to a number below 2^51 leaves its nearest integer in the low bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;

impl Real for f32 {
    const FLOOR_BITS: i32 = -126;
    const N_ROWS: usize = 6;
    // Skips few tiles: products are cheap next to a second attempt at the whole output tile.
    const SKIP_BITS: i32 = 90;
    const TERM_BITS: i32 = 44;
    const WINDOW_BITS: f64 = 17.0;

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn mul_add(self, by: f32, plus: f32) -> f32 {
        f32::mul_add(self, by, plus)
    }

    /// The fraction is taken in f64, so that a large |z| costs no accuracy. Relative error 6e-8.
    #[inline(always)]
    fn exp2_bits(z: f64) -> f32 {
        let z = if z > -127.0 { z } else { -127.0 };
        let rounded = z + ROUND;
        let r = (z - (rounded - ROUND)) as f32;
        let mut p = 1.525_273_4e-5_f32;
        p = p.mul_add(r, 1.540_353e-4);
        p = p.mul_add(r, 1.333_355_8e-3);
        p = p.mul_add(r, 9.618_129e-3);
        p = p.mul_add(r, 5.550_411e-2);
        p = p.mul_add(r, 2.402_265e-1);
        p = p.mul_add(r, 6.931_472e-1);
        p = p.mul_add(r, 1.0);
        // An exponent of −127 makes the scale zero.
        let exponent = (rounded.to_bits() as i32).wrapping_add(127);
        p * f32::from_bits((exponent << 23) as u32)
    }

    /// A polynomial in (m − 1)/(m + 1) of the mantissa m in [√½, √2). Absolute error 6e-8 bits.
    #[inline(always)]
    fn log2_bits(self) -> f64 {
        let bits = self.to_bits() as i32;
        let exponent = bits.wrapping_sub(0x3f35_04f3) >> 23;
        let m = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32);
        let s = (m - 1.0) / (m + 1.0);
        let z = s * s;
        let mut q = 0.320_599_f32;
        q = q.mul_add(z, 0.412_198_6);
        q = q.mul_add(z, 0.577_078_04);
        q = q.mul_add(z, 0.961_796_7);
        let log = 2.885_39_f32.mul_add(s, s * z * q);
        f64::from(exponent) + f64::from(log)
    }

    #[inline(always)]
    fn pow2(k: i32) -> f32 {
        let k = if k > -127 { k } else { -127 };
        let k = if k < 127 { k } else { 127 };
        f32::from_bits(((k + 127) as u32) << 23)
    }

    #[inline(always)]
    fn tile_product(
        source: &[Row<f32>],
        table: &[f32],
        ramp: &[f32],
        scale: &Row<f32>,
        total: &mut [Row<f32>],
        first: bool,
    ) {
        tile_product::<f32, 6>(source, table, ramp, scale, total, first);
    }
}

impl Real for f64 {
    const FLOOR_BITS: i32 = -1000;
    const N_ROWS: usize = 3;
    const SKIP_BITS: i32 = 60;
    const TERM_BITS: i32 = 60;
    const WINDOW_BITS: f64 = 35.0;

    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn mul_add(self, by: f64, plus: f64) -> f64 {
        f64::mul_add(self, by, plus)
    }

    #[inline(always)]
    fn exp2_bits(z: f64) -> f64 {
        let zc = if z > -1001.0 { z } else { -1001.0 };
        let rounded = zc + ROUND;
        let r = (zc - (rounded - ROUND)) * std::f64::consts::LN_2;
        // Taylor series: |r| ≤ ln2/2, and the first omitted term is below 1e-18.
        let mut p = 1.0 / 6_227_020_800.0;
        p = p.mul_add(r, 1.0 / 479_001_600.0);
        p = p.mul_add(r, 1.0 / 39_916_800.0);
        p = p.mul_add(r, 1.0 / 3_628_800.0);
        p = p.mul_add(r, 1.0 / 362_880.0);
        p = p.mul_add(r, 1.0 / 40_320.0);
        p = p.mul_add(r, 1.0 / 5_040.0);
        p = p.mul_add(r, 1.0 / 720.0);
        p = p.mul_add(r, 1.0 / 120.0);
        p = p.mul_add(r, 1.0 / 24.0);
        p = p.mul_add(r, 1.0 / 6.0);
        p = p.mul_add(r, 0.5);
        p = p.mul_add(r, 1.0);
        p = p.mul_add(r, 1.0);
        let exponent = (rounded.to_bits() as i64).wrapping_add(1023);
        let value = p * f64::from_bits((exponent << 52) as u64);
        if z < -1000.0 { 0.0 } else { value }
    }

    #[inline(always)]
    fn log2_bits(self) -> f64 {
        let bits = self.to_bits() as i64;
        let exponent = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd) >> 52;
        let m = f64::from_bits(bits.wrapping_sub(exponent << 52) as u64);
        let s = (m - 1.0) / (m + 1.0);
        let z = s * s;
        let mut q = 1.0 / 21.0;
        q = q.mul_add(z, 1.0 / 19.0);
        q = q.mul_add(z, 1.0 / 17.0);
        q = q.mul_add(z, 1.0 / 15.0);
        q = q.mul_add(z, 1.0 / 13.0);
        q = q.mul_add(z, 1.0 / 11.0);
        q = q.mul_add(z, 1.0 / 9.0);
        q = q.mul_add(z, 1.0 / 7.0);
        q = q.mul_add(z, 0.2);
        q = q.mul_add(z, 1.0 / 3.0);
        let log = (2.0 * s).mul_add(z * q, 2.0 * s);
        // The reverse of the rounding trick: unlike a cast, it turns a 64-bit integer into a float
        // with plain vector instructions.
        let whole = f64::from_bits((ROUND.to_bits() as i64).wrapping_add(exponent) as u64) - ROUND;
        log.mul_add(std::f64::consts::LOG2_E, whole)
    }

    #[inline(always)]
    fn pow2(k: i32) -> f64 {
        let k = if k > -1023 { k } else { -1023 };
        let k = if k < 1000 { k } else { 1000 };
        f64::from_bits(((k + 1023) as u64) << 52)
    }

    #[inline(always)]
    fn tile_product(
        source: &[Row<f64>],
        table: &[f64],
        ramp: &[f64],
        scale: &Row<f64>,
        total: &mut [Row<f64>],
        first: bool,
    ) {
        tile_product::<f64, 3>(source, table, ramp, scale, total, first);
    }
}

/// `table[w_last − w + u]` is the kernel between source row w and output row u.
#[inline(always)]
fn tile_product<T: Real, const N: usize>(
    source: &[Row<T>],
    table: &[T],
    ramp: &[T],
    scale: &Row<T>,
    total: &mut [Row<T>],
    first: bool,
) {
    let n_out = total.len() / N;
    for group in 0..n_out {
        let table = &table[group * N..group * N + source.len() + N - 1];
        let mut sums = [[T::default(); LANES]; N];
        for (row, k) in source.iter().zip(table.windows(N).rev()) {
            for u in 0..N {
                for l in 0..LANES {
                    sums[u][l] = k[u].mul_add(row[l], sums[u][l]);
                }
            }
        }
        let total = &mut total[group * N..group * N + N];
        for u in 0..N {
            let r = ramp[group * N + u];
            for l in 0..LANES {
                let scaled = sums[u][l] * r;
                let before = if first { T::default() } else { total[u][l] };
                total[u][l] = scaled.mul_add(scale[l], before);
            }
        }
    }
}

/// 2^(L − by − top) of a row, and the smallest live exponent so far per lane.
#[inline(always)]
pub(crate) fn exp_row<T: Real>(
    logs: &Row<f64>,
    by: f64,
    top: &Row<f64>,
    out: &mut Row<T>,
    least: &mut Row<f64>,
) {
    for l in 0..LANES {
        let z = logs[l] - by - top[l];
        let live = if z < 0.01 * DEAD { 0.0 } else { z };
        least[l] = if live < least[l] { live } else { least[l] };
        out[l] = T::exp2_bits(z);
    }
}

/// log2 of a row of totals plus the exponents that were factored out of them. Lanes without mass
/// stay dead.
#[inline(always)]
pub(crate) fn log_row<T: Real>(totals: &Row<T>, top: &Row<f64>, plus: f64, out: &mut Row<f64>) {
    for l in 0..LANES {
        let log = totals[l].log2_bits() + (top[l] + plus);
        out[l] = if top[l] <= DEAD { DEAD } else { log };
    }
}
