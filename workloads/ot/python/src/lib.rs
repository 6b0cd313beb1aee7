//! Optimal transport for Python: pairs of arrays in, solutions out.
//!
//! Frames are read where Python has them, by the worker that solves the pair: what is copied is the
//! box of pixels with mass, for the pairs in flight.

mod frame_view;
mod geometry;
mod judge;
mod notes;
mod run;
mod run_folder;
mod settings;
mod solution;

use pyo3::prelude::*;
use pyo3::types::PyModule;
use swathe_python::submodule;

/// Adds `swathe._swathe.ot`.
///
/// # Errors
/// If Python refuses to create the module.
pub fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    submodule(parent, "ot", |module| {
        module.add_class::<solution::RawSolution>()?;
        module.add_class::<notes::Notes>()?;
        module.add_function(wrap_pyfunction!(run::solve_pairs, module)?)?;
        module.add_function(wrap_pyfunction!(run_folder::solve_into, module)?)?;
        module.add_function(wrap_pyfunction!(judge::auto_epsilon, module)?)?;
        module.add_function(wrap_pyfunction!(judge::check, module)?)?;
        module.add_function(wrap_pyfunction!(settings::setting_names, module)?)?;
        module.add_function(wrap_pyfunction!(geometry::buckets, module)?)?;
        module.add_function(wrap_pyfunction!(geometry::pair_geometry, module)?)
    })
}
