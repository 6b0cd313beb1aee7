//! Files of one function `batt`: their candidates, guarded lines, demonstrations, and what errors say.

use std::sync::Arc;
use swathe::Stop;
use swathe_arc::{
    Call, Evaluator, GridPrograms, Library, Limits, Order, PRIMITIVES, Problem, Task, Value, call,
    encode, parse, primitive, samples,
};

const BATT: &str = include_str!("../samples/batt.py");

/// The function with these lines in it.
fn batt(lines: &str) -> String {
    let lines: String = lines.lines().map(|l| format!("    {l}\n")).collect();
    format!(
        "def batt(task_id, S, I, C, log_path):\n    s = []\n    o = []\n{lines}    return o, s\n"
    )
}

fn guarded(name: &str, callee: &str, args: &str) -> String {
    format!(
        "try:\n    {name} = {callee}({args})\nexcept (TypeError, ValueError):\n    {name} = _get_safe_default({callee})\n"
    )
}

fn tasks() -> Vec<Arc<Task>> {
    let of = |(name, text): &(&str, &str)| Arc::new(Task::from_json(name, text).expect("a task"));
    samples::TASKS.iter().map(of).collect()
}

/// What each program makes of the first demonstration of a task.
fn outputs(text: &str, task: &Task) -> Vec<String> {
    let parsed = parse("batt.py", text);
    assert_eq!(parsed.errors, []);
    let library = Library::new(parsed.programs);
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    evaluator.start_task(&task.train);
    let mut outputs = Vec::new();
    evaluator.run(&task.train[0], |_, result| {
        outputs.push(result.map_or_else(|fault| fault.to_string(), encode));
    });
    outputs
}

/// What the line `t = …`, guarded, gives on a task of one pair.
fn value_guarded(callee: &str, args: &str) -> String {
    let lines = guarded("t1", callee, args) + "o.append((1, True, None, t1))";
    outputs(&batt(&lines), &pair()).remove(0)
}

fn pair() -> Task {
    let text =
        r#"{"train": [{"input": [[1, 2]], "output": [[2, 3]]}], "test": [{"input": [[4]]}]}"#;
    Task::from_json("pair", text).expect("a task")
}

#[test]
fn candidates_are_what_the_same_statements_are_as_programs() {
    let as_programs = "
def a(I):
    x1 = vmirror(I)
    return hconcat(I, x1)
def b(I):
    x1 = objects(I, T, F, T)
    x2 = argmax(x1, size)
    return subgrid(x2, I)
";
    for task in tasks() {
        let found = outputs(BATT, &task);
        let wanted = outputs(as_programs, &task);
        // Guarded or not makes no difference as long as nothing fails.
        if wanted.iter().all(|output| output.starts_with('{')) {
            assert_eq!(found[..2], wanted, "{}", task.name);
        }
    }
    let names: Vec<String> = parse("batt.py", BATT)
        .programs
        .into_iter()
        .map(|p| p.name)
        .collect();
    assert_eq!(
        names,
        ["batt_01fce304_2", "batt_90c82409_6", "batt_10", "batt_20"]
    );
}

#[test]
fn the_sample_solves_its_tasks() {
    let workload = GridPrograms::new(Library::new(parse("batt.py", BATT).programs));
    for (task, program) in [("01fce304", 0), ("90c82409", 1)] {
        let task = tasks()
            .into_iter()
            .find(|t| t.name == task)
            .expect("the task");
        let outcomes = swathe::solve_slice(&workload, &Problem::all(&task), 1, &Stop::new());
        for outcome in &outcomes {
            let calls = outcome.solution().expect("a solution");
            assert!(
                calls[program].score.expect("a score").equal,
                "{}",
                task.name
            );
        }
    }
}

