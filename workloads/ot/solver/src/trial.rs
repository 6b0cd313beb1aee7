//! Trials: a pair solved with several blurs ε or prices ρ in turn, to choose a good one.

use std::time::Instant;

use swathe::{DeviceKind, Need, Size, Stop, Workload};

use crate::auto_epsilon::{Change, error_limit_px, is_enough};
use crate::failure::Failure;
use crate::frame::Pair;
use crate::motion_doubt::{MotionDoubt, motion_doubt};
use crate::scratch::Scratch;
use crate::settings::{Coupling, Settings};
use crate::sharpness::blur_px;
use crate::solution::{Solution, Status};
use crate::solve::solve_with;
use crate::summary::summarise;
use crate::workload::Transport;

/// Trials as a workload of the engine. Each step of a trial has its own ε and ρ; those of the
/// settings are ignored. Displacements are debiased.
#[derive(Clone, Debug)]
pub struct Trials(Transport);

/// A pair, and what it is solved with.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The frames.
    pub pair: Pair,
    /// From rough to exact: either ε falls or ρ rises. Each step is compared with the next.
    pub steps: Vec<TrialStep>,
}

/// One ε and one ρ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialStep {
    /// Entropic blur ε.
    pub epsilon: f64,
    /// Price ρ of creating and destroying mass.
    pub relaxation: f64,
}

/// The result of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialFigures {
    /// How the solve ended.
    pub status: Status,
    /// How far the mass of one pixel is spread, px; see [`blur_px`].
    pub blur_px: f64,
    /// Median displacement of the source's pixels, px.
    pub displacement_px: f64,
    /// Error of the displacement, px: its change to the next step, extrapolated to ε = 0 or ρ = ∞.
    /// The error is proportional to ε and to 1/ρ; that of the last step follows from the one before.
    /// NaN if there is nothing to compare with.
    pub error_px: f64,
    /// Why the motion is in doubt.
    pub doubt: Option<MotionDoubt>,
    /// Transported mass as a fraction of the smaller of the two frames' masses.
    pub transported_share: f64,
    /// Mass that is created instead of moved, as a fraction of the target's.
    pub created_share: f64,
    /// Sweeps at full resolution.
    pub iterations: usize,
    /// Time of the solve.
    pub solve_ms: f64,
}

impl Trials {
    /// Trials with these settings, except for ε and ρ.
    pub fn new(settings: Settings) -> Trials {
        let settings = Settings {
            relaxation_tgt: None,
            raw_velocity: false,
            error_bar: false,
            fields: true,
            potentials: false,
            target_cost: false,
            coupling: Coupling::None,
            ..settings
        };
        Trials(Transport { settings })
    }
}

impl Workload for Trials {
    type Problem = Trial;
    type Solution = Vec<TrialFigures>;
    type Failure = Failure;
    type Scratch = Scratch;
    type Local = ();
    const NAME: &'static str = "trials";

    fn size(&self, trial: &Trial) -> Size {
        self.0.size(&trial.pair)
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        self.0.need_to_compare(size, on, 1024)
    }

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn local(&self) {}

    fn solve(
        &self,
        trial: &Trial,
        scratch: &mut Scratch,
        _: &mut (),
        stop: &Stop,
    ) -> Result<Vec<TrialFigures>, Failure> {
        let mut all: Vec<TrialFigures> = Vec::with_capacity(trial.steps.len());
        let mut before: Option<(TrialStep, Solution)> = None;
        for step in &trial.steps {
            let settings = Settings {
                epsilon: step.epsilon,
                relaxation: step.relaxation,
                ..self.0.settings.clone()
            };
            let began = Instant::now();
            let solution = solve_with(&trial.pair, &settings, scratch, &|| stop.requested())?;
            let solve_ms = began.elapsed().as_secs_f64() * 1e3;
            let mut error_px = f64::NAN;
            if let (Some((rough, earlier)), Some(last)) = (&before, all.last_mut())
                && [earlier.status, solution.status] == [Status::Converged; 2]
            {
                let change_px = Change::between(earlier, &solution, &trial.pair).largest_px();
                // What is left of the error from one step to the next.
                let left = step.epsilon / rough.epsilon * (rough.relaxation / step.relaxation);
                last.error_px = change_px / (1.0 - left);
                error_px = left * last.error_px;
            }
            let transported = solution.mass_transported;
            let smaller = transported + solution.mass_created.min(solution.mass_destroyed);
            all.push(TrialFigures {
                status: solution.status,
                blur_px: blur_px(&solution, &trial.pair.source).unwrap_or(f64::NAN),
                displacement_px: summarise(&solution).map_or(f64::NAN, |s| s.displacement_px.p50),
                error_px,
                doubt: motion_doubt(&solution, &trial.pair),
                transported_share: transported / smaller,
                created_share: solution.mass_created_clamped
                    / (transported + solution.mass_created),
                iterations: solution.iterations,
                solve_ms,
            });
            before = Some((*step, solution));
        }
        Ok(all)
    }
}

