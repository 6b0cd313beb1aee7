//! The exponential function of a block of elements.
//!
//! x = n·ln 2 + r with n whole and |r| ≤ ln 2 / 2, so exp(x) = 2ⁿ · exp(r). The polynomials are
//! Chebyshev fits of (exp(r) − 1) / r. Near the ends of the range the power of two is applied in
//! two halves, because 2ⁿ itself is not a normal number there while the result may still be one.

use super::block::lanes;

/// The exponential of each element, to 1 ULP; a NaN is kept, made quiet.
#[inline(always)]
pub(crate) fn exp_f32<const N: usize>(x: &[f32; N]) -> [f32; N] {
    let shifted = shifted_f32(x);
    let mut n_over_max = 0u32;
    for shifted in shifted {
        n_over_max = n_over_max.max(shifted.to_bits().wrapping_sub(N_MIN_BITS));
    }
    if n_over_max <= N_ORDINARY_MAX {
        // Neither 2ⁿ nor the result leaves the range of normal numbers: adding n to the exponent
        // gives the same bits as multiplying by 2ⁿ.
        let y = scaled_f32(x, &shifted);
        lanes(|i| f32::from_bits(y[i].to_bits().wrapping_add(shifted[i].to_bits() << 23)))
    } else {
        special_f32(x)
    }
}

/// For blocks that contain other numbers.
#[inline(always)]
fn special_f32<const N: usize>(x: &[f32; N]) -> [f32; N] {
    // Beyond these bounds the result is zero or infinite; NaN passes both comparisons unchanged.
    let x: [f32; N] = lanes(|i| if x[i] > 89.0 { 89.0 } else { x[i] });
    let x: [f32; N] = lanes(|i| if x[i] < -104.0 { -104.0 } else { x[i] });
    let shifted = shifted_f32(&x);
    let y = scaled_f32(&x, &shifted);
    lanes(|i| {
        let biased = shifted[i].to_bits().wrapping_add(2 * 127);
        let half = biased >> 1;
        let rest = biased.wrapping_sub(half);
        y[i] * f32::from_bits(half << 23) * f32::from_bits(rest << 23)
    })
}

/// Adding 1.5 · 2²³ rounds to a whole number and leaves that number in the low bits.
const ROUND_F32: f32 = 12_582_912.0;

/// For ordinary blocks n, read from the bits of a shifted number, is from −125 to 127.
const N_MIN_BITS: u32 = ROUND_F32.to_bits() - 125;
const N_ORDINARY_MAX: u32 = 125 + 127;

/// n + [`ROUND_F32`].
#[inline(always)]
fn shifted_f32<const N: usize>(x: &[f32; N]) -> [f32; N] {
    lanes(|i| x[i].mul_add(std::f32::consts::LOG2_E, ROUND_F32))
}

/// exp(x) / 2ⁿ.
#[inline(always)]
fn scaled_f32<const N: usize>(x: &[f32; N], shifted: &[f32; N]) -> [f32; N] {
    let n: [f32; N] = lanes(|i| shifted[i] - ROUND_F32);

    const LN_2_HIGH: f32 = std::f32::consts::LN_2;
    const LN_2_LOW: f32 = -1.904_654_2e-9;
    let r: [f32; N] = lanes(|i| n[i].mul_add(-LN_2_HIGH, x[i]));
    let r: [f32; N] = lanes(|i| n[i].mul_add(-LN_2_LOW, r[i]));

    const COEFFICIENTS: [f32; 6] =
        [1.393_368_6e-3, 8.369_184e-3, 4.166_646_3e-2, 0.166_665_05, 0.5, 1.0];
    let mut p = [COEFFICIENTS[0]; N];
    for coefficient in &COEFFICIENTS[1..] {
        p = lanes(|i| p[i].mul_add(r[i], *coefficient));
    }
    lanes(|i| p[i].mul_add(r[i], 1.0))
}

/// The exponential of each element, to 1 ULP; a NaN is kept, made quiet.
#[inline(always)]
pub(crate) fn exp_f64<const N: usize>(x: &[f64; N]) -> [f64; N] {
    let x: [f64; N] = lanes(|i| if x[i] > 710.0 { 710.0 } else { x[i] });
    let x: [f64; N] = lanes(|i| if x[i] < -746.0 { -746.0 } else { x[i] });

    const ROUND: f64 = 6_755_399_441_055_744.0 + 2.0 * 1023.0;
    let shifted: [f64; N] = lanes(|i| x[i].mul_add(std::f64::consts::LOG2_E, ROUND));
    let n: [f64; N] = lanes(|i| shifted[i] - ROUND);

    const LN_2_HIGH: f64 = std::f64::consts::LN_2;
    const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;
    let r: [f64; N] = lanes(|i| n[i].mul_add(-LN_2_HIGH, x[i]));
    let r: [f64; N] = lanes(|i| n[i].mul_add(-LN_2_LOW, r[i]));

    const COEFFICIENTS: [f64; 11] = [
        2.510_525_953_844_849_4e-8,
        2.762_642_637_658_033_5e-7,
        2.755_725_529_796_964_3e-6,
        2.480_150_418_083_713_7e-5,
        1.984_126_987_490_126e-4,
        1.388_888_893_261_963_5e-3,
        8.333_333_333_326_112e-3,
        4.166_666_666_657_277e-2,
        0.166_666_666_666_666_7,
        0.500_000_000_000_000_6,
        1.0,
    ];
    let mut p = [COEFFICIENTS[0]; N];
    for coefficient in &COEFFICIENTS[1..] {
        p = lanes(|i| p[i].mul_add(r[i], *coefficient));
    }
    let y: [f64; N] = lanes(|i| p[i].mul_add(r[i], 1.0));

    lanes(|i| {
        let half = shifted[i].to_bits() >> 1;
        let rest = shifted[i].to_bits().wrapping_sub(half);
        y[i] * f64::from_bits(half << 52) * f64::from_bits(rest << 52)
    })
}
