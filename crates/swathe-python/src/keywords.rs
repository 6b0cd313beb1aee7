//! Settings from keyword arguments: numbers, texts as on the command line, and lists.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Number, Value};
use swathe_command::declaration::{WrongSetting, names, of_values};
use swathe_command::engine_settings::EngineSettings;

/// Keyword arguments as values under the names that `run.json` has.
///
/// # Errors
/// A `TypeError` that names an argument of another type.
pub fn values_of(keywords: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Value>> {
    let named = keywords.iter().map(|(name, value)| {
        let name: String = name.extract()?;
        let json = json_of(&value).ok_or_else(|| {
            let expected = "it is a number, a text or a list of them";
            PyTypeError::new_err(format!("{name} is {value}; {expected}"))
        })?;
        Ok((name.replace('_', "-"), json))
    });
    named.collect()
}

/// The settings of a struct from keyword arguments. What is absent or `None` has the command line's
/// default. The last ones are kept, because a loop over small problems has the same settings every
/// time, and reading them takes a third of such a problem.
///
/// # Errors
/// A `ValueError` that names the argument.
pub fn settings_of<S>(keywords: &BTreeMap<String, Value>) -> PyResult<S>
where
    S: Args + Clone + Send + 'static,
{
    const N_KEPT_MAX: usize = 8;
    type Kept = VecDeque<(BTreeMap<String, Value>, Box<dyn Any + Send>)>;
    static KEPT: Mutex<Kept> = Mutex::new(VecDeque::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let same = kept.iter().filter(|(of, _)| of == keywords);
    if let Some(settings) = same.filter_map(|(_, settings)| settings.downcast_ref::<S>()).next() {
        return Ok(settings.clone());
    }
    let settings: S = of_values(keywords).map_err(|WrongSetting { name, value, wrong }| {
        PyValueError::new_err(format!("{} is '{value}', {wrong}", name.replace('-', "_")))
    })?;
    kept.truncate(N_KEPT_MAX - 1);
    kept.push_front((keywords.clone(), Box::new(settings.clone())));
    Ok(settings)
}

/// The names of a struct's settings, as keyword arguments.
pub fn keyword_names<S: Args>() -> Vec<String> {
    names::<S>().iter().map(|name| name.replace('-', "_")).collect()
}

/// The names of the settings that all calls on the engine have. Calls show progress by an argument of
/// their own.
#[pyfunction]
pub fn engine_names() -> Vec<String> {
    let mut names = keyword_names::<EngineSettings>();
    names.retain(|name| name != "progress");
    names
}

fn json_of(value: &Bound<'_, PyAny>) -> Option<Value> {
    if value.is_none() {
        return Some(Value::Null);
    }
    if let Ok(text) = value.extract::<String>() {
        return Some(Value::String(text));
    }
    if let Ok(flag) = value.extract::<bool>() {
        return Some(Value::Bool(flag));
    }
    if let Ok(number) = value.extract::<u64>() {
        return Some(Value::from(number));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Some(Value::from(number));
    }
    if let Ok(number) = value.extract::<f64>() {
        // JSON has no infinity, and texts do.
        let text = || Value::String(number.to_string());
        return Some(Number::from_f64(number).map_or_else(text, Value::Number));
    }
    let all: Vec<Bound<'_, PyAny>> = value.extract().ok()?;
    all.iter().map(json_of).collect::<Option<Vec<Value>>>().map(Value::Array)
}
