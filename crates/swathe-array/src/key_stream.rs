//! The key stream a seed stands for.

use crate::element::Unsigned;

/// An endless stream of key bytes, the same on every machine for the same seed.
///
/// The bytes are the outputs of SplitMix64 in little-endian order: word `i` (from 0) is
/// `mix(seed + (i + 1) · 0x9E3779B97F4A7C15)` with
/// `z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31`,
/// all modulo 2⁶⁴. Elements wider than a byte take their bytes from the stream in little-endian
/// order too. Each word depends on its number alone, so any range can be made by itself.
///
/// It hides data from the eye and restores it exactly; it is no cipher.
///
/// ```
/// use swathe_array::KeyStream;
/// assert_eq!(KeyStream::new(1234567).word(0), 6457827717110365317);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyStream {
    seed: u64,
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl KeyStream {
    /// The stream of a seed.
    pub fn new(seed: u64) -> KeyStream {
        KeyStream { seed }
    }

    /// The 64-bit word with this number.
    #[inline(always)]
    pub fn word(self, word_idx: u64) -> u64 {
        mix(self.state(word_idx))
    }

    /// What is mixed to make the word with this number.
    #[inline(always)]
    fn state(self, word_idx: u64) -> u64 {
        self.seed
            .wrapping_add(word_idx.wrapping_add(1).wrapping_mul(STEP))
    }

    /// XORs the stream onto `data`, whose first element is element `first_idx` of the stream.
    #[inline(always)]
    pub(crate) fn xor_onto<T: Unsigned>(self, first_idx: u64, data: &mut [T]) {
        let n_per_word = size_of::<u64>() / size_of::<T>();
        let mut word_idx = first_idx / n_per_word as u64;
        let n_skipped = (first_idx % n_per_word as u64) as usize;

        let n_head = if n_skipped == 0 {
            0
        } else {
            (n_per_word - n_skipped).min(data.len())
        };
        let (head, body) = data.split_at_mut(n_head);
        if n_head > 0 {
            self.xor_words(&mut word_idx, n_skipped, head);
        }
        for part in body.chunks_mut(N_WORDS * n_per_word) {
            self.xor_words(&mut word_idx, 0, part);
        }
    }

    /// XORs elements out of at most `N_WORDS` words, leaving out the first `n_skipped` elements.
    #[inline(always)]
    fn xor_words<T: Unsigned>(self, word_idx: &mut u64, n_skipped: usize, data: &mut [T]) {
        let n_words = ((n_skipped + data.len()) * size_of::<T>()).div_ceil(size_of::<u64>());
        // The words lie in memory as the stream's bytes whatever the machine's byte order is.
        let mut words = [0u64; N_WORDS];
        // Vector units add 64-bit numbers well and multiply them badly.
        let mut state = self.state(*word_idx);
        for word in &mut words[..n_words] {
            *word = mix(state).to_le();
            state = state.wrapping_add(STEP);
        }
        *word_idx = word_idx.wrapping_add(n_words as u64);

        // SAFETY: any bytes are a value of an unsigned integer no wider than a word.
        let (_, keys, _) = unsafe { words.align_to::<T>() };
        for (x, key) in data.iter_mut().zip(&keys[n_skipped..]) {
            *x = *x ^ T::from_le(*key);
        }
    }
}

#[inline(always)]
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Words made at a time: 2 KiB, which stay in the first-level cache.
const N_WORDS: usize = 256;
