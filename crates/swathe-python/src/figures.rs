//! Rows of tables as dictionaries.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use swathe_run::store::record::{Figure, Figures, Record};

/// The names and values of a row.
///
/// # Errors
/// If Python has no memory.
pub fn figures<'py, R: Record + Figures>(py: Python<'py>, row: &R) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, figure) in row.named_figures() {
        dict.set_item(PyString::intern(py, name), value(py, figure)?)?;
    }
    Ok(dict)
}

fn value(py: Python<'_>, figure: Figure) -> PyResult<Bound<'_, PyAny>> {
    match figure {
        Figure::Null => Ok(py.None().into_bound(py)),
        Figure::Flag(flag) => flag.into_bound_py_any(py),
        Figure::Count(count) => match u64::try_from(count) {
            Ok(count) => count.into_bound_py_any(py),
            Err(_) => count.into_bound_py_any(py),
        },
        Figure::Number(number) => number.into_bound_py_any(py),
        Figure::Text(text) => text.into_bound_py_any(py),
        Figure::List(figures) => {
            let values = figures.into_iter().map(|figure| value(py, figure));
            PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
        }
    }
}
