//! Functions made from other functions, and calls of functions.

use crate::evaluate::meter::{self, Limits, Order};
use crate::language::primitive::{self, Primitive};
use crate::set::Set;
use crate::value::fault::{Fault, Result};
use crate::value::hash::TupleHash;
use crate::value::operator as op;
use crate::value::{Value, nesting_of, weight_of};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

/// A function made by another: `compose`, `chain`, `matcher`, `fork`, `rbind`, `lbind`.
pub struct Closure {
    pub(crate) form: Form,
    parts: OnceCell<[Value; 3]>,
    /// The source of the parts if they are computed on demand: a function, and a set whose first element is the fixed
    /// argument.
    first_of: Option<(Value, Rc<Set>)>,
    nesting: u32,
    /// None until it is needed, if it depends on an element that has not been looked up.
    weight: Cell<Option<u32>>,
    /// Cached: parts are shared, so a function may have too many parts to hash them twice.
    hash: Cell<Option<u64>>,
}

/// Functions with more parts than this are not written out.
const WEIGHT_WRITTEN_MAX: u32 = 1000;

/// Parts of at most this weight in sum, nested less deeply than `NESTING_LIGHT_MAX`, are far below the limits of
/// values.
const LIGHT_MAX: u32 = 1 << 20;
const NESTING_LIGHT_MAX: u32 = 64;

fn written(weight: u32) -> u32 {
    if weight > WEIGHT_WRITTEN_MAX { 1 } else { weight }
}

/// Whether a part is a function whose weight has not been computed yet.
fn has_unknown_weight(part: &Value) -> bool {
    matches!(part, Value::Closure(c) if c.weight.get().is_none())
}

/// Whether parts are far below the limits of values, whatever the unknown weights are.
fn are_light(parts: &[Value]) -> bool {
    let known = parts.iter().filter(|part| !has_unknown_weight(part));
    weight_of(known) <= LIGHT_MAX && parts.iter().all(|part| part.nesting() < NESTING_LIGHT_MAX)
}

/// What a closure does with its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// outer(inner(x))
    Compose,
    /// h(g(f(x)))
    Chain,
    /// function(x) == target
    Matcher,
    /// outer(a(x), b(x))
    Fork,
    /// function(…, fixed), with the function's number of arguments.
    RightBound(u8),
    /// function(fixed, …)
    LeftBound(u8),
    /// Gives the empty tuple for any arguments: the default of a guarded line that makes a function.
    Nothing,
}

impl Form {
    /// The number of arguments a closure of this form takes.
    pub(crate) fn n_args(self) -> u8 {
        match self {
            Form::RightBound(n) | Form::LeftBound(n) => match n {
                2 => 1,
                3 => 2,
                _ => 3,
            },
            Form::Nothing => 0,
            _ => 1,
        }
    }
}

impl Closure {
    pub(crate) fn value(form: Form, parts: [Value; 3]) -> Result {
        let (nesting, weight) = if parts.iter().any(has_unknown_weight) && are_light(&parts) {
            (1 + parts.iter().map(Value::nesting).max().unwrap_or(0), None)
        } else {
            let (nesting, weight) = nesting_of(parts.iter())?;
            (nesting, Some(written(weight)))
        };
        Ok(Value::Closure(Rc::new(Closure {
            form,
            parts: OnceCell::from(parts),
            first_of: None,
            nesting,
            weight: Cell::new(weight),
            hash: Cell::new(None),
        })))
    }

    /// A function with the first element of a non-empty set as its fixed argument. The element is looked up when the
    /// function is called, because the lookup can take long and many functions are never called.
    pub(crate) fn of_first(form: Form, function: &Value, set: &Rc<Set>) -> Result {
        let weight = set.weight().saturating_add(function.weight());
        let nesting = set.nesting_of_each().map(|n| n.max(function.nesting()));
        match nesting.filter(|&n| n < NESTING_LIGHT_MAX && weight <= LIGHT_MAX) {
            Some(nesting) => Ok(Value::Closure(Rc::new(Closure {
                form,
                parts: OnceCell::new(),
                first_of: Some((function.clone(), set.clone())),
                nesting: nesting + 1,
                weight: Cell::new(None),
                hash: Cell::new(None),
            }))),
            None => {
                let first = set.first().expect("the set has elements");
                Closure::value(form, [function.clone(), first, Value::None])
            }
        }
    }

    /// What the function is made of.
    #[inline]
    pub(crate) fn parts(&self) -> &[Value; 3] {
        self.parts.get_or_init(|| {
            let (function, set) = self.first_of.as_ref().expect("parts are given or come");
            let first = set.first().expect("the set has elements");
            [function.clone(), first, Value::None]
        })
    }

