//! A pass by tiles: output tiles sum source tiles as scaled mantissas.

use super::certificate::{ErrorBound, find_lost, least_total, redo_lost_rows};
use super::direct::Lines;
use super::kernel::Kernel;
use super::real::log_row;
use super::source::{DEAD_EXPONENT, TileState, Tiles, cut_sources, exponentiate};
use super::{DEAD, LANES, NEARLY_DEAD, Real, Row, SEGMENT_MAX, Span};
use crate::simd::compiled_per_path;

/// One block of lines: its input, the live positions of the input, and the output positions to
/// compute.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub input: &'a [Row<f64>],
    pub live: Span,
    pub wanted: Span,
    pub readers: OutputUse<'a>,
}

/// What reads the outputs. An output that is never read, or that is negligible where it is read,
/// need not be exact.
#[derive(Clone, Copy)]
pub(crate) enum OutputUse<'a> {
    /// Only pixels with mass read it: the logarithms of the masses at the outputs.
    Pixels(&'a [Row<f64>]),
    /// The pass across the lines reads it.
    Across {
        /// For each group of sixteen output rows: the positions that the pass across sums them to.
        spans: &'a [Span],
        /// Coordinate of position 0 of these spans, relative to lane 0 of this block.
        start: f64,
    },
}

/// What is summed over tiles: the plain sum, or the sum with its moments.
pub(crate) trait Sums<T: Real> {
    /// Adds a source tile to the output tile's totals.
    fn add(
        &mut self,
        kernel: &Kernel<T>,
        source: &[Row<T>],
        term: &Term<T>,
        ramp: &[T],
        first: bool,
    );
    /// The plain totals of the output tile.
    fn totals(&self) -> &[Row<T>; SEGMENT_MAX];
    /// Stores row `u` of the output tile as row `out_row` of the block.
    fn take(&mut self, u: usize, out_row: usize);
    /// Recomputes an output row term by term over the window, for the chosen lanes.
    fn exact(
        &mut self,
        lines: Lines<'_>,
        window: Span,
        c: f64,
        x: f64,
        chosen: &Row<bool>,
        out_row: usize,
    ) -> Row<f64>;
}

/// The contribution of a source tile to an output tile.
#[derive(Clone, Copy)]
pub(crate) struct Term<T> {
    /// First input position of the tile, and number of positions.
    pub start: usize,
    pub len: usize,
    /// Rows of the output tile, rounded up to a multiple of the micro-kernel's rows.
    pub n_rows: usize,
    /// Shear of the tile, px.
    pub shear: f64,
    /// Where the tables start for the last source row and output row 0.
    table_at: usize,
    /// The tile's power of two per lane, relative to the output tile's.
    pub scale: Row<T>,
    /// log2 of the ramp over the output rows: base + slope·u.
    base: f64,
    slope: f64,
    slow: bool,
    /// Number of the source tile.
    tile: usize,
}

impl<T> Term<T> {
    /// The part of a kernel's table that this pair of tiles needs.
    #[inline(always)]
    pub(crate) fn part_of<'a>(&self, table: &'a [T]) -> &'a [T] {
        &table[self.table_at..][..self.len + self.n_rows - 1]
    }
}

compiled_per_path! {
    /// One pass over one block of lines. Mantissas are summed tile by tile. Every tile has an
    /// integer exponent per lane and a shear. The shear is chosen so that the ray of most mass
    /// through the source tile ends on the output tile; exp(−C/ε) then stays within the number's
    /// range however far mass moves. Every output is certified or recomputed term by term.
    pub(crate) fn tile_pass<T: Real, S: Sums<T>>(
        kernel: &Kernel<T>,
        block: &Block<'_>,
        out: &mut [Row<f64>],
        tiles: &mut Tiles<T>,
        sums: &mut S,
    ) {
        let Span { start, end } = block.wanted;
        if block.live.is_empty() || block.wanted.is_empty() {
            out.fill([DEAD; LANES]);
            return;
        }
        out[..start].fill([DEAD; LANES]);
        out[end..].fill([DEAD; LANES]);
        cut_sources(kernel, block, tiles);
        tiles.live_rows.clear();
        let mut at = start;
        while at < end {
            let n_out = kernel.segment.min(end - at);
            let rows = &mut out[at..at + n_out];
            output_tile(kernel, block, tiles, at, rows, sums);
            at += n_out;
        }
    }
}

/// An output tile before it is summed.
pub(crate) struct Target {
    /// First output position and number of rows.
    pub at: usize,
    pub n_out: usize,
    /// Shear of the output tile.
    pub shear: f64,
}

