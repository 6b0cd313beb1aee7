//! Settings of a run, resolved from flags, variables and `swathe.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Number, Value};
use swathe::{BatchSize, Budget, Cpu, Device, Faults, Padding, Settings, Shape};
use swathe_formats::regular_file;
use swathe_run::store::execute::Output;

use crate::cli_error::CliError;
use crate::gpus::DeviceChoice;
use crate::interrupt;
use crate::option_defaults::option_names;
use crate::program::{self, Program};
use crate::progress::ProgressStyle;
use crate::run_flags::RunFlags;
use crate::selection::Selection;
use crate::stderr;

/// The settings that every command has, whatever its workload.
pub struct RunSettings {
    /// The engine's settings.
    pub engine: Settings,
    /// Where the outcomes are written.
    pub output: Output,
    /// Which problems to run.
    pub selection: Selection,
    /// How progress is shown.
    pub progress: ProgressStyle,
    /// Print the plan and run nothing.
    pub explain: bool,
    /// The file for the flame graph.
    pub flame: Option<PathBuf>,
    /// Whether the program has kernels for graphics processors.
    pub has_kernels: bool,
}

/// Resolves the settings of a run. All settings are checked before any input is read.
///
/// # Errors
/// If a setting has an invalid value, or if a requested device does not exist.
pub fn resolve(flags: &RunFlags, out: &Path, program: &Program) -> Result<RunSettings, CliError> {
    refuse_file(out)?;
    let layers = Layers::read(flags.config.as_deref(), program)?;
    let cpu = Cpu::detect();
    let text = |name: &str, flag: &Option<String>| layers.find(name, flag);

    let device = match text("device", &flags.device)? {
        Some(found) => DeviceChoice::parse(&found)?,
        None => DeviceChoice::Auto,
    };
    let n_threads =
        match text("threads", &flags.threads)?.map(|t| t.number::<usize>()).transpose()? {
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
        Some(found) => found.bytes()?,
        None => cpu.memory_default_bytes(),
    };
    let margin = match text("memory-margin", &flags.memory_margin)? {
        None => 0.0,
        Some(found) => match found.value.trim().parse::<f64>() {
            Ok(share) if (0.0..1.0).contains(&share) => share,
            _ => {
                return Err(found
                    .fault("a share of the memory")
                    .hint("write a number from 0 to 0.99, such as 0.2"));
            }
        },
    };
    let memory_bytes = (memory_bytes as f64 * (1.0 - margin)) as u64;
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
            Some(found) => found.time()?,
            None => defaults.time_limit,
        },
        n_verify: number_or(text("verify", &flags.verify)?, 0)?,
        seed: number_or(text("seed", &flags.seed)?, 0)?,
        stop: interrupt::stop(),
        ..defaults
    };
    let gpu_memory_bytes = match text("gpu-memory", &None)? {
        Some(found) => Some(found.bytes()?),
        None => None,
    };
    let shard = match &flags.shard {
        Some(text) => Some(parse_shard(text)?),
        None => None,
    };
    let progress = match text("progress", &flags.progress)? {
        Some(found) => ProgressStyle::parse(&found.value).ok_or_else(|| {
            found.fault("a way to show progress").hint("write auto, bar, plain, json or none")
        })?,
        None => ProgressStyle::Auto,
    };
    stderr::set_json(progress == ProgressStyle::Json);
    let output = Output {
        kind: program.kind,
        out: out.to_owned(),
        resume: flags.resume,
        shard,
        command: command_line(),
        settings: layers.unshown(program)?,
        gives_up: flags.give_up.clone(),
    };
    // Devices are opened last, because that is slow and all other settings should be checked first.
    let (gpus, routing) = device.open(program.has_kernels, engine.memory.faults())?;
    let gpus = match gpu_memory_bytes {
        Some(bytes) => gpus.iter().map(|gpu| gpu.with_memory(bytes)).collect(),
        None => gpus,
    };
    let engine =
        Settings { devices: gpus.into_iter().map(Device::Gpu).collect(), routing, ..engine };
    Ok(RunSettings {
        engine,
        output,
        selection: Selection::of(flags)?,
        progress,
        explain: flags.explain,
        flame: flags.flame.clone(),
        has_kernels: program.has_kernels,
    })
}

/// Rejects an `--out` that is a file, which cannot become a run folder. An `.npz` file is allowed,
/// as some commands write one.
fn refuse_file(out: &Path) -> Result<(), CliError> {
    if !out.is_file() || out.extension().is_some_and(|extension| extension == "npz") {
        return Ok(());
    }
    Err(CliError::usage(format!("--out {} is a file, not a folder", out.display()))
        .hint("give a folder that is new or empty"))
}

/// A setting's text and where it was found.
pub struct Found {
    /// The text.
    pub value: String,
    /// The origin: `--memory`, `SWATHE_MEMORY`, `memory in swathe.toml`.
    origin: String,
}

impl Found {
    /// Where it was found: `--memory`, `SWATHE_MEMORY`, `memory in swathe.toml`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// An error that names the setting, its value and what was expected.
    pub fn fault(&self, expected: &str) -> CliError {
        CliError::usage(format!("{} is '{}', which is not {expected}", self.origin, self.value))
    }

    /// The text as a memory size.
    fn bytes(&self) -> Result<u64, CliError> {
        let hint = match self.bare_number() {
            Some(n) => format!("write the unit too: {n}MiB or {n}GB"),
            None => "write a number and a unit, such as 512MiB or 4GB".to_owned(),
        };
        parse_bytes(&self.value).ok_or_else(|| self.fault("a memory size").hint(hint))
    }

