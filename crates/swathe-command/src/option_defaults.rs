//! Options of a command line that variables and `swathe.toml` can set, and the commands with those
//! values as defaults.

use std::path::PathBuf;

use clap::{Arg, Command};

use crate::declaration::{names_of, wrong_setting};
use crate::engine_settings::EngineSettings;
use crate::layers::Layers;
use crate::program::{Program, programs};
use crate::{cli_error::CliError, declaration};

/// The names of all settings of a program: those of every run, its own, and its other options.
pub fn names(program: &Program) -> Vec<String> {
    fn collect(command: &Command, names: &mut Vec<String>) {
        names.extend(names_of(command));
        command.get_subcommands().for_each(|verb| collect(verb, names));
    }
    let mut names = declaration::names::<EngineSettings>();
    names.extend(program.setting_names());
    let mut others = Vec::new();
    collect(&(program.command)(), &mut others);
    others.retain(|name| !OF_ONE_CALL.contains(&name.as_str()) && !names.contains(name));
    others.sort();
    others.dedup();
    names.extend(others);
    names
}

/// Options that apply to a single call and cannot have a default.
const OF_ONE_CALL: [&str; 12] = [
    "help", "config", "resume", "shard", "give-up", "explain", "only", "out", "flame", "version",
    "apply", "plan",
];

/// Whether variables and `swathe.toml` can set an option. One that only shares its flag with a
/// setting, such as the seed of samples, has another id. `--no-X` is set as X.
pub fn is_setting(option: &Arg) -> bool {
    let Some(name) = option.get_long() else {
        return false;
    };
    !OF_ONE_CALL.contains(&name)
        && !name.starts_with("no-")
        && option.get_id().as_str() == name.replace('-', "_")
}

/// The program's command, with the values from variables and its section of the settings file as
/// defaults of the verb that these words begin with. An invalid file is ignored here, because the run
/// reports its error.
pub fn with_defaults(program: &Program, words: &[String]) -> Command {
    let command = (program.command)();
    let at = words.iter().position(|word| word == program.kind.name).unwrap_or(0);
    let mut verbs = words.iter().skip(at + 1).filter(|word| !["-q", "--quiet"].contains(&&***word));
    match Layers::read(config_among(words).as_deref(), program) {
        Ok(layers) => apply(command, &layers, &mut verbs),
        Err(_) => command,
    }
}

/// A command reads its defaults also where a verb of its own runs, so only the one that runs has any.
fn apply<'a>(
    command: Command,
    layers: &Layers,
    verbs: &mut impl Iterator<Item = &'a String>,
) -> Command {
    if let Some(verb) = verbs.next()
        && command.find_subcommand(verb).is_some()
    {
        return command.mut_subcommand(verb, |its| apply(its, layers, verbs));
    }
    command.mut_args(|option| {
        let found = is_setting(&option).then(|| layers.of_option(&option)).flatten();
        let Some(found) = found else {
            return option;
        };
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let takes_value = option.get_action().takes_values();
        let option = option.default_value(found.value);
        // The help says in words what the default of these is.
        option.hide_default_value(takes_value && help.contains("[default"))
    })
}

/// The error for a command line that was refused for a value: names the flag, the variable or the
/// place in the file that has the value. `None` if the parser's own words are better.
pub(crate) fn wrong_value(error: &clap::Error, words: &[String]) -> Option<CliError> {
    let wrong = wrong_setting(error)?;
    let flag = format!("--{}", wrong.name);
    let is_flag = |word: &String| word.split('=').next() == Some(&flag);
    if words.iter().any(is_flag) {
        let is_ours = std::error::Error::source(error)?.is::<crate::setting_value::WrongValue>();
        return is_ours.then(|| CliError::wrong_setting(&flag, &wrong));
    }
    let mut named = programs().iter().filter(|program| {
        programs().len() == 1 || words.iter().any(|word| word == program.kind.name)
    });
    let layers = Layers::read(config_among(words).as_deref(), named.next()?).ok()?;
    let origin = layers.find(&wrong.name)?.origin;
    Some(CliError::wrong_setting(&origin, &wrong))
}

/// The value of `--config` in a command line.
fn config_among(words: &[String]) -> Option<PathBuf> {
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
