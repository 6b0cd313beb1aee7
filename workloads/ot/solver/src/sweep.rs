//! One sweep of the iteration: φ → γ → the image of φ, and the residual of the pair (φ, γ).

use crate::blur::{Between, Blur, BlurScratch, DEAD, LANES, Real, Row, blur, exp_row, fit};
use crate::pyramid::Level;
use crate::simd::compiled_per_path;
use crate::stop_latch::StopLatch;
use std::f64::consts::LN_2;
use swathe::Simd;

/// ε and the prices ρ of both sides in the form the iteration uses. Potentials are in bits of ε:
/// φ = f/(ε ln 2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regime {
    pub epsilon: f64,
    /// τ = ρ/(ρ + ε) of the source; 1 if its marginal is exact.
    pub tau: f64,
    /// ε/ρ of the source; 0 if its marginal is exact.
    pub ratio: f64,
    /// The same for the target.
    pub tau_tgt: f64,
    pub ratio_tgt: f64,
}

impl Regime {
    pub(crate) fn new(epsilon: f64, relaxations: [f64; 2]) -> Regime {
        let [(tau, ratio), (tau_tgt, ratio_tgt)] = relaxations.map(|relaxation| {
            if relaxation.is_finite() {
                (relaxation / (relaxation + epsilon), epsilon / relaxation)
            } else {
                (1.0, 0.0)
            }
        });
        Regime { epsilon, tau, ratio, tau_tgt, ratio_tgt }
    }

    /// Bits per px² of a level whose pixels are `px` wide.
    pub(crate) fn sharpness(self, px: f64) -> f64 {
        px * px / (self.epsilon * LN_2)
    }
}

/// The panels of one sweep. Their memory is reused by the next sweep.
#[derive(Clone, Debug, Default)]
pub(crate) struct SweepPanels {
    /// Source side: sums that become the image of the potential.
    pub image: Vec<Row<f64>>,
    /// Target side: sums that become the potential.
    pub gamma: Vec<Row<f64>>,
    pub between: Between,
}

impl SweepPanels {
    pub(crate) fn resize(&mut self, level: &Level) {
        fit(&mut self.image, level.source.n_rows(), [0.0; LANES]);
        fit(&mut self.gamma, level.target.n_rows(), [0.0; LANES]);
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let n_rows = self.image.capacity() + self.gamma.capacity();
        n_rows * size_of::<Row<f64>>() + self.between.bytes()
    }
}

/// Kernels and memory of one number type.
#[derive(Clone, Debug)]
pub(crate) struct Engine<T> {
    /// From source to target.
    pub there: Blur<T>,
    /// From target to source.
    pub back: Blur<T>,
    pub scratch: BlurScratch<T>,
}

impl<T> Default for Engine<T>
where
    Blur<T>: Default,
{
    fn default() -> Engine<T> {
        Engine { there: Blur::default(), back: Blur::default(), scratch: BlurScratch::default() }
    }
}

impl<T: Real> Engine<T> {
    /// Sets the kernels for a level.
    pub(crate) fn set(&mut self, path: Simd, level: &Level, regime: Regime, with_moments: bool) {
        let (a, b) = (&level.source, &level.target);
        let c = regime.sharpness(level.px);
        self.there.set(path, c, a, b, [0.0; 2], false);
        self.back.set(path, c, b, a, [0.0; 2], with_moments);
    }
}

