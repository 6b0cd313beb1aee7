//! Values of grid programs as Python objects, and back.

use std::collections::HashMap;

use pyo3::exceptions::{
    PyMemoryError, PyRecursionError, PyTimeoutError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyTuple};
use swathe_arc::{Fault, Grid, Set, SetTable, Value, encode};

/// A value as the Python reference would return it. `ordered` makes a frozenset with a given hash
/// table; it is used where the table of a plain frozenset would be another. `function` makes an
/// object of the text of a function; without it, a function is an error.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &Value,
    ordered: &Bound<'py, PyAny>,
    function: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::None => py.None().into_bound(py),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Int(number) => PyInt::new(py, *number).into_any(),
        // Lookups that find nothing give one and the same object, which containers compare by.
        Value::Float(number) if number.is_nan() => py.import("math")?.getattr("nan")?,
        Value::Float(number) => PyFloat::new(py, *number).into_any(),
        Value::Big(number) => py.get_type::<PyInt>().call1((number.to_string(),))?,
        Value::Set(set) => {
            let items = set.iter().map(|item| to_python(py, &item, ordered, function));
            let items: Vec<_> = items.collect::<PyResult<_>>()?;
            let plain = PyFrozenSet::new(py, &items)?.into_any();
            match has_table_of(&plain, &items, set)? {
                true => plain,
                false => {
                    let (table, _) = set.table();
                    let slots: Vec<u8> =
                        table.slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
                    let slots = PyBytes::new(py, &slots);
                    ordered.call1((items, (table.n_slots, slots, table.has_dummies)))?
                }
            }
        }
        value if value.is_tuple() => {
            let items = value.elements().unwrap_or_default();
            let items = items.iter().map(|item| to_python(py, item, ordered, function));
            PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        value if let Some(function) = function => function.call1((encode(value),))?,
        _ => {
            return Err(PyTypeError::new_err(
                "the result is a function, which is no value of Python's",
            ));
        }
    })
}

/// Whether a frozenset that was just made of a set's elements has the hash table of the set, so that
/// [`Reader`] makes the same set of it again.
fn has_table_of(plain: &Bound<'_, PyAny>, items: &[Bound<'_, PyAny>], set: &Set) -> PyResult<bool> {
    for (found, wanted) in plain.try_iter()?.zip(items) {
        if !found?.is(wanted) {
            return Ok(false);
        }
    }
    let (table, hashes) = set.table();
    let n_slots = n_slots(plain)?;
    Ok(items.is_empty() || SetTable::of_order(&hashes, n_slots) == [table])
}

/// The slots of the hash table of a set. CPython keeps a table of eight slots inside of the object.
fn n_slots(set: &Bound<'_, PyAny>) -> PyResult<usize> {
    const SLOT_BYTES: usize = 16;
    const N_SLOTS_INSIDE: usize = 8;
    let py = set.py();
    let kind = match set.is_instance_of::<PySet>() {
        true => py.get_type::<PySet>(),
        false => py.get_type::<PyFrozenSet>(),
    };
    let n_bytes = kind.call_method1("__sizeof__", (set,))?;
    let own_bytes: usize = set.get_type().getattr("__basicsize__")?.extract()?;
    let table_bytes = n_bytes.extract::<usize>()?.saturating_sub(own_bytes);
    Ok(match table_bytes / SLOT_BYTES {
        0 => N_SLOTS_INSIDE,
        n => n,
    })
}

/// Makes values of Python objects. A set that is one object in Python becomes one set: `a & a`
/// differs from `a & b`.
#[derive(Clone)]
pub(crate) struct Reader<'py> {
    /// What [`to_python`] makes sets with.
    ordered: Bound<'py, PyAny>,
    /// The sets that were read, by address; the objects are kept, so that no other gets the address.
    sets: HashMap<*mut pyo3::ffi::PyObject, (Bound<'py, PyAny>, Value)>,
    n_levels_left: u32,
}

/// As Python's own recursion limit.
const N_LEVELS_MAX: u32 = 1000;

