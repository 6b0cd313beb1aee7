//! Arrays on a graphics processor have the CPU's answers, alone and in any batch.

mod maps;
mod memory;
mod products;
mod xors;

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use swathe::{Device, DeviceKind, Gpu, GpuSearch, Gpus, Lane, Shape, Stop, Workload};
use swathe_array::{Answer, Array, ArrayFailure, ArrayWorkload, Elements, Item, Operation};

/// A device for one test at a time, which may be a software device. Without one a test is skipped;
/// in continuous integration it fails.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn gpu() -> Option<Held> {
    static FOUND: OnceLock<Gpus> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let found =
        FOUND.get_or_init(|| Gpus::find(&GpuSearch { software: true, ..GpuSearch::default() }));
    let gpu = found.usable.first();
    if gpu.is_none() {
        let reason = format!("no graphics processor: {:?}", found.refused);
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("SKIPPED: {reason}");
    }
    Some(Held { gpu: gpu?, _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner) })
}

struct Held {
    gpu: &'static Gpu,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for Held {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        self.gpu
    }
}

/// The result of a lane: bits, the count of NaN, and the largest possible error of the elements.
#[derive(Debug)]
enum Became {
    Solved(Answer),
    Failed(ArrayFailure),
    ToCpu(String),
}

fn launch(workload: &ArrayWorkload, gpu: &Gpu, items: &[&Item]) -> Vec<Became> {
    let padded = Shape::new(&[0]);
    let lanes = workload.launch(&Device::Gpu(gpu.clone()), padded, items, &Stop::new());
    lanes
        .unwrap()
        .into_iter()
        .map(|lane| match lane {
            Lane::Done(Ok(answer)) => Became::Solved(answer),
            Lane::Done(Err(failure)) => Became::Failed(failure),
            Lane::ToCpu(reason) => Became::ToCpu(reason),
        })
        .collect()
}

/// Solves items on the CPU, and on the device all together, in reverse order, and some of them
/// alone. The device's answers must agree with the CPU's and must not depend on the other items of
/// a batch. Returns the answers, the CPU's first.
#[track_caller]
fn check(operation: &Operation, items: &[Item], gpu: &Gpu) -> Vec<(Answer, Answer)> {
    let workload = ArrayWorkload::new(operation.clone());
    let all: Vec<&Item> = items.iter().collect();
    let together = launch(&workload, gpu, &all);
    assert_eq!(together.len(), items.len());
    let reversed: Vec<&Item> = items.iter().rev().collect();
    for (a, b) in launch(&workload, gpu, &reversed).iter().rev().zip(&together) {
        assert_same(a, b);
    }
    for at in (0..items.len()).step_by(items.len().div_ceil(20).max(1)) {
        let alone = launch(&workload, gpu, &[&items[at]]);
        assert_same(&alone[0], &together[at]);
    }
    let mut scratch = workload.scratch();
    let mut answers = Vec::new();
    for (at, (item, became)) in items.iter().zip(together).enumerate() {
        let size = workload.size(item);
        match (workload.solve(item, &mut scratch, &mut (), &Stop::new()), became) {
            (Ok(expected), Became::Solved(answer)) => {
                if let Err(difference) = workload.agree(&expected, &answer, DeviceKind::Gpu) {
                    panic!("{operation:?}, item {at} of {}: {difference}", size.shape);
                }
                answers.push((expected, answer));
            }
            (Err(expected), Became::Failed(failure)) => assert_eq!(expected, failure),
            (expected, became) => panic!("item {at} is {became:?}, not {expected:?}"),
        }
    }
    answers
}

#[track_caller]
fn assert_same(a: &Became, b: &Became) {
    match (a, b) {
        (Became::Solved(a), Became::Solved(b)) => {
            assert_eq!(a.n_nan, b.n_nan);
            assert_eq!(a.error_max.to_bits(), b.error_max.to_bits());
            assert_eq!(a.array.shape(), b.array.shape());
            assert_eq!(bits(&a.array), bits(&b.array));
        }
        (Became::Failed(a), Became::Failed(b)) => assert_eq!(a, b),
        (Became::ToCpu(a), Became::ToCpu(b)) => assert_eq!(a, b),
        _ => panic!("{a:?}, and in other company {b:?}"),
    }
}

fn bits(array: &Array) -> Vec<u64> {
    match array.elements() {
        Elements::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
        Elements::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        integers => swathe::with_elements!(integers, v => v.iter().map(|&x| x as _).collect()),
    }
}

fn floats(array: &Array) -> &[f32] {
    match array.elements() {
        Elements::F32(data) => data,
        other => panic!("{} elements", other.dtype()),
    }
}

fn one(first: Array) -> Item {
    Item { first: Arc::new(first), second: None }
}

fn two(first: Array, second: Array) -> Item {
    Item { first: Arc::new(first), second: Some(Arc::new(second)) }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        swathe::seed::draw(&mut self.0)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Between −1 and 1.
    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / 8_388_608.0 - 1.0
    }

    fn floats(&mut self, shape: &[usize]) -> Array {
        let n: usize = shape.iter().product();
        let data: Vec<f32> = (0..n).map(|_| self.float()).collect();
        Array::new(shape.to_vec(), data).unwrap()
    }
}

#[test]
fn what_has_no_kernel_is_planned_to_the_cpu() {
    let form = |operation: &Operation, item: &Item| {
        let workload: ArrayWorkload = ArrayWorkload::new(operation.clone());
        workload.launch_form(&workload.size(item))
    };
    let f32s = |shape: &[usize]| Array::new(shape.to_vec(), vec![0.0f32; shape.iter().product()]);
    let f64s = |shape: &[usize]| Array::new(shape.to_vec(), vec![0.0f64; shape.iter().product()]);
    let exp = Operation::Map(swathe_array::MapKind::Exp);
    let xor = Operation::Xor(swathe_array::Key::Seed(1));
    let item = one(f32s(&[3, 4]).unwrap());
    assert_eq!(form(&exp, &item), Some(Shape::new(&[12])));
    assert_eq!(form(&xor, &item), None);
    assert_eq!(form(&exp, &one(f64s(&[3]).unwrap())), None);
    let pair = two(f32s(&[3, 4]).unwrap(), f32s(&[4, 5]).unwrap());
    assert_eq!(form(&Operation::Matmul, &pair), Some(Shape::new(&[3, 4, 5])));
    let pair = two(f64s(&[3, 4]).unwrap(), f64s(&[4, 5]).unwrap());
    assert_eq!(form(&Operation::Matmul, &pair), None);
    // Operands that do not fit together, and one larger than every device can bind.
    let pair = two(f32s(&[3, 4]).unwrap(), f32s(&[5, 4]).unwrap());
    assert_eq!(form(&Operation::Matmul, &pair), None);
    let n_max = (128 << 20) / 8;
    let longs = |n: usize| one(Array::new(vec![n], vec![0u64; n]).unwrap());
    assert_eq!(form(&xor, &longs(n_max)), Some(Shape::new(&[n_max as u32])));
    assert_eq!(form(&xor, &longs(n_max + 1)), None);
    // A product much larger than its operands.
    let pair = two(f32s(&[6000, 1]).unwrap(), f32s(&[1, 6000]).unwrap());
    assert_eq!(form(&Operation::Matmul, &pair), None);
}
