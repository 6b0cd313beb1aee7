//! From the text of a file to programs.

mod batt;
mod cursor;
mod error;
mod expression;
mod guard;
mod head;
mod lambda;
mod nearest;
mod token;

use error::cut;
pub use error::{Excerpt, ParseError, Reason};

use crate::language::dialect::Dialect;
use crate::language::program::Program;
use cursor::Cursor;
use expression::Body;
use std::collections::HashMap;
use token::{Kind, Line, Token};

/// What a file holds: programs that can run, and errors for those that cannot.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The dialect that the file was read in.
    pub dialect: Dialect,
    /// The programs in the order of the file. They run without the expected output, `C`.
    pub programs: Vec<Program>,
    /// The rows that a `batt` function appends to `s`, in the order of the file: they compare with the expected
    /// output, and are no candidates.
    pub differs: Vec<Program>,
    /// Why others were rejected.
    pub errors: Vec<ParseError>,
}

/// Reads a file of programs, in the style of the public solvers or of `batt` files. The file's imports and the
/// parameters of its functions [decide the dialect](Dialect::detect).
///
/// In the solvers' style a program is `def name(I):`, or `def name(S, I, C):`, with lines `x = callee(argument, …)` and a
/// final `return`; a line may be guarded as in `batt` files. Arguments are names, integers, tuples, calls or functions written as `lambda`, and may have names;
/// imports, comments, blank lines, doc strings and types are skipped. An error in one program rejects that program
/// alone.
///
/// In a file with `def batt(task_id, S, I, C, log_path):` only that function is read; the helpers that generators put
/// around it are skipped. Its lines are `t1 = callee(names)`, each optionally in `try:` with
/// `except …: t1 = _get_safe_default(callee)`: if the call fails, an empty value of the callee's kind takes its place.
/// `S` is the task's demonstrations as pairs, `I` the input, `C` the expected output or None. Each
/// `o.append((7, True, '67a3c6ac', t7))` is a program, called `batt_67a3c6ac_7`, or `batt_7` where the task is None; it
/// has those lines that `t7` needs, and those whose failure would lose the whole call. Each
/// `s.append((9, '67a3c6ac', 'differ_1', t9))` is one of [`Parsed::differs`].
///
/// ```
/// let parsed = swathe_arc::parse("mine.py", "def solve(I):\n    O = vmirrr(I)\n    return O\n");
/// assert!(parsed.programs.is_empty());
/// assert_eq!(
///     parsed.errors[0].to_string(),
///     "\
/// mine.py:2:9: unknown function `vmirrr`; did you mean `vmirror`?
///   |
/// 2 |     O = vmirrr(I)
///   |         ^^^^^^"
/// );
/// ```
pub fn parse(file: &str, text: &str) -> Parsed {
    let dialect = match Dialect::stated(text) {
        Some(dialect) => dialect,
        None if batt::is_in(text) => Dialect::Batt,
        None => Dialect::detect(text),
    };
    let names =
        Names { dialect, has_constants: dialect != Dialect::Batt || imports_constants(text) };
    read(file, text, names)
}

/// Reads a file of programs in this dialect, whatever it imports.
///
/// ```
/// use swathe_arc::{Dialect, parse_in};
/// let text = "def mine(I):\n    return o_g(I, R5)\n";
/// assert_eq!(parse_in("mine.py", text, Dialect::Batt).errors, []);
/// assert_eq!(parse_in("mine.py", text, Dialect::ArcDsl).programs, []);
/// ```
pub fn parse_in(file: &str, text: &str, dialect: Dialect) -> Parsed {
    let names = Names { dialect, has_constants: true };
    read(file, text, names)
}

/// The names that a file can use.
#[derive(Clone, Copy)]
struct Names {
    dialect: Dialect,
    /// A file may import the functions without the constants.
    has_constants: bool,
}

/// Whether a file has the constants: it imports them, or it imports nothing and expects them to be there.
fn imports_constants(text: &str) -> bool {
    let imports = token::lines(text).filter_map(|line| match line.tokens[..] {
        [first, module, ..] if matches!(first.text, "from" | "import") && first.column == 1 => {
            Some(module.text)
        }
        _ => None,
    });
    let imports: Vec<&str> = imports.collect();
    let is_one = |module: &&str| matches!(*module, "constants" | "pile");
    imports.iter().any(is_one) || !imports.contains(&"dsl")
}

