//! Verification: answers that are computed twice.

use std::sync::Arc;
use std::time::Duration;

use swathe::{Budget, DeviceKind, Settings, Workload};

use crate::sieve::{Field, Sieve, Twist, check, fields, late_if, patiently, run};

fn settings(n_verify: usize) -> Settings {
    Settings { n_threads: 2, n_verify, memory: Budget::new(1 << 20), ..Settings::default() }
}

#[test]
fn those_who_agree_are_counted() {
    let all = Arc::new(fields(500, 21));
    for (n_verify, n_checked) in [(0, 0), (1, 1), (40, 40), (500, 500), (9999, 500)] {
        let settings = settings(n_verify);
        let verification = check(&Sieve::new(&settings.memory), &all, &settings).verification;
        assert_eq!(verification.n_checked, n_checked);
        assert_eq!(verification.n_skipped, 0);
        assert!(verification.mismatches.is_empty());
    }
}

#[test]
fn those_who_differ_are_named() {
    let mut all = fields(300, 22);
    for k in [3, 77, 299] {
        all[k] = all[k].twisted(Twist::AnswersAnything);
    }
    let settings = settings(300);
    let verification = check(&Sieve::new(&settings.memory), &Arc::new(all), &settings).verification;
    assert_eq!(verification.n_checked, 300);
    let named: Vec<usize> = verification.mismatches.iter().map(|m| m.problem).collect();
    assert_eq!(named, [3, 77, 299]);
    let difference = &verification.mismatches[0].difference;
    assert_eq!(difference.field, "row 0");
    assert_ne!(difference.expected, difference.found);
}

/// The seed alone chooses the problems, not the order in which workers take them.
#[test]
fn the_seed_chooses() {
    let all: Vec<Field> =
        fields(200, 23).into_iter().map(|field| field.twisted(Twist::AnswersAnything)).collect();
    let all = Arc::new(all);
    let chosen = |seed, n_threads| {
        let settings = Settings { seed, n_threads, ..settings(20) };
        let report = run(&Sieve::new(&settings.memory), &all, &settings).report;
        let mismatches = report.verification.mismatches;
        mismatches.iter().map(|m| m.problem).collect::<Vec<_>>()
    };
    assert_eq!(chosen(1, 1).len(), 20);
    assert_eq!(chosen(1, 1), chosen(1, 2));
    assert_ne!(chosen(1, 1), chosen(2, 1));
}

/// A problem that fits once but not twice is solved and not checked. For the other problems, memory
/// for two is reserved.
#[test]
fn what_does_not_fit_twice_is_skipped() {
    let all: Vec<Field> =
        (0..20).map(|seed| Field::new(seed, if seed == 4 { 40 } else { 4 }, 8)).collect();
    let mut settings = settings(20);
    let sieve = Sieve::new(&settings.memory);
    let need_bytes = sieve.need(&all[4].size(), DeviceKind::Cpu).total_bytes();
    settings.memory = Budget::new(need_bytes + 100);
    let report = check(&Sieve::new(&settings.memory), &Arc::new(all), &settings);
    assert_eq!(report.verification.n_checked, 19);
    assert_eq!(report.verification.n_skipped, 1);
    assert!(report.memory.peak_bytes <= need_bytes + 100);
}

/// Results from before a worker got stuck are not lost with the worker.
#[test]
fn a_stuck_worker_takes_no_mismatch_with_it() {
    patiently(500, lose_worker);
}

fn lose_worker(time_limit: Duration) {
    let mut all: Vec<Field> = (0..8).map(|seed| Field::new(10 * seed, 2, 2)).collect();
    all[2] = all[2].twisted(Twist::AnswersAnything);
    all[5] = all[5].twisted(Twist::LoopsAsleep);
    let settings = Settings {
        n_threads: 1,
        n_prefetch: 0,
        batch_size: swathe::BatchSize::Fixed(8),
        time_limit,
        grace: Duration::from_millis(100),
        ..settings(8)
    };
    let sieve = Sieve::new(&settings.memory);
    let report = check(&sieve, &Arc::new(all), &settings);
    sieve.released.store(true, std::sync::atomic::Ordering::Relaxed);
    late_if(report.verification.n_skipped > 1);
    assert_eq!(report.verification.n_checked, 7);
    assert_eq!(report.verification.mismatches[0].problem, 2);
}
