use crate::blur::{GridSide, ReferenceMass};
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

/// The problem at all resolutions, finest first; memory is kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pyramid {
    levels: Vec<Level>,
    n_levels: usize,
    images: [Vec<f64>; 4],
    pooled: Vec<f64>,
}

/// No level is narrower than this.
const SIDE_MIN: usize = 16;

impl Pyramid {
    /// Builds the levels: pixels are summed two by two, anchored at the live box.
    pub(crate) fn set(&mut self, problem: &Problem) {
        let counting = problem.reference == Reference::Counting;
        let (mut shape, mut px) = (problem.shape, problem.work_px);
        self.n_levels = 0;
        loop {
            let finest = self.n_levels == 0;
            if self.levels.len() == self.n_levels {
                self.levels.push(Level::default());
            }
            let level = &mut self.levels[self.n_levels];
            let [a, b, count_a, count_b] = &self.images;
            let (a, b) = if finest {
                (&problem.a, &problem.b)
            } else {
                (a, b)
            };
            // The counting measure of a pooled pixel is the number of live pixels in it.
            let count = |count| match (counting, finest) {
                (false, _) => ReferenceMass::Mass,
                (true, true) => ReferenceMass::One,
                (true, false) => ReferenceMass::Count(count),
            };
            level.source.set(a, count(count_a), shape, true);
            level.target.set(b, count(count_b), shape, false);
            level.px = px;
            self.n_levels += 1;
            let half = Shape::new(shape.h_px.div_ceil(2), shape.w_px.div_ceil(2));
            if half.h_px.min(half.w_px) < SIDE_MIN {
                return;
            }
            if finest {
                let live = |m: f64| if m > 0.0 { 1.0 } else { 0.0 };
                let (a, b, n) = (
                    &problem.a,
                    &problem.b,
                    if counting { usize::MAX } else { 0 },
                );
                halve(a.iter().copied(), shape, half, &mut self.images[0]);
                halve(b.iter().copied(), shape, half, &mut self.images[1]);
                halve(
                    a.iter().map(|m| live(*m)).take(n),
                    shape,
                    half,
                    &mut self.images[2],
                );
                halve(
                    b.iter().map(|m| live(*m)).take(n),
                    shape,
                    half,
                    &mut self.images[3],
                );
            } else {
                for image in &mut self.images {
                    halve(image.iter().copied(), shape, half, &mut self.pooled);
                    std::mem::swap(image, &mut self.pooled);
                }
            }
            (shape, px) = (half, 2.0 * px);
        }
    }

    pub(crate) fn levels(&self) -> &[Level] {
        &self.levels[..self.n_levels]
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let sides: usize = self
            .levels
            .iter()
            .map(|l| l.source.bytes() + l.target.bytes())
            .sum();
        let images: usize = self.images.iter().map(|i| i.capacity()).sum();
        sides + (images + self.pooled.capacity()) * size_of::<f64>()
    }
}

/// Sums pixels two by two; no pixels make no image.
fn halve(pixels: impl Iterator<Item = f64>, shape: Shape, half: Shape, out: &mut Vec<f64>) {
    out.clear();
    for (at, v) in pixels.enumerate() {
        if at == 0 {
            out.resize(half.n_px(), 0.0);
        }
        let (y, x) = (at / shape.w_px, at % shape.w_px);
        out[y / 2 * half.w_px + x / 2] += v;
    }
}