/// The first half of a sweep: γ = −τ·LSE(φ + log a), shifted by the lean if the reference is the
/// counting measure. This γ is exact for this φ. Returns the least γ + lean.
pub(crate) fn half_sweep<T: Real>(
    path: Simd,
    level: &Level,
    regime: Regime,
    phi: &[Row<f64>],
    panels: &mut SweepPanels,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> f64 {
    let (a, b) = (&level.source, &level.target);
    let SweepPanels { gamma, between, .. } = panels;
    let scratch = &mut engine.scratch;
    blur(path, &engine.there, a, b, phi, gamma, scratch, between, watch);
    potential_of_sums(path, gamma, &b.log_mass, b.lean(), regime.tau_tgt)
}

/// One sweep of the map φ ↦ T(φ), written to `panels.image`. Returns the residual of the pair
/// (φ, γ). Because γ is exact for φ, the second marginal has no error; the error of the first is
/// Σ a·2^(−φ·ε/ρ)·|2^((φ − φ′)/τ) − 1|.
pub(crate) fn sweep<T: Real>(
    path: Simd,
    level: &Level,
    regime: Regime,
    phi: &[Row<f64>],
    panels: &mut SweepPanels,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> f64 {
    let (a, b) = (&level.source, &level.target);
    let least_b = half_sweep(path, level, regime, phi, panels, engine, watch);
    let SweepPanels { image, gamma, between } = panels;
    let scratch = &mut engine.scratch;
    blur(path, &engine.back, b, a, gamma, image, scratch, between, watch);
    let (lean_a, lean_b) = (a.lean(), b.lean());
    let (residual, least_a) =
        image_and_residual::<T>(path, phi, image, &a.mass, &a.log_mass, lean_a, regime);
    let Regime { ratio, ratio_tgt, .. } = regime;
    if ratio > 0.0 || ratio_tgt > 0.0 {
        // The best common shift of the two potentials, in closed form. Only φ is shifted: the next
        // sweep computes γ from φ.
        let soft_a = soft_sum::<T>(path, image, &a.mass, lean_a, least_a, ratio);
        let soft_b = soft_sum::<T>(path, gamma, &b.mass, lean_b, least_b, ratio_tgt);
        let shift = if ratio == ratio_tgt {
            let least = |least: f64, sum: f64| least - sum.log2() / ratio;
            0.5 * (least(least_b, soft_b) - least(least_a, soft_a))
        } else {
            let log = |least: f64, sum: f64, ratio: f64| sum.log2() - least * ratio;
            (log(least_a, soft_a, ratio) - log(least_b, soft_b, ratio_tgt)) / (ratio + ratio_tgt)
        };
        if shift.is_finite() {
            shift_live(path, image, &a.log_mass, shift);
        }
    }
    residual / a.total.max(b.total)
}

/// The lean of row `i`.
#[inline(always)]
fn lean_of(lean: Option<&[Row<f64>]>, i: usize) -> &Row<f64> {
    lean.map_or(&[0.0; LANES], |lean| &lean[i])
}

compiled_per_path! {
    /// Replaces sums by the potential that follows from them. Returns the least potential + lean.
    fn potential_of_sums(
        potential: &mut [Row<f64>],
        log_mass: &[Row<f64>],
        lean: Option<&[Row<f64>]>,
        tau: f64,
    ) -> f64 {
        let mut least = [f64::INFINITY; LANES];
        for (i, (log_mass, potential)) in log_mass.iter().zip(potential).enumerate() {
            let lean = lean_of(lean, i);
            for l in 0..LANES {
                let dead = log_mass[l] <= DEAD;
                let p = -tau * potential[l] - (1.0 - tau) * lean[l];
                potential[l] = if dead { 0.0 } else { p };
                let leaning = if dead { f64::INFINITY } else { p + lean[l] };
                least[l] = if leaning < least[l] { leaning } else { least[l] };
            }
        }
        least.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

compiled_per_path! {
    fn image_and_residual<T: Real>(
        phi: &[Row<f64>],
        image: &mut [Row<f64>],
        mass: &[Row<f64>],
        log_mass: &[Row<f64>],
        lean: Option<&[Row<f64>]>,
        regime: Regime,
    ) -> (f64, f64) {
        let (mut total, mut least) = ([0.0; LANES], [f64::INFINITY; LANES]);
        let zero = [0.0; LANES];
        let per_tau = 1.0 / regime.tau;
        for i in 0..phi.len() {
            let (phi, mass, log_mass, lean) = (&phi[i], &mass[i], &log_mass[i], lean_of(lean, i));
            let image = &mut image[i];
            let (mut gap, mut decay) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                let dead = log_mass[l] <= DEAD;
                let p = -regime.tau * image[l] - (1.0 - regime.tau) * lean[l];
                let p = if dead { 0.0 } else { p };
                image[l] = p;
                let leaning = if dead { f64::INFINITY } else { p + lean[l] };
                least[l] = if leaning < least[l] { leaning } else { least[l] };
                let z = (phi[l] - p) * per_tau;
                gap[l] = if z < 100.0 { z } else { 100.0 };
                let z = -(phi[l] + lean[l]) * regime.ratio;
                decay[l] = if z < 100.0 { z } else { 100.0 };
            }
            let (mut grown, mut weight) = ([T::default(); LANES], [T::default(); LANES]);
            let mut unused = zero;
            exp_row(&gap, 0.0, &zero, &mut grown, &mut unused);
            exp_row(&decay, 0.0, &zero, &mut weight, &mut unused);
            for l in 0..LANES {
                // Near 0 the difference to 1 is taken from the series, not by cancellation.
                let x = gap[l] * LN_2;
                let series = x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0))));
                let off = if x.abs() < 0.05 { series } else { grown[l].to_f64() - 1.0 };
                total[l] += mass[l] * weight[l].to_f64() * off.abs();
            }
        }
        (total.iter().sum(), least.iter().copied().fold(f64::INFINITY, f64::min))
    }
}

compiled_per_path! {
    /// Σ m·2^((least − p − lean)·ratio).
    fn soft_sum<T: Real>(
        potential: &[Row<f64>],
        mass: &[Row<f64>],
        lean: Option<&[Row<f64>]>,
        least: f64,
        ratio: f64,
    ) -> f64 {
        let (mut total, zero) = ([0.0; LANES], [0.0; LANES]);
        for (i, (p, mass)) in potential.iter().zip(mass).enumerate() {
            let lean = lean_of(lean, i);
            let mut z = [0.0; LANES];
            for l in 0..LANES {
                let v = (least - p[l] - lean[l]) * ratio;
                z[l] = if v < 100.0 { v } else { 100.0 };
            }
            let (mut power, mut unused) = ([T::default(); LANES], zero);
            exp_row(&z, 0.0, &zero, &mut power, &mut unused);
            for l in 0..LANES {
                total[l] += mass[l] * power[l].to_f64();
            }
        }
        total.iter().sum()
    }
}

compiled_per_path! {
    fn shift_live(potential: &mut [Row<f64>], log_mass: &[Row<f64>], shift: f64) {
        for (p, log_mass) in potential.iter_mut().zip(log_mass) {
            for l in 0..LANES {
                p[l] = if log_mass[l] <= DEAD { 0.0 } else { p[l] + shift };
            }
        }
    }
}
