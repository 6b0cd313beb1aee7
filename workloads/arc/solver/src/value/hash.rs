//! CPython's hashes of integers, tuples and frozensets, as 64-bit values.

const PRIME_1: u64 = 11_400_714_785_074_694_791;
const PRIME_2: u64 = 14_029_467_366_897_019_727;
const PRIME_5: u64 = 2_870_177_450_012_600_261;
const MODULUS: i64 = (1 << 61) - 1;

/// CPython 3.12's hash of None; earlier versions use an address.
pub(crate) const NONE: u64 = 0xfca8_6420;

#[inline]
pub(crate) const fn int(v: i64) -> u64 {
    let r = if -MODULUS < v && v < MODULUS { v } else { v % MODULUS };
    if r == -1 { -2i64 as u64 } else { r as u64 }
}

/// CPython hashes a not-a-number by its address, so the order of sets with one is not defined. Here all have one hash,
/// and the order does not depend on when they were made. It belongs to the last slot of small tables: an address
/// rarely falls on the first one, so that in most processes small integers come before.
#[inline]
pub(crate) fn float(x: f64) -> u64 {
    if x.is_nan() {
        return 0x7ff8_001f;
    }
    if x.is_infinite() {
        return if x > 0.0 { 314_159 } else { -314_159i64 as u64 };
    }
    // Only whole numbers come about, by division by an infinity.
    int(x as i64)
}

/// A tuple's hash, computed element by element.
#[derive(Clone, Copy)]
pub(crate) struct TupleHash {
    acc: u64,
    n: u64,
}

impl TupleHash {
    #[inline]
    pub(crate) fn new() -> TupleHash {
        TupleHash { acc: PRIME_5, n: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, hash: u64) {
        self.acc = lane(self.acc, hash);
        self.n += 1;
    }

    #[inline]
    pub(crate) fn finish(self) -> u64 {
        finish(self.acc, self.n)
    }
}

#[inline]
const fn lane(acc: u64, hash: u64) -> u64 {
    acc.wrapping_add(hash.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

#[inline]
const fn finish(acc: u64, n: u64) -> u64 {
    let h = acc.wrapping_add(n ^ (PRIME_5 ^ 3_527_539));
    if h == u64::MAX { 1_546_275_796 } else { h }
}

/// The hash of a tuple of two elements with these hashes.
#[inline]
pub(crate) const fn two(a: u64, b: u64) -> u64 {
    finish(lane(lane(PRIME_5, a), b), 2)
}

#[inline]
pub(crate) const fn pair(i: i32, j: i32) -> u64 {
    two(int(i as i64), int(j as i64))
}

/// The state of a cell's hash after its colour.
#[inline]
pub(crate) const fn color_lane(c: i32) -> u64 {
    lane(PRIME_5, int(c as i64))
}

/// The hash of a cell, from its colour's lane and the hash of its place.
#[inline]
pub(crate) const fn in_color(color_lane: u64, pair: u64) -> u64 {
    finish(lane(color_lane, pair), 2)
}

#[inline]
pub(crate) fn cell(c: i32, i: i32, j: i32) -> u64 {
    two(int(i64::from(c)), pair(i, j))
}

/// The state of a triple's hash after its row and column.
#[inline]
pub(crate) const fn place_lanes(i: i32, j: i32) -> u64 {
    lane(lane(PRIME_5, int(i as i64)), int(j as i64))
}

/// The hash of a triple (i, j, c), from the state after row and column.
#[inline]
pub(crate) const fn triple(place_lanes: u64, c: i32) -> u64 {
    finish(lane(place_lanes, int(c as i64)), 3)
}

/// A frozenset's hash: it depends on the elements alone, not on their order or their table.
pub(crate) fn set(hashes: impl Iterator<Item = u64>) -> u64 {
    let mut hash = SetHash::new();
    hashes.for_each(|h| hash.add(h));
    hash.finish()
}

/// What an element with this hash adds to the hash of a frozenset.
#[inline]
pub(crate) const fn set_part(h: u64) -> u64 {
    ((h ^ 89_869_747) ^ (h << 16)).wrapping_mul(3_644_798_167)
}

/// A frozenset's hash, computed element by element.
pub(crate) struct SetHash {
    x: u64,
    n: u64,
}

impl SetHash {
    #[inline]
    pub(crate) fn new() -> SetHash {
        SetHash { x: 0, n: 0 }
    }

    /// The state after n elements whose parts have the XOR x.
    #[inline]
    pub(crate) fn of_parts(x: u64, n: u64) -> SetHash {
        SetHash { x, n }
    }

    #[inline]
    pub(crate) fn add(&mut self, h: u64) {
        self.x ^= set_part(h);
        self.n += 1;
    }

    #[inline]
    pub(crate) fn finish(self) -> u64 {
        let mut x = self.x ^ (self.n + 1).wrapping_mul(1_927_868_237);
        x ^= (x >> 11) ^ (x >> 25);
        x = x.wrapping_mul(69_069).wrapping_add(907_133_923);
        if x == u64::MAX { 590_923_713 } else { x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_come_before_a_not_a_number() {
        for n_slots in [8, 32] {
            assert_eq!(float(f64::NAN) & (n_slots - 1), n_slots - 1);
        }
    }
}
