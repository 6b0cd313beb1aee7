//! The iteration order of the indices of a grid that is too large for the index cache.

use crate::set_order::table::{n_keys_full, n_slots_grown};
use crate::value::hash;
use std::cell::RefCell;
use std::ops::Range;

/// Visits the indices in the corner of an h × w grid, in the iteration order of the set of all its indices, inserted
/// row by row.
///
/// The slot of a key depends on which slots are taken, not on the keys in them. So the data that is read again and
/// again is one bit per slot, which fits in the CPU caches; keys are kept apart in buckets.
pub(crate) fn visit_indices(
    (h, w): (usize, usize),
    corner: (usize, usize),
    mut visit: impl FnMut(usize, usize),
) {
    let n_bits = usize::BITS - w.leading_zeros();
    let indices = Indices { w, n_bits };
    let n_corner = corner.0 * corner.1;
    let mut found: Vec<(usize, u32)> = Vec::with_capacity(n_corner);
    let mut place = |slot: usize, key: u32| {
        let (i, j) = indices.row_col(key);
        if i < corner.0 && j < corner.1 {
            found.push((slot, key));
        }
    };
    // Keys after the corner's last key do not move it.
    let n_keys = match n_corner {
        0 => 0,
        _ => (corner.0 - 1) * w + corner.1,
    };
    TABLES.with_borrow_mut(|(table, spare)| {
        table.clear(8);
        let mut n = 0;
        // All tables but the last.
        while h * w >= n_keys_full(table.n_slots()) {
            let n_full = n_keys_full(table.n_slots());
            indices.for_each(n..n_full, |key, hash| table.insert(hash, key));
            n = n_full;
            let n_slots = n_slots_grown(n);
            spare.clear(n_slots);
            if h * w >= n_keys_full(n_slots) {
                table.for_each(|key| spare.insert(indices.hash(key), key));
            } else {
                table.for_each(|key| place(spare.taken.take(indices.hash(key)), key));
            }
            std::mem::swap(table, spare);
        }
        let taken = &mut table.taken;
        indices.for_each(n..n_keys, |key, hash| place(taken.take(hash), key));
        if n > N_KEYS_KEPT_MAX {
            (*table, *spare) = Default::default();
        }
    });
    found.sort_unstable();
    for (_, key) in found {
        let (i, j) = indices.row_col(key);
        visit(i, j);
    }
}

thread_local! {
    static TABLES: RefCell<(Keyed, Keyed)> = RefCell::default();
}

/// Tables that had more keys are rare and not kept for reuse.
const N_KEYS_KEPT_MAX: usize = 1 << 18;

/// The indices of a grid as keys: the row in the high bits, the column in the low bits.
#[derive(Clone, Copy)]
struct Indices {
    w: usize,
    n_bits: u32,
}

impl Indices {
    #[inline]
    fn row_col(self, key: u32) -> (usize, usize) {
        let key = key as usize;
        (key >> self.n_bits, key & ((1 << self.n_bits) - 1))
    }

    #[inline]
    fn hash(self, key: u32) -> u64 {
        let (i, j) = self.row_col(key);
        hash::pair(i as i32, j as i32)
    }

    /// The keys with these numbers, row by row, and their hashes.
    #[inline]
    fn for_each(self, numbers: Range<usize>, mut visit: impl FnMut(u32, u64)) {
        let mut at = numbers.start;
        while at < numbers.end {
            let (i, j) = (at / self.w, at % self.w);
            let j_end = self.w.min(j + numbers.end - at);
            let lane = hash::color_lane(i as i32);
            for j in j..j_end {
                visit((i << self.n_bits | j) as u32, hash::in_color(lane, j as u64));
            }
            at += j_end - j;
        }
    }
}

/// A table that will grow, so that its keys are needed again.
#[derive(Default)]
struct Keyed {
    taken: Taken,
    /// The keys of `N_SLOTS_BUCKET` slots each, with their slots, in order of insertion. A table instead would be
    /// written at random, mostly outside the caches.
    buckets: Vec<Vec<(u32, u32)>>,
}

