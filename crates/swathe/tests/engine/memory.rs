//! The budget is kept, whatever the sizes, and no request waits for ever.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use swathe::{BatchSize, Budget, DeviceKind, OutcomeKind, Settings, Workload};

use crate::sieve::{Field, Sieve, Watchdog, fields, run};

/// Small problems, one that takes half of the budget, one that takes nearly all of it, and one that
/// exceeds it.
fn skewed(cap_bytes: u64) -> Vec<Field> {
    // Eight bytes per cell, four columns: a row takes 8 × 4 + 8 bytes.
    let of_bytes = |bytes: u64| Field::new(1, (bytes / 40) as u32, 4);
    let mut fields = fields(150, cap_bytes);
    fields.insert(30, of_bytes(cap_bytes / 2));
    fields.insert(80, of_bytes(cap_bytes - 1000));
    fields.insert(120, of_bytes(cap_bytes + 1000));
    fields.insert(130, of_bytes(cap_bytes / 2));
    fields
}

#[test]
fn the_counted_peak_stays_under_the_cap() {
    for cap_bytes in [4 << 10, 10_000, 64 << 10, 1 << 20, 64 << 20] {
        let fields = Arc::new(skewed(cap_bytes));
        let expected: Vec<Vec<u64>> = fields.iter().map(Field::oracle).collect();
        let n_prefetches: &[usize] = if cap_bytes > 1 << 20 { &[2] } else { &[0, 1, 2, 8] };
        for &n_prefetch in n_prefetches {
            for batch_size in [BatchSize::Auto, BatchSize::Fixed(16)] {
                let settings = Settings {
                    n_threads: 2,
                    n_prefetch,
                    batch_size,
                    memory: Budget::new(cap_bytes),
                    ..Settings::default()
                };
                let sieve = Sieve::new(&settings.memory);
                let ran = run(&sieve, &fields, &settings);
                for (k, answer) in ran.answers.iter().enumerate() {
                    if k == 120 {
                        assert_eq!(ran.kinds[k], OutcomeKind::TooLarge);
                    } else {
                        assert_eq!(answer.as_ref(), Some(&expected[k]), "problem {k}");
                    }
                }
                let memory = ran.report.memory;
                assert!(memory.peak_bytes <= cap_bytes, "{memory:?}");
                assert!(memory.peak_bytes >= cap_bytes - 2000, "{memory:?}");
                assert_eq!(ran.report.counts.n_too_large, 1);
                assert_eq!(ran.report.n_setbacks, 0, "waiting is no setback");
                drop(sieve);
                assert_eq!(settings.memory.used_bytes(), 0);
            }
        }
    }
}

/// The budget is exactly what one problem takes, so problems are solved one after the other.
#[test]
fn a_budget_for_one() {
    let fields = Arc::new((0..40).map(|seed| Field::new(seed, 3, 5)).collect::<Vec<_>>());
    let any = Sieve::new(&Budget::new(0));
    let need_bytes = any.need(&fields[0].size(), DeviceKind::Cpu).total_bytes();
    for n_prefetch in 0..=8 {
        let settings = Settings {
            n_threads: 3,
            n_prefetch,
            memory: Budget::new(need_bytes),
            ..Settings::default()
        };
        let report = crate::sieve::check(&Sieve::new(&settings.memory), &fields, &settings);
        assert_eq!(report.counts.n_solved, 40);
        assert!(report.memory.peak_bytes <= need_bytes);
    }
    let settings = Settings { memory: Budget::new(need_bytes - 1), ..Settings::default() };
    let ran = run(&Sieve::new(&settings.memory), &fields, &settings);
    assert_eq!(ran.report.counts.n_too_large, 40);
}

/// The state of the workers is held as long as the run, so a problem that would need its memory
/// too is refused instead of waiting for it.
#[test]
fn no_problem_waits_for_the_memory_of_the_workers() {
    let fields = Arc::new((0..4).map(|seed| Field::new(seed, 3, 5)).collect::<Vec<_>>());
    let any = Sieve::new(&Budget::new(0));
    let need_bytes = any.need(&fields[0].size(), DeviceKind::Cpu).total_bytes();
    for (cap_bytes, kind) in [
        (need_bytes + 49, OutcomeKind::TooLarge),
        (need_bytes + 50, OutcomeKind::Solved),
        // Where the state does not fit at all, problems take precedence.
        (need_bytes, OutcomeKind::Solved),
    ] {
        let settings = Settings {
            n_threads: 1,
            n_prefetch: 0,
            memory: Budget::new(cap_bytes),
            ..Settings::default()
        };
        let sieve = Sieve::new(&settings.memory);
        let local_bytes = if cap_bytes == need_bytes { cap_bytes + 1 } else { 50 };
        sieve.local_bytes.store(local_bytes, Ordering::Relaxed);
        assert_eq!(run(&sieve, &fields, &settings).kinds, [kind; 4], "{cap_bytes} bytes");
    }
}

/// While the caller takes no outcomes, the waiting answers are no more than the budget holds.
#[test]
fn slow_output_holds_the_solvers_back() {
    let (n_problems, cap_bytes) = (400, 64 << 10);
    let fields: Vec<Field> = (0..n_problems).map(|seed| Field::new(seed, 64, 1)).collect();
    let fields = Arc::new(fields);
    // An answer takes 512 bytes and its problem as much again.
    let n_held_max = cap_bytes / 512;
    for n_prefetch in [0, 1, 8] {
        let settings = Settings {
            n_threads: 2,
            n_prefetch,
            batch_size: BatchSize::Fixed(4),
            memory: Budget::new(cap_bytes),
            ..Settings::default()
        };
        let sieve = Sieve::new(&settings.memory);
        let loaded = Arc::new(AtomicUsize::new(0));
        let source = {
            let (inner, loaded) = (sieve.source(&fields), Arc::clone(&loaded));
            let sized = sieve.source(&fields);
            swathe::Source::new(
                fields.len(),
                move |index| sized.size(index),
                move |index, stop| {
                    loaded.fetch_add(1, Ordering::SeqCst);
                    inner.load(index, stop)
                },
            )
        };
        let _watchdog = Watchdog::start();
        let mut n_taken = 0;
        let report = swathe::run(&sieve, &source, &settings, &mut |_| {
            if n_taken % 50 == 0 {
                // Long enough for all workers to reach the limit of the budget.
                std::thread::sleep(Duration::from_millis(40));
            }
            let n_ahead = loaded.load(Ordering::SeqCst) - n_taken;
            assert!(n_ahead <= n_held_max as usize, "{n_ahead} are in flight");
            n_taken += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(report.counts.n_solved, n_problems);
        assert!(report.memory.peak_bytes <= cap_bytes);
    }
}

/// Buffers are reused, and the report says how often.
#[test]
fn pooled_buffers_are_reported() {
    let settings = Settings {
        n_threads: 1,
        n_prefetch: 0,
        batch_size: BatchSize::Fixed(1),
        memory: Budget::new(1 << 20),
        ..Settings::default()
    };
    let fields: Vec<Field> = (0..100).map(|seed| Field::new(seed, 4, 4)).collect();
    let sieve = Sieve::new(&settings.memory);
    let report = crate::sieve::check(&sieve, &Arc::new(fields), &settings);
    let pool = report.memory.pool;
    assert_eq!((pool.n_taken, pool.n_reused), (100, 99));
}
