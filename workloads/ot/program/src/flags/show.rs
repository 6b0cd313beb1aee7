//! Flags of `swathe ot show`.

use std::path::PathBuf;

use clap::Args;

/// Draws a solved pair: both frames, where mass moved, appeared and vanished, and how fast.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct OtShowFlags {
    /// The folder that was given to --out
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The pair's name: a value of pair_id in RUN/pairs.parquet
    #[arg(value_name = "PAIR_ID")]
    pub(crate) pair_id: String,
    /// Where the picture goes
    #[arg(short = 'o', long, value_name = "FILE.png")]
    pub(crate) output: PathBuf,
    /// Show the frames in shades of grey, in the place of their overlay and the histogram
    #[arg(long)]
    pub(crate) intensities: bool,
    /// Where the run's input is now, if it was moved since
    #[arg(long, value_name = "INPUT")]
    pub(crate) input: Option<PathBuf>,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  swathe ot show RUN s03_t012 -o pair.png
  swathe ot show RUN s03_t012 -o pair.png --intensities
  swathe ot show RUN s03_t012 -o pair.png --input moved/pairs.csv

The maps come from RUN/fields if the run was made with --fields npz; otherwise the pair is solved
again with the run's settings. Lengths are in µm where the pixel size is known.";
