//! What every Python function of swathe needs: arrays in and out, engine settings from keyword
//! arguments, interrupts, and errors that name the item.
//!
//! A function converts its arguments, releases the interpreter, calls a solver or the engine, and
//! converts the answers. Nothing here knows a workload.

mod array_view;
pub mod devices;
mod engine_settings;
mod figures;
mod folder_run;
mod interrupt;
pub mod keywords;
mod progress;

pub use array_view::{ArrayView, ElementType};
pub use engine_settings::{engine_settings, place};
pub use figures::figures;
pub use folder_run::{FolderRun, Shard};
pub use interrupt::{Interrupt, interruptible};
pub use progress::Progress;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyModule;

/// Creates a submodule `swathe._swathe.NAME` and fills it.
///
/// # Errors
/// If Python refuses to create it.
pub fn submodule(
    parent: &Bound<'_, PyModule>,
    name: &str,
    fill: impl FnOnce(&Bound<'_, PyModule>) -> PyResult<()>,
) -> PyResult<()> {
    let module = PyModule::new(parent.py(), name)?;
    fill(&module)?;
    parent.add_submodule(&module)
}

/// Calls `work` and makes a `RuntimeError` of its panic. pyo3 would raise a `PanicException`, which
/// `except Exception` does not catch.
///
/// # Errors
/// Those of `work`, or the message of its panic.
pub fn no_panic<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    swathe::guarded(work).unwrap_or_else(|panic| {
        let message = swathe::panic_message(panic);
        Err(PyRuntimeError::new_err(format!("a bug in swathe, please report it: {message}")))
    })
}