    /// The text as a time.
    fn time(&self) -> Result<Duration, CliError> {
        let hint = match self.bare_number() {
            Some(n) => format!("write the unit too: {n}s, {n}ms or {n}m"),
            None => "write a number and a unit, such as 300s, 500ms or 2m".to_owned(),
        };
        parse_time(&self.value).ok_or_else(|| self.fault("a time").hint(hint))
    }

    /// The text, if it is a number without a unit.
    fn bare_number(&self) -> Option<&str> {
        let text = self.value.trim();
        text.parse::<f64>().ok().filter(|n| *n > 0.0 && n.is_finite())?;
        Some(text)
    }

    /// The text as a whole number.
    ///
    /// # Errors
    /// If it is not a number, or out of range.
    pub fn number<T: std::str::FromStr>(&self) -> Result<T, CliError> {
        self.value
            .trim()
            .parse()
            .map_err(|_| self.fault("a whole number in range").hint("write digits only, such as 4"))
    }
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

/// Where settings are looked up: flags, variables and the settings file, in order of precedence; or
/// the settings that a finished run recorded.
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
            return Ok(Layers::recorded(settings));
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

    /// The settings recorded in `run.json`. A value has the same meaning as in a flag.
    pub fn recorded(settings: &BTreeMap<String, Value>) -> Layers {
        Layers(Place::Recorded(settings.clone()))
    }

    /// The settings that variables and the settings file give.
    fn unshown(&self, program: &Program) -> Result<BTreeMap<String, String>, CliError> {
        let mut settings = BTreeMap::new();
        for name in names(program) {
            let found = self.find(&name, &None)?;
            settings.extend(found.map(|found| (name, found.value)));
        }
        Ok(settings)
    }

    /// The text of a setting from the first layer that has it.
    ///
    /// # Errors
    /// At present none: [`read`](Layers::read) has parsed all layers.
    pub fn find(&self, name: &str, flag: &Option<String>) -> Result<Option<Found>, CliError> {
        if let Some(value) = flag {
            return Ok(Some(Found { value: value.clone(), origin: format!("--{name}") }));
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
            return Ok(Some(Found { value, origin: variable }));
        }
        let Some((path, table)) = file else {
            return Ok(None);
        };
        let section = table.get(section).and_then(toml::Value::as_table);
        let value = section.and_then(|section| section.get(name)).or_else(|| table.get(name));
        let origin = format!("{name} in {}", path.display());
        match value {
            None | Some(toml::Value::Table(_)) => Ok(None),
            Some(toml::Value::String(value)) => Ok(Some(Found { value: value.clone(), origin })),
            Some(value) => Ok(Some(Found { value: value.to_string(), origin })),
        }
    }
}

/// The names of all settings of a program, beginning with those of every run.
pub fn names(program: &Program) -> Vec<String> {
    let shared = SHARED_NAMES.iter().chain(program.settings);
    let mut names: Vec<String> = shared.map(|&name| name.to_owned()).collect();
    names.extend(option_names(program));
    names
}

/// Settings that `swathe.toml` may have at the top level, for all workloads.
pub(crate) const SHARED_NAMES: [&str; 13] = [
    "device",
    "gpu-memory",
    "threads",
    "batch-size",
    "batch-size-max",
    "buckets",
    "memory",
    "memory-margin",
    "time-limit",
    "prefetch",
    "verify",
    "seed",
    "progress",
];

fn parse_config(path: &Path, text: &str) -> Result<toml::Table, CliError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        CliError::usage(format!("{} is not TOML: {}", path.display(), error.to_string().trim_end()))
            .hint("settings are written like memory = \"512MiB\"")
    })?;
    for (name, value) in &table {
        match value {
            toml::Value::Table(section) if section_named(name).is_some() => {
                let Some(program) = section_named(name) else {
                    continue;
                };
                let options = option_names(program);
                let own_names = program.settings.iter().copied();
                let own_names: Vec<&str> =
                    own_names.chain(options.iter().map(String::as_str)).collect();
                for (name_in_section, value) in section {
                    let place = format!("[{name}] ");
                    check_setting(path, &place, &own_names, name_in_section, value)?;
                }
            }
            value => check_setting(path, "", &[], name, value)?,
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
                found.fault("a list of shapes").hint(format!("{error}; or write auto or exact"))
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
    let (number, n_shards) = text.split_once('/').ok_or_else(|| fault("which is not i/n"))?;
    let number: usize = number.trim().parse().map_err(|_| fault("which is not i/n"))?;
    let n_shards: usize = n_shards.trim().parse().map_err(|_| fault("which is not i/n"))?;
    if number == 0 || number > n_shards {
        return Err(fault(&format!("but there is no part {number} of {n_shards}")));
    }
    Ok((number, n_shards))
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

/// Parses `512MiB`, `4GB`, `1.5 GiB`, `100000B`. A number without a unit is rejected, because a
/// user who writes 512 rarely means bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "b" => 1.0,
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

/// Parses `300s`, `500ms`, `2m`, `1h`.
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
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

/// The arguments of this process, or of the command that the demo runs.
static WORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Sets the arguments of the command that runs next.
pub fn set_words(words: Vec<String>) {
    *WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// The command with shell quoting, so that it can be pasted into a shell. `--give-up=REASON` is not
/// part of it: the command is shown as the one that solves the rest.
fn command_line() -> String {
    let words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let solves = |word: &&String| !word.starts_with("--give-up=");
    let quoted = words.iter().skip(1).filter(solves).map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    std::iter::once("swathe".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!(parse_bytes("512MiB"), Some(512 << 20));
        assert_eq!(parse_bytes("4GB"), Some(4_000_000_000));
        assert_eq!(parse_bytes("1.5 GiB"), Some(3 << 29));
        for text in ["lots", "", "-1MB", "0", "5", "1QB", "MiB"] {
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