/// One step of all trials together: medians over the pairs that have mass on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRow {
    /// The ε and ρ.
    pub step: TrialStep,
    /// Pairs that were solved.
    pub n_pairs: usize,
    /// Solved pairs that converged.
    pub n_converged: usize,
    /// Solved pairs whose error is small.
    pub n_exact: usize,
    /// Solved pairs whose motion is in doubt.
    pub n_doubted: usize,
    /// How far the mass of one pixel is spread, px.
    pub blur_px: f64,
    /// Displacement, px.
    pub displacement_px: f64,
    /// Error of the displacement, px; NaN if it is unknown.
    pub error_px: f64,
    /// Transported fraction of the mass.
    pub transported_share: f64,
    /// Created fraction of the mass.
    pub created_share: f64,
    /// Time per pair.
    pub solve_ms: f64,
}

impl TrialRow {
    /// The row of one step; `None` if no pair has mass on both sides. An error is small if it is at
    /// most 2 % of the median displacement or `floor_px`.
    pub fn of(step: TrialStep, figures: &[TrialFigures], floor_px: f64) -> Option<TrialRow> {
        let moving: Vec<&TrialFigures> = figures
            .iter()
            .filter(|f| matches!(f.status, Status::Converged | Status::MaxIterations))
            .collect();
        if moving.is_empty() {
            return None;
        }
        let median = |of: fn(&TrialFigures) -> f64| {
            let mut values: Vec<f64> = moving.iter().map(|f| of(f)).collect();
            values.sort_unstable_by(f64::total_cmp);
            let middle = values.len() / 2;
            if values.len() % 2 == 1 {
                values[middle]
            } else {
                (values[middle - 1] + values[middle]) / 2.0
            }
        };
        let n = |holds: &dyn Fn(&TrialFigures) -> bool| moving.iter().filter(|f| holds(f)).count();
        Some(TrialRow {
            step,
            n_pairs: moving.len(),
            n_converged: n(&|f| f.status == Status::Converged),
            n_exact: n(&|f| f.error_px <= error_limit_px(f.displacement_px, floor_px)),
            n_doubted: n(&|f| f.doubt.is_some()),
            blur_px: median(|f| f.blur_px),
            displacement_px: median(|f| f.displacement_px),
            error_px: median(|f| f.error_px),
            transported_share: median(|f| f.transported_share),
            created_share: median(|f| f.created_share),
            solve_ms: median(|f| f.solve_ms),
        })
    }

    /// Whether all pairs converged.
    pub fn is_converged(&self) -> bool {
        self.n_converged == self.n_pairs
    }

    /// Whether the displacement is exact enough for three quarters of the pairs.
    pub fn is_exact(&self) -> bool {
        is_enough(self.n_exact, self.n_pairs)
    }
}

/// A choice among the steps of trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The chosen row.
    pub row: TrialRow,
    /// Whether the row is good enough; otherwise it is the most exact one that converged.
    pub is_good: bool,
}

