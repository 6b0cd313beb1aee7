//! What every command needs: flags of a run, settings in layers, progress, a summary, errors with
//! hints.
//!
//! A workload's program is plain data ([`program::Program`]): its kind of run, its settings, its
//! command line and what it does. `swathe-cli` lists the programs there are; a program of your own
//! needs only this crate.

pub mod cli_error;
pub mod gpus;
pub mod interrupt;
mod placement;
pub mod program;
pub mod progress;
pub mod run_command;
pub mod run_flags;
pub mod selection;
pub mod settings;
pub mod stderr;
pub mod stdout;
pub mod summary;
mod variables;
pub mod visible;
mod vulkan;
