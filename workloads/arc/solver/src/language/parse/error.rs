//! The errors of the parser, with an excerpt of the line that is wrong.

use std::fmt;

/// Why a program was rejected, and where.
///
/// Displayed with the line and the token underlined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The file's name as it was given.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The program's name, if it got that far.
    pub program: Option<String>,
    /// The offending token, or its beginning if it is long; empty at the end of a line.
    pub token: String,
    /// The text around it.
    pub excerpt: Excerpt,
    /// What is wrong with it.
    pub reason: Reason,
}

/// A line of a file, or the part of a long line around one position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// The text before the position.
    pub before: String,
    /// The text from the position on.
    pub after: String,
}

impl Excerpt {
    /// As much on each side as a reader takes in at a glance.
    const N_BYTES_EACH_MAX: usize = 100;

    /// The excerpt around a byte of a text.
    ///
    /// # Panics
    /// If `at` is beyond the text or inside a character.
    pub fn around(text: &str, at: usize) -> Excerpt {
        let (before, after) = (&text[..at], &text[at..]);
        let from = boundary(text, at.saturating_sub(Self::N_BYTES_EACH_MAX));
        let from_line = text[from..at].rfind('\n').map_or(from, |n| from + n + 1);
        let has_more = from_line > 0 && !before[..from_line].ends_with('\n');
        let to = boundary(after, Self::N_BYTES_EACH_MAX);
        let to_line = after[..to].find('\n').unwrap_or(to);
        let goes_on = to_line < after.len() && !after[to_line..].starts_with('\n');
        let after = after[..to_line].trim_end_matches('\r');
        let dots = |is_cut: bool| if is_cut { "…" } else { "" };
        Excerpt {
            before: format!("{}{}", dots(has_more), &before[from_line..]),
            after: format!("{after}{}", dots(goes_on)),
        }
    }
}

/// A name or token, cut to a length that can be shown.
pub(super) fn cut(text: &str) -> String {
    const N_BYTES_MAX: usize = 80;
    match text.len() > N_BYTES_MAX {
        true => format!("{}…", &text[..boundary(text, N_BYTES_MAX)]),
        false => text.to_owned(),
    }
}

/// The last character boundary up to this byte.
fn boundary(text: &str, at: usize) -> usize {
    let mut places = (0..=at.min(text.len())).rev();
    places.find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// What is wrong with a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// Something else was expected here.
    #[error("expected {wanted}")]
    Expected {
        /// What was expected.
        wanted: &'static str,
    },
    /// A call of something that does not exist.
    #[error("unknown function `{name}`{}", suggestion(.nearest))]
    UnknownFunction {
        /// The name that was called.
        name: String,
        /// The most similar primitive.
        nearest: Option<String>,
    },
    /// A name that is neither a variable, a constant nor a primitive.
    #[error("unknown name `{name}`{}", suggestion(.nearest))]
    UnknownName {
        /// The name.
        name: String,
        /// The most similar name that is known.
        nearest: Option<String>,
    },
    /// A variable that is only set further down.
    #[error("`{name}` is used before it is set")]
    UsedBeforeSet {
        /// The variable.
        name: String,
    },
    /// A program that calls itself.
    #[error("`{name}` calls itself; programs are straight lines")]
    Recursive {
        /// The program.
        name: String,
    },
    /// A second program with the same name.
    #[error("`{name}` is defined in line {line} already")]
    DefinedBefore {
        /// The program.
        name: String,
        /// The line of the first definition.
        line: usize,
    },
    /// A second program with the same name, in another file.
    #[error("`{name}` is defined in {file}, line {line} already")]
    DefinedElsewhere {
        /// The program.
        name: String,
        /// The file of the first definition.
        file: String,
        /// Its line.
        line: usize,
    },
    /// A candidate whose value needs a line that was rejected.
    #[error("`{name}` needs line {line}, which is rejected")]
    NeedsRejected {
        /// The variable.
        name: String,
        /// The line that is wrong.
        line: usize,
    },
    /// A handler that is not the usual one: the same variable, with the default of the same callee.
    #[error("expected `{wanted}`")]
    OtherDefault {
        /// The line that is expected here.
        wanted: String,
    },
    /// Not decimal digits, or more than are allowed.
    #[error("not a decimal integer, or too long for one")]
    BadInteger,
    /// Expressions nested deeper than the parser allows.
    #[error("nested too deeply")]
    TooDeep,
    /// A line that is indented otherwise than the lines around it.
    #[error("indented otherwise than the lines before it")]
    Indentation,
    /// A constant in a file that imports the functions but not the constants.
    #[error("`{name}` is a constant, and the file imports `dsl` but not `constants`")]
    NotImported {
        /// The constant.
        name: String,
    },
    /// A program without an output.
    #[error("no `return`")]
    NoReturn,
    /// Statements that would never run.
    #[error("nothing may follow `return`")]
    AfterReturn,
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the underline stands below the token.
        let lead = self.excerpt.before.chars();
        let lead: String = lead.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let underline =
            "^".repeat(self.token.lines().next().unwrap_or_default().chars().count().max(1));
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.reason)?;
        writeln!(f, "{margin} |")?;
        let Excerpt { before, after } = &self.excerpt;
        writeln!(f, "{number} | {before}{after}")?;
        write!(f, "{margin} | {lead}{underline}")
    }
}

impl std::error::Error for ParseError {}
