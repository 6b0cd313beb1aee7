//! Settings: what the flags, variables and `swathe.toml` mean together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use swathe::{BatchSize, Budget, Cpu, Device, Faults, Padding, Settings, Shape};
use swathe_run::store::execute::Output;

use crate::cli_error::CliError;
use crate::gpus::DeviceChoice;
use crate::interrupt;
use crate::program::{self, Program};
use crate::progress::ProgressStyle;
use crate::run_flags::RunFlags;

/// How a command runs its workload, whatever the workload.
pub struct RunSettings {
    /// For the engine.
    pub engine: Settings,
    /// Where outcomes go.
    pub output: Output,
    /// How progress is shown.
    pub progress: ProgressStyle,
    /// Print the plan and run nothing.
    pub explain: bool,
    /// Where to draw what the time went into.
    pub flame: Option<PathBuf>,
}

/// Decides the settings of a run. Everything is checked before anything is read.
///
/// # Errors
/// If a setting has a value that it cannot have, or a device is not there.
pub fn resolve(flags: &RunFlags, out: &Path, program: &Program) -> Result<RunSettings, CliError> {
    let layers = Layers::read(flags.config.as_deref(), program)?;
    let cpu = Cpu::detect();
    let text = |name: &str, flag: &Option<String>| layers.find(name, flag);

    let device = match text("device", &flags.device)? {
        Some(found) => DeviceChoice::parse(&found)?,
        None => DeviceChoice::Auto,
    };
    let n_threads = match text("threads", &flags.threads)?
        .map(|t| t.number::<usize>())
        .transpose()?
    {
        None | Some(0) => cpu.n_threads,
        Some(n) => n,
    };
    let faults = match std::env::var("SWATHE_FAULTS") {
        Ok(rules) => rules
            .parse::<Faults>()
            .map_err(|error| CliError::usage(format!("SWATHE_FAULTS: {error}")))?,
        Err(_) => Faults::none(),
    };
    let memory_bytes = match text("memory", &flags.memory)? {
        Some(found) => parse_bytes(&found.value).ok_or_else(|| {
            found
                .fault("a memory size")
                .hint("write a number and a unit, such as 512MiB or 4GB")
        })?,
        None => cpu.memory_default_bytes(),
    };
    let defaults = Settings::default();
    let engine = Settings {
        n_threads,
        n_prefetch: text("prefetch", &flags.prefetch)?
            .map(|found| found.number())
            .transpose()?
            .unwrap_or(program.n_prefetch.unwrap_or(n_threads)),
        batch_size: match text("batch-size", &flags.batch_size)? {
            Some(found) if found.value == "auto" => BatchSize::Auto,
            Some(found) => match found.number()? {
                0 => return Err(found.fault("a batch size").hint("write auto, or 1 or more")),
                n => BatchSize::Fixed(n),
            },
            None => BatchSize::Auto,
        },
        batch_size_max: match text("batch-size-max", &flags.batch_size_max)? {
            Some(found) => match found.number()? {
                0 => return Err(found.fault("a batch size").hint("write 1 or more")),
                n => n,
            },
            None => defaults.batch_size_max,
        },
        padding: match text("buckets", &flags.buckets)? {
            Some(found) => parse_padding(&found)?,
            None => Padding::default(),
        },
        memory: Budget::with_faults(memory_bytes, faults),
        time_limit: match text("time-limit", &flags.time_limit)? {
            Some(found) => parse_time(&found.value).ok_or_else(|| {
                found
                    .fault("a time")
                    .hint("write a number and a unit, such as 300s, 500ms or 2m")
            })?,
            None => defaults.time_limit,
        },
        n_verify: number_or(text("verify", &flags.verify)?, 0)?,
        seed: number_or(text("seed", &flags.seed)?, 0)?,
        stop: interrupt::stop(),
        ..defaults
    };
    let gpu_memory_bytes = match text("gpu-memory", &None)? {
        Some(found) => Some(parse_bytes(&found.value).ok_or_else(|| {
            found
                .fault("a memory size")
                .hint("write a number and a unit, such as 512MiB or 4GB")
        })?),
        None => None,
    };
    let shard = match &flags.shard {
        Some(text) => Some(parse_shard(text)?),
        None => None,
    };
    let progress = match text("progress", &flags.progress)? {
        Some(found) => ProgressStyle::parse(&found.value).ok_or_else(|| {
            found
                .fault("a way to show progress")
                .hint("write auto, bar, plain, json or none")
        })?,
        None => ProgressStyle::Auto,
    };
    let output = Output {
        kind: program.kind,
        out: out.to_owned(),
        resume: flags.resume,
        shard,
        command: command_line(),
    };
    // Last, because it takes a while: everything else has been checked by now.
    let (gpus, routing) = device.open(program.has_kernels, engine.memory.faults())?;
    let gpus = match gpu_memory_bytes {
        Some(bytes) => gpus.iter().map(|gpu| gpu.with_memory(bytes)).collect(),
        None => gpus,
    };
    let engine = Settings {
        devices: gpus.into_iter().map(Device::Gpu).collect(),
        routing,
        ..engine
    };
    Ok(RunSettings {
        engine,
        output,
        progress,
        explain: flags.explain,
        flame: flags.flame.clone(),
    })
}

