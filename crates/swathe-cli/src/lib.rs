//! The `swathe` program as a library; the binary only calls [`main`].
//!
//! Workloads bring their own commands and are listed in `workloads.rs`; `commands` has a file for
//! each command that all workloads share.

#[cfg(test)]
mod columns_page;
mod commands;
mod flags;
mod workloads;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches as _};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::program::{self, programs};
use swathe_command::{stderr, stdout};
use swathe_run::store::run_folder::remember_input_files;

use crate::flags::Command;

/// Executes the command that this process was started with.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os().collect()))
}

/// Executes a command, the program's name first among its arguments, and returns the exit status. It
/// takes the process over: signals, panics and variables are handled as the program handles them.
pub fn run(arguments: Vec<OsString>) -> u8 {
    return_freed_memory();
    give_drivers_a_folder();
    program::prepare(workloads::PROGRAMS);
    // Arguments that are not UTF-8 are converted lossily here; the parser handles them later.
    let words: Vec<String> =
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    program::execute(arguments, flags::command(&words), dispatch) as u8
}

/// As [`run`], without output: returns the exit status, and the warnings and errors as text.
pub fn run_quietly(arguments: Vec<OsString>) -> (u8, String) {
    stderr::captured(|| stderr::quietly(|| stdout::discarded(|| run(arguments))))
}

/// Prepares the process for many commands on the same inputs: a file that several of them need is
/// read once.
pub fn stay_warm() {
    remember_input_files();
}

/// Executes one command.
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
        Command::Shards(flags) => commands::shards::shards(&flags),
        Command::Report(flags) => commands::report::report(&flags),
        Command::Demo(flags) => commands::demo::demo(&flags),
        Command::Watch(flags) => commands::watch::watch(&flags),
        Command::Completions(flags) => commands::completions::completions(&flags),
    }
}

/// Executes a command as if it had been typed, and prints only its warnings and errors.
fn type_in_quietly(words: Vec<String>) -> Result<Code, CliError> {
    stderr::quietly(|| stdout::discarded(|| type_in(words)))
}

/// Executes a command as if it had been typed.
fn type_in(words: Vec<String>) -> Result<Code, CliError> {
    let matches = match flags::command(&words).try_get_matches_from(&words) {
        Ok(matches) => matches,
        Err(error) => return program::help_or_fault(&error, &words),
    };
    swathe_command::settings::set_words(words);
    dispatch(&matches)
}

/// Lets the system allocator return large blocks when they are freed, so that the process stays
/// within --memory.
fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: this sets options of the allocator, before any other thread exists.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 20);
        libc::mallopt(libc::M_ARENA_MAX, 4);
    }
}

/// Sets a variable that Mesa's drivers need: without it they look for a display and complain on
/// stderr, although compute kernels need no display.
fn give_drivers_a_folder() {
    const NAME: &str = "XDG_RUNTIME_DIR";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: no other thread exists that could be reading the environment.
        unsafe { std::env::set_var(NAME, std::env::temp_dir()) };
    }
}

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
