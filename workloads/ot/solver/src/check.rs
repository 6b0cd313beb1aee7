//! Checks of answers from any solver: residuals, gap and true cost.

use crate::failure::{Failure, Side};
use crate::frame::Pair;
use crate::problem::prepare;
use crate::settings::{Reference, Settings};
use crate::shape::Shape;
use crate::solution::Link;
use crate::solve::solve;
use crate::whole_frame::WholeFrame;

/// What an answer to a pair is worth.
///
/// `objective` is the value of the answer's plan, `dual_objective` a lower bound of the minimum, and
/// `gap` how far the first may be above the minimum. A solver that stopped early has a large
/// residual and a large gap, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// L1 residual of the first marginal, divided by the smaller mass. For a plan without
    /// potentials: of the marginal that the plan should have, by the potentials of a solve here.
    pub residual_src: f64,
    /// L1 residual of the second marginal, divided by the smaller mass.
    pub residual_tgt: f64,
    /// True transport cost ⟨P, C⟩ of the plan, scaled units.
    pub cost: f64,
    /// Mass of the plan.
    pub mass_transported: f64,
    /// The minimised value at the plan. For balanced transport without the missed marginals.
    pub objective: f64,
    /// A lower bound of the minimum.
    pub dual_objective: f64,
    /// How far the value of the plan can be above the minimum, cost units. For balanced transport
    /// with the price of repairing the marginals.
    pub gap: f64,
}

