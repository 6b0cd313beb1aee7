//! The command `swathe arc`: it reads tasks and programs, writes tables, submissions and pictures,
//! and makes its section of the page.

pub mod arc_answer;
pub mod arc_picture;
pub mod arc_run;
pub mod arc_table;
mod command;
mod demo;
pub mod differ_parts;
mod flags;
pub mod known_calls;
mod outputs;
mod page;
pub mod program_input;
mod program_keys;
mod saved_programs;
pub mod submission;
pub mod task_input;

use clap::{Args as _, FromArgMatches as _};
use swathe_command::program::{Operations, Program};
use swathe_run::kind::RunKind;

/// What the workload adds to its runs.
pub static KIND: RunKind = RunKind {
    title: "ARC grid programs",
    scripts: &[
        include_str!("page/assets/grids.js"),
        include_str!("page/assets/matrix.js"),
        include_str!("page/assets/task_view.js"),
        include_str!("page/assets/arc.js"),
    ],
    style: include_str!("page/assets/arc.css"),
    tables: || [vec![arc_table::reference()], arc_run::references()].concat(),
    headline: arc_run::headline,
    page: page::data,
    after_tables: command::after_tables,
    // Samples are chosen by their task.
    input_id: |id| id.split(' ').next().unwrap_or(id),
    ..RunKind::plain("arc")
};

/// The command.
pub static PROGRAM: Program = Program {
    kind: &KIND,
    settings: |command| command,
    // All tasks are in memory, so more workers than threads would only take turns.
    n_prefetch: Some(0),
    has_kernels: false,
    command: || {
        let command = clap::Command::new("arc");
        flags::ArcFlags::augment_args(command)
            .about("Run grid programs in the ARC DSL on tasks, and see which program solves what")
            .long_about(None)
    },
    run: |matches| {
        let flags = flags::ArcFlags::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
        command::arc(&flags)
    },
    demo: Some(demo::DEMO),
    calibrate: None,
    operations: Some(Operations { flags: "--profile", read: arc_run::read_operations }),
    bench_ways: &[("batched within a task", "--batch-within-task")],
};

#[cfg(test)]
mod tests {
    use super::KIND;

    #[test]
    fn assets_can_stand_in_a_page() {
        swathe_run::page::check_assets(KIND.scripts, KIND.style);
    }
}
