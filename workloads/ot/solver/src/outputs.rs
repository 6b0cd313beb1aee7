//! The solution from the final potentials: figures, maps, potentials and entries of the plan.

use crate::blur::{LANES, MomentRows, Real, Row, fit, moment_sums};
use crate::coupling::links;
use crate::descent::{Descent, State};
use crate::failure::Failure;
use crate::frame::{Frame, Pair};
use crate::problem::Problem;
use crate::pyramid::Level;
use crate::residuals::Residuals;
use crate::scratch::Scratch;
use crate::settings::{Reference, Settings};
use crate::shape::Shape;
use crate::simd::compiled_per_path;
use crate::solution::{Fields, Potentials, Solution, Status};
use crate::stop_latch::StopLatch;
use crate::sweep::{Engine, Regime, SweepPanels};
use std::f64::consts::LN_2;
use swathe::Simd;

/// Which maps are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maps {
    None,
    /// The velocity alone.
    Velocity,
    All,
}

impl Maps {
    /// The maps that the settings ask for.
    pub(crate) fn of(settings: &Settings) -> Maps {
        if settings.fields { Maps::All } else { Maps::None }
    }
}

/// Computes the solution from the potentials that the descent left in `scratch`.
pub(crate) fn outputs(
    problem: &Problem,
    settings: &Settings,
    maps: Maps,
    descent: &Descent,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Solution, Failure> {
    let Scratch { path, pyramid, state, single, double } = scratch;
    let level = &pyramid.levels()[0];
    let (a, b) = (&level.source, &level.target);
    let n_rows = (a.n_blocks * b.n_lanes).max(b.n_blocks * a.n_lanes);
    // The descent is over, so the memory of its history and images is reused here.
    let State { phi, panels, anderson, best_image, image_before, residuals, .. } = state;
    let at = (*path, problem, settings, maps, descent, level);
    let solution = if descent.used_f64 {
        for panel in [&mut *best_image, &mut *image_before] {
            fit(panel, n_rows, [0.0; LANES]);
        }
        measure(at, phi, panels, double, [best_image, image_before], watch)
    } else {
        let (mean, square) = anderson.lend(2 * n_rows).split_at_mut(n_rows);
        measure(at, phi, panels, single, [mean, square], watch)
    };
    let mass = problem.mass_a.min(problem.mass_b);
    Ok(Solution { residuals: residuals.scaled(problem.plan_scale, mass), ..solution? })
}

/// The inputs of [`measure`] that are the same for both number types.
type Place<'a> = (Simd, &'a Problem, &'a Settings, Maps, &'a Descent, &'a Level);

fn measure<T: Real>(
    (path, problem, settings, maps, descent, level): Place<'_>,
    phi: &[Row<f64>],
    panels: &mut SweepPanels,
    engine: &mut Engine<T>,
    [mean, square]: [&mut [Row<T>]; 2],
    watch: &StopLatch<'_>,
) -> Result<Solution, Failure> {
    let regime = Regime::new(problem.epsilon, problem.relaxations);
    engine.set(path, level, regime, true);
    let (a, b) = (&level.source, &level.target);
    let SweepPanels { gamma, between, .. } = panels;
    let gamma = &*gamma;

    let n_px = problem.shape.n_px();
    let w_px = problem.shape.w_px;
    let map = || {
        if maps == Maps::All { vec![f64::NAN; n_px] } else { Vec::new() }
    };
    let mut fields = Fields {
        velocity_yx_px: if maps != Maps::None { vec![[f64::NAN; 2]; n_px] } else { Vec::new() },
        velocity_raw_yx_px: Vec::new(),
        created: map(),
        destroyed: map(),
        cost_map: map(),
        target_cost_map: if settings.target_cost { map() } else { Vec::new() },
    };
    let zeros = || {
        if settings.potentials { vec![0.0; n_px] } else { Vec::new() }
    };
    let mut potentials = Potentials { f: zeros(), g: zeros() };
    let bits = problem.epsilon * LN_2;
    let pool = settings.pool as f64;
    let (scale, px2) = (problem.plan_scale, problem.work_px * problem.work_px);
    let log_scale = scale.log2();
    let (mut source, mut target) =
        (Account::new(scale / problem.mass_a), Account::new(scale / problem.mass_b));
    let mut cost = 0.0;
    let [shift, shift_tgt] = problem.potential_shifts();
    let lean_at = |lean: Option<&[Row<f64>]>, row: usize, lane: usize| {
        lean.map_or(0.0, |lean| lean[row][lane])
    };
    let mut marginals = vec![[0.0; LANES]; a.n_line.max(b.n_line)];
    let mut relaxed = vec![[0.0; LANES]; a.n_line];
    let mut take = |block: usize, moments: MomentRows<'_, T>| {
        let rows = a.rows_of(block);
        let first = rows.start;
        let sums = &moments.log;
        marginal_of(
            path,
            &a.mass[rows.clone()],
            &phi[rows.clone()],
            sums,
            log_scale,
            &mut marginals,
        );
        relaxed_mass(
            path,
            &a.mass[rows.clone()],
            &phi[rows.clone()],
            a.lean().map(|lean| &lean[rows]),
            regime.ratio,
            log_scale,
            &mut relaxed,
        );
        a.for_live_in(block, |row, lane, y, x| {
            let (at, i) = (y * w_px + x, row - first);
            let mu = marginals[i][lane];
            let mass = problem.mass_a * a.mass[row][lane];
            let potential = bits * (phi[row][lane] + lean_at(a.lean(), row, lane)) + shift;
            source.add(mass, mu, phi[row][lane] + moments.log[i][lane], potential);
            source.add_dual(mass, relaxed[i][lane], potential);
            let pixel_cost = mu * moments.square[i][lane].to_f64() * px2;
            cost += pixel_cost;
            if maps != Maps::None {
                fields.velocity_yx_px[at] = [
                    moments.across[i][lane].to_f64() * pool,
                    moments.along[i][lane].to_f64() * pool,
                ];
            }
            if maps == Maps::All {
                fields.destroyed[at] = mass - mu;
                fields.cost_map[at] = pixel_cost;
            }
            if settings.potentials {
                potentials.f[at] = potential;
            }
        });
    };
    moment_sums(
        path,
        &engine.back,
        b,
        a,
        gamma,
        &mut engine.scratch,
        between,
        [&mut *mean, &mut *square],
        watch,
        &mut take,
    );
    watch.check()?;
    if maps == Maps::All && settings.target_cost {
        let c = regime.sharpness(level.px);
        engine.there.set(path, c, a, b, [0.0; 2], true);
        let target_cost = &mut fields.target_cost_map;
        let mut take = |block: usize, moments: MomentRows<'_, T>| {
            let first = b.rows_of(block).start;
            b.for_live_in(block, |row, lane, y, x| {
                target_cost[y * w_px + x] = moments.square[row - first][lane].to_f64() * px2;
            });
        };
        moment_sums(
            path,
            &engine.there,
            a,
            b,
            phi,
            &mut engine.scratch,
            between,
            [mean, square],
            watch,
            &mut take,
        );
        watch.check()?;
    }
    let shift = shift_tgt;
    // γ is exact for φ, so the second marginal is the relaxed target mass.
    for block in 0..b.n_blocks {
        let rows = b.rows_of(block);
        let (mass, lean) = (&b.mass[rows.clone()], b.lean().map(|lean| &lean[rows.clone()]));
        let gammas = &gamma[rows.clone()];
        relaxed_mass(path, mass, gammas, lean, regime.ratio_tgt, log_scale, &mut marginals);
        b.for_live_in(block, |row, lane, y, x| {
            let at = y * w_px + x;
            let leaning = gamma[row][lane] + lean_at(b.lean(), row, lane);
            let nu = marginals[row - rows.start][lane];
            let mass = problem.mass_b * b.mass[row][lane];
            let potential = bits * leaning + shift;
            target.add(mass, nu, -leaning * regime.ratio_tgt, potential);
            target.add_dual(mass, nu, potential);
            if maps == Maps::All {
                fields.created[at] = mass - nu;
                if let Some(cost) = fields.target_cost_map.get_mut(at) {
                    *cost *= nu;
                }
            }
            if settings.potentials {
                potentials.g[at] = potential;
            }
        });
    }
    let reference_mass = reference_mass(problem, level);
    let mut objective =
        source.dual + target.dual + problem.epsilon * (reference_mass - source.marginal);
    let mut dual_objective = problem.epsilon * (reference_mass - source.marginal);
    let mut gap = 0.0;
    let relaxed: f64 = match problem.relaxations {
        [src, tgt] if src == tgt => {
            if src.is_finite() {
                objective += src * (source.divergence + target.divergence);
                src * (source.unpaid + target.unpaid)
            } else {
                source.linear + target.linear
            }
        }
        relaxations => {
            let sides = relaxations.into_iter().zip([&source, &target]);
            let parts = sides.map(|(relaxation, side)| {
                if relaxation.is_finite() {
                    objective += relaxation * side.divergence;
                    relaxation * side.unpaid
                } else {
                    side.linear
                }
            });
            parts.sum()
        }
    };
    dual_objective += relaxed;
    if !problem.relaxations[0].is_finite() {
        // The plan's first marginal is off by the residual. Moving that much mass across the whole
        // box makes it exact.
        let Shape { h_px, w_px } = problem.shape;
        let farthest = px2 * ((h_px * h_px + w_px * w_px) as f64);
        gap += descent.residual * scale * farthest;
    }
    gap += (objective - dual_objective).max(0.0);
    let coupling = links(problem, settings, level, phi, gamma, regime, watch)?;
    Ok(Solution {
        status: if descent.converged { Status::Converged } else { Status::MaxIterations },
        iterations: descent.iterations,
        iterations_coarse: descent.iterations_coarse,
        residual: descent.residual * scale / problem.mass_a.min(problem.mass_b),
        residuals: Residuals::default(),
        used_f64: descent.used_f64,
        cost,
        cost_px2: cost / (problem.frame_px * problem.frame_px),
        objective,
        dual_objective,
        gap,
        sinkhorn_divergence: None,
        error_bar: None,
        mass_src: problem.mass_src,
        mass_tgt: problem.mass_tgt,
        mass_transported: source.marginal,
        mass_created: target.missing,
        mass_destroyed: source.missing,
        mass_created_clamped: target.missing_clamped,
        mass_destroyed_clamped: source.missing_clamped,
        coord_scale: problem.frame_px,
        geometry: problem.geometry,
        fields: (maps != Maps::None).then_some(fields),
        potentials: settings.potentials.then_some(potentials),
        coupling,
    })
}

