//! Pairs of frames whose motion is known exactly: the map of optimal transport between them has a
//! closed form.

use swathe_ot::{Fields, Frame, Pair, Shape, Solution, lift};

/// A pair and its motion.
pub(crate) struct ClosedForm {
    pub(crate) name: String,
    pub(crate) pair: Pair,
    /// The displacement (y, x) of the mass at a pixel (y, x).
    motion: Box<dyn Fn(f64, f64) -> [f64; 2] + Send + Sync>,
}

/// How far a solution's displacement is from the closed form, px.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MotionError {
    /// Mean length of the error vector, weighted by mass.
    pub(crate) mean_px: f64,
    /// Median length of the displacement minus that of the closed form's.
    pub(crate) median_px: f64,
    /// Median length of the closed form's displacement.
    pub(crate) motion_px: f64,
}

impl ClosedForm {
    pub(crate) fn new(
        name: String,
        pair: Pair,
        motion: impl Fn(f64, f64) -> [f64; 2] + Send + Sync + 'static,
    ) -> ClosedForm {
        ClosedForm { name, pair, motion: Box::new(motion) }
    }

    pub(crate) fn error(&self, solution: &Solution) -> MotionError {
        let fields = lift(solution, &self.pair.source, &self.pair.target).unwrap();
        self.error_of(&fields.velocity_yx_px)
    }

    pub(crate) fn raw_error(&self, solution: &Solution) -> MotionError {
        let fields: Fields = lift(solution, &self.pair.source, &self.pair.target).unwrap();
        self.error_of(fields.raw_velocity())
    }

    fn error_of(&self, velocity: &[[f64; 2]]) -> MotionError {
        let source = &self.pair.source;
        let (mut error, mut mass) = (0.0, 0.0);
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        for (at, a) in source.density.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            let (y, x) = (at / source.shape.w_px, at % source.shape.w_px);
            let ([vy, vx], [uy, ux]) = (velocity[at], (self.motion)(y as f64, x as f64));
            error += a * (vy - uy).hypot(vx - ux);
            mass += a;
            found.push((vy.hypot(vx), *a));
            wanted.push((uy.hypot(ux), *a));
        }
        let (found, wanted) = (median(found), median(wanted));
        MotionError { mean_px: error / mass, median_px: found - wanted, motion_px: wanted }
    }
}

/// The median of values with weights.
fn median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * values.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    let at = values.iter().position(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    values[at.unwrap_or(0)].0
}

fn frame(n: usize, density: impl Fn(f64, f64) -> f64) -> Frame {
    frame_of(Shape::new(n, n), density)
}

/// A frame with the mean of a function over 16 × 16 points of every pixel.
pub(crate) fn frame_of(shape: Shape, density: impl Fn(f64, f64) -> f64) -> Frame {
    const SUB: usize = 16;
    let pixel = |at: usize| {
        let (y, x) = ((at / shape.w_px) as f64, (at % shape.w_px) as f64);
        let off = |i: usize| (i as f64 + 0.5) / SUB as f64 - 0.5;
        // Most pixels are uniform; their corners show it.
        let corners = [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)];
        let first = density(y, x);
        let near = |dy: f64, dx: f64| (density(y + 2.0 * dy, x + 2.0 * dx) - first).abs() < 1e-12;
        if corners.iter().all(|(dy, dx)| near(*dy, *dx)) {
            return first;
        }
        let points = (0..SUB * SUB).map(|i| density(y + off(i / SUB), x + off(i % SUB)));
        points.sum::<f64>() / (SUB * SUB) as f64
    };
    let density = (0..shape.n_px()).map(pixel).collect();
    Frame::new(shape.h_px, shape.w_px, density).unwrap()
}

/// A disc of radius `r` moved by `shift`.
pub(crate) fn moved_disc(n: usize, r: f64, shift: [f64; 2]) -> ClosedForm {
    let middle = n as f64 / 2.0 - 0.37;
    let centre = [middle - shift[0] / 2.0, middle - shift[1] / 2.0];
    let disc = move |by: [f64; 2]| {
        frame(n, move |y, x| {
            let inside = (y - centre[0] - by[0]).hypot(x - centre[1] - by[1]) < r;
            f64::from(u8::from(inside))
        })
    };
    ClosedForm {
        name: format!("disc of {r} px moved by {:.2} px, {n} px", shift[0].hypot(shift[1])),
        pair: Pair::new(disc([0.0; 2]), disc(shift)),
        motion: Box::new(move |_, _| shift),
    }
}