#[test]
fn what_depends_on_the_demonstrations_alone_is_done_once_per_task() {
    let tasks = tasks();
    let problems: Vec<Problem> = tasks.iter().flat_map(Problem::all).collect();
    let solved = |n_threads: usize| -> (Vec<Vec<Call>>, u64, u64) {
        let mut workload = GridPrograms::new(Library::new(parse("batt.py", BATT).programs));
        workload.start_profile();
        let outcomes = swathe::solve_slice(&workload, &problems, n_threads, &Stop::new());
        let calls = outcomes
            .iter()
            .map(|o| o.solution().expect("a solution").clone());
        let calls = calls.collect();
        let n_runs = |name: &str| {
            let profile = workload.profile();
            let of_name = profile.iter().filter(|s| s.primitive == Some(name));
            of_name.map(|s| s.n_runs).sum::<u64>()
        };
        // `difference_tuple` depends on S alone (its other call only rates), `replace` on I as well.
        (calls, n_runs("difference_tuple"), n_runs("replace"))
    };
    let (one, n_of_tasks, n_of_samples) = solved(1);
    assert_eq!(n_of_tasks, tasks.len() as u64);
    assert_eq!(n_of_samples, problems.len() as u64);
    let (three, n_of_tasks, _) = solved(3);
    assert_eq!(one, three);
    assert!((tasks.len() as u64..=3 * tasks.len() as u64).contains(&n_of_tasks));
}

#[test]
fn inputs_are_the_demonstrations_the_input_and_the_expected_output() {
    let text = batt(
        "o.append((1, True, None, S))\no.append((2, True, None, I))\no.append((3, True, None, C))",
    );
    let task = pair();
    assert_eq!(
        outputs(&text, &task),
        [
            r#"{"tuple":[{"tuple":[{"grid":[[1,2]]},{"grid":[[2,3]]}]}]}"#,
            r#"{"grid":[[1,2]]}"#,
            r#"{"grid":[[2,3]]}"#,
        ]
    );
    // Where the expected output is not known, C is None; the demonstrations are those of the task.
    let library = Library::new(parse("batt.py", &text).programs);
    let workload = GridPrograms::new(library);
    let problems = Problem::all(&Arc::new(task));
    let outcomes = swathe::solve_slice(&workload, &problems, 1, &Stop::new());
    let calls = outcomes[1].solution().expect("a solution");
    let text = |k: usize| calls[k].output.as_ref().expect("an output").text.clone();
    assert_eq!(text(2).as_deref(), Some("null"));
    assert!(text(0).expect("a text").contains("[[2,3]]"));
}

