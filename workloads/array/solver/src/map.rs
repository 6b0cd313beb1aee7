//! Element-wise maps over floats.
//!
//! Sum, product, square and root follow IEEE 754; the exponential and the logarithm are accurate to
//! 1 ULP. All results have the same bits on every machine and path. A NaN from arithmetic is always
//! the same one (`f32::NAN`, `f64::NAN`). The exponential and the logarithm of a NaN are that NaN,
//! made quiet. `abs` and `negate` change only the sign, also of a NaN.

pub(crate) mod block;
pub(crate) mod exp;
pub(crate) mod log;

use crate::element::Float;
use crate::simd::{self, InstructionSet, Kernel};
use block::{BlockFn, N_BLOCK, map_blocks, map_blocks_in_place};
use swathe::Simd;

/// The function to apply to each element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Map<'a, T> {
    /// Adds the operand.
    Add(Operand<'a, T>),
    /// Multiplies by the operand.
    Multiply(Operand<'a, T>),
    /// Multiplies by itself.
    Square,
    /// Square root; NaN below zero.
    Sqrt,
    /// Exponential function.
    Exp,
    /// Natural logarithm; −∞ at zero, NaN below.
    Log,
    /// Magnitude.
    Abs,
    /// Opposite sign.
    Negate,
}

/// The other operand of a sum or a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand<'a, T> {
    /// One number for all elements.
    Scalar(T),
    /// A number for each element.
    Array(&'a [T]),
}

/// Why a map was rejected; no output has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The operand has another number of elements.
    #[error("the operand has {n_operand} elements, the array {n_elements}")]
    OperandLength {
        /// Elements of the array.
        n_elements: usize,
        /// Elements of the operand.
        n_operand: usize,
    },
    /// The output has another number of elements.
    #[error("the output has {n_out} elements, the input {n_elements}")]
    OutLength {
        /// Elements of the input.
        n_elements: usize,
        /// Elements of the output.
        n_out: usize,
    },
}

/// Maps every element in place. Returns how many results are NaN although no operand was.
///
/// ```
/// use swathe_array::map::{Map, map_in_place};
/// use swathe_array::Simd;
/// let mut x = [4.0f32, -1.0, f32::NAN];
/// let n_nan = map_in_place(&mut x, Map::Sqrt, Simd::detect())?;
/// assert_eq!(x[0], 2.0);
/// assert_eq!(n_nan, 1);
/// # Ok::<(), swathe_array::map::MapError>(())
/// ```
///
/// # Errors
/// If the operand has another number of elements than `data`.
pub fn map_in_place<T: Float>(
    data: &mut [T],
    map: Map<'_, T>,
    simd: Simd,
) -> Result<u64, MapError> {
    check_operand(data.len(), map)?;
    Ok(apply(Lanes::InPlace(data), map, simd))
}

/// Maps every element of `input` into `out`. Returns how many results are NaN although no operand
/// was.
///
/// # Errors
/// If the operand or `out` has another number of elements than `input`.
pub fn map_into<T: Float>(
    input: &[T],
    out: &mut [T],
    map: Map<'_, T>,
    simd: Simd,
) -> Result<u64, MapError> {
    if input.len() != out.len() {
        return Err(MapError::OutLength { n_elements: input.len(), n_out: out.len() });
    }
    check_operand(input.len(), map)?;
    Ok(apply(Lanes::Apart(input, out), map, simd))
}

/// Fails unless a map's operand fits data of so many elements.
pub(crate) fn check_operand<T>(n_elements: usize, map: Map<'_, T>) -> Result<(), MapError> {
    match map {
        Map::Add(Operand::Array(operand)) | Map::Multiply(Operand::Array(operand))
            if operand.len() != n_elements =>
        {
            Err(MapError::OperandLength { n_elements, n_operand: operand.len() })
        }
        _ => Ok(()),
    }
}

/// The source and the destination of the elements.
enum Lanes<'a, T> {
    InPlace(&'a mut [T]),
    Apart(&'a [T], &'a mut [T]),
}

