//! Maps have the CPU's bits, except for exponentials and logarithms.

use swathe::Gpu;
use swathe_array::{Array, ArrayWorkload, Elements, Item, MapKind, MapOperand, Operation};

use crate::{Became, Random, check, floats, gpu, launch, one, two};

/// The exact maps, and those that may differ by a few units.
const UNARY: [MapKind; 6] =
    [MapKind::Square, MapKind::Sqrt, MapKind::Exp, MapKind::Log, MapKind::Abs, MapKind::Negate];

fn array(data: Vec<f32>) -> Array {
    Array::new(vec![data.len()], data).unwrap()
}

/// Numbers at which the behaviour changes, and their negatives.
fn special() -> Vec<f32> {
    let bits = f32::from_bits;
    let mut numbers = vec![
        0.0,
        1.0,
        2.0,
        0.5,
        f32::INFINITY,
        f32::NAN,
        bits(0x7f80_0001),
        bits(0x7fff_ffff),
        f32::MAX,
        bits(0x7f7f_fffe),
        f32::MAX / 2.0,
        f32::MIN_POSITIVE,
        bits(0x0080_0001),
        bits(0x007f_ffff),
        bits(0x0040_0000),
        bits(0x0000_0001),
        bits(0x0000_0002),
        bits(0x0000_0003),
        1.0 + f32::EPSILON,
        1.0 - f32::EPSILON / 2.0,
        88.722_83,
        88.722_84,
        89.0,
        87.336_54,
        87.336_55,
        103.0,
        103.972_08,
        104.0,
        1e-8,
        std::f32::consts::LN_2,
        std::f32::consts::SQRT_2,
        1.844_674_4e19,
        1.084_202_2e-19,
        3.0e38,
        1.0e-30,
    ];
    // Powers of two over the whole range, where the scaling of sums and products begins.
    numbers.extend((-149..128).step_by(3).map(|n| 2f32.powi(n)));
    numbers.extend((-126..127).step_by(7).map(|n| 2f32.powi(n) * 1.999_999));
    let opposites: Vec<f32> = numbers.iter().map(|x| -x).collect();
    numbers.extend(opposites);
    numbers
}

/// Random bit patterns.
fn any(n: usize, random: &mut Random) -> Vec<f32> {
    (0..n).map(|_| f32::from_bits(random.next() as u32)).collect()
}

#[test]
fn special_numbers_through_every_map() {
    let Some(gpu) = gpu() else { return };
    let special = special();
    for kind in UNARY {
        check(&Operation::Map(kind), &[one(array(special.clone()))], &gpu);
    }
    // Every pair of special numbers.
    let firsts: Vec<f32> = special.iter().flat_map(|&x| vec![x; special.len()]).collect();
    let seconds = special.repeat(special.len());
    let pairs = [two(array(firsts), array(seconds))];
    for kind in [MapKind::Add, MapKind::Multiply] {
        let pairwise = kind(MapOperand::Second);
        let answers = check(&Operation::Map(pairwise), &pairs, &gpu);
        assert!(answers[0].0.n_nan > 0);
        for &scalar in &special {
            let scaled = kind(MapOperand::Scalar(f64::from(scalar)));
            check(&Operation::Map(scaled), &[one(array(special.clone()))], &gpu);
        }
    }
}

#[test]
fn known_answers() {
    let Some(gpu) = gpu() else { return };
    let of = |kind: MapKind, x: f32| {
        let answers = check(&Operation::Map(kind), &[one(array(vec![x]))], &gpu);
        (floats(&answers[0].1.array)[0], answers[0].1.n_nan)
    };
    let inf = f32::INFINITY;
    let is_nan = |(y, n): (f32, u64)| y.is_nan() && n == 1;
    assert!(is_nan(of(MapKind::Sqrt, -1.0)));
    assert!(is_nan(of(MapKind::Log, -f32::from_bits(1))));
    assert_eq!(of(MapKind::Log, 0.0), (-inf, 0));
    assert_eq!(of(MapKind::Log, -0.0), (-inf, 0));
    assert_eq!(of(MapKind::Log, 1.0), (0.0, 0));
    assert_eq!(of(MapKind::Exp, 1000.0), (inf, 0));
    assert_eq!(of(MapKind::Exp, -1000.0), (0.0, 0));
    assert_eq!(of(MapKind::Exp, 0.0), (1.0, 0));
    assert_eq!(of(MapKind::Sqrt, inf), (inf, 0));
    let (zero, _) = of(MapKind::Sqrt, -0.0);
    assert_eq!(zero.to_bits(), (-0.0f32).to_bits());
    let (y, n_nan) = of(MapKind::Sqrt, f32::NAN);
    assert!(y.is_nan() && n_nan == 0);
    assert!(is_nan(of(MapKind::Multiply(MapOperand::Scalar(0.0)), inf)));
    assert!(is_nan(of(MapKind::Add(MapOperand::Scalar(f64::NEG_INFINITY)), inf)));
}

