//! Quantities as text: a figure is formatted in the same way on a page, in a drawing and on a
//! terminal.

/// `12,345`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// Milliseconds until a run ends, assuming the mean rate since it began; `None` before the first
/// outcome.
pub fn left_ms(n_left: u64, n_done: u64, elapsed_ms: f64) -> Option<f64> {
    (n_done > 0).then(|| n_left as f64 * elapsed_ms / n_done as f64)
}

/// A time in the unit that suits it: `350 µs`, `12.3 ms`, `4.56 s`, `2 min 5 s`.
pub fn time(ms: f64) -> String {
    let size = ms.abs();
    if !ms.is_finite() {
        NONE.to_owned()
    } else if size == 0.0 {
        "0 ms".to_owned()
    } else if size < 0.9995 {
        format!("{} µs", significant(ms * 1e3, 3))
    } else if size < 999.5 {
        format!("{} ms", significant(ms, 3))
    } else if size < 119_950.0 {
        format!("{} s", significant(ms / 1e3, 3))
    } else {
        let s = (ms / 1e3).round() as i64;
        let min = (s as f64 / 60.0).round() as i64;
        match s.abs() < 7200 {
            true => format!("{} min {} s", s.div_euclid(60), s.rem_euclid(60)),
            false => format!("{} h {} min", count((min / 60).unsigned_abs()), min % 60),
        }
    }
}

/// `1.5 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut size, mut unit) = (n as f64, 0);
    while size >= 1023.5 && unit < UNITS.len() - 1 {
        size /= 1024.0;
        unit += 1;
    }
    let n_digits = if size >= 1000.0 { 4 } else { 3 };
    format!("{} {}", significant(size, n_digits), UNITS[unit])
}

/// A rate: `250/s`.
pub fn rate(per_s: f64) -> String {
    match per_s {
        x if !x.is_finite() => NONE.to_owned(),
        x if x >= 1000.0 => format!("{}/s", count(x.round() as u64)),
        x => format!("{}/s", significant(x, 3)),
    }
}

/// A share from 0 to 1: `12.3 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        NONE.to_owned()
    } else if percent != 0.0 && percent.abs() < 0.05 {
        "< 0.1 %".to_owned()
    } else {
        format!("{} %", without_zeros(&format!("{percent:.1}")))
    }
}

/// Shown for a value that is not finite.
const NONE: &str = "–";

/// `n_digits` significant digits, commas between thousands, no trailing zeros.
fn significant(x: f64, n_digits: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    // The exponent after rounding: 9.996 becomes 10.0.
    let scientific = format!("{x:.*e}", n_digits - 1);
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let rounded: f64 = scientific.parse().unwrap_or(x);
    let n_decimals = (n_digits as i32 - 1 - exponent).max(0) as usize;
    let text = without_zeros(&format!("{rounded:.n_decimals$}"));
    match text.split_once('.') {
        Some((whole, decimals)) => format!("{}.{decimals}", grouped(whole)),
        None => grouped(&text),
    }
}

fn without_zeros(text: &str) -> String {
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    if text == "-0" { "0" } else { text }.to_owned()
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let mut text = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
