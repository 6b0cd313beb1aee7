//! Random programs against a Python implementation of the DSL: values, orders of sets, errors and time-outs.
//!
//! The implementations are not part of this repository. `SWATHE_ARC_DSL`, `SWATHE_RE_ARC_DSL` and `SWATHE_BATT_DSL` are
//! folders with the `dsl.py` of a dialect; a dialect without one is named and left out. `SWATHE_PYTHON` is the
//! interpreter (`python3`), `SWATHE_REFERENCE_SEED` the first seed (the time), `SWATHE_REFERENCE_CALLS` the number of
//! calls of each dialect (30,000).

mod random_programs;

use random_programs::Dice;
use serde_json::{Value as Json, json};
use std::borrow::Borrow;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use swathe_arc::{Dialect, Evaluator, Fault, Grid, Library, Limits, Order, Value, parse_in};

/// The longest output that is compared; of a longer one only the length is.
const TEXT_MAX: usize = 1 << 20;

/// A call that Python finishes in this time may not end as a timeout.
const SECONDS_MAX: f64 = 1.0;

/// Calls that differ are repeated in processes with other addresses, so many in all. In a table of eight places, one
/// address in eight changes the order of two elements, so that this many miss one such call in two hundred.
const N_PROCESSES: usize = 40;

#[test]
#[ignore = "takes minutes, and wants Python implementations of the DSL"]
fn random_programs_give_what_python_gives() {
    let n_calls = number("SWATHE_REFERENCE_CALLS").unwrap_or(30_000);
    let folders = [
        (Dialect::ArcDsl, "SWATHE_ARC_DSL"),
        (Dialect::ReArc, "SWATHE_RE_ARC_DSL"),
        (Dialect::Batt, "SWATHE_BATT_DSL"),
    ];
    let mut given = Vec::new();
    for (dialect, variable) in folders {
        match std::env::var_os(variable) {
            Some(folder) => given.push((dialect, PathBuf::from(folder))),
            None => eprintln!("SKIPPED: {} ({variable} names no folder)", dialect.name()),
        }
    }
    let is_skipped = given.is_empty() && std::env::var_os("CI").is_some();
    assert!(!is_skipped, "there is no implementation to compare with");
    let n_different: usize =
        given.iter().map(|(dialect, folder)| compare(*dialect, folder, n_calls)).sum();
    assert_eq!(n_different, 0, "calls differ from Python's");
}

fn number(name: &str) -> Option<usize> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// One program on one grid, and what it gives here.
struct Call {
    text: String,
    grid: Grid,
    outcome: Result<String, Fault>,
}

/// The number of calls that give something else than in Python.
#[expect(clippy::print_stderr, reason = "seeds and differences are to be read")]
fn compare(dialect: Dialect, folder: &Path, n_calls: usize) -> usize {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    let seed = number("SWATHE_REFERENCE_SEED").unwrap_or_else(|| now().as_secs() as usize);
    eprintln!("{}: SWATHE_REFERENCE_SEED={seed}", dialect.name());
    let mut calls = Vec::with_capacity(n_calls);
    for seed in seed.. {
        if calls.len() >= n_calls {
            break;
        }
        let mut dice = Dice::new(seed as u64);
        dice.dialect = dialect;
        grow(&mut dice, &mut calls);
    }
    let answers = python(folder, &calls, 0);
    let differs: Vec<usize> =
        (0..calls.len()).filter(|&k| !is_same(&calls[k], &answers[k])).collect();
    // A result that depends on the addresses of functions differs between processes.
    let again: Vec<&Call> = differs.iter().map(|&k| &calls[k]).collect();
    let mut is_fixed = vec![true; differs.len()];
    for n_moved in 1..N_PROCESSES {
        let answers_again = python(folder, &again, n_moved);
        for (k, answer) in answers_again.iter().enumerate() {
            let before = &answers[differs[k]];
            is_fixed[k] &= ["out", "error", "skip"].map(|w| &answer[w])
                == ["out", "error", "skip"].map(|w| &before[w]);
        }
    }
    let differs: Vec<usize> = differs
        .into_iter()
        .zip(&is_fixed)
        .filter(|(_, is_fixed)| **is_fixed)
        .map(|(k, _)| k)
        .collect();
    for &k in &differs {
        let (call, answer) = (&calls[k], &answers[k]);
        let shown = |text: &str| text.chars().take(2000).collect::<String>();
        let here = shown(&format!("{:?}", call.outcome));
        let there = shown(&answer.to_string());
        eprintln!("{}{}\nPython: {there}\nhere:   {here}\n", call.text, rows(&call.grid));
    }
    let count = |has: fn(&Json) -> bool| answers.iter().filter(|answer| has(answer)).count();
    eprintln!(
        "{}: {} calls, {} fail in Python, {} not compared, {} depend on addresses, {} at a limit here, {} differ",
        dialect.name(),
        calls.len(),
        count(|answer| answer["error"].is_string()),
        count(|answer| answer["skip"].is_string()),
        is_fixed.iter().filter(|is_fixed| !**is_fixed).count(),
        calls.iter().filter(|call| matches!(call.outcome, Err(fault) if fault.is_limit())).count(),
        differs.len(),
    );
    differs.len()
}

/// Whether Python gives the same, or something that cannot be compared.
fn is_same(call: &Call, answer: &Json) -> bool {
    let wanted = match (answer["out"].as_str(), answer["error"].as_str()) {
        (Some(text), _) => Ok(text),
        (_, Some(kind)) => Err(kind),
        _ => return true,
    };
    match &call.outcome {
        Ok(text) => wanted == Ok(text),
        Err(Fault::Memory) => true,
        Err(Fault::Timeout) => answer["seconds"].as_f64() > Some(SECONDS_MAX),
        Err(fault) => wanted == Err(&fault.to_string()),
    }
}

