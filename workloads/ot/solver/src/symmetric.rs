//! The symmetric iteration: the potential of a frame transported onto itself.

use crate::blur::{GridSide, LANES, Real, Row, exp_row, fit, refill, turn};
use crate::descent::{Descent, F32_TOLERANCE, State};
use crate::failure::Failure;
use crate::frame::Pair;
use crate::problem::Problem;
use crate::pyramid::Level;
use crate::scratch::Scratch;
use crate::settings::{Precision, Settings};
use crate::simd::compiled_per_path;
use crate::stop_latch::StopLatch;
use crate::sweep::{Engine, Regime, SweepPanels, half_sweep};
use std::f64::consts::LN_2;
use swathe::Simd;

/// The share of the image in the next iterate. The image's derivative is −τ times the plan's
/// operator, whose eigenvalues lie between 0 and 1: with 2/3 every error shrinks by a factor of at
/// least three per half sweep, whatever ε is. That is why no coarse grids are needed.
const IMAGE_SHARE: f64 = 2.0 / 3.0;
/// The residual to reach, in tolerances of the pair. A pair's error is in the modes that converge
/// slowly; here all modes converge alike, and at ten tolerances of 1e-5 the displacement is off by
/// 1e-4 px at most.
const TOLERANCES: f64 = 10.0;
/// The depth of the history of the acceleration. The spectrum is short, so little is enough.
const HISTORY_DEPTH: usize = 5;
/// Half sweeps without progress after which f32 is given up.
const STUCK_SWEEPS: usize = 12;

