//! Scales: lengths in µm or pixels, and round steps for ticks and bars.

use swathe_ot::Frame;

/// The unit of lengths: µm if the pixel size is known, else pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Length {
    /// Units in a pixel.
    pub(super) per_px: f64,
    /// The unit's name.
    pub(super) unit: &'static str,
}

impl Length {
    pub(super) fn of(frame: &Frame) -> Length {
        match frame.um_per_px {
            Some(per_px) if per_px > 0.0 && per_px.is_finite() => Length { per_px, unit: "µm" },
            _ => Length { per_px: 1.0, unit: "px" },
        }
    }
}

/// The largest of 1, 2 and 5 times a power of ten that is at most `most`.
pub(super) fn round_down(most: f64) -> f64 {
    if !(most > 0.0 && most.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powi(most.log10().floor() as i32);
    // Rounding may leave the quotient just below its exact value.
    let steps = most / power * (1.0 + 1e-9);
    let step = [5.0, 2.0, 1.0].into_iter().find(|step| *step <= steps);
    step.unwrap_or(1.0) * power
}

/// Round values from zero to at most `most`, about `n` of them.
pub(super) fn ticks(most: f64, n: usize) -> Vec<f64> {
    if !(most > 0.0 && most.is_finite()) {
        return vec![0.0];
    }
    let least = most / n as f64;
    let power = 10f64.powi(least.log10().floor() as i32);
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= least * (1.0 - 1e-9));
    let step = step.unwrap_or(10.0) * power;
    let n_steps = (most / step * (1.0 + 1e-9)).floor() as usize;
    (0..=n_steps).map(|i| i as f64 * step).collect()
}

/// The value below which a share of sorted values lies, linear between neighbours like NumPy's
/// percentile; NaN if there are no values.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = share * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        let cases = [(7.3, 5.0), (5.0, 5.0), (4.9, 2.0), (0.013, 0.01), (199.0, 100.0)];
        for (most, step) in cases {
            assert!((round_down(most) - step).abs() < 1e-12, "{most}");
        }
    }

    #[test]
    fn ticks_reach_but_do_not_pass_the_end() {
        assert_eq!(ticks(10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(7.0, 4), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(ticks(0.0, 4), [0.0]);
        assert!(ticks(1e-9, 5).len() > 3);
    }
}
