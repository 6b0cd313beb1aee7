//! A tile of the product, accumulated in registers.

use crate::element::Float;
use crate::simd::{InstructionSet, Kernel, Vector};

/// The position of a tile in its operands. Strides are in elements.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    /// The first row of the left operand, at the first inner index.
    pub(super) a: *const T,
    pub(super) a_stride: usize,
    /// The first inner index of the right operand (or of a packed panel of it), at the tile's
    /// first column. Whole vectors are read from it.
    pub(super) b: *const T,
    pub(super) b_stride: usize,
    /// The tile's first element in the product.
    pub(super) c: *mut T,
    pub(super) c_stride: usize,
    pub(super) n_rows: usize,
    pub(super) n_cols: usize,
    pub(super) n_inner: usize,
    /// Whether the sums begin at zero here, or continue from the product's elements.
    pub(super) is_first: bool,
    /// Whether the sums are complete after this tile.
    pub(super) is_last: bool,
}

/// The most rows of a tile that is `n_vectors` wide.
pub(super) const fn n_rows_max<V: Vector>(n_vectors: usize) -> usize {
    let n_rows = V::N_ACCUMULATORS / n_vectors;
    if n_rows < N_ROWS_MAX { n_rows } else { N_ROWS_MAX }
}

/// The greatest height for which code is generated.
const N_ROWS_MAX: usize = 12;

/// Computes a tile of at most `n_rows_max(n_vectors)` rows and `n_vectors` vectors, one or two.
///
/// # Safety
/// The tile is inside its operands: `n_rows × n_inner` elements are readable at `a`, `n_inner`
/// times `n_vectors` whole vectors at `b`, `n_rows × n_cols` elements writable at `c`.
#[inline(always)]
pub(super) unsafe fn compute<T: Float, I: InstructionSet>(n_vectors: usize, tile: &Tile<T>) {
    macro_rules! by_rows {
        ($n_vectors:literal: $($n_rows:literal)*) => {
            match tile.n_rows {
                $($n_rows => I::call(Sized::<T, $n_rows, $n_vectors>(tile)),)*
                n_rows => unreachable!("a tile of {n_rows} rows"),
            }
        };
    }
    if n_vectors == 1 {
        by_rows!(1: 1 2 3 4 5 6 7 8 9 10 11 12);
    } else {
        by_rows!(2: 1 2 3 4 5 6 7 8 9 10 11 12);
    }
}

/// A tile whose extents are compile-time constants; only [`compute`] makes one.
struct Sized<'a, T, const N_ROWS: usize, const N_VECTORS: usize>(&'a Tile<T>);

impl<T: Float, const N_ROWS: usize, const N_VECTORS: usize> Kernel
    for Sized<'_, T, N_ROWS, N_VECTORS>
{
    type Output = ();

    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        // SAFETY: the caller of `compute` guarantees the same, and the constants equal the tile's
        // extents.
        unsafe { compute_sized::<T::Vector<I>, N_ROWS, N_VECTORS>(self.0) }
    }
}

/// # Safety
/// As for [`compute`].
#[inline(always)]
unsafe fn compute_sized<V: Vector, const N_ROWS: usize, const N_VECTORS: usize>(
    tile: &Tile<V::Lane>,
) {
    // Decided at compile time: no code is generated for tiles that do not fit in the registers.
    if N_ROWS > n_rows_max::<V>(N_VECTORS) {
        unreachable!("a tile of {N_ROWS} rows");
    }
    let is_whole = tile.n_cols == N_VECTORS * V::N_LANES;
    let n_last = tile.n_cols - (N_VECTORS - 1) * V::N_LANES;
    let mut sums = [[V::zero(); N_VECTORS]; N_ROWS];

    if !tile.is_first {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the product's elements of this tile are readable; of the last vector
                // only those that belong to the tile are read.
                *sum = unsafe {
                    let c = tile.c.add(row * tile.c_stride + v * V::N_LANES);
                    if is_whole || v + 1 < N_VECTORS {
                        V::load(c)
                    } else {
                        V::load_first(c, n_last)
                    }
                };
            }
        }
    }

    let (mut a, mut b) = (tile.a, tile.b);
    for _ in 0..tile.n_inner {
        let mut right = [V::zero(); N_VECTORS];
        for (v, right) in right.iter_mut().enumerate() {
            // SAFETY: whole vectors are readable at every inner index of the right operand.
            *right = unsafe { V::load(b.add(v * V::N_LANES)) };
        }
        for (row, sums) in sums.iter_mut().enumerate() {
            // SAFETY: the row has `n_inner` elements.
            let left = V::splat(unsafe { *a.add(row * tile.a_stride) });
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = left.mul_add(right, *sum);
            }
        }
        // The last step would leave the operands, where `add` would be undefined behaviour.
        a = a.wrapping_add(1);
        b = b.wrapping_add(tile.b_stride);
    }

    for (row, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            let sum = if tile.is_last { sum.canonical_nan() } else { *sum };
            // SAFETY: the product's elements of this tile are writable; of the last vector only
            // those that belong to the tile are written.
            unsafe {
                let c = tile.c.add(row * tile.c_stride + v * V::N_LANES);
                if is_whole || v + 1 < N_VECTORS {
                    sum.store(c);
                } else {
                    sum.store_first(c, n_last);
                }
            }
        }
    }
}
