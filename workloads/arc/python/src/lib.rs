//! Grid programs for Python: libraries of programs, tasks as dicts, exact values.

mod batt;
mod convert;
mod library;

use pyo3::prelude::*;
use pyo3::types::PyModule;
use swathe_python::submodule;

/// Adds `swathe._swathe.arc`.
///
/// # Errors
/// If Python refuses to create the module.
pub fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    submodule(parent, "arc", |module| {
        module.add_class::<library::RawLibrary>()?;
        module.add_class::<batt::RawBatt>()?;
        module.add_function(wrap_pyfunction!(library::call_primitive, module)?)
    })
}
