//! Programs as data: statements, their operands, and constants.

use crate::language::dialect::Dialect;
use crate::language::primitive::primitive_in;
use crate::value::Value;
use crate::value::fault::Result;
use crate::value::integer::BigInteger;
use std::rc::Rc;

/// A straight-line program: statements that call functions on earlier results, and one output.
///
/// Programs come from [`parse`](crate::parse) and run as part of a [`Library`](crate::Library).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The function's name, for example `solve_67a3c6ac`, or that of a candidate in a `batt` file.
    pub name: String,
    /// The line of its `def`, or of the candidate's `o.append`, counted from 1.
    pub line: usize,
    /// What its functions and constants mean.
    pub dialect: Dialect,
    /// For a program from a `batt` file, the row that it fills.
    pub row: Option<BattRow>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) output: Operand,
}

impl Program {
    /// The number of calls, nested ones included.
    pub fn n_statements(&self) -> usize {
        self.statements.len()
    }

    /// The task of the row that the program fills in a `batt` function: that of its own row (`None` if the row says
    /// so), or what follows `solve_` in its name, or its name.
    ///
    /// ```
    /// let programs = swathe_arc::parse("mine.py", "def solve_67a3c6ac(I):\n    return vmirror(I)\n").programs;
    /// assert_eq!(programs[0].row_task(), "67a3c6ac");
    /// ```
    pub fn row_task(&self) -> &str {
        if let Some(row) = &self.row {
            return row.task.as_deref().unwrap_or("None");
        }
        let name = self.name.strip_prefix("solve_");
        name.filter(|name| !name.is_empty()).unwrap_or(&self.name)
    }
}

/// A row that a `batt` function appends: a candidate output, or how a value differs from the expected output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BattRow {
    /// The number of the value's line, as the row gives it.
    pub number: u32,
    /// The task whose program made the value; None where the row says `None`.
    pub task: Option<String>,
    /// Which list the row is appended to.
    pub list: RowList,
}

/// The list that a row of a `batt` function is appended to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowList {
    /// `o`: candidates, which never see the expected output.
    Candidates {
        /// Whether the generator altered the last line.
        is_altered: bool,
    },
    /// `s`: values that compare with the expected output.
    Differs {
        /// The name of the comparison.
        differ: String,
    },
}

/// One call. Later statements refer to its result by the statement's number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Statement {
    pub(crate) callee: Callee,
    pub(crate) args: Vec<Operand>,
    /// Whether a failure gives the callee's [safe default](crate::safe_default) in place of an error.
    pub(crate) is_guarded: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Callee {
    /// A value that is called, most often a primitive.
    Function(Operand),
    /// Not a call: the arguments as a tuple.
    Tuple,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
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
    /// An integer beyond 64 bits, boxed so that constants stay small.
    Big(Box<BigInteger>),
    Primitive(u16),
    Tuple(Vec<Constant>),
}

impl Constant {
    pub(crate) fn value(&self) -> Result {
        Ok(match self {
            Constant::None => Value::None,
            Constant::Bool(b) => Value::Bool(*b),
            Constant::Int(n) => Value::Int(*n),
            Constant::Big(n) => Value::Big(Rc::new((**n).clone())),
            Constant::Primitive(p) => Value::Primitive(*p),
            Constant::Tuple(items) => {
                return Value::tuple(items.iter().map(Constant::value).collect::<Result<_>>()?);
            }
        })
    }

    /// The constant that has this name in programs of a dialect: a number, a pair or a primitive.
    pub(crate) fn named(name: &str, dialect: Dialect) -> Option<Constant> {
        if let Some(keyword) = Constant::keyword(name) {
            return Some(keyword);
        }
        Constant::imported(name, dialect).or_else(|| match primitive_in(dialect, name) {
            Some(Value::Primitive(p)) => Some(Constant::Primitive(p)),
            _ => None,
        })
    }

    /// The integer with these decimal digits, after a sign if it is negative.
    pub(crate) fn integer(text: &str) -> Option<Constant> {
        match text.parse().ok()? {
            Value::Int(n) => Some(Constant::Int(n)),
            Value::Big(n) => Some(Constant::Big(Box::new((*n).clone()))),
            _ => None,
        }
    }

