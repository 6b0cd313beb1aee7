//! The slots that keys may have in a hash table, for any order of insertion.

use std::cell::RefCell;

/// The first and the last slot that a key may have, for any order of insertion.
pub(crate) type Span = (u32, u32);

/// The spans of keys with these hashes in a table of this many slots. None if too many keys compete for slots.
///
/// A key whose first slot is taken goes to the next free slot, so the keys of a cluster fill the same slots in any
/// order. A key that finds ten slots taken jumps to another place. A key that may have to jump is counted at both
/// places.
pub(crate) fn spans(hashes: &[u64], n_slots: usize) -> Option<Vec<Span>> {
    SLOTS.with_borrow_mut(|slots| {
        let mut looks: Vec<Look> = Vec::with_capacity(hashes.len() + hashes.len() / 4);
        looks.extend((0..).zip(hashes).map(|(key, &hash)| Look {
            key,
            start: (hash as usize & (n_slots - 1)) as u32,
            perturb: hash,
            may_fail: false,
        }));
        let n_looks_max = hashes.len() + hashes.len() / 3 + 8;
        loop {
            slots.fill(&looks, n_slots)?;
            let n_looks = looks.len();
            for k in 0..n_looks {
                if !looks[k].may_fail && slots.may_fail(looks[k].start) {
                    looks[k].may_fail = true;
                    let next = looks[k].next(n_slots);
                    looks.push(next);
                }
            }
            if looks.len() == n_looks {
                break;
            }
            if looks.len() > n_looks_max {
                return None;
            }
        }
        let mut spans = vec![(u32::MAX, 0); hashes.len()];
        for look in &looks {
            let span = &mut spans[look.key as usize];
            span.0 = span.0.min(look.start);
            span.1 = span.1.max(slots.last(look.start));
        }
        Some(spans)
    })
}

/// A key's search for a free slot, from `start` on.
struct Look {
    key: u32,
    start: u32,
    perturb: u64,
    may_fail: bool,
}

impl Look {
    /// The key's next search after this one has failed.
    fn next(&self, n_slots: usize) -> Look {
        let perturb = self.perturb >> 5;
        let start =
            (self.start as usize).wrapping_mul(5).wrapping_add(1).wrapping_add(perturb as usize)
                & (n_slots - 1);
        Look { key: self.key, start: start as u32, perturb, may_fail: false }
    }
}

const N_LINEAR_PROBES: u32 = 9;

thread_local! {
    static SLOTS: RefCell<Slots> = const { RefCell::new(Slots { n_starts: Vec::new(), ends: Vec::new() }) };
}

/// The slots of a table.
struct Slots {
    /// How many searches start at each slot.
    n_starts: Vec<u8>,
    /// The last slot of each slot's cluster, which may be beyond the table; `NOT_CROWDED` if no two keys of the cluster
    /// compete.
    ends: Vec<u32>,
}

const NOT_CROWDED: u32 = u32::MAX;

impl Slots {
    /// None if too many searches start at one slot.
    fn fill(&mut self, looks: &[Look], n_slots: usize) -> Option<()> {
        self.n_starts.clear();
        self.n_starts.resize(n_slots, 0);
        self.ends.clear();
        self.ends.resize(n_slots, NOT_CROWDED);
        for look in looks {
            let n = &mut self.n_starts[look.start as usize];
            *n = n.checked_add(1)?;
        }
        let mut slot = 0;
        while slot < n_slots {
            if self.n_starts[slot] < 2 {
                slot += 1;
                continue;
            }
            // A cluster is crowded from the first slot at which two searches start, up to the slot after which no key
            // is left over. A key that starts at the next slot gets it without competition, or begins another crowd.
            let start = slot;
            let mut n_waiting = 0;
            while slot < n_slots {
                n_waiting = n_waiting + u32::from(self.n_starts[slot]) - 1;
                slot += 1;
                if n_waiting == 0 {
                    break;
                }
            }
            let end = slot as u32 - 1 + n_waiting;
            self.ends[start..slot].fill(end);
        }
        Some(())
    }

    /// Whether a search from this slot may find no free slot.
    fn may_fail(&self, start: u32) -> bool {
        let end = self.ends[start as usize];
        let is_near_end = start + N_LINEAR_PROBES >= self.ends.len() as u32;
        end != NOT_CROWDED && (is_near_end || end > start + N_LINEAR_PROBES)
    }

    /// The last slot at which a search from this one may end.
    fn last(&self, start: u32) -> u32 {
        match self.ends[start as usize] {
            NOT_CROWDED => start,
            end => end.min(self.ends.len() as u32 - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_order::layout::Layout;
    use crate::set_order::table::n_slots_inserted;
    use crate::value::hash;

    /// A pseudo-random generator whose sequence is the same in every run of the test.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn every_order_of_insertion_stays_inside_the_spans() {
        let mut state = 7;
        let mut n_told = 0;
        for n in (0..80).chain([150, 307, 400, 1228]) {
            let hashes: Vec<u64> = (0..n)
                .map(|_| {
                    let (i, j) = (next(&mut state) % 60, next(&mut state) % 60);
                    hash::pair(i as i32, j as i32)
                })
                .collect();
            let mut hashes = hashes;
            hashes.sort_unstable();
            hashes.dedup();
            let n_slots = n_slots_inserted(hashes.len());
            let Some(spans) = spans(&hashes, n_slots) else {
                continue;
            };
            n_told += 1;
            let mut sequence: Vec<u32> = (0..hashes.len() as u32).collect();
            for _ in 0..50 {
                for k in (1..sequence.len()).rev() {
                    sequence.swap(k, next(&mut state) as usize % (k + 1));
                }
                let layout = Layout::of_hashes(&hashes, Some(&sequence));
                assert_eq!(layout.n_slots as usize, n_slots);
                for (&key, slot) in layout.perm.iter().zip(layout.slots()) {
                    let span = spans[key as usize];
                    assert!((span.0..=span.1).contains(&(slot as u32)), "{n} keys, key {key}");
                }
            }
        }
        assert!(n_told > 60, "{n_told} told");
    }
}
