//! What every command needs: flags of a run, layered settings, progress, a summary, errors with
//! hints.
//!
//! A workload's program is plain data ([`program::Program`]): its kind of run, its settings, its
//! command line and the function that runs it. `swathe-cli` lists the built-in programs; a program
//! of your own needs only this crate.

pub mod cli_error;
pub mod declaration;
pub mod engine_settings;
pub mod gpus;
pub mod interrupt;
pub mod layers;
pub mod option_defaults;
pub mod placement;
mod plan_text;
pub mod program;
pub mod progress;
pub mod run_command;
pub mod run_flags;
pub mod selection;
pub mod setting_value;
pub mod settings;
pub mod settings_file;
pub mod stderr;
pub mod stdout;
pub mod summary;
mod variables;
pub mod visible;
mod vulkan;