#[test]
fn ragged_lanes_of_any_bits() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(11);
    let lengths = [0, 1, 2, 3, 0, 255, 256, 257, 1023, 1024, 1025, 5000, 1, 0];
    let items: Vec<Item> = lengths.iter().map(|&n| one(array(any(n, &mut random)))).collect();
    for kind in UNARY {
        check(&Operation::Map(kind), &items, &gpu);
    }
    let pairs: Vec<Item> = lengths
        .iter()
        .map(|&n| two(array(any(n, &mut random)), array(any(n, &mut random))))
        .collect();
    for kind in [MapKind::Add, MapKind::Multiply] {
        check(&Operation::Map(kind(MapOperand::Second)), &pairs, &gpu);
        for scalar in [0.0, -1.5, 1e30, 1e-30, 1e-41, f64::INFINITY, f64::NAN] {
            check(&Operation::Map(kind(MapOperand::Scalar(scalar))), &items, &gpu);
        }
    }
}

/// Sums and products of operands of similar magnitude, which exercise every case of rounding.
#[test]
fn roundings() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(12);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..400_000 {
        let field = random.below(255) as u32;
        let near = field.saturating_add_signed(random.below(53) as i32 - 26);
        let opposite = 254u32.saturating_add_signed(random.below(60) as i32 - 30 - field as i32);
        let other = [near, opposite][random.below(2)].min(254);
        let digits = |field: u32, random: &mut Random| {
            let bits = random.next() as u32 & 0x807f_ffff;
            // Few significant bits make ties.
            let mask = [u32::MAX, 0xffff_f000, 0xfff8_0000][random.below(3)];
            f32::from_bits(bits & mask | field << 23)
        };
        x.push(digits(field, &mut random));
        y.push(digits(other, &mut random));
    }
    let roots = [one(array(x.iter().map(|x| x.abs()).collect()))];
    check(&Operation::Map(MapKind::Sqrt), &roots, &gpu);
    let pairs = [two(array(x), array(y))];
    for kind in [MapKind::Add, MapKind::Multiply] {
        check(&Operation::Map(kind(MapOperand::Second)), &pairs, &gpu);
    }
}

/// The greatest difference of exponentials and logarithms from the CPU's, in units, over every
/// `step`-th bit pattern.
fn units_from_the_cpus(kind: MapKind, step: usize, gpu: &Gpu) -> u32 {
    const N_CHUNK: usize = 4 << 20;
    let mut worst = 0;
    let mut patterns = (0..=u32::MAX).step_by(step);
    loop {
        let chunk = patterns.by_ref().take(N_CHUNK);
        let data: Vec<f32> = chunk.map(f32::from_bits).collect();
        if data.is_empty() {
            return worst;
        }
        for (expected, found) in check(&Operation::Map(kind), &[one(array(data))], gpu) {
            for (a, b) in floats(&expected.array).iter().zip(floats(&found.array)) {
                if !a.is_nan() {
                    let away = (a.to_bits() as i32).abs_diff(b.to_bits() as i32);
                    worst = worst.max(away);
                }
            }
        }
    }
}

#[test]
fn exponentials_and_logarithms_over_one_pattern_in_1009() {
    let Some(gpu) = gpu() else { return };
    for kind in [MapKind::Exp, MapKind::Log] {
        let worst = units_from_the_cpus(kind, 1009, &gpu);
        println!("{kind:?}: {worst} units on {}", gpu.info().name);
    }
}

#[test]
#[ignore = "takes a minute: one in 127 of the 2³² patterns"]
fn exponentials_and_logarithms_over_one_pattern_in_127() {
    let Some(gpu) = gpu() else { return };
    for kind in [MapKind::Exp, MapKind::Log] {
        let worst = units_from_the_cpus(kind, 127, &gpu);
        println!("{kind:?}: {worst} units on {}", gpu.info().name);
    }
}

#[test]
fn items_that_do_not_fit_fail_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(13);
    let doubles = Array::new(vec![4], vec![1.0f64; 4]).unwrap();
    let integers = Array::new(vec![4], vec![1i32; 4]).unwrap();
    let items = vec![
        two(random.floats(&[4]), random.floats(&[4])),
        two(random.floats(&[4]), random.floats(&[2, 2])),
        two(random.floats(&[4]), integers),
        one(random.floats(&[4])),
        two(random.floats(&[0]), random.floats(&[0])),
    ];
    let add = Operation::Map(MapKind::Add(MapOperand::Second));
    assert_eq!(check(&add, &items, &gpu).len(), 2);
    // Double precision is computed on the CPU.
    let mixed = two(random.floats(&[4]), doubles);
    let became = launch(&ArrayWorkload::new(add), &gpu, &[&mixed]);
    assert!(matches!(became[0], Became::ToCpu(_)));
}

#[test]
fn as_many_tiny_lanes_as_a_launch_can_have() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(14);
    let items: Vec<Item> = (0..65_536)
        .map(|_| {
            let n = random.below(4);
            one(array(any(n, &mut random)))
        })
        .collect();
    let answers = check(&Operation::Map(MapKind::Sqrt), &items, &gpu);
    assert_eq!(answers.len(), 65_536);
    assert!(answers.iter().any(|(_, found)| found.n_nan == 2));
}

#[test]
fn shapes_stay() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(15);
    let scalar = Array::new(vec![], vec![4.0f32]).unwrap();
    let items = [one(random.floats(&[2, 3, 4])), one(scalar), one(random.floats(&[3, 0]))];
    let answers = check(&Operation::Map(MapKind::Abs), &items, &gpu);
    assert_eq!(answers[0].1.array.shape(), [2, 3, 4]);
    assert!(matches!(answers[1].1.array.elements(), Elements::F32(x) if *x == [4.0]));
    assert_eq!(answers[2].1.array.shape(), [3, 0]);
}
