//! Trials: the same pairs solved with several blurs ε and prices ρ, to choose a good combination.

use std::time::Instant;

use swathe::{DeviceKind, Need, Size, Stop, Workload};

use crate::failure::Failure;
use crate::frame::Pair;
use crate::scratch::Scratch;
use crate::settings::Settings;
use crate::sharpness::blur_px;
use crate::solution::Status;
use crate::solve::solve_with;
use crate::summary::summarise;
use crate::workload::Transport;

/// Trials as a workload of the engine. Each trial has its own ε and ρ; those of the settings are
/// ignored.
#[derive(Clone, Debug)]
pub struct Trials(Transport);

/// One pair, one ε, one ρ.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The frames.
    pub pair: Pair,
    /// Entropic blur ε.
    pub epsilon: f64,
    /// Price ρ of creating and destroying mass.
    pub relaxation: f64,
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialFigures {
    /// How the solve ended.
    pub status: Status,
    /// How far the mass of one pixel is spread, px; see [`blur_px`].
    pub blur_px: f64,
    /// Transported mass as a fraction of the smaller of the two frames' masses.
    pub transported_share: f64,
    /// Median displacement of the source's pixels, px.
    pub displacement_px: f64,
    /// Sweeps at full resolution.
    pub iterations: usize,
    /// Time of the solve.
    pub solve_ms: f64,
}

impl Trials {
    /// Trials with these settings, except for ε and ρ.
    pub fn new(settings: Settings) -> Trials {
        let settings = Settings {
            fields: true,
            error_bar: false,
            ..settings
        };
        Trials(Transport { settings })
    }
}

impl Workload for Trials {
    type Problem = Trial;
    type Solution = TrialFigures;
    type Failure = Failure;
    type Scratch = Scratch;
    type Local = ();
    const NAME: &'static str = "trials";

    fn size(&self, trial: &Trial) -> Size {
        self.0.size(&trial.pair)
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        self.0.need(size, on)
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
    ) -> Result<TrialFigures, Failure> {
        let settings = Settings {
            epsilon: trial.epsilon,
            relaxation: trial.relaxation,
            ..self.0.settings.clone()
        };
        let began = Instant::now();
        let solution = solve_with(&trial.pair, &settings, scratch, &|| stop.requested())?;
        let solve_ms = began.elapsed().as_secs_f64() * 1e3;
        let transported = solution.mass_transported;
        let smaller = transported + solution.mass_created.min(solution.mass_destroyed);
        Ok(TrialFigures {
            status: solution.status,
            blur_px: blur_px(&solution, &trial.pair.source).unwrap_or(f64::NAN),
            transported_share: transported / smaller,
            displacement_px: summarise(&solution).map_or(f64::NAN, |s| s.displacement_px.p50),
            iterations: solution.iterations,
            solve_ms,
        })
    }
}

/// The trials of one ε and ρ together: medians over the pairs that have mass on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRow {
    /// Entropic blur ε.
    pub epsilon: f64,
    /// Price ρ of creating and destroying mass.
    pub relaxation: f64,
    /// Pairs that were solved.
    pub n_pairs: usize,
    /// Solved pairs that converged.
    pub n_converged: usize,
    /// How far the mass of one pixel is spread, px.
    pub blur_px: f64,
    /// Transported fraction of the mass.
    pub transported_share: f64,
    /// Displacement, px.
    pub displacement_px: f64,
    /// Sweeps at full resolution.
    pub iterations: usize,
    /// Time per pair.
    pub solve_ms: f64,
}

impl TrialRow {
    /// The row of one ε and ρ; `None` if no pair has mass on both sides.
    pub fn of(epsilon: f64, relaxation: f64, figures: &[TrialFigures]) -> Option<TrialRow> {
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
        let converged = moving.iter().filter(|f| f.status == Status::Converged);
        Some(TrialRow {
            epsilon,
            relaxation,
            n_pairs: moving.len(),
            n_converged: converged.count(),
            blur_px: median(|f| f.blur_px),
            transported_share: median(|f| f.transported_share),
            displacement_px: median(|f| f.displacement_px),
            iterations: median(|f| f.iterations as f64) as usize,
            solve_ms: median(|f| f.solve_ms),
        })
    }
}

/// A choice of ε and ρ among trials, and whether it meets the two criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The chosen row.
    pub row: TrialRow,
    /// Whether its blur is within the requested limit.
    pub is_sharp: bool,
    /// Whether a larger ρ was tried and transports hardly more.
    pub is_level: bool,
}

/// A larger ρ is preferred only if it transports at least this much more of the mass.
const SHARE_STEP: f64 = 0.01;

