//! Whether two answers agree within the guaranteed accuracy.

use swathe::{DeviceKind, Difference};

use crate::operation::{MapKind, Operation};
use crate::workload::Answer;
use crate::{Array, Elements, gpu};

/// Compares the answer of a device with the reference.
///
/// On the CPU, answers have the same bits on every machine.
///
/// On a graphics processor, integers equal the CPU's. So do the bits of sums, products, squares,
/// roots, magnitudes and negations, including infinite and subnormal numbers; a NaN only has to be
/// a NaN. Exponentials and logarithms are within [`gpu::N_ULP_MAX`] units in the last place, and
/// elements of matrix products within [`Answer::error_max`].
pub(crate) fn agree(
    operation: &Operation,
    reference: &Answer,
    other: &Answer,
    on: DeviceKind,
) -> Result<(), Difference> {
    let differ = |field: &str, expected: String, found: String| {
        Err(Difference { field: field.to_owned(), expected, found })
    };
    let described = |array: &Array| format!("{:?} {}", array.shape(), array.dtype());
    let (expected, found) = (&reference.array, &other.array);
    if (expected.shape(), expected.dtype()) != (found.shape(), found.dtype()) {
        return differ("array", described(expected), described(found));
    }
    if reference.n_nan != other.n_nan {
        let counts = [reference.n_nan, other.n_nan].map(|n| n.to_string());
        let [expected, found] = counts;
        return differ("n_nan", expected, found);
    }
    let at = match (expected.elements(), found.elements()) {
        (Elements::U8(a), Elements::U8(b)) => first_other(a, b, |a, b| a == b),
        (Elements::U16(a), Elements::U16(b)) => first_other(a, b, |a, b| a == b),
        (Elements::U32(a), Elements::U32(b)) => first_other(a, b, |a, b| a == b),
        (Elements::U64(a), Elements::U64(b)) => first_other(a, b, |a, b| a == b),
        (Elements::I8(a), Elements::I8(b)) => first_other(a, b, |a, b| a == b),
        (Elements::I16(a), Elements::I16(b)) => first_other(a, b, |a, b| a == b),
        (Elements::I32(a), Elements::I32(b)) => first_other(a, b, |a, b| a == b),
        (Elements::I64(a), Elements::I64(b)) => first_other(a, b, |a, b| a == b),
        (Elements::F64(a), Elements::F64(b)) => {
            first_other(a, b, |a, b| a.to_bits() == b.to_bits())
        }
        (Elements::F32(a), Elements::F32(b)) => {
            let error_max = reference.error_max.max(other.error_max);
            match (on, operation) {
                (DeviceKind::Cpu, _) => first_other(a, b, |a, b| a.to_bits() == b.to_bits()),
                (_, Operation::Matmul) => first_other(a, b, |&a, &b| {
                    a.to_bits() == b.to_bits()
                        || a.is_nan() && b.is_nan()
                        || (f64::from(a) - f64::from(b)).abs() <= error_max
                }),
                (_, Operation::Map(MapKind::Exp | MapKind::Log)) => {
                    first_other(a, b, |&a, &b| n_ulp(a, b) <= gpu::N_ULP_MAX)
                }
                (_, _) => first_other(a, b, |&a, &b| n_ulp(a, b) == 0),
            }
        }
        _ => Some(0),
    };
    match at {
        None => Ok(()),
        Some(at) => differ(&format!("element {at}"), element(expected, at), element(found, at)),
    }
}

fn first_other<T>(a: &[T], b: &[T], is_same: impl Fn(&T, &T) -> bool) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| !is_same(a, b))
}

/// The number of representable steps between two numbers: 0 between two NaN, 1 between the two
/// zeros.
fn n_ulp(a: f32, b: f32) -> u64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u64::MAX };
    }
    let place = |x: f32| {
        let magnitude = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -1 - magnitude } else { magnitude }
    };
    place(a).abs_diff(place(b))
}

fn element(array: &Array, at: usize) -> String {
    match array.elements() {
        Elements::F32(data) => format!("{:e}", data[at]),
        Elements::F64(data) => format!("{:e}", data[at]),
        integers => swathe::with_elements!(integers, data => data[at].to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_between_numbers() {
        assert_eq!(n_ulp(1.0, 1.0), 0);
        assert_eq!(n_ulp(1.0, 1.0 + f32::EPSILON), 1);
        assert_eq!(n_ulp(-0.0, 0.0), 1);
        assert_eq!(n_ulp(f32::from_bits(1), -f32::from_bits(1)), 3);
        assert_eq!(n_ulp(f32::MAX, f32::INFINITY), 1);
        assert_eq!(n_ulp(f32::NAN, -f32::NAN), 0);
        assert_eq!(n_ulp(f32::NAN, 1.0), u64::MAX);
    }

    #[test]
    fn the_first_difference_is_named() {
        let answer =
            |data: Vec<f32>, error_max| Answer { error_max, ..Answer::new(&[data.len()], data) };
        let exact = answer(vec![1.0, 2.0, f32::NAN], 0.0);
        let near = answer(vec![1.0, 2.0 + f32::EPSILON * 2.0, -f32::NAN], 0.0);
        let check = |kind, on| agree(&Operation::Map(kind), &exact, &near, on);
        let difference = check(MapKind::Sqrt, DeviceKind::Gpu).unwrap_err();
        assert_eq!(difference.to_string(), "element 1 is 2.0000002e0, not 2e0");
        assert!(check(MapKind::Exp, DeviceKind::Cpu).is_err());
        assert_eq!(check(MapKind::Exp, DeviceKind::Gpu), Ok(()));
        let far = answer(vec![1.0, 2.5, f32::NAN], 0.6);
        assert_eq!(agree(&Operation::Matmul, &exact, &far, DeviceKind::Gpu), Ok(()));
        let far = answer(vec![1.0, 2.5, f32::NAN], 0.4);
        assert!(agree(&Operation::Matmul, &exact, &far, DeviceKind::Gpu).is_err());
        let counted = Answer { n_nan: 1, ..exact.clone() };
        let difference = agree(&Operation::Matmul, &exact, &counted, DeviceKind::Cpu).unwrap_err();
        assert_eq!(difference.to_string(), "n_nan is 1, not 0");
    }
}