/// Chooses the roughest row from which on all rows are good: the largest ε, or the smallest ρ. Rows
/// are ordered from rough to exact; those with a pair that did not converge are skipped. `None` if
/// no row remains.
///
/// ```
/// use swathe_ot::{TrialRow, TrialStep, choose};
/// let row = |relaxation: f64, error_px: f64| TrialRow {
///     step: TrialStep { epsilon: 1e-3, relaxation },
///     n_pairs: 4,
///     n_converged: 4,
///     n_exact: if error_px < 0.05 { 3 } else { 0 },
///     n_doubted: 0,
///     blur_px: 4.0,
///     displacement_px: 3.0 - error_px,
///     error_px,
///     transported_share: 1.0,
///     created_share: 0.0,
///     solve_ms: 60.0,
/// };
/// // With a tiny price nothing moves, and a larger price changes nothing: that is not exact.
/// let rows = [row(1e-4, 0.0), row(0.1, 0.4), row(1.0, 0.04), row(10.0, 0.004)];
/// let choice = choose(&rows, TrialRow::is_exact).unwrap();
/// assert_eq!(choice.row.step.relaxation, 1.0);
/// assert!(choice.is_good);
/// ```
pub fn choose(rows: &[TrialRow], is_good: impl Fn(&TrialRow) -> bool) -> Option<Choice> {
    let mut choice: Option<Choice> = None;
    for row in rows.iter().rev().filter(|row| row.is_converged()) {
        if !is_good(row) {
            return choice.or(Some(Choice { row: *row, is_good: false }));
        }
        choice = Some(Choice { row: *row, is_good: true });
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Shape, synth};

    fn rows(pairs: &[Pair], steps: &[TrialStep]) -> Vec<TrialRow> {
        let trials = Trials::new(Settings::default());
        let mut scratch = Scratch::new();
        let mut figures = Vec::new();
        for pair in pairs {
            let trial = Trial { pair: pair.clone(), steps: steps.to_vec() };
            let solved = trials.solve(&trial, &mut scratch, &mut (), &Stop::new());
            figures.push(solved.unwrap());
        }
        let of_step = |(at, step): (usize, &TrialStep)| {
            let some: Vec<TrialFigures> = figures.iter().map(|all| all[at]).collect();
            TrialRow::of(*step, &some, 0.01)
        };
        steps.iter().enumerate().filter_map(of_step).collect()
    }

    fn epsilons(values: &[f64]) -> Vec<TrialStep> {
        let step = |&epsilon: &f64| TrialStep { epsilon, relaxation: 10.0 };
        values.iter().map(step).collect()
    }

    fn relaxations(values: &[f64]) -> Vec<TrialStep> {
        let step = |&relaxation: &f64| TrialStep { epsilon: 1e-3, relaxation };
        values.iter().map(step).collect()
    }

    #[test]
    fn blur_falls_with_epsilon_and_transport_grows_with_the_price() {
        let change = synth::Change { shift: 0.2, ..synth::Change::default() };
        let pair = |seed| synth::embryo_pair(Shape::new(32, 64), seed, change);
        let pairs: Vec<Pair> = (0..3).map(pair).collect();
        let by_epsilon = rows(&pairs, &epsilons(&[1e-2, 1e-3, 1e-4]));
        assert!(by_epsilon.is_sorted_by(|a, b| a.blur_px > b.blur_px));
        let by_price = rows(&pairs, &relaxations(&[0.01, 0.1, 1.0, 10.0]));
        assert!(by_price.is_sorted_by(|a, b| a.transported_share < b.transported_share));
        assert!(by_price.is_sorted_by(|a, b| a.created_share > b.created_share));
    }

    /// A disc of radius 8 moved by 6 px: the motion is known.
    #[test]
    fn errors_are_those_of_the_known_motion() {
        let disc = |x0: f64| {
            let is_inside = |at: usize| {
                let (y, x) = ((at / 64) as f64 - 20.0, (at % 64) as f64 - x0);
                y * y + x * x <= 64.0
            };
            let density = (0..40 * 64).map(|at| f64::from(u8::from(is_inside(at))));
            Frame::new(40, 64, density.collect()).unwrap()
        };
        let pair = Pair::new(disc(22.0), disc(28.0));
        let rows = rows(&[pair], &relaxations(&[0.1, 1.0, 10.0, 100.0]));
        for row in &rows {
            let off_px = (row.displacement_px - 6.0).abs();
            // Below a price of 1 the error is no longer proportional to its inverse.
            let is_covered = off_px <= 1.1 * row.error_px + 0.01;
            assert!(row.step.relaxation < 1.0 || is_covered, "{row:?}");
        }
        assert!(rows[0].error_px > 0.3 && !rows[0].is_exact(), "{rows:?}");
        let choice = choose(&rows, TrialRow::is_exact).unwrap();
        assert!(choice.is_good);
        assert!((choice.row.displacement_px / 6.0 - 1.0).abs() < 0.03);
    }

    #[test]
    fn trials_that_do_not_converge_are_not_chosen() {
        let row = |epsilon: f64, n_converged| TrialRow {
            step: TrialStep { epsilon, relaxation: 10.0 },
            n_pairs: 2,
            n_converged,
            n_exact: 2,
            n_doubted: 0,
            blur_px: 1.0,
            displacement_px: 1.0,
            error_px: 0.0,
            transported_share: 1.0,
            created_share: 0.0,
            solve_ms: 1.0,
        };
        let choice = choose(&[row(1e-2, 1), row(1e-3, 2)], TrialRow::is_exact).unwrap();
        assert_eq!(choice.row.step.epsilon, 1e-3);
        assert_eq!(choose(&[row(1e-2, 1)], TrialRow::is_exact), None);
        let rough = choose(&[row(1e-2, 2), row(1e-3, 2)], |_| false).unwrap();
        assert_eq!((rough.row.step.epsilon, rough.is_good), (1e-3, false));
    }
}
