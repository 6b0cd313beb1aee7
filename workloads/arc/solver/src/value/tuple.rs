//! Tuples that have no inline form.

use crate::set::Set;
use crate::value::fault::Result;
use crate::value::hash::{self, TupleHash};
use crate::value::packed::ElementKind;
use crate::value::{Value, nesting_of};
use std::cell::OnceCell;
use std::rc::Rc;

/// The elements of a tuple that has no inline form.
pub struct Tuple {
    form: Form,
    /// The elements as values; other forms fill this at the first access.
    values: OnceCell<Vec<Value>>,
    len: usize,
    nesting: u32,
    weight: u32,
}

enum Form {
    Values,
    /// Small integers: a row of a grid.
    Row(Vec<i8>),
    /// The elements of sets, one set after the other: their order may never be needed.
    Chain(Vec<Rc<Set>>, ElementKind),
}

impl Tuple {
    /// A tuple of any values.
    pub(crate) fn of(items: Vec<Value>) -> Result<Tuple> {
        let (nesting, weight) = nesting_of(items.iter())?;
        Ok(Tuple {
            form: Form::Values,
            len: items.len(),
            values: OnceCell::from(items),
            nesting,
            weight,
        })
    }

    /// A row of a grid.
    pub(crate) fn row(cells: Vec<i8>) -> Tuple {
        let len = cells.len();
        Tuple {
            form: Form::Row(cells),
            values: OnceCell::new(),
            len,
            nesting: 1,
            weight: 1 + len as u32,
        }
    }

    /// The elements of packed sets, all of places or all of cells, one set after the other.
    pub(crate) fn chain(sets: Vec<Rc<Set>>, kind: ElementKind) -> Tuple {
        let len = sets.iter().map(|s| s.len()).sum();
        Tuple {
            form: Form::Chain(sets, kind),
            values: OnceCell::new(),
            len,
            nesting: kind.nesting() + 1,
            weight: u32::try_from(1 + len).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The elements.
    pub(crate) fn items(&self) -> &[Value] {
        self.values.get_or_init(|| self.listed())
    }

    /// The elements in a list of their own.
    pub(crate) fn to_vec(&self) -> Vec<Value> {
        match self.values.get() {
            Some(values) => values.clone(),
            None => self.listed(),
        }
    }

    fn listed(&self) -> Vec<Value> {
        match &self.form {
            Form::Values => unreachable!("the values are there from the start"),
            Form::Row(cells) => cells.iter().map(|&c| Value::Int(c.into())).collect(),
            Form::Chain(sets, _) => {
                let mut all = Vec::with_capacity(self.len);
                for set in sets {
                    all.extend(set.iter());
                }
                all
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, k: usize) -> Value {
        match &self.form {
            Form::Row(cells) => Value::Int(cells[k].into()),
            _ => self.items()[k].clone(),
        }
    }

    /// The cells, if it is a row of a grid.
    pub(crate) fn cells(&self) -> Option<&[i8]> {
        match &self.form {
            Form::Row(cells) => Some(cells),
            _ => None,
        }
    }

    /// The packed sets whose elements these are, and whether the elements are cells.
    pub(crate) fn chained(&self) -> Option<(&[Rc<Set>], ElementKind)> {
        match &self.form {
            Form::Chain(sets, kind) => Some((sets, *kind)),
            _ => None,
        }
    }

    pub(crate) fn contains(&self, value: &Value) -> bool {
        match &self.form {
            Form::Row(cells) => value
                .as_int()
                .and_then(|n| i8::try_from(n).ok())
                .is_some_and(|c| cells.contains(&c)),
            _ => self.items().contains(value),
        }
    }

    pub(crate) fn equals(&self, other: &Tuple) -> bool {
        match (&self.form, &other.form) {
            (Form::Row(a), Form::Row(b)) => a == b,
            _ => self.len == other.len && self.items() == other.items(),
        }
    }

    pub(crate) fn py_hash(&self) -> u64 {
        let mut h = TupleHash::new();
        match &self.form {
            Form::Row(cells) => cells.iter().for_each(|&c| h.push(hash::int(c.into()))),
            _ => self.items().iter().for_each(|x| h.push(x.py_hash())),
        }
        h.finish()
    }

    pub(crate) fn nesting(&self) -> u32 {
        self.nesting
    }

    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }
}
