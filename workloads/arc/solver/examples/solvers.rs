//! Runs files of programs on a folder of tasks and prints the results.
//!
//! ```text
//! solvers own PROGRAMS.py TASKS_DIR            each solve_<task> on its own task
//! solvers cross PROGRAMS.py TASKS_DIR N [STEP] all programs on every STEP-th input, with N threads
//! solvers digest PROGRAMS.py TASKS_DIR N [STEP [FILE]] a sum over all results of each program, to compare two builds
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the results are its output")]

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use swathe_arc::{
    Evaluator, Fault, Grid, Library, Limits, Order, Task, Value, encode, parse, score,
};

/// The allocator of the command-line program: values are many and small.
#[path = "../../../../crates/swathe-cli/src/allocator.rs"]
mod allocator;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [mode, programs, tasks] = &args[1..4] else {
        panic!("usage: solvers MODE PROGRAMS TASKS …")
    };
    let start = Instant::now();
    let parsed = parse(programs, &fs::read_to_string(programs).expect("a file of programs"));
    for error in &parsed.errors {
        eprintln!("{error}");
    }
    let tasks = read_tasks(tasks);
    let n_programs = parsed.programs.len();
    match mode.as_str() {
        "own" => own(parsed, &tasks),
        mode => {
            let t = Instant::now();
            let library = Library::new(parsed.programs);
            eprintln!(
                "{n_programs} programs merged in {:?}; ready after {:?}",
                t.elapsed(),
                start.elapsed()
            );
            let number = |k: usize, default: usize| {
                args.get(k).map_or(default, |s| s.parse().expect("a number"))
            };
            match mode {
                "cross" => cross(&library, &tasks, number(4, 1), number(5, 1)),
                "digest" => digest(
                    &library,
                    &tasks,
                    number(4, 1),
                    number(5, 1),
                    args.get(6).map(String::as_str),
                ),
                _ => panic!("unknown mode {mode}"),
            }
        }
    }
}

fn read_tasks(folder: &str) -> Vec<Task> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let tasks = paths.iter().filter(|p| p.extension().is_some_and(|e| e == "json")).map(|p| {
        let name = p.file_stem().expect("a name").to_string_lossy();
        Task::from_json(&name, &fs::read_to_string(p).expect("a readable task"))
            .expect("a valid task")
    });
    tasks.collect()
}

fn inputs(tasks: &[Task]) -> Vec<(String, &Grid)> {
    let mut all = Vec::new();
    for task in tasks {
        for (split, samples) in [("train", &task.train), ("test", &task.test)] {
            for (k, sample) in samples.iter().enumerate() {
                all.push((format!("{} {split} {k}", task.name), &sample.input));
            }
        }
    }
    all
}

fn own(parsed: swathe_arc::Parsed, tasks: &[Task]) {
    let libraries: Vec<(String, Library)> = parsed
        .programs
        .into_iter()
        .map(|p| (p.name.replace("solve_", ""), Library::new(vec![p])))
        .collect();
    let (mut n_solved, mut n_samples) = (0, 0);
    // The best of some rounds: the machine may be busy with other things.
    let mut rounds: Vec<Vec<(f64, &str)>> = Vec::new();
    for round in 0..10 {
        let mut times = Vec::new();
        for (name, library) in &libraries {
            let Some(task) = tasks.iter().find(|t| t.name == *name) else {
                continue;
            };
            let start = thread_cpu_s();
            let mut evaluator = Evaluator::new(library, Order::Cpython, Limits::default());
            let mut is_solved = true;
            for sample in task.train.iter().chain(&task.test) {
                evaluator.run(&sample.input, |_, result| {
                    let equal = result
                        .is_ok_and(|v| score(v, sample.output.as_ref().expect("an output")).equal);
                    is_solved &= equal;
                    n_samples += usize::from(round == 0);
                });
            }
            times.push((thread_cpu_s() - start, name.as_str()));
            if round == 0 {
                n_solved += usize::from(is_solved);
                if !is_solved {
                    println!("not solved: {name}");
                }
            }
        }
        rounds.push(times);
    }
    let total = |times: &[(f64, &str)]| times.iter().map(|t| t.0).sum::<f64>();
    rounds.sort_by(|a, b| total(a).total_cmp(&total(b)));
    let times = &mut rounds[0];
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!(
        "{n_solved} of {} solved, {n_samples} samples, {:.4} CPU s, {:.4} without the slowest",
        libraries.len(),
        total(times),
        total(&times[1..])
    );
    for (s, name) in times.iter().take(5) {
        println!("{:9.1} us {name}", 1e6 * s);
    }
}

