//! Settings of a solve from keyword arguments.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe_command::engine_settings::EngineSettings;
use swathe_ot::Settings;
use swathe_ot_program::epsilon_check::check_least_epsilon;
use swathe_ot_program::settings::{OtInput, OtSettings};
use swathe_ot_program::spelling::Spelling;
use swathe_ot_program::with_buckets;
use swathe_python::keywords::{keyword_names, settings_of, values_of};

use crate::notes::refused;

/// The names of the keyword arguments that [`settings`] takes: without those of files, which arrays
/// do not have, and of what is written, which calls say in their own way.
#[pyfunction]
pub(crate) fn setting_names() -> Vec<String> {
    let of_files = keyword_names::<OtInput>();
    let is_for_files = |name: &String| name != "pool" && of_files.contains(name);
    let mut names = keyword_names::<OtSettings>();
    names.retain(|name| {
        !is_for_files(name)
            && !["no_normalize", "um_per_px", "fields", "potentials", "coupling"]
                .contains(&name.as_str())
    });
    names.push("buckets".to_owned());
    names
}

/// The settings of a call.
pub(crate) struct CallSettings {
    /// As they are declared.
    pub(crate) declared: OtSettings,
    /// The solver's form of them.
    pub(crate) solver: Arc<Settings>,
}

/// The settings of a call from its keyword arguments.
pub(crate) fn settings(keywords: &Bound<'_, PyDict>) -> PyResult<CallSettings> {
    let values = values_of(keywords)?;
    let declared: OtSettings = settings_of(&values)?;
    let mut solver = declared.solver();
    if values.contains_key("buckets") {
        let engine: EngineSettings = settings_of(&values)?;
        solver = with_buckets(solver, &engine.buckets.0, Spelling::Python)
            .map_err(|error| PyValueError::new_err(error.text()))?;
    }
    solver.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
    check_least_epsilon(&solver, Spelling::Python).map_err(refused)?;
    Ok(CallSettings { declared, solver: Arc::new(solver) })
}
