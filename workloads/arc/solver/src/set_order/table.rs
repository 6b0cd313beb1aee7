//! CPython's set table: open addressing, nine linear probes and then a perturbed jump.
//!
//! Keys are `u32`: either packed elements or positions in a list; their hashes come from a function.
//! The layout (which key sits in which slot) decides the iteration order, so every step is CPython's.

use crate::value::packed::{self, ElementKind};

pub(crate) const EMPTY: u32 = u32::MAX;
/// A slot whose element was discarded: probes continue past it, and iteration skips it.
pub(crate) const DUMMY: u32 = u32::MAX - 1;
const N_LINEAR_PROBES: usize = 9;

#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) slots: Vec<u32>,
    /// Slots in use, dummies included.
    pub(crate) fill: usize,
    /// Elements.
    pub(crate) used: usize,
}

impl Table {
    pub(crate) fn new() -> Table {
        Table { slots: vec![EMPTY; 8], fill: 0, used: 0 }
    }

    #[inline]
    pub(crate) fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    /// Inserts a key that is known to be absent.
    #[inline]
    pub(crate) fn insert_new(&mut self, key: u32, hash_of: &impl Fn(u32) -> u64) {
        place(&mut self.slots, hash_of(key), key);
        self.grow(hash_of);
    }

    /// Inserts a key unless `same` recognises an equal one; returns whether it was new.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        key: u32,
        hash: u64,
        hash_of: &impl Fn(u32) -> u64,
        same: impl Fn(u32) -> bool,
    ) -> bool {
        let Err(slot) = self.look(hash, same) else {
            return false;
        };
        self.slots[slot] = key;
        self.grow(hash_of);
        true
    }

    /// The slot of the key that `same` recognises.
    #[inline]
    pub(crate) fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<usize> {
        self.look(hash, same).ok()
    }

    /// The slot of the key that `same` recognises, or else the empty slot where the search ends.
    #[inline]
    fn look(&self, hash: u64, same: impl Fn(u32) -> bool) -> Result<usize, usize> {
        let mask = self.mask();
        let mut probe = Probe::new(hash, mask);
        loop {
            for slot in probe.run(mask) {
                let found = self.slots[slot];
                if found == EMPTY {
                    return Err(slot);
                }
                if found != DUMMY && same(found) {
                    return Ok(slot);
                }
            }
            probe.jump(mask);
        }
    }

    /// `frozenset(self)` and `self.copy()`: a merge into an empty table.
    pub(crate) fn copied(&self, hash_of: &impl Fn(u32) -> u64) -> Table {
        let mut copy = Table::new();
        copy.absorb(self, hash_of, |_, _| false);
        copy
    }

    /// `frozenset` of a set into which keys with these hashes were inserted, all different, in this sequence.
    pub(crate) fn copy_of_inserted(hashes: &[u64], sequence: &[u32]) -> Table {
        let hash_of = |k: u32| hashes[k as usize];
        let mut table = Table::new();
        for &k in sequence {
            table.insert_new(k, &hash_of);
        }
        table.copied(&hash_of)
    }

    /// `self |= other`.
    pub(crate) fn absorb(
        &mut self,
        other: &Table,
        hash_of: &impl Fn(u32) -> u64,
        same: impl Fn(u32, u32) -> bool,
    ) {
        if other.used == 0 {
            return;
        }
        if (self.fill + other.used) * 5 >= self.mask() * 3 {
            self.resize((self.used + other.used) * 2, hash_of);
        }
        if self.fill == 0 {
            if self.slots.len() == other.slots.len() && other.fill == other.used {
                self.slots.copy_from_slice(&other.slots);
            } else {
                for key in other.keys() {
                    place(&mut self.slots, hash_of(key), key);
                }
            }
            self.fill = other.used;
            self.used = other.used;
            return;
        }
        for key in other.keys() {
            self.insert(key, hash_of(key), hash_of, |found| same(found, key));
        }
    }

    /// `self - other`, where `gone` tests whether other holds a key. If self is much larger, it is copied and keys are
    /// discarded.
    pub(crate) fn minus(
        &self,
        n_other: usize,
        hash_of: &impl Fn(u32) -> u64,
        gone: impl Fn(u32) -> bool,
    ) -> Table {
        if self.used >> 2 > n_other {
            let mut rest = self.copied(hash_of);
            for slot in &mut rest.slots {
                if *slot < DUMMY && gone(*slot) {
                    *slot = DUMMY;
                    rest.used -= 1;
                }
            }
            return rest;
        }
        let mut rest = Table::new();
        for key in self.keys() {
            if !gone(key) {
                rest.insert_new(key, hash_of);
            }
        }
        rest
    }

    /// The keys in iteration order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().copied().filter(|&key| key < DUMMY)
    }

    #[inline]
    fn grow(&mut self, hash_of: &impl Fn(u32) -> u64) {
        self.fill += 1;
        self.used += 1;
        if self.fill * 5 >= self.mask() * 3 {
            self.resize(if self.used > 50_000 { self.used * 2 } else { self.used * 4 }, hash_of);
        }
    }

    pub(crate) fn resize(&mut self, n_min: usize, hash_of: &impl Fn(u32) -> u64) {
        let mut slots = vec![EMPTY; power_above(n_min)];
        for key in self.keys() {
            place(&mut slots, hash_of(key), key);
        }
        self.slots = slots;
        self.fill = self.used;
    }
}

