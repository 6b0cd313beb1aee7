//! Options of a command that a variable or `swathe.toml` gives a value: they become the command
//! line's defaults.

use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use crate::program::Program;
use crate::settings::{Layers, SHARED_NAMES};

/// The long names of all options of a command and its verbs, besides those that are settings
/// already and those that belong to one call alone.
pub(crate) fn option_names(program: &Program) -> Vec<String> {
    fn collect(command: &Command, names: &mut Vec<String>) {
        let longs = command.get_arguments().filter_map(Arg::get_long);
        names.extend(longs.map(str::to_owned));
        command
            .get_subcommands()
            .for_each(|verb| collect(verb, names));
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

/// Options that make no sense for every call.
const OF_ONE_CALL: [&str; 9] = [
    "help", "config", "resume", "shard", "explain", "only", "out", "flame", "version",
];

/// The program's command, with what variables and its section of the settings file say of its
/// options as defaults. A file that cannot be understood changes nothing here: a run says what is
/// wrong with it.
pub fn with_defaults(program: &Program, config: Option<&Path>) -> Command {
    let command = (program.command)();
    match Layers::read(config, program) {
        Ok(layers) => apply(command, &layers, &option_names(program)),
        Err(_) => command,
    }
}

fn apply(mut command: Command, layers: &Layers, names: &[String]) -> Command {
    let verbs: Vec<String> = command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    for verb in verbs {
        command = command.mut_subcommand(verb, |its| apply(its, layers, names));
    }
    command.mut_args(|arg| {
        let long = arg.get_long().unwrap_or_default();
        let is_ours = names.iter().any(|name| name == long);
        match layers.find(long, &None) {
            // Once in a process, so that nothing is lost by never freeing it.
            Ok(Some(found)) if is_ours => arg.default_value(&*String::leak(found.value)),
            _ => arg,
        }
    })
}

/// The file that `--config` names among these words.
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