fn apply<T: Float>(lanes: Lanes<'_, T>, map: Map<'_, T>, simd: Simd) -> u64 {
    match map {
        Map::Add(Operand::Array(operand)) => simd::run(simd, Binary(lanes, operand, Sum)),
        Map::Multiply(Operand::Array(operand)) => simd::run(simd, Binary(lanes, operand, Product)),
        // A number does not become NaN by adding a finite number, or by multiplying with a finite
        // number other than zero: no count is needed.
        Map::Add(Operand::Scalar(s)) if s.is_finite() => {
            simd::run(simd, Unary(lanes, AddFinite(s)))
        }
        Map::Add(Operand::Scalar(s)) => simd::run(simd, Unary(lanes, AddScalar(s))),
        Map::Multiply(Operand::Scalar(s)) if s.is_finite() && s != T::ZERO => {
            simd::run(simd, Unary(lanes, MultiplyFinite(s)))
        }
        Map::Multiply(Operand::Scalar(s)) => simd::run(simd, Unary(lanes, MultiplyScalar(s))),
        Map::Square => simd::run(simd, Unary(lanes, Square)),
        Map::Sqrt => simd::run(simd, Unary(lanes, Sqrt)),
        Map::Exp => simd::run(simd, Blocks(lanes, Exp)),
        Map::Log => simd::run(simd, Blocks(lanes, Log)),
        Map::Abs => simd::run(simd, Unary(lanes, Abs)),
        Map::Negate => simd::run(simd, Unary(lanes, Negate)),
    }
}

/// A function of one element.
trait UnaryFn<T: Float>: Copy {
    /// The result, and whether it is a NaN made from a number.
    fn of(self, x: T) -> (T, bool);
}

/// A function of two elements.
trait BinaryFn<T: Float>: Copy {
    /// The result, before a NaN is made canonical.
    fn of(self, x: T, operand: T) -> T;
}

struct Unary<'a, T, F>(Lanes<'a, T>, F);
struct Blocks<'a, T, F>(Lanes<'a, T>, F);
struct Binary<'a, T, F>(Lanes<'a, T>, &'a [T], F);

/// Elements per inner loop: few enough that a counter as narrow as an element suffices, and that
/// the counters stay in vector registers until the loop ends.
const N_PER_COUNT: usize = 1 << 16;

/// Elements that are counted and then mapped: a multiple of a block, 8 KiB at most.
const N_PER_PART: usize = 16 * N_BLOCK;

impl<T: Float, F: UnaryFn<T>> Kernel for Unary<'_, T, F> {
    type Output = u64;

    #[inline(always)]
    fn run<I: InstructionSet>(self) -> u64 {
        let Unary(lanes, f) = self;
        let mut n_nan = 0u64;
        match lanes {
            Lanes::InPlace(data) => {
                for data in data.chunks_mut(N_PER_COUNT) {
                    let mut count = T::Count::default();
                    for x in data {
                        let (y, is_new_nan) = f.of(*x);
                        *x = y;
                        count += T::Count::from(is_new_nan);
                    }
                    n_nan += count.into();
                }
            }
            Lanes::Apart(input, out) => {
                for (input, out) in input.chunks(N_PER_COUNT).zip(out.chunks_mut(N_PER_COUNT)) {
                    let mut count = T::Count::default();
                    for (x, out) in input.iter().zip(out) {
                        let (y, is_new_nan) = f.of(*x);
                        *out = y;
                        count += T::Count::from(is_new_nan);
                    }
                    n_nan += count.into();
                }
            }
        }
        n_nan
    }
}

impl<T: Float, F: BlockFn<T>> Kernel for Blocks<'_, T, F> {
    type Output = u64;

    #[inline(always)]
    fn run<I: InstructionSet>(self) -> u64 {
        let Blocks(lanes, f) = self;
        let mut n_nan = 0u64;
        // Each part is counted just before it is mapped: the input is not yet overwritten, and is
        // then already in the cache.
        match lanes {
            Lanes::InPlace(data) => {
                for data in data.chunks_mut(N_PER_PART) {
                    n_nan += n_made_nan(data, f);
                    map_blocks_in_place(data, f);
                }
            }
            Lanes::Apart(input, out) => {
                for (input, out) in input.chunks(N_PER_PART).zip(out.chunks_mut(N_PER_PART)) {
                    n_nan += n_made_nan(input, f);
                    map_blocks(input, out, f);
                }
            }
        }
        n_nan
    }
}

#[inline(always)]
fn n_made_nan<T: Float, F: BlockFn<T>>(data: &[T], f: F) -> u64 {
    let mut count = T::Count::default();
    for &x in data {
        count += T::Count::from(f.makes_nan(x));
    }
    count.into()
}

