//! The register: a line for each workload.

use pyo3::prelude::*;
use pyo3::types::PyModule;

/// Adds every workload's submodule.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    swathe_ot_python::register(module)?;
    swathe_arc_python::register(module)?;
    swathe_array_python::register(module)?;
    swathe_lattice_python::register(module)
}
