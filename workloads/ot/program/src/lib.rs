//! The command `swathe ot`: reads frames of many formats and pairs of frames, writes the table,
//! maps and pictures of the results, and adds a section to the run's page.

pub mod answer_file;
mod command;
mod demo;
pub mod epsilon_check;
mod flags;
pub mod frame;
pub mod frame_cache;
mod page;
pub mod pair_files;
pub mod pair_input;
pub mod pair_picture;
pub mod pair_record;
pub mod pair_shapes;
pub mod pair_survey;
pub mod pair_table;
pub mod pair_workload;
pub mod run_warnings;
pub mod series_files;
pub mod settings;
pub mod spelling;
pub mod text_table;

use clap::{Args as _, FromArgMatches as _};
pub use command::{AutoEpsilon, auto_epsilon, sampled_epsilon, with_buckets};
use swathe_command::program::Program;
use swathe_run::kind::RunKind;

/// What this workload adds to a run.
pub static KIND: RunKind = RunKind {
    title: "Optimal transport between frames",
    scripts: &[include_str!("page/assets/ot.js")],
    style: "",
    tables: || [vec![pair_table::reference()], pair_files::references().to_vec()].concat(),
    apart: page::without_mass,
    page: page::data,
    shapes: pair_shapes::pair_shapes,
    replayed: page::residual_lines,
    ..RunKind::plain("ot")
};

/// The command `swathe ot`.
pub static PROGRAM: Program = Program {
    kind: &KIND,
    settings: settings::OtSettings::augment_args,
    n_prefetch: None,
    has_kernels: true,
    command: || {
        let command = clap::Command::new("ot");
        flags::OtFlags::augment_args(command)
            .about("Solve optimal transport between frames: how mass moved, appeared and vanished")
            .long_about(None)
    },
    run: |matches| {
        let flags = flags::OtFlags::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
        command::ot(&flags)
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
