//! Arrays solved by the engine have the answers of plain loops, whatever the batches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use swathe::{BatchSize, OutcomeKind, Settings, Source};
use swathe_array::{
    Answer, Array, ArrayFailure, ArrayWorkload, Elements, Item, Key, MapKind, MapOperand, Operation,
};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        swathe::seed::draw(&mut self.0)
    }

    fn below(&mut self, n: u64) -> usize {
        (self.next() % n) as usize
    }

    fn floats(&mut self, shape: &[usize]) -> Array {
        let n: usize = shape.iter().product();
        let data = (0..n).map(|_| (self.next() >> 40) as f32 / 8_388_608.0 - 1.0);
        Array::new(shape.to_vec(), data.collect::<Vec<f32>>()).unwrap()
    }

    fn bytes(&mut self, n: usize) -> Array {
        let data: Vec<u8> = (0..n).map(|_| self.next() as u8).collect();
        Array::new(vec![n], data).unwrap()
    }
}

/// Every answer by its item's index, and the kinds of the outcomes without an answer.
fn run(
    operation: Operation,
    items: &[Item],
    settings: &Settings,
) -> (BTreeMap<usize, Answer>, BTreeMap<usize, OutcomeKind>) {
    let workload = Arc::new(ArrayWorkload::new(operation));
    let source = Source::from_vec(&workload, items.to_vec());
    let (mut answers, mut failed) = (BTreeMap::new(), BTreeMap::new());
    let report = swathe::run(&workload, &source, settings, &mut |done| {
        match done.outcome.solution() {
            Some(answer) => assert!(answers.insert(done.index, answer.clone()).is_none()),
            None => assert!(failed.insert(done.index, done.outcome.kind()).is_none()),
        }
        ControlFlow::Continue(())
    });
    assert_eq!(report.counts.n_done() as usize, items.len());
    (answers, failed)
}

/// The in-order sum of fused multiply-adds.
fn plain_product(a: &Array, b: &Array) -> Vec<u32> {
    let (&[n_rows, n_inner], &[_, n_cols]) = (a.shape(), b.shape()) else { panic!("matrices") };
    let (Elements::F32(a), Elements::F32(b)) = (a.elements(), b.elements()) else { panic!("f32") };
    let mut out = Vec::new();
    for i in 0..n_rows {
        for j in 0..n_cols {
            let mut sum = 0.0f32;
            for p in 0..n_inner {
                sum = a[i * n_inner + p].mul_add(b[p * n_cols + j], sum);
            }
            out.push(sum.to_bits());
        }
    }
    out
}

fn bits(array: &Array) -> Vec<u32> {
    let Elements::F32(data) = array.elements() else { panic!("f32") };
    data.iter().map(|x| x.to_bits()).collect()
}

fn ragged_products(n: usize, random: &mut Random) -> Vec<Item> {
    (0..n)
        .map(|_| {
            let [n_rows, n_inner, n_cols] = [40, 70, 40].map(|most| random.below(most));
            Item {
                first: Arc::new(random.floats(&[n_rows, n_inner])),
                second: Some(Arc::new(random.floats(&[n_inner, n_cols]))),
            }
        })
        .collect()
}

#[test]
fn batches_orders_and_threads_change_nothing() {
    let mut random = Random(1);
    let items = ragged_products(120, &mut random);
    let expected: Vec<Vec<u32>> = items
        .iter()
        .map(|item| plain_product(&item.first, item.second.as_ref().unwrap()))
        .collect();
    for batch_size in [1, 2, 3, 7, 32, 1000] {
        for n_threads in [1, 2] {
            let order = shuffled(items.len(), &mut random);
            let permuted: Vec<Item> = order.iter().map(|&index| items[index].clone()).collect();
            let settings = Settings {
                batch_size: BatchSize::Fixed(batch_size),
                n_threads,
                n_verify: 10,
                ..Settings::default()
            };
            let (answers, failed) = run(Operation::Matmul, &permuted, &settings);
            assert!(failed.is_empty());
            for (at, answer) in answers {
                assert_eq!(bits(&answer.array), expected[order[at]], "batches of {batch_size}");
            }
        }
    }
}

fn shuffled(n: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for at in (1..n).rev() {
        order.swap(at, random.below(at as u64 + 1));
    }
    order
}

