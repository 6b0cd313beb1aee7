//! Panels: one side of a problem, laid out as blocks of sixteen lines or as a list of pixels.

use super::{DEAD, LANES, Row};
use crate::shape::{PixelBox, Shape};
use crate::simd::compiled_per_path;
use std::ops::Range;

/// Positions start..end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// The reference measure of the entropy, on one side.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReferenceMass<'a> {
    /// The mass itself.
    Mass,
    /// One per pixel.
    One,
    /// The given number per pixel.
    Count(&'a [f64]),
}

/// One side of the problem as a panel: `[block][position][lane]`, sixteen lines to a block. The
/// source's lines run along y and the target's along x. Each half of a sweep (a pass along the
/// lines, a transpose, a pass along the other side's lines) therefore ends in the layout that the
/// next half starts from. Only the box around the side's own mass is stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct GridSide {
    /// Positions of a line.
    pub n_line: usize,
    /// Number of lines.
    pub n_lanes: usize,
    /// Number of blocks of sixteen lines.
    pub n_blocks: usize,
    /// Coordinate of position 0 of the lines, and of line 0.
    pub line_start: usize,
    pub lane_start: usize,
    /// Whether lines run along y.
    pub along_y: bool,
    pub mass: Vec<Row<f64>>,
    pub log_mass: Vec<Row<f64>>,
    measure: Measure,
    /// log2 of mass per reference mass; used only for [`Measure::Count`].
    own_lean: Vec<Row<f64>>,
    /// Live positions per block.
    pub live: Vec<Span>,
    pub total: f64,
    pub n_live: usize,
    /// Coordinates (y, x) of the live pixels in reading order, if the side is a list. Panels then
    /// hold these pixels one after the other, and lines and lanes have no geometric meaning.
    list: Vec<[u32; 2]>,
}

/// Rows of a block of a list.
const LISTED_ROWS: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Measure {
    #[default]
    Mass,
    One,
    Count,
}

impl GridSide {
    /// Lays out an image of positive total, reusing memory.
    pub(crate) fn set(
        &mut self,
        image: &[f64],
        reference: ReferenceMass<'_>,
        shape: Shape,
        along_y: bool,
    ) {
        let empty = PixelBox { y0_px: 0, x0_px: 0, shape: Shape::new(0, 0) };
        let live = PixelBox::around_live(image, shape).unwrap_or(empty);
        let (h, w) = (live.shape.h_px, live.shape.w_px);
        self.list.clear();
        (self.n_line, self.n_lanes) = if along_y { (h, w) } else { (w, h) };
        (self.line_start, self.lane_start) =
            if along_y { (live.y0_px, live.x0_px) } else { (live.x0_px, live.y0_px) };
        self.along_y = along_y;
        self.n_blocks = self.n_lanes.div_ceil(LANES);
        let n_rows = self.n_blocks * self.n_line;
        refill(&mut self.mass, n_rows, [0.0; LANES]);
        refill(&mut self.log_mass, n_rows, [DEAD; LANES]);
        self.measure = match reference {
            ReferenceMass::Mass => Measure::Mass,
            ReferenceMass::One => Measure::One,
            ReferenceMass::Count(_) => Measure::Count,
        };
        if self.measure == Measure::Count {
            refill(&mut self.own_lean, n_rows, [0.0; LANES]);
        }
        refill(&mut self.live, self.n_blocks, Span { start: self.n_line, end: 0 });
        (self.total, self.n_live) = (0.0, 0);
        // Most pixels of a mask are equal, so logarithms are computed only when the mass changes.
        let (mut known, mut log, mut lean) = ((f64::NAN, f64::NAN), 0.0, 0.0);
        for y in 0..h {
            for x in 0..w {
                let at = (live.y0_px + y) * shape.w_px + live.x0_px + x;
                let mass = image[at];
                if mass > 0.0 {
                    let (i, n) = if along_y { (y, x) } else { (x, y) };
                    let (row, lane) = ((n / LANES) * self.n_line + i, n % LANES);
                    self.mass[row][lane] = mass;
                    let count = match reference {
                        ReferenceMass::Mass | ReferenceMass::One => 1.0,
                        ReferenceMass::Count(count) => count[at],
                    };
                    if known != (mass, count) {
                        known = (mass, count);
                        (log, lean) = (mass.log2(), (mass / count).log2());
                    }
                    self.log_mass[row][lane] = log;
                    if self.measure == Measure::Count {
                        self.own_lean[row][lane] = lean;
                    }
                    let span = &mut self.live[n / LANES];
                    span.start = span.start.min(i);
                    span.end = span.end.max(i + 1);
                    self.total += mass;
                    self.n_live += 1;
                }
            }
        }
    }

