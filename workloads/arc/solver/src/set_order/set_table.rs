//! The hash table of a set that Python made: its slots, from the order in which it is iterated.

use crate::set_order::table::{EMPTY, Probe, Table};

/// The hash table of a set, which decides the order of the sets that are made of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetTable {
    /// The number of slots, a power of two.
    pub n_slots: u32,
    /// The slots of the elements, in iteration order.
    pub slots: Vec<u32>,
    /// Elements were discarded, so that a copy is made by inserting the others, whatever their slots are.
    pub has_dummies: bool,
}

/// No more tables are found for one order.
const N_TABLES_MAX: usize = 16;

impl SetTable {
    /// The tables of this many slots in which elements with these hashes, all different, are iterated in this order.
    /// Nearly always there is one.
    ///
    /// If there is none, elements must have been discarded. No table at all if no set has so many slots.
    pub fn of_order(hashes: &[u64], n_slots: usize) -> Vec<SetTable> {
        let n_slots = u32::try_from(n_slots).ok();
        let is_possible = |n: &u32| n.is_power_of_two() && *n >= 8 && hashes.len() < *n as usize;
        let Some(n_slots) = n_slots.filter(is_possible) else {
            return Vec::new();
        };
        let found = slots_of_order(hashes, n_slots as usize);
        if found.is_empty() {
            return vec![SetTable::with_dummies(n_slots, hashes.len())];
        }
        let table = |slots| SetTable { n_slots, slots, has_dummies: false };
        found.into_iter().map(table).collect()
    }

    /// A table from which elements were discarded, with n left.
    pub fn with_dummies(n_slots: u32, n: usize) -> SetTable {
        SetTable { n_slots, slots: (0..n as u32).collect(), has_dummies: true }
    }

    /// The order once a new element with this hash is added: positions in the order before, the new element last.
    pub fn order_with(&self, hashes: &[u64], hash: u64) -> Vec<u32> {
        let new = hashes.len() as u32;
        let mut table = self.table();
        table.insert_new(new, &|k| if k == new { hash } else { hashes[k as usize] });
        table.keys().collect()
    }

    /// The table with the elements' positions as keys.
    pub(crate) fn table(&self) -> Table {
        let mut slots = vec![EMPTY; self.n_slots as usize];
        for (key, &slot) in (0..).zip(&self.slots) {
            slots[slot as usize] = key;
        }
        let used = self.slots.len();
        Table { slots, fill: used + usize::from(self.has_dummies), used }
    }

    /// Whether n elements can be in these slots.
    pub(crate) fn holds(&self, n: usize) -> bool {
        let ascend = self.slots.windows(2).all(|pair| pair[0] < pair[1]);
        let are_inside = self.slots.last().is_none_or(|&slot| slot < self.n_slots);
        self.n_slots.is_power_of_two()
            && self.n_slots >= 8
            && self.slots.len() == n
            && ascend
            && are_inside
    }
}

/// A slot for each element, ascending: one of those that are probed for its hash, such that all slots that are probed
/// before it are taken. All ways to choose them, but not too many.
///
/// Slots are chosen in ascending order, so that it is known of all slots up to the last one whether they are taken.
/// Nearly all elements are in the first slot that is probed.
fn slots_of_order(hashes: &[u64], n_slots: usize) -> Vec<Vec<u32>> {
    let mut found: Vec<Vec<u32>> = Vec::new();
    let mut choices: Vec<Choice> = Vec::with_capacity(hashes.len());
    let mut is_taken = vec![false; n_slots];
    let mut n_probes = 0;
    for _ in 0..64 * hashes.len() + 4096 {
        let choice = match (hashes.get(choices.len()), choices.last()) {
            (None, last) => {
                // No slot is left that another element must take.
                if last.is_none_or(|last| last.owed.is_empty()) {
                    found.push(choices.iter().map(|choice| choice.slot as u32).collect());
                }
                None
            }
            (Some(&hash), None) => choose(hash, n_probes, 0, &[], &is_taken),
            (Some(&hash), Some(last)) => {
                choose(hash, n_probes, last.slot + 1, &last.owed, &is_taken)
            }
        };
        match choice {
            Some(choice) => {
                is_taken[choice.slot] = true;
                choices.push(choice);
                n_probes = 0;
            }
            None => {
                let Some(last) = choices.pop().filter(|_| found.len() < N_TABLES_MAX) else {
                    break;
                };
                is_taken[last.slot] = false;
                n_probes = last.n_probes;
            }
        }
    }
    found
}

