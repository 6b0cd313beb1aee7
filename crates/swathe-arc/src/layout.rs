use crate::hash;
use crate::table::{DUMMY, EMPTY, Table};
use std::cell::RefCell;

/// Where a set's items sit in their hash table: the iteration order, and what a later copy needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Positions of the items in iteration order.
    pub(crate) perm: Vec<u32>,
    /// A bit for each slot that is in use; none in sorted order, where there is no table.
    occupied: Vec<u64>,
    pub(crate) n_slots: u32,
    /// The table has discarded elements, so it is not copied slot by slot.
    pub(crate) has_dummies: bool,
}

thread_local! {
    /// Two tables to work in; ordering is frequent and its tables are short-lived.
    static SCRATCH: RefCell<(Vec<u32>, Vec<u32>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

impl Layout {
    /// The layout after inserting distinct elements with these hashes, in the order of `sequence` or as they stand.
    pub(crate) fn of_hashes(hashes: &[u64], sequence: Option<&[u32]>) -> Layout {
        SCRATCH.with(|scratch| {
            let (table, spare) = &mut *scratch.borrow_mut();
            match sequence {
                None => fill(hashes, 0..hashes.len() as u32, table, spare),
                Some(s) => fill(hashes, s.iter().copied(), table, spare),
            }
            read(table)
        })
    }

    /// The layout of a table whose keys are item positions.
    pub(crate) fn of_table(table: &Table) -> Layout {
        let mut layout = read(&table.slots);
        layout.has_dummies = table.fill != table.used;
        layout
    }

    /// The slots in use, ascending.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.occupied.iter().enumerate().flat_map(|(k, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(k * 64 + bit)
            })
        })
    }

    /// The table again, with item positions as keys.
    pub(crate) fn table(&self) -> Table {
        let mut slots = vec![EMPTY; self.n_slots as usize];
        for (&key, slot) in self.perm.iter().zip(self.slots()) {
            slots[slot] = key;
        }
        let used = self.perm.len();
        // Where the dummies sat does not matter to a copy, only that there were some.
        Table {
            slots,
            fill: used + usize::from(self.has_dummies),
            used,
        }
    }

    /// A layout without a table: sorted order, or items that already stand in iteration order.
    pub(crate) fn sorted(perm: Vec<u32>) -> Layout {
        Layout {
            perm,
            occupied: Vec::new(),
            n_slots: 0,
            has_dummies: false,
        }
    }
}

fn fill(
    hashes: &[u64],
    sequence: impl Iterator<Item = u32>,
    table: &mut Vec<u32>,
    spare: &mut Vec<u32>,
) {
    fill_by(|key| hashes[key as usize], sequence, table, spare);
}

/// Replays insertions of distinct keys; CPython's growth steps included.
fn fill_by(
    hash_of: impl Fn(u32) -> u64,
    sequence: impl Iterator<Item = u32>,
    table: &mut Vec<u32>,
    spare: &mut Vec<u32>,
) {
    table.clear();
    table.resize(8, EMPTY);
    let mut n = 0;
    for key in sequence {
        put(table, hash_of(key), key);
        n += 1;
        if n * 5 >= (table.len() - 1) * 3 {
            let n_min = if n > 50_000 { n * 2 } else { n * 4 };
            let mut n_slots = 8;
            while n_slots <= n_min {
                n_slots <<= 1;
            }
            spare.clear();
            spare.resize(n_slots, EMPTY);
            for &key in table.iter() {
                if key != EMPTY {
                    put(spare, hash_of(key), key);
                }
            }
            std::mem::swap(table, spare);
        }
    }
}

/// As `fill_by`, for tables larger than the caches: slots are read some keys ahead, all at once, so that
/// insertions do not wait for memory one after the other.
fn fill_ahead(
    hash_of: impl Fn(u32) -> u64,
    mut sequence: impl Iterator<Item = u32>,
    table: &mut Vec<u32>,
    spare: &mut Vec<u32>,
) {
    table.clear();
    table.resize(8, EMPTY);
    let mut ahead = Ahead::new();
    let mut n = 0;
    loop {
        // The insertion that makes the table three fifths full is the last before it grows.
        let n_full = ((table.len() - 1) * 3).div_ceil(5);
        while n < n_full {
            let n_keys = ahead.take(&mut sequence, n_full - n);
            if n_keys == 0 {
                return;
            }
            ahead.put(table, &hash_of);
            n += n_keys;
        }
        let n_min = if n > 50_000 { n * 2 } else { n * 4 };
        let mut n_slots = 8;
        while n_slots <= n_min {
            n_slots <<= 1;
        }
        spare.clear();
        spare.resize(n_slots, EMPTY);
        let mut old = table.iter().copied().filter(|&key| key != EMPTY);
        while ahead.take(&mut old, N_AHEAD) > 0 {
            ahead.put(spare, &hash_of);
        }
        std::mem::swap(table, spare);
    }
}

/// Keys whose slots are read together.
const N_AHEAD: usize = 64;

