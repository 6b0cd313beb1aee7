//! The instruction sets that kernels are compiled for, and which of them this machine has.
//!
//! All crates use this one detection, so kernels, reports and `run.json` name the same path.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The name of an instruction set that kernels can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SimdPath {
    /// Plain Rust. Multiply-adds are fused in software where the target has no instruction for it.
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
    /// The requested path.
    pub path: SimdPath,
}

/// A [`SimdPath`] that this machine is known to have; kernels take it as an argument.
///
/// ```
/// use swathe::{Simd, SimdPath};
/// let best = Simd::detect();
/// let slow = Simd::new(SimdPath::Portable)?;
/// assert!(slow.path() <= best.path());
/// # Ok::<(), swathe::SimdUnavailable>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Simd(SimdPath);

impl Simd {
    /// The fastest path of this machine. The first call detects it, later calls return the cached
    /// path.
    pub fn detect() -> Simd {
        static BEST: OnceLock<Simd> = OnceLock::new();
        *BEST.get_or_init(|| {
            let available = SimdPath::ALL.into_iter().rev();
            let best = available.into_iter().find(|path| path.is_available());
            Simd(best.unwrap_or(SimdPath::Portable))
        })
    }

    /// The path that every machine has.
    pub const fn portable() -> Simd {
        Simd(SimdPath::Portable)
    }

    /// A path of the caller's choice.
    ///
    /// # Errors
    /// If this machine lacks the instructions of the path.
    pub fn new(path: SimdPath) -> Result<Simd, SimdUnavailable> {
        match path.is_available() {
            true => Ok(Simd(path)),
            false => Err(SimdUnavailable { path }),
        }
    }

    /// All paths this machine has, slowest first.
    pub fn available() -> impl Iterator<Item = Simd> {
        let all = SimdPath::ALL.into_iter();
        all.filter(|path| path.is_available()).map(Simd)
    }

    /// The name of the path.
    pub const fn path(self) -> SimdPath {
        self.0
    }

    /// Whether the path includes AVX2 and FMA.
    pub const fn has_avx2(self) -> bool {
        matches!(self.0, SimdPath::Avx2 | SimdPath::Avx512)
    }
}

impl fmt::Debug for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl SimdPath {
    /// Every path there is, slowest first.
    pub const ALL: [SimdPath; 4] =
        [SimdPath::Portable, SimdPath::Avx2, SimdPath::Avx512, SimdPath::Neon];

    /// Whether this machine has the path's instructions.
    pub fn is_available(self) -> bool {
        match self {
            SimdPath::Portable => true,
            SimdPath::Avx2 => has_avx2(),
            SimdPath::Avx512 => has_avx2() && has_avx512(),
            // The aarch64 targets that Rust supports with a standard library all have NEON.
            SimdPath::Neon => cfg!(target_arch = "aarch64"),
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

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}
