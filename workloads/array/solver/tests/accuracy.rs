//! The error of the exponential and the logarithm, in units in the last place.

use swathe_array::map::{Map, map_into};
use swathe_array::{KeyStream, Simd};

/// Checks single precision over every `step`-th bit pattern against the standard library's double
/// precision, whose own error is at most a thousandth of an ULP here.
#[track_caller]
fn check_f32(map: Map<'_, f32>, truth: fn(f64) -> f64, step: usize) -> f64 {
    let mut worst = (0.0, 0.0f32);
    let mut x = vec![0.0f32; 1 << 12];
    let mut y = x.clone();
    let mut patterns = (0..=u32::MAX).step_by(step);
    loop {
        let mut n = 0;
        for (x, pattern) in x.iter_mut().zip(&mut patterns) {
            *x = f32::from_bits(pattern);
            n += 1;
        }
        if n == 0 {
            return worst.0;
        }
        map_into(&x, &mut y, map, Simd::detect()).unwrap();
        for (&x, &y) in x.iter().zip(&y).take(n) {
            let exact = truth(f64::from(x));
            let rounded = exact as f32;
            if rounded.is_nan() || rounded.is_infinite() {
                let is_same = rounded.to_bits() == y.to_bits() || rounded.is_nan() && y.is_nan();
                // The largest finite number is one ULP from infinity.
                let is_next = rounded.is_infinite() && y == f32::MAX && exact.is_finite();
                assert!(is_same || is_next, "{map:?} of {x:e} is {y:e}, not {rounded:e}");
                continue;
            }
            let ulp = f64::from(ulp_f32(rounded));
            let error = ((f64::from(y) - exact) / ulp).abs();
            assert!(error <= 1.0, "{map:?} of {x:e} is {y:e}: {error} ULP");
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
}

fn ulp_f32(x: f32) -> f32 {
    let x = x.abs().max(f32::MIN_POSITIVE);
    f32::from_bits(x.to_bits() + 1) - x
}

fn ulp_f64(x: f64) -> f64 {
    let x = x.abs().max(f64::MIN_POSITIVE);
    f64::from_bits(x.to_bits() + 1) - x
}

#[test]
fn exp_f32_over_one_pattern_in_61() {
    assert!(check_f32(Map::Exp, f64::exp, 61) > 0.5);
}

#[test]
fn log_f32_over_one_pattern_in_61() {
    assert!(check_f32(Map::Log, f64::ln, 61) > 0.5);
}

#[test]
#[ignore = "takes a minute: every one of the 2³² patterns"]
fn exp_f32_over_all_patterns() {
    println!("{:.4} ULP", check_f32(Map::Exp, f64::exp, 1));
}

#[test]
#[ignore = "takes a minute: every one of the 2³² patterns"]
fn log_f32_over_all_patterns() {
    println!("{:.4} ULP", check_f32(Map::Log, f64::ln, 1));
}

/// A number as an unevaluated sum of two, with about 106 bits.
#[derive(Clone, Copy, Debug)]
struct Double(f64, f64);

const LN_2: Double = Double(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

impl Double {
    fn add(self, other: Double) -> Double {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let lost = (self.0 - (sum - part)) + (other.0 - part);
        Double::normal(sum, lost + (self.1 + other.1))
    }

    fn mul(self, other: Double) -> Double {
        let product = self.0 * other.0;
        let lost = self.0.mul_add(other.0, -product);
        Double::normal(product, lost + (self.0 * other.1 + self.1 * other.0))
    }

    fn normal(high: f64, low: f64) -> Double {
        let sum = high + low;
        Double(sum, low - (sum - high))
    }

    fn scale(self, factor: f64) -> Double {
        Double(self.0 * factor, self.1 * factor)
    }

    /// exp(x) = self · 2ⁿ, by its Taylor series.
    fn exp(x: Double) -> (Double, i32) {
        let n = (x.0 / std::f64::consts::LN_2).round();
        let r = x.add(LN_2.mul(Double(-n, 0.0)));
        let mut sum = Double(1.0, 0.0);
        for k in (1..=28).rev() {
            sum = Double(1.0, 0.0).add(sum.mul(r).mul(Double::inverse(k)));
        }
        (sum, n as i32)
    }

    fn inverse(k: i32) -> Double {
        let k = f64::from(k);
        let inverse = 1.0 / k;
        Double(inverse, (-inverse).mul_add(k, 1.0) / k)
    }

    /// One step of Newton's method from the standard library's answer doubles its digits. Close to
    /// one, where that is not enough, the Taylor series is used.
    fn log(x: f64) -> Double {
        let (fraction, n) = fraction_and_exponent(x);
        if n == 0 && (fraction - 1.0).abs() < 1e-4 {
            let r = Double(1.0 - fraction, 0.0);
            let mut sum = Double(0.0, 0.0);
            for k in (1..=8).rev() {
                sum = Double::inverse(k).add(sum.mul(r));
            }
            return sum.mul(r).scale(-1.0);
        }
        let guess = fraction.ln();
        let (inverse, inverse_n) = Double::exp(Double(-guess, 0.0));
        let inverse = inverse.scale(2f64.powi(inverse_n));
        let d = inverse.mul(Double(fraction, 0.0)).add(Double(-1.0, 0.0));
        let correction = d.add(d.mul(d).scale(-0.5));
        Double(guess, 0.0).add(correction).add(LN_2.mul(Double(f64::from(n), 0.0)))
    }
}

/// x = fraction · 2ⁿ with the fraction between √½ and √2.
fn fraction_and_exponent(x: f64) -> (f64, i32) {
    let (x, offset) = if x < f64::MIN_POSITIVE { (x * 2f64.powi(60), -60) } else { (x, 0) };
    let n = (x.to_bits() >> 52) as i32 - 1023;
    let fraction = f64::from_bits(x.to_bits() & ((1 << 52) - 1) | 1023 << 52);
    if fraction > std::f64::consts::SQRT_2 {
        (fraction / 2.0, n + 1 + offset)
    } else {
        (fraction, n + offset)
    }
}

#[test]
fn the_reference_knows_these_digits() {
    // e = 2.718281828459045235360287471352662497757 (40 digits), as a sum of two doubles:
    let (e, n) = Double::exp(Double(1.0, 0.0));
    let e = e.scale(2f64.powi(n));
    assert_eq!(e.0, std::f64::consts::E);
    assert!((e.1 - 1.445_646_891_729_250_2e-16).abs() < 1e-30);
    // log 10 = 2.302585092994045684017991454684364207601
    let log_10 = Double::log(10.0);
    assert_eq!(log_10.0, std::f64::consts::LN_10);
    assert!((log_10.1 - -2.170_756_223_382_249_4e-16).abs() < 1e-30);
}

fn apply(x: &[f64], map: Map<'_, f64>) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    map_into(x, &mut y, map, Simd::detect()).unwrap();
    y
}

#[test]
fn exp_f64() {
    let stream = KeyStream::new(1);
    let unit = |idx: u64| (stream.word(idx) >> 11) as f64 / (1u64 << 53) as f64;
    let mut x: Vec<f64> = (0..400_000)
        .map(|idx| match idx % 4 {
            0 => -745.2 + 1454.9 * unit(idx),
            1 => -1.0 + 2.0 * unit(idx),
            2 => -746.0 + 40.0 * unit(idx),
            _ => (unit(idx) - 0.5) * 2f64.powi(-((stream.word(!idx) % 60) as i32)),
        })
        .collect();
    // The polynomial is at the end of its range where the nearest multiple of ln 2 changes.
    x.extend((-2148..2048).map(|n| f64::from(n) * 0.5 * std::f64::consts::LN_2));
    let mut worst = 0.0f64;
    for (&x, &y) in x.iter().zip(&apply(&x, Map::Exp)) {
        let (exact, n) = Double::exp(Double(x, 0.0));
        // In two halves, because 2ⁿ may not be a normal number.
        let (half, rest) = (2f64.powi(n / 2), 2f64.powi(n - n / 2));
        let ulp = ulp_f64(exact.0 * half * rest) / half / rest;
        let error = (((y / half / rest - exact.0) - exact.1) / ulp).abs();
        assert!(error <= 1.0, "exp of {x:e} is {y:e}: {error} ULP");
        worst = worst.max(error);
    }
    assert!(worst > 0.5);
    println!("{worst:.4} ULP");
}

#[test]
fn log_f64() {
    let stream = KeyStream::new(2);
    let x: Vec<f64> = (0..400_000u64)
        .map(|idx| {
            let bits = stream.word(idx);
            let near_one = (bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            match idx % 4 {
                // Any positive number, subnormal numbers, numbers around one, and numbers close to
                // one.
                0 => f64::from_bits(bits % f64::INFINITY.to_bits()),
                1 => f64::from_bits((bits >> 12).max(1)),
                2 => 1.0 + 1.2 * near_one,
                _ => 1.0 + near_one * 2f64.powi(-((stream.word(!idx) % 50) as i32)),
            }
        })
        .filter(|&x| x > 0.0)
        .collect();
    let mut worst = 0.0f64;
    for (&x, &y) in x.iter().zip(&apply(&x, Map::Log)) {
        let exact = Double::log(x);
        let error = (((y - exact.0) - exact.1) / ulp_f64(exact.0)).abs();
        assert!(error <= 1.0, "log of {x:e} is {y:e}: {error} ULP");
        worst = worst.max(error);
    }
    assert!(worst > 0.5);
    println!("{worst:.4} ULP");
}

#[test]
fn special_values_f64() {
    let inf = f64::INFINITY;
    let x = [inf, -inf, 0.0, -0.0, 709.782_712_893_384, 709.782_712_893_384_1, -745.14, 1e308];
    let exp = apply(&x, Map::Exp);
    assert_eq!(exp[..4], [inf, 0.0, 1.0, 1.0]);
    assert!(exp[4].is_finite());
    assert_eq!(exp[5..], [inf, 0.0, inf]);
    let x = [inf, 0.0, -0.0, 1.0, f64::from_bits(1)];
    let log = apply(&x, Map::Log);
    assert_eq!(log, [inf, -inf, -inf, 0.0, -744.440_071_921_381_2]);
    for x in [-1.0, -inf, f64::NAN, -f64::from_bits(1)] {
        assert!(apply(&[x], Map::Log)[0].is_nan());
    }
    assert!(apply(&[f64::NAN], Map::Exp)[0].is_nan());
}
