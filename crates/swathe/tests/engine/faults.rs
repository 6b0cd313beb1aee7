//! Every point where something can be refused is refused in turn.

use std::sync::Arc;
use std::time::Duration;

use swathe::{BatchSize, Budget, FaultPoint, Faults, Report, Settings};

use crate::sieve::{Field, Sieve, check, fields, mix, released, run};

#[derive(Clone, Copy, Debug)]
struct Setup {
    n_threads: usize,
    n_prefetch: usize,
    batch_size: BatchSize,
}

/// One worker: every run reaches the same points in the same order.
const ALONE: Setup = Setup { n_threads: 1, n_prefetch: 0, batch_size: BatchSize::Fixed(5) };

const TOGETHER: Setup = Setup { n_threads: 2, n_prefetch: 2, batch_size: BatchSize::Fixed(3) };

/// Runs with these faults and checks every answer, the counts and that all memory was released.
fn check_with(fields: &Arc<Vec<Field>>, setup: Setup, faults: &Faults) -> Report {
    let budget = Budget::with_faults(64 << 10, faults.clone());
    let sieve = Sieve::new(&budget);
    let settings = Settings {
        n_threads: setup.n_threads,
        n_prefetch: setup.n_prefetch,
        batch_size: setup.batch_size,
        memory: budget.clone(),
        ..Settings::default()
    };
    let report = check(&sieve, fields, &settings);
    drop((settings, sieve));
    released(&budget);
    assert!(budget.peak_bytes() <= budget.cap_bytes());
    report
}

