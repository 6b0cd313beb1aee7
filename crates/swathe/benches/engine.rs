//! The overhead of the engine itself.
//!
//! `cargo bench -p swathe --bench engine` prints a line for each figure: the best of several runs,
//! because other load on the machine only ever makes a run longer.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::convert::Infallible;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use swathe::{
    Budget, Costs, DeviceId, DeviceKind, Limits, Need, Planned, Settings, Shape, Size, Source,
    Stop, Workload, plan, solve_slice,
};

fn main() {
    // Cargo passes `--bench`; anything else chooses figures by name.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let figures: [(&str, fn()); 8] = [
        ("trivial", trivial_items),
        ("million", a_million_items),
        ("overhead", overhead_on_millisecond_problems),
        ("start", starting_and_ending),
        ("planning", planning),
        ("decision", decisions),
        ("slice", slices),
        ("shapes", many_shapes),
    ];
    for (name, measure) in figures {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            measure();
        }
    }
}

/// 64 bytes in, their sum out.
struct Trivial {
    /// The number of different shapes that the problems claim to have.
    n_shapes: u32,
}

impl Workload for Trivial {
    type Problem = [u8; 64];
    type Solution = u64;
    type Failure = Infallible;
    type Scratch = ();
    type Local = ();
    const NAME: &'static str = "trivial";

    fn size(&self, problem: &[u8; 64]) -> Size {
        let rank = u32::from(problem[0]) % self.n_shapes;
        Size::of(Shape::new(&[64 << (rank % 16), 1 << (rank / 16)]))
    }
    fn need(&self, _: &Size, _: DeviceKind) -> Need {
        Need { lane_bytes: 64, scratch_bytes: 0, solution_bytes: 8 }
    }
    fn scratch(&self) {}
    fn local(&self) {}
    fn solve(
        &self,
        problem: &[u8; 64],
        _: &mut (),
        _: &mut (),
        _: &Stop,
    ) -> Result<u64, Infallible> {
        Ok(problem.iter().map(|&byte| u64::from(byte)).sum())
    }
}

/// A millisecond of work.
struct Spin;

impl Workload for Spin {
    type Problem = u64;
    type Solution = u64;
    type Failure = Infallible;
    type Scratch = ();
    type Local = ();
    const NAME: &'static str = "spin";

    fn size(&self, _: &u64) -> Size {
        Size::of(Shape::new(&[1000]))
    }
    fn need(&self, _: &Size, _: DeviceKind) -> Need {
        Need { lane_bytes: 8, scratch_bytes: 0, solution_bytes: 8 }
    }
    fn scratch(&self) {}
    fn local(&self) {}
    fn solve(&self, &seed: &u64, _: &mut (), _: &mut (), _: &Stop) -> Result<u64, Infallible> {
        Ok(spin(seed))
    }
}

/// About a millisecond of arithmetic that the compiler cannot shorten. All measurements run the
/// same code.
#[inline(never)]
fn spin(seed: u64) -> u64 {
    (0..500_000u64)
        .fold(seed, |x, k| black_box((x ^ k).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7)))
}

fn settings() -> Settings {
    Settings { n_threads: 2, memory: Budget::new(256 << 20), ..Settings::default() }
}

/// The shortest of several tries.
fn best(n_tries: usize, mut measure: impl FnMut() -> Duration) -> Duration {
    (0..n_tries).map(|_| measure()).min().unwrap_or_default()
}

fn problem(k: usize) -> [u8; 64] {
    std::array::from_fn(|at| (k.wrapping_mul(31) + at) as u8)
}

fn run_trivial(n: usize, n_shapes: u32, settings: &Settings) -> (Duration, swathe::Report) {
    let workload = Arc::new(Trivial { n_shapes });
    let sizes = Arc::clone(&workload);
    let source = Source::new(
        n,
        move |index| Ok(sizes.size(&problem(index))),
        |index, _: &Stop| Ok(problem(index)),
    );
    let mut sum = 0;
    let began = Instant::now();
    let report = swathe::run(&workload, &source, settings, &mut |done| {
        sum += done.outcome.solution().copied().unwrap_or_default();
        ControlFlow::Continue(())
    });
    let took = began.elapsed();
    assert_eq!(report.counts.n_solved, n as u64);
    black_box(sum);
    (took, report)
}

