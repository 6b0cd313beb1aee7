//! Matrix products, one at a time and on one thread: parallelism is over the items of a batch.
//!
//! **The contract.** Every element of the product is the in-order sum
//! `acc = fma(a[i, p], b[p, j], acc)` for p = 0, 1, 2 …, with `acc` starting at zero, bit for bit,
//! whatever the shape, the batch and the instruction set. (A NaN is always the positive quiet
//! one.) Vectors run along the columns, never along p, so no sum is reordered. Long sums are split
//! by storing `acc` in the product and loading it again, which does not round.

mod scratch;
mod stack;
mod tile;

pub use scratch::Scratch;
pub(crate) use stack::check_stack;
pub use stack::{StackShape, ViewsMismatch, matmul_stack_into, matmul_views};

use crate::element::Float;
use crate::simd::{self, InstructionSet, Kernel, Vector};
use swathe::Simd;
use tile::Tile;

/// The extents of a product: `n_rows × n_inner` times `n_inner × n_cols`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProductShape {
    /// Rows of the left operand and of the product.
    pub n_rows: usize,
    /// Columns of the left operand, rows of the right one.
    pub n_inner: usize,
    /// Columns of the right operand and of the product.
    pub n_cols: usize,
}

/// Why a product was rejected; no output has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatmulError {
    /// The left operand does not have `n_rows × n_inner` elements.
    #[error("the left operand has {n_elements} elements, which is not {n_rows} × {n_inner}", n_rows = shape.n_rows, n_inner = shape.n_inner)]
    LeftLength {
        /// The expected extents.
        shape: ProductShape,
        /// The number of elements given.
        n_elements: usize,
    },
    /// The right operand does not have `n_inner × n_cols` elements.
    #[error("the right operand has {n_elements} elements, which is not {n_inner} × {n_cols}", n_inner = shape.n_inner, n_cols = shape.n_cols)]
    RightLength {
        /// The expected extents.
        shape: ProductShape,
        /// The number of elements given.
        n_elements: usize,
    },
    /// The output does not have `n_rows × n_cols` elements.
    #[error("the output has {n_elements} elements, which is not {n_rows} × {n_cols}", n_rows = shape.n_rows, n_cols = shape.n_cols)]
    OutLength {
        /// The expected extents.
        shape: ProductShape,
        /// The number of elements given.
        n_elements: usize,
    },
}

/// Multiplies two row-major matrices into `out`, whose old contents are overwritten.
///
/// ```
/// use swathe_array::matmul::{ProductShape, Scratch, matmul_into};
/// use swathe_array::Simd;
/// let shape = ProductShape { n_rows: 1, n_inner: 2, n_cols: 2 };
/// let mut c = [0.0f64; 2];
/// matmul_into(&[1.0, 2.0], &[3.0, 4.0, 5.0, 6.0], &mut c, shape, &mut Scratch::new(), Simd::detect())?;
/// assert_eq!(c, [13.0, 16.0]);
/// # Ok::<(), swathe_array::matmul::MatmulError>(())
/// ```
///
/// # Errors
/// If an operand or `out` does not have the number of elements that the shape requires.
pub fn matmul_into<T: Float>(
    a: &[T],
    b: &[T],
    out: &mut [T],
    shape: ProductShape,
    scratch: &mut Scratch,
    simd: Simd,
) -> Result<(), MatmulError> {
    let ProductShape { n_rows, n_inner, n_cols } = shape;
    check_operands(a.len(), b.len(), shape)?;
    if n_rows.checked_mul(n_cols) != Some(out.len()) {
        return Err(MatmulError::OutLength { shape, n_elements: out.len() });
    }
    if n_inner == 0 {
        out.fill(T::ZERO);
    } else {
        simd::run(simd, Product { a, b, out, shape, scratch });
    }
    Ok(())
}

/// Fails unless the numbers of elements agree with the extents of a product.
pub(crate) fn check_operands(
    n_left: usize,
    n_right: usize,
    shape: ProductShape,
) -> Result<(), MatmulError> {
    if shape.n_rows.checked_mul(shape.n_inner) != Some(n_left) {
        return Err(MatmulError::LeftLength { shape, n_elements: n_left });
    }
    if shape.n_inner.checked_mul(shape.n_cols) != Some(n_right) {
        return Err(MatmulError::RightLength { shape, n_elements: n_right });
    }
    Ok(())
}

/// The greatest size of a [`Scratch`]: a block of the left operand and a panel of the widest
/// vectors.
pub const SCRATCH_BYTES_MAX: usize = LEFT_BLOCK_BYTES_MAX + N_INNER_BLOCK * N_VECTORS * 64;

/// Inner indices per block: a packed panel of 256 × 16 floats fills half a first-level cache.
const N_INNER_BLOCK: usize = 256;

/// A block of the left operand fills half a second-level cache while the panels stream through: 256
/// rows of single precision.
const LEFT_BLOCK_BYTES_MAX: usize = 256 * N_INNER_BLOCK * 4;

/// Vectors side by side in a tile.
const N_VECTORS: usize = 2;

/// A right operand of at most so many bytes is not packed: its panels stay in the first-level cache
/// anyway.
const DIRECT_BYTES_MAX: usize = 32 << 10;

/// A product whose three slices have the lengths of the shape, and whose `n_inner` is not zero.
struct Product<'a, T> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    shape: ProductShape,
    scratch: &'a mut Scratch,
}

impl<T: Float> Kernel for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        multiply::<T, I, T::Vector<I>>(self);
    }
}

