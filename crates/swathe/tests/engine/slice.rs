//! Problems in a slice.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use swathe::{
    Budget, DeviceKind, Need, OutcomeKind, Settings, Shape, Size, Source, Stop, Workload,
    solve_slice,
};

/// The greatest proper divisor of a number: quick or slow, and a panic for zero.
struct Divisor;

impl Workload for Divisor {
    type Problem = u64;
    type Solution = u64;
    type Failure = Infallible;
    type Scratch = u64;
    type Local = ();
    const NAME: &'static str = "divisor";

    fn size(&self, _: &u64) -> Size {
        Size::of(Shape::default())
    }
    fn need(&self, _: &Size, _: DeviceKind) -> Need {
        Need::default()
    }
    fn scratch(&self) -> u64 {
        0
    }
    fn local(&self) {}
    fn solve(&self, &n: &u64, scratch: &mut u64, (): &mut (), _: &Stop) -> Result<u64, Infallible> {
        assert_ne!(n, 0, "zero on purpose");
        *scratch += 1;
        Ok((1..n).rev().find(|d| n.is_multiple_of(*d)).unwrap_or(1))
    }
}

#[test]
fn a_slice_gives_what_a_run_gives() {
    crate::sieve::quiet_panics();
    let divisor = Arc::new(Divisor);
    for n in [0, 1, 2, 3, 100, 5000] {
        let problems: Vec<u64> = (0..n).collect();
        let source = Source::from_vec(&divisor, problems.clone());
        let settings = Settings { memory: Budget::new(1 << 20), ..Settings::default() };
        let mut expected = vec![None; problems.len()];
        swathe::run(&divisor, &source, &settings, &mut |done| {
            expected[done.index] = Some((done.outcome.kind(), done.outcome.solution().copied()));
            ControlFlow::Continue(())
        });
        for n_threads in [0, 1, 2, 5] {
            let outcomes = solve_slice(&*divisor, &problems, n_threads, &Stop::new());
            let found =
                outcomes.iter().map(|outcome| Some((outcome.kind(), outcome.solution().copied())));
            assert!(found.eq(expected.iter().copied()), "{n_threads} threads, {n}");
        }
    }
    let outcomes = solve_slice(&*divisor, &[6, 0, 9], 1, &Stop::new());
    assert_eq!(outcomes[1].kind(), OutcomeKind::Panicked);
    assert_eq!(outcomes[2].solution(), Some(&3));
}

#[test]
fn a_stop_leaves_the_rest() {
    let stop = Stop::new();
    stop.cancel();
    let outcomes = solve_slice(&Divisor, &[1, 2, 3], 2, &stop);
    assert!(outcomes.iter().all(|outcome| outcome.kind() == OutcomeKind::TimedOut));

    let stop = Stop::new();
    let canceller = stop.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        canceller.cancel();
    });
    // Each takes about a millisecond, all of them together minutes.
    let problems = vec![1_000_003; 100_000];
    let outcomes = solve_slice(&Divisor, &problems, 2, &stop);
    thread.join().unwrap();
    assert_eq!(outcomes.len(), problems.len());
    assert!(outcomes.iter().any(|outcome| outcome.kind() == OutcomeKind::TimedOut));
}