/// Solves the unit problem of a pair whose two frames are the same: φ = −τ·LSE(φ + log a). Leaves φ
/// and the γ that is exact for it in `scratch`, as `descend` does; both are the same potential up
/// to the residual. An iteration is half a sweep.
pub(crate) fn settle(
    problem: &Problem,
    pair: &Pair,
    settings: &Settings,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Descent, Failure> {
    let Scratch { path, pyramid, state, single, double } = scratch;
    let lent =
        [&mut state.best_image, &mut state.image_before, &mut state.phi, &mut state.panels.image];
    pyramid.set_finest(problem, pair, lent);
    let level = &pyramid.levels()[0];
    let regime = Regime::new(problem.epsilon, problem.relaxations);
    refill(&mut state.phi, level.source.n_rows(), [0.0; LANES]);
    state.residuals.start(0);
    let wants_f64 = match settings.precision {
        Precision::F64 => true,
        Precision::F32 => false,
        Precision::Auto => problem.tolerance < F32_TOLERANCE,
    };
    let n_max = settings.max_iterations;
    let goal = TOLERANCES * problem.tolerance;
    let first = if wants_f64 {
        start(*path, level, regime, state, double, watch)?;
        iterate(*path, level, regime, goal, n_max, state, double, watch)?
    } else {
        start(*path, level, regime, state, single, watch)?;
        iterate(*path, level, regime, goal, n_max, state, single, watch)?
    };
    let n_left = n_max - first.iterations;
    if first.converged || n_left == 0 || settings.precision != Precision::Auto || wants_f64 {
        return Ok(first);
    }
    let second = iterate(*path, level, regime, goal, n_left, state, double, watch)?;
    Ok(Descent { iterations: first.iterations + second.iterations, ..second })
}

/// The first iterate: half the image of zero. Where the mass varies little within the blur this is
/// the solution already, up to the rim.
fn start<T: Real>(
    path: Simd,
    level: &Level,
    regime: Regime,
    state: &mut State,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> Result<(), Failure> {
    engine.set(path, level, regime, false);
    let State { phi, panels, .. } = state;
    panels.resize(level);
    half_sweep(path, level, regime, phi, panels, engine, watch);
    watch.check()?;
    transpose(path, &level.target, &panels.gamma, phi);
    phi.iter_mut().flatten().for_each(|phi| *phi *= 0.5);
    Ok(())
}

/// Iterates φ ← φ + ⅔·(T(φ) − φ), accelerated. Ends at the goal, after `n_max` half sweeps, or when
/// the residual no longer falls.
#[allow(clippy::too_many_arguments)]
fn iterate<T: Real>(
    path: Simd,
    level: &Level,
    regime: Regime,
    goal: f64,
    n_max: usize,
    state: &mut State,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> Result<Descent, Failure> {
    engine.set(path, level, regime, false);
    let State { phi, panels, anderson, best_image, image_before, .. } = state;
    panels.resize(level);
    let side = &level.source;
    let n_rows = side.n_rows();
    for panel in [&mut *best_image, &mut *image_before] {
        fit(panel, n_rows, [0.0; LANES]);
    }
    anderson.reset(HISTORY_DEPTH, n_rows);
    let (mut best, mut best_at) = (f64::INFINITY, 0);
    let mut iterations = 0;
    loop {
        iterations += 1;
        half_sweep(path, level, regime, phi, panels, engine, watch);
        watch.check()?;
        let SweepPanels { image, gamma, .. } = &mut *panels;
        transpose(path, &level.target, gamma, image);
        // Both marginals are off by the same amount.
        let one = step_and_residual::<T>(path, phi, image, &side.mass, side.lean(), regime);
        let residual = 2.0 * one / side.total;
        let stuck = residual > 0.9 * best && iterations - best_at >= STUCK_SWEEPS;
        if residual <= goal || iterations >= n_max || stuck {
            return Ok(Descent {
                iterations,
                iterations_coarse: 0,
                residual,
                converged: residual <= goal,
                used_f64: T::N_ROWS == f64::N_ROWS,
            });
        }
        if !(residual < 3.0 * best) {
            // Acceleration made it worse: go on from the best step, without history.
            phi.copy_from_slice(best_image);
            anderson.forget();
            best *= 1.5;
            continue;
        }
        if residual < 0.9 * best {
            best_at = iterations;
        }
        if residual < best {
            best = residual;
            best_image.copy_from_slice(image);
        }
        let step = anderson.step(path, phi, image, image_before, &side.mass);
        step.finish(path, image, image_before);
        // As in the descent: the next iterate was written to `image_before`.
        std::mem::swap(phi, image_before);
        std::mem::swap(image, image_before);
    }
}

/// Lays a potential of the target out for the source. Both sides are the same frame.
fn transpose(path: Simd, from: &GridSide, potential: &[Row<f64>], out: &mut [Row<f64>]) {
    if from.is_list() {
        out.copy_from_slice(potential);
        return;
    }
    for b in 0..from.n_blocks {
        turn(path, &potential[from.rows_of(b)], b, from.n_lanes, 0.0, out);
    }
}

compiled_per_path! {
    /// Replaces the image of φ by the plain step towards it. Returns the error of one marginal,
    /// Σ a·2^(−φ·ε/ρ)·|2^((φ − image)/τ) − 1|.
    fn step_and_residual<T: Real>(
        phi: &[Row<f64>],
        image: &mut [Row<f64>],
        mass: &[Row<f64>],
        lean: Option<&[Row<f64>]>,
        regime: Regime,
    ) -> f64 {
        let (mut total, zero) = ([0.0; LANES], [0.0; LANES]);
        let per_tau = 1.0 / regime.tau;
        for i in 0..phi.len() {
            let (phi, mass, image) = (&phi[i], &mass[i], &mut image[i]);
            let lean = lean.map_or(&zero, |lean| &lean[i]);
            let (mut gap, mut decay) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                let dead = mass[l] <= 0.0;
                let off = if dead { 0.0 } else { phi[l] - image[l] };
                let z = off * per_tau;
                gap[l] = if z < 100.0 { z } else { 100.0 };
                let z = if dead { 0.0 } else { -(phi[l] + lean[l]) * regime.ratio };
                decay[l] = if z < 100.0 { z } else { 100.0 };
                let next = phi[l] - IMAGE_SHARE * off;
                image[l] = if dead { 0.0 } else { next };
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
        total.iter().sum()
    }
}
