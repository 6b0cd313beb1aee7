use super::{DEAD, LANES, Row};
use crate::shape::{PixelBox, Shape};
use crate::simd::compiled_per_path;

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

/// The measure that entropy is taken against, on one side.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReferenceMass<'a> {
    /// The mass itself.
    Mass,
    /// One per pixel.
    One,
    /// As given per pixel.
    Count(&'a [f64]),
}

/// One side of the problem as a panel: `[block][position][lane]`, sixteen lines to a block. The
/// source keeps its lines along y and the target along x, so that each half of a sweep (a pass
/// along the lines, a transpose, a pass along the other side's lines) ends in the layout that
/// the next half starts from. Only the box around the side's own mass is kept.
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
    /// log2 of mass per reference mass; all zero for the product measure.
    pub lean: Vec<Row<f64>>,
    /// √mass, the weight of a pixel in Anderson's inner products.
    pub weight: Vec<Row<f32>>,
    /// Live positions per block.
    pub live: Vec<Span>,
    pub total: f64,
    pub n_live: usize,
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
        let empty = PixelBox {
            y0_px: 0,
            x0_px: 0,
            shape: Shape::new(0, 0),
        };
        let live = PixelBox::around_live(image, shape).unwrap_or(empty);
        let (h, w) = (live.shape.h_px, live.shape.w_px);
        (self.n_line, self.n_lanes) = if along_y { (h, w) } else { (w, h) };
        (self.line_start, self.lane_start) = if along_y {
            (live.y0_px, live.x0_px)
        } else {
            (live.x0_px, live.y0_px)
        };
        self.along_y = along_y;
        self.n_blocks = self.n_lanes.div_ceil(LANES);
        let n_rows = self.n_blocks * self.n_line;
        refill(&mut self.mass, n_rows, [0.0; LANES]);
        refill(&mut self.log_mass, n_rows, [DEAD; LANES]);
        refill(&mut self.lean, n_rows, [0.0; LANES]);
        refill(&mut self.weight, n_rows, [0.0; LANES]);
        refill(
            &mut self.live,
            self.n_blocks,
            Span {
                start: self.n_line,
                end: 0,
            },
        );
        (self.total, self.n_live) = (0.0, 0);
        // Most pixels of a mask are alike: logarithms and roots are taken when the mass changes.
        let (mut known, mut log, mut lean, mut root) = ((f64::NAN, f64::NAN), 0.0, 0.0, 0.0);
        for y in 0..h {
            for x in 0..w {
                let at = (live.y0_px + y) * shape.w_px + live.x0_px + x;
                let mass = image[at];
                if mass > 0.0 {
                    let (i, n) = if along_y { (y, x) } else { (x, y) };
                    let (row, lane) = ((n / LANES) * self.n_line + i, n % LANES);
                    self.mass[row][lane] = mass;
                    let count = match reference {
                        ReferenceMass::Mass => mass,
                        ReferenceMass::One => 1.0,
                        ReferenceMass::Count(count) => count[at],
                    };
                    if known != (mass, count) {
                        known = (mass, count);
                        (log, lean) = (mass.log2(), (mass / count).log2());
                        root = mass.sqrt() as f32;
                    }
                    self.log_mass[row][lane] = log;
                    self.lean[row][lane] = lean;
                    self.weight[row][lane] = root;
                    let span = &mut self.live[n / LANES];
                    span.start = span.start.min(i);
                    span.end = span.end.max(i + 1);
                    self.total += mass;
                    self.n_live += 1;
                }
            }
        }
    }

    /// Rows of a panel of this side.
    pub(crate) fn n_rows(&self) -> usize {
        self.n_blocks * self.n_line
    }

    /// Calls `f` with (row, lane, y, x) of every live pixel, in panel order.
    pub(crate) fn for_live(&self, mut f: impl FnMut(usize, usize, usize, usize)) {
        for (row, log_mass) in self.log_mass.iter().enumerate() {
            for (lane, log_mass) in log_mass.iter().enumerate() {
                if *log_mass > DEAD {
                    let n = row / self.n_line * LANES + lane + self.lane_start;
                    let i = row % self.n_line + self.line_start;
                    let (y, x) = if self.along_y { (i, n) } else { (n, i) };
                    f(row, lane, y, x);
                }
            }
        }
    }

    /// Row and lane of a pixel inside the side's box.
    pub(crate) fn place(&self, y: usize, x: usize) -> (usize, usize) {
        let (i, n) = if self.along_y { (y, x) } else { (x, y) };
        let (i, n) = (i - self.line_start, n - self.lane_start);
        (n / LANES * self.n_line + i, n % LANES)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let row = size_of::<Row<f64>>();
        (self.mass.capacity() + self.log_mass.capacity() + self.lean.capacity()) * row
            + self.weight.capacity() * row / 2
            + self.live.capacity() * size_of::<Span>()
    }
}

/// Sets a vector to `n` copies of a value, keeping its memory.
pub(crate) fn refill<V: Clone>(v: &mut Vec<V>, n: usize, value: V) {
    v.clear();
    v.resize(n, value);
}

compiled_per_path! {
    /// Turns a panel of lines with `n1` positions and `n2` lanes into one of lines with `n2`
    /// positions and `n1` lanes. Lanes beyond the last are dead.
    pub(crate) fn transpose(input: &[Row<f64>], n1: usize, n2: usize, out: &mut [Row<f64>]) {
        for block2 in 0..n1.div_ceil(LANES) {
            let n_y = LANES.min(n1 - block2 * LANES);
            for block1 in 0..n2.div_ceil(LANES) {
                let n_x = LANES.min(n2 - block1 * LANES);
                let from = &input[block1 * n1 + block2 * LANES..][..n_y];
                let to = &mut out[block2 * n2 + block1 * LANES..][..n_x];
                if n_y == LANES && n_x == LANES {
                    for x in 0..LANES {
                        for y in 0..LANES {
                            to[x][y] = from[y][x];
                        }
                    }
                } else {
                    for (x, to) in to.iter_mut().enumerate() {
                        *to = [DEAD; LANES];
                        for (y, from) in from.iter().enumerate() {
                            to[y] = from[x];
                        }
                    }
                }
            }
        }
    }
}
