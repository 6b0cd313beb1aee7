//! Membership tests for packed sets.

use crate::value::packed::{self, Bounds};

/// Membership of packed elements: a scan of a short list, otherwise a bit for each place of the rectangle around them,
/// colour by colour.
pub(crate) enum Members<'a> {
    Few(&'a [u32]),
    Known(&'a Bits),
}

impl Members<'_> {
    #[inline]
    pub(crate) fn has(&self, p: u32) -> bool {
        match self {
            Members::Few(items) => items.contains(&p),
            Members::Known(bits) => bits.has(p),
        }
    }
}

/// The elements of a packed set as bits, or sorted if they are far apart.
pub(crate) enum Bits {
    Plane {
        bounds: Bounds,
        n_rows: u32,
        n_columns: u32,
        color_low: u32,
        n_colors: u32,
        words: Vec<u64>,
    },
    Sorted(Vec<u32>),
}

/// Rectangles with more bits than this are mostly empty space.
const N_BITS_MAX: usize = 1 << 20;

impl Bits {
    /// The bits of a list that is not empty.
    pub(crate) fn of(items: &[u32], bounds: Bounds) -> Bits {
        let (mut low, mut high) = (u32::MAX, 0);
        for &x in items {
            low = low.min(x >> 24);
            high = high.max(x >> 24);
        }
        let n_colors = high - low + 1;
        let n_bits = bounds.area() * n_colors as usize;
        if n_bits > N_BITS_MAX {
            let mut sorted = items.to_vec();
            sorted.sort_unstable();
            return Bits::Sorted(sorted);
        }
        let mut words = vec![0u64; n_bits.div_ceil(64)];
        for &x in items {
            let k = ((x >> 24) - low) as usize * bounds.area() + bounds.rank(x);
            words[k >> 6] |= 1 << (k & 63);
        }
        Bits::Plane {
            bounds,
            n_rows: bounds.height() as u32,
            n_columns: bounds.width() as u32,
            color_low: low,
            n_colors,
            words,
        }
    }

    #[inline]
    pub(crate) fn has(&self, p: u32) -> bool {
        match self {
            Bits::Plane { bounds, n_rows, n_columns, color_low, n_colors, words } => {
                // A coordinate before the start wraps around to a large number.
                let i = packed::row(p).wrapping_sub(bounds.top) as u32;
                let j = packed::col(p).wrapping_sub(bounds.left) as u32;
                let c = (p >> 24).wrapping_sub(*color_low);
                if i >= *n_rows || j >= *n_columns || c >= *n_colors {
                    return false;
                }
                let k = ((c * n_rows + i) * n_columns + j) as usize;
                words[k >> 6] >> (k & 63) & 1 == 1
            }
            Bits::Sorted(items) => items.binary_search(&p).is_ok(),
        }
    }
}