    pub(crate) fn nesting(&self) -> u32 {
        self.nesting
    }

    /// The number of parts that are written, all levels counted.
    pub(crate) fn weight(&self) -> u32 {
        if let Some(weight) = self.weight.get() {
            return weight;
        }
        let weight = written(weight_of(self.parts().iter()));
        self.weight.set(Some(weight));
        weight
    }

    /// Whether the function has so many parts that only its kind is written.
    pub(crate) fn is_abbreviated(&self) -> bool {
        self.weight() == 1
    }

    pub(crate) fn py_hash(&self) -> u64 {
        if let Some(hash) = self.hash.get() {
            return hash;
        }
        let mut h = TupleHash::new();
        h.push(match self.form {
            Form::Compose => 1,
            Form::Chain => 2,
            Form::Matcher => 3,
            Form::Fork => 4,
            Form::RightBound(n) => 16 + u64::from(n),
            Form::LeftBound(n) => 32 + u64::from(n),
            Form::Nothing => 5,
        });
        for part in self.parts() {
            h.push(part.py_hash());
        }
        let hash = h.finish();
        self.hash.set(Some(hash));
        hash
    }

    fn n_args(&self) -> u8 {
        self.form.n_args()
    }
}

/// The number of arguments a function takes, or None if it is not a function.
pub(crate) fn n_args(f: &Value) -> Option<u8> {
    match f {
        Value::Primitive(p) => Some(Primitive::at(*p).n_args),
        Value::Closure(c) => Some(c.n_args()),
        _ => None,
    }
}

/// `f(*args)`: a function called with arguments, as Python would.
///
/// # Errors
/// The exception that Python would raise, for example if `f` is not a function or the number of
/// arguments is wrong, or the limit that the call exceeds.
pub fn call(f: &Value, args: &[Value]) -> Result {
    match f {
        Value::Primitive(p) => meter::called_within(
            || Primitive::at(*p).frames.of_call(args),
            || primitive::run(*p, args),
        ),
        Value::Closure(c) => {
            if c.form != Form::Nothing && c.n_args() as usize != args.len() {
                return Err(Fault::TypeError);
            }
            meter::called(|| enter(c, args))
        }
        _ => Err(Fault::TypeError),
    }
}

/// Calls a function as a program with this one statement does: sets in CPython's order, within these limits.
///
/// ```
/// use swathe_arc::{Fault, Limits, call_within, primitive};
/// let interval = primitive("interval").unwrap();
/// let result = call_within(Limits::default(), &interval, &[0.into(), 1_000_000_000.into(), 1.into()]);
/// assert_eq!(result, Err(Fault::Memory));
/// ```
///
/// # Errors
/// As [`call`].
pub fn call_within(limits: Limits, f: &Value, args: &[Value]) -> Result {
    meter::set_order(Order::Cpython);
    let (result, used) = meter::measured(&limits, 0, || call(f, args));
    if used.bytes > limits.bytes_max {
        return Err(Fault::Memory);
    }
    match result {
        Ok(_) if used.work > limits.work_max => Err(Fault::Timeout),
        result => result,
    }
}

fn enter(c: &Closure, args: &[Value]) -> Result {
    let [a, b, d] = c.parts();
    match c.form {
        Form::Nothing => Value::tuple(Vec::new()),
        Form::Compose => {
            let x = call(b, args)?;
            call(a, &[x])
        }
        Form::Chain => {
            let x = call(d, args)?;
            let y = call(b, &[x])?;
            call(a, &[y])
        }
        Form::Matcher => Ok(Value::Bool(op::equal(&call(a, args)?, b))),
        Form::Fork => {
            let x = call(b, args)?;
            let y = call(d, args)?;
            call(a, &[x, y])
        }
        Form::RightBound(_) => match args {
            [x] => call(a, &[x.clone(), b.clone()]),
            [x, y] => call(a, &[x.clone(), y.clone(), b.clone()]),
            [x, y, z] => call(a, &[x.clone(), y.clone(), z.clone(), b.clone()]),
            _ => Err(Fault::TypeError),
        },
        Form::LeftBound(_) => match args {
            [x] => call(a, &[b.clone(), x.clone()]),
            [x, y] => call(a, &[b.clone(), x.clone(), y.clone()]),
            [x, y, z] => call(a, &[b.clone(), x.clone(), y.clone(), z.clone()]),
            _ => Err(Fault::TypeError),
        },
    }
}
