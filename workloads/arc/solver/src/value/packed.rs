//! Index pairs and cells packed into 32 bits: row and column in 12 bits each, the colour in the top 8.
//!
//! The packed form compares like the tuple it stands for, and a shift is one addition.

use crate::value::hash;

/// What a packed element stands for. Dialects differ in the form of a cell; a packed cell holds the same numbers in
/// both forms, so that primitives need not distinguish them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElementKind {
    /// A pair (row, column).
    Place,
    /// A cell (colour, (row, column)), as in arc-dsl.
    Cell,
    /// A cell (row, column, colour), as in `batt`.
    Triple,
}

impl ElementKind {
    /// Whether the element is a cell, in either form.
    #[inline]
    pub(crate) fn has_color(self) -> bool {
        self != ElementKind::Place
    }

    /// How deep the element is nested.
    pub(crate) fn nesting(self) -> u32 {
        match self {
            ElementKind::Place | ElementKind::Triple => 1,
            ElementKind::Cell => 2,
        }
    }

    /// A number that compares as the element's tuple does.
    #[inline]
    pub(crate) fn sort_key(self, p: u32) -> u32 {
        match self {
            ElementKind::Triple => p.rotate_left(8),
            _ => p,
        }
    }
}

const OFFSET: i32 = 2048;
const PLACE_MAX: i32 = 2040;
pub(crate) const PLACE_MASK: u32 = 0x00ff_ffff;

/// Whether the place fits; everything else is kept in general form.
#[inline]
pub(crate) fn fits(i: i64, j: i64) -> bool {
    let range = -i64::from(PLACE_MAX)..i64::from(PLACE_MAX);
    range.contains(&i) && range.contains(&j)
}

/// Whether the colour fits. The two highest packed values are left free for tables.
#[inline]
pub(crate) fn color_fits(c: i64) -> bool {
    (-127..127).contains(&c)
}

#[inline]
pub(crate) fn place(i: i32, j: i32) -> u32 {
    (((i + OFFSET) as u32) << 12) | ((j + OFFSET) as u32)
}

#[inline]
pub(crate) fn cell(c: i32, i: i32, j: i32) -> u32 {
    color_bits(c) | place(i, j)
}

#[inline]
pub(crate) fn color_bits(c: i32) -> u32 {
    ((c + 128) as u32) << 24
}

#[inline]
pub(crate) fn row(p: u32) -> i32 {
    ((p >> 12) & 4095) as i32 - OFFSET
}

#[inline]
pub(crate) fn col(p: u32) -> i32 {
    (p & 4095) as i32 - OFFSET
}

#[inline]
pub(crate) fn color(p: u32) -> i32 {
    (p >> 24) as i32 - 128
}

/// The colour as it is packed: never zero.
#[inline]
pub(crate) fn color_byte(p: u32) -> u8 {
    (p >> 24) as u8
}

/// What to add to a packed place to move it; the caller has checked that the result fits.
#[inline]
pub(crate) fn step(di: i32, dj: i32) -> u32 {
    (di << 12).wrapping_add(dj) as u32
}

// In every loop over elements; without this, three kinds are too many for the compiler to inline it.
#[inline(always)]
pub(crate) fn hash(p: u32, kind: ElementKind) -> u64 {
    match kind {
        ElementKind::Place => hash_of_place(p),
        ElementKind::Cell => hash::in_color(COLOR_LANES[(p >> 24) as usize], hash_of_place(p)),
        ElementKind::Triple => hash_of_triple(p),
    }
}

/// Not inlined, so that the other kinds, which are in every loop over elements, can be.
#[inline(never)]
fn hash_of_triple(p: u32) -> u64 {
    hash::triple(place_lanes(p), color(p))
}

/// The state of a triple's hash after its row and column.
#[inline]
fn place_lanes(p: u32) -> u64 {
    let q = (p & PLACE_MASK) ^ ORIGIN;
    if q & !0x3f03f == 0 {
        PLACE_LANES[(q >> 6 | q & 63) as usize]
    } else {
        hash::place_lanes(row(p), col(p))
    }
}

static PLACE_LANES: [u64; 4096] = {
    let mut lanes = [0; 4096];
    let mut k = 0;
    while k < 4096 {
        lanes[k] = hash::place_lanes((k / 64) as i32, (k % 64) as i32);
        k += 1;
    }
    lanes
};

