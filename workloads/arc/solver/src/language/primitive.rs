//! Primitives: what a row of their table holds, and how they are found and called.

pub use super::primitive_table::PRIMITIVES;

use super::dialect::{Dialect, Dialects};
use super::python_frames::PythonFrames;
use super::result_type::ResultType;
use super::safe_default::{SafeDefault, safe};
use crate::columns::columnwise::Kernel;
use crate::set::Set;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use std::collections::HashMap;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::LazyLock;

/// One function of the DSL, and all that is known of it. `primitives/mod.rs` says how to add one.
pub struct Primitive {
    /// The name that programs use.
    pub name: &'static str,
    /// The number of arguments; `rbind` and `lbind` depend on it.
    pub n_args: u8,
    /// The names of the arguments, separated by spaces; `/` separates names in different dialects.
    pub(crate) parameters: &'static str,
    /// Where it belongs, and what it gives there in place of an exception.
    pub(crate) dialects: Dialects,
    /// The type of its results, which decides what may take its place in a mutant.
    pub(crate) result: ResultType,
    /// The frames of CPython's stack that a call takes.
    pub(crate) frames: PythonFrames,
    /// What only some primitives have.
    pub(crate) traits: Traits,
    /// The function. It is called with a number of arguments that `takes` accepts.
    pub(crate) run: fn(&[Value]) -> Result,
}

/// What only some primitives have. A row begins with `PLAIN` and adds to it.
#[derive(Clone, Copy)]
pub(crate) struct Traits {
    /// Whether the last argument may be left out.
    is_last_optional: bool,
    /// Whether a call can fail although its arguments did not.
    pub(crate) can_fail: CanFail,
    /// Whether it calls functions that it is given, and keeps none.
    pub(crate) calls_functions: bool,
    /// The same on many values at once.
    pub(crate) kernel: Option<Kernel>,
    /// How it turns or mirrors a grid.
    pub(crate) symmetry: Option<Symmetry>,
    /// What the evaluator does in place of calling it.
    pub(crate) shortcut: Option<Shortcut>,
}

/// Whether a call with the right number of arguments can fail. Limits are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CanFail {
    Yes,
    /// Also in dialects with defaults: Python recurses without end.
    DespiteDefaults,
    /// Not if the first argument is a primitive.
    NotOnPrimitives,
    Never,
}

/// A turn or a mirror of a square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Symmetry {
    /// Its number in `mir_rot_t`.
    pub(crate) number: i64,
    /// The number of the symmetry that undoes it.
    pub(crate) inverse: i64,
}

/// What the evaluator does in place of calling a primitive.
#[derive(Clone, Copy)]
pub(crate) enum Shortcut {
    /// The element of a set is not looked up as long as it is only bound to functions.
    First,
    /// How it binds such an element: a function, and the set whose first element is the fixed argument.
    BindFirst(fn(&Value, &Rc<Set>) -> Result),
    /// `mapply` computes it for many places at once.
    Shift,
}

/// What most primitives are: no argument may be left out, calls can fail, and nothing special.
pub(super) const PLAIN: Traits = Traits {
    is_last_optional: false,
    can_fail: CanFail::Yes,
    calls_functions: false,
    kernel: None,
    symmetry: None,
    shortcut: None,
};

impl Traits {
    pub(super) const fn last_is_optional(self) -> Traits {
        Traits { is_last_optional: true, ..self }
    }

    pub(super) const fn can_fail(self, can_fail: CanFail) -> Traits {
        Traits { can_fail, ..self }
    }

    pub(super) const fn calls_functions(self) -> Traits {
        Traits { calls_functions: true, ..self }
    }

    pub(super) const fn kernel(self, kernel: Kernel) -> Traits {
        Traits { kernel: Some(kernel), ..self }
    }

    pub(super) const fn symmetry(self, number: i64, inverse: i64) -> Traits {
        Traits { symmetry: Some(Symmetry { number, inverse }), ..self }
    }

    pub(super) const fn shortcut(self, shortcut: Shortcut) -> Traits {
        Traits { shortcut: Some(shortcut), ..self }
    }
}

