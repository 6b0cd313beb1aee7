//! The note at the end of a run whose ε is too large for most of its pairs.

use swathe_ot::{BLUR_SHARE_MAX, EPSILON_PX2_MIN, ERROR_PX, Settings, error_limit_px};

use crate::pair_workload::PairAnswer;

/// Collects how far ε is too large for each pair.
///
/// The plan's own displacement (`--raw-velocity`) has the whole pull of the blur, so the blur is
/// compared with the displacement. Debiasing removes that pull, and a large blur alone does no harm:
/// what counts is the part of the error bar that a smaller ε would change.
#[derive(Debug, Default)]
pub(super) struct SharpnessNote {
    /// How many times too large the blur or the error of each pair is.
    excesses: Vec<f64>,
    /// The least ε that was proved for all pairs.
    epsilon_least: f64,
}

impl SharpnessNote {
    pub(super) fn add(&mut self, answer: &PairAnswer, settings: &Settings) {
        let excess = if settings.raw_velocity {
            answer
                .blurring
                .map(|blurring| blurring.per_displacement / BLUR_SHARE_MAX)
        } else {
            let bar = answer.solution.error_bar.zip(answer.summary.as_ref());
            bar.map(|(bar, summary)| {
                bar.epsilon_measured_px() / error_limit_px(summary.displacement_px.p50, ERROR_PX)
            })
        };
        self.excesses
            .extend(excess.filter(|excess| excess.is_finite()));
        let least = EPSILON_PX2_MIN * answer.solution.coord_scale.powi(2);
        self.epsilon_least = self.epsilon_least.max(least);
    }

    /// The note, if ε is too large for the median pair.
    pub(super) fn text(&self, settings: &Settings) -> Option<String> {
        let mut sorted = self.excesses.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let excess = *sorted.get(sorted.len() / 2)?;
        if excess <= 1.0 {
            return None;
        }
        // The blur is proportional to the root of ε, the error of the debiased displacement to ε.
        let (power, what) = if settings.raw_velocity {
            (
                2,
                format!(
                    "the plan blurs the median pair by {:.2} times its displacement, which --raw-velocity does not take out",
                    excess * BLUR_SHARE_MAX
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
        let advice = if better >= self.epsilon_least {
            format!("--epsilon {better:e} is better")
        } else {
            format!(
                "a smaller --epsilon than {:.1e} was not proved for these frames; finer images would help",
                self.epsilon_least
            )
        };
        Some(format!("{what}: {advice}"))
    }
}

/// The next smaller 1 or 3 times a power of ten.
fn round_down(value: f64) -> f64 {
    let power = value.log10().floor() as i32;
    let digit = if value >= 3.0 * 10_f64.powi(power) {
        3
    } else {
        1
    };
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
        let note = |excesses: &[f64]| SharpnessNote {
            excesses: excesses.to_vec(),
            epsilon_least: 1e-5,
        };
        let settings = Settings::default();
        assert_eq!(note(&[]).text(&settings), None);
        assert_eq!(note(&[0.2, 5.0, 0.9]).text(&settings), None);
        let told = note(&[0.2, 5.0, 3.0]).text(&settings).unwrap();
        assert!(told.contains("--epsilon 3e-4 is better"), "{told}");
        let raw = Settings {
            raw_velocity: true,
            ..settings
        };
        let told = note(&[3.0]).text(&raw).unwrap();
        assert!(
            told.contains("1.50 times") && told.contains("--epsilon 1e-4"),
            "{told}"
        );
        let told = note(&[200.0]).text(&raw).unwrap();
        assert!(told.contains("finer images"), "{told}");
    }
}
