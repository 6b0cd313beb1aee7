//! Numbers as text for pictures.

/// A number to three digits in common notation: `0.001`, `12.3`, `1 200`, `3.4×10⁻⁷`, `∞`.
pub(super) fn figure(value: f64) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        let (mantissa, exponent) = scientific(value);
        return if mantissa == "1" {
            format!("10{exponent}")
        } else {
            format!("{mantissa}×10{exponent}")
        };
    }
    let n_whole = if size < 1.0 {
        // Leading zeros do not count as digits.
        -(-size.max(1e-300).log10()).ceil() as i32 + 1
    } else {
        size.log10().floor() as i32 + 1
    };
    let n_decimals = (3 - n_whole).clamp(0, 7) as usize;
    signed(trimmed(&format!("{size:.n_decimals$}")), value)
}

/// A share as a percentage.
pub(super) fn percent(part: f64, whole: f64) -> String {
    let share = 100.0 * part / whole;
    if !share.is_finite() {
        return "0 %".to_owned();
    }
    let size = share.abs();
    let n_decimals = match size {
        0.0..0.995 => 2,
        0.995..99.95 => 1,
        _ => 0,
    };
    // A small share must not read as 0 %, nor an almost full one as 100 %.
    if size > 0.0 && size < 0.01 {
        return "< 0.01 %".to_owned();
    }
    if (99.95..100.0).contains(&size) {
        return "> 99.9 %".to_owned();
    }
    signed(format!("{size:.n_decimals$} %"), share)
}

/// Mantissa to two digits, and exponent in superscript digits.
pub(super) fn scientific(value: f64) -> (String, String) {
    let text = format!("{value:.1e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = trimmed(mantissa).replace('-', "−");
    (mantissa, raised(exponent))
}

/// An exponent in superscript digits.
pub(super) fn raised(exponent: &str) -> String {
    let raise = |c: char| match c {
        '-' => '⁻',
        _ => {
            ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c.to_digit(10).unwrap_or(0) as usize]
        }
    };
    exponent.chars().map(raise).collect()
}

fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

fn signed(text: String, value: f64) -> String {
    let is_zero = !text.contains(|c: char| ('1'..='9').contains(&c));
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_no_empty_ones() {
        let cases = [
            (0.0, "0"),
            (0.001, "0.001"),
            (1e-4, "0.0001"),
            (0.012345, "0.0123"),
            (0.1, "0.1"),
            (0.99951, "1"),
            (1.0, "1"),
            (12.345, "12.3"),
            (-3.25159, "−3.25"),
            (1234.5, "1234"),
            (3.44e-7, "3.4×10⁻⁷"),
            (1e-5, "10⁻⁵"),
            (2.5e9, "2.5×10⁹"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text, "{value}");
        }
    }

    #[test]
    fn shares_do_not_round_to_nothing_or_all() {
        let cases = [
            (1.0, 1.0, "100 %"),
            (0.9999, 1.0, "> 99.9 %"),
            (0.5, 1.0, "50.0 %"),
            (0.0012, 1.0, "0.12 %"),
            (1e-7, 1.0, "< 0.01 %"),
            (0.0, 1.0, "0.00 %"),
            (-0.3, 1.0, "−30.0 %"),
            (0.0, 0.0, "0 %"),
        ];
        for (part, whole, text) in cases {
            assert_eq!(percent(part, whole), text, "{part}");
        }
    }
}
