//! The exponential function: one branch-free formula that compilers turn into vector code.
//!
//! x = n·ln 2 + r with n whole and |r| ≤ ln 2 / 2, so exp(x) = 2ⁿ · exp(r). The polynomials are
//! Chebyshev fits of (exp(r) − 1 − r) / r²; r itself is kept as a sum of two, or its rounding
//! would cost a quarter of an ULP. The power of two is applied in two halves, because
//! 2ⁿ itself leaves the range of normal numbers where the result may still be representable.

/// The exponential of `x`, to 1 ULP.
#[inline(always)]
pub(crate) fn exp_f32(x: f32) -> f32 {
    // Beyond these the result is zero or infinite; NaN passes both comparisons.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };

    // Adding 1.5 · 2²³ rounds to a whole number and leaves that number in the low bits, with two
    // exponent biases on top.
    const ROUND: f32 = 12_582_912.0 + 2.0 * 127.0;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;

    const LN_2_HIGH: f32 = std::f32::consts::LN_2;
    const LN_2_LOW: f32 = -1.904_654_2e-9;
    let r_high = n.mul_add(-LN_2_HIGH, x);
    let r_low = n * -LN_2_LOW;
    let r = r_high + r_low;

    let q = 1.392_621_3e-3_f32;
    let q = q.mul_add(r, 8.363_203e-3);
    let q = q.mul_add(r, 4.166_655_6e-2);
    let q = q.mul_add(r, 1.666_657_6e-1);
    let q = q.mul_add(r, 0.5);
    let y = 1.0 + (r_high + (r * r).mul_add(q, r_low));

    let n_biased = shifted.to_bits();
    let half = n_biased >> 1;
    let rest = n_biased.wrapping_sub(half);
    y * f32::from_bits(half << 23) * f32::from_bits(rest << 23)
}

/// The exponential of `x`, to 1 ULP.
#[inline(always)]
pub(crate) fn exp_f64(x: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };

    const ROUND: f64 = 6_755_399_441_055_744.0 + 2.0 * 1023.0;
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;

    const LN_2_HIGH: f64 = std::f64::consts::LN_2;
    const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;
    let r_high = n.mul_add(-LN_2_HIGH, x);
    let r_low = n * -LN_2_LOW;
    let r = r_high + r_low;

    let q = 2.091_471_734_171_637_8e-9_f64;
    let q = q.mul_add(r, 2.510_525_953_844_849_4e-8);
    let q = q.mul_add(r, 2.755_727_357_010_214e-7);
    let q = q.mul_add(r, 2.755_725_529_796_964_3e-6);
    let q = q.mul_add(r, 2.480_158_732_560_532_4e-5);
    let q = q.mul_add(r, 1.984_126_987_490_126e-4);
    let q = q.mul_add(r, 1.388_888_888_888_373e-3);
    let q = q.mul_add(r, 8.333_333_333_326_112e-3);
    let q = q.mul_add(r, 4.166_666_666_666_667e-2);
    let q = q.mul_add(r, 0.166_666_666_666_666_7);
    let q = q.mul_add(r, 0.5);
    let y = 1.0 + (r_high + (r * r).mul_add(q, r_low));

    let n_biased = shifted.to_bits();
    let half = n_biased >> 1;
    let rest = n_biased.wrapping_sub(half);
    y * f64::from_bits(half << 52) * f64::from_bits(rest << 52)
}