fn read(file: &str, text: &str, names: Names) -> Parsed {
    if batt::is_in(text) {
        let lines: Vec<Line<'_>> = token::lines(text).collect();
        return batt::parse(file, text, &lines, names);
    }
    let mut parsed = Parsed { dialect: names.dialect, ..Parsed::default() };
    let mut first_lines: HashMap<&str, usize> = HashMap::new();
    let mut lines = token::lines(text).peekable();
    while let Some(first) = lines.next() {
        let mut block = vec![first];
        while let Some(line) = lines.next_if(|line| line.tokens[0].column > 1) {
            block.push(line);
        }
        let head = &block[0].tokens;
        if matches!(head[0].text, "import" | "from")
            || (head.len() == 1 && head[0].kind == Kind::Text)
        {
            continue;
        }
        let source = Source { file, text, name: None };
        let program = source.program(&block, names).and_then(|program| {
            let name = &head[1];
            match first_lines.insert(name.text, name.line) {
                None => Ok(program),
                Some(line) => {
                    let reason = Reason::DefinedBefore { name: cut(name.text), line };
                    Err(Source { name: Some(name.text), ..source }.error(name, reason))
                }
            }
        });
        match program {
            Ok(program) => parsed.programs.push(program),
            Err(error) => parsed.errors.push(*error),
        }
    }
    parsed
}

#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    name: Option<&'a str>,
}

type Outcome<T> = Result<T, Box<ParseError>>;

impl<'a> Source<'a> {
    fn error(&self, token: &Token, reason: Reason) -> Box<ParseError> {
        Box::new(ParseError {
            file: self.file.into(),
            line: token.line,
            column: token.column,
            program: self.name.map(String::from),
            token: cut(token.text),
            excerpt: Excerpt::around(self.text, token.at),
            reason,
        })
    }

    fn program(mut self, block: &[Line<'a>], names: Names) -> Outcome<Program> {
        let mut head = Cursor::new(self, &block[0]);
        head.expect("def", "`def`, an import or a comment")?;
        let name = head.name("the program's name")?;
        self.name = Some(name.text);
        head.source = self;
        let variables = head::solver_parameters(&mut head)?;
        self.check_indentation(&block[1..])?;
        let set_later = block[1..].iter().filter(|l| l.is_assignment());
        let mut body = Body {
            own_name: name.text,
            names,
            statements: Vec::new(),
            variables,
            set_later: set_later.map(|l| l.tokens[0].text).collect(),
        };
        let mut at = 1;
        while let Some(line) = block.get(at) {
            let group = &block[at..at + guard::n_lines(&block[at..])];
            at += group.len();
            let mut cursor = Cursor::new(self, line);
            let first = line.tokens[0];
            if first.kind == Kind::Text && line.tokens.len() == 1 {
                continue;
            }
            if first.text == "try" {
                let mut guarded = guard::guarded(self, group)?;
                let n_before = body.statements.len();
                let value = body.expression(&mut guarded.call, 0)?;
                guarded.call.end()?;
                guard::mark(&mut body, n_before, self, &guarded.callee)?;
                body.variables.insert(guarded.name.text, value);
                continue;
            }
            if first.text == "return" {
                cursor.at = 1;
                let output = body.expression(&mut cursor, 0)?;
                cursor.end()?;
                if let Some(after) = block.get(at) {
                    return Err(self.error(&after.tokens[0], Reason::AfterReturn));
                }
                let (name, line) = (name.text.to_string(), block[0].tokens[0].line);
                return Ok(Program {
                    name,
                    line,
                    dialect: names.dialect,
                    row: None,
                    statements: body.statements,
                    output,
                });
            }
            let variable = cursor.name("a variable's name or `return`")?;
            head::skip_annotation(&mut cursor);
            cursor.expect("=", "`=`")?;
            let value = body.expression(&mut cursor, 0)?;
            cursor.end()?;
            body.variables.insert(variable.text, value);
        }
        Err(self.error(&block[0].tokens[1], Reason::NoReturn))
    }

    /// All lines of a straight-line body begin in the same column, but for those inside of a guard.
    fn check_indentation(&self, lines: &[Line<'a>]) -> Outcome<()> {
        let first = lines.first().map(|line| line.tokens[0].column);
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            if Some(line.tokens[0].column) != first {
                return Err(self.error(&line.tokens[0], Reason::Indentation));
            }
            at += guard::n_lines(&lines[at..]);
        }
        Ok(())
    }
}
