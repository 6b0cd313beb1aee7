//! Settings of the engine from keyword arguments.

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::{BatchSize, Budget, Cpu, Device, Routing, Settings};

use crate::devices::find_gpus;

/// The settings of a run from the keyword arguments that all batched calls share: `device`,
/// `threads`, `memory`, `batch_size`, `batch_size_max`, `time_limit`, `verify`, `seed`. What is
/// absent or `None` has the command line's default.
///
/// # Errors
/// A `ValueError` or `TypeError` that names the argument.
pub fn engine_settings(arguments: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let cpu = Cpu::detect();
    let get = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(arguments.get_item(name)?.filter(|value| !value.is_none()))
    };
    let n_threads = match get("threads")? {
        None => cpu.n_threads,
        Some(value) => match count("threads", &value)? {
            0 => cpu.n_threads,
            n => n,
        },
    };
    let memory_bytes = match get("memory")? {
        None => cpu.memory_available_bytes / 5 * 4,
        Some(value) => bytes("memory", &value)?,
    };
    let margin = match get("memory_margin")? {
        None => 0.0,
        Some(value) => number("memory_margin", &value)?,
    };
    if !(0.0..1.0).contains(&margin) {
        return Err(PyValueError::new_err(format!(
            "memory_margin is {margin}; it is a share, from 0 up to but not including 1"
        )));
    }
    let budget = Budget::new((memory_bytes as f64 * (1.0 - margin)) as u64);
    let batch_size = match get("batch_size")? {
        None => BatchSize::Auto,
        Some(value) if value.extract::<&str>().is_ok_and(|text| text == "auto") => BatchSize::Auto,
        Some(value) => match count("batch_size", &value)? {
            0 => {
                return Err(PyValueError::new_err("batch_size is 0; it is 1 or more, or 'auto'"));
            }
            n => BatchSize::Fixed(n),
        },
    };
    let defaults = Settings::default();
    let time_limit = match get("time_limit")? {
        None => Duration::from_secs(300),
        Some(value) => {
            let seconds = number("time_limit", &value)?;
            if seconds.is_nan() || seconds <= 0.0 {
                return Err(PyValueError::new_err(format!(
                    "time_limit is {seconds}; it is in seconds and positive"
                )));
            }
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        }
    };
    let device = match get("device")? {
        None => "auto".to_owned(),
        Some(value) => value
            .extract::<String>()
            .map_err(|_| PyTypeError::new_err("device is 'auto', 'cpu', 'gpu' or 'gpu:0,2'"))?,
    };
    let (devices, routing) = open_devices(&device, &budget)?;
    Ok(Settings {
        n_threads,
        n_prefetch: 0,
        batch_size,
        batch_size_max: match get("batch_size_max")? {
            None => defaults.batch_size_max,
            Some(value) => count("batch_size_max", &value)?.max(1),
        },
        devices,
        routing,
        memory: budget,
        time_limit,
        n_verify: match get("verify")? {
            None => 0,
            Some(value) => count("verify", &value)?,
        },
        seed: match get("seed")? {
            None => 0,
            Some(value) => value.extract()?,
        },
        ..defaults
    })
}

/// `auto` opens no device: opening takes up to a second, more than most calls. A caller that has a
/// graphics processor names it.
fn open_devices(text: &str, budget: &Budget) -> PyResult<(Vec<Device>, Routing)> {
    if matches!(text, "auto" | "cpu") {
        return Ok((Vec::new(), Routing::Measured));
    }
    let bad = || {
        PyValueError::new_err(format!(
            "device is '{text}'; it is 'auto', 'cpu', 'gpu' or some of several, 'gpu:0,2'"
        ))
    };
    let wanted: Option<Vec<usize>> = match text.strip_prefix("gpu") {
        Some("") => None,
        Some(rest) => {
            let numbers = rest.strip_prefix(':').ok_or_else(bad)?.split(',');
            let numbers: Result<_, _> = numbers.map(|number| number.trim().parse()).collect();
            Some(numbers.map_err(|_| bad())?)
        }
        None => return Err(bad()),
    };
    let found = find_gpus(budget.faults());
    let n_found = found.usable.len();
    let missing = wanted.iter().flatten().find(|&&number| number >= n_found);
    let is_wanted = |number: usize| wanted.as_ref().is_none_or(|wanted| wanted.contains(&number));
    let usable = found.usable.into_iter().enumerate();
    let devices: Vec<Device> =
        usable.filter(|&(number, _)| is_wanted(number)).map(|(_, gpu)| Device::Gpu(gpu)).collect();
    match devices.is_empty() || missing.is_some() {
        true => Err(PyValueError::new_err(format!(
            "device is '{text}', and there is no such graphics processor; `swathe devices` says what was found"
        ))),
        false => Ok((devices, Routing::Launch)),
    }
}

fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    value.extract::<usize>().map_err(|_| {
        PyTypeError::new_err(format!("{name} is {value}; it is a whole number, 0 or more"))
    })
}

fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value
        .extract::<f64>()
        .map_err(|_| PyTypeError::new_err(format!("{name} is {value}; it is a number")))
}

/// A number of bytes, or a text such as `512MiB`.
fn bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(n) = value.extract::<u64>() {
        return Ok(n);
    }
    let bad = || {
        PyValueError::new_err(format!(
            "{name} is {value}; write a number of bytes, or a text such as '512MiB' or '4GB'"
        ))
    };
    let text = value.extract::<String>().map_err(|_| bad())?;
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(bad()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| bad())?;
    match number >= 0.0 && number.is_finite() {
        true => Ok((number * unit as f64) as u64),
        false => Err(bad()),
    }
}