#[test]
fn a_guarded_line_goes_on_with_the_default_of_its_callee() {
    for (callee, args, wanted) in [
        ("size", "ONE", "0"),
        ("even", "I", "false"),
        ("hconcat", "ONE, I", r#"{"tuple":[]}"#),
        ("first", "()", r#"{"tuple":[]}"#),
        ("get_nth_t", "I, F5", r#"{"tuple":[]}"#),
        ("rbind", "ONE, I", r#"{"fn":["nothing"]}"#),
        ("add", "ONE", r#"{"tuple":[]}"#),
        ("size", "I", "1"),
    ] {
        assert_eq!(value_guarded(callee, args), wanted, "{callee}({args})");
    }
    assert_eq!(
        value_guarded("palette", "ONE"),
        value_guarded("difference", "I, ONE")
    );
    // A limit is not an exception.
    assert_eq!(value_guarded("upscale", "I, 1000000"), "memory");
    // A function in a variable has the default of its primitive. A function that is itself a default can be called.
    let lines = guarded("t1", "identity", "size")
        + &guarded("t2", "t1", "ONE")
        + &guarded("t3", "rbind", "ONE, ONE")
        + &guarded("t4", "t3", "I, I")
        + "o.append((2, True, None, t2))\no.append((4, True, None, t4))";
    assert_eq!(outputs(&batt(&lines), &pair()), ["0", r#"{"tuple":[]}"#]);
    // Without a guard the error is the candidate's, and only of those that need the line.
    let lines = "t1 = size(ONE)\no.append((1, True, None, t1))\no.append((2, True, None, I))";
    assert_eq!(
        outputs(&batt(lines), &pair()),
        ["TypeError", r#"{"grid":[[1,2]]}"#]
    );
}

#[test]
fn a_batch_of_all_samples_is_its_four_statements() {
    let together = "a, b, c, d = batch_process_samples_gpu(S)\no.append((1, True, None, c))\no.append((2, True, None, d))";
    let apart = "a = apply(first, S)\nb = apply(second, S)\nc = mapply(p_g, a)\nd = mapply(p_g, b)\no.append((1, True, None, c))\no.append((2, True, None, d))";
    for task in tasks() {
        assert_eq!(
            outputs(&batt(together), &task),
            outputs(&batt(apart), &task)
        );
    }
}

#[test]
fn functions_of_the_dialect() {
    let int = Value::Int;
    let tuple = |items: &[i64]| Value::tuple(items.iter().copied().map(int).collect()).unwrap();
    let set = |items: &[i64]| Value::set(items.iter().copied().map(int).collect()).unwrap();
    let rows = |rows: &[&[i64]]| Value::tuple(rows.iter().map(|r| tuple(r)).collect()).unwrap();
    let run = |name: &str, args: &[Value]| {
        let function = primitive(name).expect("a primitive");
        call(&function, args).map_or_else(|fault| fault.to_string(), |value| encode(&value))
    };
    let grid = rows(&[&[3, 1], &[1, 0]]);
    assert_eq!(
        run("p_g", std::slice::from_ref(&grid)),
        r#"{"tuple":[0,1,3]}"#
    );
    assert_eq!(run("p_g", &[int(1)]), "TypeError");
    assert_eq!(run("second", &[tuple(&[7, 8, 9])]), "8");
    assert_eq!(run("second", &[tuple(&[7])]), "null");
    assert_eq!(run("second", &[tuple(&[])]), "StopIteration");
    let twice = tuple(&[1, 2, 1, 3]);
    assert_eq!(
        run("difference_tuple", &[twice, tuple(&[2])]),
        r#"{"tuple":[1,1,3]}"#
    );
    assert_eq!(
        run("difference_tuple", &[tuple(&[]), int(1)]),
        r#"{"tuple":[]}"#
    );
    for (rank, wanted) in [
        (0, "7"),
        (2, "9"),
        (-1, "9"),
        (-3, "7"),
        (3, "IndexError"),
        (-4, "IndexError"),
    ] {
        assert_eq!(run("get_nth_t", &[tuple(&[7, 8, 9]), int(rank)]), wanted);
    }
    assert_eq!(run("get_nth_t", &[set(&[7]), int(0)]), "TypeError");
    // CPython iterates this set from 8 to 7: the table has eight slots.
    for (rank, wanted) in [(0, 8), (1, 7), (-1, 7), (-2, 8)] {
        assert_eq!(
            run("get_nth_f", &[set(&[7, 8]), int(rank)]),
            wanted.to_string()
        );
    }
    let empty = encode(&set(&[]));
    assert_eq!(run("get_nth_f", &[set(&[7, 8]), int(2)]), empty);
    assert_eq!(run("get_nth_f", &[set(&[7, 8]), int(-3)]), empty);
    for (kind, wanted) in [
        (0, "[[1,0],[3,1]]"),
        (1, "[[3,1],[1,0]]"),
        (2, "[[1,3],[0,1]]"),
        (3, "[[0,1],[1,3]]"),
        (4, "[[1,3],[0,1]]"),
        (5, "[[0,1],[1,3]]"),
        (6, "[[1,0],[3,1]]"),
        (7, "[[3,1],[1,0]]"),
    ] {
        let wanted = format!(r#"{{"grid":{wanted}}}"#);
        assert_eq!(
            run("mir_rot_t", &[grid.clone(), int(kind)]),
            wanted,
            "{kind}"
        );
    }
    assert_eq!(run("mir_rot_t", &[set(&[]), int(0)]), "TypeError");
    let patch = Value::set(vec![Value::Pair(0, 0), Value::Pair(1, 2)]).unwrap();
    let same = encode(&patch);
    for (kind, name) in ["hmirror", "dmirror", "vmirror", "cmirror"]
        .iter()
        .enumerate()
    {
        let wanted = run(name, std::slice::from_ref(&patch));
        assert_eq!(run("mir_rot_f", &[patch.clone(), int(kind as i64)]), wanted);
    }
    assert_eq!(run("mir_rot_f", &[patch, int(4)]), same);
    assert_eq!(run("mir_rot_f", &[grid.clone(), int(0)]), "TypeError");
    for flags in 0..8 {
        let flag = |bit: i64| Value::Bool(flags & bit != 0);
        assert_eq!(
            run("o_g", &[grid.clone(), int(flags)]),
            run("objects", &[grid.clone(), flag(4), flag(2), flag(1)])
        );
    }
    assert_eq!(run("o_g", &[grid, int(8)]), "null");
    assert_eq!(PRIMITIVES.len(), 168);
}

#[test]
fn errors_point_at_the_token_and_spare_the_other_candidates() {
    let lines = "t1 = sizze(I)\nt2 = increment(t1)\no.append((2, True, None, t2))\nt3 = hmirror(I)\no.append((3, True, None, t3))";
    let parsed = parse("batt.py", &batt(lines));
    let shown: Vec<String> = parsed.errors.iter().map(|e| e.to_string()).collect();
    assert_eq!(
        shown,
        [
            "batt.py:4:10: unknown function `sizze`; did you mean `size`?\n  |\n4 |     t1 = sizze(I)\n  |          ^^^^^",
            "batt.py:6:30: `t2` needs line 4, which is rejected\n  |\n6 |     o.append((2, True, None, t2))\n  |                              ^^",
        ]
    );
    let names: Vec<&str> = parsed.programs.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["batt_3"]);
    for (lines, wanted) in [
        (
            "t1 = size(t9)\nt9 = I",
            "4:15: `t9` is used before it is set",
        ),
        ("t1 = size(t9)", "4:15: unknown name `t9`"),
        ("print(I)", "4:10: expected `=`"),
        (
            "o.append((1, True, 'a b', I))",
            "4:24: expected a task's name in quotes (letters, digits, `_`, `-`) or None",
        ),
        (
            "o.append((1, Maybe, None, I))",
            "4:18: expected `True` or `False`",
        ),
        ("o.append((1, True, None, I)", "5:5: expected `)`"),
        (
            "o.append((1, True, None, I))\no.append((1, True, None, S))",
            "5:15: `batt_1` is defined in line 4 already",
        ),
        (
            "s.append((1, None, 'differ', t1))",
            "4:34: unknown name `t1`",
        ),
        (
            "try:\n    t1 = size(I)\nexcept TypeError:\n    t2 = _get_safe_default(size)",
            "7:9: expected `t1 = _get_safe_default(size)`",
        ),
        (
            "try:\n    t1 = size(first(I))\nexcept TypeError:\n    t1 = _get_safe_default(size)",
            "5:14: expected one call, of names, in a line after `try:`",
        ),
        ("try:\n    t1 = size(I)", "5:21: expected one line"),
        ("return o, s", "5:5: nothing may follow `return`"),
    ] {
        let parsed = parse("batt.py", &batt(lines));
        let first = parsed
            .errors
            .first()
            .unwrap_or_else(|| panic!("no error in\n{lines}"));
        let shown = first.to_string();
        assert!(
            shown.starts_with(&format!("batt.py:{wanted}")),
            "{lines}\n{shown}"
        );
    }
    let error = |text: &str| parse("batt.py", text).errors[0].to_string();
    let no_return = error("def batt(task_id, S, I, C, log_path):\n    t1 = size(I)\n");
    assert!(
        no_return.starts_with("batt.py:1:5: no `return`"),
        "{no_return}"
    );
    let short = error("def batt(task_id, S, I):\n    return o, s\n");
    assert!(
        short.starts_with("batt.py:1:23: expected `,`: `batt` has five arguments"),
        "{short}"
    );
}