fn tell(name: &str, value: f64, unit: &str, target: &str) {
    println!("{name:<52} {value:>10.3} {unit:<12} {target}");
}

fn trivial_items() {
    for (n_threads, n_prefetch) in [(1, 0), (1, 1), (2, 0), (2, 2)] {
        let settings = Settings { n_threads, n_prefetch, ..settings() };
        let took = best(40, || run_trivial(10_000, 1, &settings).0);
        let name = format!("10,000 trivial items, {n_threads} threads, {n_prefetch} ahead");
        tell(&name, took.as_secs_f64() * 1e6 / 1e4, "µs/item", "≤ 1");
    }
}

/// Items of many shapes: the cost of each shape is unknown, and batches are mixed.
fn many_shapes() {
    for n_shapes in [1, 16, 64, 256] {
        let took = best(20, || run_trivial(10_000, n_shapes, &settings()).0);
        let name = format!("10,000 trivial items of {n_shapes} shapes");
        tell(&name, took.as_secs_f64() * 1e6 / 1e4, "µs/item", "≤ 1");
    }
}

fn a_million_items() {
    let rss_kib = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
        kib.unwrap_or(f64::NAN)
    };
    run_trivial(100_000, 1, &settings());
    let before = rss_kib();
    let (took, report) = run_trivial(1_000_000, 1, &settings());
    let after = rss_kib();
    tell("1,000,000 trivial items", took.as_secs_f64() * 1e6 / 1e6, "µs/item", "≤ 1");
    tell("growth of the process from 10⁵ to 10⁶ items", (after - before) / 1024.0, "MiB", "flat");
    tell("lanes in a launch", 1e6 / report.n_launches as f64, "", "");
}

/// Compares the engine with a bare loop over threads, interleaved, in the same process.
///
/// On a busy machine wall times depend more on other processes than on the engine, so processor
/// times are compared. The bare loop against itself shows how accurate that is.
fn overhead_on_millisecond_problems() {
    const N_PROBLEMS: usize = 1000;
    let workload = Arc::new(Spin);
    let bare = |n_threads: usize| {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                scope.spawn(|| {
                    loop {
                        let k = next.fetch_add(1, Ordering::Relaxed);
                        if k >= N_PROBLEMS {
                            break;
                        }
                        black_box(spin(k as u64));
                    }
                });
            }
        });
    };
    let source = Source::new(
        N_PROBLEMS,
        |_| Ok(Size::of(Shape::new(&[1000]))),
        |index, _: &Stop| Ok(index as u64),
    );
    for (n_threads, n_prefetch) in [(1, 0), (1, 1), (2, 2)] {
        let settings = Settings { n_threads, n_prefetch, ..settings() };
        let [mut bare_best, mut again_best, mut run_best] = [Duration::MAX; 3];
        for _ in 0..10 {
            let began = processor_time();
            bare(n_threads);
            bare_best = bare_best.min(processor_time() - began);
            let began = processor_time();
            swathe::run(&workload, &source, &settings, &mut |done| {
                black_box(done.index);
                ControlFlow::Continue(())
            });
            run_best = run_best.min(processor_time() - began);
            let began = processor_time();
            bare(n_threads);
            again_best = again_best.min(processor_time() - began);
        }
        let problem_ms = bare_best.as_secs_f64() * 1e3 / N_PROBLEMS as f64;
        let over = |took: Duration| 100.0 * (took.as_secs_f64() / bare_best.as_secs_f64() - 1.0);
        let name = format!(
            "overhead on {problem_ms:.2} ms problems, {n_threads} threads, {n_prefetch} ahead"
        );
        tell(&name, over(run_best), "%", "≤ 1");
        tell("  the bare loop against itself", over(again_best), "%", "");
    }
}

