//! Affine fits of a displacement: how the objects of a frame moved, turned and stretched.

use crate::frame::Frame;
use crate::geometry::pool_live;
use crate::shape::Shape;
use crate::solution::Solution;

/// The affine motion of an object, fitted to its displacement by least squares over its mass:
/// v(p) ≈ translation + (linear − 1)·(p − centre).
///
/// The displacement of optimal transport is a gradient, so `linear` is symmetric and has no turn in
/// it: mass of an ellipse that turned flows along the shortest ways. The turn shows in the shape.
/// With Σ the object's covariance, its image has linear·Σ·linearᵀ; `rotation_deg` is the angle
/// between the long axes of the two, and the strains compare their lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AffineFit {
    /// Mass of the object, input units.
    pub mass: f64,
    /// Its work pixels.
    pub n_px: usize,
    /// Its centre of mass (y, x), px of the frame.
    pub centre_yx_px: [f64; 2],
    /// Its width, px: four times its standard deviation across the long axis, which is the diameter
    /// of a disc.
    pub width_px: f64,
    /// Mean displacement (y, x) over its mass, px.
    pub translation_yx_px: [f64; 2],
    /// The linear part of the fitted map, rows y and x.
    pub linear: [[f64; 2]; 2],
    /// How far the long axis turned, from −90° to 90°; positive from the x axis towards the y axis,
    /// which is clockwise where y points down. NaN for an object that is nearly round before or
    /// after: it shows no turn.
    pub rotation_deg: f64,
    /// Relative change of length along the long axis; for a nearly round object along the axis of
    /// the largest stretch.
    pub strain_major: f64,
    /// Relative change of length across it.
    pub strain_minor: f64,
}

/// Objects with fewer work pixels have no fit: a line of pixels has no width.
const N_PX_MIN: usize = 12;
/// An object whose long axis is longer by less than this factor is nearly round.
const AXIS_RATIO_MIN: f64 = 1.1;

/// The fit of every object of the source: of every connected set of live pixels (diagonal
/// neighbours included) of at least twelve work pixels, in reading order of their first pixels.
/// Empty if the maps were not kept.
///
/// ```
/// use swathe_ot::{Pair, Settings, object_fits, solve, synth::{Blob, Outline}, Shape};
/// // An ellipse that turns by 10 degrees.
/// let ellipse = |degrees: f64| Blob {
///     cy: 40.0,
///     cx: 40.0,
///     ry: 12.0,
///     rx: 26.0,
///     angle: degrees.to_radians(),
///     outline: Outline::default(),
/// };
/// let shape = Shape::new(80, 80);
/// let pair = Pair::new(ellipse(0.0).mask(shape), ellipse(10.0).mask(shape));
/// let solution = solve(&pair, &Settings { relaxation: 10.0, ..Settings::default() })?;
/// let fits = object_fits(&solution, &pair.source);
/// assert_eq!(fits.len(), 1);
/// assert!((fits[0].rotation_deg.abs() - 10.0).abs() < 0.5);
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
///
/// # Panics
/// If the frame does not contain the live box of the solution.
pub fn object_fits(solution: &Solution, source: &Frame) -> Vec<AffineFit> {
    let Some(fields) = &solution.fields else {
        return Vec::new();
    };
    let shape = solution.geometry.live_work();
    let mass = pool_live(source, &solution.geometry);
    let (labels, n_objects) = label(&mass, shape);
    let mut sums = vec![Sums::default(); n_objects];
    for (at, label) in labels.iter().enumerate() {
        if let Some(sums) = label.checked_sub(1).map(|n| &mut sums[n as usize]) {
            let place = [(at / shape.w_px) as f64, (at % shape.w_px) as f64];
            sums.add(mass[at], place, fields.velocity_yx_px[at]);
        }
    }
    let pool = solution.geometry.pool as f64;
    let start =
        solution.geometry.live.map_or([0.0; 2], |live| [live.y0_px as f64, live.x0_px as f64]);
    sums.iter()
        .filter(|sums| sums.n_px >= N_PX_MIN)
        .filter_map(|sums| sums.fit(pool, start))
        .collect()
}

