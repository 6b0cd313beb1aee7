//! Faults: the exceptions of the reference, and the limits of a call.

use std::fmt;

/// Why a call has no value: the class of exception the Python reference raises, or a limit that was hit.
///
/// Faults are values: they are copied to every statement that depends on the failing one.
///
/// ```
/// assert_eq!(swathe_arc::Fault::StopIteration.name(), "StopIteration");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// `next` on an exhausted iterator, for example `first` of an empty set.
    StopIteration,
    /// A wrong number of values to unpack, or `max` of nothing.
    ValueError,
    /// A tuple that is too short.
    IndexError,
    /// An operation on values of the wrong kind, or a call with the wrong number of arguments.
    TypeError,
    /// `StopIteration` that was raised inside a generator expression.
    RuntimeError,
    /// Division or remainder by zero.
    ZeroDivisionError,
    /// Calls nested deeper than the limit, or values nested too deeply to be handled.
    RecursionError,
    /// A method that the value's type does not have.
    AttributeError,
    /// A dictionary lookup that failed (corners of elements that are longer than pairs).
    KeyError,
    /// An integer is too large for a repetition, or, other than in Python, for a place.
    OverflowError,
    /// The call used up its work limit.
    Timeout,
    /// The call needed more memory than its limit.
    Memory,
}

impl Fault {
    /// All kinds, in the order in which they are numbered.
    pub const ALL: [Fault; 12] = [
        Fault::StopIteration,
        Fault::ValueError,
        Fault::IndexError,
        Fault::TypeError,
        Fault::RuntimeError,
        Fault::ZeroDivisionError,
        Fault::RecursionError,
        Fault::AttributeError,
        Fault::KeyError,
        Fault::OverflowError,
        Fault::Timeout,
        Fault::Memory,
    ];

    /// The name of the exception class, or the limit's name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Fault::StopIteration => "StopIteration",
            Fault::ValueError => "ValueError",
            Fault::IndexError => "IndexError",
            Fault::TypeError => "TypeError",
            Fault::RuntimeError => "RuntimeError",
            Fault::ZeroDivisionError => "ZeroDivisionError",
            Fault::RecursionError => "RecursionError",
            Fault::AttributeError => "AttributeError",
            Fault::KeyError => "KeyError",
            Fault::OverflowError => "OverflowError",
            Fault::Timeout => "timeout",
            Fault::Memory => "memory",
        }
    }

    /// Whether the fault is a limit of this crate, not an exception of the program.
    pub fn is_limit(self) -> bool {
        matches!(self, Fault::Timeout | Fault::Memory)
    }

    /// What the fault becomes when it leaves a generator expression.
    pub(crate) fn through_generator(self) -> Fault {
        if self == Fault::StopIteration { Fault::RuntimeError } else { self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Fault {}

pub(crate) type Result<T = crate::Value> = std::result::Result<T, Fault>;
