//! Tests that sums are returned in the order of their lists.

use swathe::{Outcome, Stop, solve_slice};
use swathe_sample::Sample;

#[test]
fn lists_are_summed_in_order() {
    let problems = vec![vec![1.0, 2.0], vec![], vec![0.5]];
    let outcomes = solve_slice(&Sample, &problems, 2, &Stop::new());
    let sums: Vec<f64> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Solved(sum) => *sum,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sums, [3.0, 0.0, 0.5]);
}
