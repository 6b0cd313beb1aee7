//! Sums term by term, for sharp kernels and for outputs that tiles cannot certify.

use super::kernel::Kernel;
use super::real::{exp_row, log_row};
use super::tile::{Block, Sums};
use super::{DEAD, LANES, NEARLY_DEAD, Real, Row, Span};
use crate::simd::compiled_per_path;

/// Half the number of bits below a row's maximum beyond which terms are omitted.
pub(crate) fn window_bits<T: Real>() -> f64 {
    T::WINDOW_BITS
}

compiled_per_path! {
    /// One pass over one block of lines for a sharp kernel: every output row is summed term by
    /// term over a window. The maximising input position is monotone in the output row (Monge
    /// property), so the maximisers of a few knots, found by divide and conquer, bound the windows
    /// of all rows between these knots.
    pub(crate) fn direct_pass<T: Real, S: Sums<T>>(
        kernel: &Kernel<T>,
        block: &Block<'_>,
        out: &mut [Row<f64>],
        maxima: &mut Vec<(usize, usize)>,
        live_rows: &mut Vec<u32>,
        sums: &mut S,
    ) {
        let Span { start, end } = block.wanted;
        if block.live.is_empty() || block.wanted.is_empty() {
            out.fill([DEAD; LANES]);
            return;
        }
        out[..start].fill([DEAD; LANES]);
        out[end..].fill([DEAD; LANES]);
        let c = kernel.c;
        let half_bits = 0.5 * f64::from(T::TERM_BITS);
        let step = (half_bits / c).sqrt().ceil().max(1.0);
        let radius = (half_bits / (c * step)).ceil() as usize;
        let step_px = step as usize;
        // Knots lie at start − step, start, start + step, …; the last lies beyond the end.
        let n_knots = (end - start).div_ceil(step_px) + 3;
        let knot = |k: usize| start as f64 + (k as f64 - 1.0) * step + kernel.offset;
        list_live_rows(block, live_rows);
        let lines = Lines { input: block.input, live_rows };
        maxima.clear();
        maxima.resize(n_knots, (block.live.start, block.live.end - 1));
        maxima[0] = maximisers(lines, block.live, knot(0), c);
        let rest = Span { start: maxima[0].0, end: block.live.end };
        maxima[n_knots - 1] = maximisers(lines, rest, knot(n_knots - 1), c);
        bisect(lines, &knot, c, maxima);
        let all = [true; LANES];
        for i in start..end {
            let k = 1 + (i - start) / step_px;
            let (before, after) = (maxima[k - 1].0, maxima[(k + 2).min(n_knots - 1)].1);
            let window = Span {
                start: before.saturating_sub(radius).max(block.live.start),
                end: (after + radius + 1).min(block.live.end),
            };
            out[i] = sums.exact(lines, window, c, i as f64 + kernel.offset, &all, i);
        }
    }
}

/// The input of a block, and its rows with a live lane. In sparse frames these are few.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'a> {
    pub input: &'a [Row<f64>],
    /// Ascending.
    pub live_rows: &'a [u32],
}

impl<'a> Lines<'a> {
    /// The live rows of a span, with their positions.
    #[inline(always)]
    pub(crate) fn within(self, span: Span) -> impl Iterator<Item = (usize, &'a Row<f64>)> {
        let from = self.live_rows.partition_point(|j| (*j as usize) < span.start);
        let to = self.live_rows.partition_point(|j| (*j as usize) < span.end);
        let rows = &self.live_rows[from..to.max(from)];
        rows.iter().map(move |j| (*j as usize, &self.input[*j as usize]))
    }
}

/// Lists the rows of a block with a live lane.
#[inline(always)]
pub(crate) fn list_live_rows(block: &Block<'_>, live_rows: &mut Vec<u32>) {
    live_rows.clear();
    for j in block.live.start..block.live.end {
        let mut most = DEAD;
        for l in 0..LANES {
            let v = block.input[j][l];
            most = if v > most { v } else { most };
        }
        if most > NEARLY_DEAD {
            live_rows.push(j as u32);
        }
    }
}

