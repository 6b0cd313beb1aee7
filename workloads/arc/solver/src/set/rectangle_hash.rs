//! Hashes of sets that fill a rectangle, without visiting their elements.
//!
//! The hash of a frozenset is an XOR over its elements, and XOR is its own inverse. The XOR over any rectangle is
//! therefore the XOR over four rectangles that start at the origin.

use crate::value::hash::{self, SetHash};
use crate::value::packed::{self, Bounds, ElementKind};
use std::cell::RefCell;

/// Places beyond this are rare.
const SIDE_MAX: usize = 64;
const N_COLORS: usize = 256;

/// The hash of the set of all places, or of cells of one colour, inside these bounds; None if they lie outside the
/// tables. `color_bits` are those of a packed cell.
pub(crate) fn of(bounds: Bounds, color_bits: u32, kind: ElementKind) -> Option<u64> {
    if !bounds.inside(SIDE_MAX, SIDE_MAX) {
        return None;
    }
    let [top, bottom, left, right] =
        [bounds.top, bounds.bottom + 1, bounds.left, bounds.right + 1].map(|x| x as usize);
    let which = match kind {
        ElementKind::Place => 2 * N_COLORS,
        ElementKind::Cell => (color_bits >> 24) as usize,
        ElementKind::Triple => N_COLORS + (color_bits >> 24) as usize,
    };
    TABLES.with_borrow_mut(|tables| {
        if tables.is_empty() {
            tables.resize_with(2 * N_COLORS + 1, || None);
        }
        let table = tables[which].get_or_insert_with(|| table(color_bits, kind));
        let at = |i: usize, j: usize| table[i * (SIDE_MAX + 1) + j];
        let x = at(bottom, right) ^ at(top, right) ^ at(bottom, left) ^ at(top, left);
        Some(SetHash::of_parts(x, bounds.area() as u64).finish())
    })
}

thread_local! {
    static TABLES: RefCell<Vec<Option<Box<[u64]>>>> = const { RefCell::new(Vec::new()) };
}

/// The XOR over each rectangle from the origin, indexed by the first row and column outside it.
fn table(color_bits: u32, kind: ElementKind) -> Box<[u64]> {
    let stride = SIDE_MAX + 1;
    let mut table = vec![0; stride * stride];
    for i in 0..SIDE_MAX {
        let mut row = 0;
        for j in 0..SIDE_MAX {
            let element = color_bits | packed::place(i as i32, j as i32);
            row ^= hash::set_part(packed::hash(element, kind));
            table[(i + 1) * stride + j + 1] = row ^ table[i * stride + j + 1];
        }
    }
    table.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_hash_as_their_elements_do() {
        for (top, bottom, left, right) in
            [(0, 0, 0, 0), (0, 63, 0, 63), (5, 9, 60, 63), (3, 40, 7, 7)]
        {
            let bounds = Bounds { top, bottom, left, right };
            for (color, kind) in [
                (0, ElementKind::Place),
                (0, ElementKind::Cell),
                (9, ElementKind::Cell),
                (9, ElementKind::Triple),
                (-3, ElementKind::Triple),
            ] {
                let bits = if kind.has_color() { packed::color_bits(color) } else { 0 };
                let places = (top..=bottom).flat_map(|i| (left..=right).map(move |j| (i, j)));
                let hashes = places.map(|(i, j)| packed::hash(bits | packed::place(i, j), kind));
                assert_eq!(of(bounds, bits, kind), Some(hash::set(hashes)), "{bounds:?}");
            }
        }
        let outside = Bounds { top: -1, bottom: 3, left: 0, right: 3 };
        assert_eq!(of(outside, 0, ElementKind::Place), None);
    }
}
