//! Samples through the engine: any number of threads, the same answers.

use std::sync::Arc;
use std::time::{Duration, Instant};
use swathe::{Stop, Workload};
use swathe_arc::{
    Call, GridPrograms, Library, Limits, Output, Problem, Stopped, Task, evaluate, parse,
};

const PROGRAMS: &str = "
def parts(I):
    x1 = objects(I, T, F, T)
    x2 = order(x1, size)
    x3 = totuple(x2)
    return x3
def picks(I):
    x1 = asobject(I)
    x2 = first(x1)
    return initset(x2)
def fails(I):
    x1 = ofcolor(I, NINE)
    return last(x1)
def deep(I):
    f = power(identity, ZERO)
    return f(I)
def large(I):
    return upscale(I, 100000)
";

fn problems() -> Vec<Problem> {
    let grid = |seed: usize| {
        let row = |i: usize| {
            (0..3 + seed % 4).map(|j| (seed * 7 + i * 5 + j * 3) % 4).collect::<Vec<_>>()
        };
        format!("{:?}", (0..2 + seed % 5).map(row).collect::<Vec<_>>())
    };
    let sample = |seed: usize| format!(r#"{{"input": {}, "output": {}}}"#, grid(seed), grid(seed));
    let samples: Vec<String> = (0..40).map(sample).collect();
    let text = format!(r#"{{"train": [{}], "test": [{}]}}"#, samples.join(","), sample(41));
    Problem::all(&Arc::new(Task::from_json("made up", &text).expect("a task")))
}

#[test]
fn threads_do_not_matter() {
    let workload = GridPrograms::new(Library::new(parse("test.py", PROGRAMS).programs));
    let problems = problems();
    let solved = |n_threads: usize| -> Vec<Vec<Call>> {
        let outcomes = swathe::solve_slice(&workload, &problems, n_threads, &Stop::new());
        outcomes.iter().map(|o| o.solution().expect("a solution").clone()).collect()
    };
    let one = solved(1);
    assert_eq!(one, solved(2));
    assert_eq!(one, solved(5));
    for (problem, calls) in problems.iter().zip(&one) {
        let input = &problem.sample().input;
        let alone = evaluate(workload.library(), input, workload.order, workload.limits);
        for (call, result) in calls.iter().zip(alone) {
            assert_eq!(
                call.output.clone(),
                result.map(|value| Output::of(&value, workload.output_bytes_max))
            );
        }
        let kinds: Vec<&str> =
            calls.iter().map(|c| c.output.as_ref().map_or_else(|f| f.name(), |_| "ok")).collect();
        assert_eq!(kinds, ["ok", "ok", "ValueError", "RecursionError", "memory"]);
    }
}

#[test]
fn a_stop_acts_in_the_middle_of_a_statement() {
    // 500 × 500 × 500 calls in one statement: seconds of work, and no limit.
    let text = "def endless(I):\n    f = power(increment, 500)\n    g = power(f, 500)\n    h = power(g, 500)\n    return h(0)\n";
    let mut workload = GridPrograms::new(Library::new(parse("test.py", text).programs));
    workload.limits = Limits { work_max: 1 << 60, n_frames_max: 4000, ..Limits::default() };
    let stop = Stop::new();
    let begin = Instant::now();
    let asked = std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop.cancel();
            Instant::now()
        });
        let solved = workload.solve(&problems()[0], &mut (), &mut workload.local(), &stop);
        let ended = Instant::now();
        assert_eq!(solved, Err(Stopped));
        ended.duration_since(asked.join().expect("the thread that asks"))
    });
    assert!(begin.elapsed() >= Duration::from_millis(50), "it ended by itself");
    // A ration of work takes a few milliseconds; the rest is for a busy machine.
    assert!(asked < Duration::from_secs(2), "it took {asked:?}");
}

#[test]
fn calls_that_build_much_have_the_same_results_in_little_memory() {
    // A set of 810,000 places takes 3 MB, and a call that builds four of them claims memory.
    let program = |k: usize| {
        let set = |n: usize| format!("    x{n} = asindices(canvas({k}, (900, {})))\n", 900 + n);
        let all: String = (0..4).map(set).collect();
        format!("def p{k}(I):\n{all}    return size(x3)\n")
    };
    let text: String = (0..3).map(program).collect();
    let run = |n_bytes: u64| {
        let mut workload = GridPrograms::new(Library::new(parse("test.py", &text).programs));
        workload.fit(n_bytes, 4);
        assert!(workload.shared_bytes() > n_bytes / 4);
        swathe::solve_slice(&workload, &problems(), 4, &Stop::new())
    };
    let outputs = |n_bytes: u64| -> Vec<Vec<Call>> {
        let outcomes = run(n_bytes).into_iter();
        let calls = outcomes.map(|outcome| outcome.into_result().expect("calls"));
        calls.collect()
    };
    let little = outputs(16 << 20);
    assert_eq!(little, outputs(4 << 30));
    let output = little[0][0].output.as_ref().expect("a size");
    assert_eq!(output.text.as_deref(), Some("812700"));
}
