//! Settings that are declared as the fields of a struct, which derives clap's `Args`: a field's name
//! is that of the setting, its type has the parser, its comment is the help, and its attribute has
//! the default. This file makes the struct from values of any source.

use std::collections::BTreeMap;
use std::num::ParseIntError;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command};
use serde_json::Value;

use crate::setting_value::{WrongValue, not_whole};

/// A setting with a value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting {
    /// Its name, as in `run.json`.
    pub name: String,
    /// The value.
    pub value: String,
    /// What is wrong with it.
    pub wrong: WrongValue,
}

/// The names of a struct's settings, as `run.json` has them.
pub fn names<S: Args>() -> Vec<String> {
    names_of(&S::augment_args(Command::new("settings")))
}

/// The long names of a command's own options.
pub(crate) fn names_of(command: &Command) -> Vec<String> {
    command.get_arguments().filter_map(|option| option.get_long().map(str::to_owned)).collect()
}

/// Settings from texts, as a command line has them. A setting without a text has its default.
///
/// # Errors
/// If a text is not a value of its setting.
pub fn of_texts<S: Args>(
    mut text_of: impl FnMut(&Arg) -> Option<String>,
) -> Result<S, WrongSetting> {
    let command = S::augment_args(Command::new("settings").no_binary_name(true));
    let command = command.mut_args(|option| match text_of(&option) {
        Some(text) => option.default_value(text),
        None => option,
    });
    let read = command.try_get_matches_from([""; 0]).and_then(|all| S::from_arg_matches(&all));
    read.map_err(|error| {
        wrong_setting(&error).unwrap_or_else(|| WrongSetting {
            name: "settings".to_owned(),
            value: String::new(),
            wrong: WrongValue { complaint: error.to_string(), hint: String::new() },
        })
    })
}

/// Settings from values, as `run.json` and keywords of Python have them: texts, or numbers, of which
/// sizes are in bytes and times in seconds. `null` and an empty list are no value.
///
/// # Errors
/// If a value is none of its setting.
pub fn of_values<S: Args>(values: &BTreeMap<String, Value>) -> Result<S, WrongSetting> {
    of_texts(|option| {
        let value = values.get(option.get_long()?)?;
        let unit = match option.get_value_names().and_then(|names| names.first()) {
            Some(name) if name == "SIZE" => "B",
            Some(name) if name == "TIME" => "s",
            _ => "",
        };
        text_of(value, ",", unit)
    })
}

/// A value as a text of the command line: `[[8, 16], [16, 32]]` is `8x16,16x32`.
fn text_of(value: &Value, separator: &str, unit: &str) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Array(all) if all.is_empty() => return None,
        Value::String(text) => text.clone(),
        // With a unit there is no exponent.
        Value::Number(number) if !unit.is_empty() && number.is_f64() => {
            format!("{}{unit}", number.as_f64()?)
        }
        Value::Number(number) => format!("{number}{unit}"),
        Value::Array(all) => {
            let texts = all.iter().map(|one| text_of(one, "x", unit));
            texts.collect::<Option<Vec<String>>>()?.join(separator)
        }
        other => other.to_string(),
    })
}

/// The setting that a command line was refused for, if a value was the reason.
pub(crate) fn wrong_setting(error: &clap::Error) -> Option<WrongSetting> {
    let context = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    };
    if !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
        return None;
    }
    // `--memory <SIZE>`
    let option = context(ContextKind::InvalidArg)?;
    let name = option.strip_prefix("--")?.split([' ', '=', '[']).next()?.to_owned();
    let value = context(ContextKind::InvalidValue)?;
    let source = std::error::Error::source(error);
    let wrong = match (source, error.get(ContextKind::ValidValue)) {
        (Some(source), _) if source.is::<ParseIntError>() => not_whole(),
        (Some(source), _) => source.downcast_ref::<WrongValue>().cloned().unwrap_or_else(|| {
            let complaint = format!("but {source}");
            WrongValue { complaint, hint: "`--help` shows what it can be".to_owned() }
        }),
        (None, Some(ContextValue::Strings(words))) => {
            let words = words.join(" or ");
            WrongValue::not(&words, format!("write {words}"))
        }
        _ => return None,
    };
    Some(WrongSetting { name, value, wrong })
}

/// The most similar name, if it is similar enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a String>) -> Option<&'a String> {
    const SIMILARITY_MIN: f64 = 0.8;
    let similar = known.into_iter().map(|known| (strsim::jaro(name, known), known));
    let nearest = similar.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 >= SIMILARITY_MIN).then_some(nearest.1)
}
