//! XOR on a graphics processor, with the same bytes as on the CPU.

use std::borrow::Borrow;

use swathe::{Access, Gpu, GpuError, Kernel, Lane, Need, Stop};

use super::pack::{Packed, Words};
use super::{BUFFER_BYTES_MIN, LaneFate, OTHER_DTYPE, check_size, held_bytes};
use crate::element::Unsigned;
use crate::fit::Slice;
use crate::operation::{Key, Operation};
use crate::workload::{Answer, ArrayFailure, ArrayWorkload, Item};
use crate::xor::XorKey;
use crate::{Array, Elements};

const PAIRS: Kernel = Kernel {
    name: "array.xor_pairs",
    wgsl: &[include_str!("xor_pairs.wgsl")],
    entry: "xor_pairs",
    bindings: &[Access::Write, Access::Read],
};

const KEY: Kernel = Kernel {
    name: "array.xor_key",
    wgsl: &[include_str!("xor.wgsl")],
    entry: "xor_key",
    bindings: &[Access::Write, Access::Read, Access::Read, Access::Read],
};

const SEED: Kernel = Kernel {
    name: "array.xor_seed",
    wgsl: &[include_str!("xor.wgsl")],
    entry: "xor_seed",
    bindings: &[Access::Write, Access::Read, Access::Read],
};

/// The device memory that a lane of `lane_bytes` needs.
pub(super) fn need(key: &Key, lane_bytes: u64) -> Need {
    let lane_bytes = lane_bytes.next_multiple_of(4);
    // The lane's entry in the table of starts, and its share of the table of blocks.
    let table_bytes = 4 + lane_bytes.div_ceil(Words::N_BLOCK as u64);
    // Elements are XORed in place and read back through a buffer of the same size.
    let (n_copies, table_bytes, key_bytes) = match key {
        Key::Second => (3, 0, 0),
        Key::Seed(_) => (2, table_bytes, 0),
        Key::Array(key) | Key::Cycle(key) => {
            let key_bytes = 4 * key.size_bytes() as u64;
            (2, table_bytes, key_bytes.min(lane_bytes))
        }
        Key::Numbers(numbers) => {
            let key_bytes = 4 * size_of::<u64>() as u64 * numbers.len() as u64;
            (2, table_bytes, key_bytes.min(lane_bytes))
        }
    };
    const N_BUFFERS: u64 = 6;
    Need {
        lane_bytes: n_copies * held_bytes(lane_bytes) + held_bytes(table_bytes),
        scratch_bytes: held_bytes(key_bytes) + N_BUFFERS * BUFFER_BYTES_MIN,
        solution_bytes: 0,
    }
}

pub(super) fn solve<A, T>(
    workload: &ArrayWorkload<A>,
    gpu: &Gpu,
    items: &[&Item<A>],
    stop: &Stop,
) -> Result<Vec<Lane<Answer, ArrayFailure>>, GpuError>
where
    A: Borrow<Array> + Send + Sync,
    T: Unsigned + Slice + Packed,
{
    let lots: Vec<LaneFate<Fitting<'_, T>>> = items
        .iter()
        .map(|item| match Fitting::of(workload, item) {
            Ok(Some(fitting)) => LaneFate::Launched(fitting),
            Ok(None) => LaneFate::ToCpu(OTHER_DTYPE),
            Err(failure) => LaneFate::Failed(failure),
        })
        .collect();
    let words = xored(workload, gpu, &lots, stop)?;
    let mut rest = words.as_slice();
    let lanes = lots.into_iter().map(|lot| {
        lot.lane(|fitting| {
            let n_elements = fitting.data.len();
            let (own, others) = rest.split_at(T::n_words(n_elements));
            rest = others;
            let mut elements = fitting.elements.clone();
            let out = T::slice_mut(&mut elements).unwrap_or_default();
            out.copy_from_slice(&T::unpack(own, n_elements));
            Answer::new(fitting.shape, elements)
        })
    });
    Ok(lanes.collect())
}

/// An item whose key fits.
struct Fitting<'a, T> {
    shape: &'a [usize],
    elements: &'a Elements,
    data: &'a [T],
    key: XorKey<'a, T>,
}

impl<'a, T: Unsigned + Slice> Fitting<'a, T> {
    /// `None` if the elements have another type.
    fn of<A: Borrow<Array>>(
        workload: &'a ArrayWorkload<A>,
        item: &'a Item<A>,
    ) -> Result<Option<Fitting<'a, T>>, ArrayFailure> {
        let (first, second) = workload.operands(item)?;
        let Some(data) = T::slice(first.elements()) else {
            return Ok(None);
        };
        let key = workload.xor_key(first, second)?;
        Ok(Some(Fitting { shape: first.shape(), elements: first.elements(), data, key }))
    }
}