/// Total of the reference measure R.
pub(crate) fn reference_mass(problem: &Problem, level: &Level) -> f64 {
    match problem.reference {
        Reference::Product => problem.mass_a * problem.mass_b,
        Reference::Counting => level.source.n_live as f64 * level.target.n_live as f64,
    }
}

compiled_per_path! {
    /// m·2^(φ + sum + log_scale).
    fn marginal_of(mass: &[Row<f64>], phi: &[Row<f64>], sums: &[Row<f64>], log_scale: f64, out: &mut [Row<f64>]) {
        for (((mass, phi), sums), out) in mass.iter().zip(phi).zip(sums).zip(out) {
            for l in 0..LANES {
                out[l] = mass[l] * f64::exp2_bits(phi[l] + sums[l] + log_scale);
            }
        }
    }
}

compiled_per_path! {
    /// m·2^(log_scale − (γ + lean)·ε/ρ).
    fn relaxed_mass(
        mass: &[Row<f64>],
        gamma: &[Row<f64>],
        lean: Option<&[Row<f64>]>,
        ratio: f64,
        log_scale: f64,
        out: &mut [Row<f64>],
    ) {
        for (i, ((mass, gamma), out)) in mass.iter().zip(gamma).zip(out).enumerate() {
            let lean = lean.map_or(&[0.0; LANES], |lean| &lean[i]);
            for l in 0..LANES {
                out[l] = mass[l] * f64::exp2_bits(log_scale - (gamma[l] + lean[l]) * ratio);
            }
        }
    }
}

