//! How far a plan blurs: the spread of the mass of one source pixel.

use crate::affine::affine_fit;
use crate::frame::Frame;
use crate::geometry::pool_live;
use crate::solution::Solution;

/// How far the plan spreads the mass of one source pixel, in px: the root of the mean, over the
/// transported mass, of the squared distance from a pixel's mean destination.
///
/// This blur is the effect of ε: far from borders it is √ε divided by the coordinate scale. Motion
/// finer than the blur cannot be resolved. With μ the plan's first marginal and v the displacement,
/// blur² = (⟨P, |p − q|²⟩ − Σ μ|v|²) / Σ μ, so the plan itself is not needed. `None` if the maps
/// were not kept or nothing is transported.
///
/// ```
/// use swathe_ot::{Pair, Settings, Shape, blur_px, solve, synth};
/// let pair = synth::embryo_pair(Shape::new(64, 128), 1, synth::Change::default());
/// let blur_at = |epsilon| {
///     let solution = solve(&pair, &Settings { epsilon, ..Settings::default() })?;
///     Ok::<_, swathe_ot::Failure>(blur_px(&solution, &pair.source).unwrap())
/// };
/// assert!(blur_at(1e-4)? < 2.0 && blur_at(1e-2)? > 6.0);
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
pub fn blur_px(solution: &Solution, source: &Frame) -> Option<f64> {
    let fields = solution.fields.as_ref()?;
    if !(solution.mass_transported > 0.0) {
        return None;
    }
    // Converts input mass to problem units: frames may have been normalised.
    let mass = solution.mass_transported + solution.mass_destroyed;
    let per_input = mass / solution.mass_src;
    let pixels = pool_live(source, &solution.geometry);
    let moved: f64 = pixels
        .iter()
        .zip(&fields.destroyed)
        .zip(fields.raw_velocity())
        .filter(|((_, destroyed), [vy, _])| destroyed.is_finite() && vy.is_finite())
        .map(|((a, destroyed), [vy, vx])| (a * per_input - destroyed) * (vy * vy + vx * vx))
        .sum();
    let variance = (solution.cost_px2 - moved) / solution.mass_transported;
    // Rounding can make the zero variance of a single pixel slightly negative.
    Some(variance.max(0.0).sqrt())
}

/// The plan's own displacement has the whole pull of the blur: a blur above this part of it is too
/// large.
pub const BLUR_SHARE_MAX: f64 = 0.5;

/// The blur of a plan, compared with what is to be seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blurring {
    /// How far the mass of one pixel is spread, px; see [`blur_px`].
    pub blur_px: f64,
    /// The blur divided by the median displacement; infinite if nothing moves.
    pub per_displacement: f64,
    /// The blur divided by the width of the objects; NaN if there is no object of twelve pixels.
    pub per_width: f64,
}

/// The blur of a solution, over its median displacement and over the width of its objects. Where
/// both are above one half, debiasing still gives the motion of objects as a whole, but not of
/// their parts. `None` if the maps were not kept or nothing is transported.
pub fn blurring(solution: &Solution, source: &Frame) -> Option<Blurring> {
    let blur_px = blur_px(solution, source)?;
    let velocity = &solution.fields.as_ref()?.velocity_yx_px;
    let lengths = velocity.iter().filter(|v| !v[0].is_nan());
    let mut lengths: Vec<f64> = lengths.map(|v| v[0].hypot(v[1])).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    let median = lengths.get(lengths.len() / 2)?;
    let width = affine_fit(solution, source).map_or(f64::NAN, |fit| fit.width_px);
    Some(Blurring { blur_px, per_displacement: blur_px / median, per_width: blur_px / width })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coupling, Pair, Settings, Shape, solve, synth};

    /// The same from the plan itself, entry by entry.
    fn blur_of_plan(pair: &Pair, settings: &Settings) -> f64 {
        let settings = Settings { coupling: Coupling::TopK(100_000), ..settings.clone() };
        let solution = solve(pair, &settings).unwrap();
        let w_px = pair.source.shape.w_px;
        let mut sums = vec![[0.0; 4]; pair.source.shape.n_px()];
        for link in &solution.coupling {
            let (y, x) = (f64::from(link.tgt_y_px), f64::from(link.tgt_x_px));
            let sum = &mut sums[link.src_y_px as usize * w_px + link.src_x_px as usize];
            let parts = [1.0, y, x, y * y + x * x];
            for (sum, part) in sum.iter_mut().zip(parts) {
                *sum += link.mass * part;
            }
        }
        let live = sums.iter().filter(|sum| sum[0] > 0.0);
        let spread: f64 = live.map(|[m, y, x, square]| square - (y * y + x * x) / m).sum();
        let total: f64 = sums.iter().map(|sum| sum[0]).sum();
        (spread / total).sqrt()
    }

    #[test]
    fn blur_is_the_spread_of_the_plan_itself() {
        for (pool, normalize, epsilon) in [(1, true, 1e-2), (1, false, 1e-3), (2, true, 3e-3)] {
            let pair = synth::embryo_pair(Shape::new(18, 30), 5, synth::Change::default());
            let settings = Settings {
                epsilon,
                relaxation: 0.05,
                pool,
                normalize,
                tolerance: 1e-8,
                ..Settings::default()
            };
            let solution = solve(&pair, &settings).unwrap();
            let (blur, want) =
                (blur_px(&solution, &pair.source).unwrap(), blur_of_plan(&pair, &settings));
            assert!((blur - want).abs() < 1e-4 * want, "{blur} {want}");
        }
    }

    #[test]
    fn blur_is_compared_with_width_and_motion() {
        // A disc of radius 12 that moves by 4 px.
        let disc = |cx: f64| {
            let inside = |p: usize| ((p / 64) as f64 - 32.0).hypot((p % 64) as f64 - cx) < 12.0;
            let density = (0..64 * 64).map(|p| f64::from(u8::from(inside(p)))).collect();
            Frame::new(64, 64, density).unwrap()
        };
        let pair = Pair::new(disc(30.0), disc(34.0));
        let settings = Settings { relaxation: 10.0, ..Settings::default() };
        let solution = solve(&pair, &settings).unwrap();
        let found = blurring(&solution, &pair.source).unwrap();
        assert!((found.blur_px - 1.9).abs() < 0.2, "{found:?}");
        assert!((found.per_displacement - found.blur_px / 4.0).abs() < 0.01);
        assert!((found.per_width - found.blur_px / 24.0).abs() < 0.005);
    }

    #[test]
    fn nothing_transported_has_no_blur() {
        let empty = Frame::new(4, 4, vec![0.0; 16]).unwrap();
        let full = Frame::new(4, 4, vec![1.0; 16]).unwrap();
        let solution = solve(&Pair::new(full.clone(), empty), &Settings::default()).unwrap();
        assert_eq!(blur_px(&solution, &full), None);
    }
}