    /// Lays out the live pixels of an image of positive total as a list, reusing memory. The
    /// reference measure is the mass, or one per pixel.
    pub(crate) fn set_list(&mut self, image: &[f64], counting: bool, shape: Shape, along_y: bool) {
        let n_live = image.iter().filter(|m| **m > 0.0).count();
        let n_filled = n_live.div_ceil(LANES);
        self.n_line = n_filled.min(LISTED_ROWS);
        self.n_blocks = n_filled.div_ceil(self.n_line.max(1));
        (self.n_lanes, self.line_start, self.lane_start) = (LANES, 0, 0);
        self.along_y = along_y;
        self.measure = if counting { Measure::One } else { Measure::Mass };
        let n_rows = self.n_rows();
        refill(&mut self.mass, n_rows, [0.0; LANES]);
        refill(&mut self.log_mass, n_rows, [DEAD; LANES]);
        let whole = Span { start: 0, end: self.n_line };
        refill(&mut self.live, self.n_blocks, whole);
        refill(&mut self.list, n_live, [0; 2]);
        (self.total, self.n_live) = (0.0, 0);
        for (at, mass) in image.iter().enumerate().filter(|(_, m)| **m > 0.0) {
            let n = self.n_live;
            self.list[n] = [(at / shape.w_px) as u32, (at % shape.w_px) as u32];
            self.mass[n / LANES][n % LANES] = *mass;
            self.log_mass[n / LANES][n % LANES] = mass.log2();
            self.total += mass;
            self.n_live += 1;
        }
    }

    /// Whether the pixels are stored as a list.
    pub(crate) fn is_list(&self) -> bool {
        !self.list.is_empty()
    }