/// The slots of a table into which n distinct keys were inserted.
pub(crate) fn n_slots_inserted(n: usize) -> usize {
    let mut n_slots = 8;
    while n >= n_keys_full(n_slots) {
        n_slots = n_slots_grown(n_keys_full(n_slots));
    }
    n_slots
}

/// The number of keys at which a table of this many slots grows: it is then three fifths full.
pub(crate) fn n_keys_full(n_slots: usize) -> usize {
    ((n_slots - 1) * 3).div_ceil(5)
}

/// The slots that a table of n keys grows to.
pub(crate) fn n_slots_grown(n: usize) -> usize {
    power_above(if n > 50_000 { n * 2 } else { n * 4 })
}

/// The slots of a copy of a table of n keys.
pub(crate) fn n_slots_copied(n: usize) -> usize {
    if n * 5 >= 7 * 3 { power_above(n * 2) } else { 8 }
}

/// The number of slots that CPython allocates for a table that needs more than this.
fn power_above(n_min: usize) -> usize {
    let mut n_slots = 8;
    while n_slots <= n_min {
        n_slots <<= 1;
    }
    n_slots
}

/// Puts a key into the first free slot of its probe sequence.
#[inline]
fn place(slots: &mut [u32], hash: u64, key: u32) {
    let mask = slots.len() - 1;
    let mut probe = Probe::new(hash, mask);
    loop {
        for slot in probe.run(mask) {
            if slots[slot] == EMPTY {
                slots[slot] = key;
                return;
            }
        }
        probe.jump(mask);
    }
}

/// The slots that are probed for a hash.
pub(crate) struct Probe {
    slot: usize,
    perturb: u64,
}

impl Probe {
    #[inline]
    pub(crate) fn new(hash: u64, mask: usize) -> Probe {
        Probe { slot: hash as usize & mask, perturb: hash }
    }

    /// The slots to probe before the next jump.
    #[inline]
    pub(crate) fn run(&self, mask: usize) -> std::ops::RangeInclusive<usize> {
        let n = if self.slot + N_LINEAR_PROBES <= mask { N_LINEAR_PROBES } else { 0 };
        self.slot..=self.slot + n
    }

    #[inline]
    pub(crate) fn jump(&mut self, mask: usize) {
        self.perturb >>= 5;
        self.slot =
            self.slot.wrapping_mul(5).wrapping_add(1).wrapping_add(self.perturb as usize) & mask;
    }
}

/// A table of packed places or cells, for the temporary sets inside primitives.
#[derive(Clone)]
pub(crate) struct PackedTable {
    pub(crate) table: Table,
    pub(crate) kind: ElementKind,
}

impl PackedTable {
    pub(crate) fn new(kind: ElementKind) -> PackedTable {
        PackedTable { table: Table::new(), kind }
    }

    pub(crate) fn collect(kind: ElementKind, items: impl IntoIterator<Item = u32>) -> PackedTable {
        let mut set = PackedTable::new(kind);
        for x in items {
            set.add(x);
        }
        set
    }

    #[inline]
    pub(crate) fn add(&mut self, x: u32) {
        let kind = self.kind;
        self.table.insert(x, packed::hash(x, kind), &|k| packed::hash(k, kind), |k| k == x);
    }

    pub(crate) fn copied(&self) -> PackedTable {
        let kind = self.kind;
        PackedTable { table: self.table.copied(&|k| packed::hash(k, kind)), kind }
    }

    /// `self | other`, as a new set.
    pub(crate) fn union(&self, other: &PackedTable) -> PackedTable {
        let mut all = self.copied();
        all.absorb(other);
        all
    }

    pub(crate) fn absorb(&mut self, other: &PackedTable) {
        let kind = self.kind;
        self.table.absorb(&other.table, &|k| packed::hash(k, kind), |a, b| a == b);
    }

    pub(crate) fn minus(&self, n_other: usize, gone: impl Fn(u32) -> bool) -> PackedTable {
        let kind = self.kind;
        PackedTable { table: self.table.minus(n_other, &|k| packed::hash(k, kind), gone), kind }
    }
}