/// Discs by centre, radius and motion, far enough apart that each moves by itself.
pub(crate) fn many_discs(
    name: &str,
    n: usize,
    discs: Vec<([f64; 2], f64, [f64; 2])>,
) -> ClosedForm {
    let all = |moves: bool| {
        frame(n, |y, x| {
            let inside = discs.iter().any(|([cy, cx], r, [dy, dx])| {
                let (dy, dx) = if moves { (*dy, *dx) } else { (0.0, 0.0) };
                (y - cy - dy).hypot(x - cx - dx) < *r
            });
            f64::from(u8::from(inside))
        })
    };
    let pair = Pair::new(all(false), all(true));
    let motion = move |y: f64, x: f64| {
        let off = |c: &[f64; 2]| (y - c[0]).hypot(x - c[1]);
        let nearest = discs.iter().min_by(|a, b| off(&a.0).total_cmp(&off(&b.0)));
        nearest.map_or([0.0; 2], |disc| disc.2)
    };
    ClosedForm { name: format!("{name}, {n} px"), pair, motion: Box::new(motion) }
}

/// Two discs of radius 8 that pass each other at a distance, and sixty particles of radius 2.5.
pub(crate) fn several(n: usize) -> Vec<ClosedForm> {
    let c = n as f64 / 2.0;
    let two = |gap: f64| {
        let off = 8.0 + gap / 2.0;
        let discs = vec![([c - off, c], 8.0, [0.0, 2.0]), ([c + off, c], 8.0, [0.0, -2.0])];
        many_discs(&format!("two discs {gap} px apart"), n, discs)
    };
    let particles = (0..60)
        .map(|i| {
            let (row, column) = (f64::from(i / 8), f64::from(i % 8));
            let jitter = |k: f64| 3.0 * (k * f64::from(i)).sin();
            let y = 12.0 + 17.0 * row + jitter(12.9);
            let x = 12.0 + 17.0 * column + jitter(78.2);
            ([y, x], 2.5, [1.0, 2.0])
        })
        .collect();
    vec![two(16.0), two(6.0), two(2.0), many_discs("particles", n, particles)]
}

/// A disc that grows (or shrinks) from one radius to another.
pub(crate) fn grown_disc(n: usize, r: f64, r_next: f64) -> ClosedForm {
    let c = n as f64 / 2.0 - 0.37;
    let disc = move |r: f64| frame(n, move |y, x| f64::from(u8::from((y - c).hypot(x - c) < r)));
    let by = r_next / r - 1.0;
    ClosedForm {
        name: format!("disc grown from {r} to {r_next} px, {n} px"),
        pair: Pair::new(disc(r), disc(r_next)),
        motion: Box::new(move |y, x| [by * (y - c), by * (x - c)]),
    }
}

/// A thin ring that grows. Along a radius, mass is ordered: the part of the ring inside of radius q
/// moves to the radius that has the same part inside.
pub(crate) fn grown_ring(n: usize, inner: f64, outer: f64, by: f64) -> ClosedForm {
    let c = n as f64 / 2.0 - 0.37;
    let ring = move |inner: f64, outer: f64| {
        frame(n, move |y, x| {
            let q = (y - c).hypot(x - c);
            f64::from(u8::from(q >= inner && q < outer))
        })
    };
    let square = |r: f64| r * r;
    let (in_next, out_next) = (inner + by, outer + by);
    let motion = move |y: f64, x: f64| {
        let q = (y - c).hypot(x - c).clamp(inner, outer);
        let part = (square(q) - square(inner)) / (square(outer) - square(inner));
        let next = (square(in_next) + part * (square(out_next) - square(in_next))).sqrt();
        let per = (next - q) / (y - c).hypot(x - c);
        [per * (y - c), per * (x - c)]
    };
    ClosedForm {
        name: format!("ring of {inner}..{outer} px grown by {by} px, {n} px"),
        pair: Pair::new(ring(inner, outer), ring(in_next, out_next)),
        motion: Box::new(motion),
    }
}

/// A symmetric matrix: yy, yx, xx.
pub(crate) type Symmetric = [f64; 3];

fn root([a, b, d]: Symmetric) -> Symmetric {
    // The root of a positive 2×2 matrix M is (M + √det)/√(tr + 2√det).
    let s = (a * d - b * b).sqrt();
    let t = (a + d + 2.0 * s).sqrt();
    [(a + s) / t, b / t, (d + s) / t]
}

pub(crate) fn inverse([a, b, d]: Symmetric) -> Symmetric {
    let det = a * d - b * b;
    [d / det, -b / det, a / det]
}