impl Checked {
    /// The figures with their names.
    pub fn figures(&self) -> [(&'static str, f64); 7] {
        let Checked {
            residual_src,
            residual_tgt,
            cost,
            mass_transported,
            objective,
            dual_objective,
            gap,
        } = *self;
        [
            ("residual_src", residual_src),
            ("residual_tgt", residual_tgt),
            ("cost", cost),
            ("mass_transported", mass_transported),
            ("objective", objective),
            ("dual_objective", dual_objective),
            ("gap", gap),
        ]
    }
}

/// Checks potentials (f, g) on the whole frame, cost units: P = exp((f ⊕ g − C)/ε)·R. Values off
/// the supports are ignored, also NaN. OTT-JAX's potentials are of this form for the counting measure. All
/// sums are plain f64, so a frame of 256 × 512 pixels takes some seconds.
///
/// ```
/// use swathe_ot::{Pair, Settings, Shape, check, solve, synth};
/// let pair = synth::embryo_pair(Shape::new(16, 24), 1, synth::Change::default());
/// let settings = Settings { potentials: true, ..Settings::default() };
/// let n_px = pair.source.shape.n_px();
/// let bad = check(&pair, &settings, &vec![0.0; n_px], &vec![0.0; n_px])?;
/// assert!(bad.residual_src > 0.01 && bad.gap > 1e-4);
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
///
/// # Errors
/// If the pair or the settings are not valid, the potentials have another number of values or are
/// not finite on the supports, or the settings pool pixels.
pub fn check(pair: &Pair, settings: &Settings, f: &[f64], g: &[f64]) -> Result<Checked, Failure> {
    let grid = grid_of(pair, settings)?;
    for potential in [f, g] {
        if potential.len() != grid.shape.n_px() {
            return Err(Failure::WrongLength { shape: grid.shape, n_values: potential.len() });
        }
    }
    let (f, g) = (
        &on_support(&grid, Side::Source, &grid.a, f)?,
        &on_support(&grid, Side::Target, &grid.b, g)?,
    );
    let found = grid.evaluate(f, g);
    let [src, tgt] = grid.relaxations;
    let off = |mass: &[f64], potential: &[f64], marginal: &[f64], rho: f64| -> f64 {
        let live = (0..mass.len()).filter(|p| mass[*p] > 0.0);
        let wanted = live.map(|p| (mass[p] * (-potential[p] / rho).exp() - marginal[p]).abs());
        wanted.sum()
    };
    let (off_src, off_tgt) = (off(&grid.a, f, &found.mu, src), off(&grid.b, g, &found.nu, tgt));
    let side = |mass: &[f64], potential: &[f64], rho: f64| -> f64 {
        let live = mass.iter().zip(potential).filter(|(mass, _)| **mass > 0.0);
        live.map(
            |(mass, p)| {
                if rho.is_finite() { -rho * mass * (-p / rho).exp_m1() } else { mass * p }
            },
        )
        .sum()
    };
    let mass_transported = found.mu.iter().sum::<f64>();
    let entropy = grid.epsilon * (reference_mass(&grid) - mass_transported);
    let dual_objective = side(&grid.a, f, src) + side(&grid.b, g, tgt) + entropy;
    Ok(judged(
        &grid,
        Checked {
            residual_src: off_src,
            residual_tgt: off_tgt,
            cost: found.cost,
            mass_transported,
            objective: found.objective,
            dual_objective,
            gap: 0.0,
        },
    ))
}

/// A potential with zero off the support, where its values mean nothing.
fn on_support(
    grid: &WholeFrame,
    side: Side,
    mass: &[f64],
    potential: &[f64],
) -> Result<Vec<f64>, Failure> {
    let pixels = mass.iter().zip(potential).enumerate();
    pixels
        .map(|(at, (mass, value))| match (*mass > 0.0, value.is_finite()) {
            (true, true) => Ok(*value),
            (false, _) => Ok(0.0),
            (true, false) => Err(Failure::BadPotential {
                side,
                y_px: at / grid.shape.w_px,
                x_px: at % grid.shape.w_px,
                value: *value,
            }),
        })
        .collect()
}

/// Checks a sparse plan: entries in pixels of the frame, with masses in problem units; entries
/// between the same pixels are added. The lower
/// bound of the minimum comes from a solve here, under the same settings.
///
/// # Errors
/// As [`check`]; and if an entry is outside of the frame, negative or not finite, or joins pixels
/// without mass.
pub fn check_plan(pair: &Pair, settings: &Settings, plan: &[Link]) -> Result<Checked, Failure> {
    let grid = grid_of(pair, settings)?;
    let Shape { h_px, w_px } = grid.shape;
    let (mut mu, mut nu) = (vec![0.0; grid.a.len()], vec![0.0; grid.b.len()]);
    let (mut cost, mut entropy) = (0.0, 0.0);
    for link in &added(plan) {
        let at = |y: u32, x: u32| -> Option<usize> {
            let (y, x) = (y as usize, x as usize);
            (y < h_px && x < w_px).then_some(y * w_px + x)
        };
        let (p, q) = (at(link.src_y_px, link.src_x_px), at(link.tgt_y_px, link.tgt_x_px));
        let bad = |rule| Failure::BadLink { link: *link, rule };
        let (p, q) = p.zip(q).ok_or_else(|| bad("its pixels must be in the frame"))?;
        if !(link.mass >= 0.0 && link.mass.is_finite()) {
            return Err(bad("masses must be finite and not negative"));
        }
        if !(grid.a[p] > 0.0 && grid.b[q] > 0.0) {
            return Err(bad("both pixels must have mass"));
        }
        let dy = f64::from(link.src_y_px) - f64::from(link.tgt_y_px);
        let dx = f64::from(link.src_x_px) - f64::from(link.tgt_x_px);
        cost += link.mass * (dy * dy + dx * dx) * grid.scale * grid.scale;
        mu[p] += link.mass;
        nu[q] += link.mass;
        if link.mass > 0.0 {
            let reference = match grid.reference {
                Reference::Product => grid.a[p] * grid.b[q],
                Reference::Counting => 1.0,
            };
            entropy += link.mass * (link.mass / reference).ln();
        }
    }
    let mass_transported = mu.iter().sum::<f64>();
    let mut objective = cost + grid.epsilon * (entropy - mass_transported + reference_mass(&grid));
    let [src, tgt] = grid.relaxations;
    for (mass, marginal, relaxation) in [(&grid.a, &mu, src), (&grid.b, &nu, tgt)] {
        if relaxation.is_finite() {
            let divergence = mass.iter().zip(marginal).map(|(m, v)| {
                let entropy = if *v > 0.0 { v * (v / m).ln() } else { 0.0 };
                entropy - v + m
            });
            objective += relaxation * divergence.sum::<f64>();
        }
    }
    let own = solve(
        pair,
        &Settings { fields: true, raw_velocity: true, error_bar: false, ..settings.clone() },
    )?;
    let maps = crate::geometry::lift(&own, &pair.source, &pair.target).unwrap_or_default();
    let off = |mass: &[f64], missing: &[f64], marginal: &[f64]| -> f64 {
        let live = (0..mass.len()).filter(|p| mass[*p] > 0.0);
        live.map(|p| (mass[p] - missing[p] - marginal[p]).abs()).sum()
    };
    Ok(judged(
        &grid,
        Checked {
            residual_src: off(&grid.a, &maps.destroyed, &mu),
            residual_tgt: off(&grid.b, &maps.created, &nu),
            cost,
            mass_transported,
            objective,
            dual_objective: own.dual_objective,
            gap: 0.0,
        },
    ))
}

/// The entries with those between the same pixels added up.
fn added(plan: &[Link]) -> Vec<Link> {
    let place = |link: &Link| (link.src_y_px, link.src_x_px, link.tgt_y_px, link.tgt_x_px);
    let mut sorted = plan.to_vec();
    sorted.sort_by_key(place);
    let mut all: Vec<Link> = Vec::with_capacity(sorted.len());
    for link in sorted {
        match all.last_mut() {
            Some(last) if place(last) == place(&link) => last.mass += link.mass,
            _ => all.push(link),
        }
    }
    all
}

/// Completes a check whose residuals are still absolute.
fn judged(grid: &WholeFrame, found: Checked) -> Checked {
    let smaller = grid.a.iter().sum::<f64>().min(grid.b.iter().sum());
    let mut gap = (found.objective - found.dual_objective).max(0.0);
    let Shape { h_px, w_px } = grid.shape;
    let farthest = grid.scale * grid.scale * (h_px * h_px + w_px * w_px) as f64;
    let residuals = [found.residual_src, found.residual_tgt];
    for (relaxation, residual) in grid.relaxations.into_iter().zip(residuals) {
        if !relaxation.is_finite() {
            gap += residual * farthest;
        }
    }
    Checked {
        residual_src: found.residual_src / smaller,
        residual_tgt: found.residual_tgt / smaller,
        gap,
        ..found
    }
}

fn reference_mass(grid: &WholeFrame) -> f64 {
    let count = |mass: &[f64]| mass.iter().filter(|m| **m > 0.0).count() as f64;
    match grid.reference {
        Reference::Product => grid.a.iter().sum::<f64>() * grid.b.iter().sum::<f64>(),
        Reference::Counting => count(&grid.a) * count(&grid.b),
    }
}

/// The problem on the whole frame, for a valid pair with mass on both sides.
fn grid_of(pair: &Pair, settings: &Settings) -> Result<WholeFrame, Failure> {
    let problem = prepare(pair, settings)?;
    for (name, mass) in [("source", problem.mass_src), ("target", problem.mass_tgt)] {
        if !(mass > 0.0) {
            return Err(Failure::BadSetting {
                name,
                value: mass,
                rule: "a check needs mass on both sides",
            });
        }
    }
    if settings.pool != 1 || pair.cut.is_some() {
        return Err(Failure::BadSetting {
            name: "pool",
            value: settings.pool as f64,
            rule: "a check needs whole frames without pooling",
        });
    }
    Ok(WholeFrame::new(pair, settings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solution::Potentials;
    use crate::synth::{Change, embryo_pair};
    use crate::{Coupling, Solution, lift_potentials};

    fn solved(settings: &Settings) -> (Pair, Solution) {
        let pair = embryo_pair(Shape::new(20, 32), 2, Change::default());
        let solution = solve(&pair, settings).unwrap();
        (pair, solution)
    }

    fn all_settings() -> Vec<Settings> {
        let mut all = Vec::new();
        for relaxation in [0.1, 10.0, f64::INFINITY] {
            for reference in [Reference::Product, Reference::Counting] {
                all.push(Settings {
                    relaxation,
                    reference,
                    tolerance: 1e-7,
                    potentials: true,
                    coupling: Coupling::Threshold(1e-14),
                    ..Settings::default()
                });
            }
        }
        all.push(Settings { relaxation_tgt: Some(2.0), ..all[0].clone() });
        all.push(Settings { normalize: false, ..all[0].clone() });
        all
    }

    #[test]
    fn own_answers_pass() {
        for settings in all_settings() {
            let (pair, solution) = solved(&settings);
            let Potentials { f, g } =
                lift_potentials(&solution, &pair.source, &pair.target).unwrap();
            let by_potentials = check(&pair, &settings, &f, &g).unwrap();
            let by_plan = check_plan(&pair, &settings, &solution.coupling).unwrap();
            let case = format!("ρ {} {:?}", settings.relaxation, settings.reference);
            for found in [by_potentials, by_plan] {
                let residual = found.residual_src + found.residual_tgt;
                assert!(residual < 1e-5, "{case}: {found:?}");
                assert!((found.cost / solution.cost - 1.0).abs() < 1e-5, "{case}");
                let off = (found.objective - solution.objective).abs();
                assert!(off < 1e-5 * solution.objective.abs(), "{case}: {found:?}");
                let off = (found.dual_objective - solution.dual_objective).abs();
                assert!(off < 1e-5 * solution.objective.abs(), "{case}: {found:?}");
                assert!(found.gap < 1e-4 * solution.objective.abs(), "{case}: {found:?}");
            }
        }
    }

    #[test]
    fn an_answer_that_stopped_early_fails() {
        for settings in all_settings() {
            let (pair, good) = solved(&settings);
            let Potentials { f, mut g } =
                lift_potentials(&good, &pair.source, &pair.target).unwrap();
            // A potential that is off by a fifth of ε where y is odd.
            let w_px = pair.source.shape.w_px;
            for (at, g) in g.iter_mut().enumerate() {
                *g += 0.2 * settings.epsilon * ((at / w_px) % 2) as f64;
            }
            let found = check(&pair, &settings, &f, &g).unwrap();
            assert!(found.residual_src + found.residual_tgt > 0.05, "{found:?}");
            assert!(found.gap > 10.0 * good.gap, "{found:?} {}", good.gap);
            // The bound holds for any potentials.
            assert!(found.dual_objective <= good.objective + 1e-9 * good.objective.abs());
            let halved: Vec<Link> = good.coupling.iter().step_by(2).copied().collect();
            let found = check_plan(&pair, &settings, &halved).unwrap();
            assert!(found.residual_src > 0.1, "{found:?}");
        }
    }

    #[test]
    fn parts_of_an_entry_are_added() {
        let settings = &all_settings()[0];
        let (pair, solution) = solved(settings);
        let halves = solution.coupling.iter().map(|link| Link { mass: link.mass / 2.0, ..*link });
        let halves: Vec<Link> = halves.clone().chain(halves).collect();
        let whole = check_plan(&pair, settings, &solution.coupling).unwrap();
        assert_eq!(check_plan(&pair, settings, &halves).unwrap(), whole);
    }

    #[test]
    fn malformed_answers_are_refused() {
        let pair = embryo_pair(Shape::new(20, 32), 2, Change::default());
        let settings = Settings::default();
        let few = check(&pair, &settings, &[0.0; 3], &[0.0; 3]);
        assert_eq!(few.unwrap_err().kind(), "wrong_length");
        let outside = Link { src_y_px: 99, src_x_px: 0, tgt_y_px: 0, tgt_x_px: 0, mass: 0.1 };
        let failure = check_plan(&pair, &settings, &[outside]).unwrap_err();
        assert_eq!(failure.kind(), "bad_link");
        let inside = solve(&pair, &settings).unwrap().geometry.live.unwrap();
        let mut f = vec![0.0; 20 * 32];
        let y_px = inside.y0_px + inside.shape.h_px / 2;
        f[y_px * 32 + inside.x0_px + inside.shape.w_px / 2] = f64::NAN;
        let failure = check(&pair, &settings, &f, &[0.0; 20 * 32]).unwrap_err();
        assert_eq!(failure.kind(), "bad_potential");
    }
}
