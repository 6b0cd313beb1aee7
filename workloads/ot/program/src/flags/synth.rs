//! Flags of `swathe ot synth`.

use std::path::PathBuf;

use clap::Args;

/// Writes synthetic series of frames, to try things out with.
///
/// Bodies move, grow, turn and bend, divide, appear and vanish. The same seed gives the same files
/// on every machine.
#[derive(Debug, Args)]
#[command(after_help = SYNTH_EXAMPLES)]
pub(crate) struct OtSynthFlags {
    /// A folder for the frames and the table; it must not have a pairs.csv yet
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// How many series
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) series: u32,
    /// Frames in each series
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) frames: u32,
    /// Height x width of all frames, such as 256x512 [default: each series has a shape of its own]
    #[arg(long, value_name = "HxW")]
    pub(crate) shape: Option<String>,
    /// Seed of every random choice
    // The setting of that name is the seed of runs.
    #[arg(id = "seed_of_series", long = "seed", value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

const SYNTH_EXAMPLES: &str = "\
Examples:
  swathe ot synth --series 20 --frames 30 --out DIR
  swathe ot synth --series 4 --frames 10 --shape 256x512 --seed 7 --out DIR
  swathe ot DIR/pairs.csv --out RUN             then solve them

DIR/series_00/frame_000.png and so on are 16-bit grey images. DIR/pairs.csv has each frame with
the next of its series: pair_id, series, time, src, tgt, um_per_px.";
