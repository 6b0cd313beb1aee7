//! Numbers as they are embedded in a page.

use serde_json::Value;

/// Rounds a number to five significant digits. A page never shows more, and more would double its
/// size.
pub fn significant(value: f64) -> f64 {
    if !value.is_finite() {
        return value;
    }
    // Rounded through its text form: scaling by powers of ten is not exact and would leave many
    // digits.
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// The same as JSON: NaN is null, infinities are strings, and whole numbers have no decimal point.
pub fn rounded(value: f64) -> Value {
    let value = significant(value);
    if value.is_nan() {
        Value::Null
    } else if value.is_infinite() {
        Value::from(if value > 0.0 { "inf" } else { "-inf" })
    } else if value.fract() == 0.0 && value.abs() < 1e15 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_digits_are_left() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (123_456.0, "123460"),
            (0.123_456_789, "0.12346"),
            (9.999_96, "10"),
            (1.234_564e-5, "0.000012346"),
            (1.234_567e-11, "1.2346e-11"),
            (-7.654_321e22, "-7.6543e+22"),
            (f64::NAN, "null"),
            (f64::INFINITY, "\"inf\""),
        ] {
            assert_eq!(rounded(value).to_string(), text, "{value}");
        }
    }

    #[test]
    fn rounding_is_close_and_prints_short() {
        let mut value = 1.234_567_891e-30;
        while value < 1e30 {
            let near = significant(value);
            assert!((near - value).abs() <= 5.1e-5 * value, "{value}");
            assert!(rounded(value).to_string().len() <= 18, "{}", rounded(value));
            value *= 1.618_033_988_7;
        }
    }
}
