//! Layers of settings below the command line: variables beat `swathe.toml`, which beats defaults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::{Arg, Args, Command};
use serde_json::Value;
use swathe_formats::regular_file;

use crate::cli_error::CliError;
use crate::declaration::{self, nearest, of_texts, wrong_setting};
use crate::engine_settings::EngineSettings;
use crate::option_defaults::names;
use crate::program::{self, Program};

/// A setting's text and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The text.
    pub value: String,
    /// Where it was found: `SWATHE_MEMORY`, `memory in swathe.toml`.
    pub origin: String,
}

/// The settings of a run that is being replayed, and its workload.
static REPLAYED: Mutex<Option<(String, BTreeMap<String, Value>)>> = Mutex::new(None);

/// Executes a command of a workload with the settings of a finished run in place of variables and
/// settings files.
pub fn replaying<T>(
    workload: &str,
    settings: BTreeMap<String, Value>,
    command: impl FnOnce() -> T,
) -> T {
    let replayed = || REPLAYED.lock().unwrap_or_else(PoisonError::into_inner);
    *replayed() = Some((workload.to_owned(), settings));
    let ended = command();
    *replayed() = None;
    ended
}

/// Where settings are looked up: variables and the settings file, in order of precedence; or the
/// settings that a finished run recorded.
pub struct Layers(Place);

enum Place {
    Live { file: Option<(PathBuf, toml::Table)>, section: &'static str },
    Recorded(BTreeMap<String, Value>),
}

impl Layers {
    /// Reads the settings file, if there is one, and rejects unknown names.
    ///
    /// # Errors
    /// If the file cannot be read or parsed, or has an unknown setting.
    pub fn read(config: Option<&Path>, program: &Program) -> Result<Layers, CliError> {
        if let Some((workload, settings)) =
            &*REPLAYED.lock().unwrap_or_else(PoisonError::into_inner)
            && workload == program.kind.name
        {
            return Ok(Layers(Place::Recorded(settings.clone())));
        }
        let path = config.map_or_else(|| PathBuf::from("swathe.toml"), Path::to_owned);
        let file = match regular_file::read_to_string(&path) {
            Ok(text) => Some((path.clone(), parse_config(&path, &text)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && config.is_none() => None,
            Err(error) => {
                return Err(CliError::usage(format!("cannot read {}: {error}", path.display()))
                    .hint("check the name given to --config"));
            }
        };
        Ok(Layers(Place::Live { file, section: program.kind.name }))
    }

    /// The settings that variables and the settings file give.
    pub(crate) fn unshown(&self, program: &Program) -> BTreeMap<String, String> {
        let found = names(program).into_iter().map(|name| (self.find(&name), name));
        found.filter_map(|(found, name)| Some((name, found?.value))).collect()
    }

    /// The settings of a struct that the flags `F` of a command do not have; the others have their
    /// defaults.
    ///
    /// # Errors
    /// If a value is none of its setting.
    pub fn settings_beside<F: Args, S: Args>(&self) -> Result<S, CliError> {
        let of_flags = declaration::names::<F>();
        let text_of = |option: &Arg| {
            let is_flag = of_flags.iter().any(|name| option.get_long() == Some(name));
            if is_flag { None } else { Some(self.of_option(option)?.value) }
        };
        of_texts(text_of).map_err(|wrong| {
            let found = self.find(&wrong.name).map(|found| found.origin);
            CliError::wrong_setting(&found.unwrap_or_default(), &wrong)
        })
    }

    /// The text of an option from the first layer that has it.
    ///
    /// # Errors
    /// If it is no value of the option.
    pub fn of_checked(&self, option: &Arg) -> Result<Option<Found>, CliError> {
        let Some(found) = self.of_option(option) else {
            return Ok(None);
        };
        let alone = Arg::new(option.get_id().clone())
            .long(option.get_long().unwrap_or_default().to_owned())
            .action(option.get_action().clone())
            .value_parser(option.get_value_parser().clone())
            .default_value(found.value.clone());
        let command = Command::new("settings").no_binary_name(true).arg(alone);
        match command.try_get_matches_from([""; 0]).err().and_then(|error| wrong_setting(&error)) {
            Some(wrong) => Err(CliError::wrong_setting(&found.origin, &wrong)),
            None => Ok(Some(found)),
        }
    }

    /// The text of an option from the first layer that has it. `no-normalize = true` is
    /// `normalize = false`.
    pub(crate) fn of_option(&self, option: &Arg) -> Option<Found> {
        let name = option.get_long()?;
        let negated = self.find(&format!("no-{name}")).filter(|found| found.value == "true");
        let negated = negated.map(|found| Found { value: "false".to_owned(), ..found });
        negated.or_else(|| self.find(name))
    }

    /// The text of a setting from the first layer that has it.
    pub fn find(&self, name: &str) -> Option<Found> {
        let (file, section) = match &self.0 {
            Place::Live { file, section } => (file, *section),
            Place::Recorded(settings) => {
                let value = match settings.get(name)? {
                    Value::Null => return None,
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                return Some(Found { value, origin: format!("{name} in run.json") });
            }
        };
        let variable = format!("SWATHE_{}", name.replace('-', "_").to_uppercase());
        if let Ok(value) = std::env::var(&variable) {
            return Some(Found { value, origin: variable });
        }
        let (path, table) = file.as_ref()?;
        let section = table.get(section).and_then(toml::Value::as_table);
        let value = section.and_then(|section| section.get(name)).or_else(|| table.get(name));
        let value = match value? {
            toml::Value::Table(_) => return None,
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(Found { value, origin: format!("{name} in {}", path.display()) })
    }
}

fn parse_config(path: &Path, text: &str) -> Result<toml::Table, CliError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        CliError::usage(format!("{} is not TOML: {}", path.display(), error.to_string().trim_end()))
            .hint("settings are written like memory = \"512MiB\"")
    })?;
    for (name, value) in &table {
        match (value, section_named(name)) {
            (toml::Value::Table(section), Some(program)) => {
                let known = names(program);
                for (name_in_section, value) in section {
                    check_setting(path, &format!("[{name}] "), &known, name_in_section, value)?;
                }
            }
            (value, _) => {
                check_setting(path, "", &declaration::names::<EngineSettings>(), name, value)?
            }
        }
    }
    Ok(table)
}

/// The program that a section of the settings file belongs to.
fn section_named(name: &str) -> Option<&'static Program> {
    let mut programs = program::programs().iter();
    programs.find(|program| program.kind.name == name).copied()
}

/// Checks that a setting has a known name and a single value.
fn check_setting(
    path: &Path,
    place: &str,
    known: &[String],
    name: &str,
    value: &toml::Value,
) -> Result<(), CliError> {
    if !known.iter().any(|known| known == name) {
        let owner = format!("{place}in {}", path.display());
        let owner = owner.strip_prefix("in ").unwrap_or(&owner);
        let fault = CliError::usage(format!("{owner} has no setting called '{name}'"));
        return Err(fault.hint(match nearest(name, known) {
            Some(near) => format!("did you mean '{near}'?"),
            None => {
                let kinds = program::kinds();
                let sections: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
                let sections = sections.join("], [");
                format!("it may have {} and the sections [{sections}]", known.join(", "))
            }
        }));
    }
    if value.is_table() || value.is_array() {
        return Err(CliError::usage(format!(
            "{place}{name} in {} is not one value",
            path.display()
        ))
        .hint("settings are written like memory = \"512MiB\""));
    }
    Ok(())
}
