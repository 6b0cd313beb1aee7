//! New programs from programs: what is written, cut down, merged, mutated and harvested gives the results of what it
//! was made from.

use std::sync::Arc;

use swathe_arc::{
    Dialect, Evaluator, Fault, GridPrograms, Harvest, Library, Limits, Order, Program, Task,
    combined, encode, mutants, parse, programs_text, samples, score,
};

fn tasks(step: usize) -> Vec<Arc<Task>> {
    let tasks = samples::TASKS.iter().step_by(step);
    let task = |(name, json): &(&str, &str)| Arc::new(Task::from_json(name, json).unwrap());
    tasks.map(task).collect()
}

fn own_programs() -> Vec<Program> {
    let parsed = parse("programs.py", samples::PROGRAMS);
    assert!(parsed.errors.is_empty());
    parsed.programs
}

/// Programs of the `batt` dialect: those of generated files.
fn batt_programs() -> Vec<Program> {
    let files = [
        include_str!("../samples/batt.py"),
        include_str!("batt/current.py"),
        include_str!("batt/guarded.py"),
        include_str!("batt/bare.py"),
    ];
    let programs = files.iter().flat_map(|text| {
        let parsed = parse("batt.py", text);
        assert_eq!(parsed.dialect, Dialect::Batt);
        parsed.programs
    });
    programs.collect()
}

/// What all programs make of all samples of some tasks.
fn results(programs: Vec<Program>, tasks: &[Arc<Task>]) -> Vec<Result<String, Fault>> {
    let library = Library::new(programs);
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    let mut results = Vec::new();
    for task in tasks {
        evaluator.start_task(&task.train);
        for sample in task.train.iter().chain(&task.test) {
            evaluator.run(sample, |_, result| {
                results.push(result.map(encode).map_err(|fault| *fault));
            });
        }
    }
    results
}

fn read_back(text: &str) -> Vec<Program> {
    let parsed = parse("again.py", text);
    assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
    parsed.programs
}

#[test]
fn minimised_and_written_programs_have_the_same_outputs() {
    let tasks = tasks(6);
    for programs in [own_programs(), batt_programs()] {
        let before = results(programs.clone(), &tasks);
        let least: Vec<Program> = programs.iter().map(Program::minimised).collect();
        assert!(least.iter().zip(&programs).all(|(l, p)| l.n_statements() <= p.n_statements()));
        let files = least.iter().enumerate().map(|(k, program)| {
            let text = program.file_text(&format!("p{k}"));
            let mut read = read_back(&text);
            assert_eq!(read[0].digest(), program.digest(), "{text}");
            read.remove(0)
        });
        let after = results(files.collect(), &tasks);
        assert_eq!(before.len(), after.len());
        let mut n_same = 0;
        for (before, after) in before.iter().zip(&after) {
            // A statement that the output does not need may have been what failed.
            assert!(before == after || before.is_err(), "{before:?} {after:?}");
            n_same += usize::from(before == after);
        }
        assert!(n_same * 10 > before.len() * 9, "{n_same} of {}", before.len());
    }
}

#[test]
fn a_merged_function_has_the_results_of_its_programs() {
    let tasks = tasks(4);
    let mut programs = batt_programs();
    // The same output twice for one task, outputs that are no lines, and a program that fails alone.
    let odd = "\
def solve_x(S, I, C):
    x1 = vmirror_t(I)
    return x1
def solve_y(S, I, C):
    x1 = vmirror_t(I)
    return x1
def same(S, I, C):
    return I
def samples(S, I, C):
    return S
def fails(S, I, C):
    x1 = size(I)
    x2 = x1(I)
    return x2
";
    programs.extend(read_back(odd));
    let mut twice = read_back(odd).remove(1);
    twice.name = "solve_x".into();
    programs.push(twice);
    let differs = "def differ_1(S, I, C):\n    x1 = equality(I, C)\n    x2 = branch(x1, THOUSAND, ZERO)\n    return astuple(x2, x1)\n";
    let merged = combined(&programs, &read_back(differs));
    let parsed = parse("batt.py", &merged);
    assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
    assert_eq!(parsed.programs.len(), programs.len());
    assert_eq!(parsed.differs.len(), 1 + programs.len());
    let before = results(programs.clone(), &tasks);
    let after = results(parsed.programs.clone(), &tasks);
    let mut n_failed = 0;
    for (k, (before, after)) in before.iter().zip(&after).enumerate() {
        let name = &programs[k % programs.len()].name;
        match before {
            Ok(_) => assert_eq!(before, after, "{name}"),
            // Calls are guarded in the merged function.
            Err(_) => {
                n_failed += 1;
                assert!(after.is_ok(), "{name}");
            }
        }
    }
    assert!(n_failed >= 1 && n_failed * 2 < before.len(), "{n_failed}");
    // Merging what was merged changes nothing.
    let again = parse("batt.py", &combined(&parsed.programs, &[])).programs;
    assert_eq!(results(again, &tasks), after);
}

#[test]
fn mutants_are_new_programs_that_can_be_read() {
    for (programs, dialect) in [(own_programs(), Dialect::ArcDsl), (batt_programs(), Dialect::Batt)]
    {
        let made = mutants(&programs, 3, 600);
        assert_eq!(made.len(), 600);
        assert_eq!(made, mutants(&programs, 3, 600));
        assert_ne!(made, mutants(&programs, 4, 600));
        assert_eq!(made[..100], mutants(&programs, 3, 100));
        let text = programs_text(&made, dialect);
        let read = read_back(&text);
        assert_eq!(read.len(), made.len());
        let mut digests: Vec<String> = Vec::new();
        for (read, made) in read.iter().zip(&made) {
            assert_eq!((&read.name, read.digest()), (&made.name, made.digest()));
            digests.push(read.digest());
        }
        digests.extend(programs.iter().map(|program| program.minimised().digest()));
        digests.sort();
        let n_with_parents = digests.len();
        digests.dedup();
        // Parents may be equal to each other, mutants to none of them.
        assert!(digests.len() >= made.len() && digests.len() <= n_with_parents);
        // Types are kept, so that many mutants have outputs.
        let tasks = tasks(22);
        let outcomes = results(read, &tasks);
        let n_ok = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert!(n_ok * 3 > outcomes.len(), "{n_ok} of {}", outcomes.len());
    }
}

