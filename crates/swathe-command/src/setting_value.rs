//! Kinds of values that settings have. Each has one parser for all sources of values: the command
//! line, a variable, `swathe.toml`, a run's `run.json` or a keyword of Python.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Number, Value};
use swathe::{Padding, Shape};

/// Why a text is not a value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongValue {
    /// Continues "SETTING is 'TEXT', ".
    pub complaint: String,
    /// What to write instead.
    pub hint: String,
}

impl WrongValue {
    /// The text is not `expected`.
    pub fn not(expected: &str, hint: impl Into<String>) -> WrongValue {
        WrongValue { complaint: format!("which is not {expected}"), hint: hint.into() }
    }
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.complaint, self.hint)
    }
}

impl Error for WrongValue {}

/// A whole number.
///
/// # Errors
/// If the text is something else, or the number is out of range.
pub fn whole<T: FromStr>(text: &str) -> Result<T, WrongValue> {
    text.trim().parse().map_err(|_| not_whole())
}

pub(crate) fn not_whole() -> WrongValue {
    WrongValue::not("a whole number in range", "write digits only, such as 4")
}

/// A whole number that is not 0.
///
/// # Errors
/// If the text is something else, which is told as not being `expected`.
pub fn at_least_one(text: &str, expected: &str, hint: &str) -> Result<usize, WrongValue> {
    let number = text.trim().parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| WrongValue::not(expected, hint))
}

/// A value, or `auto`: it is then chosen by the input or the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auto<T> {
    /// It is chosen.
    #[default]
    Auto,
    /// It is given.
    Is(T),
}

impl<T> Auto<T> {
    /// Reads `auto`, or anything else with `parse`.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn read<E>(text: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<Auto<T>, E> {
        match text.trim() {
            "auto" => Ok(Auto::Auto),
            text => parse(text).map(Auto::Is),
        }
    }
}

impl<T: FromStr> FromStr for Auto<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Auto<T>, T::Err> {
        Auto::read(text, str::parse)
    }
}

impl<T: Serialize> Serialize for Auto<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Auto::Auto => serializer.serialize_str("auto"),
            Auto::Is(value) => value.serialize(serializer),
        }
    }
}

/// A number, also an infinite one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Real(pub f64);

impl FromStr for Real {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<Real, WrongValue> {
        let number = text.trim().parse().ok().filter(|x: &f64| !x.is_nan());
        let wrong = || WrongValue::not("a number", "write something like 0.001, 1e-3 or 10");
        number.map(Real).ok_or_else(wrong)
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number_value(self.0).serialize(serializer)
    }
}

/// A number as a value for `run.json`: a whole number without a decimal point; infinity and NaN,
/// which JSON does not have, as strings.
pub fn number_value(x: f64) -> Value {
    /// Whole numbers up to this limit are exact in both types.
    const EXACT_MAX: f64 = (1u64 << 53) as f64;
    match Number::from_f64(x) {
        Some(_) if x.fract() == 0.0 && x.abs() <= EXACT_MAX => Value::from(x as i64),
        Some(number) => Value::Number(number),
        None => Value::String(x.to_string()),
    }
}

/// A size of memory: `512MiB`, `4GB`, `1.5 GiB`, `100000B`. A text without a unit is refused,
/// because a user who writes 512 rarely means bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<ByteSize, WrongValue> {
        let (number, unit) = with_unit(text);
        let factor: Option<f64> = match unit.to_ascii_lowercase().as_str() {
            "b" => Some(1.0),
            "kb" => Some(1e3),
            "mb" => Some(1e6),
            "gb" => Some(1e9),
            "tb" => Some(1e12),
            "kib" | "k" => Some(1024.0),
            "mib" | "m" => Some(1024f64.powi(2)),
            "gib" | "g" => Some(1024f64.powi(3)),
            "tib" | "t" => Some(1024f64.powi(4)),
            _ => None,
        };
        let bytes = number.zip(factor).map(|(number, factor)| number * factor);
        let bytes = bytes.filter(|bytes| (1.0..u64::MAX as f64).contains(bytes));
        bytes.map(|bytes| ByteSize(bytes as u64)).ok_or_else(|| {
            let hint = match without_unit(text) {
                Some(n) => format!("write the unit too: {n}MiB or {n}GB"),
                None => "write a number and a unit, such as 512MiB or 4GB".to_owned(),
            };
            WrongValue::not("a memory size", hint)
        })
    }
}

/// A time: `300s`, `500ms`, `2m`, `1h`, or `inf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl FromStr for Seconds {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<Seconds, WrongValue> {
        if text.trim() == "inf" {
            return Ok(Seconds(Duration::MAX));
        }
        let (number, unit) = with_unit(text);
        let factor = match unit {
            "ms" => Some(1e-3),
            "s" => Some(1.0),
            "m" | "min" => Some(60.0),
            "h" => Some(3600.0),
            _ => None,
        };
        let seconds = number.zip(factor).map(|(number, factor)| number * factor);
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.filter(|time| !time.is_zero()).map(Seconds).ok_or_else(|| {
            let hint = match without_unit(text) {
                Some(n) => format!("write the unit too: {n}s, {n}ms or {n}m"),
                None => "write a number and a unit, such as 300s, 500ms or 2m".to_owned(),
            };
            WrongValue::not("a time", hint)
        })
    }
}

/// A text as a number and its unit.
fn with_unit(text: &str) -> (Option<f64>, &str) {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    (number.parse().ok(), unit.trim())
}

/// The text, if it is a number without a unit.
fn without_unit(text: &str) -> Option<&str> {
    let text = text.trim();
    text.parse::<f64>().ok().filter(|n| *n > 0.0 && n.is_finite())?;
    Some(text)
}

/// The shapes that problems are padded to for launches: `auto`, `exact` or `128x256,256x512`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets(pub Padding);

impl FromStr for Buckets {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<Buckets, WrongValue> {
        Ok(Buckets(match text {
            "auto" => Padding::default(),
            "exact" => Padding::Exact,
            list => {
                let shapes = list.split(',').map(|shape| shape.trim().parse::<Shape>());
                let shapes = shapes.collect::<Result<Vec<Shape>, _>>().map_err(|error| {
                    WrongValue::not("a list of shapes", format!("{error}; or write auto or exact"))
                })?;
                Padding::Buckets(shapes)
            }
        }))
    }
}
