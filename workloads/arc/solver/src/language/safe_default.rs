//! What a function of the `batt` dialect gives in place of an exception: an empty value of the kind it returns.
//!
//! Every function of the dialect is wrapped, also where another one calls it, so the default appears at the innermost
//! function that fails and the outer one goes on with it.

use crate::evaluate::meter;
use crate::language::primitive::Primitive;
use crate::set;
use crate::value::Value;
use crate::value::closure::{Closure, Form};
use crate::value::fault::{Fault, Result};

/// The default of a function, by the type that its declaration names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SafeDefault {
    False,
    Zero,
    Set,
    /// The empty tuple, for all types that are not known.
    Tuple,
    /// A function of any arguments that gives the empty tuple.
    Callable,
}

impl SafeDefault {
    #[cold]
    pub(crate) fn value(self) -> Result {
        match self {
            SafeDefault::False => Ok(Value::Bool(false)),
            SafeDefault::Zero => Ok(Value::Int(0)),
            SafeDefault::Set => Ok(set::empty()),
            SafeDefault::Tuple => Value::tuple(Vec::new()),
            SafeDefault::Callable => {
                Closure::value(Form::Nothing, [Value::None, Value::None, Value::None])
            }
        }
    }
}

/// The result of a function; in a dialect with defaults, its default in place of an exception.
#[inline]
pub(crate) fn safe(result: Result, default: SafeDefault) -> Result {
    match result {
        Err(fault) if meter::dialect().has_defaults() && is_caught(fault) => default.value(),
        result => result,
    }
}

/// Whether a default takes the place of this fault. Limits are not exceptions, Python's integers do not overflow, and
/// how deep Python can recurse depends on where it is called.
pub(crate) fn is_caught(fault: Fault) -> bool {
    !fault.is_limit() && !matches!(fault, Fault::OverflowError | Fault::RecursionError)
}

/// The default of a callee. Only for primitives is the kind of result known; for any other callee it is the empty
/// tuple.
pub(crate) fn safe_default(callee: &Value) -> Result {
    match callee {
        Value::Primitive(p) => Primitive::at(*p).default().value(),
        _ => SafeDefault::Tuple.value(),
    }
}