#[inline(always)]
fn output_tile<T: Real, S: Sums<T>>(
    kernel: &Kernel<T>,
    block: &Block<'_>,
    tiles: &mut Tiles<T>,
    at: usize,
    out: &mut [Row<f64>],
    sums: &mut S,
) {
    let n_out = out.len();
    let Some(shear) = output_shear(kernel, tiles, at, n_out) else {
        out.fill([DEAD; LANES]);
        return;
    };
    let target = Target { at, n_out, shear };
    bound_tiles(kernel, tiles, &target);
    let slope = 2.0 * kernel.c * shear;
    let mut skip_bits = T::SKIP_BITS;
    loop {
        let (exponents, skipped_slow) = choose(kernel, block, tiles, &target, skip_bits);
        let mut amplified = [0.0; SEGMENT_MAX];
        let (any, skipped) = add_terms(
            kernel,
            tiles,
            &target,
            &exponents,
            skip_bits,
            &mut amplified,
            sums,
            block.live.start,
        );
        if !any {
            out.fill([DEAD; LANES]);
            return;
        }
        let mut top = [0.0; LANES];
        for l in 0..LANES {
            let dead = exponents[l] <= DEAD_EXPONENT / 2;
            top[l] = if dead { DEAD } else { f64::from(exponents[l]) };
        }
        for (u, row) in out.iter_mut().enumerate() {
            log_row(&sums.totals()[u], &top, slope * u as f64, row);
            sums.take(u, at + u);
        }
        // Two certificates: skipped tiles are negligible next to an output far above 2^−skip, and
        // products flushed to zero are worth less than 2^(floor + amplification).
        let skipped = skipped || skipped_slow;
        let doubt = ErrorBound {
            top: &top,
            slope,
            amplified: &amplified,
            skip_bits: skipped.then_some(skip_bits),
        };
        let least = least_total(&sums.totals()[..n_out], &top);
        let most_amplified = amplified[..n_out].iter().copied().fold(0.0, f64::max);
        if least > f64::exp2_bits(doubt.limit_bits::<T>(most_amplified)) {
            return;
        }
        let mut lost = [[false; LANES]; SEGMENT_MAX];
        if !find_lost(kernel, block, &target, &doubt, out, sums.totals(), &mut lost) {
            return;
        }
        let retry_bits = -T::FLOOR_BITS * 9 / 10;
        if skipped && skip_bits < retry_bits {
            skip_bits = retry_bits;
            continue;
        }
        redo_lost_rows(kernel, block, &target, &lost, out, &mut tiles.live_rows, sums);
        return;
    }
}

/// The shear of the output tile: the distance from its centre to where the ray of the source tile
/// that dominates the centre starts. `None` if every source tile is dead.
#[inline(always)]
fn output_shear<T: Real>(
    kernel: &Kernel<T>,
    tiles: &mut Tiles<T>,
    at: usize,
    n_out: usize,
) -> Option<f64> {
    let (c, i0, centre) = (kernel.c, at as f64, (n_out / 2) as f64);
    let n_tiles = tiles.top.len();
    let (top, start, last) =
        (&tiles.top[..n_tiles], &tiles.start[..n_tiles], &tiles.last[..n_tiles]);
    let (shears, scores) = (&tiles.shear[..n_tiles], &mut tiles.bound[..n_tiles]);
    for t in 0..n_tiles {
        let shear = shears[t];
        let d = i0 - start[t] + kernel.offset;
        let x = centre + d + shear;
        let beyond = x - last[t];
        let dist = if x < 0.0 {
            x
        } else if beyond > 0.0 {
            beyond
        } else {
            0.0
        };
        scores[t] = top[t] + c * (shear * (2.0 * d + shear) + 2.0 * shear * centre - dist * dist);
    }
    let (mut best, mut best_score) = (0, f64::NEG_INFINITY);
    for (t, score) in scores.iter().enumerate() {
        if *score > best_score {
            (best, best_score) = (t, *score);
        }
    }
    if top[best] <= NEARLY_DEAD {
        return None;
    }
    let ray = i0 + centre + kernel.offset + shears[best];
    let from = ray.max(start[best]).min(start[best] + last[best]);
    Some((from - (i0 + centre) - kernel.offset).round())
}

