//! Mutants of programs are those of the library.

use std::fs;
use std::path::Path;

use swathe_arc::{Evaluator, Library, Limits, Order, Program, encode, mutants, parse};

use crate::arc::{folder, results, tasks_in};
use crate::program::swathe;

/// The outputs of a run, in the order of its rows.
fn outputs(run: &Path) -> Vec<(String, Option<String>)> {
    let rows = results(run).into_iter();
    rows.map(|row| (row.outcome, row.output)).collect()
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
