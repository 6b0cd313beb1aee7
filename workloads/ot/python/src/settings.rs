//! Settings of a solve from keyword arguments.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe_ot::{CoordScale, Crop, Precision, Reference, Settings, Shape};
use swathe_ot_program::epsilon_check::check_least_epsilon;
use swathe_ot_program::spelling::Spelling;

use crate::notes::refused;

/// What is absent or `None` has the command line's default.
pub(crate) fn settings(arguments: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut settings = Settings { fields: true, ..Settings::default() };
    let mut padding_px = 16;
    let mut crop = "union".to_owned();
    let mut buckets: Vec<(usize, usize)> = Vec::new();
    for (name, value) in arguments.iter() {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let number = || {
            value
                .extract::<f64>()
                .map_err(|_| PyTypeError::new_err(format!("{name} is {value}; it is a number")))
        };
        let count = || {
            value.extract::<usize>().map_err(|_| {
                PyTypeError::new_err(format!("{name} is {value}; it is a whole number, 0 or more"))
            })
        };
        let text = || {
            value
                .extract::<String>()
                .map_err(|_| PyTypeError::new_err(format!("{name} is {value}; it is a text")))
        };
        let unknown = |text: &str, known: &str| {
            PyValueError::new_err(format!("{name} is '{text}'; it is one of {known}"))
        };
        match name.as_str() {
            "epsilon" => settings.epsilon = number()?,
            "relaxation" => match value.extract::<(f64, f64)>() {
                Ok((source, target)) => {
                    settings.relaxation = source;
                    settings.relaxation_tgt = (target != source).then_some(target);
                }
                Err(_) => settings.relaxation = number()?,
            },
            "raw_velocity" => settings.raw_velocity = value.extract()?,
            "tolerance" => settings.tolerance = number()?,
            "max_iterations" => settings.max_iterations = count()?,
            "pool" => settings.pool = count()?,
            "padding" => padding_px = count()?,
            "normalize" => settings.normalize = value.extract()?,
            "potentials" => settings.potentials = value.extract()?,
            "coord_scale" => {
                settings.coord_scale = match value.extract::<String>() {
                    Ok(text) if text == "auto" => CoordScale::Auto,
                    Ok(text) => return Err(unknown(&text, "'auto' or a number")),
                    Err(_) => CoordScale::Fixed(number()?),
                }
            }
            "reference" => {
                settings.reference = match text()?.as_str() {
                    "product" => Reference::Product,
                    "counting" => Reference::Counting,
                    other => return Err(unknown(other, "'product', 'counting'")),
                }
            }
            "precision" => {
                settings.precision = match text()?.as_str() {
                    "auto" => Precision::Auto,
                    "f32" => Precision::F32,
                    "f64" => Precision::F64,
                    other => return Err(unknown(other, "'auto', 'f32', 'f64'")),
                }
            }
            "crop" => crop = text()?,
            "buckets" => buckets = value.extract()?,
            other => {
                return Err(PyTypeError::new_err(format!("there is no setting '{other}'")));
            }
        }
    }
    settings.crop = match crop.as_str() {
        "union" => Crop::Union { padding_px },
        "fixed" => Crop::Fixed,
        "bucketed" => Crop::Bucketed {
            padding_px,
            buckets: buckets.iter().map(|&(h, w)| Shape::new(h, w)).collect(),
        },
        other => {
            return Err(PyValueError::new_err(format!(
                "crop is '{other}'; it is one of 'union', 'fixed', 'bucketed'"
            )));
        }
    };
    settings.error_bar = !settings.raw_velocity;
    settings.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
    check_least_epsilon(&settings, Spelling::Python).map_err(refused)?;
    Ok(settings)
}
