//! Parses files of one function `batt`, whose candidates are the programs.

use super::cursor::Cursor;
use super::expression::{Body, primitive_of};
use super::guard;
use super::head;
use super::token::{self, Kind, Line, Token};
use super::{Names, Outcome, Parsed, Reason, Source};
use crate::language::cone::needed;
use crate::language::program::{BattRow, Callee, Operand, Program, RowList, Statement};
use std::collections::HashMap;

/// Whether a line begins the function. A program of one argument may also be called `batt`.
pub(super) fn is_head(line: &Line<'_>) -> bool {
    let texts: Vec<&str> = line.tokens.iter().take(5).map(|t| t.text).collect();
    line.tokens[0].column == 1
        && texts.starts_with(&["def", "batt", "("])
        && texts.get(4) != Some(&")")
}

/// Whether a file has a `batt` function.
pub(super) fn is_in(text: &str) -> bool {
    text.contains("batt") && token::lines(text).any(|line| is_head(&line))
}

/// Reads the function. A line with an error rejects only the candidates that depend on it.
pub(super) fn parse<'a>(file: &'a str, text: &'a str, lines: &[Line<'a>], names: Names) -> Parsed {
    let source = Source { file, text, name: Some("batt") };
    let mut parsed = Parsed { dialect: names.dialect, ..Parsed::default() };
    let mut heads = (0..lines.len()).filter(|&k| is_head(&lines[k]));
    let start = heads.next().expect("the caller has seen one");
    let block = block_at(lines, start);
    match Batt::begun(source, block, names) {
        Err(error) => parsed.errors.push(*error),
        Ok(mut batt) => match batt.read(&block[1..]) {
            Err(error) => parsed.errors.push(*error),
            Ok(()) if batt.is_returned => {
                (parsed.programs, parsed.differs) = batt.programs();
                parsed.errors = batt.errors;
            }
            Ok(()) => {
                parsed.errors = batt.errors;
                let name = &block[0].tokens[1];
                parsed.errors.push(*source.error(name, Reason::NoReturn));
            }
        },
    }
    for again in heads {
        let name = &lines[again].tokens[1];
        let reason = Reason::DefinedBefore { name: "batt".into(), line: block[0].tokens[1].line };
        parsed.errors.push(*source.error(name, reason));
    }
    parsed
}

/// The line with all lines that are indented below it.
fn block_at<'t, 'a>(lines: &'t [Line<'a>], start: usize) -> &'t [Line<'a>] {
    let body = lines[start + 1..].iter();
    let n = body.take_while(|line| line.tokens[0].column > 1).count();
    &lines[start..=start + n]
}

struct Batt<'a> {
    source: Source<'a>,
    body: Body<'a>,
    /// Variables whose line was rejected, with the line that was wrong first.
    rejected: HashMap<&'a str, usize>,
    /// The candidates' names with their lines.
    names: HashMap<String, usize>,
    rows: Vec<Row>,
    errors: Vec<super::ParseError>,
    is_returned: bool,
}

/// A row that the function appends, with its value.
struct Row {
    name: String,
    line: usize,
    row: BattRow,
    output: Operand,
}

