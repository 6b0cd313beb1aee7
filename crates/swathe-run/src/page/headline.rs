//! The headline of a report. It is part of the static page, so it can be read with scripts
//! disabled.

use crate::kind::Apart;
use crate::store::report_file::ReportFile;

/// How many problems were solved, and how many of the answered ones are not counted as such.
pub(super) fn headline(file: &ReportFile, apart: Option<Apart>) -> String {
    let counts = &file.whole_counts();
    let (n_done, n_problems) = (counts.n_done(), counts.n_problems);
    if file.report.cancelled && n_done < n_problems {
        return format!(
            "Stopped after {} of {}",
            count(n_done),
            counted(n_problems, "problem", "problems")
        );
    }
    if let Some(Apart { n, what }) = apart {
        let n_solved = counts.n_solved.saturating_sub(n);
        let told = format!(
            "{} of {} solved, {} {what}",
            count(n_solved),
            counted(n_problems, "problem", "problems"),
            count(n)
        );
        return match counts.n_unsolved() {
            0 => told,
            n_unsolved => format!("{told}, {} not", count(n_unsolved)),
        };
    }
    match (n_problems, counts.n_unsolved()) {
        (0, _) => "There were no problems to solve".to_owned(),
        (1, 0) => "The problem is solved".to_owned(),
        (n, 0) => format!("All {} problems are solved", count(n)),
        (n, n_unsolved) => format!(
            "{} of {} solved, {} not",
            count(counts.n_solved),
            counted(n, "problem", "problems"),
            count(n_unsolved)
        ),
    }
}

/// Time, rate and setbacks, in a sentence or two.
pub(super) fn lead(file: &ReportFile, title: &str) -> String {
    let report = &file.report;
    let mut lead = format!(
        "{title} in {}, {} a second",
        duration(report.wall_ms),
        rate(report.solved_per_s())
    );
    lead += &match report.n_setbacks {
        0 => ", without setbacks.".to_owned(),
        n => format!("; {}, all mended.", counted(n, "setback", "setbacks")),
    };
    if file.n_before > 0 {
        lead += &format!(
            " {} of the problems had been done before the run was resumed.",
            match file.report.counts.n_problems {
                0 => "All".to_owned(),
                _ => count(file.n_before),
            }
        );
    }
    let n_mismatches = report.verification.mismatches.len() as u64;
    if n_mismatches > 0 {
        lead += &format!(
            " Solved again, {} another answer.",
            if n_mismatches == 1 {
                "one problem gives".to_owned()
            } else {
                format!("{} problems give", count(n_mismatches))
            }
        );
    }
    lead
}

pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

// The rounding must match `dom.js`; a test compares both on pages.

/// `12,345`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits without trailing zeros.
fn three_digits(x: f64) -> String {
    let rounded: f64 = format!("{x:.2e}").parse().unwrap_or(x);
    if rounded >= 1000.0 { count(rounded as u64) } else { rounded.to_string() }
}

fn rate(x: f64) -> String {
    if x >= 1000.0 { count(x.round() as u64) } else { three_digits(x) }
}

/// A time in the unit that suits it.
fn duration(ms: f64) -> String {
    if ms == 0.0 {
        "0 ms".to_owned()
    } else if ms < 0.9995 {
        format!("{} µs", three_digits(ms * 1e3))
    } else if ms < 999.5 {
        format!("{} ms", three_digits(ms))
    } else if ms < 119_950.0 {
        format!("{} s", three_digits(ms / 1e3))
    } else {
        let s = (ms / 1e3).round() as u64;
        if s < 7200 {
            format!("{} min {} s", s / 60, s % 60)
        } else {
            let min = (s as f64 / 60.0).round() as u64;
            format!("{} h {} min", count(min / 60), min % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_for_reading() {
        for (ms, text) in [
            (0.0, "0 ms"),
            (0.01234, "12.3 µs"),
            (1.0, "1 ms"),
            (12.345, "12.3 ms"),
            (999.4, "999 ms"),
            (1234.5, "1.23 s"),
            (59_999.0, "60 s"),
            (125_000.0, "2 min 5 s"),
            (7_300_000.0, "2 h 2 min"),
        ] {
            assert_eq!(duration(ms), text);
        }
        for (x, text) in [(0.0, "0"), (0.5, "0.5"), (249.6, "250"), (12_345.6, "12,346")] {
            assert_eq!(rate(x), text);
        }
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(0), "0");
    }
}
