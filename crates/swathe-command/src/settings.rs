//! Settings of a run, resolved from flags, variables and `swathe.toml`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use swathe::{Faults, Gpus, Settings};
use swathe_run::store::execute::Output;

use crate::cli_error::CliError;
use crate::layers::Layers;
use crate::program::Program;
use crate::progress::ProgressStyle;
use crate::run_flags::RunFlags;
use crate::selection::Selection;
use crate::{interrupt, status, stderr};

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
    let faults = match std::env::var("SWATHE_FAULTS") {
        Ok(rules) => rules
            .parse::<Faults>()
            .map_err(|error| CliError::usage(format!("SWATHE_FAULTS: {error}")))?,
        Err(_) => Faults::none(),
    };
    let its = &flags.engine;
    stderr::set_json(its.progress == ProgressStyle::Json);
    let engine = its.engine(program.n_prefetch, faults);
    let output = Output {
        kind: program.kind,
        out: out.to_owned(),
        resume: flags.resume,
        shard: flags.shard,
        command: command_line(),
        settings: layers.unshown(program),
        gives_up: flags.give_up.clone(),
    };
    // Devices are opened last, because that is slow and all other settings should be checked first.
    let opened =
        its.open_devices("--device", program.has_kernels, engine.memory.faults(), Gpus::find)?;
    if let Some(note) = &opened.note {
        status!("{note}");
    }
    Ok(RunSettings {
        engine: Settings { stop: interrupt::stop(), ..opened.into_settings(engine) },
        output,
        selection: Selection::of(flags),
        progress: its.progress,
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
