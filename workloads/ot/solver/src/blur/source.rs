//! The input of a pass, cut into tiles of mantissas: one exponent per lane, one shear per tile.

use super::kernel::Kernel;
use super::real::exp_row;
use super::tile::Block;
use super::{DEAD, LANES, NEARLY_DEAD, Real, Row, Span};

/// Memory for the tiles of one block of lines.
#[derive(Clone, Debug)]
pub(crate) struct Tiles<T> {
    pub rows: Vec<Row<T>>,
    pub slow_rows: Vec<Row<T>>,
    pub exponents: Vec<Row<i32>>,
    pub slow_exponents: Vec<Row<i32>>,
    pub slow_shear: Vec<i32>,
    pub kinky: Vec<bool>,
    /// Largest exponent, start, last position within the tile, shear: floats, so that loops over
    /// tiles vectorise.
    pub top: Vec<f64>,
    pub start: Vec<f64>,
    pub last: Vec<f64>,
    pub shear: Vec<f64>,
    /// For the current output tile: an upper bound of each source tile's ramp, and whether the
    /// source tile is slow.
    pub bound: Vec<f64>,
    pub slow: Vec<f64>,
    pub state: Vec<TileState>,
    /// Rows of the block with a live lane; filled when a row is first summed term by term.
    pub live_rows: Vec<u32>,
}

/// How an output tile treats a source tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileState {
    Fast,
    Slow,
    Skipped,
}

impl<T> Default for Tiles<T> {
    fn default() -> Tiles<T> {
        Tiles {
            rows: Vec::new(),
            slow_rows: Vec::new(),
            exponents: Vec::new(),
            slow_exponents: Vec::new(),
            slow_shear: Vec::new(),
            kinky: Vec::new(),
            top: Vec::new(),
            start: Vec::new(),
            last: Vec::new(),
            shear: Vec::new(),
            bound: Vec::new(),
            slow: Vec::new(),
            state: Vec::new(),
            live_rows: Vec::new(),
        }
    }
}

impl<T: Real> Tiles<T> {
    fn resize(&mut self, n_in: usize, segment: usize) -> usize {
        let n_tiles = n_in.div_ceil(segment);
        self.rows.resize(n_in, [T::default(); LANES]);
        self.slow_rows.resize(n_tiles * segment, [T::default(); LANES]);
        self.exponents.resize(n_tiles, [0; LANES]);
        self.slow_exponents.resize(n_tiles, [0; LANES]);
        self.slow_shear.resize(n_tiles, 0);
        self.kinky.resize(n_tiles, false);
        self.state.resize(n_tiles, TileState::Fast);
        for v in [
            &mut self.top,
            &mut self.start,
            &mut self.last,
            &mut self.shear,
            &mut self.bound,
            &mut self.slow,
        ] {
            v.resize(n_tiles, 0.0);
        }
        n_tiles
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        (self.rows.capacity() + self.slow_rows.capacity()) * size_of::<Row<T>>()
            + (self.exponents.capacity() + self.slow_exponents.capacity()) * size_of::<Row<i32>>()
            + self.slow_shear.capacity() * 4
            + self.kinky.capacity()
            + self.state.capacity()
            + self.live_rows.capacity() * 4
            + 8 * (self.top.capacity() * 6)
    }
}

/// Cuts the live input into tiles; shears and exponentiates each tile.
#[inline(always)]
pub(crate) fn cut_sources<T: Real>(kernel: &Kernel<T>, block: &Block<'_>, tiles: &mut Tiles<T>) {
    let Span { start: lo, end: hi } = block.live;
    let n_tiles = tiles.resize(hi - lo, kernel.segment);
    let c = kernel.c;
    for t in 0..n_tiles {
        let start = lo + t * kernel.segment;
        let len = kernel.segment.min(hi - start);
        let input = &block.input[start..start + len];
        // The ray from the tile must end among the outputs: with unclamped shears, sums were off by
        // 7e-3.
        let low = start as f64 - kernel.offset - block.wanted.end as f64;
        let high = (start + len) as f64 - kernel.offset - block.wanted.start as f64;
        let shear =
            mean_slope(input).map_or(0.0, |slope| (slope / (2.0 * c)).max(low).min(high).round());
        let rows = &mut tiles.rows[start - lo..start - lo + len];
        let exponents = &mut tiles.exponents[t];
        let least = exponentiate(input, 2.0 * c * shear, rows, exponents);
        tiles.kinky[t] = least < f64::from(T::FLOOR_BITS + 26);
        let top = exponents.iter().copied().fold(DEAD_EXPONENT, i32::max);
        tiles.top[t] = if top <= DEAD_EXPONENT { NEARLY_DEAD } else { f64::from(top) };
        tiles.start[t] = start as f64;
        tiles.last[t] = (len - 1) as f64;
        tiles.shear[t] = shear;
    }
}

/// The mean slope of the logarithms along the tile: over the lanes with two live ends or, if there
/// are none, over pairs of live neighbours.
#[inline(always)]
fn mean_slope(input: &[Row<f64>]) -> Option<f64> {
    let (first, last) = (&input[0], &input[input.len() - 1]);
    let steps = (input.len() - 1) as f64;
    if steps == 0.0 {
        return None;
    }
    let (mut sum, mut n) = ([0.0; LANES], [0.0; LANES]);
    for l in 0..LANES {
        let both = (first[l] > NEARLY_DEAD) & (last[l] > NEARLY_DEAD);
        sum[l] += if both { last[l] - first[l] } else { 0.0 };
        n[l] += if both { steps } else { 0.0 };
    }
    if n.iter().sum::<f64>() == 0.0 {
        for pair in input.windows(2) {
            for l in 0..LANES {
                let both = (pair[0][l] > NEARLY_DEAD) & (pair[1][l] > NEARLY_DEAD);
                sum[l] += if both { pair[1][l] - pair[0][l] } else { 0.0 };
                n[l] += if both { 1.0 } else { 0.0 };
            }
        }
    }
    let n: f64 = n.iter().sum();
    (n > 0.0).then(|| sum.iter().sum::<f64>() / n)
}

/// rows[w] = 2^(L[w] − slope·w − exponent); returns the smallest live log2 of a mantissa.
#[inline(always)]
pub(crate) fn exponentiate<T: Real>(
    input: &[Row<f64>],
    slope: f64,
    rows: &mut [Row<T>],
    exponents: &mut Row<i32>,
) -> f64 {
    let mut most = [DEAD; LANES];
    for (w, row) in input.iter().enumerate() {
        let by = slope * w as f64;
        for l in 0..LANES {
            let v = row[l] - by;
            most[l] = if v > most[l] { v } else { most[l] };
        }
    }
    let mut top = [0.0; LANES];
    for l in 0..LANES {
        let dead = most[l] < NEARLY_DEAD;
        top[l] = if dead { 0.0 } else { most[l].ceil() };
        exponents[l] = if dead { DEAD_EXPONENT } else { top[l] as i32 };
    }
    let mut least = [0.0; LANES];
    for (w, (row, out)) in input.iter().zip(rows).enumerate() {
        exp_row(row, slope * w as f64, &top, out, &mut least);
    }
    least.iter().copied().fold(0.0, f64::min)
}

/// Exponent of a lane without mass.
pub(crate) const DEAD_EXPONENT: i32 = -(1 << 28);
