//! The descent: iterations from coarse grids and large ε to the full grid and the final ε.

use crate::anderson::{Anderson, depth_for};
use crate::blur::{DEAD, GridSide, LANES, Real, Row, first_half, fit, refill, second_half};
use crate::failure::Failure;
use crate::frame::Pair;
use crate::problem::Problem;
use crate::pyramid::{Level, Pyramid};
use crate::residuals::Residuals;
use crate::scratch::Scratch;
use crate::settings::{Precision, Settings};
use crate::stop_latch::StopLatch;
use crate::sweep::{Engine, Regime, SweepPanels, half_sweep, sweep};
use swathe::Simd;

/// How a descent ended. The potential φ at full resolution is left in `scratch.state.phi`, and the
/// γ that is exact for φ in `scratch.state.panels.gamma`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descent {
    pub iterations: usize,
    pub iterations_coarse: usize,
    pub residual: f64,
    pub converged: bool,
    pub used_f64: bool,
}

/// The iterate and the panels of the iteration. Memory is reused from solve to solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The potential of the source, bits of ε, zero on dead pixels.
    pub phi: Vec<Row<f64>>,
    pub panels: SweepPanels,
    pub anderson: Anderson,
    /// The image of the iterate of least residual.
    pub best_image: Vec<Row<f64>>,
    /// The image of the previous iterate.
    pub image_before: Vec<Row<f64>>,
    /// The iterate to return to when another attempt fails.
    kept: Vec<Row<f64>>,
    /// The residuals of the sweeps of this descent.
    pub residuals: Residuals,
}

impl State {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let own = [&self.phi, &self.best_image, &self.image_before, &self.kept];
        let own: usize = own.iter().map(|p| p.capacity() * size_of::<Row<f64>>()).sum();
        own + self.panels.bytes() + self.anderson.bytes() + self.residuals.bytes()
    }
}

/// Below this tolerance f32 tiles may not reach the residual.
pub(crate) const F32_TOLERANCE: f64 = 1e-6;
/// A level is left for the next finer one when ε reaches this many of its px².
const EPSILON_PER_PX2: f64 = 0.3;
/// The first ε, as a fraction of the squared length of the live box.
const EPSILON_START: f64 = 0.1;
/// ε is multiplied by this from stage to stage.
const EPSILON_STEP: f64 = 0.3;
/// A stage of annealing ends after this many sweeps or at this residual.
const STAGE_SWEEPS: usize = 2;
const STAGE_RESIDUAL: f64 = 0.05;
/// A residual below this that stops falling is limited by rounding, not by a bad start.
const ROUNDING_RESIDUAL: f64 = 1e-5;
/// The most sweeps on a coarse level at its last ε.
const COARSE_SWEEPS: usize = 300;
/// Up to this many bits per px² a level is smooth enough for the next finer level to use its
/// history.
const CARRY_BITS: f64 = 0.4;

/// A potential to start from, instead of the coarse levels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    /// The potential of the source on the live box, row by row, bits of ε.
    pub phi: &'a [f64],
    /// Sweeps that led there: at the final ε, and before it.
    pub iterations: usize,
    pub iterations_coarse: usize,
}

