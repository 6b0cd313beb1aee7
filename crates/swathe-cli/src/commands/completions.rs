//! `swathe completions`.

use clap::CommandFactory;

use crate::fault::{Code, Fault};
use crate::flags::{Cli, CompletionsFlags};

pub(crate) fn completions(flags: &CompletionsFlags) -> Result<Code, Fault> {
    clap_complete::generate(
        flags.shell,
        &mut Cli::command(),
        "swathe",
        &mut std::io::stdout(),
    );
    Ok(Code::Solved)
}
