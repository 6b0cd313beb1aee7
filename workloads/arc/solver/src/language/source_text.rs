//! Programs as text: Python of their dialect, which the parser reads back as the same program.

use crate::language::dialect::Dialect;
use crate::language::primitive::Primitive;
use crate::language::program::{
    COLORS, Callee, Constant, NUMBERS, Operand, PAIRS, Program, Statement,
};
use std::fmt::Write;

/// The line in which a file names its dialect, without the name.
pub(crate) const DIALECT_LINE: &str = "# dialect: ";

/// What generated files catch.
pub(crate) const CAUGHT: &str = "(TypeError, AttributeError, ValueError, IndexError, KeyError)";

impl Program {
    /// The program as a file of its own: the dialect, the imports, and a function of this name.
    ///
    /// ```
    /// use swathe_arc::parse;
    /// let text = "def a(I):\n    x1 = objects(I, T, F, T)\n    return subgrid(first(x1), I)\n";
    /// let program = &parse("mine.py", text).programs[0];
    /// let file = "\
    /// ## dialect: arc-dsl
    /// from dsl import *
    /// from constants import *
    ///
    ///
    /// def b(I):
    ///     x1 = objects(I, T, F, T)
    ///     x2 = first(x1)
    ///     O = subgrid(x2, I)
    ///     return O
    /// ";
    /// assert_eq!(program.file_text("b"), file);
    /// assert_eq!(parse("b.py", file).programs[0].definition("b"), program.definition("b"));
    /// ```
    pub fn file_text(&self, name: &str) -> String {
        let has_guards = self.statements.iter().any(|s| self.is_guarded(s));
        let head = head_text(self.dialect, has_guards);
        format!("{head}\n\n{}", self.definition(name))
    }

    /// The program as a function of this name, without imports.
    pub fn definition(&self, name: &str) -> String {
        let parameters = match self.has_samples() {
            true => "S, I, C",
            false => "I",
        };
        let mut out = format!("def {name}({parameters}):\n");
        let n_statements = self.statements.len() as u32;
        let result = |k: u32| match &self.output {
            Operand::Result(output) if *output == k && k + 1 == n_statements => "O".to_owned(),
            _ => format!("x{}", k + 1),
        };
        for (k, statement) in (0..).zip(&self.statements) {
            let guard = self.is_guarded(statement);
            write_statement(&mut out, &result(k), statement, guard, self.dialect, &result);
        }
        let output = operand_text(&self.output, None, self.dialect, &result);
        let _ = writeln!(out, "    return {output}");
        out
    }

    /// Whether its text has the parameters S, I and C.
    fn has_samples(&self) -> bool {
        let reads = |operand: &Operand| matches!(operand, Operand::Samples | Operand::Expected);
        let mut operands = self.statements.iter().flat_map(crate::language::cone::operands);
        self.dialect == Dialect::Batt || operands.any(reads) || reads(&self.output)
    }

    /// Whether the guard of a statement can take effect: where primitives have defaults, only a function in a variable
    /// can fail.
    fn is_guarded(&self, statement: &Statement) -> bool {
        let is_primitive = matches!(
            &statement.callee,
            Callee::Function(Operand::Constant(Constant::Primitive(_)))
        );
        statement.is_guarded && !(is_primitive && self.dialect.has_defaults())
    }
}

/// The first lines of a file of programs.
pub(crate) fn head_text(dialect: Dialect, has_guards: bool) -> String {
    let mut head = format!("{DIALECT_LINE}{}\nfrom dsl import *\n", dialect.name());
    // re-arc's `dsl` has the constants.
    if dialect != Dialect::ReArc {
        head.push_str("from constants import *\n");
    }
    if has_guards {
        head.push_str("from safe_dsl import _get_safe_default\n");
    }
    head
}

/// The file of many programs, whose names are those that they have. All are in one dialect.
pub fn programs_text(programs: &[Program], dialect: Dialect) -> String {
    let is_guarded = |program: &Program| program.statements.iter().any(|s| program.is_guarded(s));
    let mut out = head_text(dialect, programs.iter().any(is_guarded));
    for program in programs {
        let _ = write!(out, "\n\n{}", program.definition(&program.name));
    }
    out
}