/// Totals over the pixels of one side.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Natural logarithm of plan scale per mass.
    log_scale: f64,
    marginal: f64,
    missing: f64,
    missing_clamped: f64,
    /// Σ marginal·potential.
    dual: f64,
    /// KL(marginal | mass).
    divergence: f64,
    /// Σ mass·(1 − exp(−potential/ρ)): the side's part of the dual, per ρ.
    unpaid: f64,
    /// Σ mass·potential: the same if ρ is infinite.
    linear: f64,
}

impl Account {
    fn new(scale: f64) -> Account {
        Account { log_scale: scale.ln(), ..Account::default() }
    }

    /// `log_ratio` is log2 of the marginal per mass of the unit problem.
    fn add(&mut self, mass: f64, marginal: f64, log_ratio: f64, potential: f64) {
        self.marginal += marginal;
        self.missing += mass - marginal;
        self.missing_clamped += (mass - marginal).max(0.0);
        self.dual += marginal * potential;
        let entropy = marginal * (log_ratio * LN_2 + self.log_scale);
        self.divergence += entropy - marginal + mass;
    }

    /// `relaxed` is mass·exp(−potential/ρ).
    fn add_dual(&mut self, mass: f64, relaxed: f64, potential: f64) {
        self.unpaid += mass - relaxed;
        self.linear += mass * potential;
    }
}

