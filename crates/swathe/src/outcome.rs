//! Outcomes: what became of a problem.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Shape;

/// What became of a problem. Every problem gets exactly one.
pub enum Outcome<S, E> {
    /// The problem has an answer.
    Solved(S),
    /// The problem could not be loaded or solved, for a reason of its own.
    Failed(E),
    /// The loaded problem has another shape than the surveyed one.
    WrongSize {
        /// The shape that the plan was made for.
        surveyed: Shape,
        /// The shape that was loaded.
        loaded: Shape,
    },
    /// The problem fits in no device's memory.
    TooLarge {
        /// The bytes the problem would need.
        wanted_bytes: u64,
        /// The bytes the largest device has.
        budget_bytes: u64,
    },
    /// The problem did not finish within the time limit.
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// The solver or the loader panicked.
    Panicked {
        /// The message of the panic.
        message: String,
    },
}

impl<S, E: Error> Outcome<S, E> {
    /// The answer, if there is one.
    pub fn solution(&self) -> Option<&S> {
        match self {
            Outcome::Solved(solution) => Some(solution),
            _ => None,
        }
    }

    /// The answer itself, or why there is none.
    ///
    /// # Errors
    /// If the problem has no answer.
    pub fn into_result(self) -> Result<S, Unsolved<E>> {
        match self {
            Outcome::Solved(solution) => Ok(solution),
            outcome => Err(Unsolved {
                kind: outcome.kind(),
                message: outcome.message().unwrap_or_default(),
                failure: match outcome {
                    Outcome::Failed(failure) => Some(failure),
                    _ => None,
                },
            }),
        }
    }

    /// The kind of this outcome.
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
                let mut cause = failure.source();
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
            Outcome::TooLarge { wanted_bytes, budget_bytes } => Some(format!(
                "it needs {wanted_bytes} bytes of memory and the budget is {budget_bytes}"
            )),
            Outcome::TimedOut { after } => Some(format!("not finished after {after:?}")),
            Outcome::Panicked { message } => Some(format!("the solver panicked: {message}")),
        }
    }
}

impl<S, E: Error> fmt::Debug for Outcome<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            None => f.write_str("Solved"),
            Some(message) => write!(f, "{:?}({message})", self.kind()),
        }
    }
}

/// An [`Outcome`] without an answer, as an error.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Unsolved<E> {
    /// Which kind of outcome it is.
    pub kind: OutcomeKind,
    /// Why there is no answer, in a sentence.
    pub message: String,
    /// The problem's own failure, where it has one.
    pub failure: Option<E>,
}

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
    /// The name used in tables.
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