/// The mean of the fits of all objects, weighted by mass; `None` if there is no object to fit.
/// Objects that are nearly round do not enter the mean rotation.
///
/// # Panics
/// If the frame does not contain the live box of the solution.
pub fn affine_fit(solution: &Solution, source: &Frame) -> Option<AffineFit> {
    let fits = object_fits(solution, source);
    let first = *fits.first()?;
    if fits.len() == 1 {
        return Some(first);
    }
    let mean = |of: &dyn Fn(&AffineFit) -> f64| {
        let finite = || fits.iter().filter(|fit| !of(fit).is_nan());
        let mass: f64 = finite().map(|fit| fit.mass).sum();
        finite().map(|fit| fit.mass * of(fit)).sum::<f64>() / mass
    };
    let both =
        |of: &dyn Fn(&AffineFit, usize) -> f64| [0, 1].map(|axis| mean(&|fit| of(fit, axis)));
    Some(AffineFit {
        mass: fits.iter().map(|fit| fit.mass).sum(),
        n_px: fits.iter().map(|fit| fit.n_px).sum(),
        centre_yx_px: both(&|fit, axis| fit.centre_yx_px[axis]),
        width_px: mean(&|fit| fit.width_px),
        translation_yx_px: both(&|fit, axis| fit.translation_yx_px[axis]),
        linear: [0, 1].map(|row| both(&|fit, column| fit.linear[row][column])),
        rotation_deg: mean(&|fit| fit.rotation_deg),
        strain_major: mean(&|fit| fit.strain_major),
        strain_minor: mean(&|fit| fit.strain_minor),
    })
}

/// Mean displacement (y, x) over the mass of the whole source, px; `None` if the maps were not kept
/// or nothing is transported.
///
/// # Panics
/// If the frame does not contain the live box of the solution.
pub fn mean_velocity_yx_px(solution: &Solution, source: &Frame) -> Option<[f64; 2]> {
    let fields = solution.fields.as_ref()?;
    let mut sums = Sums::default();
    let mass = pool_live(source, &solution.geometry);
    for (mass, velocity) in mass.iter().zip(&fields.velocity_yx_px) {
        if *mass > 0.0 && velocity[0].is_finite() {
            sums.add(*mass, [0.0; 2], *velocity);
        }
    }
    (sums.mass > 0.0).then(|| sums.velocity.map(|v| v / sums.mass))
}

/// Numbers the connected sets of positive pixels from 1; 0 is background.
pub(crate) fn label(mass: &[f64], shape: Shape) -> (Vec<u32>, usize) {
    let (h, w) = (shape.h_px, shape.w_px);
    let mut labels = vec![0_u32; mass.len()];
    let mut n_objects = 0;
    let mut waiting = Vec::new();
    for first in 0..mass.len() {
        if !(mass[first] > 0.0) || labels[first] > 0 {
            continue;
        }
        n_objects += 1;
        labels[first] = n_objects;
        waiting.push(first);
        while let Some(at) = waiting.pop() {
            let (y, x) = (at / w, at % w);
            for ny in y.saturating_sub(1)..(y + 2).min(h) {
                for nx in x.saturating_sub(1)..(x + 2).min(w) {
                    let next = ny * w + nx;
                    if mass[next] > 0.0 && labels[next] == 0 {
                        labels[next] = n_objects;
                        waiting.push(next);
                    }
                }
            }
        }
    }
    (labels, n_objects as usize)
}

/// Sums over the mass of an object. Places are in work pixels, velocities in pixels of the frame.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    n_px: usize,
    mass: f64,
    place: [f64; 2],
    velocity: [f64; 2],
    /// Σ place·placeᵀ and Σ velocity·placeᵀ.
    square: [[f64; 2]; 2],
    cross: [[f64; 2]; 2],
}

impl Sums {
    fn add(&mut self, mass: f64, place: [f64; 2], velocity: [f64; 2]) {
        self.n_px += 1;
        self.mass += mass;
        for i in 0..2 {
            self.place[i] += mass * place[i];
            self.velocity[i] += mass * velocity[i];
            for j in 0..2 {
                self.square[i][j] += mass * place[i] * place[j];
                self.cross[i][j] += mass * velocity[i] * place[j];
            }
        }
    }

