//! Runs end early when they are cancelled, and problems when their time limit has passed.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use swathe::{Budget, Report, Settings, Stop};

use crate::sieve::{Field, Sieve, Twist, Watchdog, fields, patiently, quiet_panics};

fn settings() -> Settings {
    Settings { n_threads: 2, memory: Budget::new(1 << 20), ..Settings::default() }
}

/// Cancels a run of such problems soon after its start, and waits for its end.
fn cancel(twist: Twist, settings: &Settings) -> (Report, Arc<Sieve>) {
    let _watchdog = Watchdog::start();
    let settings = Settings { stop: Stop::new(), ..settings.clone() };
    let fields: Vec<Field> =
        fields(200, 16).into_iter().map(|field| field.twisted(twist)).collect();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields));
    let stop = settings.stop.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        stop.cancel();
    });
    let report = swathe::run(&sieve, &source, &settings, &mut |_| ControlFlow::Continue(()));
    canceller.join().unwrap();
    assert!(report.cancelled);
    assert!(report.counts.n_done() < report.counts.n_problems);
    (report, sieve)
}

/// So long that the test's watchdog aborts a test that waits for it.
const NEVER: Duration = Duration::from_secs(3600);

/// The run ends although no worker is abandoned within an hour: solvers that poll end by
/// themselves, and so do workers that wait for memory or for a turn.
#[test]
fn those_who_poll_and_those_who_wait_end_by_themselves() {
    let all = Settings { grace: NEVER, ..settings() };
    let few = Settings { n_threads: 1, n_prefetch: 4, memory: Budget::new(1500), ..all.clone() };
    for (twist, settings) in [
        (Twist::LoopsAndPolls, &all),
        (Twist::LoadLoopsAndPolls, &all),
        (Twist::LoopsAndPolls, &few),
    ] {
        let (report, sieve) = cancel(twist, settings);
        assert!(sieve.n_stopped.load(Ordering::Relaxed) > 0, "{twist:?}");
        assert_eq!(report.n_setbacks, 0, "{twist:?}");
    }
}

#[test]
fn those_who_do_not_are_left_behind() {
    let settings = Settings { grace: Duration::from_millis(100), ..settings() };
    for twist in [Twist::LoopsAsleep, Twist::LoadLoopsAsleep, Twist::SizeLoopsAsleep] {
        // The run returns while the solvers are still asleep.
        let (_, sieve) = cancel(twist, &settings);
        assert!(Arc::strong_count(&sieve) > 1, "{twist:?}");
        sieve.released.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_run_that_was_cancelled_before_it_began() {
    let settings = settings();
    settings.stop.cancel();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields(100, 17)));
    let report = swathe::run(&sieve, &source, &settings, &mut |_| panic!("nobody was solved"));
    assert!(report.cancelled);
    assert_eq!(report.counts.n_done(), 0);
}

/// A caller that breaks gets no more outcomes. Its stop is not set, because other runs may share
/// it.
#[test]
fn breaking_ends_the_run() {
    let settings = settings();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields(10_000, 18)));
    let mut n_taken = 0;
    let _watchdog = Watchdog::start();
    let report = swathe::run(&sieve, &source, &settings, &mut |_| {
        n_taken += 1;
        if n_taken == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((n_taken, report.counts.n_done()), (10, 10));
    assert!(report.cancelled);
    assert!(!settings.stop.requested());
    drop((sieve, source));
    assert_eq!(settings.memory.used_bytes(), 0);
}

/// A panic of the caller's `done` reaches the caller, and the workers end.
#[test]
fn a_panic_while_taking_outcomes() {
    quiet_panics();
    let _watchdog = Watchdog::start();
    let settings = settings();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields(100_000, 19)));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        swathe::run(&sieve, &source, &settings, &mut |_| panic!("taken on purpose"))
    }));
    assert!(ended.is_err());
    drop(source);
    // The workers release the workload when they end.
    while Arc::strong_count(&sieve) > 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One slow problem exceeds its time limit. The limit applies to each problem, not to the batch.
#[test]
fn the_limit_is_for_each_problem() {
    let slow =
        |ms| Twist::Takes { load: Duration::from_millis(ms), solve: Duration::from_millis(ms) };
    // Together they take far more than the limit of one.
    let mut all: Vec<Field> =
        fields(30, 20).into_iter().map(|field| field.twisted(slow(50))).collect();
    all[7] = all[7].twisted(Twist::LoopsAndPolls);
    let all = Arc::new(all);
    patiently(600, |time_limit| {
        let settings = Settings {
            n_threads: 2,
            time_limit,
            batch_size: swathe::BatchSize::Fixed(15),
            ..settings()
        };
        let report = crate::sieve::check(&Sieve::new(&settings.memory), &all, &settings);
        assert_eq!((report.counts.n_solved, report.counts.n_timed_out), (29, 1));
    });
}