impl<'a> Batt<'a> {
    /// Reads the head.
    fn begun(source: Source<'a>, block: &[Line<'a>], names: Names) -> Outcome<Batt<'a>> {
        let mut head = Cursor::new(source, &block[0]);
        head.at = 2;
        let variables = head::batt_parameters(&mut head)?;
        let set_later = block[1..].iter().flat_map(assigned).collect();
        Ok(Batt {
            source,
            body: Body { own_name: "batt", names, statements: Vec::new(), variables, set_later },
            rejected: HashMap::new(),
            names: HashMap::new(),
            rows: Vec::new(),
            errors: Vec::new(),
            is_returned: false,
        })
    }

    /// Reads all lines. Fails if the text is no Python, or if Python could not run it at all.
    fn read(&mut self, lines: &[Line<'a>]) -> Outcome<()> {
        let column = lines.first().map(|line| line.tokens[0].column);
        let mut at = 0;
        while at < lines.len() {
            let first = &lines[at].tokens[0];
            if Some(first.column) != column {
                return Err(self.source.error(first, Reason::Indentation));
            }
            let n_lines = guard::n_lines(&lines[at..]);
            let group = &lines[at..at + n_lines];
            if let Err(error) = self.group(group) {
                if let Reason::NotImported { .. } | Reason::Indentation = error.reason {
                    return Err(error);
                }
                for name in group.iter().flat_map(assigned) {
                    self.body.variables.remove(name);
                    self.rejected.entry(name).or_insert(error.line);
                }
                self.errors.push(*error);
            }
            at += n_lines;
        }
        Ok(())
    }

    /// The programs of the rows: candidates, and differs. Each has the lines that its value needs, and those whose
    /// failure loses the whole call.
    fn programs(&mut self) -> (Vec<Program>, Vec<Program>) {
        let statements = &self.body.statements;
        let may_escape = |k: &u32| may_escape(&statements[*k as usize]);
        let escaping: Vec<u32> = (0..statements.len() as u32).filter(may_escape).collect();
        let dialect = self.body.names.dialect;
        let programs = self.rows.drain(..).map(|row| {
            let (statements, output) = needed(statements, &escaping, row.output);
            Program {
                name: row.name,
                line: row.line,
                dialect,
                row: Some(row.row),
                statements,
                output,
            }
        });
        programs.partition(|p| {
            let list = p.row.as_ref().map(|row| &row.list);
            matches!(list, Some(RowList::Candidates { .. }))
        })
    }

    /// A line, or a guarded one with its handler.
    fn group(&mut self, lines: &[Line<'a>]) -> Outcome<()> {
        let mut line = Cursor::new(self.source, &lines[0]);
        let first = lines[0].tokens[0];
        if self.is_returned {
            return Err(self.source.error(&first, Reason::AfterReturn));
        }
        if first.kind == Kind::Text && lines[0].tokens.len() == 1 {
            return Ok(());
        }
        let texts: Vec<&str> = lines[0].tokens.iter().map(|t| t.text).collect();
        match texts.as_slice() {
            ["s" | "o", "=", "[", "]"] => Ok(()),
            ["o", ".", ..] => self.candidate(&mut line),
            ["s", ".", ..] => self.rating(&mut line),
            ["return", ..] => {
                line.at = 1;
                // Files written by hand return the lists in the other order, too.
                let (first, second) = if line.is_at("s") { ("s", "o") } else { ("o", "s") };
                line.expect(first, "`o, s`")?;
                line.expect(",", "`, s`")?;
                line.expect(second, "`s`")?;
                line.end()?;
                self.is_returned = true;
                Ok(())
            }
            ["try", ..] => self.guarded(lines),
            [_, ",", ..] => self.of_all_samples(&mut line),
            _ => {
                let name =
                    line.name("a line of `batt`: `t1 = …`, `o.append((…))` or `return o, s`")?;
                head::skip_annotation(&mut line);
                line.expect("=", "`=`")?;
                if let Some(value) = self.value(&mut line, name)? {
                    self.body.variables.insert(name.text, value);
                }
                Ok(())
            }
        }
    }

    /// An expression up to the end of the line. None if it needs a rejected line, whose error is already reported; then
    /// the variable is rejected, too.
    fn value(&mut self, line: &mut Cursor<'_, 'a>, name: Token<'a>) -> Outcome<Option<Operand>> {
        let needed = line.tokens[line.at..].iter();
        let mut rejected = needed.filter_map(|token| self.rejected.get(token.text));
        if let Some(&wrong) = rejected.next() {
            self.body.variables.remove(name.text);
            self.rejected.insert(name.text, wrong);
            return Ok(None);
        }
        let value = self.body.expression(line, 0)?;
        line.end()?;
        self.rejected.remove(name.text);
        Ok(Some(value))
    }

    /// `try: t1 = callee(names)`, `except …: t1 = _get_safe_default(callee)`.
    fn guarded(&mut self, lines: &[Line<'a>]) -> Outcome<()> {
        let mut guarded = guard::guarded(self.source, lines)?;
        let n_before = self.body.statements.len();
        let name = guarded.name;
        let Some(value) = self.value(&mut guarded.call, name)? else {
            return Ok(());
        };
        guard::mark(&mut self.body, n_before, self.source, &guarded.callee)?;
        self.body.variables.insert(name.text, value);
        Ok(())
    }

    /// `a, b, c, d = batch_process_samples_gpu(S)`: the inputs and outputs of all pairs, and their colours.
    fn of_all_samples(&mut self, line: &mut Cursor<'_, 'a>) -> Outcome<()> {
        let mut names = vec![line.name("a variable's name")?];
        while names.len() < 4 {
            line.expect(",", "`,`: four variables")?;
            names.push(line.name("a variable's name")?);
        }
        line.expect("=", "`=`")?;
        line.expect("batch_process_samples_gpu", "`batch_process_samples_gpu`")?;
        let Some(pairs) = self.value(line, names[0])? else {
            for name in &names {
                self.rejected.insert(name.text, name.line);
            }
            return Ok(());
        };
        let named = |name: &str| self.body.primitive(name);
        let functions = ["apply", "mapply", "first", "second", "p_g"].map(named);
        let [Some(apply), Some(mapply), Some(first), Some(second), Some(p_g)] = functions else {
            let wanted = "another call: the dialect has no `p_g` and `second`";
            return Err(self.source.error(&names[0], Reason::Expected { wanted }));
        };
        let mut made = |function: &Operand, of: &Operand, container: Operand| {
            let args = vec![of.clone(), container];
            self.body.push(Callee::Function(function.clone()), args)
        };
        let inputs = made(&apply, &first, pairs.clone());
        let outputs = made(&apply, &second, pairs);
        let values = [
            inputs.clone(),
            outputs.clone(),
            made(&mapply, &p_g, inputs),
            made(&mapply, &p_g, outputs),
        ];
        for (name, value) in names.iter().zip(values) {
            self.rejected.remove(name.text);
            self.body.variables.insert(name.text, value);
        }
        Ok(())
    }

    /// `o.append((7, True, '67a3c6ac', t7))`; files written by hand leave the flag out.
    fn candidate(&mut self, line: &mut Cursor<'_, 'a>) -> Outcome<()> {
        let number = opened(line)?;
        let mut is_altered = false;
        if line.peek().is_some_and(|t| t.kind != Kind::Text) {
            let flag = line.name("`True` or `False`")?;
            if !matches!(flag.text, "True" | "False") {
                line.at -= 1;
                return Err(line.unexpected("`True` or `False`"));
            }
            is_altered = flag.text == "True";
            line.expect(",", "`,`")?;
        }
        let task = task(line)?;
        line.expect(",", "`,`")?;
        let variable = line.name("a variable")?;
        closed(line)?;
        let name = match task {
            Some(task) => format!("batt_{task}_{}", number.text),
            None => format!("batt_{}", number.text),
        };
        if let Some(&wrong) = self.rejected.get(variable.text) {
            let reason = Reason::NeedsRejected { name: variable.text.into(), line: wrong };
            return Err(self.source.error(&variable, reason));
        }
        let output = self.body.name(line, variable)?;
        if let Some(&line) = self.names.get(&name) {
            let reason = Reason::DefinedBefore { name, line };
            return Err(self.source.error(&number, reason));
        }
        self.names.insert(name.clone(), number.line);
        self.rows.push(Row {
            name,
            line: number.line,
            row: BattRow {
                number: number_of(line, &number)?,
                task: task.map(String::from),
                list: RowList::Candidates { is_altered },
            },
            output,
        });
        Ok(())
    }

    /// `s.append((9, '67a3c6ac', 'differ_1', t9))`.
    fn rating(&mut self, line: &mut Cursor<'_, 'a>) -> Outcome<()> {
        let number = opened(line)?;
        let task = task(line)?;
        line.expect(",", "`,`")?;
        let differ = line.next("the rating's name")?;
        if differ.kind != Kind::Text {
            line.at -= 1;
            return Err(line.unexpected("the rating's name in quotes"));
        }
        line.expect(",", "`,`")?;
        let variable = line.name("a variable")?;
        closed(line)?;
        if self.rejected.contains_key(variable.text) {
            return Ok(());
        }
        let output = self.body.name(line, variable)?;
        let differ = differ.text.trim_matches(['\'', '"']).to_string();
        self.rows.push(Row {
            name: differ.clone(),
            line: number.line,
            row: BattRow {
                number: number_of(line, &number)?,
                task: task.map(String::from),
                list: RowList::Differs { differ },
            },
            output,
        });
        Ok(())
    }
}

fn number_of(line: &Cursor<'_, '_>, number: &Token<'_>) -> Outcome<u32> {
    let parsed = number.text.parse();
    parsed.map_err(|_| line.source.error(number, Reason::BadInteger))
}

/// Whether a failure of this statement leaves the function and loses the whole call. Primitives of the dialect do not
/// fail, and a guarded line catches what a function in a variable can raise.
fn may_escape(statement: &Statement) -> bool {
    match &statement.callee {
        Callee::Function(f) => !statement.is_guarded && primitive_of(f).is_none(),
        Callee::Tuple => false,
    }
}

/// The variables that a line sets.
fn assigned<'a>(line: &Line<'a>) -> Vec<&'a str> {
    let Some(equals) = line.tokens.iter().position(|t| t.text == "=") else {
        return Vec::new();
    };
    let names = line.tokens[..equals].iter().filter(|t| t.kind == Kind::Name);
    names.map(|t| t.text).collect()
}

