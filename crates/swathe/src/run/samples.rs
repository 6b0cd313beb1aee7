//! Samples: the run from moment to moment, never more than a fixed number of them.

use std::time::Duration;

use crate::report::{Report, Sample};

/// Moments at even distances; the longer the run, the further apart.
pub(super) struct Samples {
    kept: Vec<Sample>,
    interval_ms: f64,
}

impl Samples {
    /// Short runs have a course, too.
    const INTERVAL_MIN: Duration = Duration::from_millis(1);

    pub(super) fn new() -> Samples {
        Samples {
            kept: Vec::new(),
            interval_ms: super::ms(Samples::INTERVAL_MIN),
        }
    }

    /// Whether the time for another one has come.
    pub(super) fn is_due(&self, at_ms: f64) -> bool {
        self.kept
            .last()
            .is_none_or(|last| at_ms - last.at_ms >= self.interval_ms)
    }

    pub(super) fn push(&mut self, sample: Sample) {
        self.kept.push(sample);
        if self.kept.len() >= Report::N_SAMPLES_KEPT {
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.interval_ms *= 2.0;
        }
    }

    /// All of them, and the end of the run.
    pub(super) fn finish(&mut self, last: Sample) -> Vec<Sample> {
        let mut kept = std::mem::take(&mut self.kept);
        kept.retain(|sample| sample.at_ms < last.at_ms);
        kept.push(last);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;
    use crate::report::{Report, Sample};

    #[test]
    fn long_runs_keep_as_few_samples_as_short_ones() {
        let mut samples = Samples::new();
        let at = |at_ms: f64| Sample {
            at_ms,
            ..Sample::default()
        };
        for tenth_ms in 0..1_000_000 {
            let at_ms = f64::from(tenth_ms) / 10.0;
            if samples.is_due(at_ms) {
                samples.push(at(at_ms));
            }
        }
        let kept = samples.finish(at(100_000.0));
        assert!(kept.len() <= Report::N_SAMPLES_KEPT && kept.len() > Report::N_SAMPLES_KEPT / 3);
        assert_eq!(kept[0].at_ms, 0.0);
        let steps: Vec<f64> = kept.windows(2).map(|w| w[1].at_ms - w[0].at_ms).collect();
        let (even, _last) = steps.split_at(steps.len() - 1);
        assert!(
            even.iter().all(|step| (step - even[0]).abs() < 1e-6),
            "{even:?}"
        );
    }
}
