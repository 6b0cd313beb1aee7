//! Element-wise maps compared with plain loops, on every path.

use std::fmt::Debug;
use swathe_array::map::{Map, MapError, Operand, map_in_place, map_into};
use swathe_array::{Float, KeyStream, Simd, SimdPath};

/// A float that can be made from bits and has the operations of the standard library.
trait Number: Float {
    fn from_random(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn plain(map: Map<'_, Self>, idx: usize, x: Self) -> Option<Self>;
    fn number_is_nan(self) -> bool;
    const QUIET_NAN: Self;
}

macro_rules! number {
    ($type:ident, $uint:ident) => {
        impl Number for $type {
            fn from_random(bits: u64) -> $type {
                // One in eight is special, one in eight is any bit pattern, the others are
                // ordinary.
                const SPECIAL: [$type; 8] = [
                    0.0,
                    -0.0,
                    $type::INFINITY,
                    $type::NEG_INFINITY,
                    $type::NAN,
                    -$type::NAN,
                    $type::MIN_POSITIVE / 4.0,
                    $type::MAX,
                ];
                match bits & 7 {
                    0 => SPECIAL[(bits >> 3) as usize & 7],
                    1 => $type::from_bits((bits >> 3) as $uint),
                    _ => ((bits >> 12) as f64 / (1u64 << 45) as f64 - 64.0) as $type,
                }
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            /// The IEEE result, if the standard library guarantees it.
            fn plain(map: Map<'_, $type>, idx: usize, x: $type) -> Option<$type> {
                let of = |operand: Operand<'_, $type>| match operand {
                    Operand::Scalar(s) => s,
                    Operand::Array(operand) => operand[idx],
                };
                let y = match map {
                    Map::Add(operand) => x + of(operand),
                    Map::Multiply(operand) => x * of(operand),
                    Map::Square => x * x,
                    Map::Sqrt => x.sqrt(),
                    Map::Abs => return Some(x.abs()),
                    Map::Negate => return Some(-x),
                    Map::Exp | Map::Log => return None,
                };
                Some(if y.is_nan() { $type::NAN } else { y })
            }
            fn number_is_nan(self) -> bool {
                self.is_nan()
            }
            const QUIET_NAN: $type = $type::NAN;
        }
    };
}
number!(f32, u32);
number!(f64, u64);

fn bits<T: Number>(x: &[T]) -> Vec<u64> {
    x.iter().map(|x| x.bits()).collect()
}

#[track_caller]
fn check<T: Number + Debug>(x: &[T], map: Map<'_, T>) {
    let portable = Simd::new(SimdPath::Portable).unwrap();
    let mut expected = x.to_vec();
    let n_nan = map_in_place(&mut expected, map, portable).unwrap();

    let operand_at = |idx: usize| match map {
        Map::Add(Operand::Scalar(s)) | Map::Multiply(Operand::Scalar(s)) => s,
        Map::Add(Operand::Array(o)) | Map::Multiply(Operand::Array(o)) => o[idx],
        _ => x[idx],
    };
    let mut n_nan_counted = 0;
    for (idx, (&x, &y)) in x.iter().zip(&expected).enumerate() {
        if let Some(plain) = T::plain(map, idx, x) {
            assert_eq!(y.bits(), plain.bits(), "{map:?} of {x:?}");
        }
        let had_nan = x.number_is_nan() || operand_at(idx).number_is_nan();
        n_nan_counted += u64::from(y.number_is_nan() && !had_nan);
    }
    assert_eq!(n_nan, n_nan_counted, "{map:?}");

    for simd in Simd::available() {
        let mut y = x.to_vec();
        assert_eq!(map_in_place(&mut y, map, simd), Ok(n_nan));
        assert_eq!(bits(&y), bits(&expected), "{map:?} on {}", simd.path());
        let mut y = vec![T::QUIET_NAN; x.len()];
        assert_eq!(map_into(x, &mut y, map, simd), Ok(n_nan));
        assert_eq!(bits(&y), bits(&expected), "{map:?} on {}", simd.path());
    }
}

fn random_lengths<T: Number + Debug>(seed: u64) {
    let stream = KeyStream::new(seed);
    let random = |seed: u64, n: usize| -> Vec<T> {
        let stream = KeyStream::new(seed);
        (0..n as u64).map(|idx| T::from_random(stream.word(idx))).collect()
    };
    for idx in 0..10_000u64 {
        let bits = stream.word(idx);
        let n = ((bits >> 8) % if bits.is_multiple_of(32) { 3000 } else { 70 }) as usize;
        let x = random(idx, n);
        let operand = random(!idx, n);
        let scalar = T::from_random(stream.word(!idx));
        check(
            &x,
            match idx % 10 {
                0 => Map::Add(Operand::Array(&operand)),
                1 => Map::Add(Operand::Scalar(scalar)),
                2 => Map::Multiply(Operand::Array(&operand)),
                3 => Map::Multiply(Operand::Scalar(scalar)),
                4 => Map::Square,
                5 => Map::Sqrt,
                6 => Map::Exp,
                7 => Map::Log,
                8 => Map::Abs,
                _ => Map::Negate,
            },
        );
    }
}

#[test]
fn random_lengths_f32() {
    random_lengths::<f32>(1);
}

#[test]
fn random_lengths_f64() {
    random_lengths::<f64>(2);
}

#[test]
fn nans_are_counted_past_every_block() {
    let mut x = vec![-1.0f32; 200_001];
    assert_eq!(map_in_place(&mut x, Map::Log, Simd::detect()), Ok(200_001));
    assert_eq!(map_in_place(&mut x, Map::Log, Simd::detect()), Ok(0));
}

#[test]
fn lengths_that_disagree_are_refused() {
    let mut x = [1.0f64; 3];
    assert_eq!(
        map_in_place(&mut x, Map::Add(Operand::Array(&[1.0])), Simd::detect()),
        Err(MapError::OperandLength { n_elements: 3, n_operand: 1 })
    );
    assert_eq!(
        map_into(&x, &mut [0.0], Map::Square, Simd::detect()),
        Err(MapError::OutLength { n_elements: 3, n_out: 1 })
    );
}

#[test]
fn neighbours_change_nothing() {
    // A NaN or an infinity sends its whole block through another code path.
    for map in [Map::Exp, Map::Log] {
        for x in (-105_000..90_000).map(|x| x as f32 * 1e-3) {
            let mut among_ones = [1.0; 64];
            let mut among_others = [f32::NAN, f32::INFINITY].repeat(32);
            among_ones[13] = x;
            among_others[13] = x;
            map_in_place(&mut among_ones, map, Simd::detect()).unwrap();
            map_in_place(&mut among_others, map, Simd::detect()).unwrap();
            let (a, b) = (among_ones[13], among_others[13]);
            assert_eq!(a.to_bits(), b.to_bits(), "{map:?} of {x}: {a} or {b}");
        }
    }
}
