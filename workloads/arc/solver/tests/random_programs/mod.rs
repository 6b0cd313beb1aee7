//! Random programs and grids, the same for the same seed everywhere.

use swathe_arc::{Dialect, Grid, PRIMITIVES, Primitive};

/// Pseudo-random numbers (SplitMix64), the same for the same seed everywhere.
pub(crate) struct Dice {
    state: u64,
    /// The dialect of random programs.
    pub(crate) dialect: Dialect,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice { state: seed, dialect: Dialect::ArcDsl }
    }

    fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// Mostly small, at times as large as tasks may be; few colours make shapes, many make noise.
    pub(crate) fn grid(&mut self) -> Grid {
        let side_max = *self.pick(&[3, 3, 8, 8, 15, 30]);
        let (height, width) = (1 + self.below(side_max), 1 + self.below(side_max));
        let n_colors_max = *self.pick(&[2, 4, 10]);
        let n_colors = 1 + self.below(n_colors_max);
        let rows: Vec<Vec<i8>> =
            (0..height).map(|_| (0..width).map(|_| self.below(n_colors) as i8).collect()).collect();
        Grid::from_rows(&rows).expect("rows of one length")
    }

    /// A primitive of the dialect.
    pub(crate) fn primitive(&mut self) -> &'static Primitive {
        loop {
            let primitive = &PRIMITIVES[self.below(PRIMITIVES.len())];
            if primitive.is_in(self.dialect) {
                return primitive;
            }
        }
    }

    /// A call of a primitive or of an earlier result, on arguments that may or may not suit it.
    pub(crate) fn line(&mut self, n_lines: usize) -> String {
        let (callee, n_args) = if n_lines > 0 && self.below(8) == 0 {
            (format!("x{}", self.below(n_lines)), 1 + self.below(2))
        } else {
            let primitive = self.primitive();
            (primitive.name.to_string(), usize::from(primitive.n_args))
        };
        let n_args = if self.below(50) == 0 { self.below(5) } else { n_args };
        let args: Vec<String> = (0..n_args).map(|_| self.argument(n_lines, 0)).collect();
        format!("{callee}({})", args.join(", "))
    }

    fn argument(&mut self, n_lines: usize, depth: usize) -> String {
        const NUMBERS: [&str; 22] = [
            "ZERO",
            "ONE",
            "TWO",
            "THREE",
            "FIVE",
            "TEN",
            "NEG_ONE",
            "NEG_TWO",
            "T",
            "F",
            "None",
            "30",
            "-7",
            "127",
            "128",
            "2040",
            "1000000",
            "-2147483649",
            "9223372036854775807",
            "-9223372036854775808",
            "-9223372036854775809",
            "18446744073709551617",
        ];
        const PLACES: [&str; 9] = [
            "DOWN",
            "UP_RIGHT",
            "ORIGIN",
            "UNITY",
            "TWO_BY_TWO",
            "THREE_BY_THREE",
            "(2047, -2048)",
            "(70000, 3)",
            "()",
        ];
        match self.below(16) {
            0..=6 if n_lines > 0 => format!("x{}", self.below(n_lines)),
            0..=7 => "I".into(),
            8 | 9 => (*self.pick(&NUMBERS)).into(),
            10 => (*self.pick(&PLACES)).into(),
            11 if depth < 2 => {
                let (a, b) = (self.argument(n_lines, depth + 1), self.argument(n_lines, depth + 1));
                format!("({a}, {b})")
            }
            12 | 13 if depth < 2 => self.line(n_lines),
            _ => self.primitive().name.into(),
        }
    }
}
