use crate::grid::Grid;

/// The cells of a grid as planes of bits, one for each colour that occurs.
pub(crate) struct Planes {
    n_words: usize,
    /// The first word of each colour's plane.
    first: [u32; 256],
    words: Vec<u64>,
}

const ABSENT: u32 = u32::MAX;

impl Planes {
    pub(crate) fn of(grid: &Grid) -> Planes {
        // One word more than needed, so that a shifted row can always be read.
        let n_words = grid.width().div_ceil(64) + 1;
        let mut first = [ABSENT; 256];
        let mut words = Vec::new();
        for (i, row) in grid.rows().enumerate() {
            for (j, &c) in row.iter().enumerate() {
                let plane = &mut first[(i32::from(c) + 128) as usize];
                if *plane == ABSENT {
                    *plane = words.len() as u32;
                    words.resize(words.len() + grid.height() * n_words, 0u64);
                }
                words[*plane as usize + i * n_words + j / 64] |= 1 << (j % 64);
            }
        }
        Planes {
            n_words,
            first,
            words,
        }
    }

    /// The words of a row.
    pub(crate) fn n_words(&self) -> usize {
        self.n_words
    }

    /// All planes, row by row.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The first word of a colour's plane, given as the top byte of a packed cell; None if it does not occur.
    pub(crate) fn of_color(&self, color_byte: u32) -> Option<usize> {
        let first = self.first[color_byte as usize];
        (first != ABSENT).then_some(first as usize)
    }
}
