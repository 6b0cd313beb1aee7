//! What a run says of its pairs at its end. The command and Python make these texts by the same
//! function, [`RunWarnings::texts`].

mod sharpness_note;

use std::fmt;

use swathe_ot::{Blurring, MotionDoubt, Settings, Solution, Status, Summary};

use crate::spelling::Spelling;
use sharpness_note::SharpnessNote;

/// Where normalised masses hide a larger change than this, a warning says so.
const MASS_CHANGE_MAX: f64 = 0.05;

/// Frames with mass on a larger share of their pixels than this look like frames with a background.
const FILLED_SHARE: f64 = 0.75;

/// Collects what is to be said of the pairs of a run.
#[derive(Clone, Debug)]
pub struct RunWarnings {
    settings: Settings,
    /// Whether ε was chosen on a sample of the pairs.
    is_epsilon_auto: bool,
    spelling: Spelling,
    n_unconverged: u64,
    residual_max: f64,
    /// Normalised pairs whose total mass changes by more than [`MASS_CHANGE_MAX`].
    n_mass_changed: u64,
    /// Pairs with mass on most pixels.
    n_filled: u64,
    n_without_mass: u64,
    sharpness: SharpnessNote,
    /// Pairs with mass in both frames.
    n_moved: u64,
    n_doubted: u64,
    /// The first pair whose motion is in doubt: its row, its name and why.
    first_doubted: Option<(usize, String, MotionDoubt)>,
}

/// What warnings are made of: the figures of one pair.
#[derive(Clone, Copy, Debug)]
pub struct SolvedPair<'a> {
    /// Its number in the input.
    pub row: usize,
    /// Its name, as an example of pairs like it.
    pub name: fmt::Arguments<'a>,
    /// Why its motion is in doubt.
    pub doubt: Option<MotionDoubt>,
    /// Its solution; maps are not needed.
    pub solution: &'a Solution,
    /// The figures of its displacement field.
    pub summary: Option<&'a Summary>,
    /// Its blur, compared with displacement and width.
    pub blurring: Option<&'a Blurring>,
    /// The share of the source's pixels that have mass.
    pub live_share: f64,
}

impl RunWarnings {
    /// Nothing is known yet of a run with these settings. With `is_epsilon_auto` its ε was chosen on
    /// a sample of the pairs.
    pub fn new(settings: Settings, is_epsilon_auto: bool, spelling: Spelling) -> RunWarnings {
        RunWarnings {
            settings,
            is_epsilon_auto,
            spelling,
            n_unconverged: 0,
            residual_max: 0.0,
            n_mass_changed: 0,
            n_filled: 0,
            n_without_mass: 0,
            sharpness: SharpnessNote::default(),
            n_moved: 0,
            n_doubted: 0,
            first_doubted: None,
        }
    }

    /// Adds a solved pair.
    pub fn add(&mut self, pair: &SolvedPair<'_>) {
        let solution = pair.solution;
        match solution.status {
            Status::Converged => self.n_moved += 1,
            Status::MaxIterations => {
                self.n_moved += 1;
                self.n_unconverged += 1;
                self.residual_max = self.residual_max.max(solution.residual);
            }
            Status::EmptySource | Status::EmptyTarget | Status::BothEmpty => {
                self.n_without_mass += 1;
            }
        }
        // Mass that moves from body to body is not ε's doing.
        if pair.doubt.is_none() {
            self.sharpness.add(pair, &self.settings);
        }
        let (before, after) = (solution.mass_src, solution.mass_tgt);
        if self.settings.normalize && before > 0.0 && after > 0.0 {
            let is_changed = (after / before - 1.0).abs() > MASS_CHANGE_MAX;
            self.n_mass_changed += u64::from(is_changed);
        }
        self.n_filled += u64::from(pair.live_share > FILLED_SHARE);
        if let Some(doubt) = pair.doubt {
            self.n_doubted += 1;
            // Pairs arrive in any order.
            if self.first_doubted.as_ref().is_none_or(|(row, ..)| pair.row < *row) {
                self.first_doubted = Some((pair.row, pair.name.to_string(), doubt));
            }
        }
    }

    /// The pairs that stopped at the largest number of sweeps.
    pub fn n_unconverged(&self) -> u64 {
        self.n_unconverged
    }

    /// The pairs of which a frame has no mass: there was nothing to solve.
    pub fn n_without_mass(&self) -> u64 {
        self.n_without_mass
    }

    /// The warnings, in sentences. A further one is a count in [`add`](Self::add) and a text here.
    pub fn texts(&self) -> Vec<String> {
        let spelling = self.spelling;
        let mut texts = Vec::new();
        if self.n_unconverged > 0 {
            texts.push(format!(
                "{} of the pairs stopped at {} before their residual was below {} (the largest is {:.1e}): see the column status",
                self.n_unconverged,
                spelling.with("max-iterations", self.settings.max_iterations),
                self.settings.tolerance,
                self.residual_max
            ));
        }
        texts.extend(self.sharpness.text(&self.settings, self.is_epsilon_auto, spelling));
        if let Some((_, name, doubt)) = &self.first_doubted {
            texts.push(format!(
                "the motion of {} of {} pairs is in doubt (for example pair {name}: {doubt}): mass changes in one place there, and the plan moves mass between bodies to make up for it; the error bar does not cover that, and {} alone does not mend it. {} (see the column motion_doubt)",
                self.n_doubted,
                self.n_moved,
                spelling.no_normalize(),
                spelling.doubt_advice()
            ));
        }
        if self.n_mass_changed > 0 {
            texts.push(format!(
                "{} of the pairs change their total mass by more than {:.0} %: created and destroyed are relative to normalised mass; {} shows growth (see the column mass_change)",
                self.n_mass_changed,
                100.0 * MASS_CHANGE_MAX,
                spelling.no_normalize()
            ));
        }
        if self.n_filled > 0 {
            texts.push(format!(
                "{} of the pairs have mass on more than {:.0} % of their pixels, as frames with a background have: displacement_* counts all of these pixels alike, and a background hardly moves; {} (velocity_mean_* and translation_* weigh by mass)",
                self.n_filled,
                100.0 * FILLED_SHARE,
                spelling.background_off()
            ));
        }
        texts
    }
}
