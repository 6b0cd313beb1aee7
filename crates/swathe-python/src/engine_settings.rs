//! Settings of the engine from keyword arguments.

use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::{Faults, Finish, Gpus, Settings, Source, Workload};
use swathe_command::engine_settings::EngineSettings;
use swathe_command::{placement, stderr};
use swathe_run::store::execute::Output;

use crate::keywords::{settings_of, values_of};

/// The settings of a run from the keyword arguments that all batched calls share. Without kernels
/// `device="auto"` opens no devices.
///
/// # Errors
/// A `ValueError` or `TypeError` that names the argument.
pub fn engine_settings(keywords: &Bound<'_, PyDict>, has_kernels: bool) -> PyResult<Settings> {
    /// A process makes many calls, and the search takes up to a second.
    static FOUND: OnceLock<Gpus> = OnceLock::new();
    let its: EngineSettings = settings_of(&values_of(keywords)?)?;
    // The problems are in memory already.
    let engine = its.engine(Some(0), Faults::none());
    let opened = its.open_devices("device", has_kernels, engine.memory.faults(), |search| {
        FOUND.get_or_init(|| Gpus::find(search)).clone()
    });
    let opened = opened.map_err(|error| PyValueError::new_err(error.text()))?;
    if let Some(note) = &opened.note {
        let py = keywords.py();
        let note = CString::new(note.replace('\0', ""))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 1)?;
    }
    Ok(opened.into_settings(engine))
}

/// Decides which device solves which problems of a call, as for a run of the command.
///
/// # Errors
/// If the file that the shards of a run share cannot be used.
pub fn place<F: Finish>(
    finish: &Arc<F>,
    source: &Source<<F::Workload as Workload>::Problem, F::Failure>,
    engine: &mut Settings,
    output: Option<&Output>,
) -> PyResult<()> {
    let placed = stderr::quietly(|| placement::place(finish, source, engine, output, false));
    placed.map(drop).map_err(|error| PyRuntimeError::new_err(error.text()))
}
