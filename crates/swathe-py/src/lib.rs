//! The Python module `swathe._swathe`: the register of what each workload offers to Python.

mod callable;
mod callable_rows;
mod workloads;

use std::ffi::OsString;

use pyo3::prelude::*;
use pyo3::types::PyModule;

/// As in the program: buffers are allocated and released all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled part of the package.
#[pymodule]
fn _swathe(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(quiet_command, module)?)?;
    module.add_function(wrap_pyfunction!(stay_warm, module)?)?;
    module.add_function(wrap_pyfunction!(swathe_python::devices::devices, module)?)?;
    module.add_function(wrap_pyfunction!(swathe_python::keywords::engine_names, module)?)?;
    module.add_class::<callable::StopHandle>()?;
    module.add_class::<callable_rows::Fingerprint>()?;
    module.add_function(wrap_pyfunction!(callable::run_callable, module)?)?;
    module.add_function(wrap_pyfunction!(callable::run_callable_into, module)?)?;
    module.add_function(wrap_pyfunction!(callable::shape_buckets, module)?)?;
    module.add_function(wrap_pyfunction!(callable::batch_bytes_max, module)?)?;
    module.add_function(wrap_pyfunction!(callable::n_axes_max, module)?)?;
    workloads::register(module)
}

/// Runs the program `swathe` with these arguments and returns its exit status.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| swathe_cli::run(words))
}

/// Runs the program without printing; returns its exit status, and its warnings and errors.
#[pyfunction]
fn quiet_command(py: Python<'_>, words: Vec<OsString>) -> (u8, String) {
    py.detach(|| swathe_cli::run_quietly(words))
}

/// Prepares the process for many blocks of one run: what they share is read once.
#[pyfunction]
fn stay_warm() {
    swathe_cli::stay_warm();
}
