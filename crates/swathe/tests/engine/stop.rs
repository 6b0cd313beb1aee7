//! Runs end early when they are told to, and problems when their time is over.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use swathe::{Budget, Report, Settings, Stop};

use crate::sieve::{Field, Sieve, Twist, Watchdog, fields, quiet_panics};

fn settings() -> Settings {
    Settings {
        n_threads: 2,
        memory: Budget::new(1 << 20),
        ..Settings::default()
    }
}

/// Cancels a run of such problems after 50 ms and measures how long it takes to end.
fn cancel(twist: Twist, settings: &Settings) -> (Duration, Report, Arc<Sieve>) {
    let _watchdog = Watchdog::start();
    let settings = Settings {
        stop: Stop::new(),
        ..settings.clone()
    };
    let fields: Vec<Field> = fields(200, 16)
        .into_iter()
        .map(|field| field.twisted(twist))
        .collect();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields));
    let stop = settings.stop.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        stop.cancel();
        Instant::now()
    });
    let report = swathe::run(&sieve, &source, &settings, &mut |_| {
        ControlFlow::Continue(())
    });
    let ended = Instant::now();
    (ended - canceller.join().unwrap(), report, sieve)
}

/// The machine may be busy: the best of a few tries is what the engine takes.
fn cancel_quickest(twist: Twist, settings: &Settings) -> Duration {
    (0..5)
        .map(|_| {
            let (took, report, sieve) = cancel(twist, settings);
            sieve.released.store(true, Ordering::Relaxed);
            assert!(report.cancelled);
            assert!(report.counts.n_done() < report.counts.n_problems);
            took
        })
        .min()
        .expect("there were tries")
}

#[test]
fn those_who_poll_end_within_100_ms() {
    for twist in [Twist::LoopsAndPolls, Twist::LoadLoopsAndPolls] {
        let took = cancel_quickest(twist, &settings());
        assert!(took < Duration::from_millis(100), "{twist:?}: {took:?}");
    }
}

#[test]
fn those_who_do_not_are_left_behind() {
    let settings = Settings {
        grace: Duration::from_millis(100),
        ..settings()
    };
    for twist in [Twist::LoopsAsleep, Twist::LoadLoopsAsleep] {
        let took = cancel_quickest(twist, &settings);
        assert!(
            took >= Duration::from_millis(90),
            "grace is given: {took:?}"
        );
        assert!(took < Duration::from_millis(300), "{twist:?}: {took:?}");
    }
}

/// Waiting for memory or for a turn is no reason to miss a stop.
#[test]
fn those_who_wait_end_too() {
    let settings = Settings {
        n_threads: 1,
        n_prefetch: 4,
        memory: Budget::new(1500),
        ..settings()
    };
    let took = cancel_quickest(Twist::LoopsAndPolls, &settings);
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[test]
fn a_run_that_was_cancelled_before_it_began() {
    let settings = settings();
    settings.stop.cancel();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields(100, 17)));
    let report = swathe::run(&sieve, &source, &settings, &mut |_| {
        panic!("nobody was solved")
    });
    assert!(report.cancelled);
    assert_eq!(report.counts.n_done(), 0);
}

/// Whoever breaks gets nothing more, and his stop is not touched: it may stand for other runs.
#[test]
fn breaking_ends_the_run() {
    let settings = settings();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields(10_000, 18)));
    let mut n_taken = 0;
    let _watchdog = Watchdog::start();
    let report = swathe::run(&sieve, &source, &settings, &mut |_| {
        n_taken += 1;
        if n_taken == 10 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!((n_taken, report.counts.n_done()), (10, 10));
    assert!(report.cancelled);
    assert!(!settings.stop.requested());
    drop((sieve, source));
    assert_eq!(settings.memory.used_bytes(), 0);
}

/// A panic of whoever takes the outcomes is his own, and nobody works on for nothing.
#[test]
fn a_panic_while_taking_outcomes() {
    quiet_panics();
    let _watchdog = Watchdog::start();
    let settings = settings();
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(fields(100_000, 19)));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        swathe::run(&sieve, &source, &settings, &mut |_| {
            panic!("taken on purpose")
        })
    }));
    assert!(ended.is_err());
    drop(source);
    // The workers let go of the workload when they end.
    while Arc::strong_count(&sieve) > 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One slow problem runs into its limit; the limit is its own, not the batch's.
#[test]
fn the_limit_is_for_each_problem() {
    let slow = |ms| Twist::Takes {
        load: Duration::from_millis(ms),
        solve: Duration::from_millis(ms),
    };
    // Together they take far more than one may.
    let mut all: Vec<Field> = fields(30, 20)
        .into_iter()
        .map(|field| field.twisted(slow(50)))
        .collect();
    all[7] = all[7].twisted(Twist::LoopsAndPolls);
    let settings = Settings {
        n_threads: 2,
        time_limit: Duration::from_millis(600),
        batch_size: swathe::BatchSize::Fixed(15),
        ..settings()
    };
    let report = crate::sieve::check(&Sieve::new(&settings.memory), &Arc::new(all), &settings);
    assert_eq!((report.counts.n_solved, report.counts.n_timed_out), (29, 1));
}
