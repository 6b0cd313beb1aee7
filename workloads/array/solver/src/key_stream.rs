//! The key stream that a seed generates.

use crate::element::Unsigned;

/// An endless stream of key bytes, the same on every machine for the same seed.
///
/// The stream comes in blocks of 512 numbers of 32 bits. Block `b` (from 0) has a 64-bit key, which
/// is output `b` of SplitMix64: `mix(seed + (b + 1) · 0x9E3779B97F4A7C15)` with
/// `z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31`
/// modulo 2⁶⁴. Number `j` of the block (from 0) is made of the key's low half and high half by
/// `z = low + j · 0x9E3779B9; z ^= z >> 16; z *= 0x21F0AAAD; z ^= high; z ^= z >> 15;
/// z *= 0xD35A2D97; z ^= z >> 15` modulo 2³², and is stored in the stream in little-endian order,
/// as are the elements that take their bytes from it. Each number needs only 32-bit arithmetic,
/// which vector units do well, and any block can be computed independently.
///
/// The stream obscures data and restores them exactly; it is not a cipher.
///
/// ```
/// use swathe_array::KeyStream;
/// assert_eq!(KeyStream::new(1234567).word(0), 12038378876608615338);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyStream {
    seed: u64,
}

/// Numbers in a block: 2 KiB.
const N_BLOCK: usize = 512;

impl KeyStream {
    /// The stream of a seed.
    pub fn new(seed: u64) -> KeyStream {
        KeyStream { seed }
    }

    /// The 64-bit word with this index; its low half comes first.
    #[inline(always)]
    pub fn word(self, word_idx: u64) -> u64 {
        const N_WORDS: u64 = N_BLOCK as u64 / 2;
        let key = self.block_key(word_idx / N_WORDS);
        let number_idx = (word_idx % N_WORDS) as u32 * 2;
        u64::from(number(key, number_idx)) | u64::from(number(key, number_idx + 1)) << 32
    }

    /// XORs the stream onto `data`, whose first element is element `first_idx` of the stream.
    #[inline(always)]
    pub(crate) fn xor_onto<T: Unsigned>(self, first_idx: u64, data: &mut [T]) {
        let n_per_block = N_BLOCK * size_of::<u32>() / size_of::<T>();
        let mut block_idx = first_idx / n_per_block as u64;
        let n_skipped = (first_idx % n_per_block as u64) as usize;

        let n_head = if n_skipped == 0 { 0 } else { (n_per_block - n_skipped).min(data.len()) };
        let (head, body) = data.split_at_mut(n_head);
        if n_head > 0 {
            xor_part(self.block_key(block_idx), n_skipped, head);
            block_idx += 1;
        }
        let mut blocks = body.chunks_exact_mut(n_per_block);
        for block in &mut blocks {
            xor_block(self.block_key(block_idx), block);
            block_idx += 1;
        }
        let rest = blocks.into_remainder();
        if !rest.is_empty() {
            xor_part(self.block_key(block_idx), 0, rest);
        }
    }

    #[inline(always)]
    fn block_key(self, block_idx: u64) -> u64 {
        swathe::seed::nth(self.seed, block_idx)
    }
}

/// The number with this index in the block of this key.
#[inline(always)]
fn number(key: u64, number_idx: u32) -> u32 {
    let (low, high) = (key as u32, (key >> 32) as u32);
    let z = low.wrapping_add(number_idx.wrapping_mul(0x9E37_79B9));
    let z = (z ^ (z >> 16)).wrapping_mul(0x21F0_AAAD) ^ high;
    let z = (z ^ (z >> 15)).wrapping_mul(0xD35A_2D97);
    z ^ (z >> 15)
}

/// XORs a whole block.
#[inline(always)]
fn xor_block<T: Unsigned>(key: u64, data: &mut [T]) {
    if cfg!(target_endian = "big") {
        return xor_part(key, 0, data);
    }
    // In little-endian order, elements are the stream's bytes: no number is stored on the way.
    // SAFETY: any bytes are a valid unsigned integer, and bytes need no alignment.
    let (_, bytes, _) = unsafe { data.align_to_mut::<u8>() };
    let (numbers, _) = bytes.as_chunks_mut();
    for (number_idx, bytes) in numbers.iter_mut().enumerate() {
        let xored = u32::from_le_bytes(*bytes) ^ number(key, number_idx as u32);
        *bytes = xored.to_le_bytes();
    }
}

/// XORs part of a block, which begins after its first `n_skipped` elements.
#[inline(always)]
fn xor_part<T: Unsigned>(key: u64, n_skipped: usize, data: &mut [T]) {
    let n_numbers = ((n_skipped + data.len()) * size_of::<T>()).div_ceil(size_of::<u32>());
    let mut numbers = Numbers([0; N_BLOCK]);
    for (number_idx, x) in numbers.0[..n_numbers].iter_mut().enumerate() {
        *x = number(key, number_idx as u32).to_le();
    }
    // SAFETY: any bytes are a valid unsigned integer.
    let (_, keys, _) = unsafe { numbers.0.align_to::<T>() };
    for (x, key) in data.iter_mut().zip(&keys[n_skipped..]) {
        *x = *x ^ T::from_le(*key);
    }
}

/// The numbers of a block as the stream's bytes, aligned for every element type.
#[repr(align(64))]
struct Numbers([u32; N_BLOCK]);
