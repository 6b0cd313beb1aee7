//! The dialects of the DSL, as data.

use crate::language::primitive::primitive_in;
use crate::language::safe_default::SafeDefault;
use crate::language::source_text::DIALECT_LINE;
use crate::value::packed::ElementKind;

/// Which functions, constants and values a program is written for.
///
/// One evaluator runs all dialects. A dialect decides which rows of the table of primitives a name means, how a cell is
/// laid out, and whether a primitive that fails gives a default in place of its error.
///
/// ```
/// use swathe_arc::Dialect;
/// assert_eq!(Dialect::detect("from dsl import *\n\ndef verify_1(I: Grid) -> Grid:\n    return I\n"), Dialect::ReArc);
/// assert_eq!(Dialect::named("batt"), Some(Dialect::Batt));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Dialect {
    /// The public arc-dsl: cells are (colour, (row, column)), and failures are errors.
    #[default]
    ArcDsl,
    /// The dialect of generated `batt` files: cells are (row, column, colour), and no primitive fails.
    Batt,
    /// The DSL of re-arc's verifiers: arc-dsl except for three functions.
    ReArc,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 3] = [Dialect::ArcDsl, Dialect::Batt, Dialect::ReArc];

    /// The name that commands use.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::ArcDsl => "arc-dsl",
            Dialect::Batt => "batt",
            Dialect::ReArc => "re-arc",
        }
    }

    /// The dialect with this name.
    pub fn named(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The dialect that a file states in a comment before its first line of code, as written files do.
    pub(crate) fn stated(text: &str) -> Option<Dialect> {
        let comments = text.lines().take_while(|line| line.starts_with('#'));
        let mut stated = comments.filter_map(|line| line.strip_prefix(DIALECT_LINE));
        Dialect::named(stated.next()?.trim())
    }

    /// The dialect that a file is written for, by its imports, the parameters of its functions, and the names it calls.
    ///
    /// A file that imports a module of the generator (`safe_dsl`, `pile`, `gpu_env`, …), or has functions of (S, I, C)
    /// or (S, I), is in `batt`; so is one that calls more functions of that dialect alone than of arc-dsl alone, because
    /// the modules of both have the same names. A file that imports `dsl` but not `constants` is in re-arc, whose `dsl`
    /// holds the constants. Everything else is in arc-dsl.
    pub fn detect(text: &str) -> Dialect {
        let (mut has_dsl, mut has_constants) = (false, false);
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("from" | "import") => match words.next() {
                    Some(module) if GENERATOR_MODULES.contains(&module) => return Dialect::Batt,
                    Some("dsl") => has_dsl = true,
                    Some("constants") => has_constants = true,
                    _ => {}
                },
                Some("def") if line.starts_with("def") && has_samples(line) => {
                    return Dialect::Batt;
                }
                _ => {}
            }
        }
        if calls_batt(text) {
            Dialect::Batt
        } else if has_dsl && !has_constants {
            Dialect::ReArc
        } else {
            Dialect::ArcDsl
        }
    }

    /// The form of a cell.
    #[inline]
    pub(crate) fn cell_kind(self) -> ElementKind {
        match self {
            Dialect::ArcDsl | Dialect::ReArc => ElementKind::Cell,
            Dialect::Batt => ElementKind::Triple,
        }
    }

    /// Whether a primitive that fails gives its default in place of an error.
    #[inline]
    pub(crate) fn has_defaults(self) -> bool {
        self == Dialect::Batt
    }
}

/// Modules that only generated files import.
const GENERATOR_MODULES: [&str; 7] = [
    "pile",
    "safe_dsl",
    "gpu_env",
    "batt_gpu",
    "differs",
    "dsl_optimizations",
    "gpu_optimizations",
];

/// Whether more calls are of functions that only `batt` has than of functions that only arc-dsl has.
fn calls_batt(text: &str) -> bool {
    // The beginning of a long file is enough.
    const N_BYTES_MAX: usize = 1 << 16;
    let n_bytes = (0..=N_BYTES_MAX.min(text.len())).rfind(|&n| text.is_char_boundary(n));
    let text = &text[..n_bytes.unwrap_or(0)];
    let (mut n_batt, mut n_arc_dsl) = (0, 0);
    // A name that is called stands before a parenthesis.
    for part in text.split('(') {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let before = part.char_indices().rfind(|(_, c)| !is_part(*c));
        let start = before.map_or(0, |(at, c)| at + c.len_utf8());
        let Some(name) = part.get(start..).filter(|name| !name.is_empty()) else {
            continue;
        };
        let is_in = |dialect| primitive_in(dialect, name).is_some();
        match (is_in(Dialect::Batt), is_in(Dialect::ArcDsl)) {
            (true, false) => n_batt += 1,
            (false, true) => n_arc_dsl += 1,
            _ => {}
        }
    }
    n_batt > n_arc_dsl
}

/// Whether the head of a function has the parameters (S, I, C) or (S, I), with or without types.
fn has_samples(head: &str) -> bool {
    let Some((_, parameters)) = head.split_once('(') else {
        return false;
    };
    let names: Vec<&str> =
        parameters.split([',', ')']).map(|p| p.split(':').next().unwrap_or(p).trim()).collect();
    names.windows(2).any(|two| two == ["S", "I"])
}

/// The dialects that a row of the table of primitives belongs to, and what it gives in place of an exception in the one
/// that has defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialects {
    All(SafeDefault),
    NotReArc(SafeDefault),
    Batt(SafeDefault),
    /// Those with arc-dsl's cells and errors.
    Hodel,
    ArcDsl,
    ReArc,
}

impl Dialects {
    pub(crate) fn has(self, dialect: Dialect) -> bool {
        match self {
            Dialects::All(_) => true,
            Dialects::NotReArc(_) => dialect != Dialect::ReArc,
            Dialects::Batt(_) => dialect == Dialect::Batt,
            Dialects::Hodel => dialect != Dialect::Batt,
            Dialects::ArcDsl => dialect == Dialect::ArcDsl,
            Dialects::ReArc => dialect == Dialect::ReArc,
        }
    }

    /// The default; for guarded lines of a dialect without, that of a type that is not known.
    #[inline]
    pub(crate) fn default(self) -> SafeDefault {
        match self {
            Dialects::All(default) | Dialects::NotReArc(default) | Dialects::Batt(default) => {
                default
            }
            Dialects::Hodel | Dialects::ArcDsl | Dialects::ReArc => SafeDefault::Tuple,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_and_parameters_decide() {
        for (text, wanted) in [
            ("def solve_1(I):\n    return I\n", Dialect::ArcDsl),
            ("from dsl import *\nfrom constants import *\n", Dialect::ArcDsl),
            ("from dsl import *\n", Dialect::ReArc),
            ("import dsl\n# from safe_dsl import x\n", Dialect::ReArc),
            ("from pile import *\n", Dialect::Batt),
            ("from dsl import *\nfrom constants import *\ndef solve_1(S, I, C):\n", Dialect::Batt),
            ("def f(S: Samples, I: Grid, C: Grid) -> Any:\n", Dialect::Batt),
            ("def batt(task_id, S, I, C, log_path):\n", Dialect::Batt),
            ("def f(S, I):\n", Dialect::Batt),
            (
                "from dsl import *\nfrom constants import *\ndef f(I):\n    return vmirror_t(I)\n",
                Dialect::Batt,
            ),
            ("def f(I):\n    é = corner(I)\n    return shape(shape(é))\n", Dialect::ArcDsl),
        ] {
            assert_eq!(Dialect::detect(text), wanted, "{text}");
        }
    }
}
