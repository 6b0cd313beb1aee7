//! Numbers as they are embedded in a page.

/// A number with five significant digits: more are never shown, and would double a page's size.
pub(crate) fn significant(x: f64) -> f64 {
    if !x.is_finite() {
        return x;
    }
    format!("{x:.4e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn five_digits_are_kept() {
        assert_eq!(significant(0.0), 0.0);
        assert_eq!(significant(123_456.7), 123_460.0);
        assert_eq!(significant(-1.0 / 3.0), -0.33333);
        assert_eq!(significant(1e-300), 1e-300);
        assert!(significant(f64::NAN).is_nan());
    }
}
