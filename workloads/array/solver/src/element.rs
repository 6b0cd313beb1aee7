//! The element types that the kernels accept.

use crate::simd::{InstructionSet, Vector};
use swathe::array::Dtype;

/// An unsigned integer that can be XORed: `u8`, `u16`, `u32` or `u64`. Signed integers are XORed as
/// unsigned ones of the same width.
pub trait Unsigned: UnsignedBits {
    /// The element type in arrays.
    const DTYPE: Dtype;
}

/// A floating-point number that can be multiplied and mapped: `f32` or `f64`.
pub trait Float: FloatBits {
    /// The element type in arrays.
    const DTYPE: Dtype;
}

/// What the XOR kernels need of an element. The trait cannot be named outside this crate, so other
/// crates cannot implement [`Unsigned`].
pub trait UnsignedBits:
    Copy + Send + Sync + 'static + std::fmt::Debug + Eq + std::ops::BitXor<Output = Self>
{
    /// No bit set.
    const ZERO: Self;
    /// The lowest bits of `x`.
    fn truncate(x: u64) -> Self;
    /// The number whose little-endian bytes are in `x`'s memory.
    fn from_le(x: Self) -> Self;
}

/// What the float kernels need of an element. The trait cannot be named outside this crate, so
/// other crates cannot implement [`Float`].
pub trait FloatBits:
    Copy
    + Send
    + Sync
    + 'static
    + std::fmt::Debug
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Neg<Output = Self>
{
    /// The vector of these elements in an instruction set.
    type Vector<I: InstructionSet>: Vector<Lane = Self>;
    /// A counter of the same width as the element, so that counting keeps the width of the vector.
    type Count: Copy + Default + std::ops::AddAssign + From<bool> + Into<u64>;
    /// One.
    const ONE: Self;
    /// Zero, with the sign bit clear.
    const ZERO: Self;
    /// The only NaN in results of arithmetic.
    const NAN: Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// The exponential of each element, to 1 ULP.
    fn exp<const N: usize>(x: &[Self; N]) -> [Self; N];
    /// The natural logarithm of each element, to 1 ULP.
    fn log<const N: usize>(x: &[Self; N]) -> [Self; N];
    /// The same number, with any NaN replaced by [`FloatBits::NAN`].
    fn canonical_nan(self) -> Self;
    /// Whether this is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! unsigned {
    ($($type:ident $dtype:ident),*) => {$(
        impl Unsigned for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        }

        impl UnsignedBits for $type {
            const ZERO: $type = 0;

            fn truncate(x: u64) -> $type {
                x as $type
            }

            #[inline(always)]
            fn from_le(x: $type) -> $type {
                $type::from_le(x)
            }
        }
    )*};
}
unsigned!(u8 U8, u16 U16, u32 U32, u64 U64);

macro_rules! float {
    ($type:ident, $dtype:ident, $count:ident, $exp:path, $log:path) => {
        impl Float for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        }

        impl FloatBits for $type {
            type Vector<I: InstructionSet> = I::$dtype;
            type Count = $count;
            const ONE: $type = 1.0;
            const ZERO: $type = 0.0;
            const NAN: $type = $type::NAN;

            #[inline(always)]
            fn abs(self) -> $type {
                $type::abs(self)
            }

            #[inline(always)]
            fn sqrt(self) -> $type {
                $type::sqrt(self)
            }

            #[inline(always)]
            fn exp<const N: usize>(x: &[$type; N]) -> [$type; N] {
                $exp(x)
            }

            #[inline(always)]
            fn log<const N: usize>(x: &[$type; N]) -> [$type; N] {
                $log(x)
            }

            #[inline(always)]
            fn canonical_nan(self) -> $type {
                // Works on the bits: compilers remove a comparison of floats that, to them, only
                // replaces one NaN by another.
                const SIGN: $count = (-0.0 as $type).to_bits();
                let bits = self.to_bits();
                let is_nan = bits & !SIGN > $type::INFINITY.to_bits();
                $type::from_bits(if is_nan { $type::NAN.to_bits() } else { bits })
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                $type::is_finite(self)
            }
        }
    };
}
float!(f32, F32, u32, crate::map::exp::exp_f32, crate::map::log::log_f32);
float!(f64, F64, u64, crate::map::exp::exp_f64, crate::map::log::log_f64);
