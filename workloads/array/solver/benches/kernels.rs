//! Times the kernels on one thread and prints `name,shape,count,value,unit` lines.
//!
//! `cargo bench -p swathe-array --bench kernels [-- NAME…]` runs the jobs whose names contain one
//! of the words; `benches/peers/arrays.py` runs the same jobs with NumPy and PyTorch.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::hint::black_box;
use std::time::{Duration, Instant};
use swathe_array::map::{Map, Operand, map_in_place, map_into};
use swathe_array::matmul::{ProductShape, Scratch, matmul_into};
use swathe_array::xor::{XorKey, xor_in_place};
use swathe_array::{Float, KeyStream, Simd};

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted =
        |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    println!("# simd {}", Simd::detect().path());
    println!("name,shape,count,value,unit");
    if is_wanted("peak") {
        peak();
    }
    if is_wanted("matmul") {
        for (n, counts) in SQUARES {
            for &count in counts {
                square::<f32>("matmul_f32", n, count);
            }
        }
        for n in [16, 64, 128, 256, 512] {
            square::<f64>("matmul_f64", n, 1);
        }
    }
    if is_wanted("ragged") {
        ragged();
    }
    if is_wanted("map") {
        for (count, n_elements) in MAPS {
            maps::<f32>("map_f32", count, n_elements);
        }
        maps::<f64>("map_f64", 1000, 1000);
    }
    if is_wanted("xor") {
        xors();
    }
}

const SQUARES: [(usize, &[usize]); 6] = [
    (16, &[10, 100, 1000]),
    (32, &[100]),
    (64, &[10, 100, 1000]),
    (128, &[1, 10, 100]),
    (256, &[1, 10, 100]),
    (512, &[1, 10]),
];

const MAPS: [(usize, usize); 5] =
    [(10, 1000), (1000, 1000), (10, 100_000), (10, 1_000_000), (100, 1_000_000)];

/// The shortest time of many repetitions: other work on the machine only adds to a time.
fn best(mut job: impl FnMut()) -> f64 {
    job();
    let end = Instant::now() + Duration::from_millis(350);
    let mut least = f64::INFINITY;
    let mut n_done = 0;
    while n_done < 3 || Instant::now() < end {
        let start = Instant::now();
        job();
        least = least.min(start.elapsed().as_secs_f64());
        n_done += 1;
    }
    least
}

fn print(name: &str, shape: &str, count: usize, amount: f64, seconds: f64, unit: &str) {
    println!("{name},{shape},{count},{:.2},{unit}", amount / seconds / 1e9);
}

/// Numbers in [-1, 1), the same in every run.
fn uniform(seed: u64, n: usize) -> Vec<f64> {
    let stream = KeyStream::new(seed);
    (0..n as u64).map(|idx| (stream.word(idx) >> 11) as f64 / (1u64 << 52) as f64 - 1.0).collect()
}

trait Bench: Float {
    fn from_f64(x: f64) -> Self;
}

impl Bench for f32 {
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
}

impl Bench for f64 {
    fn from_f64(x: f64) -> f64 {
        x
    }
}

fn elements<T: Bench>(seed: u64, n: usize) -> Vec<T> {
    uniform(seed, n).into_iter().map(T::from_f64).collect()
}

/// Fused multiply-adds on registers alone: an upper bound for every product.
fn peak() {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        use std::arch::x86_64::*;
        const N_STEPS: usize = 100_000;
        #[target_feature(enable = "avx2,fma")]
        fn multiply_adds(x: f32) -> __m256 {
            let factor = _mm256_set1_ps(black_box(x));
            let mut sums = [_mm256_set1_ps(x); 12];
            for _ in 0..N_STEPS {
                for sum in &mut sums {
                    *sum = _mm256_fmadd_ps(factor, factor, *sum);
                }
            }
            sums.into_iter().fold(factor, |a, b| _mm256_add_ps(a, b))
        }
        let seconds = best(|| {
            // SAFETY: the features were detected.
            black_box(unsafe { multiply_adds(black_box(1e-9)) });
        });
        let n_flops = (N_STEPS * 12 * 8 * 2) as f64;
        print("peak_f32", "fma", 1, n_flops, seconds, "GFLOP/s (AVX2)");
    }
}

fn square<T: Bench>(name: &str, n: usize, count: usize) {
    let shapes = vec![ProductShape { n_rows: n, n_inner: n, n_cols: n }; count];
    let (n_flops, seconds) = products::<T>(&shapes);
    print(name, &format!("n={n}"), count, n_flops, seconds, "GFLOP/s");
}

