//! Cells of the matrix: what a program made of a task, in one byte.

use serde_json::{Value, json};

use crate::arc_run::Mark;

/// Mean scores below a solution are 0 to this.
const SCORE_MAX: u8 = 250;
/// Every call ended without an output.
const NO_OUTPUT: u8 = 251;
/// All demonstrations are right; the answers of the tests are not known.
const SOLVES_UNTESTED: u8 = 252;
/// All demonstrations are right, some test is wrong.
const SOLVES_TESTS_WRONG: u8 = 253;
/// All demonstrations and all tests are right.
const SOLVES: u8 = 254;
/// The program did not run on the task.
pub(super) const NOT_RUN: u8 = 255;

/// What the bytes mean, for the page.
pub(super) fn codes() -> Value {
    json!({
        "score_max": SCORE_MAX,
        "no_output": NO_OUTPUT,
        "solves_untested": SOLVES_UNTESTED,
        "solves_tests_wrong": SOLVES_TESTS_WRONG,
        "solves": SOLVES,
        "not_run": NOT_RUN,
    })
}

/// Whether a program gets all demonstrations right, and there are some.
pub(super) fn solves(mark: &Mark, n_demonstrations: u32) -> bool {
    mark.n_right == n_demonstrations && mark.n_right > 0
}

/// The mean score over the demonstrations; 0 where there are none.
pub(super) fn mean_score(mark: &Mark, n_demonstrations: u32) -> f64 {
    mark.score_sum / f64::from(n_demonstrations.max(1))
}

/// The byte of a cell.
pub(super) fn byte(mark: &Mark, n_demonstrations: u32) -> u8 {
    if mark.n_calls == 0 {
        NOT_RUN
    } else if solves(mark, n_demonstrations) {
        match (mark.n_tests_known, mark.n_tests_right) {
            (n_known, _) if n_known < mark.n_tests || n_known == 0 => SOLVES_UNTESTED,
            (n_known, n_right) if n_right < n_known => SOLVES_TESTS_WRONG,
            _ => SOLVES,
        }
    } else if mark.n_ok == 0 {
        NO_OUTPUT
    } else {
        // Only a solution has the full score, so rounding must not reach it.
        let scaled = mean_score(mark, n_demonstrations) * f64::from(SCORE_MAX);
        scaled.round().clamp(0.0, f64::from(SCORE_MAX - 1)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_tells_what_a_program_made_of_a_task() {
        let ran = Mark {
            n_calls: 3,
            n_ok: 3,
            n_right: 1,
            score_sum: 1.5,
            n_tests: 1,
            n_tests_known: 1,
            n_tests_right: 0,
        };
        let right = Mark { n_right: 2, ..ran };
        let cases = [
            (Mark::default(), NOT_RUN),
            (Mark { n_ok: 0, n_right: 0, score_sum: 0.0, ..ran }, NO_OUTPUT),
            (Mark { score_sum: 0.0, ..ran }, 0),
            (ran, 188),
            // 249.99 of 250, and yet no solution.
            (Mark { score_sum: 1.99999, ..ran }, SCORE_MAX - 1),
            (right, SOLVES_TESTS_WRONG),
            (Mark { n_tests_right: 1, ..right }, SOLVES),
            (Mark { n_tests_known: 0, ..right }, SOLVES_UNTESTED),
            (Mark { n_tests: 0, n_tests_known: 0, ..right }, SOLVES_UNTESTED),
        ];
        for (mark, expected) in cases {
            assert_eq!(byte(&mark, 2), expected, "{mark:?}");
        }
        // Without demonstrations there is nothing to solve.
        let tested = Mark { n_right: 0, score_sum: 0.0, ..ran };
        assert_eq!(byte(&tested, 0), 0);
    }
}
