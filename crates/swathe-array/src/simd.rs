//! Run-time choice of the instruction set.
//!
//! Every kernel is written once, generic over an instruction set, and compiled for each of them;
//! [`Simd`] is the proof that the running machine has the one it names. All of them compute the
//! same bits: the same operations in the same order, with every multiply-add fused.

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;
use std::sync::OnceLock;

pub(crate) use vector::{InstructionSet, Vector};

/// The name of an instruction set that kernels can run on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum SimdPath {
    /// Plain Rust; the multiply-adds are fused in software where the target has no instruction.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ and VL).
    Avx512,
    /// 64-bit ARM.
    Neon,
}

/// The machine lacks the instructions of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this machine cannot run the {path} kernels")]
pub struct SimdUnavailable {
    /// The path that was asked for.
    pub path: SimdPath,
}

/// A [`SimdPath`] this machine is known to have; kernels take it as an argument.
///
/// ```
/// use swathe_array::{Simd, SimdPath};
/// let best = Simd::detect();
/// let slow = Simd::new(SimdPath::Portable)?;
/// assert!(slow.path() <= best.path());
/// # Ok::<(), swathe_array::SimdUnavailable>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd(SimdPath);

impl Simd {
    /// The fastest path of this machine. The first call looks, the others remember.
    pub fn detect() -> Simd {
        static BEST: OnceLock<Simd> = OnceLock::new();
        *BEST.get_or_init(|| Simd(SimdPath::detect()))
    }

    /// A path of the caller's choice, if this machine has it.
    pub fn new(path: SimdPath) -> Result<Simd, SimdUnavailable> {
        if path.is_available() {
            Ok(Simd(path))
        } else {
            Err(SimdUnavailable { path })
        }
    }

    /// All paths this machine has, slowest first.
    pub fn available() -> impl Iterator<Item = Simd> {
        SimdPath::ALL
            .into_iter()
            .filter(|path| path.is_available())
            .map(Simd)
    }

    /// The name of the path.
    pub fn path(self) -> SimdPath {
        self.0
    }

    /// Runs a kernel compiled for this path.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
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
}

impl SimdPath {
    /// Every path there is, slowest first.
    pub const ALL: [SimdPath; 4] = [
        SimdPath::Portable,
        SimdPath::Avx2,
        SimdPath::Avx512,
        SimdPath::Neon,
    ];

    /// The fastest path of this machine.
    pub fn detect() -> SimdPath {
        SimdPath::ALL
            .into_iter()
            .rev()
            .find(|path| path.is_available())
            .unwrap_or(SimdPath::Portable)
    }

    /// Whether this machine has the path's instructions.
    pub fn is_available(self) -> bool {
        match self {
            SimdPath::Portable => true,
            #[cfg(target_arch = "x86_64")]
            SimdPath::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            SimdPath::Avx512 => x86::has_avx512(),
            // The aarch64 targets that Rust supports with a standard library all have NEON.
            SimdPath::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(not(target_arch = "x86_64"))]
            SimdPath::Avx2 | SimdPath::Avx512 => false,
        }
    }

    /// The name users see.
    pub const fn name(self) -> &'static str {
        match self {
            SimdPath::Portable => "portable",
            SimdPath::Avx2 => "avx2",
            SimdPath::Avx512 => "avx512",
            SimdPath::Neon => "neon",
        }
    }
}

impl fmt::Display for SimdPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A computation that is compiled once per instruction set.
///
/// `run` and everything it calls must be `#[inline(always)]`: only what is inlined into the
/// function that enables the instructions is compiled with them.
pub trait Kernel {
    /// What the computation returns.
    type Output;
    /// The computation.
    fn run<I: InstructionSet>(self) -> Self::Output;
}
