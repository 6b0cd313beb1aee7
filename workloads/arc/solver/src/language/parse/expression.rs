//! Expressions: names, numbers, tuples, calls, and functions written as `lambda`.

use super::cursor::Cursor;
use super::error::cut;
use super::lambda;
use super::nearest::nearest;
use super::token::{Kind, Token};
use super::{Names, Outcome, Reason};
use crate::PRIMITIVES;
use crate::language::primitive::Primitive;
use crate::language::program::{Callee, Constant, Operand, Statement, constant_names};
use std::collections::{HashMap, HashSet};

/// Expressions nested deeper than this are refused.
pub(super) const DEPTH_MAX: usize = 200;

/// Enough for the largest grid, 30 rows of 30 cells.
const N_CONSTANT_ITEMS_MAX: usize = 1000;

/// Python refuses longer integers too.
const N_DIGITS_MAX: usize = 4300;

/// The body of a function while it is read.
pub(super) struct Body<'a> {
    pub(super) own_name: &'a str,
    pub(super) names: Names,
    pub(super) statements: Vec<Statement>,
    pub(super) variables: HashMap<&'a str, Operand>,
    pub(super) set_later: HashSet<&'a str>,
}

impl<'a> Body<'a> {
    /// A name, an integer, a tuple, a call or a function.
    pub(super) fn expression(
        &mut self,
        cursor: &mut Cursor<'_, 'a>,
        depth: usize,
    ) -> Outcome<Operand> {
        const WANTED: &str = "a name, a number or `(`";
        let token = cursor.next(WANTED)?;
        if depth > DEPTH_MAX {
            return Err(cursor.source.error(&token, Reason::TooDeep));
        }
        let mut value = match (token.kind, token.text) {
            (Kind::Name, "lambda") => return lambda::function(self, cursor, depth),
            (Kind::Name, "batch_apply" | "batch_mapply")
                if !self.variables.contains_key(token.text) =>
            {
                return self.batch(cursor, token, depth);
            }
            (Kind::Name, _) => self.name(cursor, token)?,
            (Kind::Number, text) => Operand::Constant(integer(cursor, &token, text, false)?),
            (_, "-") => {
                let number = cursor.next("a number")?;
                if number.kind != Kind::Number {
                    cursor.at -= 1;
                    return Err(cursor.unexpected("a number"));
                }
                Operand::Constant(integer(cursor, &number, number.text, true)?)
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
        while cursor.is_at("(") {
            cursor.at += 1;
            let mut one = |cursor: &mut Cursor<'_, 'a>| self.expression(cursor, depth + 1);
            let args = arguments(cursor, &mut one)?;
            let args = args.bound(primitive_of(&value), cursor)?;
            let args = args.unwrap_or_else(|n| vec![Operand::Constant(Constant::None); n]);
            value = self.push(Callee::Function(value), args);
        }
        Ok(value)
    }

    /// Expressions up to the closing parenthesis, and whether there was a comma.
    fn list(&mut self, cursor: &mut Cursor<'_, 'a>, depth: usize) -> Outcome<(Vec<Operand>, bool)> {
        let mut items = Vec::new();
        let mut has_comma = false;
        loop {
            if cursor.is_at(")") {
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

    /// `batch_apply(f, [container])[0]`: the generator's way to write `apply(f, container)`; likewise `mapply`.
    fn batch(
        &mut self,
        cursor: &mut Cursor<'_, 'a>,
        token: Token<'a>,
        depth: usize,
    ) -> Outcome<Operand> {
        cursor.expect("(", "`(`")?;
        let function = self.expression(cursor, depth + 1)?;
        cursor.expect(",", "`,`")?;
        cursor.expect("[", "`[`")?;
        let container = self.expression(cursor, depth + 1)?;
        for mark in ["]", ")", "[", "0", "]"] {
            cursor.expect(mark, "`])[0]`: a list of one container")?;
        }
        let name = token.text.trim_start_matches("batch_");
        let callee = self.primitive(name).expect("a primitive of all dialects");
        Ok(self.push(Callee::Function(callee), vec![function, container]))
    }

    /// A primitive of the dialect.
    pub(super) fn primitive(&self, name: &str) -> Option<Operand> {
        Constant::named(name, self.names.dialect).map(Operand::Constant)
    }

    pub(super) fn push(&mut self, callee: Callee, mut args: Vec<Operand>) -> Operand {
        args.shrink_to_fit();
        self.statements.push(Statement { callee, args, is_guarded: false });
        Operand::Result(self.statements.len() as u32 - 1)
    }

    fn tuple(&mut self, items: Vec<Operand>) -> Operand {
        let constants: Option<Vec<Constant>> = items
            .iter()
            .map(|o| if let Operand::Constant(c) = o { Some(c.clone()) } else { None })
            .collect();
        match constants {
            Some(constants) if is_small(&constants, 0, &mut 0) => {
                Operand::Constant(Constant::Tuple(constants))
            }
            _ => self.push(Callee::Tuple, items),
        }
    }

    pub(super) fn name(&self, cursor: &Cursor<'_, 'a>, token: Token<'a>) -> Outcome<Operand> {
        let name = token.text;
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        let error = |reason| Err(cursor.source.error(&token, reason));
        if self.set_later.contains(name) {
            return error(Reason::UsedBeforeSet { name: cut(name) });
        }
        let dialect = self.names.dialect;
        let is_imported = Constant::imported(name, dialect).is_some();
        if is_imported && !self.names.has_constants {
            return error(Reason::NotImported { name: cut(name) });
        }
        if let Some(constant) = Constant::named(name, dialect) {
            return Ok(Operand::Constant(constant));
        }
        if name == self.own_name {
            return error(Reason::Recursive { name: cut(name) });
        }
        let is_called = cursor.is_at("(");
        let known = PRIMITIVES.iter().filter(|p| p.is_in(dialect));
        let known = known.map(|p| p.name);
        // Generated programs have thousands of variables, all with similar names.
        const N_VARIABLES_MAX: usize = 1000;
        let variables = self.variables.keys().copied();
        let variables =
            variables.filter(|_| self.variables.len() <= N_VARIABLES_MAX).chain(constant_names());
        let nearest =
            if is_called { nearest(name, known) } else { nearest(name, known.chain(variables)) };
        let (name, nearest) = (cut(name), nearest.map(String::from));
        error(if is_called {
            Reason::UnknownFunction { name, nearest }
        } else {
            Reason::UnknownName { name, nearest }
        })
    }
}

/// The primitive that an operand names.
pub(super) fn primitive_of(callee: &Operand) -> Option<&'static Primitive> {
    match callee {
        Operand::Constant(Constant::Primitive(p)) => Some(Primitive::at(*p)),
        _ => None,
    }
}

/// The arguments of a call: those without names come first.
pub(super) struct Arguments<'a, T> {
    positional: Vec<T>,
    named: Vec<(Token<'a>, T)>,
}

/// Reads the arguments of a call, after its opening parenthesis; `one` reads the value of one.
pub(super) fn arguments<'a, T>(
    cursor: &mut Cursor<'_, 'a>,
    one: &mut impl FnMut(&mut Cursor<'_, 'a>) -> Outcome<T>,
) -> Outcome<Arguments<'a, T>> {
    let mut arguments = Arguments { positional: Vec::new(), named: Vec::new() };
    loop {
        if cursor.is_at(")") {
            cursor.at += 1;
            return Ok(arguments);
        }
        let name = cursor.peek().filter(|t| {
            let next = cursor.tokens.get(cursor.at + 1);
            t.kind == Kind::Name && next.is_some_and(|t| t.text == "=")
        });
        if let Some(name) = name {
            cursor.at += 2;
            arguments.named.push((name, one(cursor)?));
        } else if arguments.named.is_empty() {
            arguments.positional.push(one(cursor)?);
        } else {
            return Err(cursor.unexpected("an argument with a name, as the one before it"));
        }
        match cursor.peek() {
            Some(t) if t.text == "," => cursor.at += 1,
            Some(t) if t.text == ")" => {}
            _ => return Err(cursor.unexpected("`,` or `)`")),
        }
    }
}

impl<T> Arguments<'_, T> {
    /// The arguments in the order of the primitive's parameters. For names that Python would not accept, a number of
    /// arguments with which the call fails as Python's does.
    pub(super) fn bound(
        self,
        callee: Option<&Primitive>,
        cursor: &Cursor<'_, '_>,
    ) -> Outcome<Result<Vec<T>, usize>> {
        let Some((first, _)) = self.named.first() else {
            return Ok(Ok(self.positional));
        };
        let Some(primitive) = callee else {
            let wanted = "an argument without a name: the callee is not a primitive";
            return Err(cursor.source.error(first, Reason::Expected { wanted }));
        };
        let n_args = usize::from(primitive.n_args);
        let mut places: Vec<Option<T>> = self.positional.into_iter().map(Some).collect();
        let n_wrong = n_args + 1;
        places.resize_with(n_args.max(places.len()), || None);
        for (name, value) in self.named {
            match primitive.parameter(name.text) {
                Some(k) if places[k].is_none() => places[k] = Some(value),
                _ => return Ok(Err(n_wrong)),
            }
        }
        while places.last().is_some_and(Option::is_none) {
            places.pop();
        }
        let args: Option<Vec<T>> = places.into_iter().collect();
        Ok(args.ok_or(n_wrong))
    }
}

fn integer(
    cursor: &Cursor<'_, '_>,
    token: &Token<'_>,
    digits: &str,
    is_negative: bool,
) -> Outcome<Constant> {
    let digits = digits.replace('_', "");
    let sign = if is_negative { "-" } else { "" };
    Some(format!("{sign}{digits}"))
        .filter(|_| digits.len() <= N_DIGITS_MAX)
        .and_then(|text| Constant::integer(&text))
        .ok_or_else(|| cursor.source.error(token, Reason::BadInteger))
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