fn rule(text: &str) -> Faults {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Points reached in a run without faults, of each kind.
fn n_points(fields: &Arc<Vec<Field>>, setup: Setup) -> [u64; FaultPoint::ALL.len()] {
    let counted = Faults::count_only();
    let report = check_with(fields, setup, &counted);
    assert_eq!((report.n_setbacks, counted.n_injected()), (0, 0));
    counted.n_met()
}

fn refuse_each_in_turn(n_fields: usize, setup: Setup) -> u64 {
    let fields = Arc::new(fields(n_fields, 1));
    let met = n_points(&fields, setup);
    for (point, n) in FaultPoint::ALL.into_iter().zip(met) {
        // Stores belong to the run folder, and there is no graphics processor here.
        let is_elsewhere = matches!(
            point,
            FaultPoint::Store
                | FaultPoint::Buffer
                | FaultPoint::Upload
                | FaultPoint::Readback
                | FaultPoint::SelfTest
                | FaultPoint::Reopen
        );
        assert_eq!(n > 0, !is_elsewhere, "{point:?} was met {n} times");
    }
    // Thread starts are not part of the count of all points.
    let n_points: u64 = met.iter().sum::<u64>() - met[FaultPoint::Thread as usize];
    for k in 1..=n_points {
        let faults = rule(&format!("oom@{k}"));
        let report = check_with(&fields, setup, &faults);
        if setup.n_threads == 1 {
            assert_eq!(faults.n_injected(), 1, "point {k} was not met again");
        }
        assert!(report.n_setbacks <= 1, "{:?}", report.setbacks);
    }
    n_points
}

#[test]
fn each_point_refused_in_turn_alone() {
    let n = refuse_each_in_turn(250, ALONE);
    assert!(n >= 1000, "only {n} points");
}

#[test]
fn each_point_refused_in_turn_together() {
    let n = refuse_each_in_turn(160, TOGETHER);
    assert!(n >= 600, "only {n} points");
}

#[test]
fn each_launch_lost_or_slow_in_turn() {
    for setup in [ALONE, TOGETHER] {
        let fields = Arc::new(fields(120, 2));
        let n_launches = n_points(&fields, setup)[FaultPoint::Launch as usize];
        assert!(n_launches >= 20);
        for k in 1..=n_launches {
            let lost = rule(&format!("lost@{k}"));
            let report = check_with(&fields, setup, &lost);
            assert_eq!((lost.n_injected(), report.n_setbacks), (1, 1));
            let slow = rule(&format!("slow@{k}=3ms"));
            let report = check_with(&fields, setup, &slow);
            assert_eq!((slow.n_injected(), report.n_setbacks), (1, 0));
        }
    }
}

#[test]
fn pairs_of_faults() {
    for (setup, seed) in [(ALONE, 3), (TOGETHER, 4)] {
        let fields = Arc::new(fields(100, seed));
        let met = n_points(&fields, setup);
        let n_points: u64 = met.iter().sum();
        let n_launches = met[FaultPoint::Launch as usize];
        for pair in 0..100u64 {
            let draw = |k: u64, below: u64| 1 + mix(seed ^ mix(pair * 4 + k)) % below;
            let text = match pair % 4 {
                0 | 1 => format!("oom@{},oom@{}", draw(0, n_points), draw(1, n_points)),
                2 => format!("oom@{},lost@{}", draw(0, n_points), draw(1, n_launches)),
                _ => format!("lost@{},lost@{}", draw(0, n_launches), draw(1, n_launches)),
            };
            check_with(&fields, setup, &rule(&text));
        }
    }
}

#[test]
fn a_tenth_of_all_points_refused() {
    for setup in [ALONE, TOGETHER] {
        for seed in 0..15 {
            let fields = Arc::new(fields(300, seed));
            let faults = rule(&format!("oom%10:seed={seed}"));
            let report = check_with(&fields, setup, &faults);
            assert!(faults.n_injected() > 50, "{}", faults.n_injected());
            assert!(report.n_setbacks > 10);
            let faults = rule(&format!("oom%10:seed={seed},lost%10:seed={seed}"));
            check_with(&fields, setup, &faults);
        }
    }
}

#[test]
fn a_panic_on_purpose_costs_one_problem() {
    for setup in [ALONE, TOGETHER] {
        let fields = Arc::new(fields(50, 5));
        for k in [0, 17, 49] {
            let memory = Budget::with_faults(64 << 10, rule(&format!("panic@item:{k}")));
            let sieve = Sieve::new(&memory);
            let settings = Settings { n_threads: setup.n_threads, memory, ..Settings::default() };
            let ran = run(&sieve, &fields, &settings);
            assert_eq!(ran.report.counts.n_panicked, 1);
            for (at, answer) in ran.answers.iter().enumerate() {
                assert_eq!(answer.is_none(), at == k, "problem {at}");
            }
        }
    }
}

/// A rule that always strikes must not keep a run from ending.
#[test]
fn what_is_always_refused_ends_too() {
    let settings = |text: &str| Settings {
        n_threads: 2,
        memory: Budget::with_faults(64 << 10, rule(text)),
        ..Settings::default()
    };
    let fields = Arc::new(fields(20, 6));
    for text in ["oom%100", "oom%100:launch", "oom%100:load", "oom%100:item", "oom@item:7"] {
        let settings = settings(text);
        let ran = run(&Sieve::new(&settings.memory), &fields, &settings);
        let n_refused = if text == "oom@item:7" { 1 } else { 20 };
        assert_eq!(ran.report.counts.n_too_large, n_refused, "{text}");
        assert_eq!(ran.report.counts.n_solved, 20 - n_refused, "{text}");
    }
    let ran = run(
        &Sieve::new(&Budget::new(1 << 20)),
        &Arc::new(fields[..3].to_vec()),
        &settings("lost%100"),
    );
    // After enough losses the problems are solved regardless.
    assert_eq!(ran.report.counts.n_solved, 3);
    assert!(ran.report.n_setbacks >= 3);
}

/// A refused reservation is retried, in halves if there is more than one problem.
#[test]
fn setbacks_are_told() {
    let fields = Arc::new(fields(40, 7));
    let setup = Setup { batch_size: BatchSize::Fixed(40), ..ALONE };
    let report = check_with(&fields, setup, &rule("oom@1"));
    assert_eq!(report.n_setbacks, 1);
    let setback = &report.setbacks[0];
    assert_eq!(setback.remedy, swathe::Remedy::Split);
    assert!(setback.n_problems > 1);
    assert!(report.memory.n_refusals >= 1);

    let report = check_with(&fields, setup, &rule("slow@1=50ms"));
    assert!(report.wall_ms >= 50.0, "{}", report.wall_ms);
    let slowest = report.launches.iter().map(|launch| launch.end_ms - launch.solve_start_ms);
    assert!(slowest.fold(0.0, f64::max) >= 50.0);

    let report = check_with(&fields, setup, &rule("lost@1"));
    assert_eq!(report.setbacks[0].remedy, swathe::Remedy::Replaced);
    assert_eq!(report.workers.len(), 2, "the lost one and the new one");
    assert!(Duration::from_secs_f64(report.wall_ms / 1e3) < Duration::from_secs(30));
}

/// The whole matrix again, with more of everything.
#[test]
#[ignore = "long: for soaks"]
fn a_long_fault_matrix() {
    refuse_each_in_turn(1500, ALONE);
    refuse_each_in_turn(1000, TOGETHER);
    for seed in 0..300 {
        let fields = Arc::new(fields(1000, seed));
        check_with(&fields, TOGETHER, &rule(&format!("oom%10:seed={seed}")));
        check_with(&fields, TOGETHER, &rule(&format!("oom%50:seed={seed}")));
        check_with(&fields, TOGETHER, &rule(&format!("lost%20:seed={seed}")));
    }
}
