//! The note at the end of a run whose ε is too large for most of its pairs.

use swathe_ot::{BLUR_SHARE_MAX, EPSILON_PX2_MIN, ERROR_PX, Settings, error_limit_px};

use super::SolvedPair;
use crate::spelling::Spelling;

/// Collects how far ε is too large for each pair.
///
/// The plan's own displacement (`--raw-velocity`) has the whole pull of the blur, so the blur is
/// compared with the displacement. Debiasing removes that pull, and a large blur alone does no harm:
/// what counts is the part of the error bar that a smaller ε would change.
#[derive(Clone, Debug, Default)]
pub(super) struct SharpnessNote {
    /// How many times too large the blur or the error of each pair is.
    excesses: Vec<f64>,
    /// The least ε that was proved for all pairs.
    epsilon_least: f64,
}

impl SharpnessNote {
    pub(super) fn add(&mut self, pair: &SolvedPair<'_>, settings: &Settings) {
        let excess = if settings.raw_velocity {
            pair.blurring.map(|blurring| blurring.per_displacement / BLUR_SHARE_MAX)
        } else {
            let bar = pair.solution.error_bar.zip(pair.summary);
            bar.map(|(bar, summary)| {
                bar.epsilon_measured_px() / error_limit_px(summary.displacement_px.p50, ERROR_PX)
            })
        };
        self.excesses.extend(excess.filter(|excess| excess.is_finite()));
        let least = EPSILON_PX2_MIN * pair.solution.coord_scale.powi(2);
        self.epsilon_least = self.epsilon_least.max(least);
    }

    /// The note, if ε is too large for the median pair.
    ///
    /// The error bar's coarse grid bounds what ε may do, so that no other ε is called better: a
    /// smaller one makes the bar narrower. Where ε was chosen on a sample, that was solved with
    /// smaller values, which is better evidence, and the note says so.
    pub(super) fn text(
        &self,
        settings: &Settings,
        is_epsilon_auto: bool,
        spelling: Spelling,
    ) -> Option<String> {
        let mut sorted = self.excesses.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let excess = *sorted.get(sorted.len() / 2)?;
        if excess <= 1.0 {
            return None;
        }
        // The blur is proportional to the root of ε, the error of the debiased displacement to ε.
        let (power, what) = if settings.raw_velocity {
            let raw = match spelling {
                Spelling::Command => "--raw-velocity",
                Spelling::Python => "raw_velocity=True",
            };
            let of_auto = match is_epsilon_auto {
                true => format!(
                    " ({} chooses for the displacement without the pull of the blur)",
                    spelling.auto_epsilon()
                ),
                false => String::new(),
            };
            (
                2,
                format!(
                    "the plan blurs the median pair by {:.2} times its displacement, which {raw} does not take out{of_auto}",
                    excess * BLUR_SHARE_MAX
                ),
            )
        } else {
            let told = format!(
                "the displacement of the median pair may depend on epsilon: that part of its error bar, a bound from a coarse grid, is {excess:.1} times what is small (2 % of the displacement or {ERROR_PX} px)"
            );
            let auto = match is_epsilon_auto {
                true => format!(
                    "; {} took {:e} because no smaller value that it tries, and that was proved, moved most of the sampled pairs",
                    spelling.auto_epsilon(),
                    settings.epsilon
                ),
                false => String::new(),
            };
            (1, told + &auto)
        };
        let better = round_down(settings.epsilon / excess.powi(power));
        let is_proved = better >= self.epsilon_least;
        let value = format!("{better:e}");
        let given = spelling.with("epsilon", &value);
        let advice = match (is_proved, settings.raw_velocity) {
            (true, true) => format!("{given} is better"),
            // Whether it moves the displacement is known by solving with it alone.
            (true, false) => format!("{given} makes the bar narrower"),
            (false, _) => format!(
                "a smaller {} than {:.1e} was not proved for these frames; finer images would help",
                spelling.name("epsilon"),
                self.epsilon_least
            ),
        };
        Some(format!("{what}: {advice}"))
    }
}

/// The next smaller 1 or 3 times a power of ten.
fn round_down(value: f64) -> f64 {
    let power = value.log10().floor() as i32;
    let digit = if value >= 3.0 * 10_f64.powi(power) { 3 } else { 1 };
    format!("{digit}e{power}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_values_are_round() {
        for (value, round) in [(9e-4, 3e-4), (2.9e-4, 1e-4), (1.1e-3, 1e-3), (4e-5, 3e-5)] {
            assert_eq!(round_down(value), round);
        }
    }

    #[test]
    fn the_median_pair_decides() {
        let note =
            |excesses: &[f64]| SharpnessNote { excesses: excesses.to_vec(), epsilon_least: 1e-5 };
        let settings = Settings::default();
        let text = |excesses: &[f64], settings: &Settings, is_auto: bool| {
            note(excesses).text(settings, is_auto, Spelling::Command)
        };
        assert_eq!(text(&[], &settings, false), None);
        assert_eq!(text(&[0.2, 5.0, 0.9], &settings, false), None);
        let told = text(&[0.2, 5.0, 3.0], &settings, false).unwrap();
        assert!(told.ends_with(": --epsilon 3e-4 makes the bar narrower"), "{told}");
        // An ε from a sample is explained in the same words, and none is called better.
        let told = text(&[0.2, 5.0, 3.0], &settings, true).unwrap();
        for words in
            ["may depend on epsilon", "--epsilon auto took 1e-3 because", "makes the bar narrower"]
        {
            assert!(told.contains(words), "{told}");
        }
        let python = note(&[3.0]).text(&settings, false, Spelling::Python).unwrap();
        assert!(python.contains("epsilon=3e-4 makes the bar narrower"), "{python}");
        let raw = Settings { raw_velocity: true, ..settings };
        let told = text(&[3.0], &raw, false).unwrap();
        assert!(told.contains("1.50 times") && told.contains("--epsilon 1e-4"), "{told}");
        let told = text(&[200.0], &raw, false).unwrap();
        assert!(told.contains("finer images"), "{told}");
    }
}
