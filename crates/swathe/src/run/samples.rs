//! Samples: the state of a run over time, in a bounded number of samples.

use std::time::Duration;

use crate::report::{Report, Sample};

/// Samples at even intervals, which grow with the length of the run. At most
/// [`Report::N_SAMPLES_KEPT`] are kept.
///
/// ```
/// use swathe::{Sample, Samples};
///
/// let mut samples = Samples::default();
/// samples.push(Sample::default());
/// assert_eq!(samples.kept().len(), 1);
/// assert!(!samples.is_due(0.5), "at most one in a millisecond");
/// ```
#[derive(Debug)]
pub struct Samples {
    kept: Vec<Sample>,
    interval_ms: f64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples { kept: Vec::new(), interval_ms: crate::driver::ms(Samples::INTERVAL_MIN) }
    }
}

impl Samples {
    /// Small, so that short runs have several samples too.
    const INTERVAL_MIN: Duration = Duration::from_millis(1);

    /// Whether another sample is due.
    pub fn is_due(&self, at_ms: f64) -> bool {
        self.kept.last().is_none_or(|last| at_ms - last.at_ms >= self.interval_ms)
    }

    /// Keeps a sample. Drops every second one when there are too many.
    pub fn push(&mut self, sample: Sample) {
        self.kept.push(sample);
        if self.kept.len() >= Report::N_SAMPLES_KEPT {
            keep_every_second(&mut self.kept);
            self.interval_ms *= 2.0;
        }
    }

    /// The samples that were kept, in order.
    pub fn kept(&self) -> &[Sample] {
        &self.kept
    }

    /// All samples, with the end of the run as the last one.
    pub(crate) fn finish(&mut self, last: Sample) -> Vec<Sample> {
        let mut kept = std::mem::take(&mut self.kept);
        kept.retain(|sample| sample.at_ms < last.at_ms);
        kept.push(last);
        kept
    }
}

/// Drops the second, the fourth, … element.
pub(crate) fn keep_every_second<T>(kept: &mut Vec<T>) {
    let mut at = 0;
    kept.retain(|_| {
        at += 1;
        at % 2 == 1
    });
}

#[cfg(test)]
mod tests {
    use super::Samples;
    use crate::report::{Report, Sample};

    #[test]
    fn long_runs_keep_as_few_samples_as_short_ones() {
        let mut samples = Samples::default();
        let at = |at_ms: f64| Sample { at_ms, ..Sample::default() };
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
        assert!(even.iter().all(|step| (step - even[0]).abs() < 1e-6), "{even:?}");
    }
}
