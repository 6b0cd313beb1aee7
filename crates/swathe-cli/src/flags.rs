//! Flags: what can be typed. What it means is decided in `settings`.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use swathe_command::program::programs;

pub(crate) use report::ReportFlags;
pub(crate) use watch::WatchFlags;

mod report;
mod watch;

/// Solves thousands of small problems of different shapes in one sweep.
///
/// It groups problems by shape, packs them into batches that fit in memory, runs them on every
/// core, survives whatever goes wrong, and returns every answer in input order with the figures
/// of how it went.
#[derive(Debug, Parser)]
#[command(name = "swathe", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The whole command line: the workloads' commands first, then those that they share.
pub(crate) fn command() -> clap::Command {
    let shared = Cli::command();
    let names: Vec<String> = shared
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    let n_programs = programs().len();
    let programs = programs().iter().enumerate();
    let mut command = shared.subcommands(programs.map(|(at, program)| {
        // clap numbers what has no place of its own from 0 on.
        (program.command)().display_order(at)
    }));
    for (at, name) in names.into_iter().enumerate() {
        command = command.mut_subcommand(name, |its| its.display_order(n_programs + at));
    }
    command
}

const EXAMPLES: &str = "\
Examples:
  swathe demo                            make sample data, run everything, show where the report is
  swathe ot FRAMES/ --out RUN            how mass moved from each frame of a folder to the next
  swathe array map sqrt IN.npz --out OUT.npz
                                         the square root of every array in a file
  swathe lattice path --size 10x10 --from 0 --to 9,9
                                         a shortest path through a grid
  swathe arc --programs solvers.py --tasks training/ --out RUN
                                         all grid programs on all samples of all tasks
  swathe devices                         what this machine has, and what swathe uses of it
  swathe watch RUN                       see a run go on, in the browser
  swathe merge RUN                       put the shards of a run together
  swathe report RUN --text               where a run's time went, and what would make it faster

Exit status: 0 all solved, 1 some failed, 2 bad usage or input, 3 verification mismatch,
4 output cannot be written, 130 interrupted (what was finished is kept).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the devices of this machine and what swathe would use
    Devices(DevicesFlags),
    /// Make sample data, run the workloads on it, and show where the report is
    Demo(DemoFlags),
    /// Put the shards of a run together into one table
    Merge(MergeFlags),
    /// Explain a finished run: its page, as text, as a picture, or beside another run
    Report(ReportFlags),
    /// Show a run on a live page in the browser, while it goes on or after
    Watch(WatchFlags),
    /// Print shell completions
    Completions(CompletionsFlags),
}

#[derive(Debug, Args)]
pub(crate) struct DevicesFlags {
    /// Print JSON for programs
    #[arg(long, conflicts_with = "calibrate")]
    pub(crate) json: bool,
    /// Measure some operations on every device and keep what they took, so that runs choose well
    /// from the start
    #[arg(long)]
    pub(crate) calibrate: bool,
}

/// Makes small sample data, runs the workloads on it and prints the folder with the results.
#[derive(Debug, Args)]
pub(crate) struct DemoFlags {
    /// Where the sample data and the runs go; an earlier demo there is replaced
    #[arg(short, long, value_name = "DIR", default_value = "swathe-demo")]
    pub(crate) out: PathBuf,
    /// How to show progress: auto, bar, plain, json or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: String,
}

/// Puts the shards of a run together: after every `--shard i/n` is finished, RUN gets the tables
/// of the whole input, the same as a run without shards gives.
#[derive(Debug, Args)]
pub(crate) struct MergeFlags {
    /// The folder that was given to --out
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsFlags {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