struct Ahead {
    keys: [u32; N_AHEAD],
    hashes: [u64; N_AHEAD],
    n: usize,
}

impl Ahead {
    fn new() -> Ahead {
        Ahead {
            keys: [0; N_AHEAD],
            hashes: [0; N_AHEAD],
            n: 0,
        }
    }

    /// Takes the next keys, at most `n_max`, and says how many there are.
    fn take(&mut self, keys: &mut impl Iterator<Item = u32>, n_max: usize) -> usize {
        self.n = 0;
        for (slot, key) in self.keys[..n_max.min(N_AHEAD)].iter_mut().zip(keys) {
            *slot = key;
            self.n += 1;
        }
        self.n
    }

    fn put(&mut self, table: &mut [u32], hash_of: &impl Fn(u32) -> u64) {
        let mask = table.len() - 1;
        let mut read = 0;
        for (hash, &key) in self.hashes.iter_mut().zip(&self.keys[..self.n]) {
            *hash = hash_of(key);
            read |= table[*hash as usize & mask];
        }
        std::hint::black_box(read);
        for (&hash, &key) in self.hashes.iter().zip(&self.keys[..self.n]) {
            put(table, hash, key);
        }
    }
}

#[inline]
fn put(table: &mut [u32], hash: u64, key: u32) {
    let mask = table.len() - 1;
    let mut slot = hash as usize & mask;
    if table[slot] == EMPTY {
        table[slot] = key;
        return;
    }
    let mut perturb = hash;
    loop {
        let n = if slot + 9 <= mask { 9 } else { 0 };
        for entry in &mut table[slot..=slot + n] {
            if *entry == EMPTY {
                *entry = key;
                return;
            }
        }
        perturb >>= 5;
        slot = slot
            .wrapping_mul(5)
            .wrapping_add(1)
            .wrapping_add(perturb as usize)
            & mask;
    }
}

/// Visits indices of an h × w grid in the iteration order of the set of all of them, inserted row by row: those
/// in its corner of these sides.
///
/// For grids too large to be packed: nothing is kept but the table, whose keys hold row and column.
pub(crate) fn visit_indices(
    (h, w): (usize, usize),
    corner: (usize, usize),
    mut visit: impl FnMut(usize, usize),
) {
    let n_bits = usize::BITS - w.leading_zeros();
    let mask = (1u32 << n_bits) - 1;
    let hash_of = |key: u32| hash::pair((key >> n_bits) as i32, (key & mask) as i32);
    let keys = |h: usize, w: usize| {
        let rows = 0..h as u32;
        rows.flat_map(move |i| (0..w as u32).map(move |j| i << n_bits | j))
    };
    SCRATCH.with(|scratch| {
        let (table, spare) = &mut *scratch.borrow_mut();
        fill_ahead(hash_of, keys(h, w), table, spare);
        // The corner is small, so its keys are looked for rather than met on a walk through the table.
        let wanted = keys(corner.0, corner.1);
        let mut found: Vec<(usize, u32)> = wanted
            .map(|key| (slot_of(table, hash_of(key), key), key))
            .collect();
        found.sort_unstable();
        for (_, key) in found {
            visit((key >> n_bits) as usize, (key & mask) as usize);
        }
    });
}

/// The slot of a key that is in the table.
fn slot_of(table: &[u32], hash: u64, key: u32) -> usize {
    let mask = table.len() - 1;
    let mut slot = hash as usize & mask;
    let mut perturb = hash;
    loop {
        let n = if slot + 9 <= mask { 9 } else { 0 };
        if let Some(k) = table[slot..=slot + n].iter().position(|&k| k == key) {
            return slot + k;
        }
        perturb >>= 5;
        slot = slot
            .wrapping_mul(5)
            .wrapping_add(1)
            .wrapping_add(perturb as usize)
            & mask;
    }
}

fn read(table: &[u32]) -> Layout {
    let mut perm = Vec::with_capacity(table.len() / 2);
    let mut occupied = Vec::with_capacity(table.len().div_ceil(64));
    for part in table.chunks(64) {
        let mut word = 0u64;
        for (bit, &key) in part.iter().enumerate() {
            word |= u64::from(key < DUMMY) << bit;
        }
        occupied.push(word);
        while word != 0 {
            perm.push(part[word.trailing_zeros() as usize]);
            word &= word - 1;
        }
    }
    Layout {
        perm,
        occupied,
        n_slots: table.len() as u32,
        has_dummies: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ahead_changes_nothing() {
        for n in [0, 1, 4, 5, 19, 20, 1000, 70_000] {
            let hash_of = |key: u32| hash::pair((key / 700) as i32, (key % 700) as i32);
            let (mut one, mut other, mut spare) = (Vec::new(), Vec::new(), Vec::new());
            fill_by(hash_of, 0..n, &mut one, &mut spare);
            fill_ahead(hash_of, 0..n, &mut other, &mut spare);
            assert!(one == other, "{n} keys");
            for key in 0..n {
                let slot = slot_of(&one, hash_of(key), key);
                assert_eq!(one[slot], key, "{n} keys");
            }
        }
    }
}
