//! `swathe config`: which settings are in force, and where each comes from.

use clap::{Arg, Command};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::program::{Program, programs};
use swathe_command::settings::{Layers, names};
use swathe_command::stdout;

use crate::flags::ConfigFlags;

pub(crate) fn config(flags: &ConfigFlags) -> Result<Code, CliError> {
    let asked: Vec<&Program> = match &flags.workload {
        None => programs().to_vec(),
        Some(name) => {
            let found = programs().iter().find(|program| program.kind.name == name);
            vec![found.copied().ok_or_else(|| {
                let known: Vec<&str> = programs().iter().map(|program| program.kind.name).collect();
                CliError::usage(format!("there is no workload '{name}'"))
                    .hint(format!("write one of {}", known.join(", ")))
            })?]
        }
    };
    for (at, program) in asked.into_iter().enumerate() {
        if at > 0 {
            stdout::line("")?;
        }
        stdout::line(format_args!("[{}]", program.kind.name))?;
        let layers = Layers::read(flags.config.as_deref(), program)?;
        let command = (program.command)();
        for name in names(program) {
            let (value, origin) = match layers.find(&name, &None)? {
                Some(found) => (found.value.clone(), found.origin().to_owned()),
                None => match default_of(&command, &name) {
                    Some(value) => (value, "default".to_owned()),
                    None => ("not set".to_owned(), "default".to_owned()),
                },
            };
            stdout::line(format_args!("{name:<16} {value:<24} {origin}"))?;
        }
    }
    Ok(Code::Solved)
}

/// The default of an option: declared in the parser, or named in the option's help text.
fn default_of(command: &Command, name: &str) -> Option<String> {
    let own = command.get_arguments().find(|arg| arg.get_long() == Some(name));
    let told = own.and_then(|arg: &Arg| {
        let given = arg.get_default_values().first();
        let given = given.map(|value| value.to_string_lossy().into_owned());
        given.or_else(|| {
            let help = arg.get_help()?.to_string();
            let (_, rest) = help.rsplit_once("[default: ")?;
            Some(rest.strip_suffix(']')?.to_owned())
        })
    });
    told.or_else(|| {
        let mut verbs = command.get_subcommands();
        verbs.find_map(|verb| default_of(verb, name))
    })
}