/// Solves the unit problem: from coarse to fine with falling ε or, with `start`, from the given
/// potential at the final ε.
pub(crate) fn descend(
    problem: &Problem,
    pair: &Pair,
    settings: &Settings,
    start: Option<&Start<'_>>,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Descent, Failure> {
    let Scratch { path, pyramid, state, single, double } = scratch;
    // These panels are free until the levels are built, so they hold the images meanwhile.
    let lent =
        [&mut state.best_image, &mut state.image_before, &mut state.phi, &mut state.panels.image];
    pyramid.set(problem, pair, lent);
    state.anderson.reserve(pyramid.levels());
    let n_before = start.map_or(0, |start| start.iterations + start.iterations_coarse);
    state.residuals.start(n_before);
    let wants_f64 = match settings.precision {
        Precision::F64 => true,
        Precision::F32 => false,
        Precision::Auto => problem.tolerance < F32_TOLERANCE,
    };
    let n_max = settings.max_iterations;
    if wants_f64 {
        let first = begin(*path, problem, pyramid, n_max, start, state, double, watch)?;
        return persist(*path, problem, pyramid, n_max, first, state, double, watch);
    }
    let first = begin(*path, problem, pyramid, n_max, start, state, single, watch)?;
    if settings.precision == Precision::F32 {
        return persist(*path, problem, pyramid, n_max, first, state, single, watch);
    }
    if first.converged || first.iterations >= n_max {
        return Ok(first);
    }
    // f32 no longer makes progress: continue in f64 from its best iterate.
    let level = &pyramid.levels()[0];
    let regime = Regime::new(problem.epsilon, problem.relaxations);
    let goal =
        Goal { residual: problem.tolerance, n_max: n_max - first.iterations, gives_up: true };
    let second = iterate(*path, level, regime, goal, state, double, watch)?;
    let second = Descent { used_f64: true, ..first.then(second, problem) };
    persist(*path, problem, pyramid, n_max, second, state, double, watch)
}

impl Descent {
    fn then(self, more: Iterated, problem: &Problem) -> Descent {
        Descent {
            iterations: self.iterations + more.iterations,
            residual: more.residual,
            converged: more.residual <= problem.tolerance,
            ..self
        }
    }
}