const N_SLOTS_BUCKET: usize = 1 << 13;

impl Keyed {
    fn clear(&mut self, n_slots: usize) {
        self.taken.clear(n_slots);
        let n_buckets = n_slots.div_ceil(N_SLOTS_BUCKET);
        self.buckets.iter_mut().for_each(Vec::clear);
        if self.buckets.len() < n_buckets {
            self.buckets.resize_with(n_buckets, Vec::new);
        }
    }

    fn n_slots(&self) -> usize {
        self.taken.mask + 1
    }

    #[inline]
    fn insert(&mut self, hash: u64, key: u32) {
        let slot = self.taken.take(hash);
        self.buckets[slot / N_SLOTS_BUCKET].push(((slot % N_SLOTS_BUCKET) as u32, key));
    }

    /// The keys in the order of their slots.
    #[inline]
    fn for_each(&self, mut visit: impl FnMut(u32)) {
        let mut keys = [0; N_SLOTS_BUCKET];
        let words = self.taken.words.chunks(N_SLOTS_BUCKET / 64);
        for (bucket, words) in self.buckets.iter().zip(words) {
            for &(slot, key) in bucket {
                keys[slot as usize % N_SLOTS_BUCKET] = key;
            }
            for (keys, &word) in keys.chunks(64).zip(words) {
                let mut left = word;
                while left != 0 {
                    visit(keys[left.trailing_zeros() as usize]);
                    left &= left - 1;
                }
            }
        }
    }
}

/// A bit for each slot that is taken.
#[derive(Default)]
struct Taken {
    words: Vec<u64>,
    mask: usize,
}

impl Taken {
    fn clear(&mut self, n_slots: usize) {
        self.words.clear();
        // One more word, so that ten slots can be read from any position.
        self.words.resize(n_slots.div_ceil(64) + 1, 0);
        self.mask = n_slots - 1;
    }

    /// Takes the slot that CPython gives to a new key.
    #[inline]
    fn take(&mut self, hash: u64) -> usize {
        let slot = hash as usize & self.mask;
        let word = &mut self.words[slot / 64];
        let bit = 1 << (slot % 64);
        if *word & bit == 0 {
            *word |= bit;
            return slot;
        }
        self.take_another(slot, hash)
    }

    /// As `take`, where the first slot is taken already.
    fn take_another(&mut self, mut slot: usize, hash: u64) -> usize {
        let mut perturb = hash;
        loop {
            let (at, shift) = (slot / 64, slot % 64);
            let near = u128::from(self.words[at]) | u128::from(self.words[at + 1]) << 64;
            let n = if slot + 9 <= self.mask { 10 } else { 1 };
            let n_taken = ((near >> shift) as u64).trailing_ones() as usize;
            if n_taken < n {
                let slot = slot + n_taken;
                self.words[slot / 64] |= 1 << (slot % 64);
                return slot;
            }
            perturb >>= 5;
            slot = slot.wrapping_mul(5).wrapping_add(1).wrapping_add(perturb as usize) & self.mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_order::layout::Layout;

    #[test]
    fn indices_come_as_from_a_whole_table() {
        for (h, w) in [
            (1, 1),
            (1, 4),
            (1, 5),
            (2, 9),
            (1, 19),
            (3, 40),
            (30, 30),
            (3, 16_000),
            (3, 17_000),
            (2, 100_003),
            (40, 9000),
        ] {
            let hashes: Vec<u64> =
                (0..h * w).map(|at| hash::pair((at / w) as i32, (at % w) as i32)).collect();
            let layout = Layout::of_hashes(&hashes, None);
            for corner in [(h, w), (h.min(3), w.min(31)), (1, 1), (0, 0)] {
                let mut seen = Vec::new();
                visit_indices((h, w), corner, |i, j| seen.push((i * w + j) as u32));
                let is_wanted =
                    |&at: &u32| (at as usize) / w < corner.0 && (at as usize) % w < corner.1;
                let wanted: Vec<u32> = layout.perm.iter().copied().filter(is_wanted).collect();
                assert!(seen == wanted, "{h} × {w}, {corner:?}");
            }
        }
    }
}
