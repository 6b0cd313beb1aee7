//! The steps of a test run: each is announced, timed and recorded for the table at the end.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::process::CommandError;

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed(String),
    /// The step could not run, and why. In continuous integration that is a failure.
    Skipped(String),
    /// The step was not requested, or an earlier failure made it pointless.
    LeftOut(String),
}

/// The steps so far.
#[derive(Debug)]
pub(crate) struct Steps {
    /// Whether a step that could not run counts as failed.
    ci: bool,
    /// The name of the gate that failed, if one has.
    shut: Option<&'static str>,
    done: Vec<Done>,
}

#[derive(Debug)]
struct Done {
    name: &'static str,
    verdict: Verdict,
    wall: Duration,
}

impl Steps {
    pub(crate) fn new(ci: bool) -> Self {
        Self { ci, shut: None, done: Vec::new() }
    }

    /// Runs a step, unless an earlier gate failed.
    pub(crate) fn step(&mut self, name: &'static str, what: &str, work: impl FnOnce() -> Verdict) {
        let start = Instant::now();
        let verdict = match self.shut {
            // The failed gate already counts as a failure, so this step does not.
            Some(gate) => Verdict::LeftOut(format!("{gate} failed")),
            None => {
                println!("\n== {name} ({what})");
                work()
            }
        };
        self.close(name, verdict, start.elapsed());
    }

    /// Runs a step whose failure makes the later ones pointless.
    pub(crate) fn gate(&mut self, name: &'static str, what: &str, work: impl FnOnce() -> Verdict) {
        let mut failed = false;
        self.step(name, what, || {
            let verdict = work();
            failed = matches!(verdict, Verdict::Failed(_));
            verdict
        });
        if failed {
            self.shut = Some(name);
        }
    }

    /// Records a step that was not requested.
    pub(crate) fn leave_out(&mut self, name: &'static str, why: &str) {
        self.close(name, Verdict::LeftOut(why.to_owned()), Duration::ZERO);
    }

    fn close(&mut self, name: &'static str, verdict: Verdict, wall: Duration) {
        let verdict = match verdict {
            Verdict::Skipped(why) if self.ci => {
                Verdict::Failed(format!("could not run, which CI does not excuse: {why}"))
            }
            verdict => verdict,
        };
        match &verdict {
            Verdict::Passed => {}
            Verdict::Failed(why) => println!("failed {name}: {why}"),
            Verdict::Skipped(why) | Verdict::LeftOut(why) => println!("skipped {name}: {why}"),
        }
        self.done.push(Done { name, verdict, wall });
    }

    /// Whether no step failed.
    pub(crate) fn all_well(&self) -> bool {
        !self.done.iter().any(|done| matches!(done.verdict, Verdict::Failed(_)))
    }

    /// The table of the steps, and the closing line.
    pub(crate) fn summary(&self) -> String {
        let [mut n_passed, mut n_failed, mut n_skipped] = [0; 3];
        let mut text = format!("{:<10} {:>8}  verdict\n", "step", "seconds");
        for Done { name, verdict, wall } in &self.done {
            let words = match verdict {
                Verdict::Passed => {
                    n_passed += 1;
                    "passed".to_owned()
                }
                Verdict::Failed(why) => {
                    n_failed += 1;
                    format!("FAILED: {why}")
                }
                Verdict::Skipped(why) | Verdict::LeftOut(why) => {
                    n_skipped += 1;
                    format!("skipped: {why}")
                }
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<10} {:>8.1}  {words}", wall.as_secs_f64());
        }
        let _ = write!(text, "{n_passed} passed, {n_failed} failed, {n_skipped} skipped");
        text
    }
}

impl From<Result<(), CommandError>> for Verdict {
    fn from(result: Result<(), CommandError>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(steps: &Steps) -> Vec<&Verdict> {
        steps.done.iter().map(|done| &done.verdict).collect()
    }

    fn skipped() -> Verdict {
        Verdict::Skipped("no python".to_owned())
    }

    #[test]
    fn a_failing_step_lets_the_others_run_and_fails_the_whole() {
        let mut steps = Steps::new(false);
        steps.step("fmt", "", || Verdict::Failed("untidy".to_owned()));
        steps.step("tests", "", || Verdict::Passed);
        assert_eq!(verdicts(&steps)[1], &Verdict::Passed);
        assert!(!steps.all_well());
    }

    #[test]
    fn nothing_runs_behind_a_failed_gate() {
        let mut steps = Steps::new(true);
        steps.gate("build", "", || Verdict::Failed("no".to_owned()));
        steps.step("tests", "", || panic!("must not run"));
        assert_eq!(verdicts(&steps)[1], &Verdict::LeftOut("build failed".to_owned()));
    }

    #[test]
    fn a_gate_that_was_skipped_stays_open_even_under_ci() {
        for ci in [false, true] {
            let mut steps = Steps::new(ci);
            steps.gate("set-up", "", skipped);
            steps.step("tests", "", || Verdict::Passed);
            assert_eq!(verdicts(&steps)[1], &Verdict::Passed);
            assert_eq!(steps.all_well(), !ci);
        }
    }

    #[test]
    fn ci_excuses_what_was_not_asked_for_but_not_what_could_not_run() {
        let mut steps = Steps::new(true);
        steps.leave_out("demo", "--fast");
        assert!(steps.all_well());
        steps.step("python", "", skipped);
        assert!(!steps.all_well());
    }

    #[test]
    fn the_summary_counts_steps() {
        let mut steps = Steps::new(false);
        steps.step("fmt", "", || Verdict::Passed);
        steps.step("tidy", "", || Verdict::Failed("two rules broken".to_owned()));
        steps.step("python", "", skipped);
        steps.leave_out("demo", "--fast");
        assert_eq!(
            steps.summary(),
            "step        seconds  verdict\n\
             fmt             0.0  passed\n\
             tidy            0.0  FAILED: two rules broken\n\
             python          0.0  skipped: no python\n\
             demo            0.0  skipped: --fast\n\
             1 passed, 1 failed, 2 skipped"
        );
    }
}