/// Sets an upper bound of each source tile's ramp over the output tile (closed form, because the
/// exponent is concave), and whether the tile is slow: it must be exponentiated again for this
/// output tile to stay within range.
#[inline(always)]
fn bound_tiles<T: Real>(kernel: &Kernel<T>, tiles: &mut Tiles<T>, target: &Target) {
    let (c, i0, last_out) = (kernel.c, target.at as f64, (target.n_out - 1) as f64);
    let floor = -f64::from(T::FLOOR_BITS);
    let side = kernel.segment as f64;
    let reach = f64::from(kernel.reach_px) - 2.0 * side;
    let n_tiles = tiles.top.len();
    let (start, last, shears) =
        (&tiles.start[..n_tiles], &tiles.last[..n_tiles], &tiles.shear[..n_tiles]);
    let (bounds, slows) = (&mut tiles.bound[..n_tiles], &mut tiles.slow[..n_tiles]);
    for t in 0..n_tiles {
        let d = i0 - start[t] + kernel.offset;
        let eta = d + shears[t];
        let relative = shears[t] - target.shear;
        bounds[t] = ramp_bound(c, d, shears[t], relative, last[t], last_out);
        let (right, left) = (eta + last_out, eta - last[t]);
        let near = if right < 0.0 {
            right
        } else if left > 0.0 {
            left
        } else {
            0.0
        };
        let far = eta.abs() + side;
        let steep = (2.0 * c * relative.abs() * side > 0.4 * floor) & (c * far * far > 0.6 * floor);
        let slow = steep | (c * near * near > 0.5 * floor) | (eta.abs() > reach);
        slows[t] = if slow { 1.0 } else { 0.0 };
    }
}

/// ⌈max over the output rows u of c(η² − D²) + 2c·κ·u − c·dist(u + η, tile)²⌉.
#[inline(always)]
fn ramp_bound(c: f64, d: f64, shear: f64, relative: f64, last: f64, last_out: f64) -> f64 {
    let eta = d + shear;
    let u = (if relative >= 0.0 { last } else { 0.0 }) - eta + relative;
    let u = if u > 0.0 { u } else { 0.0 };
    let u = if u < last_out { u } else { last_out };
    let x = u + eta;
    let beyond = x - last;
    let dist = if x < 0.0 {
        x
    } else if beyond > 0.0 {
        beyond
    } else {
        0.0
    };
    let bound = c * (shear * (2.0 * d + shear) + 2.0 * relative * u - dist * dist);
    (if bound > -1e8 { bound } else { -1e8 }).ceil()
}

/// Decides which source tiles take part and exponentiates the slow ones along the ray to this
/// output tile. Returns the output tile's exponent per lane, and whether a slow tile was skipped.
#[inline(always)]
fn choose<T: Real>(
    kernel: &Kernel<T>,
    block: &Block<'_>,
    tiles: &mut Tiles<T>,
    target: &Target,
    skip_bits: i32,
) -> (Row<i32>, bool) {
    let mut exponents = [2 * DEAD_EXPONENT; LANES];
    let n_tiles = tiles.top.len();
    let (mut any_slow, mut skipped) = (false, false);
    for t in 0..n_tiles {
        tiles.state[t] = if tiles.top[t] <= NEARLY_DEAD {
            TileState::Skipped
        } else if tiles.kinky[t] || tiles.slow[t] > 0.0 {
            any_slow = true;
            TileState::Slow
        } else {
            TileState::Fast
        };
        if tiles.state[t] == TileState::Fast {
            raise(&mut exponents, &tiles.exponents[t], tiles.bound[t] as i32);
        }
    }
    if !any_slow {
        return (exponents, skipped);
    }
    let (lo, hi) = (block.live.start, block.live.end);
    for t in 0..n_tiles {
        if tiles.state[t] != TileState::Slow {
            continue;
        }
        let start = lo + t * kernel.segment;
        let len = kernel.segment.min(hi - start);
        let d = target.at as f64 - start as f64 + kernel.offset;
        // The bound for the tile's own shear: `tiles.bound` may hold one of an earlier attempt.
        let relative = tiles.shear[t] - target.shear;
        let bound = ramp_bound(
            kernel.c,
            d,
            tiles.shear[t],
            relative,
            (len - 1) as f64,
            (target.n_out - 1) as f64,
        );
        let mut above = i32::MIN;
        for l in 0..LANES {
            let live = tiles.exponents[t][l] > DEAD_EXPONENT;
            let rest = tiles.exponents[t][l] + bound as i32 - exponents[l].max(DEAD_EXPONENT);
            above = if live { above.max(rest) } else { above };
        }
        if above < -skip_bits {
            tiles.state[t] = TileState::Skipped;
            skipped = true;
            continue;
        }
        let shear = start as i32 - target.at as i32 - kernel.offset_px;
        tiles.slow_shear[t] = shear;
        let rows = &mut tiles.slow_rows[t * kernel.segment..t * kernel.segment + len];
        let slope = 2.0 * kernel.c * f64::from(shear);
        exponentiate(&block.input[start..start + len], slope, rows, &mut tiles.slow_exponents[t]);
        let shear = f64::from(shear);
        tiles.bound[t] = ramp_bound(
            kernel.c,
            d,
            shear,
            shear - target.shear,
            (len - 1) as f64,
            (target.n_out - 1) as f64,
        );
        raise(&mut exponents, &tiles.slow_exponents[t], tiles.bound[t] as i32);
    }
    (exponents, skipped)
}

