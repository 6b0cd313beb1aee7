//! From the text of a file to programs.

mod batt;
mod error;
mod token;

use error::cut;
pub use error::{Excerpt, ParseError, Reason};

use crate::PRIMITIVES;
use crate::language::program::{CONSTANT_NAMES, Callee, Constant, Operand, Program, Statement};
use std::collections::{HashMap, HashSet};
use token::{Kind, Line, Token};

/// What a file holds: programs that can run, and errors for those that cannot.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The programs in the order of the file.
    pub programs: Vec<Program>,
    /// Why others were rejected.
    pub errors: Vec<ParseError>,
}

/// Expressions nested deeper than this are refused.
const DEPTH_MAX: usize = 200;

/// Enough for the largest grid, 30 rows of 30 cells.
const N_CONSTANT_ITEMS_MAX: usize = 1000;

/// Reads a file of programs, in the style of the public solvers or of `batt` files.
///
/// In the solvers' style a program is `def name(I):` with lines `x = callee(argument, …)` and a final `return`.
/// Arguments are names, integers, tuples or calls; imports, comments, blank lines and doc strings are skipped. An error
/// in one program rejects that program alone.
///
/// In a file with `def batt(task_id, S, I, C, log_path):` only that function is read; the helpers that generators put
/// around it are skipped. Its lines are `t1 = callee(names)`, each optionally in `try:` with
/// `except …: t1 = _get_safe_default(callee)`: if the call fails, an empty value of the callee's kind takes its place.
/// `S` is the task's demonstrations as pairs, `I` the input, `C` the expected output or None. Each
/// `o.append((7, True, '67a3c6ac', t7))` is a program, called `batt_67a3c6ac_7`, or `batt_7` where the task is None; it
/// has those lines that `t7` needs. `s.append((…))`, which rates candidates by how they differ from `C`, is checked but
/// not kept: every output is scored against the expected one anyway.
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
    let mut parsed = Parsed::default();
    let lines = token::lines(text);
    if lines.iter().any(batt::is_head) {
        return batt::parse(file, text, &lines);
    }
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut at = 0;
    while at < lines.len() {
        let start = at;
        at += 1;
        while at < lines.len() && lines[at].tokens[0].column > 1 {
            at += 1;
        }
        let block = &lines[start..at];
        let head = &block[0].tokens;
        if matches!(head[0].text, "import" | "from")
            || (head.len() == 1 && head[0].kind == Kind::Text)
        {
            continue;
        }
        let source = Source {
            file,
            text,
            name: None,
        };
        let program = source.program(block).and_then(|program| {
            let name = &head[1];
            match names.insert(name.text, name.line) {
                None => Ok(program),
                Some(line) => {
                    let reason = Reason::DefinedBefore {
                        name: cut(name.text),
                        line,
                    };
                    Err(Source {
                        name: Some(name.text),
                        ..source
                    }
                    .error(name, reason))
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

    fn program(mut self, block: &[Line<'a>]) -> Outcome<Program> {
        let mut head = Cursor {
            tokens: &block[0].tokens,
            at: 0,
            source: self,
        };
        head.expect("def", "`def`, an import or a comment")?;
        let name = head.name("the program's name")?;
        self.name = Some(name.text);
        head.source = self;
        head.expect("(", "`(`")?;
        let input = head.name("the input's name")?;
        head.expect(")", "`)`: a program has one argument")?;
        head.expect(":", "`:`")?;
        head.end()?;
        let mut body = Body {
            own_name: name.text,
            statements: Vec::new(),
            variables: HashMap::from([(input.text, Operand::Input)]),
            set_later: block[1..]
                .iter()
                .filter(|l| l.is_assignment())
                .map(|l| l.tokens[0].text)
                .collect(),
        };
        for (k, line) in block[1..].iter().enumerate() {
            let mut cursor = Cursor {
                tokens: &line.tokens,
                at: 0,
                source: self,
            };
            let first = line.tokens[0];
            if first.kind == Kind::Text && line.tokens.len() == 1 {
                continue;
            }
            if first.text == "return" {
                cursor.at = 1;
                let output = body.expression(&mut cursor, 0)?;
                cursor.end()?;
                if let Some(after) = block.get(k + 2) {
                    return Err(self.error(&after.tokens[0], Reason::AfterReturn));
                }
                let (name, line) = (name.text.to_string(), block[0].tokens[0].line);
                return Ok(Program {
                    name,
                    line,
                    statements: body.statements,
                    output,
                });
            }
            let variable = cursor.name("a variable's name or `return`")?;
            cursor.expect("=", "`=`")?;
            let value = body.expression(&mut cursor, 0)?;
            cursor.end()?;
            body.variables.insert(variable.text, value);
        }
        Err(self.error(&block[0].tokens[1], Reason::NoReturn))
    }
}

/// The tokens of one line, and how far they have been read.
struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    source: Source<'a>,
}

impl<'a> Cursor<'_, 'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    /// The next token, or an error at the end of the line.
    fn next(&mut self, wanted: &'static str) -> Outcome<Token<'a>> {
        let token = self.peek().ok_or_else(|| self.unexpected(wanted))?;
        self.at += 1;
        Ok(token)
    }

    fn unexpected(&self, wanted: &'static str) -> Box<ParseError> {
        match self.peek() {
            Some(token) => self.source.error(&token, Reason::Expected { wanted }),
            None => {
                let last = self.tokens[self.tokens.len() - 1];
                let end = Token {
                    text: "",
                    column: last.column + last.text.chars().count(),
                    at: last.at + last.text.len(),
                    ..last
                };
                self.source.error(&end, Reason::Expected { wanted })
            }
        }
    }

    fn expect(&mut self, text: &str, wanted: &'static str) -> Outcome<()> {
        match self.peek() {
            Some(token) if token.text == text && token.kind != Kind::Text => {
                self.at += 1;
                Ok(())
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    fn name(&mut self, wanted: &'static str) -> Outcome<Token<'a>> {
        match self.peek() {
            Some(token) if token.kind == Kind::Name => {
                self.at += 1;
                Ok(token)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    fn end(&self) -> Outcome<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the line")),
        }
    }
}

struct Body<'a> {
    own_name: &'a str,
    statements: Vec<Statement>,
    variables: HashMap<&'a str, Operand>,
    set_later: HashSet<&'a str>,
}

impl<'a> Body<'a> {
    /// A name, an integer, a tuple or a call.
    fn expression(&mut self, cursor: &mut Cursor<'_, 'a>, depth: usize) -> Outcome<Operand> {
        const WANTED: &str = "a name, a number or `(`";
        let token = cursor.next(WANTED)?;
        if depth > DEPTH_MAX {
            return Err(cursor.source.error(&token, Reason::TooDeep));
        }
        let mut value = match (token.kind, token.text) {
            (Kind::Name, _) => self.name(cursor, token)?,
            (Kind::Number, text) => {
                Operand::Constant(Constant::Int(integer(cursor, &token, text, false)?))
            }
            (_, "-") => {
                let number = cursor.next("a number")?;
                if number.kind != Kind::Number {
                    cursor.at -= 1;
                    return Err(cursor.unexpected("a number"));
                }
                Operand::Constant(Constant::Int(integer(cursor, &number, number.text, true)?))
            }
            (_, "(") => {
                let (items, has_comma) = self.list(cursor, depth)?;
                if items.len() == 1 && !has_comma {
                    items.into_iter().next().expect("one item")
                } else {
                    self.tuple(items)
                }
            }
            _ => {
                cursor.at -= 1;
                return Err(cursor.unexpected(WANTED));
            }
        };
        while cursor
            .peek()
            .is_some_and(|t| t.text == "(" && t.kind == Kind::Mark)
        {
            cursor.at += 1;
            let (args, _) = self.list(cursor, depth)?;
            value = self.push(Callee::Function(value), args);
        }
        Ok(value)
    }

    /// Expressions up to the closing parenthesis, and whether there was a comma.
    fn list(&mut self, cursor: &mut Cursor<'_, 'a>, depth: usize) -> Outcome<(Vec<Operand>, bool)> {
        let mut items = Vec::new();
        let mut has_comma = false;
        loop {
            if cursor.peek().is_some_and(|t| t.text == ")") {
                cursor.at += 1;
                return Ok((items, has_comma));
            }
            items.push(self.expression(cursor, depth + 1)?);
            match cursor.peek() {
                Some(t) if t.text == "," => {
                    has_comma = true;
                    cursor.at += 1;
                }
                Some(t) if t.text == ")" => {}
                _ => return Err(cursor.unexpected("`,` or `)`")),
            }
        }
    }

    fn push(&mut self, callee: Callee, args: Vec<Operand>) -> Operand {
        self.statements.push(Statement {
            callee,
            args,
            is_guarded: false,
        });
        Operand::Result(self.statements.len() as u32 - 1)
    }

    fn tuple(&mut self, items: Vec<Operand>) -> Operand {
        let constants: Option<Vec<Constant>> = items
            .iter()
            .map(|o| {
                if let Operand::Constant(c) = o {
                    Some(c.clone())
                } else {
                    None
                }
            })
            .collect();
        match constants {
            Some(constants) if is_small(&constants, 0, &mut 0) => {
                Operand::Constant(Constant::Tuple(constants))
            }
            _ => self.push(Callee::Tuple, items),
        }
    }

    fn name(&self, cursor: &Cursor<'_, 'a>, token: Token<'a>) -> Outcome<Operand> {
        let name = token.text;
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        if self.set_later.contains(name) {
            return Err(cursor
                .source
                .error(&token, Reason::UsedBeforeSet { name: cut(name) }));
        }
        if let Some(constant) = Constant::named(name) {
            return Ok(Operand::Constant(constant));
        }
        let is_called = cursor.peek().is_some_and(|t| t.text == "(");
        if name == self.own_name {
            return Err(cursor
                .source
                .error(&token, Reason::Recursive { name: cut(name) }));
        }
        let known = PRIMITIVES.iter().map(|p| p.name);
        // Generated programs have thousands of variables, all with similar names.
        const N_VARIABLES_MAX: usize = 1000;
        let variables = self.variables.keys().copied();
        let variables = variables
            .filter(|_| self.variables.len() <= N_VARIABLES_MAX)
            .chain(CONSTANT_NAMES);
        let nearest = if is_called {
            nearest(name, known)
        } else {
            nearest(name, known.chain(variables))
        };
        let (name, nearest) = (cut(name), nearest.map(String::from));
        let reason = if is_called {
            Reason::UnknownFunction { name, nearest }
        } else {
            Reason::UnknownName { name, nearest }
        };
        Err(cursor.source.error(&token, reason))
    }
}

fn integer(
    cursor: &Cursor<'_, '_>,
    token: &Token<'_>,
    digits: &str,
    is_negative: bool,
) -> Outcome<i64> {
    let text = format!(
        "{}{}",
        if is_negative { "-" } else { "" },
        digits.replace('_', "")
    );
    text.parse()
        .map_err(|_| cursor.source.error(token, Reason::BadInteger))
}

/// Whether a tuple of these items can be a constant. Constants are copied wherever they are named, so lines like
/// `x = (x, x)` would double the size each time. A larger tuple becomes a statement, whose result is shared.
fn is_small(items: &[Constant], depth: usize, n_items: &mut usize) -> bool {
    *n_items += items.len();
    *n_items <= N_CONSTANT_ITEMS_MAX
        && depth < DEPTH_MAX
        && items.iter().all(|item| match item {
            Constant::Tuple(items) => is_small(items, depth + 1, n_items),
            _ => true,
        })
}

/// The known name with the smallest edit distance, if that is small.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let n_edits_max = 1 + name.len() / 4;
    known
        // The edit distance is at least the difference of the lengths.
        .filter(|k| k.len().abs_diff(name.len()) <= n_edits_max)
        .map(|k| (n_edits(name, k), k))
        .filter(|(n, k)| *n <= n_edits_max && *n < k.len())
        .min_by_key(|(n, k)| (*n, *k))
        .map(|(_, k)| k)
}

/// The Levenshtein distance.
fn n_edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
