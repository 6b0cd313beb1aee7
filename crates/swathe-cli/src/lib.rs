//! The `swathe` program as a library: its binary is a line.
//!
//! Workloads bring their commands with them and are listed in `workloads.rs`; `commands` has a file
//! for each verb that all of them share.

mod commands;
mod flags;
mod workloads;

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches as _};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::program::{self, programs};
use swathe_command::{stderr, stdout};

use crate::flags::Command;

/// Carries out the command that this process was started with.
pub fn main() -> ExitCode {
    return_freed_memory();
    give_drivers_a_folder();
    program::prepare(workloads::PROGRAMS);
    // Words that are no text are told apart from options later.
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    program::carry_out(flags::command(&words), dispatch)
}

/// Carries out one command.
fn dispatch(matches: &ArgMatches) -> Result<Code, CliError> {
    if let Some((name, its)) = matches.subcommand()
        && let Some(program) = programs().iter().find(|program| program.kind.name == name)
    {
        return (program.run)(its);
    }
    match Command::from_arg_matches(matches).unwrap_or_else(|error| error.exit()) {
        Command::Devices(flags) => commands::devices::devices(&flags),
        Command::Replay(flags) => commands::replay::replay(&flags),
        Command::Bench(flags) => commands::bench::bench(&flags),
        Command::Config(flags) => commands::config::config(&flags),
        Command::Merge(flags) => commands::merge::merge(&flags),
        Command::Report(flags) => commands::report::report(&flags),
        Command::Demo(flags) => commands::demo::demo(&flags),
        Command::Watch(flags) => commands::watch::watch(&flags),
        Command::Completions(flags) => commands::completions::completions(&flags),
    }
}

/// Carries out a command as if it had been typed, of which only warnings and errors are told.
fn type_in_quietly(words: Vec<String>) -> Result<Code, CliError> {
    stderr::quietly(|| stdout::discarded(|| type_in(words)))
}

/// Carries out a command as if it had been typed.
fn type_in(words: Vec<String>) -> Result<Code, CliError> {
    let matches = match flags::command(&words).try_get_matches_from(&words) {
        Ok(matches) => matches,
        Err(error) => return program::help_or_fault(&error),
    };
    swathe_command::settings::set_words(words);
    dispatch(&matches)
}

/// Large blocks go back to the system when they are freed, so that the process keeps to --memory.
fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets options of the allocator, before any other thread is there.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 20);
        libc::mallopt(libc::M_ARENA_MAX, 4);
    }
}

/// Mesa's drivers look for a display and complain on stderr if this variable is not set; compute
/// kernels need no display.
fn give_drivers_a_folder() {
    const NAME: &str = "XDG_RUNTIME_DIR";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: no other thread is there that could be reading the environment.
        unsafe { std::env::set_var(NAME, std::env::temp_dir()) };
    }
}

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
