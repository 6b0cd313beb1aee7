//! The names of settings, as a user of the command or of the Python package writes them.

use std::fmt::Display;

/// Where a text about settings is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// On the command line: `--max-iterations 500`.
    #[default]
    Command,
    /// In Python: `max_iterations=500`.
    Python,
}

impl Spelling {
    /// A setting's name. `name` is written as on the command line, without dashes before it.
    pub fn name(self, name: &str) -> String {
        match self {
            Spelling::Command => format!("--{name}"),
            Spelling::Python => name.replace('-', "_"),
        }
    }

    /// A setting with its value. A text is to be quoted by the caller where Python needs it.
    pub fn with(self, name: &str, value: impl Display) -> String {
        match self {
            Spelling::Command => format!("{} {value}", self.name(name)),
            Spelling::Python => format!("{}={value}", self.name(name)),
        }
    }

    /// `--epsilon auto`
    pub fn auto_epsilon(self) -> String {
        match self {
            Spelling::Command => self.with("epsilon", "auto"),
            Spelling::Python => self.with("epsilon", "\"auto\""),
        }
    }

    /// What shows growth.
    pub(crate) fn no_normalize(self) -> &'static str {
        match self {
            Spelling::Command => "--no-normalize",
            Spelling::Python => "normalize=False",
        }
    }

    /// What to do with pairs whose motion is in doubt.
    pub(crate) fn doubt_advice(self) -> &'static str {
        match self {
            Spelling::Command => {
                "Leave these pairs out, or compare with --no-normalize --relaxation 0.1, which creates and destroys mass rather than move it far; `swathe ot suggest INPUT` shows both answers"
            }
            Spelling::Python => {
                "Leave these pairs out, or compare with normalize=False, relaxation=0.1, which creates and destroys mass rather than move it far"
            }
        }
    }

    /// How a background is taken off the frames.
    pub(crate) fn background_off(self) -> &'static str {
        match self {
            Spelling::Command => "--background auto takes it off",
            Spelling::Python => "subtract it before the call",
        }
    }
}
