use crate::fault::{Fault, Result};
use crate::hash::TupleHash;
use crate::meter;
use crate::primitive::PRIMITIVES;
use crate::value::{Value, nesting_of};
use std::cell::Cell;

/// A function made by another: `compose`, `chain`, `matcher`, `fork`, `rbind`, `lbind`.
pub struct Closure {
    pub(crate) form: Form,
    pub(crate) parts: [Value; 3],
    nesting: u32,
    weight: u32,
    /// Parts are shared, so a function may have far more parts than could be hashed twice.
    hash: Cell<Option<u64>>,
}

/// Functions with more parts than this are not written out.
const WEIGHT_WRITTEN_MAX: u32 = 1000;

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
    /// The empty tuple, whatever the arguments: what a guarded line has in place of a function.
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
        let (nesting, weight) = nesting_of(parts.iter())?;
        let weight = if weight > WEIGHT_WRITTEN_MAX {
            1
        } else {
            weight
        };
        Ok(Value::Closure(std::rc::Rc::new(Closure {
            form,
            parts,
            nesting,
            weight,
            hash: Cell::new(None),
        })))
    }

    pub(crate) fn nesting(&self) -> u32 {
        self.nesting
    }

    /// The number of parts that are written, all levels counted.
    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }

    /// Whether the function has so many parts that only its kind is written.
    pub(crate) fn is_abbreviated(&self) -> bool {
        self.weight == 1
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
        for part in &self.parts {
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
        Value::Primitive(p) => Some(PRIMITIVES[*p as usize].n_args),
        Value::Closure(c) => Some(c.n_args()),
        _ => None,
    }
}

/// `f(*args)`: a function called with arguments, as Python would.
pub fn call(f: &Value, args: &[Value]) -> Result {
    match f {
        Value::Primitive(p) => {
            let primitive = &PRIMITIVES[*p as usize];
            if primitive.n_args as usize != args.len() {
                return Err(Fault::TypeError);
            }
            meter::called(|| (primitive.run)(args))
        }
        Value::Closure(c) => {
            if c.form != Form::Nothing && c.n_args() as usize != args.len() {
                return Err(Fault::TypeError);
            }
            meter::called(|| enter(c, args))
        }
        _ => Err(Fault::TypeError),
    }
}

fn enter(c: &Closure, args: &[Value]) -> Result {
    let [a, b, d] = &c.parts;
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
        Form::Matcher => Ok(Value::Bool(call(a, args)? == *b)),
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
