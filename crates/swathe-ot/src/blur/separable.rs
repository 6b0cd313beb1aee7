use super::direct::{direct_pass, exact_row};
use super::kernel::Kernel;
use super::panel::{GridSide, transpose};
use super::source::Tiles;
use super::tile::{Block, Sums, Term, tile_pass};
use super::{LANES, Real, Row, SEGMENT_MAX, Span};
use crate::simd::SimdPath;
use crate::watch::Watch;

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
        self.first
            .set(c, along + shift[0], reach(along), with_moments);
        self.second
            .set(c, across + shift[1], reach(across), with_moments);
    }
}

/// Memory for the passes of one thread.
#[derive(Clone, Debug)]
pub(crate) struct BlurScratch<T> {
    tiles: Tiles<T>,
    maxima: Vec<(usize, usize)>,
    middle: Vec<Row<f64>>,
    turned: Vec<Row<f64>>,
}

impl<T> Default for BlurScratch<T> {
    fn default() -> BlurScratch<T> {
        BlurScratch {
            tiles: Tiles::default(),
            maxima: Vec::new(),
            middle: Vec::new(),
            turned: Vec::new(),
        }
    }
}

impl<T: Real> BlurScratch<T> {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.tiles.bytes()
            + self.maxima.capacity() * size_of::<(usize, usize)>()
            + (self.middle.capacity() + self.turned.capacity()) * size_of::<Row<f64>>()
    }
}

/// out = log2 of the blurred 2^input: a pass along the input's lines, a transpose, and a pass
/// along the output's.
#[allow(clippy::too_many_arguments)]
pub(crate) fn blur<T: Real>(
    path: SimdPath,
    blur: &Blur<T>,
    from: &GridSide,
    to: &GridSide,
    input: &[Row<f64>],
    out: &mut [Row<f64>],
    scratch: &mut BlurScratch<T>,
    watch: &Watch<'_>,
) {
    let (mut middle, mut turned) = (
        std::mem::take(&mut scratch.middle),
        std::mem::take(&mut scratch.turned),
    );
    middle.resize(from.n_blocks * to.n_lanes, [0.0; LANES]);
    turned.resize(to.n_blocks * from.n_lanes, [0.0; LANES]);
    let mut sums = PlainSums {
        totals: [[T::default(); LANES]; SEGMENT_MAX],
    };
    let first = Pass::first(&blur.first, from, to);
    run_pass(path, &first, input, &mut middle, scratch, &mut sums, watch);
    transpose(path, &middle, to.n_lanes, from.n_lanes, &mut turned);
    let second = Pass::second(&blur.second, from, to);
    run_pass(path, &second, &turned, out, scratch, &mut sums, watch);
    (scratch.middle, scratch.turned) = (middle, turned);
}

/// One pass over all blocks of lines.
pub(crate) struct Pass<'a, T> {
    kernel: &'a Kernel<T>,
    n_blocks: usize,
    n_in: usize,
    n_out: usize,
    /// Live input positions and wanted output positions per block; `None`: all.
    live: Option<&'a [Span]>,
    wanted: Option<&'a [Span]>,
    used: Option<&'a [Row<f64>]>,
}

impl<'a, T: Real> Pass<'a, T> {
    pub(crate) fn first(kernel: &'a Kernel<T>, from: &'a GridSide, to: &GridSide) -> Pass<'a, T> {
        Pass {
            kernel,
            n_blocks: from.n_blocks,
            n_in: from.n_line,
            n_out: to.n_lanes,
            live: Some(&from.live),
            wanted: None,
            used: None,
        }
    }

    pub(crate) fn second(kernel: &'a Kernel<T>, from: &GridSide, to: &'a GridSide) -> Pass<'a, T> {
        Pass {
            kernel,
            n_blocks: to.n_blocks,
            n_in: from.n_lanes,
            n_out: to.n_line,
            live: None,
            wanted: Some(&to.live),
            used: Some(&to.log_mass),
        }
    }
}

/// Runs a pass, asking between blocks whether to stop (what is left is then not computed).
pub(crate) fn run_pass<T: Real, S: Sums<T>>(
    path: SimdPath,
    pass: &Pass<'_, T>,
    input: &[Row<f64>],
    out: &mut [Row<f64>],
    scratch: &mut BlurScratch<T>,
    sums: &mut S,
    watch: &Watch<'_>,
) {
    for b in 0..pass.n_blocks {
        if watch.stopped() {
            return;
        }
        let span = |spans: Option<&[Span]>, n| spans.map_or(Span { start: 0, end: n }, |s| s[b]);
        let block = Block {
            input: &input[b * pass.n_in..(b + 1) * pass.n_in],
            live: span(pass.live, pass.n_in),
            wanted: span(pass.wanted, pass.n_out),
            used: pass
                .used
                .map(|used| &used[b * pass.n_out..(b + 1) * pass.n_out]),
        };
        let out = &mut out[b * pass.n_out..(b + 1) * pass.n_out];
        sums.start_block(b * pass.n_in, b * pass.n_out);
        if pass.kernel.is_sharp() {
            direct_pass(path, pass.kernel, &block, out, &mut scratch.maxima, sums);
        } else {
            tile_pass(path, pass.kernel, &block, out, &mut scratch.tiles, sums);
        }
    }
}

/// The plain sum.
struct PlainSums<T> {
    totals: [Row<T>; SEGMENT_MAX],
}

impl<T: Real> Sums<T> for PlainSums<T> {
    fn start_block(&mut self, _in_row: usize, _out_row: usize) {}

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
        T::tile_product(
            source,
            table,
            ramp,
            &term.scale,
            &mut self.totals[..term.n_rows],
            first,
        );
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
        block: &Block<'_>,
        window: Span,
        c: f64,
        x: f64,
        _chosen: &Row<bool>,
        _out_row: usize,
    ) -> Row<f64> {
        exact_row::<T>(block.input, window, c, x)
    }
}
