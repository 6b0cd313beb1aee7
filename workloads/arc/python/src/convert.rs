//! Values of grid programs as Python objects, and back.

use pyo3::exceptions::{PyMemoryError, PyTimeoutError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyTuple};
use swathe_arc::{Fault, Grid, Value, encode};

/// A value as the Python reference would return it. `ordered` makes a frozenset that iterates in a
/// given order; it is used where a plain frozenset would not. `function` makes an object of the text
/// of a function; without it, a function is an error.
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
            let plain = PyFrozenSet::new(py, &items)?;
            let mut is_in_order = true;
            for (found, wanted) in plain.try_iter()?.zip(&items) {
                is_in_order &= found?.is(wanted);
            }
            match is_in_order {
                true => plain.into_any(),
                false => ordered.call1((items,))?,
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

/// A Python object as a value. Lists are taken as tuples, as JSON has them.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
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
    let items =
        || -> PyResult<Vec<Value>> { object.try_iter()?.map(|item| from_python(&item?)).collect() };
    if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
        return Value::tuple(items()?).map_err(error_of);
    }
    if object.is_instance_of::<PyFrozenSet>() || object.is_instance_of::<PySet>() {
        return Value::set(items()?).map_err(error_of);
    }
    if object.hasattr("tolist")? {
        return from_python(&object.call_method0("tolist")?);
    }
    Err(PyTypeError::new_err(format!(
        "{object} is no value of grid programs: integers, tuples and frozensets are"
    )))
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

/// The exception that the Python reference would raise.
pub(crate) fn error_of(fault: Fault) -> PyErr {
    use pyo3::exceptions::{
        PyAttributeError, PyIndexError, PyKeyError, PyOverflowError, PyRecursionError,
        PyRuntimeError, PyStopIteration, PyZeroDivisionError,
    };
    let message = "raised by the grid program";
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
        Fault::Timeout => PyTimeoutError::new_err("the grid program used up its work limit"),
        Fault::Memory => PyMemoryError::new_err("the grid program used up its memory limit"),
    }
}