/// Grows one program: of several possible next lines, all tried at once, one that works is kept.
fn grow(dice: &mut Dice, calls: &mut Vec<Call>) {
    let grids: Vec<Grid> = (0..2).map(|_| dice.grid()).collect();
    let limits = Limits::default();
    let mut kept: Vec<String> = Vec::new();
    for n_lines in 0..10 {
        let lines: Vec<String> = (0..12).map(|_| line(dice, n_lines)).collect();
        let names: Vec<String> = (0..=n_lines).map(|k| format!("x{k}")).collect();
        let text = |name: &str, line: &str| {
            format!(
                "def {name}(I):\n{}    x{n_lines} = {line}\n    return ({},)\n",
                kept.concat(),
                names.join(", ")
            )
        };
        let all: Vec<String> =
            (lines.iter().enumerate()).map(|(k, line)| text(&format!("p{k}"), line)).collect();
        let parsed = parse_in("random.py", &all.concat(), dice.dialect);
        assert_eq!(parsed.errors, [], "random programs are well formed");
        let library = Library::new(parsed.programs);
        let mut evaluator = Evaluator::new(&library, Order::Cpython, limits);
        let mut works = vec![true; lines.len()];
        for grid in &grids {
            evaluator.run(grid, |k, result| {
                works[k] &= result.is_ok();
                // Failures are many and alike.
                if result.is_ok() || dice.below(4) == 0 {
                    calls.push(Call {
                        text: text("p", &lines[k]),
                        grid: grid.clone(),
                        outcome: result.map(shown).map_err(|fault| *fault),
                    });
                }
            });
        }
        let working: Vec<usize> = (0..lines.len()).filter(|&k| works[k]).collect();
        if working.is_empty() {
            break;
        }
        kept.push(format!("    x{n_lines} = {}\n", lines[*dice.pick(&working)]));
    }
}

/// A random line; now and then one that shows which values are the same object, how large integers are, or an order.
fn line(dice: &mut Dice, n_lines: usize) -> String {
    const TEMPLATES: [&str; 16] = [
        "intersection(A, A)",
        "intersection(A, B)",
        "intersection(asindices(I), B)",
        "apply(fork(intersection, identity, identity), A)",
        "apply(lbind(intersection, A), B)",
        "intersection(branch(T, A, B), A)",
        "intersection(toindices(A), A)",
        "equality(A, B)",
        "equality(compose(A, B), compose(A, B))",
        "insert(A, initset(B))",
        "multiply(A, A)",
        "apply(fork(multiply, identity, identity), A)",
        "toivec(positive(A))",
        "totuple(A)",
        "objects(I, T, F, T)",
        "asobject(I)",
    ];
    let dialect = dice.dialect;
    if n_lines == 0 || dice.below(4) > 0 {
        // How deep `power` recurses there depends on where it is called.
        let is_left_out = |line: &String| dialect == Dialect::Batt && line.contains("power");
        let mut lines = std::iter::repeat_with(|| dice.line(n_lines));
        return lines.find(|line| !is_left_out(line)).unwrap_or_default();
    }
    let template = *dice.pick(&TEMPLATES);
    let mut name = || format!("x{}", dice.below(n_lines));
    let line = template.replace('A', &name()).replace('B', &name());
    match dice.dialect {
        Dialect::Batt => line.replace("objects(I, T, F, T)", "o_g(I, R5)"),
        _ => line,
    }
}

fn rows(grid: &Grid) -> Json {
    grid.rows().map(|row| row.iter().copied().collect::<Json>()).collect()
}

/// What Python gives for these calls, with other addresses for each number of moved functions.
fn python(folder: &Path, calls: &[impl Borrow<Call>], n_moved: usize) -> Vec<Json> {
    let file = std::env::temp_dir().join(format!("swathe-reference-{}.jsonl", std::process::id()));
    let mut out = BufWriter::new(std::fs::File::create(&file).expect("a temporary file"));
    for call in calls {
        let call = call.borrow();
        let line = json!({"text": call.text, "grid": rows(&call.grid)});
        writeln!(out, "{line}").expect("a line is written");
    }
    out.flush().expect("the file is written");
    let program = std::env::var_os("SWATHE_PYTHON").unwrap_or("python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python_reference/run.py");
    let mut command = Command::new(program);
    command.arg(script).arg(folder).arg(&file);
    command.arg(n_moved.to_string());
    let output = command.output().expect("Python starts");
    std::fs::remove_file(&file).expect("the file is there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "Python fails: {said}");
    let answers: Vec<Json> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an answer is JSON"))
        .collect();
    assert_eq!(answers.len(), calls.len(), "an answer for each call");
    answers
}

/// A value as text, sets in the order that programs see.
fn shown(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    if text.len() > TEXT_MAX {
        return text.len().to_string();
    }
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::None => *out += "None",
        Value::Bool(true) => *out += "True",
        Value::Bool(false) => *out += "False",
        Value::Float(x) if x.is_nan() => *out += "~nan",
        Value::Float(x) if x.is_infinite() => *out += &format!("~{x}"),
        Value::Float(x) => *out += &format!("~{}", *x as i64),
        Value::Int(n) => *out += &n.to_string(),
        Value::Big(n) => *out += &n.to_string(),
        value => match value.elements() {
            None => *out += "f",
            Some(elements) => {
                let [open, close] = if value.is_tuple() { ['(', ')'] } else { ['{', '}'] };
                out.push(open);
                for element in &elements {
                    write(element, out);
                    out.push(',');
                }
                out.push(close);
            }
        },
    }
}
