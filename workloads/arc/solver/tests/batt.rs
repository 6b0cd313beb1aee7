//! Files of one function `batt`: their candidates, guarded lines, demonstrations, and what errors say.

use std::sync::Arc;
use swathe::Stop;
use swathe_arc::{
    Call, Dialect, Evaluator, GridPrograms, Inputs, Library, Limits, Order, Problem, RowList, Task,
    Value, call, encode, parse, parse_in, primitive_in, samples, set_dialect,
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
    let parsed = parse_in("batt.py", text, Dialect::Batt);
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
    x1 = vmirror_t(I)
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
    let names: Vec<String> = parse("batt.py", BATT).programs.into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["batt_01fce304_2", "batt_90c82409_6", "batt_10", "batt_20"]);
}

#[test]
fn the_sample_solves_its_tasks() {
    let workload = GridPrograms::new(Library::new(parse("batt.py", BATT).programs));
    for (task, program) in [("01fce304", 0), ("90c82409", 1)] {
        let task = tasks().into_iter().find(|t| t.name == task).expect("the task");
        let outcomes = swathe::solve_slice(&workload, &Problem::all(&task), 1, &Stop::new());
        for outcome in &outcomes {
            let calls = outcome.solution().expect("a solution");
            assert!(calls[program].score.expect("a score").equal, "{}", task.name);
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
        let calls = outcomes.iter().map(|o| o.solution().expect("a solution").clone());
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
fn inputs_are_the_demonstrations_and_the_input() {
    let text = batt("o.append((1, True, None, S))\no.append((2, True, None, I))");
    let task = pair();
    assert_eq!(
        outputs(&text, &task),
        [r#"{"tuple":[{"tuple":[{"grid":[[1,2]]},{"grid":[[2,3]]}]}]}"#, r#"{"grid":[[1,2]]}"#,]
    );
}

/// A program that returns the expected output, whichever way it is written.
#[test]
fn no_candidate_sees_the_expected_output() {
    let files = [
        batt("t1 = identity(C)\no.append((1, True, 'pair', t1))"),
        batt(&(guarded("t1", "identity", "C") + "o.append((1, True, 'pair', t1))")),
        batt("o.append((1, True, 'pair', C))"),
        "def solve_pair(S, I, C):\n    x1 = identity(C)\n    return x1\n".into(),
    ];
    for text in files {
        let parsed = parse("batt.py", &text);
        assert_eq!(parsed.errors, []);
        let workload = GridPrograms::new(Library::new(parsed.programs));
        let problems = Problem::all(&Arc::new(pair()));
        let outcomes = swathe::solve_slice(&workload, &problems, 1, &Stop::new());
        assert_eq!(outcomes.len(), 2, "a demonstration and a test");
        for outcome in &outcomes {
            let call = &outcome.solution().expect("a solution")[0];
            let output = call.output.as_ref().expect("an output");
            assert_eq!(output.text.as_deref(), Some("null"), "{text}");
            assert!(call.score.is_none_or(|score| !score.equal));
        }
    }
}

#[test]
fn differs_see_the_expected_output_where_it_is_known() {
    let text = batt(
        "t1 = identity(C)\ns.append((1, 'None', 'differ_1', t1))\ns.append((1, 'pair', 'differ_1', t1))",
    );
    let parsed = parse("batt.py", &text);
    assert_eq!((parsed.programs.len(), parsed.errors.len()), (0, 0));
    let tasks: Vec<Option<String>> = (parsed.differs.iter())
        .map(|p| p.row.clone().expect("a row"))
        .map(|row| {
            assert!(matches!(row.list, RowList::Differs { differ } if differ == "differ_1"));
            row.task
        })
        .collect();
    assert_eq!(tasks, [None, Some("pair".into())]);
    let library = Library::new(parsed.differs);
    let task = pair();
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    let mut values = |inputs: Inputs| {
        let mut values = Vec::new();
        evaluator.run(inputs, |_, result| values.push(encode(result.expect("a value"))));
        values
    };
    let expected = r#"{"grid":[[2,3]]}"#;
    assert_eq!(values(Inputs::with_expected(&task.train[0])), [expected; 2]);
    assert_eq!(values(Inputs::from(&task.train[0])), ["null"; 2]);
    // A test without an answer.
    assert_eq!(values(Inputs::with_expected(&task.test[0])), ["null"; 2]);
}

#[test]
fn a_guarded_line_goes_on_with_the_default_of_its_callee() {
    for (callee, args, wanted) in [
        ("size", "ONE", "0"),
        ("even", "I", "false"),
        ("hconcat", "ONE, I", r#"{"tuple":[]}"#),
        ("second", "()", r#"{"tuple":[]}"#),
        ("first", "()", "null"),
        ("get_nth_t", "I, F5", r#"{"float":"nan"}"#),
        ("rbind", "ONE, I", r#"{"fn":"safe_callable"}"#),
        ("add", "ONE", r#"{"tuple":[]}"#),
        ("size", "I", "1"),
    ] {
        assert_eq!(value_guarded(callee, args), wanted, "{callee}({args})");
        // The function itself gives the default, guarded or not, also inside another function.
        let bare = format!("t1 = {callee}({args})\no.append((1, True, None, t1))");
        assert_eq!(outputs(&batt(&bare), &pair()), [wanted], "{callee}({args})");
    }
    assert_eq!(value_guarded("palette_t", "ONE"), value_guarded("difference", "I, ONE"));
    // A limit is not an exception.
    assert_eq!(value_guarded("upscale_t", "I, 1000000"), "memory");
    // A function in a variable has the default of its primitive. A function that is itself a default can be called.
    let lines = guarded("t1", "identity", "size")
        + &guarded("t2", "t1", "ONE")
        + &guarded("t3", "rbind", "ONE, ONE")
        + &guarded("t4", "t3", "I, I")
        + "o.append((2, True, None, t2))\no.append((4, True, None, t4))";
    assert_eq!(outputs(&batt(&lines), &pair()), ["0", r#"{"tuple":[]}"#]);
}

#[test]
fn an_exception_that_escapes_loses_the_whole_call() {
    // Only a function in a variable can fail: here a number is called. A guard catches it.
    let after = "o.append((2, True, None, I))";
    let bare = format!("t1 = ONE(I)\n{after}");
    assert_eq!(outputs(&batt(&bare), &pair()), ["TypeError"]);
    let late = format!("{after}\nt0 = compose(size, first)\nt1 = t0(I, I)");
    assert_eq!(outputs(&batt(&late), &pair()), ["TypeError"]);
    let caught = guarded("t1", "ONE", "I") + after;
    assert_eq!(outputs(&batt(&caught), &pair()), [r#"{"grid":[[1,2]]}"#]);
}

#[test]
fn a_batch_of_all_samples_is_its_four_statements() {
    let together = "a, b, c, d = batch_process_samples_gpu(S)\no.append((1, True, None, c))\no.append((2, True, None, d))";
    let apart = "a = apply(first, S)\nb = apply(second, S)\nc = mapply(p_g, a)\nd = mapply(p_g, b)\no.append((1, True, None, c))\no.append((2, True, None, d))";
    for task in tasks() {
        assert_eq!(outputs(&batt(together), &task), outputs(&batt(apart), &task));
    }
}

#[test]
fn defaults_appear_at_the_innermost_function_that_fails() {
    set_dialect(Dialect::Batt);
    let run = |name: &str, args: &[Value]| {
        let function = primitive_in(Dialect::Batt, name).expect("a primitive");
        call(&function, args).map_or_else(|fault| fault.to_string(), |value| encode(&value))
    };
    let cell = Value::tuple([3, 4, 5].map(Value::Int).to_vec()).expect("a cell");
    let object = Value::set(vec![cell]).expect("an object");
    assert_eq!(encode(&object), r#"{"cells":[[3,4,5]]}"#);
    // Both edges fail to 0 because the elements are no pairs, and the width goes on with them.
    assert_eq!(run("width_i", std::slice::from_ref(&object)), "1");
    assert_eq!(run("hline_i", std::slice::from_ref(&object)), "true");
    assert_eq!(run("width_o", std::slice::from_ref(&object)), "1");
    // A wrong number of arguments is an exception, too.
    assert_eq!(run("size", &[]), "0");
    assert_eq!(run("uppermost", &[Value::None]), r#"{"float":"nan"}"#);
    let functions: Vec<String> = ["vmirror", "mostcolor", "ofcolor"]
        .iter()
        .filter(|name| primitive_in(Dialect::Batt, name).is_some())
        .map(|name| name.to_string())
        .collect();
    assert_eq!(functions, [""; 0], "arc-dsl's names are gone");
    set_dialect(Dialect::ArcDsl);
}

#[test]
fn errors_point_at_the_token_and_spare_the_other_candidates() {
    let lines = "t1 = sizze(I)\nt2 = increment(t1)\no.append((2, True, None, t2))\nt3 = hmirror_t(I)\no.append((3, True, None, t3))";
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
        ("t1 = size(t9)\nt9 = I", "4:15: `t9` is used before it is set"),
        ("t1 = size(t9)", "4:15: unknown name `t9`"),
        ("print(I)", "4:10: expected `=`"),
        ("t1 = size(I)\n    t2 = size(I)", "5:9: indented otherwise than the lines before it"),
        (
            "o.append((1, True, 'a b', I))",
            "4:24: expected a task's name in quotes (letters, digits, `_`, `-`) or None",
        ),
        ("o.append((1, Maybe, None, I))", "4:18: expected `True` or `False`"),
        ("o.append((1, True, None, I)", "5:5: expected `)`"),
        (
            "o.append((1, True, None, I))\no.append((1, True, None, S))",
            "5:15: `batt_1` is defined in line 4 already",
        ),
        ("s.append((1, None, 'differ', t1))", "4:34: unknown name `t1`"),
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
        let first = parsed.errors.first().unwrap_or_else(|| panic!("no error in\n{lines}"));
        let shown = first.to_string();
        assert!(shown.starts_with(&format!("batt.py:{wanted}")), "{lines}\n{shown}");
    }
    let lines = "t1 = get_nth_t(I, F0)\no.append((1, True, None, t1))";
    let without_constants = format!("from dsl import *\n{}", batt(lines));
    let parsed = parse("batt.py", &without_constants);
    assert!(parsed.programs.is_empty());
    let shown = parsed.errors[0].to_string();
    assert!(
        shown.starts_with("batt.py:5:23: `F0` is a constant, and the file imports `dsl` but not"),
        "{shown}"
    );
    let error = |text: &str| parse("batt.py", text).errors[0].to_string();
    let no_return = error("def batt(task_id, S, I, C, log_path):\n    t1 = size(I)\n");
    assert!(no_return.starts_with("batt.py:1:5: no `return`"), "{no_return}");
    let short = error("def batt(task_id, S, I):\n    return o, s\n");
    assert!(short.starts_with("batt.py:1:23: expected `,`: `batt` has five arguments"), "{short}");
}
