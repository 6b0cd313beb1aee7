//! The command `swathe array`: reads arrays from many files, writes results as arrays or as a run
//! folder, and adds a section to the run's page.

mod array_index;
pub mod array_input;
pub mod array_limits;
pub mod array_table;
mod calibrate;
mod command;
mod demo;
mod flags;
mod member_names;
mod npz_output;
mod page;

use clap::{Args as _, FromArgMatches as _};
use swathe_command::program::Program;
use swathe_run::kind::RunKind;

/// What the workload adds to its runs.
pub static KIND: RunKind = RunKind {
    title: "Array operations",
    scripts: &[include_str!("page/assets/array.js")],
    style: "",
    tables: || vec![array_table::reference()],
    page: page::data,
    ..RunKind::plain("array")
};

/// The command that `swathe` registers.
pub static PROGRAM: Program = Program {
    kind: &KIND,
    settings: |command| command,
    n_prefetch: None,
    has_kernels: true,
    command: || {
        let command = clap::Command::new("array");
        flags::ArrayFlags::augment_args(command)
            .about("XOR, multiply or map many arrays of different shapes")
            .long_about(None)
    },
    run: |matches| {
        let flags =
            flags::ArrayFlags::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
        command::array(&flags)
    },
    demo: Some(demo::DEMO),
    calibrate: Some(calibrate::calibrate),
    operations: None,
    bench_ways: &[],
};

#[cfg(test)]
mod tests {
    use super::KIND;

    #[test]
    fn assets_can_stand_in_a_page() {
        swathe_run::page::check_assets(KIND.scripts, KIND.style);
    }
}
