//! The natural logarithm: one branch-free formula that compilers turn into vector code.
//!
//! x = 2ᵉ · (1 + r) with √½ ≤ 1 + r < √2, so log(x) = e·ln 2 + log(1 + r). The high part of ln 2
//! has so few digits that e times it is exact, and what is lost when r is added to it is
//! carried along, so that only the last addition rounds at full size.

/// The natural logarithm of `x`, to 1 ULP.
#[inline(always)]
pub(crate) fn log_f32(x: f32) -> f32 {
    // A subnormal is brought into the normal range first; the exponent makes up for it.
    let is_subnormal = x < f32::MIN_POSITIVE;
    let scaled = if is_subnormal { x * 8_388_608.0 } else { x };
    let e_offset = if is_subnormal { 127.0 + 23.0 } else { 127.0 };

    // Measured from √½, the exponent field changes where 1 + r passes √2.
    const SQRT_HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let bits = scaled.to_bits().wrapping_add(ONE - SQRT_HALF);
    const ONE: u32 = 1.0f32.to_bits();
    // The exponent, put into the low bits of 2²³, becomes a float by a subtraction.
    const TWO_23: f32 = 8_388_608.0;
    let e = f32::from_bits((bits >> 23) | TWO_23.to_bits()) - TWO_23 - e_offset;
    let r = f32::from_bits((bits & 0x007f_ffff).wrapping_add(SQRT_HALF)) - 1.0;

    // A Chebyshev fit of (log(1 + r) − r) / r².
    let q = -7.673_641e-2_f32;
    let q = q.mul_add(r, 1.272_267_3e-1);
    let q = q.mul_add(r, -1.312_755_5e-1);
    let q = q.mul_add(r, 1.420_485_5e-1);
    let q = q.mul_add(r, -1.662_664_6e-1);
    let q = q.mul_add(r, 2.000_123_4e-1);
    let q = q.mul_add(r, -2.500_078e-1);
    let q = q.mul_add(r, 3.333_333e-1);
    let q = q.mul_add(r, -0.499_999_97);

    const LN_2_HIGH: f32 = 0.693_145_75;
    const LN_2_LOW: f32 = 1.428_606_8e-6;
    let whole = e * LN_2_HIGH;
    let high = whole + r;
    let lost = r - (high - whole);
    let y = high + (r * r).mul_add(q, e.mul_add(LN_2_LOW, lost));
    special_f32(x, y)
}

/// The natural logarithm of `x`, to 1 ULP.
#[inline(always)]
pub(crate) fn log_f64(x: f64) -> f64 {
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let is_subnormal = x < f64::MIN_POSITIVE;
    let scaled = if is_subnormal { x * TWO_52 } else { x };
    let e_offset = if is_subnormal { 1023.0 + 52.0 } else { 1023.0 };

    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0f64.to_bits();
    let bits = scaled.to_bits().wrapping_add(ONE - SQRT_HALF);
    let e = f64::from_bits((bits >> 52) | TWO_52.to_bits()) - TWO_52 - e_offset;
    let r = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF)) - 1.0;

    // With s = r / (2 + r), log(1 + r) = 2 artanh(s) = r − r²/2 + s (r²/2 + R(s²)): far fewer
    // terms than in r for the price of a division. R is a Chebyshev fit.
    let s = r / (2.0 + r);
    let z = s * s;
    let t = 0.146_165_854_248_886_23_f64;
    let t = t.mul_add(z, 0.153_317_106_182_107_73);
    let t = t.mul_add(z, 0.181_828_894_556_749_47);
    let t = t.mul_add(z, 0.222_222_111_302_598_78);
    let t = t.mul_add(z, 0.285_714_286_260_032_7);
    let t = t.mul_add(z, 0.399_999_999_998_994_44);
    let t = t.mul_add(z, 0.666_666_666_666_667);
    let half_square = 0.5 * r * r;
    let tail = s.mul_add(t.mul_add(z, half_square), -half_square);

    const LN_2_HIGH: f64 = 0.693_147_180_559_890_3;
    const LN_2_LOW: f64 = 5.497_923_018_708_371e-14;
    let whole = e * LN_2_HIGH;
    let high = whole + r;
    let lost = r - (high - whole);
    let y = high + (tail + e.mul_add(LN_2_LOW, lost));
    special_f64(x, y)
}

macro_rules! special {
    ($name:ident, $type:ident) => {
        /// The answers the formula does not give: −∞ at zero, NaN below, ∞ and NaN as they are.
        #[inline(always)]
        fn $name(x: $type, y: $type) -> $type {
            let y = if x < $type::INFINITY { y } else { x };
            let y = if x == 0.0 { $type::NEG_INFINITY } else { y };
            if x < 0.0 { $type::NAN } else { y }
        }
    };
}
special!(special_f32, f32);
special!(special_f64, f64);
