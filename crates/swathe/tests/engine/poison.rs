//! Bad problems among good ones: exactly the bad ones fail, each in its own way.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use swathe::{Budget, OutcomeKind, Report, Settings};

use crate::sieve::{Sieve, Twist, check, fields, mix, patiently};

const N_PROBLEMS: usize = 10_000;

/// Poisons 1, 10 and 100 of 10,000 problems with this twist and checks every outcome.
fn poison(twist: Twist, settings: &Settings) -> Vec<Report> {
    [1, 10, 100]
        .map(|n_bad| {
            let mut fields = fields(N_PROBLEMS, n_bad);
            for k in 0..n_bad {
                // One in every stretch, so that the positions are distinct.
                let stretch = N_PROBLEMS as u64 / n_bad;
                let at = (k * stretch + mix(k) % stretch) as usize;
                fields[at] = fields[at].twisted(twist);
            }
            let sieve = Sieve::new(&settings.memory);
            let report = check(&sieve, &Arc::new(fields), settings);
            sieve.released.store(true, Ordering::Relaxed);
            let counts = report.counts;
            assert_eq!(counts.n_solved, N_PROBLEMS as u64 - n_bad);
            let n_of_kind = match twist.kind() {
                OutcomeKind::Failed | OutcomeKind::WrongSize => counts.n_failed,
                OutcomeKind::TimedOut => counts.n_timed_out,
                OutcomeKind::Panicked => counts.n_panicked,
                kind => panic!("{kind:?} is no poison"),
            };
            assert_eq!(n_of_kind, n_bad);
            report
        })
        .into()
}

fn quick() -> Settings {
    Settings { n_threads: 2, memory: Budget::new(16 << 20), ..Settings::default() }
}

/// Sleeping loops take no processor time, so many may wait at once.
fn patient(time_limit: Duration) -> Settings {
    Settings {
        n_threads: 50,
        n_prefetch: 2,
        time_limit,
        grace: Duration::from_millis(200),
        n_stuck_max: 1000,
        ..quick()
    }
}

#[test]
fn panics() {
    poison(Twist::Panics, &quick());
    poison(Twist::LoadPanics, &quick());
    poison(Twist::SizePanics, &quick());
}

#[test]
fn failures() {
    poison(Twist::Fails, &quick());
    poison(Twist::LoadFails, &quick());
    poison(Twist::SizeFails, &quick());
}

#[test]
fn wrong_sizes() {
    poison(Twist::HasWrongSize, &quick());
}

#[test]
fn loops_that_poll() {
    // The grace is as long as the limit: a busy machine may not run a thread for a while.
    patiently(1000, |time_limit| {
        let settings = Settings { grace: 10 * time_limit, ..patient(time_limit) };
        for report in poison(Twist::LoopsAndPolls, &settings) {
            assert_eq!(report.n_setbacks, 0, "no worker is abandoned");
        }
    });
}

#[test]
fn loops_that_do_not_poll() {
    patiently(1000, |time_limit| {
        for report in poison(Twist::LoopsAsleep, &patient(time_limit)) {
            assert_eq!(report.n_setbacks, report.counts.n_timed_out);
        }
    });
}

#[test]
fn loads_that_loop() {
    patiently(1000, |time_limit| {
        let settings = Settings { n_prefetch: 50, ..patient(time_limit) };
        poison(Twist::LoadLoopsAndPolls, &settings);
        for report in poison(Twist::LoadLoopsAsleep, &settings) {
            assert_eq!(report.n_setbacks, report.counts.n_timed_out);
        }
    });
}

/// All kinds in one run, next to each other.
#[test]
fn a_cocktail() {
    patiently(1000, cocktail);
}

fn cocktail(time_limit: Duration) {
    let twists = [
        Twist::Panics,
        Twist::Fails,
        Twist::HasWrongSize,
        Twist::LoopsAndPolls,
        Twist::LoopsAsleep,
        Twist::LoadPanics,
        Twist::LoadFails,
        Twist::LoadLoopsAndPolls,
        Twist::LoadLoopsAsleep,
        Twist::SizePanics,
        Twist::SizeFails,
        Twist::SizeLoopsAsleep,
    ];
    let mut fields = fields(1000, 8);
    for (k, twist) in twists.into_iter().enumerate() {
        fields[500 + k] = fields[500 + k].twisted(twist);
    }
    let settings = Settings { n_threads: 4, ..patient(time_limit) };
    let sieve = Sieve::new(&settings.memory);
    let report = check(&sieve, &Arc::new(fields), &settings);
    sieve.released.store(true, Ordering::Relaxed);
    let counts = report.counts;
    assert_eq!(counts.n_solved, 988);
    assert_eq!((counts.n_failed, counts.n_timed_out, counts.n_panicked), (4, 5, 3));
}

/// A solver that never returns keeps its memory. A problem that needs this memory still gets an
/// outcome, and all others get their answer.
#[test]
fn memory_that_never_comes_back() {
    patiently(300, strand_memory);
}

fn strand_memory(time_limit: Duration) {
    use crate::sieve::{Field, late_if, run};
    let mut fields = vec![Field::new(0, 64, 64).twisted(Twist::LoopsAsleep)];
    fields.extend((1..20).map(|seed| Field::new(seed, 8, 8)));
    fields.push(Field::new(20, 90, 64));
    let settings = Settings {
        n_threads: 1,
        n_prefetch: 0,
        // Either of the two large problems fits beside the small ones, but not both.
        memory: Budget::new(60_000),
        time_limit,
        grace: Duration::from_millis(100),
        batch_size: swathe::BatchSize::Fixed(1),
        ..Settings::default()
    };
    let sieve = Sieve::new(&settings.memory);
    let ran = run(&sieve, &Arc::new(fields), &settings);
    late_if(ran.report.counts.n_timed_out > 1);
    assert_eq!(ran.kinds[0], OutcomeKind::TimedOut);
    assert_eq!(ran.kinds[20], OutcomeKind::TooLarge);
    assert_eq!(ran.report.counts.n_solved, 19);
    assert!(settings.memory.used_bytes() > 0, "it is still held");
    sieve.released.store(true, Ordering::Relaxed);
    let _watchdog = crate::sieve::Watchdog::start();
    drop(sieve);
    while settings.memory.used_bytes() > 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
}