#[inline(always)]
fn raise(exponents: &mut Row<i32>, tile: &Row<i32>, bound: i32) {
    for l in 0..LANES {
        let v = tile[l].wrapping_add(bound);
        exponents[l] = if v > exponents[l] { v } else { exponents[l] };
    }
}

/// Adds every tile that takes part. Returns whether any did, and whether any was skipped.
/// `amplified` becomes the log2 of the largest factor per output row.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn add_terms<T: Real, S: Sums<T>>(
    kernel: &Kernel<T>,
    tiles: &Tiles<T>,
    target: &Target,
    exponents: &Row<i32>,
    skip_bits: i32,
    amplified: &mut [f64; SEGMENT_MAX],
    sums: &mut S,
    lo: usize,
) -> (bool, bool) {
    let n_rows = target.n_out.div_ceil(T::N_ROWS) * T::N_ROWS;
    let mut ramp = [T::default(); SEGMENT_MAX];
    let (mut first, mut skipped) = (true, false);
    // A fast tile below this is skipped in every lane, so one comparison is enough.
    let least = exponents.iter().copied().fold(i32::MAX, i32::min);
    let far_below = f64::from(least) - f64::from(skip_bits);
    for t in 0..tiles.top.len() {
        if tiles.state[t] == TileState::Fast && tiles.top[t] + tiles.bound[t] < far_below {
            skipped = true;
            continue;
        }
        let slow = match tiles.state[t] {
            TileState::Skipped => continue,
            state => state == TileState::Slow,
        };
        let tile = if slow { &tiles.slow_exponents[t] } else { &tiles.exponents[t] };
        let mut above = i32::MIN;
        let mut scale = [T::default(); LANES];
        let bound = tiles.bound[t];
        for l in 0..LANES {
            let rest = tile[l].wrapping_add(bound as i32).wrapping_sub(exponents[l]);
            let live = tile[l] > DEAD_EXPONENT;
            let rest = if live { rest } else { i32::MIN };
            above = if rest > above { rest } else { above };
            scale[l] = T::pow2(rest);
        }
        if above < -skip_bits {
            skipped = true;
            continue;
        }
        let start = lo + t * kernel.segment;
        let len = tiles.last[t] as usize + 1;
        let shear_px = if slow { tiles.slow_shear[t] } else { tiles.shear[t] as i32 };
        let shear = f64::from(shear_px);
        let d = target.at as f64 - start as f64 + kernel.offset;
        let m0 = target.at as i32 - start as i32 + kernel.offset_px + shear_px + kernel.reach_px;
        let term = Term {
            start,
            len,
            n_rows,
            shear,
            table_at: (m0 - (len as i32 - 1)) as usize,
            scale,
            base: kernel.c * shear * (2.0 * d + shear) - bound,
            slope: 2.0 * kernel.c * (shear - target.shear),
            slow,
            tile: t,
        };
        set_ramp(&term, f64::from(above), &mut ramp, amplified);
        let source = if term.slow {
            &tiles.slow_rows[term.tile * kernel.segment..][..len]
        } else {
            &tiles.rows[start - lo..][..len]
        };
        sums.add(kernel, source, &term, &ramp, first);
        first = false;
    }
    (!first, skipped)
}

/// Computes the factors of the output rows. A product flushed to zero is worth less than the floor
/// times the row's factor times the tile's largest scale, 2^`above`; `amplified` keeps the largest
/// such factor times scale.
#[inline(always)]
fn set_ramp<T: Real>(
    term: &Term<T>,
    above: f64,
    ramp: &mut [T; SEGMENT_MAX],
    amplified: &mut [f64; SEGMENT_MAX],
) {
    let cap = -0.95 * f64::from(T::FLOOR_BITS);
    if term.slope == 0.0 {
        let z = if term.base < cap { term.base } else { cap };
        ramp[..term.n_rows].fill(T::exp2_bits(z));
        if term.base + above > 0.0 {
            amplified.iter_mut().for_each(|a| *a = a.max(term.base + above));
        }
        return;
    }
    for u in 0..term.n_rows {
        let z = term.slope.mul_add(u as f64, term.base);
        let worth = z + above;
        amplified[u] = if worth > amplified[u] { worth } else { amplified[u] };
        ramp[u] = T::exp2_bits(if z < cap { z } else { cap });
    }
}
