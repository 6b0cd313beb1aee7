//! The vector operations that the matrix product needs.

use super::Kernel;

/// The vectors of one instruction set.
pub trait InstructionSet {
    /// Vectors of single precision.
    type F32: Vector<Lane = f32>;
    /// Vectors of double precision.
    type F64: Vector<Lane = f64>;

    /// Runs a part of a kernel as a separate function: registers are allocated per function, and a
    /// loop that needs all of them must not share them with the code around it.
    fn call<K: Kernel>(kernel: K) -> K::Output;
}

/// A vector register.
///
/// The methods may only be called inside a kernel started by `simd::run`, which has checked that
/// the machine supports the instructions. Every `SAFETY` comment below relies on this too.
pub trait Vector: Copy {
    /// The element type of a lane.
    type Lane: Copy;
    /// The number of lanes.
    const N_LANES: usize;
    /// How many vectors a tile of the product may accumulate without spilling registers.
    const N_ACCUMULATORS: usize;

    /// Zero in every lane.
    fn zero() -> Self;

    /// `x` in every lane.
    fn splat(x: Self::Lane) -> Self;

    /// `self × factor + addend` per lane, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// Replaces every NaN by the positive quiet one, so that its bits do not depend on the path.
    fn canonical_nan(self) -> Self;

    /// Reads `N_LANES` elements.
    ///
    /// # Safety
    /// `N_LANES` elements are readable at `from`.
    unsafe fn load(from: *const Self::Lane) -> Self;

    /// Writes `N_LANES` elements.
    ///
    /// # Safety
    /// `N_LANES` elements are writable at `to`.
    unsafe fn store(self, to: *mut Self::Lane);

    /// Reads the first `n_lanes` (fewer than `N_LANES`) and sets the others to zero.
    ///
    /// # Safety
    /// `n_lanes` elements are readable at `from`.
    unsafe fn load_first(from: *const Self::Lane, n_lanes: usize) -> Self;

    /// Writes the first `n_lanes` (fewer than `N_LANES`) only.
    ///
    /// # Safety
    /// `n_lanes` elements are writable at `to`.
    unsafe fn store_first(self, to: *mut Self::Lane, n_lanes: usize);
}