impl Primitive {
    /// The primitive in a row of the table.
    #[inline]
    pub(crate) fn at(row: u16) -> &'static Primitive {
        &PRIMITIVES[usize::from(row)]
    }

    /// Whether it can be called with this many arguments.
    #[inline]
    pub(crate) fn takes(&self, n_args: usize) -> bool {
        let most = usize::from(self.n_args);
        n_args == most || (n_args + 1 == most && self.traits.is_last_optional)
    }

    /// What it gives in place of an exception, where the dialect has defaults.
    #[inline]
    pub(crate) fn default(&self) -> SafeDefault {
        self.dialects.default()
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
    result: ResultType,
    frames: [u8; 4],
    traits: Traits,
    run: fn(&[Value]) -> Result,
) -> Primitive {
    Primitive {
        name,
        n_args: n_words(parameters),
        parameters,
        dialects,
        result,
        frames: PythonFrames(frames),
        traits,
        run,
    }
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
    let primitive = Primitive::at(p);
    let result =
        if primitive.takes(args.len()) { (primitive.run)(args) } else { Err(Fault::TypeError) };
    safe(result, primitive.default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::meter::set_dialect;
    use crate::language::python_frames::N_FRAMES_MAX;
    use crate::set;
    use crate::value::grid::Grid;

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

    #[test]
    fn every_row_is_complete() {
        for p in PRIMITIVES {
            let names: Vec<&str> = p.parameters.split([' ', '/']).collect();
            assert!(names.iter().all(|name| !name.is_empty()), "{}: {}", p.name, p.parameters);
            assert!((1..=4).contains(&p.n_args), "{}: {} arguments", p.name, p.n_args);
            assert!(p.takes(p.n_args.into()) && !p.takes(0), "{}", p.name);
            assert!(
                p.frames.0.iter().all(|&n| (1..=N_FRAMES_MAX).contains(&n.into())),
                "{}",
                p.name
            );
        }
        let most = PRIMITIVES.iter().flat_map(|p| p.frames.0).max();
        assert_eq!(most.map(u32::from), Some(N_FRAMES_MAX));
    }

    #[test]
    fn every_symmetry_is_undone_by_another() {
        let rows = || PRIMITIVES.iter().filter_map(|p| Some((p, p.traits.symmetry?)));
        let rows_of_grids = Grid::from_rows(&[vec![1, 2, 3], vec![4, 5, 6]]).expect("a grid");
        let grid = Value::from(rows_of_grids);
        for (p, symmetry) in rows() {
            let of_inverse = rows().filter(|(_, other)| other.number == symmetry.inverse);
            let [(inverse, _)] = of_inverse.collect::<Vec<_>>()[..] else {
                panic!("{}: one row has the number {}", p.name, symmetry.inverse);
            };
            let turned = (p.run)(std::slice::from_ref(&grid)).expect("a grid");
            assert_ne!(turned, grid, "{}", p.name);
            assert_eq!((inverse.run)(&[turned]), Ok(grid.clone()), "{}", p.name);
        }
        assert_eq!(rows().count(), 7);
    }

    /// Programs leave out statements that nothing reads and that cannot fail.
    #[test]
    fn what_never_fails_takes_any_arguments() {
        set_dialect(Dialect::ArcDsl);
        let some = [
            Value::None,
            Value::Bool(true),
            Value::Int(-3),
            Value::tuple(Vec::new()).expect("a tuple"),
            Value::pair(1, 2).expect("a pair"),
            set::empty(),
            Value::Primitive(0),
        ];
        let rows = || PRIMITIVES.iter().filter(|p| p.is_in(Dialect::ArcDsl));
        let mut n_safe = 0;
        for p in rows() {
            let first = match p.traits.can_fail {
                CanFail::Never => &some[..],
                CanFail::NotOnPrimitives => &some[6..],
                CanFail::Yes | CanFail::DespiteDefaults => continue,
            };
            n_safe += 1;
            for a in first {
                for b in &some {
                    let args = [a, b, b, b].map(Value::clone);
                    let result = (p.run)(&args[..usize::from(p.n_args)]);
                    assert!(result.is_ok(), "{}({a:?}, {b:?}): {result:?}", p.name);
                }
            }
        }
        assert_eq!(n_safe, 14);
    }
}
