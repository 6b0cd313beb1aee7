//! Many programs as one function `batt`.

use crate::language::dialect::Dialect;
use crate::language::program::{Callee, Constant, Operand, Program, Statement};
use crate::language::source_text::{head_text, write_statement};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Merges programs of the `batt` dialect into the text of one function `batt`, with the statements that they need, each
/// once. Every program has a row `o.append((N, False, 'task', tN))`, in the order of the programs. The task is that of
/// a program's own row, or what follows `solve_` in its name, or its name.
///
/// Every differ has a row `s.append((N, 'None', 'differ', tN))` for the input, and one for the output of each program.
///
/// Every call is guarded: where a program alone would fail, because it calls something that is not a function, the
/// merged one goes on with the empty tuple, as generated files do.
///
/// ```
/// use swathe_arc::{combined, parse};
/// let text = "def solve_a(S, I, C):\n    x1 = vmirror_t(I)\n    return x1\ndef solve_b(S, I, C):\n    return trim(vmirror_t(I))\n";
/// let merged = combined(&parse("mine.py", text).programs, &[]);
/// assert_eq!(merged.matches("vmirror_t(I)").count(), 1);
/// let names: Vec<String> = parse("batt.py", &merged).programs.into_iter().map(|p| p.name).collect();
/// assert_eq!(names, ["batt_a_1", "batt_b_2"]);
/// ```
pub fn combined(programs: &[Program], differs: &[Program]) -> String {
    let mut merged = Merged::default();
    merged.rate(differs, "None", &Operand::Input);
    for program in programs {
        let output = merged.add(program, None);
        let task = program.row_task();
        let number = merged.row(&output, task);
        let _ = writeln!(merged.text, "    o.append(({number}, False, '{task}', t{number}))");
        merged.rate(differs, task, &Operand::Result(number - 1));
    }
    format!(
        "{}\n\ndef batt(task_id, S, I, C, log_path):\n    s = []\n    o = []\n{}    return o, s\n",
        head_text(Dialect::Batt, true),
        merged.text
    )
}

#[derive(Default)]
struct Merged {
    text: String,
    n_statements: u32,
    places: HashMap<Statement, u32>,
    /// The rows of candidates: number and task.
    rows: HashSet<(u32, String)>,
}

impl Merged {
    /// Adds the statements of a program and returns its output; the input is what takes its place, if anything does.
    fn add(&mut self, program: &Program, input: Option<&Operand>) -> Operand {
        let program = program.minimised();
        let mut results: Vec<u32> = Vec::with_capacity(program.statements.len());
        let placed = |operand: &Operand, results: &[u32]| match operand {
            Operand::Result(k) => Operand::Result(results[*k as usize]),
            Operand::Input => input.unwrap_or(&Operand::Input).clone(),
            other => other.clone(),
        };
        for statement in &program.statements {
            let statement = Statement {
                callee: match &statement.callee {
                    Callee::Function(f) => Callee::Function(placed(f, &results)),
                    Callee::Tuple => Callee::Tuple,
                },
                args: statement.args.iter().map(|arg| placed(arg, &results)).collect(),
                is_guarded: statement.callee != Callee::Tuple,
            };
            let place = match self.places.get(&statement) {
                Some(&place) => place,
                None => self.push(statement),
            };
            results.push(place);
        }
        placed(&program.output, &results)
    }

    fn push(&mut self, statement: Statement) -> u32 {
        let place = self.n_statements;
        self.n_statements += 1;
        let name = format!("t{}", place + 1);
        let result = |k: u32| format!("t{}", k + 1);
        let is_guarded = statement.is_guarded;
        write_statement(&mut self.text, &name, &statement, is_guarded, Dialect::Batt, &result);
        self.places.insert(statement, place);
        place
    }

    /// The number of the line for a row of this task: that of the output, unless it is no line or the task has a row
    /// of this number already. Rows of one number and task would be one candidate.
    fn row(&mut self, output: &Operand, task: &str) -> u32 {
        let mut place = match output {
            Operand::Result(place) => *place,
            other => self.push(identity_of(other)),
        };
        while !self.rows.insert((place, task.to_owned())) {
            place = self.push(identity_of(&Operand::Result(place)));
        }
        place + 1
    }

    /// Adds what the differs make of a grid.
    fn rate(&mut self, differs: &[Program], task: &str, grid: &Operand) {
        for differ in differs {
            let output = self.add(differ, Some(grid));
            let place = match output {
                Operand::Result(place) => place,
                other => self.push(identity_of(&other)),
            };
            let (number, name) = (place + 1, &differ.name);
            let _ = writeln!(self.text, "    s.append(({number}, '{task}', '{name}', t{number}))");
        }
    }
}

fn identity_of(operand: &Operand) -> Statement {
    let identity = Constant::named("identity", Dialect::Batt).expect("a primitive of all dialects");
    Statement {
        callee: Callee::Function(Operand::Constant(identity)),
        args: vec![operand.clone()],
        is_guarded: true,
    }
}
