//! Run-time choice of the instruction set.
//!
//! Every kernel is written once, generic over an instruction set, and compiled for each of them. A
//! [`Simd`] value proves that the machine supports the instruction set that it names. All
//! instruction sets compute the same bits: the same operations in the same order, with every
//! multiply-add fused.
//!
//! No SIMD crate is used: those crates choose the instruction set at compile time or do not
//! guarantee the same bits on all sets. Besides, a product needs a register layout by hand for each
//! set to reach the machine's limit.

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use swathe::{Simd, SimdPath};

pub(crate) use vector::{InstructionSet, Vector};

/// Runs a kernel compiled for this path.
#[inline]
pub(crate) fn run<K: Kernel>(simd: Simd, kernel: K) -> K::Output {
    match simd.path() {
        SimdPath::Portable => kernel.run::<portable::Portable>(),
        // SAFETY: a `Simd` holds only paths whose features were detected.
        #[cfg(target_arch = "x86_64")]
        SimdPath::Avx2 => unsafe { x86::run_avx2(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        SimdPath::Avx512 => unsafe { x86::run_avx512(kernel) },
        #[cfg(target_arch = "aarch64")]
        SimdPath::Neon => kernel.run::<neon::Neon>(),
        path => unreachable!("{path} was never detected on this target"),
    }
}

/// A computation that is compiled once per instruction set.
///
/// `run` and everything it calls must be `#[inline(always)]`: only code that is inlined into the
/// function that enables the instructions is compiled with them.
pub trait Kernel {
    /// What the computation returns.
    type Output;
    /// The computation.
    fn run<I: InstructionSet>(self) -> Self::Output;
}
