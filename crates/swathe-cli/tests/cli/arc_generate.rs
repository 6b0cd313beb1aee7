//! Commands that make programs from programs: what they write has the results of what it was made
//! from.

use std::fs;
use std::path::Path;

use swathe_arc::{Evaluator, Library, Limits, Order, Program, encode, mutants, parse};

use crate::arc::{folder, results, samples, tasks_in};
use crate::program::swathe;

/// Programs in the dialect batt, of two files.
pub(crate) const SOLVERS: &str = "\
def solve_01fce304(S, I, C):
    x1 = vmirror_t(I)
    O = hconcat(I, x1)
    return O
def solve_b(S, I, C):
    x1 = apply(first, S)
    x2 = first(x1)
    x3 = o_g(x2, R5)
    O = size(x3)
    return O
";

pub(crate) const DIFFERS: &str = "\
def differ_same(S, I, C):
    x1 = equality(I, C)
    x2 = branch(x1, THOUSAND, ZERO)
    return astuple(x2, x1)
def differ_size(S, I, C):
    x1 = size(I)
    return astuple(x1, C)
";

/// The outputs of a run, in the order of its rows.
fn outputs(run: &Path) -> Vec<(String, Option<String>)> {
    let rows = results(run).into_iter();
    rows.map(|row| (row.outcome, row.output)).collect()
}

#[test]
fn merged_programs_have_the_results_of_the_programs() {
    let folder = folder(6);
    let at = |name: &str| folder.path().join(name);
    fs::copy(samples().join("batt.py"), at("one.py")).unwrap();
    fs::write(at("two.py"), SOLVERS).unwrap();
    fs::write(at("differs.py"), DIFFERS).unwrap();
    let line = "arc combine --programs one.py two.py --differs differs.py --to merged.py";
    let ended = swathe(folder.path(), line).expect(0);
    assert_eq!(ended.stdout, "merged.py\n");
    for (programs, out) in [("one.py two.py", "apart"), ("merged.py", "merged")] {
        let line = format!("arc --programs {programs} --tasks tasks --out {out}");
        swathe(folder.path(), &line).expect(0);
    }
    let apart = outputs(&at("apart"));
    assert!(!apart.is_empty() && apart.iter().all(|(outcome, _)| outcome == "ok"));
    assert!(apart == outputs(&at("merged")));
    let merged = fs::read_to_string(at("merged.py")).unwrap();
    assert_eq!(merged.matches("vmirror_t(I)").count(), 1, "{merged}");
    let parsed = parse("merged.py", &merged);
    assert_eq!(parsed.differs.len(), 2 * (1 + parsed.programs.len()));
}

/// What programs make of all samples, as the library evaluates them.
fn evaluated(programs: Vec<Program>, tasks: &Path) -> Vec<(String, Option<String>)> {
    let library = Library::new(programs);
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    let mut found = Vec::new();
    for task in tasks_in(tasks) {
        evaluator.start_task(&task.train);
        for sample in task.train.iter().chain(&task.test) {
            evaluator.run(sample, |_, result| {
                let outcome = match result {
                    Ok(_) => "ok",
                    Err(fault) if fault.is_limit() => fault.name(),
                    Err(_) => "error",
                };
                let output = result.ok().map(encode);
                found.push((outcome.to_owned(), output.filter(|o| o.len() <= 64 << 10)));
            });
        }
    }
    found
}

#[test]
fn mutants_are_those_of_the_library_and_run() {
    let folder = folder(11);
    let line = "arc mutate --programs programs.py --seed 3 --count 60 --to mutants.py";
    let ended = swathe(folder.path(), line).expect(0);
    assert_eq!(ended.stdout, "mutants.py\n");
    let line = "arc --programs mutants.py --tasks tasks --out run";
    swathe(folder.path(), line).expect(0);
    let text = fs::read_to_string(folder.path().join("programs.py")).unwrap();
    let made = mutants(&parse("programs.py", &text).programs, 3, 60);
    assert_eq!(made.len(), 60);
    let wanted = evaluated(made, &folder.path().join("tasks"));
    assert!(outputs(&folder.path().join("run")) == wanted);
    // Another seed makes others, and the same seed the same.
    let of_seed = |seed: u64, to: &str| {
        let line = format!("arc mutate --programs programs.py --seed {seed} --count 60 --to {to}");
        swathe(folder.path(), &line).expect(0);
        fs::read_to_string(folder.path().join(to)).unwrap()
    };
    let first = of_seed(3, "again.py");
    assert!(first == fs::read_to_string(folder.path().join("mutants.py")).unwrap());
    assert!(first != of_seed(4, "others.py"));
}

#[test]
fn what_cannot_be_read_is_left_out_and_named() {
    let folder = folder(44);
    let programs = "def a(I):\n    return vmirror(I)\ndef b(I):\n    return turn(I)\n";
    fs::write(folder.path().join("some.py"), programs).unwrap();
    let line = "arc mutate --programs some.py --count 300 --to mutants.py";
    let ended = swathe(folder.path(), line).expect(1);
    let told = |what: &str| assert!(ended.stderr.contains(what), "{what}: {}", ended.stderr);
    told("some.py:4:12: unknown function `turn`");
    told("--count is 300, and no more than");
    assert!(folder.path().join("mutants.py").exists());
    // A file that cannot be written.
    let line = "arc mutate --programs programs.py --count 1 --to missing/mutants.py";
    let ended = swathe(folder.path(), line).expect(4);
    assert!(ended.stderr.contains("missing/mutants.py"), "{}", ended.stderr);
}