#[inline(always)]
fn multiply<T: Float, I: InstructionSet, V: Vector<Lane = T>>(product: Product<'_, T>) {
    let Product { a, b, out, shape, scratch } = product;
    let ProductShape { n_rows, n_inner, n_cols } = shape;
    let n_panel_cols = N_VECTORS * V::N_LANES;
    // Packing pays off only if enough rows use the packed panel.
    let is_direct =
        size_of_val(b) <= DIRECT_BYTES_MAX || n_rows <= 2 * tile::n_rows_max::<V>(N_VECTORS);

    let n_rows_block = LEFT_BLOCK_BYTES_MAX / (N_INNER_BLOCK * size_of::<T>());
    // Rows longer than a block are far apart, often by a power of two, and then compete for few
    // cache sets. Their pieces are packed together if enough panels use them.
    let is_left_packed = n_inner > N_INNER_BLOCK && n_cols > 4 * n_panel_cols;
    let n_left = if is_left_packed { n_rows.min(n_rows_block) * N_INNER_BLOCK } else { 0 };
    let room = scratch.room::<T>(n_left + n_inner.min(N_INNER_BLOCK) * n_panel_cols);
    let (left_block, panel_block) = room.split_at_mut(n_left);

    for inner in blocks(n_inner, N_INNER_BLOCK) {
        // Blocks of nearly equal height: every block packs the panels again, which hardly pays for
        // a low one.
        for rows in even_blocks(0..n_rows, n_rows_block) {
            let left = &a[rows.start * n_inner + inner.start..];
            let (left, left_stride) = if is_left_packed {
                for (to, from) in left_block
                    .chunks_exact_mut(inner.len())
                    .zip(left.chunks(n_inner))
                    .take(rows.len())
                {
                    to.copy_from_slice(&from[..inner.len()]);
                }
                (&*left_block, inner.len())
            } else {
                (left, n_inner)
            };
            for cols in blocks(n_cols, n_panel_cols) {
                let n_vectors = cols.len().div_ceil(V::N_LANES);
                let in_place = b[inner.start * n_cols + cols.start..].as_ptr();
                let is_whole = cols.len() == n_vectors * V::N_LANES;
                let (panel, panel_stride) = if is_direct && is_whole {
                    (in_place, n_cols)
                } else {
                    let panel = panel_block.as_mut_ptr();
                    // SAFETY: the panel has room for two vectors per inner index, and the columns
                    // are inside the right operand.
                    unsafe { pack::<V>(in_place, n_cols, inner.len(), cols.len(), panel) };
                    (panel.cast_const(), n_vectors * V::N_LANES)
                };
                for tile_rows in even_blocks(rows.clone(), tile::n_rows_max::<V>(n_vectors)) {
                    let tile = Tile {
                        a: left[(tile_rows.start - rows.start) * left_stride..].as_ptr(),
                        a_stride: left_stride,
                        b: panel,
                        b_stride: panel_stride,
                        c: out[tile_rows.start * n_cols + cols.start..].as_mut_ptr(),
                        c_stride: n_cols,
                        n_rows: tile_rows.len(),
                        n_cols: cols.len(),
                        n_inner: inner.len(),
                        is_first: inner.start == 0,
                        is_last: inner.end == n_inner,
                    };
                    // SAFETY: the blocks are inside the extents that the slices' lengths were
                    // checked against, and the panel holds whole vectors.
                    unsafe { tile::compute::<T, I>(n_vectors, &tile) };
                }
            }
        }
    }
}

/// Splits `0..n` into pieces of `n_block`, the last one possibly shorter.
#[inline(always)]
fn blocks(n: usize, n_block: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..n).step_by(n_block).map(move |start| start..n.min(start + n_block))
}

/// Splits a range into the fewest pieces of at most `n_max`, of nearly equal length: a piece of a
/// single row left over would use the multipliers badly.
#[inline(always)]
fn even_blocks(
    range: std::ops::Range<usize>,
    n_max: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    let n_blocks = range.len().div_ceil(n_max);
    let n_each = range.len().checked_div(n_blocks).unwrap_or(0);
    let n_longer = range.len() - n_each * n_blocks;
    let mut start = range.start;
    (0..n_blocks).map(move |block_idx| {
        let end = start + n_each + usize::from(block_idx < n_longer);
        let block = start..end;
        start = end;
        block
    })
}

/// Copies a panel of the right operand so that its vectors are contiguous; the last vector of a row
/// is padded with zeros.
///
/// # Safety
/// `n_inner` rows of `n_cols` elements, `stride` apart, are readable at `from`; `n_inner` times
/// as many whole vectors as hold `n_cols` elements are writable at `to`.
#[inline(always)]
unsafe fn pack<V: Vector>(
    from: *const V::Lane,
    stride: usize,
    n_inner: usize,
    n_cols: usize,
    to: *mut V::Lane,
) {
    let n_vectors = n_cols.div_ceil(V::N_LANES);
    let n_last = n_cols - (n_vectors - 1) * V::N_LANES;
    for row in 0..n_inner {
        for v in 0..n_vectors {
            // SAFETY: both accesses are inside the areas that the caller guarantees.
            unsafe {
                let from = from.add(row * stride + v * V::N_LANES);
                let vector = if v + 1 < n_vectors || n_last == V::N_LANES {
                    V::load(from)
                } else {
                    V::load_first(from, n_last)
                };
                vector.store(to.add((row * n_vectors + v) * V::N_LANES));
            }
        }
    }
}
