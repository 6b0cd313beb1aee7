//! The devices of this machine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::{Cpu, Faults, Gpus};
use swathe_command::gpus::search;

/// A description of every device: `device` is what the argument of that name takes, or `None` with
/// the reason under `refused`.
///
/// # Errors
/// If a `SWATHE_*` variable has no value of its kind.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let search = search(&Faults::none());
    let search = search.map_err(|error| PyValueError::new_err(error.text()))?;
    let (cpu, found) = py.detach(|| (Cpu::detect(), Gpus::find(&search)));
    let mut all = Vec::new();
    let row = PyDict::new(py);
    row.set_item("device", "cpu")?;
    row.set_item("threads", cpu.n_threads)?;
    row.set_item("instructions", cpu.simd.to_string())?;
    row.set_item("memory_available_bytes", cpu.memory_available_bytes)?;
    all.push(row);
    for gpu in &found.usable {
        let info = gpu.info();
        let row = PyDict::new(py);
        row.set_item("device", format!("gpu:{}", info.number))?;
        row.set_item("name", &info.name)?;
        row.set_item("driver", &info.driver)?;
        row.set_item("backend", &info.backend)?;
        row.set_item("software", info.software)?;
        row.set_item("buffer_bytes_max", info.buffer_bytes_max)?;
        all.push(row);
    }
    for refused in &found.refused {
        let row = PyDict::new(py);
        row.set_item("device", py.None())?;
        row.set_item("name", &refused.name)?;
        row.set_item("refused", refused.reason.to_string())?;
        all.push(row);
    }
    Ok(all)
}
