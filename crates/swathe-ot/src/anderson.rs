use crate::blur::{LANES, Row};
use crate::simd::{SimdPath, compiled_per_path};

/// Anderson's acceleration of a fixed-point iteration (type II): the next iterate is the
/// combination of the last few images whose combined residual is least, in the norm weighted by
/// mass. The history is kept in f32: it only proposes a step, the iteration itself decides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anderson {
    depth: usize,
    n_stored: usize,
    next_slot: usize,
    /// Differences of weighted residuals, and of images.
    residual_steps: Vec<Vec<Row<f32>>>,
    image_steps: Vec<Vec<Row<f32>>>,
    residual: Vec<Row<f32>>,
    residual_before: Vec<Row<f32>>,
    image_before: Vec<Row<f64>>,
    has_before: bool,
    gram: Vec<f64>,
}

/// The deepest history.
pub(crate) const DEPTH_MAX: usize = 20;

impl Anderson {
    /// Starts over with a history of at most `depth`.
    pub(crate) fn reset(&mut self, depth: usize) {
        self.depth = depth.min(DEPTH_MAX);
        self.forget();
        self.residual_steps.resize_with(DEPTH_MAX, Vec::new);
        self.image_steps.resize_with(DEPTH_MAX, Vec::new);
        self.gram.resize(DEPTH_MAX * DEPTH_MAX, 0.0);
    }

    /// Drops the history.
    pub(crate) fn forget(&mut self) {
        (self.n_stored, self.next_slot, self.has_before) = (0, 0, false);
    }

    /// Writes the next iterate, given an iterate and its image.
    pub(crate) fn step(
        &mut self,
        path: SimdPath,
        x: &[Row<f64>],
        image: &[Row<f64>],
        weight: &[Row<f32>],
        next: &mut [Row<f64>],
    ) {
        let n = x.len();
        self.residual.resize(n, [0.0; LANES]);
        self.residual_before.resize(n, [0.0; LANES]);
        self.image_before.resize(n, [0.0; LANES]);
        weigh(path, x, image, weight, &mut self.residual);
        if self.has_before {
            let slot = self.next_slot;
            let (dr, dt) = (&mut self.residual_steps[slot], &mut self.image_steps[slot]);
            dr.resize(n, [0.0; LANES]);
            dt.resize(n, [0.0; LANES]);
            differences(
                path,
                &self.residual,
                &self.residual_before,
                image,
                &self.image_before,
                dr,
                dt,
            );
            self.next_slot = (slot + 1) % self.depth;
            self.n_stored = (self.n_stored + 1).min(self.depth);
            for j in 0..self.n_stored {
                let product = dot(path, &self.residual_steps[slot], &self.residual_steps[j]);
                self.gram[slot * DEPTH_MAX + j] = product;
                self.gram[j * DEPTH_MAX + slot] = product;
            }
        }
        let mut rhs = [0.0; DEPTH_MAX];
        for j in 0..self.n_stored {
            rhs[j] = dot(path, &self.residual_steps[j], &self.residual);
        }
        let steps = least_squares(&self.gram, self.n_stored, &rhs);
        std::mem::swap(&mut self.residual, &mut self.residual_before);
        self.image_before.copy_from_slice(image);
        self.has_before = true;
        combine(
            path,
            next,
            image,
            &self.image_steps[..self.n_stored],
            &steps,
        );
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let steps = self.residual_steps.iter().chain(&self.image_steps);
        let singles: usize = steps.map(|s| s.capacity()).sum::<usize>()
            + self.residual.capacity()
            + self.residual_before.capacity();
        singles * size_of::<Row<f32>>()
            + self.image_before.capacity() * size_of::<Row<f64>>()
            + self.gram.capacity() * size_of::<f64>()
    }
}