/// A thousand products with n log-uniform in 16–128.
fn ragged() {
    let shapes: Vec<ProductShape> = uniform(3, 1000)
        .into_iter()
        .map(|u| {
            let n = (16.0 * 8f64.powf((u + 1.0) / 2.0)).round() as usize;
            ProductShape { n_rows: n, n_inner: n, n_cols: n }
        })
        .collect();
    let (n_flops, seconds) = products::<f32>(&shapes);
    print("ragged_f32", "n=16..128", 1000, n_flops, seconds, "GFLOP/s");
}

/// The useful operations and the seconds of all products, each with its own operands and output.
fn products<T: Bench>(shapes: &[ProductShape]) -> (f64, f64) {
    let mut items: Vec<(Vec<T>, Vec<T>, Vec<T>)> = shapes
        .iter()
        .map(|shape| {
            (
                elements(1, shape.n_rows * shape.n_inner),
                elements(2, shape.n_inner * shape.n_cols),
                elements(3, shape.n_rows * shape.n_cols),
            )
        })
        .collect();
    let n_flops =
        shapes.iter().map(|shape| 2.0 * (shape.n_rows * shape.n_inner * shape.n_cols) as f64).sum();
    let mut scratch = Scratch::new();
    let simd = Simd::detect();
    let seconds = best(|| {
        for (shape, (a, b, c)) in shapes.iter().zip(&mut items) {
            matmul_into(a, b, c, *shape, &mut scratch, simd).expect("the lengths agree");
        }
    });
    (n_flops, seconds)
}

fn maps<T: Bench>(name: &str, count: usize, n_elements: usize) {
    let inputs: Vec<Vec<T>> = (0..count)
        .map(|seed| {
            uniform(seed as u64, n_elements).into_iter().map(|x| T::from_f64(x.abs())).collect()
        })
        .collect();
    let mut outs = inputs.clone();
    let half = T::from_f64(1.5);
    let simd = Simd::detect();
    let shape = format!("len={n_elements}");
    let n_bytes = (count * n_elements * size_of::<T>() * 2) as f64;
    let jobs: [(&str, Map<'_, T>); 8] = [
        ("add", Map::Add(Operand::Scalar(half))),
        ("multiply", Map::Multiply(Operand::Scalar(half))),
        ("square", Map::Square),
        ("sqrt", Map::Sqrt),
        ("exp", Map::Exp),
        ("log", Map::Log),
        ("abs", Map::Abs),
        ("negate", Map::Negate),
    ];
    for (op, map) in jobs {
        let seconds = best(|| {
            for (input, out) in inputs.iter().zip(&mut outs) {
                map_into(input, out, map, simd).expect("the lengths agree");
            }
        });
        let name = format!("{name}_{op}");
        print(&name, &shape, count, n_bytes, seconds, "GB/s");
    }
    let operand: Vec<T> = elements(9, n_elements);
    let seconds = best(|| {
        for (input, out) in inputs.iter().zip(&mut outs) {
            let map = Map::Add(Operand::Array(&operand));
            map_into(input, out, map, simd).expect("the lengths agree");
        }
    });
    let add_array = format!("{name}_add_array");
    print(&add_array, &shape, count, n_bytes * 1.5, seconds, "GB/s");
    let seconds = best(|| {
        for out in &mut outs {
            map_in_place(out, Map::Exp, simd).expect("nothing to disagree");
            map_in_place(out, Map::Log, simd).expect("nothing to disagree");
        }
    });
    let exp_log = format!("{name}_exp_log_in_place");
    print(&exp_log, &shape, count, n_bytes * 2.0, seconds, "GB/s");
}

fn xors() {
    let simd = Simd::detect();
    for (count, n_elements) in [(1000, 1000), (100, 100_000), (4, 64_000_000)] {
        let mut data = vec![vec![1u8; n_elements]; count];
        let keys = vec![vec![3u8; n_elements]; count];
        let shape = format!("len={n_elements}");
        let n_bytes = (count * n_elements) as f64;
        let seconds = best(|| {
            for (data, key) in data.iter_mut().zip(&keys) {
                data.copy_from_slice(key);
            }
        });
        print("memcpy_u8", &shape, count, n_bytes * 2.0, seconds, "GB/s");
        let seconds = best(|| {
            for (data, key) in data.iter_mut().zip(&keys) {
                xor_in_place(data, XorKey::Array(key), simd).expect("the lengths agree");
            }
        });
        let n_moved = n_bytes * 3.0;
        print("xor_u8_array", &shape, count, n_moved, seconds, "GB/s");
        let cycle = *b"a key of 17 bytes";
        for (name, key) in
            [("xor_u8_cycle", XorKey::Cycle(&cycle[..])), ("xor_u8_seed", XorKey::Seed(5))]
        {
            let seconds = best(|| {
                for data in &mut data {
                    xor_in_place(data, key, simd).expect("the key is not empty");
                }
            });
            print(name, &shape, count, n_bytes * 2.0, seconds, "GB/s");
        }
    }
}
