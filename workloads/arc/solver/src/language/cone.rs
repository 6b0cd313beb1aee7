//! Cones: the statements that a value needs, and programs cut down to them.

use crate::language::program::{Callee, Operand, Program, Statement};
use std::collections::{HashMap, HashSet};

impl Program {
    /// The program with only the statements that its output needs, each once.
    ///
    /// A statement that the output does not need can still fail, and then the program fails with it; the minimised
    /// program does not. Wherever the program has an output, the minimised one has the same. Programs that differ only
    /// in the order of their statements are minimised to the same program.
    ///
    /// ```
    /// use swathe_arc::parse;
    /// let text = "def a(I):\n    x1 = hmirror(I)\n    x2 = vmirror(I)\n    x3 = hmirror(I)\n    return hconcat(x1, x3)\n";
    /// let program = &parse("mine.py", text).programs[0];
    /// assert_eq!((program.n_statements(), program.minimised().n_statements()), (4, 2));
    /// ```
    pub fn minimised(&self) -> Program {
        let mut kept: Vec<Statement> = Vec::new();
        let mut places: HashMap<Statement, u32> = HashMap::new();
        let mut moved_to: HashMap<u32, u32> = HashMap::new();
        // Arguments first, from the output on: the order of the statements that were given leaves no trace.
        let mut open: Vec<(&Operand, bool)> = vec![(&self.output, false)];
        while let Some((operand, has_arguments)) = open.pop() {
            let Operand::Result(k) = operand else {
                continue;
            };
            if moved_to.contains_key(k) {
                continue;
            }
            let statement = &self.statements[*k as usize];
            if !has_arguments {
                open.push((operand, true));
                open.extend(operands(statement).map(|operand| (operand, false)));
                continue;
            }
            let statement = moved(statement, |k| moved_to[&k]);
            let place = *places.entry(statement).or_insert_with_key(|statement| {
                kept.push(statement.clone());
                kept.len() as u32 - 1
            });
            moved_to.insert(*k, place);
        }
        Program {
            statements: kept,
            output: moved_operand(&self.output, |k| moved_to[&k]),
            ..self.clone()
        }
    }
}

/// The statements that an output and some statements need, renumbered.
pub(crate) fn needed(
    statements: &[Statement],
    also: &[u32],
    output: Operand,
) -> (Vec<Statement>, Operand) {
    let mut wanted: HashSet<u32> = HashSet::new();
    let also: Vec<Operand> = also.iter().map(|&k| Operand::Result(k)).collect();
    let mut open: Vec<&Operand> = also.iter().chain([&output]).collect();
    while let Some(operand) = open.pop() {
        if let Operand::Result(k) = operand
            && wanted.insert(*k)
        {
            open.extend(operands(&statements[*k as usize]));
        }
    }
    let mut wanted: Vec<u32> = wanted.into_iter().collect();
    wanted.sort_unstable();
    let places: HashMap<u32, u32> = wanted.iter().copied().zip(0..).collect();
    let kept = wanted.iter().map(|&k| moved(&statements[k as usize], |k| places[&k]));
    (kept.collect(), moved_operand(&output, |k| places[&k]))
}

/// The operands of a statement: its arguments, then the function that it calls.
pub(crate) fn operands(statement: &Statement) -> impl Iterator<Item = &Operand> {
    let function = match &statement.callee {
        Callee::Function(f) => Some(f),
        Callee::Tuple => None,
    };
    statement.args.iter().chain(function)
}

/// A statement whose references to results are renumbered.
pub(crate) fn moved(statement: &Statement, place: impl Fn(u32) -> u32) -> Statement {
    Statement {
        callee: match &statement.callee {
            Callee::Function(f) => Callee::Function(moved_operand(f, &place)),
            Callee::Tuple => Callee::Tuple,
        },
        args: statement.args.iter().map(|arg| moved_operand(arg, &place)).collect(),
        is_guarded: statement.is_guarded,
    }
}

pub(crate) fn moved_operand(operand: &Operand, place: impl Fn(u32) -> u32) -> Operand {
    match operand {
        Operand::Result(k) => Operand::Result(place(*k)),
        other => other.clone(),
    }
}
