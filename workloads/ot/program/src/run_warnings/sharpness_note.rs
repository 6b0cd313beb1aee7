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
    /// An ε that was chosen on a sample is not called too large: the sample was solved with smaller
    /// values, which is better evidence than the error bar's coarse grid. The bar is then wide, and
    /// the note says what makes it narrow.
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
        } else if is_epsilon_auto {
            (
                1,
                format!(
                    "the error bar of the median pair is wide because of epsilon: that part is {excess:.1} times what is small (2 % of the displacement or {ERROR_PX} px). It is a bound from a coarse grid; {} took {:e} because smaller values hardly moved the sampled pairs, or were not proved",
                    spelling.auto_epsilon(),
                    settings.epsilon
                ),
            )
        } else {
            (
                1,
                format!(
                    "the displacement of the median pair still depends on epsilon, by {excess:.1} times what is small (2 % or {ERROR_PX} px)"
                ),
            )
        };
        let better = round_down(settings.epsilon / excess.powi(power));
        let is_proved = better >= self.epsilon_least;
        let value = format!("{better:e}");
        let given = spelling.with("epsilon", &value);
        let advice = match (is_proved, is_epsilon_auto && !settings.raw_velocity) {
            (true, false) => format!("{given} is better"),
            (true, true) => format!("{given} makes the bar narrower"),
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
        assert!(told.contains("--epsilon 3e-4 is better"), "{told}");
        // An ε from a sample is explained, not called worse than another.
        let told = text(&[0.2, 5.0, 3.0], &settings, true).unwrap();
        for words in ["--epsilon auto took 1e-3", "makes the bar narrower"] {
            assert!(told.contains(words), "{told}");
        }
        assert!(!told.contains("is better"), "{told}");
        let python = note(&[3.0]).text(&settings, false, Spelling::Python).unwrap();
        assert!(python.contains("epsilon=3e-4 is better"), "{python}");
        let raw = Settings { raw_velocity: true, ..settings };
        let told = text(&[3.0], &raw, false).unwrap();
        assert!(told.contains("1.50 times") && told.contains("--epsilon 1e-4"), "{told}");
        let told = text(&[200.0], &raw, false).unwrap();
        assert!(told.contains("finer images"), "{told}");
    }
}
