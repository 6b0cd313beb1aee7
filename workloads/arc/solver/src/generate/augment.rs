//! Programs seen from another side: the input turned or recoloured, and the output turned or recoloured back.

use crate::language::cone::operands;
use crate::language::dialect::Dialect;
use crate::language::primitive::{PRIMITIVES, Symmetry};
use crate::language::program::{Callee, Constant, Operand, Program, Statement};
use swathe::seed;

/// A change of grids that can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Augmentation {
    /// One of the seven turns and mirrors of a square, by its name in arc-dsl.
    Symmetry(&'static str),
    /// Pairs of colours that change places, one after the other.
    Colors(Vec<[u8; 2]>),
}

/// The turns and mirrors, by their names in arc-dsl.
fn symmetries() -> impl Iterator<Item = (&'static str, Symmetry)> {
    PRIMITIVES.iter().filter_map(|p| Some((p.name, p.traits.symmetry?)))
}

impl Augmentation {
    /// The names of the seven turns and mirrors.
    pub fn symmetries() -> impl Iterator<Item = &'static str> {
        symmetries().map(|(name, _)| name)
    }

    /// Permutations of the colours 1 to 9, chosen by the seed; 0 is the background and stays.
    pub fn colors(n: usize, seed: u64) -> Vec<Augmentation> {
        let mut state = seed;
        let mut permutation = || {
            let others = (2..=9u8).rev().map(|color| {
                let other = 1 + (seed::draw(&mut state) % u64::from(color)) as u8;
                [color, other]
            });
            Augmentation::Colors(others.filter(|[a, b]| a != b).collect())
        };
        (0..n).map(|_| permutation()).collect()
    }
}

/// The program with its input changed, and the change undone on its output. None if the program reads the
/// demonstrations or the expected output, which are not changed.
///
/// ```
/// use swathe_arc::{Augmentation, augmented, parse};
/// let program = &parse("mine.py", "def a(I):\n    x1 = tophalf(I)\n    return x1\n").programs[0];
/// let turned = augmented(program, &Augmentation::Symmetry("rot90"), "a_rot90").unwrap();
/// let text = "def a_rot90(I):\n    x1 = rot90(I)\n    x2 = tophalf(x1)\n    O = rot270(x2)\n    return O\n";
/// assert_eq!(turned.definition("a_rot90"), text);
/// ```
pub fn augmented(program: &Program, by: &Augmentation, name: &str) -> Option<Program> {
    let reads = |operand: &Operand| matches!(operand, Operand::Samples | Operand::Expected);
    let all = program.statements.iter().flat_map(operands);
    if all.chain([&program.output]).any(reads) {
        return None;
    }
    let dialect = program.dialect;
    let mut statements = Vec::new();
    let changed = push_changes(&mut statements, by, false, Operand::Input, dialect)?;
    let n_before = statements.len() as u32;
    let placed = |operand: &Operand| match operand {
        Operand::Input => changed.clone(),
        Operand::Result(k) => Operand::Result(k + n_before),
        other => other.clone(),
    };
    for statement in &program.statements {
        let with_input = Statement {
            callee: match &statement.callee {
                Callee::Function(f) => Callee::Function(placed(f)),
                Callee::Tuple => Callee::Tuple,
            },
            args: statement.args.iter().map(placed).collect(),
            is_guarded: statement.is_guarded,
        };
        statements.push(with_input);
    }
    let output = placed(&program.output);
    let output = push_changes(&mut statements, by, true, output, dialect)?;
    Some(Program { name: name.to_owned(), row: None, statements, output, ..program.clone() })
}

/// Adds the statements that change a grid, or undo the change; returns the result.
fn push_changes(
    statements: &mut Vec<Statement>,
    by: &Augmentation,
    is_undone: bool,
    grid: Operand,
    dialect: Dialect,
) -> Option<Operand> {
    let constant = |name: &str| Some(Operand::Constant(Constant::named(name, dialect)?));
    let int = |n: i64| Operand::Constant(Constant::Int(n));
    let mut grid = grid;
    let mut call = |name: &str, grid: &mut Operand, more: Vec<Operand>| {
        let mut args = vec![grid.clone()];
        args.extend(more);
        statements.push(Statement {
            callee: Callee::Function(constant(name)?),
            args,
            is_guarded: false,
        });
        *grid = Operand::Result(statements.len() as u32 - 1);
        Some(())
    };
    match by {
        Augmentation::Symmetry(name) => {
            let (_, symmetry) = symmetries().find(|(known, _)| known == name)?;
            let number = if is_undone { symmetry.inverse } else { symmetry.number };
            if dialect == Dialect::Batt {
                call("mir_rot_t", &mut grid, vec![int(number)])?;
            } else {
                let (name, _) = symmetries().find(|(_, known)| known.number == number)?;
                call(name, &mut grid, Vec::new())?;
            }
        }
        Augmentation::Colors(pairs) => {
            let mut pairs = pairs.clone();
            if is_undone {
                pairs.reverse();
            }
            for [a, b] in pairs {
                call("switch", &mut grid, vec![int(a.into()), int(b.into())])?;
            }
        }
    }
    Some(grid)
}
