//! Primitives by name: their numbers of arguments, functions, dialects and defaults.

pub use super::primitive_table::PRIMITIVES;

use super::dialect::{Dialect, Dialects};
use super::safe_default::SafeDefault;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use std::collections::HashMap;
use std::num::NonZero;
use std::sync::LazyLock;

/// One function of the DSL. To add one, write the function and add a row to the table.
pub struct Primitive {
    /// The name that programs use.
    pub name: &'static str,
    /// The number of arguments; `rbind` and `lbind` depend on it.
    pub n_args: u8,
    /// The names of the arguments, for calls that use them. `/` separates names in different dialects.
    parameters: &'static str,
    /// How many of the last arguments may be left out.
    n_optional: u8,
    pub(crate) dialects: Dialects,
    /// What it gives in place of an exception, where the dialect has defaults.
    pub(crate) default: SafeDefault,
    /// The function. It is called with a number of arguments that `takes` accepts.
    pub(crate) run: fn(&[Value]) -> Result,
}

impl Primitive {
    /// Whether it can be called with this many arguments.
    #[inline]
    pub(crate) fn takes(&self, n_args: usize) -> bool {
        let most = usize::from(self.n_args);
        n_args == most || (n_args < most && n_args + usize::from(self.n_optional) >= most)
    }

    /// The names of its parameters, separated by spaces; `/` separates names in different dialects.
    pub(crate) fn parameters(&self) -> &'static str {
        self.parameters
    }

    /// The position of the argument with this name.
    pub(crate) fn parameter(&self, name: &str) -> Option<usize> {
        let mut parameters = self.parameters.split(' ');
        parameters.position(|names| names.split('/').any(|n| n == name))
    }

    /// Whether it belongs to a dialect.
    pub fn is_in(&self, dialect: Dialect) -> bool {
        self.dialects.has(dialect)
    }
}

pub(super) const fn row(
    name: &'static str,
    parameters: &'static str,
    dialects: Dialects,
    default: SafeDefault,
    run: fn(&[Value]) -> Result,
) -> Primitive {
    Primitive {
        name,
        n_args: n_words(parameters),
        parameters,
        n_optional: 0,
        dialects,
        default,
        run,
    }
}

/// A row whose last argument may be left out.
pub(super) const fn optional(
    name: &'static str,
    parameters: &'static str,
    dialects: Dialects,
    default: SafeDefault,
    run: fn(&[Value]) -> Result,
) -> Primitive {
    Primitive { n_optional: 1, ..row(name, parameters, dialects, default, run) }
}

/// The number of words separated by spaces, at least one.
const fn n_words(text: &str) -> u8 {
    let bytes = text.as_bytes();
    let (mut n, mut k) = (1, 0);
    while k < bytes.len() {
        n += (bytes[k] == b' ') as u8;
        k += 1;
    }
    n
}

/// For each name the numbers of its rows, at most one for each dialect.
static BY_NAME: LazyLock<HashMap<&'static str, [Option<NonZero<u16>>; Dialect::ALL.len()]>> =
    LazyLock::new(|| {
        let mut by_name = HashMap::with_capacity(PRIMITIVES.len());
        for (primitive, number) in PRIMITIVES.iter().zip(1..) {
            let rows: &mut [_; Dialect::ALL.len()] = by_name.entry(primitive.name).or_default();
            for dialect in Dialect::ALL.into_iter().filter(|&d| primitive.is_in(d)) {
                rows[dialect as usize] = NonZero::new(number);
            }
        }
        by_name
    });

/// The primitive of arc-dsl with this name, as a value.
///
/// ```
/// let add = swathe_arc::primitive("add").unwrap();
/// assert_eq!(swathe_arc::call(&add, &[1.into(), 2.into()]), Ok(3.into()));
/// ```
pub fn primitive(name: &str) -> Option<Value> {
    primitive_in(Dialect::ArcDsl, name)
}

/// The primitive of a dialect with this name, as a value.
///
/// To call one of another dialect than arc-dsl, [set the dialect](crate::set_dialect) of the thread.
pub fn primitive_in(dialect: Dialect, name: &str) -> Option<Value> {
    let number = BY_NAME.get(name)?[dialect as usize]?;
    Some(Value::Primitive(number.get() - 1))
}

/// Calls a primitive: `TypeError` if the number of arguments is wrong, and in a dialect with defaults its default in
/// place of an exception.
#[inline]
pub(crate) fn run(p: u16, args: &[Value]) -> Result {
    let primitive = &PRIMITIVES[p as usize];
    let result =
        if primitive.takes(args.len()) { (primitive.run)(args) } else { Err(Fault::TypeError) };
    super::safe_default::safe(result, primitive.default)
}

/// Whether this is `shift`, which `mapply` computes for many places at once.
pub(crate) fn is_shift(p: u16) -> bool {
    PRIMITIVES[p as usize].name == "shift"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_each_name_once() {
        for (dialect, n_wanted) in
            [(Dialect::ArcDsl, 160), (Dialect::ReArc, 160), (Dialect::Batt, 292)]
        {
            let rows = PRIMITIVES.iter().filter(|p| p.is_in(dialect));
            let mut names: Vec<&str> = rows.map(|p| p.name).collect();
            assert_eq!(names.len(), n_wanted, "{}", dialect.name());
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), n_wanted, "{}", dialect.name());
        }
    }
}