impl<'py> Reader<'py> {
    pub(crate) fn new(ordered: &Bound<'py, PyAny>) -> Reader<'py> {
        Reader { ordered: ordered.clone(), sets: HashMap::new(), n_levels_left: N_LEVELS_MAX }
    }

    /// A Python object as a value. Lists are taken as tuples, as JSON has them.
    pub(crate) fn value(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        if object.is_none() {
            return Ok(Value::None);
        }
        if let Ok(truth) = object.cast::<PyBool>() {
            return Ok(Value::Bool(truth.is_true()));
        }
        if let Ok(number) = object.extract::<i64>() {
            return Ok(Value::Int(number));
        }
        if object.is_instance_of::<PyInt>() {
            let digits = object.str()?.to_string();
            return digits
                .parse()
                .map_err(|_| PyValueError::new_err(format!("{digits} is no integer")));
        }
        if self.n_levels_left == 0 {
            return Err(PyRecursionError::new_err(format!(
                "a value is nested more than {N_LEVELS_MAX} levels deep"
            )));
        }
        self.n_levels_left -= 1;
        let value = self.container(object);
        self.n_levels_left += 1;
        value
    }

    fn container(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
            return Value::tuple(self.items(object)?).map_err(too_large);
        }
        if object.is_instance_of::<PyFrozenSet>() || object.is_instance_of::<PySet>() {
            if let Some((_, set)) = self.sets.get(&object.as_ptr()) {
                return Ok(set.clone());
            }
            let set = self.set(object)?;
            self.sets.insert(object.as_ptr(), (object.clone(), set.clone()));
            return Ok(set);
        }
        if object.hasattr("tolist")? {
            return self.value(&object.call_method0("tolist")?);
        }
        Err(PyTypeError::new_err(format!(
            "{object} is no value of grid programs: integers, tuples and frozensets are"
        )))
    }

    fn items(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Vec<Value>> {
        object.try_iter()?.map(|item| self.value(&item?)).collect()
    }

    /// A set with the order and the hash table that it has in Python.
    fn set(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        let items = self.items(object)?;
        let table = match object.get_type().is(&self.ordered) {
            true => Some(table_of_ordered(object)?),
            false => {
                let hashes: Vec<u64> = items.iter().map(Value::py_hash).collect();
                table_of_plain(object, &hashes)?
            }
        };
        let table = table.ok_or_else(|| {
            PyTypeError::new_err(format!(
                "the hash table of {object} cannot be read: give a frozenset of CPython"
            ))
        })?;
        Value::set_in_table(items, &table).map_err(too_large)
    }
}

/// The table that [`to_python`] gave to a set.
fn table_of_ordered(object: &Bound<'_, PyAny>) -> PyResult<SetTable> {
    let table = object.getattr("_table")?;
    let (n_slots, slots, has_dummies): (u32, Vec<u8>, bool) = table.extract()?;
    let (slots, _) = slots.as_chunks();
    let slots = slots.iter().map(|slot| u32::from_le_bytes(*slot)).collect();
    Ok(SetTable { n_slots, slots, has_dummies })
}

/// The table of a set that Python made, if it is as CPython makes them. `hashes` are those of its elements in iteration
/// order.
fn table_of_plain(object: &Bound<'_, PyAny>, hashes: &[u64]) -> PyResult<Option<SetTable>> {
    let copied = || object.py().get_type::<PySet>().call1((object,));
    let n_slots = n_slots(object)?;
    let mut tables = SetTable::of_order(hashes, n_slots);
    // A copy of another size is made by inserting, whatever the slots are.
    let copy = copied()?;
    if self::n_slots(&copy)? != n_slots {
        return Ok(tables.into_iter().next());
    }
    let places = object.try_iter()?.zip(0u32..).map(|(item, place)| Ok((item?.as_ptr(), place)));
    let places: HashMap<_, _> = places.collect::<PyResult<_>>()?;
    let order_of = |set: &Bound<'_, PyAny>| -> PyResult<Vec<u32>> {
        let place = |item: Bound<'_, PyAny>| places.get(&item.as_ptr()).copied();
        set.try_iter()?.map(|item| Ok(place(item?).unwrap_or(hashes.len() as u32))).collect()
    };
    // One of the same size has the same slots, unless elements were discarded from the original.
    if !order_of(&copy)?.is_sorted() {
        let table = tables.first();
        return Ok(table.map(|table| SetTable::with_dummies(table.n_slots, hashes.len())));
    }
    // Which of several tables it is shows where a copy puts another element: an integer, which is its own hash. It is
    // put into a slot in doubt, or makes the table grow and is then at the side of an element.
    let is_in_doubt =
        |slot: &&u32| tables.iter().any(|table| table.slots.binary_search(slot).is_err());
    let n_slots_grown = 4 * n_slots as u64;
    let slots = tables.iter().flat_map(|table| &table.slots).filter(is_in_doubt);
    let mut starts: Vec<u64> = slots.map(|&slot| u64::from(slot)).collect();
    starts.extend(hashes.iter().map(|hash| hash % n_slots_grown));
    let turns = 0..N_NUMBERS_MAX / starts.len().max(1) as u64;
    let numbers =
        turns.flat_map(|turn| starts.iter().map(move |start| turn * n_slots_grown + start));
    for number in numbers {
        if tables.len() < 2 {
            break;
        }
        let orders: Vec<_> = tables.iter().map(|table| table.order_with(hashes, number)).collect();
        if orders.windows(2).all(|pair| pair[0] == pair[1]) || object.contains(number)? {
            continue;
        }
        let copy = copied()?;
        copy.call_method1("add", (number,))?;
        let order = order_of(&copy)?;
        let mut orders = orders.iter();
        tables.retain(|_| orders.next() == Some(&order));
    }
    Ok(tables.into_iter().next())
}

