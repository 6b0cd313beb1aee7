//! Certificates: which outputs of a tile are accurate, and recomputing those that are not.

use super::direct::{Lines, list_live_rows, maximisers, window_bits};
use super::kernel::Kernel;
use super::tile::{Block, OutputUse, Sums, Target};
use super::{DEAD, LANES, Real, Row, SEGMENT_MAX, Span};

/// f32 has 24 bits, so a term this far below a total cannot change it.
const GUARD_BITS: i32 = 28;

/// The smallest total of a live lane.
#[inline(always)]
pub(crate) fn least_total<T: Real>(totals: &[Row<T>], top: &Row<f64>) -> f64 {
    let mut least = [T::from_f64(1e30); LANES];
    for row in totals {
        for l in 0..LANES {
            least[l] = if row[l] < least[l] { row[l] } else { least[l] };
        }
    }
    let mut all: f64 = 1e30;
    for l in 0..LANES {
        let v = if top[l] > DEAD { least[l].to_f64() } else { 1e30 };
        all = if v < all { v } else { all };
    }
    all
}

/// The error that an output tile's totals may have.
pub(crate) struct ErrorBound<'a> {
    pub top: &'a Row<f64>,
    pub slope: f64,
    pub amplified: &'a [f64; SEGMENT_MAX],
    /// How far below the largest tile skipped tiles are; `None` if no tile was skipped.
    pub skip_bits: Option<i32>,
}

impl ErrorBound<'_> {
    /// log2 of the total above which an output of this amplification is accurate.
    #[inline(always)]
    pub(crate) fn limit_bits<T: Real>(&self, amplified: f64) -> f64 {
        let flushed = f64::from(T::FLOOR_BITS) + amplified;
        let skipped = self.skip_bits.map_or(flushed, |bits| -f64::from(bits));
        (flushed.max(skipped) + f64::from(GUARD_BITS)).min(-0.99 * f64::from(T::FLOOR_BITS))
    }
}

/// Marks the outputs whose totals may be inaccurate and that matter; returns whether there are any.
/// Inaccurate outputs that are negligible in the pass across become dead.
#[inline(always)]
pub(crate) fn find_lost<T: Real>(
    kernel: &Kernel<T>,
    block: &Block<'_>,
    target: &Target,
    doubt: &ErrorBound<'_>,
    out: &mut [Row<f64>],
    totals: &[Row<T>; SEGMENT_MAX],
    lost: &mut [Row<bool>; SEGMENT_MAX],
) -> bool {
    let mut any = false;
    for u in 0..target.n_out {
        let bits = doubt.limit_bits::<T>(doubt.amplified[u]);
        let limit = f64::exp2_bits(bits);
        let lost = &mut lost[u];
        let mut any_here = false;
        for l in 0..LANES {
            lost[l] = (doubt.top[l] > DEAD) & !(totals[u][l].to_f64() > limit);
            any_here |= lost[l];
        }
        if !any_here {
            continue;
        }
        match block.readers {
            OutputUse::Pixels(log_mass) => {
                for l in 0..LANES {
                    lost[l] &= log_mass[target.at + u][l] > DEAD;
                }
            }
            OutputUse::Across { spans, start } => {
                let span = spans[(target.at + u) / LANES];
                let most = bits + doubt.slope * u as f64 + 1.0;
                for l in 0..LANES {
                    if lost[l] {
                        // One more pixel at each end: the pass across may be shifted by a fraction.
                        let (first, last) = (span.start as f64 - 1.0, span.end as f64);
                        let reach = (start + first, start + last);
                        let heard = !span.is_empty()
                            && !is_negligible::<T>(kernel.c, &out[u], lost, doubt, l, most, reach);
                        if !heard {
                            // `lost` stays set: `is_negligible` of the other lanes reads it.
                            out[u][l] = DEAD;
                        }
                    }
                }
                for l in 0..LANES {
                    lost[l] &= out[u][l] > DEAD;
                }
            }
        }
        for l in 0..LANES {
            any |= lost[l];
        }
    }
    any
}

/// Whether lane `l`, which is at most 2^(most + top) here, is far below some accurate lane of the
/// row at every position that the pass across sums to. The difference between two lanes is linear
/// in the position, so testing the two ends of an interval covers all of it.
#[inline(always)]
fn is_negligible<T: Real>(
    c: f64,
    row: &Row<f64>,
    lost: &Row<bool>,
    doubt: &ErrorBound<'_>,
    l: usize,
    most: f64,
    (first, last): (f64, f64),
) -> bool {
    let own = l as f64;
    let most = most + doubt.top[l] + 2.0 * window_bits::<T>() + 8.0;
    let drowned_between = |from: f64, to: f64| {
        (0..LANES).any(|j| {
            let certain = !lost[j] && row[j] > DEAD;
            let other = j as f64;
            let above = |x: f64| row[j] - c * (x - other) * (x - other) + c * (x - own) * (x - own);
            certain && above(from) > most && above(to) > most
        })
    };
    (first > own || drowned_between(first, last.min(own)))
        && (last < own || drowned_between(first.max(own), last))
}

/// Recomputes the lost outputs term by term.
#[inline(always)]
pub(crate) fn redo_lost_rows<T: Real, S: Sums<T>>(
    kernel: &Kernel<T>,
    block: &Block<'_>,
    target: &Target,
    lost: &[Row<bool>; SEGMENT_MAX],
    out: &mut [Row<f64>],
    live_rows: &mut Vec<u32>,
    sums: &mut S,
) {
    if live_rows.is_empty() {
        list_live_rows(block, live_rows);
    }
    let lines = Lines { input: block.input, live_rows };
    // The maximiser is monotone in the row (Monge property). The window therefore ends `radius`
    // positions beyond the maximisers of the rows `radius` further out. Terms outside of it are
    // negligible.
    let radius = (window_bits::<T>() / kernel.c).sqrt().ceil();
    let first = target.at as f64 + kernel.offset;
    let last = first + (target.n_out - 1) as f64;
    let c = kernel.c;
    let (from, _) = maximisers(lines, block.live, first - radius, c);
    let rest = Span { start: from, end: block.live.end };
    let (_, to) = maximisers(lines, rest, last + radius, c);
    let window = Span {
        start: from.saturating_sub(radius as usize).max(block.live.start),
        end: (to + radius as usize + 1).min(block.live.end),
    };
    for u in 0..target.n_out {
        if lost[u].iter().any(|l| *l) {
            let row = sums.exact(lines, window, c, first + u as f64, &lost[u], target.at + u);
            for l in 0..LANES {
                out[u][l] = if lost[u][l] { row[l] } else { out[u][l] };
            }
        }
    }
}