/// Launches the kernel and returns the XORed words of the launched lanes.
fn xored<A, T>(
    workload: &ArrayWorkload<A>,
    gpu: &Gpu,
    lots: &[LaneFate<Fitting<'_, T>>],
    stop: &Stop,
) -> Result<Vec<u32>, GpuError>
where
    T: Unsigned + Packed,
{
    let launched = || {
        lots.iter().filter_map(|lot| match lot {
            LaneFate::Launched(fitting) => Some(fitting),
            _ => None,
        })
    };
    let n_words: usize = launched().map(|fitting| T::n_words(fitting.data.len())).sum();
    check_size(gpu, 4 * n_words as u64)?;
    if n_words == 0 {
        return Ok(Vec::new());
    }
    let mut lanes = Words::with_capacity(lots.len(), n_words);
    launched().for_each(|fitting| lanes.push(fitting.data));
    let data = gpu.upload(&lanes.words)?;
    let n_groups = lanes.n_blocks() as u64;
    let n_words_u32 = n_words as u32;
    let mut recording = gpu.record();
    match workload.operation() {
        Operation::Xor(Key::Second) => {
            // The packed elements are on the device, so the vector is reused for the second
            // operands.
            lanes.words.clear();
            for fitting in launched() {
                if let XorKey::Array(operand) = fitting.key {
                    T::pack(operand, &mut lanes.words);
                }
            }
            let operands = gpu.upload(&lanes.words)?;
            recording.launch(&PAIRS, &[n_words_u32], &[&data, &operands], n_groups)?;
            recording.run(stop)?;
        }
        Operation::Xor(Key::Seed(seed)) => {
            let starts = gpu.upload(&lanes.starts)?;
            let block_lanes = gpu.upload(&lanes.block_lanes())?;
            let parameters = [n_words_u32, 0, *seed as u32, (*seed >> 32) as u32];
            let buffers = [&data, &starts, &block_lanes];
            recording.launch(&SEED, &parameters, &buffers, n_groups)?;
            recording.run(stop)?;
        }
        // A key as long as every lane is a cycle that never wraps.
        _ => {
            let key = launched().find_map(|fitting| match fitting.key {
                XorKey::Array(key) | XorKey::Cycle(key) if !key.is_empty() => Some(key),
                _ => None,
            });
            let n_lane_max = launched().map(|fitting| T::n_words(fitting.data.len()));
            let key = key_words(key.unwrap_or(&[]), n_lane_max.max().unwrap_or(0));
            let starts = gpu.upload(&lanes.starts)?;
            let block_lanes = gpu.upload(&lanes.block_lanes())?;
            let key_held = gpu.upload(&key)?;
            let parameters = [n_words_u32, key.len() as u32];
            let buffers = [&data, &starts, &block_lanes, &key_held];
            recording.launch(&KEY, &parameters, &buffers, n_groups)?;
            recording.run(stop)?;
        }
    }
    gpu.read(&data, n_words, stop)
}

/// A cycled key as whole words, at most `n_words_max` of them. The key is repeated until it ends at
/// a word boundary: a key of three bytes does so after three words.
fn key_words<T: Packed + Copy>(key: &[T], n_words_max: usize) -> Vec<u32> {
    let n_whole = if size_of::<T>() >= size_of::<u32>() {
        T::n_words(key.len())
    } else {
        let n_per_word = size_of::<u32>() / size_of::<T>();
        (1..=n_per_word)
            .map(|n_times| n_times * key.len())
            .find(|n_elements| n_elements % n_per_word == 0)
            .map_or(0, T::n_words)
    };
    let n_words = n_whole.min(n_words_max);
    let mut words = Vec::with_capacity(n_words);
    if n_words > 0 {
        // Further elements would not be packed.
        let n_elements = (n_words * size_of::<u32>()).div_ceil(size_of::<T>());
        let repeated: Vec<T> = key.iter().copied().cycle().take(n_elements).collect();
        T::pack(&repeated, &mut words);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_are_valid() {
        for kernel in [PAIRS, KEY, SEED] {
            kernel.validate().unwrap();
        }
    }

    #[test]
    fn keys_become_whole_words() {
        let of = |key: &[u8], n_max| key_words(key, n_max);
        assert_eq!(of(&[1], 9), [0x0101_0101]);
        assert_eq!(of(&[1, 2], 9), [0x0201_0201]);
        assert_eq!(of(&[1, 2, 3], 9), [0x0103_0201, 0x0201_0302, 0x0302_0103]);
        assert_eq!(of(&[1, 2, 3], 2), [0x0103_0201, 0x0201_0302]);
        assert_eq!(of(&[1, 2, 3, 4, 5, 6], 9).len(), 3);
        assert_eq!(key_words(&[5u64, 6], 9), [5, 0, 6, 0]);
        assert_eq!(key_words::<u32>(&[], 9), [0u32; 0]);
    }
}