/// The cost of a run before its first problem and after its last.
fn starting_and_ending() {
    let took = best(200, || {
        let began = processor_time();
        run_trivial(1, 1, &settings());
        processor_time() - began
    });
    tell("a run of one trivial item", took.as_secs_f64() * 1e6, "µs", "");
}

/// The processor time that this process has used so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; the clock exists on every supported system.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn planned(n: usize) -> Vec<Planned> {
    (0..n)
        .map(|index| Planned {
            index,
            size: Size {
                affinity: (index / 50) as u64,
                class: (index % 2) as u32,
                ..Size::of(Shape::new(&[(index % 113 + 16) as u32, (index % 89 + 16) as u32]))
            },
            need: Need {
                lane_bytes: 1000 + index as u64 % 5000,
                scratch_bytes: 4096,
                solution_bytes: 64,
            },
            gpu: None,
        })
        .collect()
}

fn learnt(problems: &[Planned]) -> Costs {
    let mut costs = Costs::default();
    for planned in problems {
        let took = Duration::from_micros(20);
        costs.learn("w", &planned.size, DeviceId::Cpu, 1, took);
    }
    costs
}

fn planning() {
    let problems = planned(100_000);
    let limits = Limits {
        budget_bytes: 1 << 30,
        n_batches_at_once: 4,
        batch_size: swathe::BatchSize::Auto,
        batch_size_max: 4096,
        gpu: None,
    };
    for (name, costs) in [("unknown", Costs::default()), ("known", learnt(&problems))] {
        let took = best(5, || {
            let began = Instant::now();
            black_box(plan("w", &problems, &limits, &costs));
            began.elapsed()
        });
        let name = format!("planning 100,000 problems, costs {name}");
        tell(&name, took.as_secs_f64() * 1e3, "ms", "< 1000");
    }
    let shapes: Vec<(usize, u32, Shape)> = problems
        .iter()
        .map(|planned| (planned.index, planned.size.class, planned.size.shape))
        .collect();
    let took = best(3, || {
        let began = Instant::now();
        black_box(swathe::bucket(&shapes, &swathe::Padding::default()));
        began.elapsed()
    });
    tell("buckets for 100,000 problems", took.as_secs_f64() * 1e3, "ms", "< 1000");
}

fn decisions() {
    let problems = planned(10_000);
    let costs = learnt(&problems);
    let took = best(10, || {
        let began = Instant::now();
        for planned in &problems {
            black_box(costs.lane("w", &planned.size, DeviceId::Cpu));
        }
        began.elapsed()
    });
    tell("a cost looked up", took.as_secs_f64() * 1e6 / 1e4, "µs", "< 1");
    let budget = Budget::new(1 << 30);
    let stop = Stop::new();
    let took = best(10, || {
        let began = Instant::now();
        for _ in 0..10_000 {
            black_box(budget.reserve(1000, &stop).is_ok());
        }
        began.elapsed()
    });
    tell("memory reserved and given back", took.as_secs_f64() * 1e6 / 1e4, "µs", "< 1");
}

fn slices() {
    let workload = Trivial { n_shapes: 1 };
    let problems: Vec<[u8; 64]> = (0..10_000).map(problem).collect();
    let stop = Stop::new();
    let bare = best(50, || {
        let began = Instant::now();
        let sums: Vec<u64> = problems
            .iter()
            .map(|problem| problem.iter().map(|&byte| u64::from(byte)).sum())
            .collect();
        black_box(sums);
        began.elapsed()
    });
    for n_threads in [1, 2] {
        let took = best(50, || {
            let began = Instant::now();
            black_box(solve_slice(&workload, &problems, n_threads, &stop));
            began.elapsed()
        });
        let over_ns = (took.as_secs_f64() - bare.as_secs_f64()) * 1e9 / 1e4;
        let name = format!("a slice of 10,000 items, {n_threads} threads, over a bare loop");
        tell(&name, over_ns, "ns/item", "");
    }
    let few = &problems[..10];
    let took = best(1000, || {
        let began = Instant::now();
        black_box(solve_slice(&workload, few, 2, &stop));
        began.elapsed()
    });
    tell("a slice of 10 items", took.as_secs_f64() * 1e6, "µs", "");
}
