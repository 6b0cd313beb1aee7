//! The separable sum: a pass along the lines, a transpose, a pass along the other side's lines.

use super::direct::{Lines, direct_pass, exact_row};
use super::kernel::Kernel;
use super::listed::listed_blur;
use super::panel::{GridSide, fit, turn};
use super::source::Tiles;
use super::tile::{Block, OutputUse, Sums, Term, tile_pass};
use super::{DEAD, LANES, Real, Row, SEGMENT_MAX, Span};
use crate::simd::compiled_per_path;
use crate::stop_latch::StopLatch;
use swathe::Simd;

/// The kernels of both passes from one side to the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blur<T> {
    pub first: Kernel<T>,
    pub second: Kernel<T>,
}

impl<T: Real> Blur<T> {
    /// Sets the kernel of `c` bits per px² between two sides. `shift` moves the output grid by
    /// fractions of a pixel along the input's lines and across them.
    pub(crate) fn set(
        &mut self,
        path: Simd,
        c: f64,
        from: &GridSide,
        to: &GridSide,
        shift: [f64; 2],
        with_moments: bool,
    ) {
        let along = to.lane_start as f64 - from.line_start as f64;
        let across = to.line_start as f64 - from.lane_start as f64;
        let n_max = from.n_line.max(from.n_lanes).max(to.n_line).max(to.n_lanes);
        let reach = |offset: f64| n_max + offset.abs() as usize;
        self.first.set(path, c, along + shift[0], reach(along), with_moments);
        self.second.set(path, c, across + shift[1], reach(across), with_moments);
    }
}

/// Memory for the passes of one thread.
#[derive(Clone, Debug)]
pub(crate) struct BlurScratch<T> {
    pub tiles: Tiles<T>,
    pub maxima: Vec<(usize, usize)>,
}

impl<T> Default for BlurScratch<T> {
    fn default() -> BlurScratch<T> {
        BlurScratch { tiles: Tiles::default(), maxima: Vec::new() }
    }
}

impl<T: Real> BlurScratch<T> {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.tiles.bytes() + self.maxima.capacity() * size_of::<(usize, usize)>()
    }
}

/// Memory between the two passes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Between {
    /// Input and output of the first pass, one block of lines at a time.
    pub input: Vec<Row<f64>>,
    pub output: Vec<Row<f64>>,
    /// The first pass's output, laid out for the second.
    pub turned: Vec<Row<f64>>,
}

impl Between {
    /// Resizes the memory for a blur from one side to the other.
    pub(crate) fn resize(&mut self, from: &GridSide, to: &GridSide) {
        fit(&mut self.input, from.n_line, [0.0; LANES]);
        fit(&mut self.output, to.n_lanes, [0.0; LANES]);
        fit(&mut self.turned, to.n_blocks * from.n_lanes, [0.0; LANES]);
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let panels = [&self.input, &self.output, &self.turned];
        let n_rows: usize = panels.iter().map(|p| p.capacity()).sum();
        n_rows * size_of::<Row<f64>>()
    }
}

/// out = log2 of the blurred mass·2^potential: a pass along the input's lines, a transpose, and a
/// pass along the output's lines. Lists of pixels are summed term by term. `watch` is polled
/// between blocks of lines; after a stop, the remaining blocks are not computed.
#[allow(clippy::too_many_arguments)]
pub(crate) fn blur<T: Real>(
    path: Simd,
    blur: &Blur<T>,
    from: &GridSide,
    to: &GridSide,
    potential: &[Row<f64>],
    out: &mut [Row<f64>],
    scratch: &mut BlurScratch<T>,
    between: &mut Between,
    watch: &StopLatch<'_>,
) {
    if from.is_list() {
        listed_blur::<T>(path, blur.first.c, from, to, potential, out, watch);
        return;
    }
    first_half(path, blur, from, to, potential, scratch, between, watch);
    second_half(path, blur, from, to, out, scratch, between, watch);
}

/// The pass along the input's lines, and the transpose.
#[allow(clippy::too_many_arguments)]
pub(crate) fn first_half<T: Real>(
    path: Simd,
    blur: &Blur<T>,
    from: &GridSide,
    to: &GridSide,
    potential: &[Row<f64>],
    scratch: &mut BlurScratch<T>,
    between: &mut Between,
    watch: &StopLatch<'_>,
) {
    between.resize(from, to);
    let mut sums = PlainSums::new();
    for b in 0..from.n_blocks {
        if watch.stopped() {
            return;
        }
        let block = first_block(path, blur, from, to, b, potential, &mut between.input);
        let output = &mut between.output;
        pass(path, &blur.first, &block, output, scratch, &mut sums);
        turn(path, output, b, from.n_lanes, DEAD, &mut between.turned);
    }
}

