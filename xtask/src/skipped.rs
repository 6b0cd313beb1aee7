//! Tests that could not run.
//!
//! Rust's test harness does not know skipped tests. Such a test prints a line that begins with
//! `SKIPPED` and gives the reason, then returns; the harness hides what a passing test prints. So
//! the tests run with `--show-output`, and a [`Sieve`] removes that output again and collects the
//! skips.

/// A test that could not run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) test: String,
    pub(crate) reason: String,
}

/// Filters the harness's output line by line.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    pub(crate) skips: Vec<Skip>,
    /// Whether the current line is in the section that begins with `successes:`.
    is_among_successes: bool,
    test: String,
}

impl Sieve {
    /// Whether a line should be shown. The output of passing tests is hidden, and their skips are
    /// collected.
    pub(crate) fn shows(&mut self, line: &str) -> bool {
        if line == "successes:" {
            self.is_among_successes = true;
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.is_among_successes = false;
        } else if self.is_among_successes {
            let title = line
                .strip_prefix("---- ")
                .and_then(|rest| rest.strip_suffix(" stdout ----"));
            if let Some(test) = title {
                test.clone_into(&mut self.test);
            } else if let Some(reason) = line.trim_start().strip_prefix("SKIPPED") {
                let reason = reason.trim_start_matches([':', ' ', ',', '-']).to_owned();
                self.skips.push(Skip {
                    test: self.test.clone(),
                    reason,
                });
            }
        }
        !self.is_among_successes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
running 3 tests
test a::quiet ... ok
test a::loud ... ok
test b::needs_python ... ok

successes:

---- a::loud stdout ----
some talk, and nothing SKIPPED

---- b::needs_python stdout ----
SKIPPED: no NumPy in .venv


successes:
    a::loud
    a::quiet
    b::needs_python

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
";

    #[test]
    fn skips_are_kept_and_talk_is_hidden() {
        let mut sieve = Sieve::default();
        let shown: Vec<&str> = PRINTED.lines().filter(|line| sieve.shows(line)).collect();
        let test = "b::needs_python".to_owned();
        assert_eq!(
            sieve.skips,
            [Skip {
                test,
                reason: "no NumPy in .venv".to_owned()
            }]
        );
        assert!(shown.contains(&"test b::needs_python ... ok"));
        assert!(shown.last().unwrap().starts_with("test result: ok."));
        assert!(
            !shown
                .iter()
                .any(|line| line.contains("talk") || line.contains("stdout"))
        );
    }

    #[test]
    fn what_failing_tests_print_is_shown() {
        let mut sieve = Sieve::default();
        let printed = "successes:\n\nhidden\nfailures:\n\n---- c stdout ----\nSKIPPED nothing\n";
        let shown: Vec<&str> = printed.lines().filter(|line| sieve.shows(line)).collect();
        assert_eq!(
            shown,
            ["failures:", "", "---- c stdout ----", "SKIPPED nothing"]
        );
        assert_eq!(sieve.skips, []);
    }
}
