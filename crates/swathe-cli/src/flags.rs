//! Flags: what a user can type. The help texts are the documentation comments.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use swathe_command::option_defaults::with_defaults;
use swathe_command::program::programs;

pub(crate) use report::ReportFlags;
pub(crate) use watch::WatchFlags;

mod report;
mod watch;

/// Solves thousands of small problems of different shapes in one sweep.
///
/// It groups problems by shape, packs them into batches that fit in memory, runs them on every
/// core, recovers from device failures, and returns all answers in input order, with timing and
/// memory figures.
#[derive(Debug, Parser)]
#[command(name = "swathe", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The whole command line: the workloads' commands first, then the commands that they share.
///
/// Environment variables and `swathe.toml` set the defaults of a workload whose name is among
/// `words`.
pub(crate) fn command(words: &[String]) -> clap::Command {
    let shared = Cli::command();
    let names: Vec<String> =
        shared.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let n_programs = programs().len();
    let programs = programs().iter().enumerate();
    let mut command = shared.subcommands(programs.map(|(at, program)| {
        // clap numbers commands without an explicit order from 0 on.
        let command = match words.iter().any(|word| word == program.kind.name) {
            true => with_defaults(program, words),
            false => (program.command)(),
        };
        let command = match program.has_kernels {
            true => command,
            false => without_device_flags(command),
        };
        command.display_order(at)
    }));
    for (at, name) in names.into_iter().enumerate() {
        command = command.mut_subcommand(name, |its| its.display_order(n_programs + at));
    }
    command
}

/// Leaves flags for graphics processors out of the help of a command that has no kernels. They are
/// still accepted: one `swathe.toml` may set them for all commands.
fn without_device_flags(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "device" | "buckets" => arg.hide(true),
        _ => arg,
    });
    command.mut_subcommands(without_device_flags)
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
  swathe replay RUN ID                   one problem of a run again, alone
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
    /// List the shards of a run, and how to solve those that are not finished
    Shards(ShardsFlags),
    /// Explain a finished run: its page, as text, as a picture, or beside another run
    Report(ReportFlags),
    /// Solve one problem of a run again, alone, and compare it with the recorded answer
    Replay(ReplayFlags),
    /// Measure what batches, cores and devices bring on an input: whole runs, compared
    Bench(BenchFlags),
    /// Show a run on a live page in the browser, while it goes on or after
    Watch(WatchFlags),
    /// Show which settings are in force, and where each comes from
    Config(ConfigFlags),
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

/// Prints every setting of a command, or of all workloads: its value and whether that is the default
/// or comes from a SWATHE_* variable or from swathe.toml. What a command line says goes before all of
/// them.
#[derive(Debug, Args)]
pub(crate) struct ConfigFlags {
    /// Only this workload, such as ot, or this command of it, such as ot suggest
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Settings file [default: ./swathe.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Solves one problem of a finished run again, alone and with the run's settings, says what it took
/// and whether it gives the recorded answer. Exit status 3 if it does not.
#[derive(Debug, Args)]
pub(crate) struct ReplayFlags {
    /// The run folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The problem's id, or its row from 0 on
    #[arg(value_name = "ID")]
    pub(crate) problem: String,
    /// Keep its page, trace and tables in this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Runs a workload's command in several ways and compares them: one by one on one thread, in
/// batches of 4 to 1024, on all cores, on each graphics processor; grid programs also batched
/// within a task, with the calls and times of their operations. Every figure is of a whole run,
/// reading and writing included; the first run of each way warms up and does not count.
///
/// Options of bench stand before the workload, those of the workload after it. --limit is a good
/// one to begin with.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchFlags {
    /// Print JSON for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the figures with a chart into this HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
    /// Runs of each way; the best one counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeat: usize,
    /// A workload with its input and options, without --out
    #[arg(
        value_name = "COMMAND",
        required = true,
        num_args = 1..,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) command: Vec<String>,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  swathe bench ot pairs.csv --limit 100
  swathe bench --page bench.html array matmul a.npz --with b.npz
  swathe bench --json array map sqrt in.npz";

/// Puts the shards of a run together: after every `--shard i/n` is finished, RUN gets the tables
/// of the whole input, the same as a run without shards gives.
#[derive(Debug, Args)]
pub(crate) struct MergeFlags {
    /// The folder that was given to --out
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Show how far the shards are until all are finished, then put them together
    #[arg(long)]
    pub(crate) watch: bool,
}

/// Lists the shards of a run: which are finished, running, interrupted, dead or missing, and for
/// those that are not finished the command that solves the rest. The exit status is 0 if all are
/// finished.
#[derive(Debug, Args)]
pub(crate) struct ShardsFlags {
    /// The folder that was given to --out
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Print JSON for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsFlags {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