/// Where a setting's text was found.
pub struct Found {
    /// The text.
    pub value: String,
    /// How the user would name it: `--memory`, `SWATHE_MEMORY`, `memory in swathe.toml`.
    origin: String,
}

impl Found {
    /// A fault that names the setting, its value and what it should have been.
    pub fn fault(&self, expected: &str) -> CliError {
        CliError::usage(format!(
            "{} is '{}', which is not {expected}",
            self.origin, self.value
        ))
    }

    /// The text as a whole number.
    ///
    /// # Errors
    /// If it is none, or out of range.
    pub fn number<T: std::str::FromStr>(&self) -> Result<T, CliError> {
        self.value.trim().parse().map_err(|_| {
            self.fault("a whole number in range")
                .hint("write digits only, such as 4")
        })
    }
}

/// Where settings are looked up: flags, variables and the settings file, in the order in which
/// they count, or what a finished run recorded.
pub struct Layers(Place);

enum Place {
    Live {
        file: Option<(PathBuf, toml::Table)>,
        section: &'static str,
    },
    Recorded(BTreeMap<String, Value>),
}

impl Layers {
    /// Reads the settings file, if there is one, and refuses names it does not know.
    ///
    /// # Errors
    /// If the file cannot be read or says something that no program understands.
    pub fn read(config: Option<&Path>, program: &Program) -> Result<Layers, CliError> {
        let path = config.map_or_else(|| PathBuf::from("swathe.toml"), Path::to_owned);
        let file = match std::fs::read_to_string(&path) {
            Ok(text) => Some((path.clone(), parse_config(&path, &text)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && config.is_none() => None,
            Err(error) => {
                return Err(
                    CliError::usage(format!("cannot read {}: {error}", path.display()))
                        .hint("check the name given to --config"),
                );
            }
        };
        Ok(Layers(Place::Live {
            file,
            section: program.kind.name,
        }))
    }

    /// The settings that `run.json` has of a run: the same text means the same as in a flag.
    pub fn recorded(settings: &BTreeMap<String, Value>) -> Layers {
        Layers(Place::Recorded(settings.clone()))
    }

    /// The text of a setting from the first layer that has it.
    pub fn find(&self, name: &str, flag: &Option<String>) -> Result<Option<Found>, CliError> {
        if let Some(value) = flag {
            return Ok(Some(Found {
                value: value.clone(),
                origin: format!("--{name}"),
            }));
        }
        let (file, section) = match &self.0 {
            Place::Live { file, section } => (file, *section),
            Place::Recorded(settings) => {
                let value = match settings.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                };
                let origin = format!("{name} in run.json");
                return Ok(Some(Found { value, origin }));
            }
        };
        let variable = format!("SWATHE_{}", name.replace('-', "_").to_uppercase());
        if let Ok(value) = std::env::var(&variable) {
            return Ok(Some(Found {
                value,
                origin: variable,
            }));
        }
        let Some((path, table)) = file else {
            return Ok(None);
        };
        let section = table.get(section).and_then(toml::Value::as_table);
        let value = section
            .and_then(|section| section.get(name))
            .or_else(|| table.get(name));
        let origin = format!("{name} in {}", path.display());
        match value {
            None | Some(toml::Value::Table(_)) => Ok(None),
            Some(toml::Value::String(value)) => Ok(Some(Found {
                value: value.clone(),
                origin,
            })),
            Some(value) => Ok(Some(Found {
                value: value.to_string(),
                origin,
            })),
        }
    }
}

/// Settings that `swathe.toml` may have at its top, for all workloads.
const SHARED_NAMES: [&str; 12] = [
    "device",
    "gpu-memory",
    "threads",
    "batch-size",
    "batch-size-max",
    "buckets",
    "memory",
    "time-limit",
    "prefetch",
    "verify",
    "seed",
    "progress",
];

fn parse_config(path: &Path, text: &str) -> Result<toml::Table, CliError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        CliError::usage(format!(
            "{} is not TOML: {}",
            path.display(),
            error.to_string().trim_end()
        ))
        .hint("settings are written like memory = \"512MiB\"")
    })?;
    for (name, value) in &table {
        match value {
            toml::Value::Table(section) if section_named(name).is_some() => {
                let own_names = section_named(name).map_or(&[][..], |program| program.settings);
                for (name_in_section, value) in section {
                    let place = format!("[{name}] ");
                    check_setting(path, &place, own_names, name_in_section, value)?;
                }
            }
            value => check_setting(path, "", &[], name, value)?,
        }
    }
    Ok(table)
}