#[test]
fn large_numbers_are_written_merged_and_mutated() {
    let line = "    return add((99999999999999999999, -9223372036854775809), size(I))\n";
    let programs = read_back(&format!("def a(I):\n{line}"));
    let other = read_back(&format!("def a(I):\n{}", line.replace("775809)", "775810)")));
    assert_ne!(programs[0].digest(), other[0].digest());
    let tasks = tasks(22);
    let wanted = results(programs.clone(), &tasks);
    let first = wanted[0].as_ref().expect("a pair");
    assert!(first.starts_with(r#"{"tuple":[10000000000000000"#), "{first}");
    for again in [
        read_back(&programs_text(&programs, Dialect::ArcDsl)),
        parse("batt.py", &combined(&programs, &[])).programs,
    ] {
        assert_eq!(results(again, &tasks), wanted);
    }
    let one = read_back("def b(I):\n    return add(size(I), 99999999999999999999)\n");
    let text = programs_text(&mutants(&[programs.clone(), one].concat(), 3, 200), Dialect::ArcDsl);
    assert!(text.contains("(99999999999999999999, -9223372036854775809)"));
    assert!(text.contains("add(x1, 99999999999999999999)"));
    assert!(text.contains("add(x1, THREE)"));
    read_back(&text);
    assert!(Library::new(programs).text(0).contains("99999999999999999999"));
}

/// Every statement of every program as a program of its own, one at a time, is the oracle.
#[test]
fn a_harvest_has_every_node_that_is_right() {
    let tasks = tasks(1);
    // Programs that do too much: the solution is on the way.
    let mut text = String::new();
    for program in own_programs() {
        let longer = program.definition(&program.name);
        let longer = longer.replace("return O", "x0 = hconcat(O, O)\n    return x0");
        text.push_str(&longer);
    }
    let programs = read_back(&text);
    let mut wanted: Vec<(usize, String)> = Vec::new();
    for program in &programs {
        let definition = program.definition(&program.name);
        let lines: Vec<&str> = definition.lines().collect();
        for n in 2..lines.len() - 1 {
            let variable = lines[n - 1].trim().split(' ').next().unwrap();
            let cut = format!("{}\n    return {variable}\n", lines[..n].join("\n"));
            let part = read_back(&cut).remove(0).minimised();
            let library = Library::new(vec![part.clone()]);
            let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
            for (k, task) in tasks.iter().enumerate() {
                let mut is_right = true;
                for sample in &task.train {
                    evaluator.run(sample, |_, result| {
                        let wanted = sample.output.as_ref().unwrap();
                        is_right &= result.is_ok_and(|value| score(value, wanted).equal);
                    });
                }
                if is_right {
                    wanted.push((k, part.digest()));
                }
            }
        }
    }
    wanted.sort();
    wanted.dedup();
    assert!(wanted.len() >= tasks.len(), "{} found", wanted.len());
    for n_threads in [1, 3] {
        let harvest = Harvest::new(GridPrograms::new(Library::new(programs.clone())));
        let stop = swathe::Stop::new();
        let outcomes = swathe::solve_slice(&harvest, &tasks, n_threads, &stop);
        let mut found: Vec<(usize, String)> = Vec::new();
        for (k, outcome) in outcomes.iter().enumerate() {
            let made = harvest.programs([outcome.solution().unwrap()]);
            found.extend(made.iter().map(|program| (k, program.digest())));
            assert!(made.iter().all(|p| p.name == format!("harvest_{}", p.digest())));
        }
        found.sort();
        assert_eq!(found, wanted);
    }
}

#[test]
fn what_programs_return_is_not_harvested() {
    let tasks = tasks(1);
    let harvest = Harvest::new(GridPrograms::new(Library::new(own_programs())));
    let outcomes = swathe::solve_slice(&harvest, &tasks, 2, &swathe::Stop::new());
    let nodes = outcomes.iter().map(|outcome| outcome.solution().unwrap());
    let found = harvest.programs(nodes);
    let own: Vec<String> = own_programs().iter().map(|p| p.minimised().digest()).collect();
    assert!(found.iter().all(|program| !own.contains(&program.digest())));
}

/// A statement that the output does not need fails on the second demonstration, and the program with it.
#[test]
fn what_a_program_returns_is_harvested_where_the_program_fails() {
    let text = "def a(I):\n    x1 = ofcolor(I, NINE)\n    x2 = first(x1)\n    return vmirror(I)\n";
    let harvest = Harvest::new(GridPrograms::new(Library::new(read_back(text))));
    let task = r#"{"train": [{"input": [[9, 1]], "output": [[1, 9]]},
        {"input": [[1, 2, 3]], "output": [[3, 2, 1]]}], "test": []}"#;
    let tasks = [Arc::new(Task::from_json("turn", task).unwrap())];
    let outcomes = swathe::solve_slice(&harvest, &tasks, 1, &swathe::Stop::new());
    let found = harvest.programs([outcomes[0].solution().unwrap()]);
    let texts: Vec<String> = found.iter().map(|program| program.definition("p")).collect();
    assert_eq!(texts, ["def p(I):\n    O = vmirror(I)\n    return O\n"]);
}
