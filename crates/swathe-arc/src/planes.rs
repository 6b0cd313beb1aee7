use crate::grid::Grid;

/// The cells of a grid as planes of bits, one for each colour that occurs.
pub(crate) struct Planes {
    n_words: usize,
    /// The number of each colour's plane.
    number: [u8; 256],
    planes: Vec<Vec<u64>>,
}

const ABSENT: u8 = u8::MAX;

impl Planes {
    pub(crate) fn of(grid: &Grid) -> Planes {
        // One word more than needed, so that a shifted row can always be read.
        let n_words = grid.width().div_ceil(64) + 1;
        let mut number = [ABSENT; 256];
        let mut planes: Vec<Vec<u64>> = Vec::new();
        for (i, row) in grid.rows().enumerate() {
            for (j, &c) in row.iter().enumerate() {
                let slot = &mut number[(i32::from(c) + 128) as usize];
                if *slot == ABSENT {
                    *slot = planes.len() as u8;
                    planes.push(vec![0; grid.height() * n_words]);
                }
                planes[*slot as usize][i * n_words + j / 64] |= 1 << (j % 64);
            }
        }
        Planes {
            n_words,
            number,
            planes,
        }
    }

    /// The words of a row.
    pub(crate) fn n_words(&self) -> usize {
        self.n_words
    }

    /// The plane of a colour, given as the top byte of a packed cell; None if it does not occur.
    pub(crate) fn of_color(&self, color_byte: u32) -> Option<&[u64]> {
        let number = self.number[color_byte as usize];
        self.planes.get(usize::from(number)).map(Vec::as_slice)
    }
}