    fn fit(&self, pool: f64, start: [f64; 2]) -> Option<AffineFit> {
        let centre = self.place.map(|v| v / self.mass);
        let velocity = self.velocity.map(|v| v / self.mass);
        let (mut cov, mut cross) = ([[0.0; 2]; 2], [[0.0; 2]; 2]);
        for i in 0..2 {
            for j in 0..2 {
                cov[i][j] = pool * pool * (self.square[i][j] / self.mass - centre[i] * centre[j]);
                cross[i][j] = pool * (self.cross[i][j] / self.mass - velocity[i] * centre[j]);
            }
        }
        let det = cov[0][0] * cov[1][1] - cov[0][1] * cov[1][0];
        // A single row of pixels leaves the slope across it open.
        if !(det > 1e-9 * cov[0][0].max(cov[1][1]).powi(2)) {
            return None;
        }
        let inverse = [[cov[1][1] / det, -cov[0][1] / det], [-cov[1][0] / det, cov[0][0] / det]];
        let mut linear = product(cross, inverse);
        linear[0][0] += 1.0;
        linear[1][1] += 1.0;
        let image = product(product(linear, cov), transposed(linear));
        let (before, after) = (Axes::of(cov), Axes::of(image));
        let is_long = |axes: &Axes| axes.major >= AXIS_RATIO_MIN * axes.minor;
        let (rotation_deg, strain_major, strain_minor) = if is_long(&before) && is_long(&after) {
            // Axes have no direction: the smaller of the two possible turns is meant.
            let turn = (after.angle - before.angle).to_degrees();
            let turn = turn - 180.0 * (turn / 180.0).round();
            (turn, after.major / before.major - 1.0, after.minor / before.minor - 1.0)
        } else {
            let half = 0.5 * (linear[0][1] + linear[1][0]);
            let stretch = Axes::of([[linear[0][0], half], [half, linear[1][1]]]);
            (f64::NAN, stretch.major.powi(2) - 1.0, stretch.minor.powi(2) - 1.0)
        };
        // The centre of a pooled square lies between its pixels.
        let in_frame = |axis: usize| start[axis] + centre[axis] * pool + (pool - 1.0) / 2.0;
        Some(AffineFit {
            mass: self.mass,
            n_px: self.n_px,
            centre_yx_px: [in_frame(0), in_frame(1)],
            width_px: 4.0 * before.minor,
            translation_yx_px: velocity,
            linear,
            rotation_deg,
            strain_major,
            strain_minor,
        })
    }
}

/// The principal axes of a symmetric matrix: roots of its eigenvalues, and the angle of the long
/// axis from x towards y.
struct Axes {
    major: f64,
    minor: f64,
    angle: f64,
}

impl Axes {
    fn of([[yy, yx], [_, xx]]: [[f64; 2]; 2]) -> Axes {
        let (mean, half) = (0.5 * (yy + xx), 0.5 * (xx - yy));
        let radius = half.hypot(yx);
        Axes {
            major: (mean + radius).max(0.0).sqrt(),
            minor: (mean - radius).max(0.0).sqrt(),
            angle: 0.5 * yx.atan2(half),
        }
    }
}