/// p·q·p.
fn sandwich([pa, pb, pd]: Symmetric, [qa, qb, qd]: Symmetric) -> Symmetric {
    let (ra, rb) = (pa * qa + pb * qb, pa * qb + pb * qd);
    let (rc, rd) = (pb * qa + pd * qb, pb * qb + pd * qd);
    [ra * pa + rb * pb, ra * pb + rb * pd, rc * pb + rd * pd]
}

/// The linear part of the map of optimal transport between Gaussians of these covariances.
pub(crate) fn gaussian_map(from: Symmetric, to: Symmetric) -> Symmetric {
    let half = root(from);
    sandwich(inverse(half), root(sandwich(half, to)))
}

/// A Gaussian of covariance `from` that moves by `shift` and gets the covariance `to`, and `growth`
/// times the mass.
pub(crate) fn gaussian(
    name: &str,
    n: usize,
    [from, to]: [Symmetric; 2],
    shift: [f64; 2],
    growth: f64,
) -> ClosedForm {
    let c = n as f64 / 2.0 - 0.37;
    let bell = move |[a, b, d]: Symmetric, by: [f64; 2], height: f64| {
        let [ia, ib, id] = inverse([a, b, d]);
        let pixel = move |at: usize| {
            let (y, x) = ((at / n) as f64 - c - by[0], (at % n) as f64 - c - by[1]);
            let exponent = 0.5 * (ia * y * y + 2.0 * ib * y * x + id * x * x);
            // What is left out is a part of 1e-5 of the mass.
            if exponent > 11.5 { 0.0 } else { height * (-exponent).exp() / (a * d - b * b).sqrt() }
        };
        Frame::new(n, n, (0..n * n).map(pixel).collect()).unwrap()
    };
    let half = [shift[0] / 2.0, shift[1] / 2.0];
    let [ma, mb, md] = gaussian_map(from, to);
    let motion = move |y: f64, x: f64| {
        let (y, x) = (y - c + half[0], x - c + half[1]);
        [shift[0] + ma * y + mb * x - y, shift[1] + mb * y + md * x - x]
    };
    ClosedForm {
        name: format!("{name}, {n} px"),
        pair: Pair::new(bell(from, [-half[0], -half[1]], 1.0), bell(to, half, growth)),
        motion: Box::new(motion),
    }
}

/// The covariance M·Σ·Mᵀ for M = [[a, b], [c, d]] in (y, x).
pub(crate) fn carried(by: [f64; 4], [yy, yx, xx]: Symmetric) -> Symmetric {
    let [a, b, c, d] = by;
    [
        a * a * yy + 2.0 * a * b * yx + b * b * xx,
        a * c * yy + (a * d + b * c) * yx + b * d * xx,
        c * c * yy + 2.0 * c * d * yx + d * d * xx,
    ]
}

/// Gaussians that move, grow, shear and turn.
pub(crate) fn gaussians(n: usize) -> Vec<ClosedForm> {
    let s = n as f64 / 160.0;
    let round = [144.0 * s * s, 0.0, 144.0 * s * s];
    let long = [225.0 * s * s, 0.0, 81.0 * s * s];
    let (sin, cos) = 0.2_f64.sin_cos();
    let turned = carried([cos, -sin, sin, cos], long);
    let shift = [3.0 * s, -6.0 * s];
    let none = [0.0; 2];
    let wide = carried([1.15, 0.0, 0.0, 1.15], round);
    let sheared = carried([1.0, 0.25, 0.0, 1.0], round);
    vec![
        gaussian("moved Gaussian", n, [round, round], shift, 1.0),
        gaussian("dilated Gaussian", n, [round, wide], none, 1.0),
        gaussian("sheared Gaussian", n, [round, sheared], none, 1.0),
        gaussian("turned Gaussian", n, [long, turned], none, 1.0),
        gaussian("moved and sheared Gaussian", n, [long, sheared], shift, 1.0),
        gaussian("moved and gaining Gaussian", n, [round, round], shift, 1.4),
    ]
}

/// Discs of 3 to `r_max` px, moved by less than a pixel and by several.
pub(crate) fn discs(r_max: f64) -> Vec<ClosedForm> {
    let mut all = Vec::new();
    for r in [3.0, 5.0, 8.0, 12.5, 20.0, 35.0, 50.0, 80.0, 120.0, 160.0] {
        if r > r_max {
            break;
        }
        let n = (2.5 * r) as usize;
        all.push(moved_disc(n.max(96), r, [0.2, -0.3]));
        all.push(moved_disc(n.max(96), r, [1.0, 2.0]));
        all.push(moved_disc((n + 40).max(160), r, [11.0, -17.5]));
        all.push(grown_disc(n.max(160), r, 1.12 * r));
        all.push(grown_disc(n.max(160), r, 0.93 * r));
    }
    all
}
