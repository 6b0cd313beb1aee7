//! Matrix products compared with the plain loop that defines them.

use std::fmt::Debug;
use swathe_array::matmul::{MatmulError, ProductShape, SCRATCH_BYTES_MAX, Scratch, matmul_into};
use swathe_array::{Float, KeyStream, Simd};

/// A float that can be made from random bits and compared bit by bit.
trait Number: Float {
    fn from_random(bits: u64) -> Self;
    fn fused(a: Self, b: Self, acc: Self) -> Self;
    fn bits(self) -> u64;
    const INFINITY: Self;
}

macro_rules! number {
    ($type:ident) => {
        impl Number for $type {
            fn from_random(bits: u64) -> $type {
                // Signs and magnitudes vary, so that the order of the sum shows in its last bit.
                let unit = (bits >> 12) as f64 / (1u64 << 52) as f64 - 0.5;
                (unit * f64::from(1 << (bits & 7))) as $type
            }
            fn fused(a: $type, b: $type, acc: $type) -> $type {
                a.mul_add(b, acc)
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            const INFINITY: $type = $type::INFINITY;
        }
    };
}
number!(f32);
number!(f64);

fn random<T: Number>(seed: u64, n: usize) -> Vec<T> {
    let stream = KeyStream::new(seed);
    (0..n as u64).map(|idx| T::from_random(stream.word(idx))).collect()
}

/// The loop that defines a product.
fn in_order<T: Number>(a: &[T], b: &[T], shape: ProductShape) -> Vec<T> {
    let mut c = Vec::new();
    for i in 0..shape.n_rows {
        for j in 0..shape.n_cols {
            let sum = (0..shape.n_inner).fold(T::ZERO, |acc, p| {
                T::fused(a[i * shape.n_inner + p], b[p * shape.n_cols + j], acc)
            });
            c.push(if sum.partial_cmp(&sum).is_none() { T::NAN } else { sum });
        }
    }
    c
}

fn bits<T: Number>(x: &[T]) -> Vec<u64> {
    x.iter().map(|x| x.bits()).collect()
}

#[track_caller]
fn check<T: Number + Debug>(a: &[T], b: &[T], shape: ProductShape, scratch: &mut Scratch) {
    let expected = bits(&in_order(a, b, shape));
    for simd in Simd::available() {
        // The output's old contents must not matter.
        let mut c = vec![T::NAN; expected.len()];
        matmul_into(a, b, &mut c, shape, scratch, simd).unwrap();
        assert_eq!(bits(&c), expected, "{shape:?} on {}", simd.path());
    }
}

fn random_shape(stream: KeyStream, idx: u64) -> ProductShape {
    // Mostly tiny extents, including zero and one; sometimes one that spans several blocks.
    let extent = |which: u64| {
        let bits = stream.word(3 * idx + which);
        let n_max = if bits.is_multiple_of(64) { 600 } else { 40 };
        ((bits >> 32) % n_max) as usize
    };
    ProductShape { n_rows: extent(0), n_inner: extent(1), n_cols: extent(2) }
}

fn random_shapes<T: Number + Debug>(seed: u64) {
    let stream = KeyStream::new(seed);
    let mut scratch = Scratch::new();
    for idx in 0..10_000 {
        let shape = random_shape(stream, idx);
        let a = random::<T>(idx, shape.n_rows * shape.n_inner);
        let b = random::<T>(!idx, shape.n_inner * shape.n_cols);
        check(&a, &b, shape, &mut scratch);
    }
    assert!(scratch.size_bytes() <= SCRATCH_BYTES_MAX);
}

#[test]
fn random_shapes_f32() {
    random_shapes::<f32>(1);
}

#[test]
fn random_shapes_f64() {
    random_shapes::<f64>(2);
}

#[test]
fn square_sizes_around_the_blocks() {
    let mut scratch = Scratch::new();
    for n in [1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300] {
        let shape = ProductShape { n_rows: n, n_inner: n, n_cols: n };
        check(&random::<f32>(3, n * n), &random(4, n * n), shape, &mut scratch);
        check(&random::<f64>(5, n * n), &random(6, n * n), shape, &mut scratch);
    }
}

fn nan_and_infinity<T: Number + Debug>() {
    let (n_rows, n_inner, n_cols) = (13, 300, 29);
    let shape = ProductShape { n_rows, n_inner, n_cols };
    let mut a = random::<T>(7, n_rows * n_inner);
    let b = random::<T>(8, n_inner * n_cols);
    a[0] = -T::NAN;
    a[n_inner + 299] = T::INFINITY;
    a[2 * n_inner] = T::INFINITY;
    a[2 * n_inner + 1] = -T::INFINITY;
    a[3 * n_inner..4 * n_inner].fill(-T::ZERO);
    check(&a, &b, shape, &mut Scratch::new());
}

#[test]
fn nan_and_infinity_f32() {
    nan_and_infinity::<f32>();
}

#[test]
fn nan_and_infinity_f64() {
    nan_and_infinity::<f64>();
}

#[test]
fn lengths_that_disagree_are_refused() {
    let shape = ProductShape { n_rows: 2, n_inner: 3, n_cols: 4 };
    let try_lengths = |n_a: usize, n_b: usize, n_out: usize| {
        let mut out = vec![9.0f32; n_out];
        let result = matmul_into(
            &vec![1.0; n_a],
            &vec![1.0; n_b],
            &mut out,
            shape,
            &mut Scratch::new(),
            Simd::detect(),
        );
        if result.is_err() {
            assert!(out.iter().all(|&x| x == 9.0));
        }
        result
    };
    assert_eq!(try_lengths(6, 12, 8), Ok(()));
    assert_eq!(try_lengths(5, 12, 8), Err(MatmulError::LeftLength { shape, n_elements: 5 }));
    assert_eq!(try_lengths(6, 13, 8), Err(MatmulError::RightLength { shape, n_elements: 13 }));
    assert_eq!(try_lengths(6, 12, 0), Err(MatmulError::OutLength { shape, n_elements: 0 }));
}

#[test]
fn extents_that_overflow_are_refused() {
    let shape = ProductShape { n_rows: usize::MAX, n_inner: 2, n_cols: usize::MAX };
    let result = matmul_into::<f32>(&[], &[], &mut [], shape, &mut Scratch::new(), Simd::detect());
    assert!(matches!(result, Err(MatmulError::LeftLength { .. })));
}