fn product(a: [[f64; 2]; 2], b: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    [0, 1].map(|i| [0, 1].map(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
}

fn transposed(a: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    [[a[0][0], a[1][0]], [a[0][1], a[1][1]]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pair, Settings, solve};

    /// Ellipses by centre, radii and angle from x towards y; a pixel's value is its covered part.
    fn ellipses(n: usize, all: &[[f64; 5]]) -> Frame {
        let pixel = |at: usize| {
            let points = (0..64).filter(|i| {
                let off = |i: usize| (i as f64 + 0.5) / 8.0 - 0.5;
                let (y, x) = ((at / n) as f64 + off(i / 8), (at % n) as f64 + off(i % 8));
                all.iter().any(|[cy, cx, along, across, degrees]| {
                    let (sin, cos) = degrees.to_radians().sin_cos();
                    let (dy, dx) = (y - cy, x - cx);
                    let (u, v) = (cos * dx + sin * dy, cos * dy - sin * dx);
                    (u / along).hypot(v / across) < 1.0
                })
            });
            points.count() as f64 / 64.0
        };
        Frame::new(n, n, (0..n * n).map(pixel).collect()).unwrap()
    }

    fn fits(n: usize, before: &[[f64; 5]], after: &[[f64; 5]], pool: usize) -> Vec<AffineFit> {
        let pair = Pair::new(ellipses(n, before), ellipses(n, after));
        let settings = Settings { relaxation: 10.0, pool, ..Settings::default() };
        object_fits(&solve(&pair, &settings).unwrap(), &pair.source)
    }

    #[test]
    fn an_ellipse_that_turns_is_seen_to_turn() {
        for (from, to) in [(0.0, 10.0), (30.0, 20.0), (85.0, 95.0), (-60.0, -52.0)] {
            for pool in [1, 2] {
                let [fit] = fits(
                    96,
                    &[[48.0, 47.0, 30.0, 14.0, from]],
                    &[[50.5, 44.0, 30.0, 14.0, to]],
                    pool,
                )[..] else {
                    panic!("one object")
                };
                let turn = fit.rotation_deg;
                assert!((turn - (to - from)).abs() < 0.4, "{from} to {to}: {turn}");
                let [ty, tx] = fit.translation_yx_px;
                assert!((ty - 2.5).abs() < 0.06 && (tx + 3.0).abs() < 0.06, "{ty} {tx}");
                assert!(fit.strain_major.abs() < 0.01 && fit.strain_minor.abs() < 0.01);
                let [cy, cx] = fit.centre_yx_px;
                assert!((cy - 48.0).abs() < 0.05 && (cx - 47.0).abs() < 0.05);
                // The map itself is symmetric: its antisymmetric part would not show the turn.
                assert!((fit.linear[0][1] - fit.linear[1][0]).abs() < 0.01);
            }
        }
    }

    #[test]
    fn strains_are_along_and_across_the_long_axis() {
        let [fit] =
            fits(96, &[[48.0, 48.0, 26.0, 14.0, 25.0]], &[[48.0, 48.0, 28.6, 12.6, 25.0]], 1)[..]
        else {
            panic!("one object")
        };
        assert!((fit.strain_major - 0.1).abs() < 0.01, "{fit:?}");
        assert!((fit.strain_minor + 0.1).abs() < 0.01, "{fit:?}");
        assert!(fit.rotation_deg.abs() < 0.3, "{fit:?}");
    }

    #[test]
    fn a_disc_stretches_and_does_not_turn() {
        let [fit] =
            fits(96, &[[48.0, 48.0, 20.0, 20.0, 0.0]], &[[48.0, 48.0, 23.0, 19.0, 40.0]], 1)[..]
        else {
            panic!("one object")
        };
        assert!(fit.rotation_deg.is_nan());
        assert!((fit.width_px - 40.0).abs() < 0.2, "{fit:?}");
        assert!((fit.strain_major - 0.15).abs() < 0.015, "{fit:?}");
        assert!((fit.strain_minor + 0.05).abs() < 0.015, "{fit:?}");
    }

    #[test]
    fn every_object_has_its_own_fit() {
        let before = [[30.0, 30.0, 16.0, 8.0, 0.0], [90.0, 85.0, 16.0, 8.0, 50.0]];
        let after = [[33.0, 30.0, 16.0, 8.0, 8.0], [90.0, 81.0, 16.0, 8.0, 38.0]];
        let pair = Pair::new(ellipses(128, &before), ellipses(128, &after));
        let settings = Settings { epsilon: 3e-4, relaxation: 10.0, ..Settings::default() };
        let solution = solve(&pair, &settings).unwrap();
        let all = object_fits(&solution, &pair.source);
        let turns: Vec<f64> = all.iter().map(|fit| fit.rotation_deg).collect();
        assert!((turns[0] - 8.0).abs() < 0.4 && (turns[1] + 12.0).abs() < 0.4, "{turns:?}");
        assert!((all[0].translation_yx_px[0] - 3.0).abs() < 0.06, "{all:?}");
        assert!((all[1].translation_yx_px[1] + 4.0).abs() < 0.06, "{all:?}");
        let [vy, vx] = mean_velocity_yx_px(&solution, &pair.source).unwrap();
        assert!((vy - 1.5).abs() < 0.05 && (vx + 2.0).abs() < 0.05, "{vy} {vx}");
        let mean = affine_fit(&solution, &pair.source).unwrap();
        assert!((mean.rotation_deg - 0.5 * (turns[0] + turns[1])).abs() < 0.1);
        assert_eq!(mean.n_px, all[0].n_px + all[1].n_px);
    }

    #[test]
    fn specks_and_lines_have_no_fit() {
        let line = |x: usize| {
            Frame::new(8, 32, (0..256).map(|p| f64::from(u8::from(p / 32 == x))).collect()).unwrap()
        };
        let pair = Pair::new(line(2), line(4));
        let solution = solve(&pair, &Settings::default()).unwrap();
        assert_eq!(affine_fit(&solution, &pair.source), None);
    }
}
