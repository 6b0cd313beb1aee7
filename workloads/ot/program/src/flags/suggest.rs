//! Flags of `swathe ot suggest`.

use std::path::PathBuf;

use clap::Args;

/// Tries values of epsilon and relaxation on some pairs and says which suit them.
///
/// Prints a table with a row for each pair of values: medians over the pairs that were tried.
#[derive(Debug, Args)]
#[command(after_help = SUGGEST_EXAMPLES)]
pub(crate) struct OtSuggestFlags {
    /// What `swathe ot` takes: a table of pairs, a folder of frames, a TIFF stack, a table of masks
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// How many pairs to try, spread evenly over the input
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pairs: u32,
    /// Smallest epsilon to try; the values are a factor of ten apart
    #[arg(long, value_name = "X", default_value = "1e-5")]
    pub(crate) epsilon_min: String,
    /// Largest epsilon to try
    #[arg(long, value_name = "X", default_value = "1e-2")]
    pub(crate) epsilon_max: String,
    /// Smallest relaxation to try; the values are a factor of ten apart
    #[arg(long, value_name = "X", default_value = "1e-2")]
    pub(crate) relaxation_min: String,
    /// Largest relaxation to try
    #[arg(long, value_name = "X", default_value = "10")]
    pub(crate) relaxation_max: String,
    /// Blur that is still sharp enough, in pixels [default: 1 % of the frame's longer side]
    #[arg(long, value_name = "PX")]
    pub(crate) blur: Option<String>,
    /// Frames are label images: the pixels with this value are the mask
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) label: Option<i64>,
    /// Trials at once; 0 means all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// How to show progress: auto, bar, plain, json or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: String,
}

const SUGGEST_EXAMPLES: &str = "\
Examples:
  swathe ot suggest pairs.csv
  swathe ot suggest frames/ --pairs 10 --epsilon-min 1e-4 --blur 3

Columns:
  blur_px          how far the plan spreads the mass of one pixel: the root mean squared distance
                   from the pixel's mean destination. Motion finer than this cannot be told. Far
                   from borders it is sqrt(epsilon) times the frame's longer side.
  transported      part of the mass (of the lighter frame) that is moved and not destroyed here and
                   created there. Of mass that must go d pixels, about
                   exp(-(d / longer side)^2 / (2 relaxation)) is moved.
  displacement_px  median displacement of the source's pixels
  iterations, ms   sweeps at full resolution and time per pair
  converged        pairs that reached the tolerance";
