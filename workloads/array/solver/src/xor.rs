//! XOR in place: a second XOR with the same key restores the data bit for bit.

use crate::element::Unsigned;
use crate::key_stream::KeyStream;
use crate::simd::{self, InstructionSet, Kernel};
use swathe::Simd;

/// The key with which data are XORed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XorKey<'a, T> {
    /// One element of the key for each element.
    Array(&'a [T]),
    /// Elements that are repeated.
    Cycle(&'a [T]),
    /// The [`KeyStream`] of this seed.
    Seed(u64),
}

/// Why data were not XORed; they are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XorError {
    /// The key array and the data have different numbers of elements.
    #[error("the key has {n_key} elements, the array {n_elements}")]
    KeyLength {
        /// Elements of the data.
        n_elements: usize,
        /// Elements of the key.
        n_key: usize,
    },
    /// A key to be cycled has no elements.
    #[error("an empty key cannot be cycled")]
    EmptyCycle,
    /// A number of the key needs more bits than the elements have.
    #[error("the key's number {number} does not fit in elements of {n_bits} bits")]
    KeyNumber {
        /// The number.
        number: u64,
        /// Bits of an element.
        n_bits: u32,
    },
}

/// XORs the key onto `data`.
///
/// ```
/// use swathe_array::xor::{XorKey, xor_in_place};
/// use swathe_array::Simd;
/// let mut data = *b"swathe";
/// xor_in_place(&mut data, XorKey::Seed(7), Simd::detect())?;
/// assert_ne!(&data, b"swathe");
/// xor_in_place(&mut data, XorKey::Seed(7), Simd::detect())?;
/// assert_eq!(&data, b"swathe");
/// # Ok::<(), swathe_array::xor::XorError>(())
/// ```
///
/// # Errors
/// If a key array has another number of elements than `data`, or a key to be cycled is empty.
pub fn xor_in_place<T: Unsigned>(
    data: &mut [T],
    key: XorKey<'_, T>,
    simd: Simd,
) -> Result<(), XorError> {
    xor_part_in_place(data, 0, key, simd)
}

/// XORs the key onto a part of an array. `data` begins at the array's element `first_idx`, which
/// determines where a cycled key or a seed's stream begins. A key array has the length of the part.
///
/// # Errors
/// If a key array has another number of elements than `data`, or a key to be cycled is empty.
pub fn xor_part_in_place<T: Unsigned>(
    data: &mut [T],
    first_idx: u64,
    key: XorKey<'_, T>,
    simd: Simd,
) -> Result<(), XorError> {
    check_key(data.len(), &key)?;
    simd::run(simd, Xor { data, first_idx, key });
    Ok(())
}

/// Fails unless a key fits data of so many elements.
pub(crate) fn check_key<T>(n_elements: usize, key: &XorKey<'_, T>) -> Result<(), XorError> {
    match key {
        XorKey::Array(key) if key.len() != n_elements => {
            Err(XorError::KeyLength { n_elements, n_key: key.len() })
        }
        XorKey::Cycle([]) => Err(XorError::EmptyCycle),
        _ => Ok(()),
    }
}

struct Xor<'a, T> {
    data: &'a mut [T],
    first_idx: u64,
    key: XorKey<'a, T>,
}

impl<T: Unsigned> Kernel for Xor<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        match self.key {
            XorKey::Array(key) => xor_arrays(self.data, key),
            XorKey::Cycle(key) => xor_cycle(self.data, self.first_idx, key),
            XorKey::Seed(seed) => KeyStream::new(seed).xor_onto(self.first_idx, self.data),
        }
    }
}

#[inline(always)]
fn xor_arrays<T: Unsigned>(data: &mut [T], key: &[T]) {
    for (x, key) in data.iter_mut().zip(key) {
        *x = *x ^ *key;
    }
}

#[inline(always)]
fn xor_cycle<T: Unsigned>(data: &mut [T], first_idx: u64, key: &[T]) {
    let n_skipped = (first_idx % key.len() as u64) as usize;

    // A key too short for long vector loops is first repeated into a block on the stack.
    let mut block = [T::ZERO; N_BLOCK];
    let n_block_max = N_BLOCK.min(data.len());
    let key = if 2 * key.len() <= n_block_max {
        block[..key.len()].copy_from_slice(key);
        let mut n_filled = key.len();
        while 2 * n_filled <= n_block_max {
            block.copy_within(..n_filled, n_filled);
            n_filled *= 2;
        }
        &block[..n_filled]
    } else {
        key
    };

    let n_head = (key.len() - n_skipped).min(data.len());
    let (head, body) = data.split_at_mut(n_head);
    xor_arrays(head, &key[n_skipped..n_skipped + n_head]);
    for part in body.chunks_mut(key.len()) {
        xor_arrays(part, &key[..part.len()]);
    }
}

/// Elements in the block of a repeated key: 4 KiB of the widest type.
const N_BLOCK: usize = 512;
