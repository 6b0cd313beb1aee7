//! The `swathe` program: it reads flags, calls the libraries and talks to people.
//!
//! Three layers: `flags` says what can be typed, `settings` decides what it means (flags beat
//! `SWATHE_*` variables, which beat `swathe.toml`), and `commands` has a file for each verb.

#![expect(
    clippy::print_stderr,
    reason = "stderr is where the program talks to its user"
)]

mod allocator;
mod commands;
mod fault;
mod flags;
mod gpus;
mod interrupt;
mod progress;
mod settings;
mod stdout;
mod summary;
mod vulkan;

use std::process::ExitCode;

use clap::Parser;

use crate::fault::{Code, Fault};
use crate::flags::{Cli, Command};

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    return_freed_memory();
    give_drivers_a_folder();
    interrupt::install();
    quiet_caught_panics();
    settings::set_words(std::env::args().collect());
    match dispatch(Cli::parse()) {
        Ok(code) => code.into(),
        Err(fault) => {
            eprintln!("{fault}");
            fault.code.into()
        }
    }
}

/// Carries out one command.
fn dispatch(cli: Cli) -> Result<Code, Fault> {
    match cli.command {
        Command::Ot(flags) => commands::ot::ot(&flags),
        Command::Arc(flags) => {
            keep_some_freed_memory();
            commands::arc::arc(&flags)
        }
        Command::Array(flags) => commands::array::array(&flags),
        Command::Lattice(flags) => commands::lattice::lattice(&flags),
        Command::Devices(flags) => commands::devices::devices(&flags),
        Command::Merge(flags) => commands::merge::merge(&flags),
        Command::Report(flags) => commands::report::report(&flags),
        Command::Demo(flags) => commands::demo::demo(&flags),
        Command::Watch(flags) => commands::watch::watch(&flags),
        Command::Completions(flags) => commands::completions::completions(&flags),
    }
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

/// Grid programs make and drop values of some megabytes all the time; each time the system would
/// have to clear them anew.
fn keep_some_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets options of the allocator, which may be done at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 16 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 32 << 20);
    }
}

/// Mesa's drivers look for a display and complain on stderr if this variable is not set, although
/// nobody wants to see anything.
fn give_drivers_a_folder() {
    const NAME: &str = "XDG_RUNTIME_DIR";
    if std::env::var_os(NAME).is_none() {
        // SAFETY: no other thread is there that could be reading the environment.
        unsafe { std::env::set_var(NAME, std::env::temp_dir()) };
    }
}

/// A solver's panic is an outcome, told in the report, and a panic of a decoder is an error of
/// the damaged file: the usual message would only tear the progress bar apart.
fn quiet_caught_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !swathe::is_guarded() {
            usual(info);
        }
    }));
}
