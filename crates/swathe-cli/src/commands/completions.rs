//! `swathe completions`.

use clap::CommandFactory;

use crate::fault::{Code, Fault};
use crate::flags::{Cli, CompletionsFlags};
use crate::stdout;

pub(crate) fn completions(flags: &CompletionsFlags) -> Result<Code, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "swathe", &mut script);
    stdout::print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Solved)
}