/// One line, or a guarded one with its handler.
pub(crate) fn write_statement(
    out: &mut String,
    name: &str,
    statement: &Statement,
    is_guarded: bool,
    dialect: Dialect,
    result: &dyn Fn(u32) -> String,
) {
    let call = call_text(statement, dialect, result);
    match &statement.callee {
        // A handler names the callee, so a number that is called cannot be guarded.
        Callee::Function(callee) if is_guarded && call.starts_with(char::is_alphabetic) => {
            let callee = operand_text(callee, None, dialect, result);
            let _ = write!(
                out,
                "    try:\n        {name} = {call}\n    except {CAUGHT}:\n        {name} = _get_safe_default({callee})\n"
            );
        }
        _ => {
            let _ = writeln!(out, "    {name} = {call}");
        }
    }
}

fn call_text(statement: &Statement, dialect: Dialect, result: &dyn Fn(u32) -> String) -> String {
    let primitive = match &statement.callee {
        Callee::Function(Operand::Constant(Constant::Primitive(p))) => Some(Primitive::at(*p)),
        _ => None,
    };
    let args = statement.args.iter().enumerate();
    let args: Vec<String> = args
        .map(|(k, arg)| {
            let parameter = primitive.and_then(|p| p.parameter_name(k));
            operand_text(arg, parameter, dialect, result)
        })
        .collect();
    match &statement.callee {
        Callee::Tuple if args.len() == 1 => format!("({},)", args[0]),
        Callee::Tuple => format!("({})", args.join(", ")),
        Callee::Function(f) => {
            let callee = match f {
                // A number that is called needs parentheses only if it has a sign.
                Operand::Constant(Constant::Int(n)) if int_name(*n, None, dialect).is_none() => {
                    format!("({n})")
                }
                Operand::Constant(Constant::Big(n)) => format!("({n})"),
                f => operand_text(f, None, dialect, result),
            };
            format!("{callee}({})", args.join(", "))
        }
    }
}

fn operand_text(
    operand: &Operand,
    parameter: Option<&str>,
    dialect: Dialect,
    result: &dyn Fn(u32) -> String,
) -> String {
    match operand {
        Operand::Input => "I".to_owned(),
        Operand::Samples => "S".to_owned(),
        Operand::Expected => "C".to_owned(),
        Operand::Constant(constant) => constant_text(constant, parameter, dialect),
        Operand::Result(k) => result(*k),
    }
}

fn constant_text(constant: &Constant, parameter: Option<&str>, dialect: Dialect) -> String {
    match constant {
        Constant::None => "None".to_owned(),
        Constant::Bool(true) => "T".to_owned(),
        Constant::Bool(false) => "F".to_owned(),
        Constant::Int(n) => match int_name(*n, parameter, dialect) {
            Some(name) => name,
            None => n.to_string(),
        },
        Constant::Big(n) => n.to_string(),
        Constant::Primitive(p) => Primitive::at(*p).name.to_owned(),
        Constant::Tuple(items) => {
            if let Some((name, _)) =
                PAIRS.iter().find(|(_, pair)| Constant::pair(*pair) == *constant)
            {
                return (*name).to_owned();
            }
            let texts: Vec<String> =
                items.iter().map(|item| constant_text(item, None, dialect)).collect();
            let comma = if texts.len() == 1 { "," } else { "" };
            format!("({}{comma})", texts.join(", "))
        }
    }
}

/// The name of a number in the place of a parameter. In `batt`, ranks, kinds and colours have names of their own.
fn int_name(n: i64, parameter: Option<&str>, dialect: Dialect) -> Option<String> {
    let special = match (dialect, parameter) {
        (Dialect::Batt, Some("rank")) if n < 0 => format!("L{}", -n),
        (Dialect::Batt, Some("rank")) => format!("F{n}"),
        (Dialect::Batt, Some("type")) => format!("R{n}"),
        (Dialect::Batt, Some("color" | "replacee" | "replacer")) => {
            let color = usize::try_from(n).ok();
            color.and_then(|n| COLORS.get(n)).map_or(String::new(), |name| (*name).to_owned())
        }
        _ => String::new(),
    };
    let size = usize::try_from(n.unsigned_abs()).ok();
    let number = size.and_then(|n| NUMBERS.get(n));
    let plain = number.map(|name| match n < 0 {
        true => format!("NEG_{name}"),
        false => (*name).to_owned(),
    });
    let large = match n {
        100 => Some("HUNDRED".to_owned()),
        1000 => Some("THOUSAND".to_owned()),
        _ => None,
    };
    // Only a name that the dialect has, and that means this number, may stand for it.
    let is_it = |name: &String| Constant::imported(name, dialect) == Some(Constant::Int(n));
    [Some(special), plain, large].into_iter().flatten().find(is_it)
}