/// The slot of one element.
struct Choice {
    slot: usize,
    /// How many slots of its probe sequence lead to it, itself included.
    n_probes: usize,
    /// Slots behind it that later elements must take, ascending.
    owed: Vec<usize>,
}

/// The first slot from `start` on that an element can have, after this many slots of its probe sequence.
fn choose(
    hash: u64,
    n_probes: usize,
    start: usize,
    owed: &[usize],
    is_taken: &[bool],
) -> Option<Choice> {
    let mask = is_taken.len() - 1;
    let mut probe = Probe::new(hash, mask);
    // Slots that were probed before and that later elements must take.
    let mut passed: Vec<usize> = Vec::new();
    let mut n = 0;
    for _ in 0..N_JUMPS_MAX {
        for slot in probe.run(mask) {
            n += 1;
            if slot < start {
                if !is_taken[slot] {
                    return None;
                }
                continue;
            }
            // No slot may be left empty that must be taken.
            let leaves_none = owed.first().is_none_or(|&other| slot <= other)
                && passed.iter().all(|&other| slot < other);
            if n > n_probes && leaves_none {
                let rest = owed.iter().chain(&passed).copied().filter(|&other| other != slot);
                let mut owed: Vec<usize> = rest.collect();
                owed.sort_unstable();
                owed.dedup();
                return Some(Choice { slot, n_probes: n, owed });
            }
            passed.push(slot);
        }
        if passed.contains(&start) {
            return None;
        }
        probe.jump(mask);
    }
    None
}

/// After 13 jumps the hash is used up, and the next ones reach every slot of a table of 64. In larger tables, an
/// element is hardly ever so far from its first slot.
const N_JUMPS_MAX: usize = 13 + 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::hash;

    /// The tables of inserted elements and of copies, from their order alone.
    #[test]
    fn the_table_is_among_those_of_its_order() {
        let (mut n_ambiguous, mut n_tables) = (0, 0);
        for seed in 0..6000u64 {
            let n = [1, 2, 3, 4, 4, 4, 5, 7, 18, 19, 76, 77][seed as usize % 12];
            let hashes: Vec<u64> = (0..n)
                .map(|k| hash::pair((seed * 31 + k * k) as i32 % 97, (k * 7 + seed) as i32))
                .collect();
            let hash_of = |k: u32| hashes[k as usize];
            let mut inserted = Table::new();
            for k in 0..n as u32 {
                inserted.insert_new(k, &hash_of);
            }
            for table in [inserted.copied(&hash_of), inserted] {
                let taken = (0..table.slots.len() as u32)
                    .filter(|&slot| table.slots[slot as usize] != EMPTY);
                let slots: Vec<u32> = taken.collect();
                let in_order: Vec<u64> = table.keys().map(hash_of).collect();
                let found = SetTable::of_order(&in_order, table.slots.len());
                assert!(
                    found.iter().any(|found| found.slots == slots),
                    "seed {seed}, {n} elements"
                );
                assert!(
                    found.iter().all(|found| !found.has_dummies && found.holds(in_order.len()))
                );
                n_ambiguous += usize::from(found.len() > 1);
                n_tables += 1;
            }
        }
        assert!((1..n_tables / 5).contains(&n_ambiguous), "{n_ambiguous} of {n_tables}");
    }

    #[test]
    fn an_order_without_a_table_had_more_elements() {
        // Each would be in its first slot.
        let found = SetTable::of_order(&[5, 3], 8);
        assert_eq!(found, [SetTable::with_dummies(8, 2)]);
        assert_eq!(SetTable::of_order(&[5, 3], 12), []);
        assert_eq!(SetTable::of_order(&[0; 8], 8), []);
        assert_eq!(SetTable::of_order(&[], 8).len(), 1);
    }
}