    /// The pixels of a list: logarithm of the mass plus a potential, and (y, x).
    #[inline(always)]
    pub(crate) fn listed<'a>(
        &'a self,
        potential: &'a [Row<f64>],
    ) -> impl Iterator<Item = (f64, [f64; 2])> + 'a {
        let logs = self.log_mass.as_flattened().iter();
        let potentials = potential.as_flattened().iter();
        let sums = logs.zip(potentials).map(|(log, potential)| log + potential);
        let places = self.list.iter().map(|place| place.map(f64::from));
        sums.zip(places)
    }

    /// Coordinates (y, x) of the pixels of a row of a list; zero beyond its end.
    pub(crate) fn row_yx(&self, row: usize) -> [Row<f64>; 2] {
        let mut places = [[0.0; LANES]; 2];
        for lane in 0..LANES {
            if let Some([y, x]) = self.list.get(row * LANES + lane) {
                (places[0][lane], places[1][lane]) = (f64::from(*y), f64::from(*x));
            }
        }
        places
    }

    /// log2 of mass per reference mass. `None` stands for zero everywhere: the product measure.
    /// Values at dead pixels are undefined.
    pub(crate) fn lean(&self) -> Option<&[Row<f64>]> {
        match self.measure {
            Measure::Mass => None,
            // The reference mass is one, so the lean is the logarithm of the mass.
            Measure::One => Some(&self.log_mass),
            Measure::Count => Some(&self.own_lean),
        }
    }

    /// The rows of block `b` in a panel of this side.
    pub(crate) fn rows_of(&self, b: usize) -> Range<usize> {
        b * self.n_line..(b + 1) * self.n_line
    }

    /// Rows of a panel of this side.
    pub(crate) fn n_rows(&self) -> usize {
        self.n_blocks * self.n_line
    }

    /// Calls `f` with (row, lane, y, x) of every live pixel, in panel order.
    pub(crate) fn for_live(&self, mut f: impl FnMut(usize, usize, usize, usize)) {
        for b in 0..self.n_blocks {
            self.for_live_in(b, &mut f);
        }
    }

    /// Like [`GridSide::for_live`], for one block.
    pub(crate) fn for_live_in(&self, b: usize, mut f: impl FnMut(usize, usize, usize, usize)) {
        for i in self.live[b].start..self.live[b].end {
            for lane in 0..LANES {
                self.if_live(b, i, lane, &mut f);
            }
        }
    }

    /// Like [`GridSide::for_live`], for the pixels whose coordinates y and x have these parities.
    pub(crate) fn for_live_of(
        &self,
        [parity_y, parity_x]: [usize; 2],
        mut f: impl FnMut(usize, usize, usize, usize),
    ) {
        let (along, across) =
            if self.along_y { (parity_y, parity_x) } else { (parity_x, parity_y) };
        let first_lane = (self.lane_start + across) % 2;
        for b in 0..self.n_blocks {
            let Span { start, end } = self.live[b];
            let first = start + (start + self.line_start + along) % 2;
            for i in (first..end).step_by(2) {
                for lane in (first_lane..LANES).step_by(2) {
                    self.if_live(b, i, lane, &mut f);
                }
            }
        }
    }

    #[inline(always)]
    fn if_live(
        &self,
        b: usize,
        i: usize,
        lane: usize,
        f: &mut impl FnMut(usize, usize, usize, usize),
    ) {
        let row = b * self.n_line + i;
        if self.log_mass[row][lane] > DEAD {
            if let Some([y, x]) = self.list.get(row * LANES + lane) {
                f(row, lane, *y as usize, *x as usize);
                return;
            }
            let (i, n) = (i + self.line_start, b * LANES + lane + self.lane_start);
            let (y, x) = if self.along_y { (i, n) } else { (n, i) };
            f(row, lane, y, x);
        }
    }

    /// Number of places in reading order: the pixels of the box or of the list.
    pub(crate) fn n_places(&self) -> usize {
        if self.is_list() { self.n_live } else { self.n_line * self.n_lanes }
    }

    /// Row, lane, y and x of the nth place in reading order.
    pub(crate) fn nth_place(&self, n: usize) -> (usize, usize, usize, usize) {
        if let Some([y, x]) = self.list.get(n) {
            return (n / LANES, n % LANES, *y as usize, *x as usize);
        }
        let (y, x) = if self.along_y {
            (self.line_start + n / self.n_lanes, self.lane_start + n % self.n_lanes)
        } else {
            (self.lane_start + n / self.n_line, self.line_start + n % self.n_line)
        };
        let (row, lane) = self.place(y, x);
        (row, lane, y, x)
    }

    /// Row and lane of a pixel inside the box of a side that is not a list.
    pub(crate) fn place(&self, y: usize, x: usize) -> (usize, usize) {
        let (i, n) = if self.along_y { (y, x) } else { (x, y) };
        let (i, n) = (i - self.line_start, n - self.lane_start);
        (n / LANES * self.n_line + i, n % LANES)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let row = size_of::<Row<f64>>();
        (self.mass.capacity() + self.log_mass.capacity() + self.own_lean.capacity()) * row
            + self.live.capacity() * size_of::<Span>()
            + self.list.capacity() * size_of::<[u32; 2]>()
    }
}

/// Sets a vector to `n` copies of a value; reuses its memory if that is large enough.
pub(crate) fn refill<V: Clone>(v: &mut Vec<V>, n: usize, value: V) {
    v.clear();
    fit(v, n, value);
}

/// Makes a vector `n` long; old elements may remain. When it must grow, the old memory is released
/// before exactly `n` elements are allocated, so that the peak stays within the declared need.
pub(crate) fn fit<V: Clone>(v: &mut Vec<V>, n: usize, value: V) {
    if v.capacity() < n {
        *v = Vec::new();
        v.reserve_exact(n);
    }
    v.resize(n, value);
}

compiled_per_path! {
    /// Transposes block `b` of a panel with `n_lanes` lines into the panel whose lanes are the
    /// positions of these lines. Lanes beyond the last position are set to `fill`.
    pub(crate) fn turn<V: Copy>(block: &[Row<V>], b: usize, n_lanes: usize, fill: V, out: &mut [Row<V>]) {
        let n_x = LANES.min(n_lanes - b * LANES);
        for (k, from) in block.chunks(LANES).enumerate() {
            let to = &mut out[k * n_lanes + b * LANES..][..n_x];
            if from.len() == LANES && n_x == LANES {
                for x in 0..LANES {
                    for y in 0..LANES {
                        to[x][y] = from[y][x];
                    }
                }
            } else {
                for (x, to) in to.iter_mut().enumerate() {
                    *to = [fill; LANES];
                    for (y, from) in from.iter().enumerate() {
                        to[y] = from[x];
                    }
                }
            }
        }
    }
}
