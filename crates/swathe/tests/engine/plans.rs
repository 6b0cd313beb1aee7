//! Plans and buckets: they contain every problem exactly once and keep their limits.

use std::sync::Arc;

use proptest::prelude::*;
use swathe::{
    AsSolved, BatchSize, Budget, Costs, DeviceId, Limits, Need, Padding, Planned, Settings, Shape,
    Size, bucket, explain, plan, waste,
};

use crate::sieve::{Sieve, Twist, fields, quiet_panics};

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        prop::collection::vec(0u32..200, 0..=3),
        prop::collection::vec(1u32..20, 2..=2),
        prop::collection::vec(any::<u32>(), 1..=4),
    ]
    .prop_map(|extents| Shape::new(&extents))
}

fn planned() -> impl Strategy<Value = Vec<Planned>> {
    let need =
        (0u64..5000, 0u64..500, 0u64..100, 0u32..50).prop_map(|(lane, scratch, solution, huge)| {
            Need {
                lane_bytes: if huge == 0 { u64::MAX / 2 } else { lane },
                scratch_bytes: scratch,
                solution_bytes: solution,
            }
        });
    let one = (shapes(), 0u32..3, 0u64..4, need);
    prop::collection::vec(one, 0..200).prop_map(|all| {
        let all = all.into_iter().enumerate();
        all.map(|(k, (shape, class, affinity, need))| Planned {
            index: 3 * k,
            size: Size { class, affinity, ..Size::of(shape) },
            need,
            gpu: None,
        })
        .collect()
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    let batch_size = prop_oneof![Just(BatchSize::Auto), (1usize..40).prop_map(BatchSize::Fixed)];
    let budget = prop_oneof![0u64..100_000, Just(u64::MAX)];
    (budget, 1usize..9, batch_size, 1usize..50).prop_map(
        |(budget_bytes, n_batches_at_once, batch_size, batch_size_max)| Limits {
            budget_bytes,
            n_batches_at_once,
            batch_size,
            batch_size_max,
            gpu: None,
        },
    )
}

proptest! {
    #[test]
    fn a_plan_has_every_problem_once_and_keeps_its_limits(
        problems in planned(),
        limits in limits(),
        lane_us in prop::option::of(1u64..100_000),
    ) {
        let mut costs = Costs::default();
        if let Some(lane_us) = lane_us {
            for planned in &problems {
                let took = std::time::Duration::from_micros(lane_us * 10);
                costs.learn("w", &planned.size, DeviceId::Cpu, 10, took);
            }
        }
        let plan = plan("w", &problems, &limits, &costs);
        let of = |index: usize| &problems[index / 3];
        let batched = plan.batches.iter().flat_map(|batch| batch.problems.iter().copied());
        let mut all: Vec<usize> = batched.chain(plan.too_large.iter().map(|&(k, _)| k)).collect();
        all.sort_unstable();
        prop_assert!(all.into_iter().eq(problems.iter().map(|planned| planned.index)));
        for &(index, wanted_bytes) in &plan.too_large {
            prop_assert_eq!(wanted_bytes, of(index).need.total_bytes());
            prop_assert!(wanted_bytes > limits.budget_bytes);
        }
        for batch in &plan.batches {
            let n_lanes = batch.problems.len();
            prop_assert!(n_lanes >= 1 && n_lanes <= limits.batch_size_max);
            if let BatchSize::Fixed(n) = limits.batch_size {
                prop_assert!(n_lanes <= n);
            }
            let lanes = batch.problems.iter().map(|&k| of(k).need);
            let lanes_bytes: u64 = lanes.clone().map(|n| n.lane_bytes + n.solution_bytes).sum();
            let scratch_bytes = lanes.map(|n| n.scratch_bytes).max().unwrap();
            prop_assert_eq!(batch.bytes, lanes_bytes + scratch_bytes);
            prop_assert!(batch.bytes <= limits.budget_bytes);
            let share = limits.budget_bytes / (2 * limits.n_batches_at_once) as u64;
            prop_assert!(n_lanes == 1 || batch.bytes <= share);
            for &k in &batch.problems {
                prop_assert_eq!(of(k).size.class, batch.class);
                prop_assert!(of(k).size.shape.fits_in(&batch.shape));
            }
        }
        // A second call gives the same plan: it depends on its arguments alone.
        prop_assert_eq!(&plan, &swathe::plan("w", &problems, &limits, &costs));
    }

    #[test]
    fn everybody_is_in_one_bucket_that_fits(
        problems in prop::collection::vec((shapes(), 0u32..3), 0..150),
        listed in prop::collection::vec(shapes(), 0..6),
        n_buckets_max in 1usize..10,
        step in 1u32..70,
    ) {
        let problems: Vec<(usize, u32, Shape)> = problems
            .into_iter()
            .enumerate()
            .map(|(k, (shape, class))| (k, class, shape))
            .collect();
        for padding in [
            Padding::Exact,
            Padding::Multiple(step),
            Padding::Buckets(listed.clone()),
            Padding::Auto { n_buckets_max },
        ] {
            let (buckets, unfit) = bucket(&problems, &padding);
            let bucketed = buckets.iter().flat_map(|bucket| bucket.problems.iter().copied());
            let mut all: Vec<usize> = bucketed.chain(unfit.iter().copied()).collect();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..problems.len()));
            for bucket in &buckets {
                prop_assert!(!bucket.problems.is_empty());
                for &k in &bucket.problems {
                    let (_, class, shape) = problems[k];
                    prop_assert_eq!(class, bucket.class);
                    // Rounding up saturates at the largest integer.
                    prop_assert!(shape.fits_in(&bucket.shape));
                }
            }
            match &padding {
                Padding::Buckets(listed) => {
                    for k in unfit {
                        prop_assert!(listed.iter().all(|to| !problems[k].2.fits_in(to)));
                    }
                }
                Padding::Exact => {
                    prop_assert!(unfit.is_empty());
                    prop_assert_eq!(waste(&buckets), 0.0);
                }
                Padding::Multiple(_) => prop_assert!(unfit.is_empty()),
                Padding::Auto { .. } => {
                    prop_assert!(unfit.is_empty());
                    for class in 0..3 {
                        for n_extents in 0..=4 {
                            let of_kind = buckets.iter().filter(|bucket| {
                                bucket.class == class && bucket.shape.extents().len() == n_extents
                            });
                            prop_assert!(of_kind.count() <= n_buckets_max);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn reservations_never_exceed_their_budget(
        cap_bytes in 0u64..1000,
        steps in prop::collection::vec((0u64..400, any::<prop::sample::Index>(), 0u8..3), 0..100),
    ) {
        let budget = Budget::new(cap_bytes);
        let mut held = Vec::new();
        for (bytes, which, what) in steps {
            match what {
                0 => match budget.try_reserve(bytes) {
                    Ok(reservation) => held.push(reservation),
                    Err(refusal) => prop_assert!(refusal.free_bytes < bytes),
                },
                1 if !held.is_empty() => drop(held.swap_remove(which.index(held.len()))),
                2 if !held.is_empty() => {
                    let at = which.index(held.len());
                    let part = held[at].split(bytes);
                    held.push(part);
                }
                _ => {}
            }
            let sum: u64 = held.iter().map(|reservation| reservation.bytes()).sum();
            prop_assert_eq!(budget.used_bytes(), sum);
            prop_assert!(sum <= cap_bytes && budget.peak_bytes() <= cap_bytes);
        }
        drop(held);
        prop_assert_eq!(budget.used_bytes(), 0);
    }
}

/// The plan that is printed is the plan that is executed, and making it loads no problem.
#[test]
fn the_plan_that_is_explained() {
    quiet_panics();
    let mut all = fields(300, 30);
    all[7] = all[7].twisted(Twist::SizeFails);
    all[8] = all[8].twisted(Twist::SizePanics);
    all[9] = all[9].twisted(Twist::LoadPanics);
    let settings = Settings {
        n_threads: 2,
        batch_size: BatchSize::Fixed(10),
        memory: Budget::new(1 << 20),
        ..Settings::default()
    };
    let sieve = Sieve::new(&settings.memory);
    let plan =
        explain(&AsSolved(Arc::clone(&sieve)), &sieve.source(&Arc::new(all.clone())), &settings);
    let n_planned: usize = plan.batches.iter().map(|batch| batch.problems.len()).sum();
    assert_eq!(n_planned, 298);
    let report = crate::sieve::check(&sieve, &Arc::new(all), &settings);
    assert_eq!(report.n_launches as usize, plan.batches.len());
    let text = plan.to_string();
    assert!(text.starts_with(&format!("298 problems in {} batches", plan.batches.len())), "{text}");
}