    pub(crate) fn pair(pair: [i64; 2]) -> Constant {
        Constant::Tuple(pair.map(Constant::Int).to_vec())
    }

    /// The constant that Python itself has under this name.
    pub(crate) fn keyword(name: &str) -> Option<Constant> {
        Some(match name {
            "False" => Constant::Bool(false),
            "True" => Constant::Bool(true),
            "None" => Constant::None,
            _ => return None,
        })
    }

    /// The constant that the dialect's module of constants has under this name.
    pub(crate) fn imported(name: &str, dialect: Dialect) -> Option<Constant> {
        if let Some((_, pair)) = PAIRS.iter().find(|(known, _)| *known == name) {
            return Some(Constant::pair(*pair));
        }
        Some(match name {
            "F" => Constant::Bool(false),
            "T" => Constant::Bool(true),
            "NEG_ONE" => Constant::Int(-1),
            "NEG_TWO" => Constant::Int(-2),
            _ => {
                let number = NUMBERS.iter().position(|n| *n == name).map(|n| n as i64);
                let number = number.or_else(|| match dialect {
                    Dialect::Batt => batt_number(name),
                    Dialect::ArcDsl | Dialect::ReArc => None,
                });
                return number.map(Constant::Int);
            }
        })
    }
}

/// The pairs with names, in all dialects.
pub(crate) const PAIRS: [(&str, [i64; 2]); 13] = [
    ("DOWN", [1, 0]),
    ("RIGHT", [0, 1]),
    ("UP", [-1, 0]),
    ("LEFT", [0, -1]),
    ("ORIGIN", [0, 0]),
    ("UNITY", [1, 1]),
    ("NEG_UNITY", [-1, -1]),
    ("UP_RIGHT", [-1, 1]),
    ("DOWN_LEFT", [1, -1]),
    ("ZERO_BY_TWO", [0, 2]),
    ("TWO_BY_ZERO", [2, 0]),
    ("TWO_BY_TWO", [2, 2]),
    ("THREE_BY_THREE", [3, 3]),
];

/// The names of the numbers from 0 on.
pub(crate) const NUMBERS: [&str; 11] =
    ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN"];

/// The names of the colours in `batt` files.
pub(crate) const COLORS: [&str; 10] =
    ["BLACK", "BLUE", "RED", "GREEN", "YELLOW", "GRAY", "MAGENTA", "ORANGE", "CYAN", "BURGUNDY"];

/// The further numbers of `batt` files: colours, negative numbers, large ones, scales, ranks from the first (`F0` to
/// `F9`) and from the last (`L1` to `L10`), flags of objects (`R0` to `R9`) and kinds of mirrors and turns (`A0` to
/// `A9`).
fn batt_number(name: &str) -> Option<i64> {
    if let Some(color) = COLORS.iter().position(|n| *n == name) {
        return Some(color as i64);
    }
    if let Some(number) = name.strip_prefix("NEG_") {
        let number = NUMBERS[1..].iter().position(|n| *n == number)?;
        return Some(-1 - number as i64);
    }
    match name {
        "HUNDRED" => return Some(100),
        "THOUSAND" => return Some(1000),
        "SM2" => return Some(2),
        "SM3" => return Some(3),
        "SD2" => return Some(-2),
        "SD3" => return Some(-3),
        "L10" => return Some(-10),
        _ => {}
    }
    match name.as_bytes() {
        [b'F' | b'R' | b'A', n @ b'0'..=b'9'] => Some(i64::from(n - b'0')),
        [b'L', n @ b'1'..=b'9'] => Some(-i64::from(n - b'0')),
        _ => None,
    }
}

/// The names of constants that are not primitives, for suggestions.
pub(crate) fn constant_names<'a>() -> impl Iterator<Item = &'a str> {
    let keywords = ["F", "T", "True", "False", "None"];
    let pairs = PAIRS.into_iter().map(|(name, _)| name);
    keywords.into_iter().chain(NUMBERS).chain(["NEG_ONE", "NEG_TWO"]).chain(pairs)
}