/// Finds the maximisers of all knots between the first and the last. Each search is limited by the
/// maximisers of its two neighbours.
#[inline(always)]
fn bisect(lines: Lines<'_>, knot: &impl Fn(usize) -> f64, c: f64, maxima: &mut [(usize, usize)]) {
    // The stack's depth is the logarithm of the number of knots, so 64 entries are enough.
    let mut open = [(0, 0); 64];
    open[0] = (0, maxima.len() - 1);
    let mut n_open = 1;
    while n_open > 0 {
        n_open -= 1;
        let (from, to) = open[n_open];
        if to - from >= 2 {
            let middle = (from + to) / 2;
            let span = Span { start: maxima[from].0, end: maxima[to].1 + 1 };
            maxima[middle] = maximisers(lines, span, knot(middle), c);
            open[n_open] = (from, middle);
            open[n_open + 1] = (middle, to);
            n_open += 2;
        }
    }
}

/// The smallest and the largest position j, over the live lanes, that maximises L_j − c·(x − j)².
#[inline(always)]
pub(crate) fn maximisers(lines: Lines<'_>, span: Span, x: f64, c: f64) -> (usize, usize) {
    let (mut most, mut at) = ([DEAD; LANES], [0.0; LANES]);
    for (j, row) in lines.within(span) {
        let d = x - j as f64;
        let by = c * d * d;
        for l in 0..LANES {
            let v = row[l] - by;
            let more = v > most[l];
            most[l] = if more { v } else { most[l] };
            at[l] = if more { j as f64 } else { at[l] };
        }
    }
    let (mut first, mut last) = (usize::MAX, 0);
    for l in 0..LANES {
        if most[l] > NEARLY_DEAD {
            first = first.min(at[l] as usize);
            last = last.max(at[l] as usize);
        }
    }
    if first == usize::MAX { (span.start, span.end.max(span.start + 1) - 1) } else { (first, last) }
}

/// The largest L_j − c·(x − j)² of every lane over the window, twice: dead lanes are 0 in the first
/// row and [`DEAD`] in the second.
#[inline(always)]
pub(crate) fn row_top(lines: Lines<'_>, window: Span, c: f64, x: f64) -> (Row<f64>, Row<f64>) {
    let mut most = [DEAD; LANES];
    for (j, row) in lines.within(window) {
        let d = x - j as f64;
        let by = c * d * d;
        for l in 0..LANES {
            let v = row[l] - by;
            most[l] = if v > most[l] { v } else { most[l] };
        }
    }
    let mut marked = [DEAD; LANES];
    for l in 0..LANES {
        let dead = most[l] < NEARLY_DEAD;
        marked[l] = if dead { DEAD } else { most[l] };
        most[l] = if dead { 0.0 } else { most[l] };
    }
    (most, marked)
}

/// log2 Σ_j 2^(L_j − c·(x − j)²) over the window, term by term.
#[inline(always)]
pub(crate) fn exact_row<T: Real>(lines: Lines<'_>, window: Span, c: f64, x: f64) -> Row<f64> {
    let (top, marked) = row_top(lines, window, c, x);
    let (mut sum, mut term) = ([T::default(); LANES], [T::default(); LANES]);
    let mut least = [0.0; LANES];
    for (j, row) in lines.within(window) {
        let d = x - j as f64;
        let by = c * d * d;
        if !is_significant::<T>(row, by, &top) {
            continue;
        }
        exp_row(row, by, &top, &mut term, &mut least);
        for l in 0..LANES {
            sum[l] = sum[l] + term[l];
        }
    }
    let mut out = [0.0; LANES];
    log_row(&sum, &marked, 0.0, &mut out);
    out
}

/// Whether any lane of a row is within twice the window's bits of its maximum.
#[inline(always)]
pub(crate) fn is_significant<T: Real>(logs: &Row<f64>, by: f64, top: &Row<f64>) -> bool {
    let mut most = DEAD;
    for l in 0..LANES {
        let z = logs[l] - by - top[l];
        most = if z > most { z } else { most };
    }
    most > -2.0 * window_bits::<T>()
}
