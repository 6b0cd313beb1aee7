//! Programs as data: statements, their operands, and constants.

use crate::value::Value;
use crate::value::fault::Result;

/// A straight-line program: statements that call functions on earlier results, and one output.
///
/// Programs come from [`parse`](crate::parse) and run as part of a [`Library`](crate::Library).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The function's name, for example `solve_67a3c6ac`, or that of a candidate in a `batt` file.
    pub name: String,
    /// The line of its `def`, or of the candidate's `o.append`, counted from 1.
    pub line: usize,
    pub(crate) statements: Vec<Statement>,
    pub(crate) output: Operand,
}

impl Program {
    /// The number of calls, nested ones included.
    pub fn n_statements(&self) -> usize {
        self.statements.len()
    }
}

/// One call. Later statements refer to its result by the statement's number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Statement {
    pub(crate) callee: Callee,
    pub(crate) args: Vec<Operand>,
    /// Whether a failure gives the callee's [safe default](crate::safe_default) in place of an error.
    pub(crate) is_guarded: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Callee {
    /// A value that is called, most often a primitive.
    Function(Operand),
    /// Not a call: the arguments as a tuple.
    Tuple,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    /// The input grid.
    Input,
    /// All demonstrations of the task, as pairs.
    Samples,
    /// The expected output, or None where it is not known.
    Expected,
    Constant(Constant),
    /// The result of an earlier statement.
    Result(u32),
}

/// A value that is written in a program's text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Constant {
    None,
    Bool(bool),
    Int(i64),
    Primitive(u8),
    Tuple(Vec<Constant>),
}

impl Constant {
    pub(crate) fn value(&self) -> Result {
        Ok(match self {
            Constant::None => Value::None,
            Constant::Bool(b) => Value::Bool(*b),
            Constant::Int(n) => Value::Int(*n),
            Constant::Primitive(p) => Value::Primitive(*p),
            Constant::Tuple(items) => {
                return Value::tuple(items.iter().map(Constant::value).collect::<Result<_>>()?);
            }
        })
    }

    /// The constant that has this name in programs.
    pub(crate) fn named(name: &str) -> Option<Constant> {
        let pair = |i, j| Constant::Tuple(vec![Constant::Int(i), Constant::Int(j)]);
        Some(match name {
            "F" | "False" => Constant::Bool(false),
            "T" | "True" => Constant::Bool(true),
            "None" => Constant::None,
            "DOWN" => pair(1, 0),
            "RIGHT" => pair(0, 1),
            "UP" => pair(-1, 0),
            "LEFT" => pair(0, -1),
            "ORIGIN" => pair(0, 0),
            "UNITY" => pair(1, 1),
            "NEG_UNITY" => pair(-1, -1),
            "UP_RIGHT" => pair(-1, 1),
            "DOWN_LEFT" => pair(1, -1),
            "ZERO_BY_TWO" => pair(0, 2),
            "TWO_BY_ZERO" => pair(2, 0),
            "TWO_BY_TWO" => pair(2, 2),
            "THREE_BY_THREE" => pair(3, 3),
            "NEG_ONE" => Constant::Int(-1),
            "NEG_TWO" => Constant::Int(-2),
            _ => {
                if let Some(n) = NUMBERS.iter().position(|n| *n == name) {
                    return Some(Constant::Int(n as i64));
                }
                if let Some(n) = COLORS.iter().position(|n| *n == name) {
                    return Some(Constant::Int(n as i64));
                }
                if let Some(n) = numbered(name) {
                    return Some(Constant::Int(n));
                }
                let Some(Value::Primitive(p)) = crate::primitive(name) else {
                    return None;
                };
                Constant::Primitive(p)
            }
        })
    }
}

const NUMBERS: [&str; 11] = [
    "ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN",
];

/// The names of the colours in `batt` files.
const COLORS: [&str; 10] = [
    "BLACK", "BLUE", "RED", "GREEN", "YELLOW", "GRAY", "MAGENTA", "ORANGE", "CYAN", "BURGUNDY",
];

/// The numbered constants of `batt` files: ranks from the first (`F0` to `F9`) and from the last (`L1` to `L10`),
/// flags of objects (`R0` to `R9`) and kinds of mirrors and turns (`A0` to `A9`).
fn numbered(name: &str) -> Option<i64> {
    if name == "L10" {
        return Some(-10);
    }
    match name.as_bytes() {
        [b'F' | b'R' | b'A', n @ b'0'..=b'9'] => Some(i64::from(n - b'0')),
        [b'L', n @ b'1'..=b'9'] => Some(-i64::from(n - b'0')),
        _ => None,
    }
}

/// The names of constants that are not primitives, for suggestions.
pub(crate) const CONSTANT_NAMES: [&str; 31] = [
    "F",
    "T",
    "True",
    "False",
    "None",
    "ZERO",
    "ONE",
    "TWO",
    "THREE",
    "FOUR",
    "FIVE",
    "SIX",
    "SEVEN",
    "EIGHT",
    "NINE",
    "TEN",
    "NEG_ONE",
    "NEG_TWO",
    "DOWN",
    "RIGHT",
    "UP",
    "LEFT",
    "ORIGIN",
    "UNITY",
    "NEG_UNITY",
    "UP_RIGHT",
    "DOWN_LEFT",
    "ZERO_BY_TWO",
    "TWO_BY_ZERO",
    "TWO_BY_TWO",
    "THREE_BY_THREE",
];
