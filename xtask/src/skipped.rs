//! Tests that could not run, and tests that failed.
//!
//! Rust's test harness does not know skipped tests. Such a test prints a line that begins with
//! `SKIPPED` and gives the reason, then returns; the harness hides what a passing test prints. So
//! the tests run with `--show-output`, and a [`Sieve`] removes that output again and collects the
//! skips. It also collects what failing tests print, because the end of a long log must say which
//! tests failed and why.

/// A test that could not run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) test: String,
    pub(crate) reason: String,
}

/// A test that failed, with the first lines that it printed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) test: String,
    pub(crate) lines: Vec<String>,
}

/// A failing test's output is repeated at the end up to this many lines.
const N_LINES_MAX: usize = 30;

/// Filters the harness's output line by line.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    pub(crate) skips: Vec<Skip>,
    pub(crate) failures: Vec<Failure>,
    section: Section,
    test: String,
}

/// The part of the harness's output that the current line belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Other,
    Successes,
    Failures,
}

impl Sieve {
    /// Whether a line should be shown. The output of passing tests is hidden, and their skips are
    /// collected.
    pub(crate) fn shows(&mut self, line: &str) -> bool {
        let title = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if line == "successes:" {
            self.section = Section::Successes;
        } else if line == "failures:" {
            self.section = Section::Failures;
        } else if line.starts_with("test result: ") {
            self.section = Section::Other;
        } else if let Some(test) = title {
            test.clone_into(&mut self.test);
            if self.section == Section::Failures {
                self.failures.push(Failure { test: self.test.clone(), lines: Vec::new() });
            }
        } else {
            self.collect(line);
        }
        self.section != Section::Successes
    }

    fn collect(&mut self, line: &str) {
        match self.section {
            Section::Other => {}
            Section::Successes => {
                if let Some(reason) = line.trim_start().strip_prefix("SKIPPED") {
                    let reason = reason.trim_start_matches([':', ' ', ',', '-']).to_owned();
                    self.skips.push(Skip { test: self.test.clone(), reason });
                }
            }
            Section::Failures => {
                if let Some(failure) = self.failures.last_mut()
                    && failure.lines.len() < N_LINES_MAX
                    && !line.is_empty()
                {
                    failure.lines.push(line.to_owned());
                }
            }
        }
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
        assert_eq!(sieve.skips, [Skip { test, reason: "no NumPy in .venv".to_owned() }]);
        assert!(shown.contains(&"test b::needs_python ... ok"));
        assert!(shown.last().unwrap().starts_with("test result: ok."));
        assert!(!shown.iter().any(|line| line.contains("talk") || line.contains("stdout")));
    }

    #[test]
    fn what_failing_tests_print_is_shown() {
        let mut sieve = Sieve::default();
        let printed = "successes:\n\nhidden\nfailures:\n\n---- c stdout ----\nSKIPPED nothing\n";
        let shown: Vec<&str> = printed.lines().filter(|line| sieve.shows(line)).collect();
        assert_eq!(shown, ["failures:", "", "---- c stdout ----", "SKIPPED nothing"]);
        assert_eq!(sieve.skips, []);
        let failure = Failure { test: "c".to_owned(), lines: vec!["SKIPPED nothing".to_owned()] };
        assert_eq!(sieve.failures, [failure]);
    }
}