/// Solves (G + ridge)·y = rhs by Cholesky's factorisation; zero if G is not positive.
fn least_squares(gram: &[f64], n: usize, rhs: &[f64; DEPTH_MAX]) -> [f64; DEPTH_MAX] {
    let mut a = [[0.0; DEPTH_MAX]; DEPTH_MAX];
    let trace: f64 = (0..n).map(|i| gram[i * DEPTH_MAX + i]).sum();
    for i in 0..n {
        a[i][..n].copy_from_slice(&gram[i * DEPTH_MAX..i * DEPTH_MAX + n]);
        a[i][i] = a[i][i] * (1.0 + 1e-9) + 1e-14 * trace;
    }
    let nothing = [0.0; DEPTH_MAX];
    for j in 0..n {
        for i in j..n {
            let left = a[i][j] - (0..j).map(|k| a[i][k] * a[j][k]).sum::<f64>();
            if i > j {
                a[i][j] = left / a[j][j];
            } else if left > 0.0 {
                a[j][j] = left.sqrt();
            } else {
                return nothing;
            }
        }
    }
    let mut y = *rhs;
    for i in 0..n {
        y[i] = (y[i] - (0..i).map(|k| a[i][k] * y[k]).sum::<f64>()) / a[i][i];
    }
    for i in (0..n).rev() {
        y[i] = (y[i] - (i + 1..n).map(|k| a[k][i] * y[k]).sum::<f64>()) / a[i][i];
    }
    if y.iter().all(|v| v.is_finite()) {
        y
    } else {
        nothing
    }
}

compiled_per_path! {
    fn weigh(x: &[Row<f64>], image: &[Row<f64>], weight: &[Row<f32>], out: &mut [Row<f32>]) {
        for (((x, image), weight), out) in x.iter().zip(image).zip(weight).zip(out) {
            for l in 0..LANES {
                out[l] = ((image[l] - x[l]) as f32) * weight[l];
            }
        }
    }
}

compiled_per_path! {
    fn differences(
        residual: &[Row<f32>],
        residual_before: &[Row<f32>],
        image: &[Row<f64>],
        image_before: &[Row<f64>],
        dr: &mut [Row<f32>],
        dt: &mut [Row<f32>],
    ) {
        for ((now, before), out) in residual.iter().zip(residual_before).zip(dr) {
            for l in 0..LANES {
                out[l] = now[l] - before[l];
            }
        }
        for ((now, before), out) in image.iter().zip(image_before).zip(dt) {
            for l in 0..LANES {
                out[l] = (now[l] - before[l]) as f32;
            }
        }
    }
}

compiled_per_path! {
    fn dot(a: &[Row<f32>], b: &[Row<f32>]) -> f64 {
        let mut sum = [0.0_f64; LANES];
        // f32 sums of sixteen rows, then f64: accurate, and twice as fast as f64 throughout.
        for (a, b) in a.chunks(16).zip(b.chunks(16)) {
            let mut part = [0.0_f32; LANES];
            for (a, b) in a.iter().zip(b) {
                for l in 0..LANES {
                    part[l] = a[l].mul_add(b[l], part[l]);
                }
            }
            for l in 0..LANES {
                sum[l] += f64::from(part[l]);
            }
        }
        sum.iter().sum()
    }
}

compiled_per_path! {
    fn combine(x: &mut [Row<f64>], image: &[Row<f64>], steps: &[Vec<Row<f32>>], by: &[f64; DEPTH_MAX]) {
        // Blocks that stay in cache while all steps are subtracted.
        for start in (0..x.len()).step_by(64) {
            let end = (start + 64).min(x.len());
            let out = &mut x[start..end];
            out.copy_from_slice(&image[start..end]);
            for (step, by) in steps.iter().zip(by) {
                for (out, step) in out.iter_mut().zip(&step[start..end]) {
                    for l in 0..LANES {
                        out[l] = (-by).mul_add(f64::from(step[l]), out[l]);
                    }
                }
            }
        }
    }
}
