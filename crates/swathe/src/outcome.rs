//! Outcomes: what became of a problem.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Shape, Workload};

/// What became of a problem. Every problem gets exactly one.
pub enum Outcome<W: Workload> {
    /// It has an answer.
    Solved(W::Solution),
    /// It could not be loaded or solved, for a reason of its own.
    Failed(W::Failure),
    /// What was loaded is of another shape than what was surveyed.
    WrongSize {
        /// The shape that was planned for.
        surveyed: Shape,
        /// The shape that came.
        loaded: Shape,
    },
    /// It fits into no device's memory.
    TooLarge {
        /// The bytes it would need.
        wanted_bytes: u64,
        /// The bytes the largest device has.
        budget_bytes: u64,
    },
    /// It did not finish within the time limit.
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// Its solver or loader panicked.
    Panicked {
        /// What the panic said.
        message: String,
    },
}

impl<W: Workload> Outcome<W> {
    /// The answer, if there is one.
    pub fn solution(&self) -> Option<&W::Solution> {
        match self {
            Outcome::Solved(solution) => Some(solution),
            _ => None,
        }
    }

    /// The answer itself, or why there is none.
    pub fn into_result(self) -> Result<W::Solution, Unsolved<W>> {
        match self {
            Outcome::Solved(solution) => Ok(solution),
            outcome => Err(Unsolved(outcome)),
        }
    }

    /// Which of the kinds it is.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Outcome::Solved(_) => OutcomeKind::Solved,
            Outcome::Failed(_) => OutcomeKind::Failed,
            Outcome::WrongSize { .. } => OutcomeKind::WrongSize,
            Outcome::TooLarge { .. } => OutcomeKind::TooLarge,
            Outcome::TimedOut { .. } => OutcomeKind::TimedOut,
            Outcome::Panicked { .. } => OutcomeKind::Panicked,
        }
    }

    /// Why there is no answer, in a sentence; `None` where there is one.
    pub fn message(&self) -> Option<String> {
        match self {
            Outcome::Solved(_) => None,
            Outcome::Failed(failure) => {
                let mut message = failure.to_string();
                let mut cause = std::error::Error::source(failure);
                while let Some(error) = cause {
                    message.push_str(": ");
                    message.push_str(&error.to_string());
                    cause = error.source();
                }
                Some(message)
            }
            Outcome::WrongSize { surveyed, loaded } => Some(format!(
                "the input changed while it was in use: it was {surveyed} when surveyed and {loaded} when loaded"
            )),
            Outcome::TooLarge {
                wanted_bytes,
                budget_bytes,
            } => Some(format!(
                "it needs {wanted_bytes} bytes of memory and the budget is {budget_bytes}"
            )),
            Outcome::TimedOut { after } => Some(format!("not finished after {after:?}")),
            Outcome::Panicked { message } => Some(format!("the solver panicked: {message}")),
        }
    }
}

impl<W: Workload> fmt::Debug for Outcome<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            None => f.write_str("Solved"),
            Some(message) => write!(f, "{:?}({message})", self.kind()),
        }
    }
}

/// An [`Outcome`] without an answer, as an error.
pub struct Unsolved<W: Workload>(pub Outcome<W>);

impl<W: Workload> fmt::Debug for Unsolved<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<W: Workload> fmt::Display for Unsolved<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message().unwrap_or_default())
    }
}

impl<W: Workload> std::error::Error for Unsolved<W> {}

/// The kinds of [`Outcome`], for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// See [`Outcome::Solved`].
    Solved,
    /// See [`Outcome::Failed`].
    Failed,
    /// See [`Outcome::WrongSize`].
    WrongSize,
    /// See [`Outcome::TooLarge`].
    TooLarge,
    /// See [`Outcome::TimedOut`].
    TimedOut,
    /// See [`Outcome::Panicked`].
    Panicked,
}

impl OutcomeKind {
    /// The word that stands in tables.
    pub fn name(self) -> &'static str {
        match self {
            OutcomeKind::Solved => "solved",
            OutcomeKind::Failed => "failed",
            OutcomeKind::WrongSize => "wrong_size",
            OutcomeKind::TooLarge => "too_large",
            OutcomeKind::TimedOut => "timed_out",
            OutcomeKind::Panicked => "panicked",
        }
    }
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
