//! `swathe completions`: prints the completion script for a shell.

use crate::flags::{self, CompletionsFlags};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::stdout;

pub(crate) fn completions(asked: &CompletionsFlags) -> Result<Code, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut flags::command(&[]), "swathe", &mut script);
    stdout::print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Solved)
}
