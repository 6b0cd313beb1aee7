//! An answer depends on its problem alone.

use std::sync::Arc;

use swathe::{BatchSize, Budget, Settings};

use crate::sieve::{Field, Sieve, fields, mix, run};

/// Batch size × order × threads: every problem has the same answer.
#[test]
fn batch_size_order_and_threads_change_nothing() {
    const N_PROBLEMS: usize = 1200;
    let in_order = fields(N_PROBLEMS, 9);
    let expected: Vec<Vec<u64>> = in_order.iter().map(Field::oracle).collect();
    for order in 0..5 {
        let order = permutation(N_PROBLEMS, order);
        let permuted: Vec<Field> = order.iter().map(|&k| in_order[k]).collect();
        let permuted = Arc::new(permuted);
        for n in [1, 2, 3, 7, 32, 1000] {
            for n_threads in [1, 2] {
                let settings = Settings {
                    n_threads,
                    n_prefetch: n_threads,
                    batch_size: BatchSize::Fixed(n),
                    memory: Budget::new(1 << 20),
                    ..Settings::default()
                };
                let ran = run(&Sieve::new(&settings.memory), &permuted, &settings);
                for (at, answer) in ran.answers.iter().enumerate() {
                    assert_eq!(answer.as_ref(), Some(&expected[order[at]]), "problem {at}");
                }
                let n_lanes_max = ran.report.launches.iter().map(|launch| launch.n_lanes);
                assert!(n_lanes_max.max() <= Some(n));
            }
        }
    }
}

/// The given order, the reverse, or a shuffle by seed.
fn permutation(n: usize, number: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    match number {
        0 => {}
        1 => order.reverse(),
        seed => order.sort_by_key(|&k| mix(seed ^ mix(k as u64))),
    }
    order
}

/// Costs from earlier runs, right or absurd, change batches and nothing else.
#[test]
fn learnt_costs_change_nothing() {
    let fields = Arc::new(fields(2000, 10));
    let mut settings =
        Settings { n_threads: 2, memory: Budget::new(1 << 20), ..Settings::default() };
    let sieve = Sieve::new(&settings.memory);
    let first = run(&sieve, &fields, &settings);
    assert!(first.report.costs.rows().count() > 0);
    settings.costs = first.report.costs.clone();
    let second = run(&sieve, &fields, &settings);
    assert_eq!(first.answers, second.answers);
    let absurd = first.report.costs.rows().map(|row| swathe::CostRow { lane_ns: 1e18, ..row });
    settings.costs = absurd.collect::<Vec<_>>().into();
    assert_eq!(first.answers, run(&sieve, &fields, &settings).answers);
}
