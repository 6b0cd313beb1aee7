//! The problem at several resolutions.

use crate::blur::{GridSide, LANES, ReferenceMass, Row, fit};
use crate::frame::Pair;
use crate::problem::Problem;
use crate::settings::Reference;
use crate::shape::Shape;

/// One resolution of the problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub source: GridSide,
    pub target: GridSide,
    /// Cost units per pixel of this level.
    pub px: f64,
}

/// The problem at all resolutions, finest first. Memory is reused from solve to solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pyramid {
    levels: Vec<Level>,
    n_levels: usize,
}

/// No level is narrower than this.
const SIDE_MIN: usize = 16;
/// Frames with at most this many pairs of live pixels per pixel of their box are solved as lists: a
/// sum over all pairs then takes no longer than a sum over the grid.
const LISTED_PAIRS_PER_PX: usize = 8;

impl Pyramid {
    /// Builds the levels: squares of two by two pixels are summed, anchored at the live box. `lent`
    /// is memory for the images of both sides and for their counts of live pixels.
    pub(crate) fn set(&mut self, problem: &Problem, pair: &Pair, lent: [&mut Vec<Row<f64>>; 4]) {
        self.build(problem, pair, lent, usize::MAX);
    }

    /// Builds the finest level alone.
    pub(crate) fn set_finest(
        &mut self,
        problem: &Problem,
        pair: &Pair,
        lent: [&mut Vec<Row<f64>>; 4],
    ) {
        self.build(problem, pair, lent, 1);
    }

    fn build(
        &mut self,
        problem: &Problem,
        pair: &Pair,
        lent: [&mut Vec<Row<f64>>; 4],
        n_levels_max: usize,
    ) {
        let counting = problem.reference == Reference::Counting;
        let (mut shape, mut px) = (problem.shape, problem.work_px);
        let n_rows = |n_px: usize| n_px.div_ceil(LANES);
        let [a, b, count_a, count_b] = lent;
        for image in [&mut *a, &mut *b] {
            fit(image, n_rows(shape.n_px()), [0.0; LANES]);
        }
        let n_counts = match next_shape(shape) {
            Some(half) if counting => half.n_px(),
            _ => 0,
        };
        for count in [&mut *count_a, &mut *count_b] {
            fit(count, n_rows(n_counts), [0.0; LANES]);
        }
        let (a, b) = (a.as_flattened_mut(), b.as_flattened_mut());
        let (count_a, count_b) = (count_a.as_flattened_mut(), count_b.as_flattened_mut());
        problem.unit_pixels(&pair.source, problem.mass_src, a);
        problem.unit_pixels(&pair.target, problem.mass_tgt, b);
        self.n_levels = 0;
        let n_live = |image: &[f64]| image[..shape.n_px()].iter().filter(|m| **m > 0.0).count();
        if n_live(a).saturating_mul(n_live(b)) <= LISTED_PAIRS_PER_PX * shape.n_px() {
            self.set_lists(a, b, problem);
            return;
        }
        loop {
            let finest = self.n_levels == 0;
            if self.levels.len() == self.n_levels {
                self.levels.push(Level::default());
            }
            let level = &mut self.levels[self.n_levels];
            let n_px = shape.n_px();
            // The counting measure of a pooled pixel is the number of live pixels in it.
            let (measure_a, measure_b) = match (counting, finest) {
                (false, _) => (ReferenceMass::Mass, ReferenceMass::Mass),
                (true, true) => (ReferenceMass::One, ReferenceMass::One),
                (true, false) => {
                    (ReferenceMass::Count(&count_a[..n_px]), ReferenceMass::Count(&count_b[..n_px]))
                }
            };
            level.source.set(&a[..n_px], measure_a, shape, true);
            level.target.set(&b[..n_px], measure_b, shape, false);
            level.px = px;
            self.n_levels += 1;
            let Some(half) = next_shape(shape).filter(|_| self.n_levels < n_levels_max) else {
                return;
            };
            if counting && finest {
                count_live(a, shape, half, count_a);
                count_live(b, shape, half, count_b);
            } else if counting {
                halve(count_a, shape, half);
                halve(count_b, shape, half);
            }
            halve(a, shape, half);
            halve(b, shape, half);
            (shape, px) = (half, 2.0 * px);
        }
    }

    /// Builds a single level from lists of pixels.
    fn set_lists(&mut self, a: &[f64], b: &[f64], problem: &Problem) {
        let counting = problem.reference == Reference::Counting;
        let n_px = problem.shape.n_px();
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let level = &mut self.levels[0];
        for (side, image, along_y) in [(&mut level.source, a, true), (&mut level.target, b, false)]
        {
            side.set_list(&image[..n_px], counting, problem.shape, along_y);
        }
        level.px = problem.work_px;
        self.n_levels = 1;
    }

    pub(crate) fn levels(&self) -> &[Level] {
        &self.levels[..self.n_levels]
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let sides = self.levels.iter().map(|l| l.source.bytes() + l.target.bytes());
        sides.sum()
    }
}

/// The next coarser level's shape; `None` if this is the coarsest.
pub(crate) fn next_shape(shape: Shape) -> Option<Shape> {
    let half = Shape::new(shape.h_px.div_ceil(2), shape.w_px.div_ceil(2));
    (half.h_px.min(half.w_px) >= SIDE_MIN).then_some(half)
}

/// Sums squares of two by two pixels, in place: a sum never overwrites a pixel that is read later.
fn halve(image: &mut [f64], shape: Shape, half: Shape) {
    for y in 0..half.h_px {
        for x in 0..half.w_px {
            image[y * half.w_px + x] = square_sum(image, shape, y, x, |m| m);
        }
    }
}

/// Counts the live pixels of every square of two by two.
fn count_live(image: &[f64], shape: Shape, half: Shape, out: &mut [f64]) {
    for y in 0..half.h_px {
        for x in 0..half.w_px {
            let live = |m: f64| if m > 0.0 { 1.0 } else { 0.0 };
            out[y * half.w_px + x] = square_sum(image, shape, y, x, live);
        }
    }
}

#[inline(always)]
fn square_sum(image: &[f64], shape: Shape, y: usize, x: usize, f: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for row in 2 * y..(2 * y + 2).min(shape.h_px) {
        for column in 2 * x..(2 * x + 2).min(shape.w_px) {
            sum += f(image[row * shape.w_px + column]);
        }
    }
    sum
}