impl Primitive {
    /// The name of a parameter, in `batt` where dialects differ.
    fn parameter_name(&self, place: usize) -> Option<&'static str> {
        self.parameters.split(' ').nth(place)?.rsplit('/').next()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Dialect, parse, parse_in};

    /// Text that is read, written and read again is the same program.
    #[test]
    fn what_is_written_is_read_back() {
        let bodies = [
            (
                Dialect::ArcDsl,
                "I",
                "x1 = fill(I, 7, ((0, 0), (-1, 5), ()))\n    x2 = (I, x1)\n    return (x2,)",
            ),
            (Dialect::ArcDsl, "I", "return I"),
            (Dialect::ArcDsl, "I", "return -17"),
            (
                Dialect::ArcDsl,
                "I",
                "x1 = add(99999999999999999999, (-9223372036854775809, 0))\n    return (-99999999999999999999)(x1)",
            ),
            (
                Dialect::ArcDsl,
                "I",
                "x1 = canvas(NEG_TWO, (3, -3))\n    x2 = lambda x: add(x, 2)\n    return apply(x2, x1)",
            ),
            (Dialect::ArcDsl, "S, I, C", "return astuple(S, C)"),
            (Dialect::ReArc, "I", "x1 = objects(I, T, F, T)\n    return argmax(x1, size)"),
            (
                Dialect::Batt,
                "S, I, C",
                "x1 = o_g(I, R5)\n    x2 = get_nth_f(x1, L2)\n    x3 = f_ofcolor(I, BURGUNDY)\n    x4 = add(100, -11)\n    return astuple(x2, astuple(x3, x4))",
            ),
            (
                Dialect::Batt,
                "S, I, C",
                "x1 = ONE(I)\n    x2 = (-50)(I)\n    return identity(x1, x2)",
            ),
        ];
        for (dialect, parameters, body) in bodies {
            let text = format!("def a({parameters}):\n    {body}\n");
            let parsed = parse_in("a.py", &text, dialect);
            assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
            let program = &parsed.programs[0];
            let written = program.file_text("a");
            // The file says its dialect itself.
            let again = parse("b.py", &written);
            assert!(again.errors.is_empty(), "{written}\n{}", again.errors[0]);
            let again = &again.programs[0];
            assert_eq!(again.dialect, dialect, "{written}");
            assert_eq!(again.statements, program.statements, "{written}");
            assert_eq!(again.output, program.output, "{written}");
        }
    }

    #[test]
    fn numbers_have_the_names_of_their_places() {
        let text = "def a(S, I, C):\n    x1 = o_g(I, 5)\n    x2 = get_nth_f(x1, -1)\n    x3 = fill(I, 3, x2)\n    x4 = canvas(0, (12, 7))\n    return repeat(x4, -10)\n";
        let program = &parse_in("a.py", text, Dialect::Batt).programs[0];
        let written = program.definition("a");
        for wanted in [
            "o_g(I, R5)",
            "get_nth_f(x1, L1)",
            "fill(I, GREEN, x2)",
            "canvas(BLACK, (12, SEVEN))",
            "repeat(x4, NEG_TEN)",
        ] {
            assert!(written.contains(wanted), "{wanted}: {written}");
        }
    }

    #[test]
    fn guards_are_kept_where_they_take_effect() {
        let text = "\
from safe_dsl import _get_safe_default
def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    try:
        t1 = rbind(o_g, R5)
    except (TypeError, AttributeError, ValueError):
        t1 = _get_safe_default(rbind)
    try:
        t2 = t1(I, I)
    except (TypeError, AttributeError, ValueError):
        t2 = _get_safe_default(t1)
    t3 = t1(I)
    t4 = paint(I, t2)
    o.append((4, True, 'x', t4))
    return o, s
";
        let program = &parse("batt.py", text).programs[0];
        // The bare call of a variable belongs to the program, because its failure would lose the call.
        assert_eq!(program.n_statements(), 4);
        let least = program.minimised();
        assert_eq!(least.n_statements(), 3);
        let written = least.file_text("solve_x");
        let again = parse("a.py", &written);
        assert!(again.errors.is_empty(), "{written}\n{}", again.errors[0]);
        let again = &again.programs[0];
        assert_eq!(written.matches("try:").count(), 1, "{written}");
        assert_eq!(again.definition("a"), least.definition("a"));
        assert!(again.statements[1].is_guarded);
    }
}