#[test]
fn one_liners_equal_the_engine() {
    let mut random = Random(2);
    let items = ragged_products(200, &mut random);
    let (answers, _) = run(Operation::Matmul, &items, &Settings::default());
    let pairs: Vec<(&Array, &Array)> =
        items.iter().map(|item| (&*item.first, &**item.second.as_ref().unwrap())).collect();
    for (at, product) in swathe_array::matmul(&pairs).into_iter().enumerate() {
        assert_eq!(bits(&product.unwrap()), bits(&answers[&at].array));
    }
    let arrays: Vec<Array> = (0..500)
        .map(|_| {
            let n = random.below(300);
            random.bytes(n)
        })
        .collect();
    for key in [Key::Seed(7), Key::Cycle(Arc::new(Array::new(vec![3], vec![1u8, 2, 255]).unwrap()))]
    {
        let hidden: Vec<Array> =
            swathe_array::xor(&arrays, &key).into_iter().map(|result| result.unwrap()).collect();
        let shown = swathe_array::xor(&hidden, &key);
        assert!(shown.into_iter().zip(&arrays).all(|(shown, array)| shown.unwrap() == *array));
        let long = arrays.iter().position(|array| array.size_bytes() > 20).unwrap();
        assert_ne!(hidden[long], arrays[long]);
    }
}

#[test]
fn bad_items_fail_alone() {
    let mut random = Random(3);
    let good = |random: &mut Random| Item {
        first: Arc::new(random.floats(&[4, 5])),
        second: Some(Arc::new(random.floats(&[5, 3]))),
    };
    let mut items: Vec<Item> = (0..100).map(|_| good(&mut random)).collect();
    items[10].second = Some(Arc::new(random.floats(&[6, 3])));
    items[20].second = Some(Arc::new(Array::new(vec![5, 3], vec![0i32; 15]).unwrap()));
    items[30].first = Arc::new(random.bytes(20));
    items[40].second = None;
    items[50].first = Arc::new(random.floats(&[4, 5, 1]));
    let (answers, failed) = run(Operation::Matmul, &items, &Settings::default());
    assert_eq!(failed.keys().copied().collect::<Vec<_>>(), [10, 20, 30, 40, 50]);
    assert!(failed.values().all(|kind| *kind == OutcomeKind::Failed));
    assert_eq!(answers.len(), 95);
}

#[test]
fn failures_say_what_is_wrong() {
    let array = |dtype_f64: bool| {
        if dtype_f64 {
            Array::new(vec![2], vec![1.0f64, 2.0]).unwrap()
        } else {
            Array::new(vec![2], vec![1u8, 2]).unwrap()
        }
    };
    let failure = swathe_array::map(&[array(false)], MapKind::Exp).remove(0).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "exp does not work on u8 elements; it takes f32 or f64; convert with arr.astype('float64')"
    );
    let failure = swathe_array::xor(&[array(true)], &Key::Seed(1)).remove(0).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "xor does not work on f64 elements; it takes integers; arr.view('uint8') shows the bytes of others as such"
    );
    let long = Array::new(vec![3], vec![0.0f64; 3]).unwrap();
    let failures =
        swathe_array::map_pairs(&[(&array(true), &long)], MapKind::Add(MapOperand::Second));
    assert!(
        matches!(&failures[0], Err(ArrayFailure::ShapeMismatch { second, .. }) if *second == [3])
    );
}

#[test]
fn a_root_of_a_negative_is_nan_and_counted() {
    let arrays = [
        Array::new(vec![4], vec![4.0f32, -1.0, f32::NAN, 0.0]).unwrap(),
        Array::new(vec![0], Vec::<f64>::new()).unwrap(),
    ];
    let roots = swathe_array::map(&arrays, MapKind::Sqrt);
    let answer = roots[0].as_ref().unwrap();
    assert_eq!(answer.n_nan, 1, "the NaN that was there is not counted");
    let Elements::F32(data) = answer.array.elements() else { panic!("f32") };
    assert_eq!((data[0], data[3]), (2.0, 0.0));
    assert!(data[1].is_nan() && data[2].is_nan());
    assert_eq!(roots[1].as_ref().unwrap().array.shape(), [0]);
}
