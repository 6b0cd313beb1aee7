//! Blocks of elements, on which long formulas work step by step.
//!
//! Computed element by element, a long formula is one chain of dependent instructions, and the
//! processor stalls. Computed step by step over a block, each step is a few independent vector
//! instructions.

use crate::element::Float;

/// Elements per block: eight AVX2 vectors of single precision.
pub(crate) const N_BLOCK: usize = 64;

/// One step of a formula: an array of the values of `f` at each index.
#[inline(always)]
pub(crate) fn lanes<T: Copy + Default, const N: usize>(f: impl Fn(usize) -> T) -> [T; N] {
    let mut lanes = [T::default(); N];
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = f(i);
    }
    lanes
}

/// A function of a block of elements. It is a trait and not a closure: a closure this large would
/// not be inlined, and code that is not inlined does not get the vector instructions.
pub(crate) trait BlockFn<T: Float>: Copy {
    /// The results.
    fn of(self, x: &[T; N_BLOCK]) -> [T; N_BLOCK];
    /// Whether the function turns this number into NaN.
    fn makes_nan(self, x: T) -> bool;
}

/// Applies `f` to whole blocks of `input`, and to the rest, padded with ones.
#[inline(always)]
pub(crate) fn map_blocks<T: Float, F: BlockFn<T>>(input: &[T], out: &mut [T], f: F) {
    let (input_blocks, input_rest) = input.as_chunks();
    let (out_blocks, out_rest) = out.as_chunks_mut();
    for (input, out) in input_blocks.iter().zip(out_blocks) {
        *out = f.of(input);
    }
    if !input_rest.is_empty() {
        let mut block = [T::ONE; N_BLOCK];
        block[..input_rest.len()].copy_from_slice(input_rest);
        out_rest.copy_from_slice(&f.of(&block)[..input_rest.len()]);
    }
}

/// Like [`map_blocks`], in place.
#[inline(always)]
pub(crate) fn map_blocks_in_place<T: Float, F: BlockFn<T>>(data: &mut [T], f: F) {
    let (blocks, rest) = data.as_chunks_mut();
    for block in blocks {
        *block = f.of(block);
    }
    if !rest.is_empty() {
        let mut block = [T::ONE; N_BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        rest.copy_from_slice(&f.of(&block)[..rest.len()]);
    }
}
