//! Matrix products are within the error of in-order sums.

use swathe::Workload;
use swathe_array::{Answer, Array, ArrayWorkload, Item, Operation};

use crate::{Became, Random, check, floats, gpu, launch, one, two};

fn pair([n_rows, n_inner, n_cols]: [usize; 3], random: &mut Random) -> Item {
    two(random.floats(&[n_rows, n_inner]), random.floats(&[n_inner, n_cols]))
}

/// The largest difference, relative to the tolerance.
fn worst(answers: &[(Answer, Answer)]) -> f64 {
    let mut worst = 0.0f64;
    for (expected, found) in answers {
        for (a, b) in floats(&expected.array).iter().zip(floats(&found.array)) {
            let error = (f64::from(*a) - f64::from(*b)).abs();
            worst = worst.max(error / found.error_max.max(f64::MIN_POSITIVE));
        }
    }
    worst
}

#[test]
fn shapes_of_every_kind_in_one_launch() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(21);
    let shapes = [
        [1, 1, 1],
        [0, 3, 4],
        [3, 0, 4],
        [3, 4, 0],
        [0, 0, 0],
        [5, 7, 3],
        [31, 15, 33],
        [32, 16, 32],
        [33, 17, 31],
        [1, 100, 1],
        [100, 1, 100],
        [1, 64, 129],
        [129, 64, 1],
        // Larger than one tile in every direction, and not by whole tiles.
        [70, 50, 101],
        [64, 64, 64],
        [200, 130, 90],
        [3, 3000, 2],
    ];
    let mut items: Vec<Item> = shapes.iter().map(|&shape| pair(shape, &mut random)).collect();
    for _ in 0..100 {
        let shape = [40, 70, 40].map(|most| random.below(most));
        items.push(pair(shape, &mut random));
    }
    let answers = check(&Operation::Matmul, &items, &gpu);
    assert_eq!(answers.len(), items.len());
    println!("{:.1e} of the difference that is allowed, on {}", worst(&answers), gpu.info().name);
    // An empty sum is zero.
    assert_eq!(floats(&answers[2].1.array), [0.0; 12]);
}

/// Whole numbers with exact products and sums: any wrong index becomes visible.
#[test]
fn exact_products_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(22);
    let mut whole = |shape: &[usize]| {
        let n: usize = shape.iter().product();
        let data: Vec<f32> = (0..n).map(|_| random.below(64) as f32 - 32.0).collect();
        Array::new(shape.to_vec(), data).unwrap()
    };
    let mut items = Vec::new();
    for n_rows in [1, 4, 5, 32, 37, 65] {
        for n_inner in [1, 15, 16, 17, 48] {
            for n_cols in [1, 3, 32, 34, 66] {
                items.push(two(whole(&[n_rows, n_inner]), whole(&[n_inner, n_cols])));
            }
        }
    }
    let answers = check(&Operation::Matmul, &items, &gpu);
    for (expected, found) in &answers {
        assert_eq!(floats(&expected.array), floats(&found.array));
    }
}

#[test]
fn as_many_tiny_lanes_as_a_launch_can_have() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(23);
    let items: Vec<Item> = (0..65_536)
        .map(|_| {
            let shape = [0; 3].map(|_: usize| random.below(4));
            pair(shape, &mut random)
        })
        .collect();
    let answers = check(&Operation::Matmul, &items, &gpu);
    assert_eq!(answers.len(), 65_536);
}

/// Only products that kernels cannot solve move to the CPU.
#[test]
fn infinities_and_what_may_overflow_go_to_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(24);
    let with = |x: f32, random: &mut Random| {
        let mut item = pair([4, 5, 6], random);
        let mut data = floats(&item.first).to_vec();
        data[7] = x;
        item.first = std::sync::Arc::new(Array::new(vec![4, 5], data).unwrap());
        item
    };
    let items = [1.0, f32::NAN, f32::INFINITY, 3e38, 1e30, 1e-42].map(|x| with(x, &mut random));
    let workload = ArrayWorkload::new(Operation::Matmul);
    let all: Vec<&Item> = items.iter().collect();
    let became = launch(&workload, &gpu, &all);
    let to_cpu: Vec<bool> = became.iter().map(|lane| matches!(lane, Became::ToCpu(_))).collect();
    assert_eq!(to_cpu, [false, true, true, true, false, false]);
    let kept = [items[0].clone(), items[4].clone(), items[5].clone()];
    assert_eq!(check(&Operation::Matmul, &kept, &gpu).len(), 3);
}

/// Sums that cancel, and very small and very large numbers.
#[test]
fn scales() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(25);
    let mut items = Vec::new();
    for scale in [1e-38f32, 1e-25, 1e-20, 1e-10, 1.0, 1e10, 1e17] {
        let mut scaled = |shape: &[usize]| {
            let data =
                floats(&random.floats(shape)).iter().map(|x| x * scale).collect::<Vec<f32>>();
            Array::new(shape.to_vec(), data).unwrap()
        };
        items.push(two(scaled(&[20, 300]), scaled(&[300, 20])));
        items.push(two(scaled(&[2, 2]), scaled(&[2, 2])));
    }
    let mut cancelling: Vec<f32> = vec![1.0; 1000];
    for x in cancelling.iter_mut().step_by(2) {
        *x = -1.0;
    }
    items.push(two(Array::new(vec![1, 1000], cancelling).unwrap(), random.floats(&[1000, 3])));
    let answers = check(&Operation::Matmul, &items, &gpu);
    println!("{:.1e} of the difference that is allowed", worst(&answers));
}

#[test]
fn items_that_do_not_fit_fail_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(26);
    let doubles = Array::new(vec![5, 3], vec![0.0f64; 15]).unwrap();
    let integers = Array::new(vec![5, 3], vec![0i32; 15]).unwrap();
    let items = vec![
        pair([4, 5, 3], &mut random),
        two(random.floats(&[4, 5]), random.floats(&[6, 3])),
        two(random.floats(&[4, 5]), integers),
        one(random.floats(&[4, 5])),
        two(random.floats(&[4, 5, 1]), random.floats(&[5, 3])),
        pair([2, 2, 2], &mut random),
    ];
    assert_eq!(check(&Operation::Matmul, &items, &gpu).len(), 2);
    // Double precision and stacks are computed on the CPU.
    let stack = two(random.floats(&[2, 4, 5]), random.floats(&[2, 5, 3]));
    for item in [two(random.floats(&[4, 5]), doubles), stack] {
        let became = launch(&ArrayWorkload::new(Operation::Matmul), &gpu, &[&item]);
        assert!(matches!(became[0], Became::ToCpu(_)));
    }
}

/// A wrong answer is detected: the tolerance is far below the elements.
#[test]
fn the_tolerance_is_tight() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(27);
    let item = pair([64, 512, 64], &mut random);
    let answers = check(&Operation::Matmul, &[item], &gpu);
    let (expected, found) = &answers[0];
    let size = floats(&expected.array).iter().fold(0.0f32, |max, x| max.max(x.abs()));
    assert!(found.error_max < 0.01 * f64::from(size), "{}", found.error_max);
    let mut wrong = floats(&found.array).to_vec();
    wrong.swap(100, 101);
    let wrong = Answer { array: Array::new(vec![64, 64], wrong).unwrap(), ..found.clone() };
    let workload: ArrayWorkload = ArrayWorkload::new(Operation::Matmul);
    let difference = workload.agree(expected, &wrong, swathe::DeviceKind::Gpu);
    assert_eq!(difference.unwrap_err().field, "element 100");
}