#[inline]
fn hash_of_place(p: u32) -> u64 {
    // Without the offset, a place in the table has no bits but the six lowest of row and column.
    let q = (p & PLACE_MASK) ^ ORIGIN;
    if q & !0x3f03f == 0 {
        PAIR_HASHES[(q >> 6 | q & 63) as usize]
    } else {
        hash::pair(row(p), col(p))
    }
}

/// The packed place (0, 0).
const ORIGIN: u32 = (OFFSET as u32) << 12 | OFFSET as u32;

/// Hashes of the places on grids of tasks, which are needed far more often than any others.
static PAIR_HASHES: [u64; 4096] = {
    let mut hashes = [0; 4096];
    let mut k = 0;
    while k < 4096 {
        hashes[k] = hash::pair((k / 64) as i32, (k % 64) as i32);
        k += 1;
    }
    hashes
};

/// The state of a cell's hash after its colour, by colour byte.
static COLOR_LANES: [u64; 256] = {
    let mut lanes = [0; 256];
    let mut k = 0;
    while k < 256 {
        lanes[k] = hash::color_lane(k as i32 - 128);
        k += 1;
    }
    lanes
};

/// The hash of a tuple of two packed elements.
#[inline]
pub(crate) fn hash_duo(d: u64, kind: ElementKind) -> u64 {
    hash::two(hash((d >> 32) as u32, kind), hash(d as u32, kind))
}

/// The rectangle around some places, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) top: i32,
    pub(crate) bottom: i32,
    pub(crate) left: i32,
    pub(crate) right: i32,
}

impl Bounds {
    /// The bounds of a non-empty list of packed places or cells.
    pub(crate) fn of(items: &[u32]) -> Bounds {
        let (mut top, mut bottom, mut left, mut right) = (4095, 0, 4095, 0);
        for &x in items {
            let (i, j) = ((x >> 12) & 4095, x & 4095);
            top = top.min(i);
            bottom = bottom.max(i);
            left = left.min(j);
            right = right.max(j);
        }
        Bounds {
            top: top as i32 - OFFSET,
            bottom: bottom as i32 - OFFSET,
            left: left as i32 - OFFSET,
            right: right as i32 - OFFSET,
        }
    }

    pub(crate) fn height(&self) -> i32 {
        self.bottom - self.top + 1
    }

    pub(crate) fn width(&self) -> i32 {
        self.right - self.left + 1
    }

    pub(crate) fn area(&self) -> usize {
        self.height() as usize * self.width() as usize
    }

    /// The rectangle around both.
    pub(crate) fn around(self, other: Bounds) -> Bounds {
        Bounds {
            top: self.top.min(other.top),
            bottom: self.bottom.max(other.bottom),
            left: self.left.min(other.left),
            right: self.right.max(other.right),
        }
    }

    pub(crate) fn moved(&self, di: i32, dj: i32) -> Bounds {
        Bounds {
            top: self.top + di,
            bottom: self.bottom + di,
            left: self.left + dj,
            right: self.right + dj,
        }
    }

    pub(crate) fn fits(&self) -> bool {
        fits(i64::from(self.top), i64::from(self.left))
            && fits(i64::from(self.bottom), i64::from(self.right))
    }

    /// Whether every place lies on a grid of this size.
    pub(crate) fn inside(&self, h: usize, w: usize) -> bool {
        self.top >= 0 && self.left >= 0 && (self.bottom as usize) < h && (self.right as usize) < w
    }

    /// Whether the place lies inside.
    pub(crate) fn holds(&self, p: u32) -> bool {
        (self.top..=self.bottom).contains(&row(p)) && (self.left..=self.right).contains(&col(p))
    }

    /// The number of a place counted row by row from the top left; the place lies inside.
    #[inline]
    pub(crate) fn rank(&self, p: u32) -> usize {
        (row(p) - self.top) as usize * self.width() as usize + (col(p) - self.left) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_from_the_table_are_those_of_the_tuples() {
        for (i, j) in [(0, 0), (63, 63), (63, 64), (64, 0), (-1, 0), (5, -2040), (2039, 7)] {
            assert_eq!(hash(place(i, j), ElementKind::Place), hash::pair(i, j), "({i}, {j})");
            for c in [-127, -1, 0, 9, 126] {
                assert_eq!(
                    hash(cell(c, i, j), ElementKind::Cell),
                    hash::cell(c, i, j),
                    "{c} at ({i}, {j})"
                );
            }
        }
    }
}