/// Chooses the largest ε whose blur is at most `blur_max_px`, which is the fastest that is sharp
/// enough, and for this ε the smallest ρ beyond which hardly more mass is transported. Rows with a
/// pair that did not converge are skipped; `None` if no row remains.
///
/// ```
/// use swathe_ot::{TrialRow, choose};
/// let row = |epsilon: f64, relaxation: f64| TrialRow {
///     epsilon,
///     relaxation,
///     n_pairs: 3,
///     n_converged: 3,
///     blur_px: 500.0 * epsilon.sqrt(),
///     transported_share: 1.0 - 0.02 / relaxation,
///     displacement_px: 8.0,
///     iterations: 40,
///     solve_ms: 60.0,
/// };
/// let grid = [1e-4, 1e-3, 1e-2].map(|e| [0.1, 1.0, 10.0, 100.0].map(|r| row(e, r)));
/// let choice = choose(grid.as_flattened(), 6.0).unwrap();
/// assert_eq!((choice.row.epsilon, choice.row.relaxation), (1e-4, 10.0));
/// assert!(choice.is_sharp && choice.is_level);
/// ```
pub fn choose(rows: &[TrialRow], blur_max_px: f64) -> Option<Choice> {
    let mut good: Vec<&TrialRow> = rows
        .iter()
        .filter(|row| row.n_converged == row.n_pairs)
        .collect();
    good.sort_unstable_by(|a, b| {
        let by_price = a.relaxation.total_cmp(&b.relaxation);
        b.epsilon.total_cmp(&a.epsilon).then(by_price)
    });
    // For each ε, largest first: the row with the best ρ.
    let mut choices = good
        .chunk_by(|a, b| a.epsilon == b.epsilon)
        .filter_map(|of_one| {
            let dearest = of_one.last()?;
            let level =
                |row: &&&TrialRow| dearest.transported_share - row.transported_share < SHARE_STEP;
            let row = of_one.iter().find(level)?;
            Some(Choice {
                row: **row,
                is_sharp: row.blur_px <= blur_max_px,
                is_level: row.relaxation < dearest.relaxation,
            })
        });
    let mut last = None;
    let sharp = choices.find(|choice| {
        last = Some(*choice);
        choice.is_sharp
    });
    sharp.or(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, synth};

    fn rows(pairs: &[Pair], epsilons: &[f64], relaxations: &[f64]) -> Vec<TrialRow> {
        let trials = Trials::new(Settings::default());
        let mut scratch = Scratch::new();
        let mut rows = Vec::new();
        for epsilon in epsilons {
            for relaxation in relaxations {
                let figures: Vec<TrialFigures> = pairs
                    .iter()
                    .map(|pair| {
                        let trial = Trial {
                            pair: pair.clone(),
                            epsilon: *epsilon,
                            relaxation: *relaxation,
                        };
                        trials
                            .solve(&trial, &mut scratch, &mut (), &Stop::new())
                            .unwrap()
                    })
                    .collect();
                rows.extend(TrialRow::of(*epsilon, *relaxation, &figures));
            }
        }
        rows
    }

    #[test]
    fn blur_falls_with_epsilon_and_transport_grows_with_the_price() {
        let pairs: Vec<Pair> = (0..3)
            .map(|seed| {
                let change = synth::Change {
                    shift: 0.2,
                    ..synth::Change::default()
                };
                synth::embryo_pair(Shape::new(32, 64), seed, change)
            })
            .collect();
        let (epsilons, relaxations) = ([1e-4, 1e-3, 1e-2], [0.01, 0.1, 1.0, 10.0]);
        let rows = rows(&pairs, &epsilons, &relaxations);
        assert_eq!(rows.len(), 12);
        let at = |e: usize, r: usize| rows[e * 4 + r];
        for r in 0..4 {
            assert!(at(0, r).blur_px < at(1, r).blur_px && at(1, r).blur_px < at(2, r).blur_px);
        }
        for e in 0..3 {
            assert!(at(e, 0).transported_share < at(e, 1).transported_share);
            assert!(at(e, 1).transported_share < at(e, 2).transported_share);
        }
        let choice = choose(&rows, 2.5).unwrap();
        assert_eq!(choice.row.epsilon, 1e-3);
        assert!(choice.row.relaxation >= 1.0 && choice.is_sharp);
        let blurred = choose(&rows, 1e-3).unwrap();
        assert_eq!(blurred.row.epsilon, 1e-4);
        assert!(!blurred.is_sharp);
    }

    #[test]
    fn trials_that_do_not_converge_are_not_chosen() {
        let row = |epsilon: f64, n_converged| TrialRow {
            epsilon,
            relaxation: 1.0,
            n_pairs: 2,
            n_converged,
            blur_px: 1.0,
            transported_share: 1.0,
            displacement_px: 1.0,
            iterations: 1,
            solve_ms: 1.0,
        };
        let choice = choose(&[row(1e-2, 1), row(1e-3, 2)], 3.0).unwrap();
        assert_eq!(choice.row.epsilon, 1e-3);
        assert_eq!(choose(&[row(1e-2, 1)], 3.0), None);
    }
}
