//! The flags that every run has.

use std::path::PathBuf;

use clap::Args;

/// Flags that every run has. They are kept as text: the same setting can come from a variable or
/// from `swathe.toml`, and is then understood by the same code.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "How to run")]
pub struct RunFlags {
    /// Where to run: auto (whatever was measured to be fastest), cpu, gpu, or some of several GPUs: gpu:0,2 [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub device: Option<String>,
    /// Problems solved at once; 0 means all cores [default: 0]
    #[arg(long, value_name = "N")]
    pub threads: Option<String>,
    /// Problems in a batch: auto or a number [default: auto]
    #[arg(long, value_name = "N")]
    pub batch_size: Option<String>,
    /// Problems in a batch at most [default: 4096]
    #[arg(long, value_name = "N")]
    pub batch_size_max: Option<String>,
    /// Shapes that problems are padded to for GPU launches: auto, exact, or a list such as 128x256,256x512
    #[arg(long, value_name = "SHAPES")]
    pub buckets: Option<String>,
    /// Memory to use, such as 512MiB or 4GB [default: 80 % of what is available]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Share of --memory to leave unused, such as 0.2 [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub memory_margin: Option<String>,
    /// Time one problem may take, such as 300s, 500ms or 2m [default: 300s]
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// Batches loaded ahead of those being solved [default: one for each thread, 0 where problems are in memory already]
    #[arg(long, value_name = "N")]
    pub prefetch: Option<String>,
    /// Only the first N of the input (of those in --only, if there are any)
    #[arg(long, value_name = "N", help_heading = "What to run")]
    pub limit: Option<String>,
    /// Only those of the input that have these ids
    #[arg(long, value_name = "ID", num_args = 1.., help_heading = "What to run")]
    pub only: Vec<String>,
    /// Print what would run where, and run nothing
    #[arg(long)]
    pub explain: bool,
    /// Solve N problems again, chosen by the seed, and compare [default: 0]
    #[arg(long, value_name = "N")]
    pub verify: Option<String>,
    /// Go on with the run in --out where it was stopped
    #[arg(long)]
    pub resume: bool,
    /// Only the i-th of n parts of the input (from 1); put together by `swathe merge`
    #[arg(long, value_name = "i/n")]
    pub shard: Option<String>,
    /// Solve nothing: record the problems without an outcome as failed, with this reason
    #[arg(long, value_name = "REASON", hide = true, require_equals = true)]
    pub give_up: Option<String>,
    /// Seed of every random choice [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// How to show progress: auto, bar, plain, json or none [default: auto]
    #[arg(long, value_name = "HOW")]
    pub progress: Option<String>,
    /// Draw where the time went, down to single operations, into this file
    #[arg(long, value_name = "SVG")]
    pub flame: Option<PathBuf>,
    /// Settings file [default: ./swathe.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}
