//! `swathe config`: which settings a command has now, and where each comes from.

use clap::{Arg, Command};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::layers::Layers;
use swathe_command::option_defaults::is_setting;
use swathe_command::program::{Program, programs};
use swathe_command::stdout;

use crate::flags::ConfigFlags;

pub(crate) fn config(flags: &ConfigFlags) -> Result<Code, CliError> {
    let (asked, verbs): (Vec<&Program>, &[String]) = match flags.command.split_first() {
        None => (programs().to_vec(), &[]),
        Some((name, verbs)) => {
            let found = programs().iter().find(|program| program.kind.name == name);
            let known = programs().iter().map(|program| program.kind.name);
            (vec![found.copied().ok_or_else(|| unknown("workload", name, known))?], verbs)
        }
    };
    for (at, program) in asked.into_iter().enumerate() {
        let layers = Layers::read(flags.config.as_deref(), program)?;
        let mut name = program.kind.name.to_owned();
        let mut command = (program.command)();
        for verb in verbs {
            let known = command.get_subcommands().map(Command::get_name);
            let next = command.find_subcommand(verb).cloned();
            command = next.ok_or_else(|| unknown(&format!("command of {name}"), verb, known))?;
            name = format!("{name} {verb}");
        }
        // Where nothing runs without a verb, the settings are those of the verbs.
        let has_own = command.get_arguments().any(is_setting);
        let shown: Vec<(String, &Command)> = match has_own {
            true => vec![(name, &command)],
            false => {
                let verbs = command.get_subcommands();
                verbs.map(|verb| (format!("{name} {}", verb.get_name()), verb)).collect()
            }
        };
        for (below, (name, command)) in shown.into_iter().enumerate() {
            if at + below > 0 {
                stdout::line("")?;
            }
            stdout::line(format_args!("[{name}]"))?;
            for option in command.get_arguments().filter(|option| is_setting(option)) {
                let (value, origin) = value_of(option, &layers)?;
                let name = option.get_long().unwrap_or_default();
                stdout::line(format_args!("{name:<16} {value:<24} {origin}"))?;
            }
        }
    }
    Ok(Code::Solved)
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> CliError {
    let known: Vec<&str> = known.collect();
    CliError::usage(format!("there is no {what} '{name}'"))
        .hint(format!("write one of {}", known.join(", ")))
}

/// The value that an option has without a flag, and where it comes from.
fn value_of(option: &Arg, layers: &Layers) -> Result<(String, String), CliError> {
    if let Some(found) = layers.of_checked(option)? {
        return Ok((found.value, found.origin));
    }
    let declared: Vec<_> =
        option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let value = match declared.is_empty() {
        false => declared.join(" "),
        // What depends on the machine or the input stands in the help.
        true => {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            let told = help.rsplit_once("[default: ").and_then(|(_, rest)| rest.strip_suffix(']'));
            match (told, option.get_action().takes_values()) {
                (Some(told), _) => told.to_owned(),
                (None, true) => "not set".to_owned(),
                (None, false) => "false".to_owned(),
            }
        }
    };
    Ok((value, "default".to_owned()))
}
