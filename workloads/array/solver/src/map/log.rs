//! The natural logarithm of a block of elements.
//!
//! x = 2ᵉ · (1 + r) with √½ ≤ 1 + r < √2, so log(x) = e·ln 2 + log(1 + r). The high part of ln 2
//! has so few bits that e times it is exact. The rounding error of adding r to it is kept and added
//! back, so that only the last addition rounds at full size.

use super::block::lanes;

/// The natural logarithm of each element, to 1 ULP.
#[inline(always)]
pub(crate) fn log_f32<const N: usize>(x: &[f32; N]) -> [f32; N] {
    const LEAST: u32 = f32::MIN_POSITIVE.to_bits();
    const N_ORDINARY: u32 = f32::INFINITY.to_bits() - LEAST;
    let mut is_special = 0u32;
    for x in x {
        is_special |= u32::from(x.to_bits().wrapping_sub(LEAST) >= N_ORDINARY);
    }
    if is_special == 0 { ordinary_f32(x, &[0.0; N]) } else { special_f32(x) }
}

/// The natural logarithm of each element, to 1 ULP.
#[inline(always)]
pub(crate) fn log_f64<const N: usize>(x: &[f64; N]) -> [f64; N] {
    const LEAST: u64 = f64::MIN_POSITIVE.to_bits();
    const N_ORDINARY: u64 = f64::INFINITY.to_bits() - LEAST;
    let mut is_special = 0u64;
    for x in x {
        is_special |= u64::from(x.to_bits().wrapping_sub(LEAST) >= N_ORDINARY);
    }
    if is_special == 0 { ordinary_f64(x, &[0.0; N]) } else { special_f64(x) }
}

/// log(x) − offset·ln 2 of positive, normal, finite numbers.
#[inline(always)]
fn ordinary_f32<const N: usize>(x: &[f32; N], offset: &[f32; N]) -> [f32; N] {
    // Relative to √½, the exponent field changes where 1 + r passes √2. The exponent is put into
    // the low bits of 2²³, and a subtraction then turns it into a float.
    const SQRT_HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u32 = 1.0f32.to_bits();
    const TWO_23: f32 = 8_388_608.0;
    let bits: [u32; N] = lanes(|i| x[i].to_bits().wrapping_add(ONE - SQRT_HALF));
    let e: [f32; N] = lanes(|i| {
        f32::from_bits((bits[i] >> 23) | TWO_23.to_bits()) - (TWO_23 + 127.0) - offset[i]
    });
    let r: [f32; N] =
        lanes(|i| f32::from_bits((bits[i] & 0x007f_ffff).wrapping_add(SQRT_HALF)) - 1.0);

    // A Chebyshev fit of (log(1 + r) − r) / r².
    const COEFFICIENTS: [f32; 9] = [
        -7.673_641e-2,
        0.127_226_73,
        -0.131_275_55,
        0.142_048_55,
        -0.166_266_46,
        0.200_012_34,
        -0.250_007_8,
        0.333_333_3,
        -0.499_999_97,
    ];
    let mut q = [COEFFICIENTS[0]; N];
    for coefficient in &COEFFICIENTS[1..] {
        q = lanes(|i| q[i].mul_add(r[i], *coefficient));
    }

    const LN_2_HIGH: f32 = 0.693_145_75;
    const LN_2_LOW: f32 = 1.428_606_8e-6;
    let whole: [f32; N] = lanes(|i| e[i] * LN_2_HIGH);
    let high: [f32; N] = lanes(|i| whole[i] + r[i]);
    let lost: [f32; N] = lanes(|i| r[i] - (high[i] - whole[i]));
    let low: [f32; N] = lanes(|i| e[i].mul_add(LN_2_LOW, lost[i]));
    lanes(|i| high[i] + (r[i] * r[i]).mul_add(q[i], low[i]))
}

/// log(x) − offset·ln 2 of positive, normal, finite numbers.
#[inline(always)]
fn ordinary_f64<const N: usize>(x: &[f64; N], offset: &[f64; N]) -> [f64; N] {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0f64.to_bits();
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let bits: [u64; N] = lanes(|i| x[i].to_bits().wrapping_add(ONE - SQRT_HALF));
    let e: [f64; N] = lanes(|i| {
        f64::from_bits((bits[i] >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0) - offset[i]
    });
    let r: [f64; N] =
        lanes(|i| f64::from_bits((bits[i] & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF)) - 1.0);

    // With s = r / (2 + r), log(1 + r) = 2 artanh(s) = r − r²/2 + s (r²/2 + R(s²)). This needs far
    // fewer terms than a series in r, but a division. R is a Chebyshev fit.
    const COEFFICIENTS: [f64; 7] = [
        0.146_165_854_248_886_23,
        0.153_317_106_182_107_73,
        0.181_828_894_556_749_47,
        0.222_222_111_302_598_78,
        0.285_714_286_260_032_7,
        0.399_999_999_998_994_44,
        0.666_666_666_666_667,
    ];
    let s: [f64; N] = lanes(|i| r[i] / (2.0 + r[i]));
    let z: [f64; N] = lanes(|i| s[i] * s[i]);
    let mut t = [COEFFICIENTS[0]; N];
    for coefficient in &COEFFICIENTS[1..] {
        t = lanes(|i| t[i].mul_add(z[i], *coefficient));
    }
    let half_square: [f64; N] = lanes(|i| 0.5 * r[i] * r[i]);
    let tail: [f64; N] =
        lanes(|i| s[i].mul_add(t[i].mul_add(z[i], half_square[i]), -half_square[i]));

    const LN_2_HIGH: f64 = 0.693_147_180_559_890_3;
    const LN_2_LOW: f64 = 5.497_923_018_708_371e-14;
    let whole: [f64; N] = lanes(|i| e[i] * LN_2_HIGH);
    let high: [f64; N] = lanes(|i| whole[i] + r[i]);
    let lost: [f64; N] = lanes(|i| r[i] - (high[i] - whole[i]));
    lanes(|i| high[i] + (tail[i] + e[i].mul_add(LN_2_LOW, lost[i])))
}

macro_rules! special {
    ($name:ident, $ordinary:ident, $type:ident, $n_digits:literal) => {
        /// For blocks that contain other numbers: subnormal ones are scaled into the normal range
        /// and back; −∞ at zero, ∞ at ∞, NaN below zero, and a NaN is kept, made quiet.
        #[inline(always)]
        fn $name<const N: usize>(x: &[$type; N]) -> [$type; N] {
            const SCALE: $type = (1u64 << $n_digits) as $type;
            let is_subnormal: [bool; N] = lanes(|i| x[i] < $type::MIN_POSITIVE);
            let scaled: [$type; N] = lanes(|i| if is_subnormal[i] { x[i] * SCALE } else { x[i] });
            let offset: [$type; N] =
                lanes(|i| if is_subnormal[i] { $n_digits as $type } else { 0.0 });
            let y = $ordinary(&scaled, &offset);
            let below: [$type; N] =
                lanes(|i| if x[i] == 0.0 { $type::NEG_INFINITY } else { $type::NAN });
            let y: [$type; N] = lanes(|i| if x[i] > 0.0 { y[i] } else { below[i] });
            lanes(|i| if x[i] < $type::INFINITY { y[i] } else { x[i] + x[i] })
        }
    };
}
special!(special_f32, ordinary_f32, f32, 23);
special!(special_f64, ordinary_f64, f64, 52);