/// How many integers are tried to tell tables apart.
const N_NUMBERS_MAX: u64 = 4096;

/// Why a value cannot be held.
fn too_large(fault: Fault) -> PyErr {
    match fault {
        Fault::RecursionError => PyRecursionError::new_err("a value is nested too deeply"),
        _ => PyMemoryError::new_err("a value has too many leaves"),
    }
}

/// A grid from rows of colours.
pub(crate) fn grid(object: &Bound<'_, PyAny>) -> PyResult<Grid> {
    let rows = match object.hasattr("tolist")? {
        true => object.call_method0("tolist")?.extract::<Vec<Vec<i8>>>(),
        false => object.extract::<Vec<Vec<i8>>>(),
    };
    let wrong = "a grid is rows of equal length of integers from 0 to 9, at least one cell";
    let rows = rows.map_err(|_| PyValueError::new_err(wrong))?;
    Grid::from_rows(&rows).ok_or_else(|| PyValueError::new_err(wrong))
}

/// The exception that the Python reference would raise where `what` ran.
pub(crate) fn error_of(fault: Fault, what: &str) -> PyErr {
    use pyo3::exceptions::{
        PyAttributeError, PyIndexError, PyKeyError, PyOverflowError, PyRecursionError,
        PyRuntimeError, PyStopIteration, PyZeroDivisionError,
    };
    let message = format!("raised by {what}");
    match fault {
        Fault::StopIteration => PyStopIteration::new_err(message),
        Fault::ValueError => PyValueError::new_err(message),
        Fault::IndexError => PyIndexError::new_err(message),
        Fault::TypeError => PyTypeError::new_err(message),
        Fault::RuntimeError => PyRuntimeError::new_err(message),
        Fault::ZeroDivisionError => PyZeroDivisionError::new_err(message),
        Fault::RecursionError => PyRecursionError::new_err(message),
        Fault::AttributeError => PyAttributeError::new_err(message),
        Fault::KeyError => PyKeyError::new_err(message),
        Fault::OverflowError => PyOverflowError::new_err(message),
        Fault::Timeout => PyTimeoutError::new_err(format!("{what} used up its work limit")),
        Fault::Memory => PyMemoryError::new_err(format!("{what} used up its memory limit")),
    }
}