/// Seconds that this thread has spent on a processor.
fn thread_cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the struct it is given and to nothing else.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "the thread has a clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn cross(library: &Library, tasks: &[Task], n_threads: usize, step: usize) {
    let inputs: Vec<_> = inputs(tasks).into_iter().step_by(step).collect();
    let next = AtomicUsize::new(0);
    let used_before_s = cpu_s();
    let start = Instant::now();
    let worker = || {
        let mut evaluator = Evaluator::new(library, Order::Cpython, Limits::default());
        let mut kinds: BTreeMap<&'static str, usize> = BTreeMap::new();
        while let Some((_, input)) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
            evaluator.run(*input, |_, result| {
                *kinds.entry(result.map_or_else(|f| f.name(), |_| "ok")).or_default() += 1;
            });
        }
        kinds
    };
    let kinds = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(worker)).collect();
        let mut all: BTreeMap<&'static str, usize> = BTreeMap::new();
        for thread in threads {
            for (kind, n) in thread.join().expect("a worker") {
                *all.entry(kind).or_default() += n;
            }
        }
        all
    });
    let (n, s) = (inputs.len() * library.len(), start.elapsed().as_secs_f64());
    let used_s = cpu_s() - used_before_s;
    println!("{used_s:.3} CPU s, {:.0} calls per CPU s", n as f64 / used_s);
    println!(
        "{n} calls in {s:.3} s on {n_threads} threads: {:.0} calls/s; {kinds:?}",
        n as f64 / s
    );
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default());
}

/// Seconds that this process has spent on processors; other work on the machine does not count.
fn cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks = |k: usize| fields[k].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

/// Sums over all results, orders of sets included, so that two builds can be compared.
///
/// The file receives eight bytes for each call, input by input; a time-out is zero.
fn digest(library: &Library, tasks: &[Task], n_threads: usize, step: usize, file: Option<&str>) {
    let inputs: Vec<_> = inputs(tasks).into_iter().step_by(step).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut evaluator = Evaluator::new(library, Order::Cpython, Limits::default());
        let mut digests = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, input)) = inputs.get(k) else {
                return digests;
            };
            let mut of_input = Vec::with_capacity(library.len());
            evaluator.run(*input, |_, result| {
                let mut hasher = DefaultHasher::new();
                name.hash(&mut hasher);
                match result {
                    Ok(value) => digest_of(value, &mut hasher),
                    Err(fault) => fault.hash(&mut hasher),
                }
                let is_timeout = result == Err(&Fault::Timeout);
                of_input.push(if is_timeout { 0 } else { hasher.finish() });
            });
            digests.push((k, of_input));
        }
    };
    let mut digests = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(worker)).collect();
        let parts = threads.into_iter().map(|t| t.join().expect("a worker"));
        parts.collect::<Vec<_>>().concat()
    });
    digests.sort_unstable();
    for (program, name) in library.names().enumerate() {
        let sum = digests.iter().fold(0u64, |s, d| s.wrapping_add(d.1[program]));
        println!("{name} {sum:016x}");
    }
    if let Some(file) = file {
        let bytes = digests.iter().flat_map(|d| &d.1).flat_map(|d| d.to_le_bytes());
        fs::write(file, bytes.collect::<Vec<u8>>()).expect("a file that can be written");
    }
}

fn digest_of(value: &Value, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Set(s) => {
            for element in s.iter() {
                digest_of(&element, hasher);
            }
        }
        Value::Tuple(_) => {
            for element in value.elements().expect("a tuple") {
                digest_of(&element, hasher);
            }
        }
        Value::Pair(i, j) => (i, j).hash(hasher),
        Value::Cell(c, i, j) => (c, i, j).hash(hasher),
        Value::Grid(g) => (g.width(), g.cells()).hash(hasher),
        _ => encode(value).hash(hasher),
    }
}
