//! Values of options from variables and `swathe.toml`, which become defaults of the command line.

use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use crate::program::Program;
use crate::settings::{Layers, SHARED_NAMES};

/// The long names of all options of a command and its subcommands, without settings and without
/// options that apply to a single call.
pub(crate) fn option_names(program: &Program) -> Vec<String> {
    fn collect(command: &Command, names: &mut Vec<String>) {
        let longs = command.get_arguments().filter_map(Arg::get_long);
        names.extend(longs.map(str::to_owned));
        command.get_subcommands().for_each(|verb| collect(verb, names));
    }
    let mut names = Vec::new();
    collect(&(program.command)(), &mut names);
    names.retain(|name| {
        let name = name.as_str();
        !OF_ONE_CALL.contains(&name)
            && !SHARED_NAMES.contains(&name)
            && !program.settings.contains(&name)
    });
    names.sort();
    names.dedup();
    names
}

/// Options that apply to a single call and cannot have a default.
const OF_ONE_CALL: [&str; 12] = [
    "help", "config", "resume", "shard", "give-up", "explain", "only", "out", "flame", "version",
    "apply", "plan",
];

/// The program's command, with the values from variables and its section of the settings file as
/// defaults. An invalid file is ignored here, because the run reports its error.
pub fn with_defaults(program: &Program, config: Option<&Path>) -> Command {
    let command = (program.command)();
    match Layers::read(config, program) {
        Ok(layers) => apply(command, &layers, &option_names(program)),
        Err(_) => command,
    }
}

fn apply(mut command: Command, layers: &Layers, names: &[String]) -> Command {
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for verb in verbs {
        command = command.mut_subcommand(verb, |its| apply(its, layers, names));
    }
    command.mut_args(|arg| {
        let long = arg.get_long().unwrap_or_default();
        let is_ours = names.iter().any(|name| name == long);
        match layers.find(long, &None) {
            // Leaking is fine, because this happens once per process.
            Ok(Some(found)) if is_ours => arg.default_value(&*String::leak(found.value)),
            _ => arg,
        }
    })
}

/// The value of `--config` in a command line.
pub fn config_among(words: &[String]) -> Option<PathBuf> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = word.strip_prefix("--config=") {
            return Some(PathBuf::from(path));
        }
    }
    None
}
