//! The command `swathe lattice`: answers questions about grid graphs from flags or a table, and
//! adds a section to the run's page.

mod command;
mod demo;
mod flags;
pub mod lattice_queries;
pub mod lattice_row;
pub mod lattice_table;
mod page;

use clap::{Args as _, FromArgMatches as _};
use swathe_command::program::Program;
use swathe_run::kind::RunKind;

/// What the workload adds to its runs.
pub static KIND: RunKind = RunKind {
    title: "Lattice operations",
    scripts: &[include_str!("page/assets/lattice.js")],
    style: include_str!("page/assets/lattice.css"),
    tables: lattice_table::reference,
    page: page::data,
    ..RunKind::plain("lattice")
};

/// The command that `swathe` registers.
pub static PROGRAM: Program = Program {
    kind: &KIND,
    settings: |command| command,
    n_prefetch: None,
    has_kernels: false,
    command: || {
        let command = clap::Command::new("lattice");
        flags::LatticeFlags::augment_args(command)
            .about("Analyze lattices, find shortest paths in them, count vertices by distance")
            .long_about(None)
    },
    run: |matches| {
        let flags =
            flags::LatticeFlags::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
        command::lattice(&flags)
    },
    demo: Some(demo::DEMO),
    calibrate: None,
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