/// The program whose section this is.
fn section_named(name: &str) -> Option<&'static Program> {
    let mut programs = program::programs().iter();
    programs.find(|program| program.kind.name == name).copied()
}

/// A setting has a name that is known and a value that could have been typed.
fn check_setting(
    path: &Path,
    place: &str,
    own_names: &[&str],
    name: &str,
    value: &toml::Value,
) -> Result<(), CliError> {
    if !SHARED_NAMES.contains(&name) && !own_names.contains(&name) {
        let owner = format!("{place}in {}", path.display());
        let owner = owner.strip_prefix("in ").unwrap_or(&owner);
        let fault = CliError::usage(format!("{owner} has no setting called '{name}'"));
        let kinds = program::kinds();
        let sections: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        return Err(fault.hint(format!(
            "it may have {} and the sections [{}]",
            [&SHARED_NAMES, own_names].concat().join(", "),
            sections.join("], [")
        )));
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

fn number_or<T: std::str::FromStr>(found: Option<Found>, default: T) -> Result<T, CliError> {
    found.map_or(Ok(default), |found| found.number())
}

fn parse_padding(found: &Found) -> Result<Padding, CliError> {
    match found.value.as_str() {
        "auto" => Ok(Padding::default()),
        "exact" => Ok(Padding::Exact),
        list => {
            let shapes = list.split(',').map(|text| text.trim().parse::<Shape>());
            let shapes = shapes.collect::<Result<Vec<Shape>, _>>().map_err(|error| {
                found
                    .fault("a list of shapes")
                    .hint(format!("{error}; or write auto or exact"))
            })?;
            Ok(Padding::Buckets(shapes))
        }
    }
}

fn parse_shard(text: &str) -> Result<(usize, usize), CliError> {
    let fault = |what: &str| {
        CliError::usage(format!("--shard is '{text}', {what}"))
            .hint("write i/n with i from 1 to n: --shard 1/4, --shard 2/4 …")
    };
    let (number, n_shards) = text
        .split_once('/')
        .ok_or_else(|| fault("which is not i/n"))?;
    let number: usize = number
        .trim()
        .parse()
        .map_err(|_| fault("which is not i/n"))?;
    let n_shards: usize = n_shards
        .trim()
        .parse()
        .map_err(|_| fault("which is not i/n"))?;
    if number == 0 || number > n_shards {
        return Err(fault(&format!(
            "but there is no part {number} of {n_shards}"
        )));
    }
    Ok((number, n_shards))
}

/// `512MiB`, `4GB`, `1.5 GiB`, `100000`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "kib" | "k" => 1024.0,
        "mib" | "m" => 1024f64.powi(2),
        "gib" | "g" => 1024f64.powi(3),
        "tib" | "t" => 1024f64.powi(4),
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * factor;
    (bytes >= 1.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// `300s`, `500ms`, `2m`, `1h`.
fn parse_time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero())
}

/// The words that this process was started with, or that the demo types in the user's place.
static WORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes the words of the command that is carried out next.
pub fn set_words(words: Vec<String>) {
    *WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// The command as it could be typed again.
fn command_line() -> String {
    let words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let quoted = words.iter().skip(1).map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    std::iter::once("swathe".to_owned())
        .chain(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!(parse_bytes("512MiB"), Some(512 << 20));
        assert_eq!(parse_bytes("4GB"), Some(4_000_000_000));
        assert_eq!(parse_bytes("1.5 GiB"), Some(3 << 29));
        for text in ["lots", "", "-1MB", "0", "1QB", "MiB"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
        assert_eq!(parse_time("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Some(Duration::from_secs(120)));
        for text in ["soon", "5", "0s", "-1s", ""] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn shards() {
        assert_eq!(parse_shard("2/4").unwrap(), (2, 4));
        for text in ["5/4", "0/4", "1", "a/b", "1/0"] {
            assert!(parse_shard(text).is_err(), "{text}");
        }
    }
}
