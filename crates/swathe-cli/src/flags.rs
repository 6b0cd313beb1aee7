//! Flags: what can be typed. What it means is decided in `settings`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use arc::{
    ArcAskedFlags, ArcExplainFlags, ArcFlags, ArcShowFlags, ArcVerb, OrderName, OutputsName,
    PairingName,
};
pub(crate) use array::{ArrayFlags, ArrayVerb, MapName};
pub(crate) use lattice::{LatticeFlags, LatticeVerb, QuestionFlags};
pub(crate) use ot::{
    OtFlags, OtProblemFlags, OtRunFlags, OtShowFlags, OtSuggestFlags, OtSynthFlags, OtVerb,
};
pub(crate) use report::ReportFlags;
pub(crate) use watch::WatchFlags;

mod arc;
mod array;
mod lattice;
mod ot;
mod report;
mod watch;

/// Solves thousands of small problems of different shapes in one sweep.
///
/// It groups problems by shape, packs them into batches that fit in memory, runs them on every
/// core, survives whatever goes wrong, and returns every answer in input order with the figures
/// of how it went.
#[derive(Debug, Parser)]
#[command(name = "swathe", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
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
    /// Solve optimal transport between frames: how mass moved, appeared and vanished
    Ot(Box<OtFlags>),
    /// Run grid programs in the ARC DSL on tasks, and see which program solves what
    Arc(Box<ArcFlags>),
    /// XOR, multiply or map many arrays of different shapes
    Array(ArrayFlags),
    /// Analyze lattices, find shortest paths in them, count vertices by distance
    Lattice(LatticeFlags),
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
    #[arg(long, value_name = "DIR", default_value = "swathe-demo")]
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

/// Flags that every run has. They are kept as text: the same setting can come from a variable or
/// from `swathe.toml`, and is then understood by the same code.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "How to run")]
pub(crate) struct RunFlags {
    /// Where to run: auto (whatever was measured to be fastest), cpu, gpu, or some of several GPUs: gpu:0,2 [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub(crate) device: Option<String>,
    /// Problems solved at once; 0 means all cores [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<String>,
    /// Problems in a batch: auto or a number [default: auto]
    #[arg(long, value_name = "N")]
    pub(crate) batch_size: Option<String>,
    /// Problems in a batch at most [default: 4096]
    #[arg(long, value_name = "N")]
    pub(crate) batch_size_max: Option<String>,
    /// Shapes that problems are padded to for GPU launches: auto, exact, or a list such as 128x256,256x512
    #[arg(long, value_name = "SHAPES")]
    pub(crate) buckets: Option<String>,
    /// Memory to use, such as 512MiB or 4GB [default: 80 % of what is available]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Time one problem may take, such as 300s, 500ms or 2m [default: 300s]
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<String>,
    /// Batches loaded ahead of those being solved [default: one for each thread, none for arc]
    #[arg(long, value_name = "N")]
    pub(crate) prefetch: Option<String>,
    /// Print what would run where, and run nothing
    #[arg(long)]
    pub(crate) explain: bool,
    /// Solve N problems again, chosen by the seed, and compare [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) verify: Option<String>,
    /// Go on with the run in --out where it was stopped
    #[arg(long)]
    pub(crate) resume: bool,
    /// Only the i-th of n parts of the input (from 1); put together by `swathe merge`
    #[arg(long, value_name = "i/n")]
    pub(crate) shard: Option<String>,
    /// Seed of every random choice [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// How to show progress: auto, bar, plain, json or none [default: auto]
    #[arg(long, value_name = "HOW")]
    pub(crate) progress: Option<String>,
    /// Draw where the time went, down to single operations, into this file
    #[arg(long, value_name = "SVG")]
    pub(crate) flame: Option<PathBuf>,
    /// Settings file [default: ./swathe.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