/// `.append((7,`.
fn opened<'a>(line: &mut Cursor<'_, 'a>) -> Outcome<Token<'a>> {
    line.at = 1;
    line.expect(".", "`.`")?;
    line.expect("append", "`append`")?;
    line.expect("(", "`((`")?;
    line.expect("(", "`(`")?;
    let number = line.next("a number")?;
    if number.kind != Kind::Number || !number.text.bytes().all(|b| b.is_ascii_digit()) {
        line.at -= 1;
        return Err(line.unexpected("a number"));
    }
    line.expect(",", "`,`")?;
    Ok(number)
}

/// `))` and the end.
fn closed(line: &mut Cursor<'_, '_>) -> Outcome<()> {
    line.expect(")", "`))`")?;
    line.expect(")", "`)`")?;
    line.end()
}

/// The name of a task in quotes. `None`, quoted or not, means no task.
fn task<'a>(line: &mut Cursor<'_, 'a>) -> Outcome<Option<&'a str>> {
    const WANTED: &str = "a task's name in quotes (letters, digits, `_`, `-`) or None";
    let token = line.next(WANTED)?;
    let quoted = token.kind == Kind::Text && token.text.len() > 2;
    let name = if quoted { token.text.trim_matches(['\'', '"']) } else { token.text };
    let is_named = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name == "None" {
        Ok(None)
    } else if quoted && !name.is_empty() && name.chars().all(is_named) {
        Ok(Some(name))
    } else {
        line.at -= 1;
        Err(line.unexpected(WANTED))
    }
}