/// The solution of a pair with an empty side: nothing is transported.
pub(crate) fn empty_outputs(problem: &Problem, pair: &Pair, settings: &Settings) -> Solution {
    let status = match (problem.mass_src > 0.0, problem.mass_tgt > 0.0) {
        (true, _) => Status::EmptyTarget,
        (false, true) => Status::EmptySource,
        (false, false) => Status::BothEmpty,
    };
    let (h_px, w_px) = (problem.shape.h_px, problem.shape.w_px);
    let unit = |frame: &Frame, mass: f64| {
        let mut pixels = vec![0.0; h_px * w_px];
        problem.unit_pixels(frame, mass, &mut pixels);
        pixels
    };
    let laid_out = |pixels: Vec<f64>, by: f64| -> Vec<f64> {
        let kept = |v: f64| if v > 0.0 { v * by } else { f64::NAN };
        pixels.into_iter().map(kept).collect()
    };
    let fields = settings.fields.then(|| {
        let source = unit(&pair.source, problem.mass_src);
        Fields {
            velocity_yx_px: vec![[f64::NAN; 2]; h_px * w_px],
            velocity_raw_yx_px: if settings.raw_velocity {
                Vec::new()
            } else {
                vec![[f64::NAN; 2]; h_px * w_px]
            },
            created: laid_out(unit(&pair.target, problem.mass_tgt), problem.mass_b),
            cost_map: laid_out(source.clone(), 0.0),
            destroyed: laid_out(source, problem.mass_a),
            target_cost_map: if settings.target_cost {
                laid_out(unit(&pair.target, problem.mass_tgt), 0.0)
            } else {
                Vec::new()
            },
        }
    });
    // The reference measure of an empty side is zero, so the objective is the relaxation's alone.
    let price = |relaxation: f64, mass: f64| if mass > 0.0 { relaxation * mass } else { 0.0 };
    let [src, tgt] = problem.relaxations;
    let objective = price(src, problem.mass_a) + price(tgt, problem.mass_b);
    Solution {
        status,
        iterations: 0,
        iterations_coarse: 0,
        residual: 0.0,
        residuals: Residuals::default(),
        used_f64: false,
        cost: 0.0,
        cost_px2: 0.0,
        objective,
        dual_objective: objective,
        gap: 0.0,
        sinkhorn_divergence: None,
        error_bar: None,
        mass_src: problem.mass_src,
        mass_tgt: problem.mass_tgt,
        mass_transported: 0.0,
        mass_created: problem.mass_b,
        mass_destroyed: problem.mass_a,
        mass_created_clamped: problem.mass_b,
        mass_destroyed_clamped: problem.mass_a,
        coord_scale: problem.frame_px,
        geometry: problem.geometry,
        fields,
        potentials: None,
        coupling: Vec::new(),
    }
}