/// The pass along the output's lines. One first half may serve several second halves whose kernels
/// are shifted by less than a pixel.
#[allow(clippy::too_many_arguments)]
pub(crate) fn second_half<T: Real>(
    path: Simd,
    blur: &Blur<T>,
    from: &GridSide,
    to: &GridSide,
    out: &mut [Row<f64>],
    scratch: &mut BlurScratch<T>,
    between: &Between,
    watch: &StopLatch<'_>,
) {
    let mut sums = PlainSums::new();
    for b in 0..to.n_blocks {
        if watch.stopped() {
            return;
        }
        let block = second_block(from, to, b, &between.turned);
        let out = &mut out[to.rows_of(b)];
        pass(path, &blur.second, &block, out, scratch, &mut sums);
    }
}

/// The input of the first pass over block `b`: potential and logarithm of the mass.
pub(crate) fn first_block<'a, T>(
    path: Simd,
    blur: &Blur<T>,
    from: &GridSide,
    to: &'a GridSide,
    b: usize,
    potential: &[Row<f64>],
    input: &'a mut [Row<f64>],
) -> Block<'a> {
    let rows = from.rows_of(b);
    let offset = blur.second.offset;
    add_logs(path, &potential[rows.clone()], &from.log_mass[rows], input);
    Block {
        input,
        live: from.live[b],
        wanted: Span { start: 0, end: to.n_lanes },
        readers: OutputUse::Across { spans: &to.live, start: offset - (b * LANES) as f64 },
    }
}

/// The input of the second pass over block `b`.
pub(crate) fn second_block<'a>(
    from: &GridSide,
    to: &'a GridSide,
    b: usize,
    turned: &'a [Row<f64>],
) -> Block<'a> {
    Block {
        input: &turned[b * from.n_lanes..(b + 1) * from.n_lanes],
        live: Span { start: 0, end: from.n_lanes },
        wanted: to.live[b],
        readers: OutputUse::Pixels(&to.log_mass[to.rows_of(b)]),
    }
}

/// One pass over one block of lines.
pub(crate) fn pass<T: Real, S: Sums<T>>(
    path: Simd,
    kernel: &Kernel<T>,
    block: &Block<'_>,
    out: &mut [Row<f64>],
    scratch: &mut BlurScratch<T>,
    sums: &mut S,
) {
    if kernel.is_sharp() {
        let BlurScratch { tiles, maxima } = scratch;
        let live_rows = &mut tiles.live_rows;
        direct_pass(path, kernel, block, out, maxima, live_rows, sums);
    } else {
        tile_pass(path, kernel, block, out, &mut scratch.tiles, sums);
    }
}

compiled_per_path! {
    fn add_logs(potential: &[Row<f64>], log_mass: &[Row<f64>], out: &mut [Row<f64>]) {
        for ((potential, log_mass), out) in potential.iter().zip(log_mass).zip(out) {
            for l in 0..LANES {
                out[l] = if log_mass[l] <= DEAD { DEAD } else { potential[l] + log_mass[l] };
            }
        }
    }
}

/// The plain sum.
struct PlainSums<T> {
    totals: [Row<T>; SEGMENT_MAX],
}

impl<T: Real> PlainSums<T> {
    fn new() -> PlainSums<T> {
        PlainSums { totals: [[T::default(); LANES]; SEGMENT_MAX] }
    }
}

impl<T: Real> Sums<T> for PlainSums<T> {
    #[inline(always)]
    fn add(
        &mut self,
        kernel: &Kernel<T>,
        source: &[Row<T>],
        term: &Term<T>,
        ramp: &[T],
        first: bool,
    ) {
        let table = term.part_of(&kernel.table);
        T::tile_product(source, table, ramp, &term.scale, &mut self.totals[..term.n_rows], first);
    }

    #[inline(always)]
    fn totals(&self) -> &[Row<T>; SEGMENT_MAX] {
        &self.totals
    }

    #[inline(always)]
    fn take(&mut self, _u: usize, _out_row: usize) {}

    #[inline(always)]
    fn exact(
        &mut self,
        lines: Lines<'_>,
        window: Span,
        c: f64,
        x: f64,
        _chosen: &Row<bool>,
        _out_row: usize,
    ) -> Row<f64> {
        exact_row::<T>(lines, window, c, x)
    }
}
