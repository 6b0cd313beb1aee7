//! The layout of a set's hash table, which gives the iteration order.

use crate::set_order::set_table::SetTable;
use crate::set_order::table::{self, DUMMY, EMPTY, Table};
use std::cell::RefCell;

/// The slots of a set's items in its hash table: the iteration order, and the data that a later copy needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Positions of the items in iteration order.
    pub(crate) perm: Vec<u32>,
    /// A bit for each slot that is in use; none in sorted order, where there is no table.
    occupied: Vec<u64>,
    pub(crate) n_slots: u32,
    /// The table has discarded elements, so it is not copied slot by slot.
    pub(crate) has_dummies: bool,
    /// It follows from an order that is ambiguous: see `identity`.
    pub(crate) is_ambiguous: bool,
}

thread_local! {
    /// Two tables to work in; ordering is frequent and its tables are short-lived.
    static SCRATCH: RefCell<(Vec<u32>, Vec<u32>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

impl Layout {
    /// The layout after inserting distinct elements with these hashes, in the order of `sequence` or as given.
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

    /// The layout of a table whose items are in iteration order.
    pub(crate) fn of_set_table(table: &SetTable) -> Layout {
        Layout::of_table(&table.table())
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

    /// Rebuilds the table, with item positions as keys.
    pub(crate) fn table(&self) -> Table {
        let mut slots = vec![EMPTY; self.n_slots as usize];
        for (&key, slot) in self.perm.iter().zip(self.slots()) {
            slots[slot] = key;
        }
        let used = self.perm.len();
        // A copy depends on whether there were dummies, not on their slots.
        Table { slots, fill: used + usize::from(self.has_dummies), used }
    }

    /// A layout without a table: sorted order, or items that are already in iteration order.
    pub(crate) fn sorted(perm: Vec<u32>) -> Layout {
        Layout { perm, occupied: Vec::new(), n_slots: 0, has_dummies: false, is_ambiguous: false }
    }
}

/// Replays insertions of distinct keys; CPython's growth steps included.
fn fill(
    hashes: &[u64],
    sequence: impl Iterator<Item = u32>,
    table: &mut Vec<u32>,
    spare: &mut Vec<u32>,
) {
    table.clear();
    table.resize(8, EMPTY);
    let mut n = 0;
    for key in sequence {
        put(table, hashes[key as usize], key);
        n += 1;
        if n * 5 >= (table.len() - 1) * 3 {
            spare.clear();
            spare.resize(table::n_slots_grown(n), EMPTY);
            for &key in table.iter() {
                if key != EMPTY {
                    put(spare, hashes[key as usize], key);
                }
            }
            std::mem::swap(table, spare);
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
        slot = slot.wrapping_mul(5).wrapping_add(1).wrapping_add(perturb as usize) & mask;
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
    Layout { perm, occupied, n_slots: table.len() as u32, has_dummies: false, is_ambiguous: false }
}