impl<T: Float, F: BinaryFn<T>> Kernel for Binary<'_, T, F> {
    type Output = u64;

    #[inline(always)]
    fn run<I: InstructionSet>(self) -> u64 {
        let Binary(lanes, operand, f) = self;
        let mut n_nan = 0u64;
        let operands = operand.chunks(N_PER_COUNT);
        match lanes {
            Lanes::InPlace(data) => {
                for (data, operand) in data.chunks_mut(N_PER_COUNT).zip(operands) {
                    let mut count = T::Count::default();
                    for (x, operand) in data.iter_mut().zip(operand) {
                        let (y, is_new_nan) = checked(*x, *operand, f);
                        *x = y;
                        count += T::Count::from(is_new_nan);
                    }
                    n_nan += count.into();
                }
            }
            Lanes::Apart(input, out) => {
                let inputs = input.chunks(N_PER_COUNT);
                for ((input, operand), out) in inputs.zip(operands).zip(out.chunks_mut(N_PER_COUNT))
                {
                    let mut count = T::Count::default();
                    for ((x, operand), out) in input.iter().zip(operand).zip(out) {
                        let (y, is_new_nan) = checked(*x, *operand, f);
                        *out = y;
                        count += T::Count::from(is_new_nan);
                    }
                    n_nan += count.into();
                }
            }
        }
        n_nan
    }
}

#[inline(always)]
fn checked<T: Float, F: BinaryFn<T>>(x: T, operand: T, f: F) -> (T, bool) {
    let y = f.of(x, operand);
    let had_nan = x.partial_cmp(&operand).is_none();
    (y.canonical_nan(), is_nan(y) & !had_nan)
}

#[inline(always)]
#[expect(clippy::eq_op, reason = "NaN is what differs from itself")]
fn is_nan<T: Float>(x: T) -> bool {
    x != x
}

#[derive(Clone, Copy)]
struct Sum;
#[derive(Clone, Copy)]
struct Product;
#[derive(Clone, Copy)]
struct AddScalar<T>(T);
#[derive(Clone, Copy)]
struct AddFinite<T>(T);
#[derive(Clone, Copy)]
struct MultiplyScalar<T>(T);
#[derive(Clone, Copy)]
struct MultiplyFinite<T>(T);
#[derive(Clone, Copy)]
struct Square;
#[derive(Clone, Copy)]
struct Sqrt;
#[derive(Clone, Copy)]
struct Exp;
#[derive(Clone, Copy)]
struct Log;
#[derive(Clone, Copy)]
struct Abs;
#[derive(Clone, Copy)]
struct Negate;

impl<T: Float> BinaryFn<T> for Sum {
    #[inline(always)]
    fn of(self, x: T, operand: T) -> T {
        x + operand
    }
}

impl<T: Float> BinaryFn<T> for Product {
    #[inline(always)]
    fn of(self, x: T, operand: T) -> T {
        x * operand
    }
}

impl<T: Float> UnaryFn<T> for AddScalar<T> {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        checked(x, self.0, Sum)
    }
}

impl<T: Float> UnaryFn<T> for AddFinite<T> {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        ((x + self.0).canonical_nan(), false)
    }
}

impl<T: Float> UnaryFn<T> for MultiplyScalar<T> {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        checked(x, self.0, Product)
    }
}

impl<T: Float> UnaryFn<T> for MultiplyFinite<T> {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        ((x * self.0).canonical_nan(), false)
    }
}

impl<T: Float> UnaryFn<T> for Square {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        ((x * x).canonical_nan(), false)
    }
}

impl<T: Float> UnaryFn<T> for Sqrt {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        (x.sqrt().canonical_nan(), x < T::ZERO)
    }
}

impl<T: Float> BlockFn<T> for Exp {
    #[inline(always)]
    fn of(self, x: &[T; N_BLOCK]) -> [T; N_BLOCK] {
        T::exp(x)
    }

    #[inline(always)]
    fn makes_nan(self, _: T) -> bool {
        false
    }
}

impl<T: Float> BlockFn<T> for Log {
    #[inline(always)]
    fn of(self, x: &[T; N_BLOCK]) -> [T; N_BLOCK] {
        T::log(x)
    }

    #[inline(always)]
    fn makes_nan(self, x: T) -> bool {
        x < T::ZERO
    }
}

impl<T: Float> UnaryFn<T> for Abs {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        (x.abs(), false)
    }
}

impl<T: Float> UnaryFn<T> for Negate {
    #[inline(always)]
    fn of(self, x: T) -> (T, bool) {
        (-x, false)
    }
}
