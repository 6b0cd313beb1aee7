//! Bit planes of a grid, for searches that test many cells at once.

use crate::value::grid::Grid;

/// The cells of a grid as planes of bits, one for each colour that occurs.
pub(crate) struct Planes {
    /// The number of each colour's plane.
    numbers: [u16; 256],
    rows: Rows,
}

/// The rows of all planes, one plane after the other.
pub(crate) enum Rows {
    /// A word for each row, and [`N_TOGETHER`] empty ones at the end of each plane, so that as many rows can be read
    /// from any row on.
    Narrow(Vec<u32>),
    /// This many words for each row: one more than needed, so that a shifted row can always be read.
    Wide(Vec<u64>, usize),
}

/// Rows that are processed together.
pub(crate) const N_TOGETHER: usize = 8;

const ABSENT: u16 = u16::MAX;

impl Planes {
    pub(crate) fn of(grid: &Grid) -> Planes {
        let (numbers, n_planes) = numbered(grid);
        let number = |c: i8| usize::from(numbers[c as u8 as usize]);
        let (h, w) = (grid.height(), grid.width());
        let rows = if w <= 32 {
            let mut rows = vec![0; n_planes * (h + N_TOGETHER)];
            for (i, row) in grid.rows().enumerate() {
                for (j, &c) in row.iter().enumerate() {
                    rows[number(c) * (h + N_TOGETHER) + i] |= 1 << j;
                }
            }
            Rows::Narrow(rows)
        } else {
            let n_words = w.div_ceil(64) + 1;
            let mut rows = vec![0; n_planes * h * n_words];
            for (i, row) in grid.rows().enumerate() {
                for (j, &c) in row.iter().enumerate() {
                    rows[(number(c) * h + i) * n_words + j / 64] |= 1 << (j % 64);
                }
            }
            Rows::Wide(rows, n_words)
        };
        Planes { numbers, rows }
    }

    /// The number of a colour's plane; None if it does not occur.
    pub(crate) fn number(&self, color: i32) -> Option<usize> {
        let number = self.numbers[i8::try_from(color).ok()? as u8 as usize];
        (number != ABSENT).then_some(number.into())
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }
}

/// Numbers the colours of a grid and counts them.
fn numbered(grid: &Grid) -> ([u16; 256], usize) {
    let mut numbers = [ABSENT; 256];
    let mut n_planes = 0;
    for &c in grid.cells() {
        let number = &mut numbers[c as u8 as usize];
        if *number == ABSENT {
            *number = n_planes as u16;
            n_planes += 1;
        }
    }
    (numbers, n_planes)
}
