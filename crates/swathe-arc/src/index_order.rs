//! The order in which a program sees the indices of a grid too large for its indices to be kept.

use crate::hash;
use crate::table::{n_keys_full, n_slots_grown};
use std::cell::RefCell;

/// Visits indices of an h × w grid in the iteration order of the set of all of them, inserted row by row: those
/// in its corner of these sides.
///
/// Where a key goes depends on which slots are taken, not by whom. So the last table, the largest by far, is a bit for
/// each slot, which the processor's caches can hold.
pub(crate) fn visit_indices(
    (h, w): (usize, usize),
    corner: (usize, usize),
    mut visit: impl FnMut(usize, usize),
) {
    let n_bits = usize::BITS - w.leading_zeros();
    let mask = (1u32 << n_bits) - 1;
    let row_col = |key: u32| ((key >> n_bits) as usize, (key & mask) as usize);
    let hash_of = |key: u32| hash::pair((key >> n_bits) as i32, (key & mask) as i32);
    let mut keys = (0..h as u32).flat_map(|i| (0..w as u32).map(move |j| i << n_bits | j));
    let mut found: Vec<(usize, u32)> = Vec::with_capacity(corner.0 * corner.1);
    TABLES.with_borrow_mut(|(table, spare)| {
        table.clear(8);
        let mut n = 0;
        // All tables but the last.
        while h * w >= n_keys_full(table.n_slots) {
            for key in keys.by_ref().take(n_keys_full(table.n_slots) - n) {
                table.insert(hash_of(key), key);
                n += 1;
            }
            let n_slots = n_slots_grown(n);
            spare.clear(n_slots);
            if h * w >= n_keys_full(n_slots) {
                table.for_each(|key| spare.insert(hash_of(key), key));
            } else {
                let mut last = LastTable {
                    taken: &mut spare.taken,
                    corner,
                    row_col,
                    found: &mut found,
                };
                table.for_each(|key| last.insert(hash_of(key), key));
            }
            std::mem::swap(table, spare);
        }
        let mut last = LastTable {
            taken: &mut table.taken,
            corner,
            row_col,
            found: &mut found,
        };
        // What comes after the corner's last key does not move it.
        while last.found.len() < corner.0 * corner.1
            && let Some(key) = keys.next()
        {
            last.insert(hash_of(key), key);
        }
    });
    found.sort_unstable();
    for (_, key) in found {
        let (i, j) = row_col(key);
        visit(i, j);
    }
}

thread_local! {
    static TABLES: RefCell<(Keyed, Keyed)> = RefCell::default();
}

/// The last table. Of its keys only those in the corner are of interest.
struct LastTable<'a, F> {
    taken: &'a mut Taken,
    corner: (usize, usize),
    row_col: F,
    found: &'a mut Vec<(usize, u32)>,
}

impl<F: Fn(u32) -> (usize, usize)> LastTable<'_, F> {
    #[inline]
    fn insert(&mut self, hash: u64, key: u32) {
        let slot = self.taken.take(hash);
        let (i, j) = (self.row_col)(key);
        if i < self.corner.0 && j < self.corner.1 {
            self.found.push((slot, key));
        }
    }
}

/// A table that will grow, so that its keys are needed again.
#[derive(Default)]
struct Keyed {
    taken: Taken,
    n_slots: usize,
    /// Meaningful where a slot is taken.
    keys: Vec<u32>,
}

impl Keyed {
    fn clear(&mut self, n_slots: usize) {
        self.taken.clear(n_slots);
        self.n_slots = n_slots;
    }

    #[inline]
    fn insert(&mut self, hash: u64, key: u32) {
        let slot = self.taken.take(hash);
        if self.keys.len() < self.n_slots {
            self.keys.resize(self.n_slots, 0);
        }
        self.keys[slot] = key;
    }

    /// The keys in the order of their slots.
    fn for_each(&self, mut visit: impl FnMut(u32)) {
        for (keys, &word) in self.keys.chunks(64).zip(&self.taken.words) {
            let mut left = word;
            while left != 0 {
                visit(keys[left.trailing_zeros() as usize]);
                left &= left - 1;
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
        // One more, so that ten slots can be read from anywhere.
        self.words.resize(n_slots.div_ceil(64) + 1, 0);
        self.mask = n_slots - 1;
    }

    /// Takes the slot that CPython gives to a new key.
    #[inline]
    fn take(&mut self, hash: u64) -> usize {
        let mut slot = hash as usize & self.mask;
        let mut perturb = hash;
        loop {
            let (at, shift) = (slot / 64, slot % 64);
            let near = u128::from(self.words[at]) | u128::from(self.words[at + 1]) << 64;
            let n = if slot + 9 <= self.mask { 10 } else { 1 };
            let free = ((near >> shift) as u64).trailing_ones() as usize;
            if free < n {
                let slot = slot + free;
                self.words[slot / 64] |= 1 << (slot % 64);
                return slot;
            }
            perturb >>= 5;
            slot = slot
                .wrapping_mul(5)
                .wrapping_add(1)
                .wrapping_add(perturb as usize)
                & self.mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

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
            let hashes: Vec<u64> = (0..h * w)
                .map(|at| hash::pair((at / w) as i32, (at % w) as i32))
                .collect();
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