/// Continues an iteration that got stuck. Anneals again on the full grid, with smaller steps and
/// solving every stage, as very sharp kernels need; then iterates until the sweeps run out. Keeps
/// the best iterate at the final ε.
#[allow(clippy::too_many_arguments)]
fn persist<T: Real>(
    path: Simd,
    problem: &Problem,
    pyramid: &Pyramid,
    n_max: usize,
    mut so_far: Descent,
    state: &mut State,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> Result<Descent, Failure> {
    let level = &pyramid.levels()[0];
    let rounds: &[(f64, f64)] = if so_far.residual < ROUNDING_RESIDUAL {
        &[(1.0, 1.0)]
    } else {
        &[(128.0, 0.6), (128.0, 0.85), (1.0, 1.0)]
    };
    for (from, step) in rounds {
        if so_far.converged || so_far.iterations >= n_max {
            break;
        }
        fit(&mut state.kept, state.phi.len(), [0.0; LANES]);
        state.kept.copy_from_slice(&state.phi);
        let gives_up = *from > 1.0;
        let mut epsilon = from * problem.epsilon;
        rescale(&mut state.phi, &level.source, 1.0 / from);
        let again = loop {
            let at_last = epsilon <= problem.epsilon;
            let n_left = n_max - so_far.iterations;
            let goal = if at_last {
                Goal { residual: problem.tolerance, n_max: n_left, gives_up }
            } else {
                Goal { residual: 1e-4, n_max: n_left.min(COARSE_SWEEPS), gives_up: true }
            };
            let regime = Regime::new(epsilon, problem.relaxations);
            let more = iterate(path, level, regime, goal, state, engine, watch)?;
            so_far.iterations += more.iterations;
            if at_last {
                break more.residual;
            }
            if so_far.iterations >= n_max {
                break f64::INFINITY;
            }
            let next = (step * epsilon).max(problem.epsilon);
            rescale(&mut state.phi, &level.source, epsilon / next);
            epsilon = next;
        };
        if again < so_far.residual {
            so_far.residual = again;
            so_far.converged = again <= problem.tolerance;
        } else {
            std::mem::swap(&mut state.phi, &mut state.kept);
            let regime = Regime::new(problem.epsilon, problem.relaxations);
            engine.set(path, level, regime, false);
            let State { phi, panels, .. } = &mut *state;
            half_sweep(path, level, regime, phi, panels, engine, watch);
            watch.check()?;
        }
    }
    Ok(so_far)
}

#[allow(clippy::too_many_arguments)]
fn begin<T: Real>(
    path: Simd,
    problem: &Problem,
    pyramid: &Pyramid,
    n_max: usize,
    start: Option<&Start<'_>>,
    state: &mut State,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> Result<Descent, Failure> {
    let Some(start) = start else {
        return walk(path, problem, pyramid, n_max, state, engine, watch);
    };
    let level = &pyramid.levels()[0];
    refill(&mut state.phi, level.source.n_rows(), [0.0; LANES]);
    level.source.for_live(|row, lane, y, x| {
        state.phi[row][lane] = start.phi[y * problem.shape.w_px + x];
    });
    let goal = Goal {
        residual: aim::<T>(problem),
        n_max: n_max.saturating_sub(start.iterations).max(1),
        gives_up: true,
    };
    let regime = Regime::new(problem.epsilon, problem.relaxations);
    let more = iterate(path, level, regime, goal, state, engine, watch)?;
    let so_far = Descent {
        iterations: start.iterations,
        iterations_coarse: start.iterations_coarse,
        residual: f64::INFINITY,
        converged: false,
        used_f64: T::N_ROWS == f64::N_ROWS,
    };
    Ok(so_far.then(more, problem))
}

/// The residual to iterate to.
fn aim<T: Real>(problem: &Problem) -> f64 {
    // f32 residuals are off by a few 1e-8, so f32 iterates to slightly below the tolerance.
    if T::N_ROWS == f32::N_ROWS { 0.97 * problem.tolerance } else { problem.tolerance }
}

#[allow(clippy::too_many_arguments)]
fn walk<T: Real>(
    path: Simd,
    problem: &Problem,
    pyramid: &Pyramid,
    n_max: usize,
    state: &mut State,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> Result<Descent, Failure> {
    let levels = pyramid.levels();
    let longest = problem.shape.h_px.max(problem.shape.w_px) as f64 * problem.work_px;
    let mut epsilon = (EPSILON_START * longest * longest).max(problem.epsilon);
    let px2 = |l: usize| levels[l].px * levels[l].px;
    let floor = |l: usize| EPSILON_PER_PX2 * px2(l);
    // A pooled pixel stands for a square of pixels. The positions in the square where mass starts
    // and where it ends have variance px²/12 each, which adds to the kernel's own variance of ε/2.
    let last_epsilon = |l: usize| problem.epsilon + (px2(l) - px2(0)) / 3.0;
    let mut l = levels.len() - 1;
    while l > 0 && floor(l) > epsilon {
        l -= 1;
    }
    refill(&mut state.phi, levels[l].source.n_rows(), [0.0; LANES]);
    let aim = aim::<T>(problem);
    let mut iterations_coarse = 0;
    loop {
        let level = &levels[l];
        let least = if l == 0 { problem.epsilon } else { floor(l).max(last_epsilon(l)) };
        epsilon = epsilon.max(least);
        let mut last;
        let mut gamma_is_exact;
        loop {
            let regime = Regime::new(epsilon, problem.relaxations);
            let at_last = epsilon <= last_epsilon(l);
            let goal = match (at_last, l) {
                (true, 0) => Goal { residual: aim, n_max, gives_up: true },
                // Slow modes are smooth, and removing them here is cheaper than on the fine grid.
                (true, _) => Goal { residual: aim, n_max: COARSE_SWEEPS, gives_up: true },
                (false, _) => {
                    Goal { residual: STAGE_RESIDUAL, n_max: STAGE_SWEEPS, gives_up: false }
                }
            };
            last = iterate(path, level, regime, goal, state, engine, watch)?;
            if !(at_last && l == 0) {
                iterations_coarse += last.iterations;
            }
            gamma_is_exact = at_last;
            if !at_last {
                std::mem::swap(&mut state.phi, &mut state.panels.image);
            }
            if epsilon <= least {
                break;
            }
            let next = (EPSILON_STEP * epsilon).max(least);
            rescale(&mut state.phi, &level.source, epsilon / next);
            epsilon = next;
        }
        if l == 0 {
            return Ok(Descent {
                iterations: last.iterations,
                iterations_coarse,
                residual: last.residual,
                converged: last.residual <= problem.tolerance,
                used_f64: T::N_ROWS == f64::N_ROWS,
            });
        }
        let regime = Regime::new(epsilon, problem.relaxations);
        let fine = &levels[l - 1];
        if gamma_is_exact {
            // φ is evaluated at fine source pixels, so only the spread within the target's coarse
            // pixels remains: half of the surplus in ε.
            let next = last_epsilon(l - 1);
            let between = 0.5 * (epsilon + next);
            rescale(&mut state.panels.gamma, &level.target, epsilon / between);
            let regime = Regime::new(between, problem.relaxations);
            prolong(path, level, fine, regime, state, engine, watch);
            rescale(&mut state.phi, &fine.source, between / next);
            if regime.sharpness(level.px) <= CARRY_BITS {
                state.anderson.carry(path, &level.source, &fine.source);
            }
            epsilon = next;
        } else {
            let State { phi, panels, .. } = &mut *state;
            half_sweep(path, level, regime, phi, panels, engine, watch);
            prolong(path, level, fine, regime, state, engine, watch);
        }
        watch.check()?;
        l -= 1;
    }
}

/// Rescales φ for a changed ε so that f = ε·(φ + lean) stays the same.
fn rescale(phi: &mut [Row<f64>], side: &GridSide, by: f64) {
    let Some(lean) = side.lean() else {
        phi.iter_mut().flatten().for_each(|phi| *phi *= by);
        return;
    };
    for ((phi, lean), log_mass) in phi.iter_mut().zip(lean).zip(&side.log_mass) {
        for l in 0..LANES {
            let live = log_mass[l] > DEAD;
            let scaled = (phi[l] + lean[l]) * by - lean[l];
            phi[l] = if live { scaled } else { 0.0 };
        }
    }
}

/// When the iteration at one ε ends.
#[derive(Clone, Copy, Debug)]
struct Goal {
    residual: f64,
    n_max: usize,
    /// Whether the iteration also ends when the residual no longer falls.
    gives_up: bool,
}

#[derive(Clone, Copy, Debug)]
struct Iterated {
    iterations: usize,
    residual: f64,
}

/// Iterates at one ε on one level. `state.phi` becomes the iterate whose residual is returned: the
/// last iterate or, if the goal was not reached and the last iterate is not the best, the image of
/// the best iterate. `state.panels` holds the γ and the image of `state.phi`.
fn iterate<T: Real>(
    path: Simd,
    level: &Level,
    regime: Regime,
    goal: Goal,
    state: &mut State,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) -> Result<Iterated, Failure> {
    engine.set(path, level, regime, false);
    let State { phi, panels, anderson, best_image, image_before, residuals, .. } = state;
    panels.resize(level);
    let n_rows = level.source.n_rows();
    let mut depth = depth_for(n_rows);
    let mut plain_until = 0;
    anderson.start(depth, n_rows);
    for panel in [&mut *best_image, &mut *image_before] {
        fit(panel, n_rows, [0.0; LANES]);
    }
    // Usually the best iterate is the previous one; its image is then kept in `image_before` only.
    let mut best_is_before = false;
    let mut has_best = false;
    let mut best_residual = f64::INFINITY;
    let mut safeguard = f64::INFINITY;
    let mut n_restarts = 0;
    let mut n_restarts_low = 0;
    let (mut mark, mut mark_at) = (f64::INFINITY, 0);
    let mut it = 0;
    loop {
        it += 1;
        let residual = sweep(path, level, regime, phi, panels, engine, watch);
        watch.check()?;
        residuals.push(residual);
        let ended = |residual| Ok(Iterated { iterations: it, residual });
        if residual <= goal.residual {
            return ended(residual);
        }
        let improved = residual < best_residual;
        best_residual = best_residual.min(residual);
        if best_residual < 0.9 * mark {
            (mark, mark_at) = (best_residual, it);
        }
        // Low residuals that f32 no longer improves are left to f64.
        let low = T::N_ROWS == f32::N_ROWS && best_residual < (30.0 * goal.residual).max(1e-5);
        let stuck = it - mark_at >= if low { 60 } else { 300 } || n_restarts_low >= 3;
        let best = if best_is_before { &*image_before } else { &*best_image };
        if it >= goal.n_max || (goal.gives_up && stuck) {
            let go_back = has_best && !improved && goal.n_max > STAGE_SWEEPS;
            if !go_back {
                return ended(residual);
            }
            phi.copy_from_slice(best);
            let residual = sweep(path, level, regime, phi, panels, engine, watch);
            watch.check()?;
            residuals.amend(residual);
            return ended(residual);
        }
        if !(residual < 3.0 * safeguard) && has_best {
            // Acceleration made it worse: return to the image of the best iterate, without history.
            n_restarts += 1;
            n_restarts_low += usize::from(low);
            phi.copy_from_slice(best);
            safeguard *= 1.5;
            // After every twenty restarts: fifty plain sweeps, then a shorter history.
            if n_restarts % 20 == 0 {
                depth = (depth / 2).max(3);
                plain_until = it + 50;
            }
            anderson.forget();
            continue;
        }
        safeguard = safeguard.min(residual);
        if it == plain_until {
            anderson.reset(depth, n_rows);
        }
        let step = (it >= plain_until)
            .then(|| anderson.step(path, phi, &panels.image, image_before, &level.source.mass));
        if best_is_before && !improved {
            std::mem::swap(best_image, image_before);
            best_is_before = false;
        }
        match step {
            Some(step) => step.finish(path, &panels.image, image_before),
            None => image_before.copy_from_slice(&panels.image),
        }
        // The next iterate was written to `image_before`: it becomes `phi`, the image becomes
        // `image_before`, and the old iterate's memory will hold the next image.
        std::mem::swap(phi, image_before);
        std::mem::swap(&mut panels.image, image_before);
        if improved {
            (has_best, best_is_before) = (true, true);
        }
    }
}

/// Moves φ to the next finer level by its canonical extension: −τ·LSE(γ + log b) of the coarse
/// level, evaluated at the centres of the fine pixels, which are a quarter of a coarse pixel off
/// the coarse centres. Nothing is interpolated, so no value crosses the edge of a mask.
/// `state.panels.gamma` must be exact for φ.
fn prolong<T: Real>(
    path: Simd,
    coarse: &Level,
    fine: &Level,
    regime: Regime,
    state: &mut State,
    engine: &mut Engine<T>,
    watch: &StopLatch<'_>,
) {
    let c = regime.sharpness(coarse.px);
    let side = &fine.source;
    let SweepPanels { image, gamma, between } = &mut state.panels;
    // The best image of the coarse level is no longer needed, so its memory is reused.
    let out = &mut state.best_image;
    refill(out, side.n_rows(), [0.0; LANES]);
    let (from, to) = (&coarse.target, &coarse.source);
    fit(image, to.n_rows(), [0.0; LANES]);
    let quarter = &mut engine.back;
    let scratch = &mut engine.scratch;
    let off = |parity: usize| 0.5 * (parity as f64 - 0.5);
    for parity_x in 0..2 {
        for parity_y in 0..2 {
            quarter.set(path, c, from, to, [off(parity_x), off(parity_y)], false);
            if parity_y == 0 {
                first_half(path, quarter, from, to, gamma, scratch, between, watch);
            }
            second_half(path, quarter, from, to, image, scratch, between, watch);
            side.for_live_of([parity_y, parity_x], |row, lane, y, x| {
                let (coarse_row, coarse_lane) = to.place(y / 2, x / 2);
                let sum = image[coarse_row][coarse_lane];
                let lean = side.lean().map_or(0.0, |lean| lean[row][lane]);
                out[row][lane] = -regime.tau * sum - (1.0 - regime.tau) * lean;
            });
        }
    }
    std::mem::swap(&mut state.phi, &mut state.best_image);
}
