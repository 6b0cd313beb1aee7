//! Flags of `swathe ot suggest`.

use std::path::PathBuf;

use clap::Args;

use swathe_command::progress::ProgressStyle;
use swathe_command::setting_value::WrongValue;

use crate::settings::{OtInput, OtMeasure};

/// Tries values of epsilon and relaxation on some pairs, and suggests the ones that suit them.
///
/// The suggestion is one line on stdout, to be used as flags of `swathe ot`. Stderr has a table of
/// what each choice does to the motion and to growth: medians over the pairs that were tried.
#[derive(Debug, Args)]
#[command(after_help = SUGGEST_EXAMPLES)]
pub(crate) struct OtSuggestFlags {
    /// What `swathe ot` takes: a table of pairs or frames, a folder of frames, or a stack
    #[arg(value_name = "INPUT")]
    pub(crate) input_path: PathBuf,
    /// Write the suggestion into the section [ot] of swathe.toml, which further runs use
    #[arg(long)]
    pub(crate) apply: bool,
    /// How many pairs to try, spread evenly over the input
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pairs: u32,
    /// Smallest epsilon to try; between the ends 1 and 3 of each power of ten [default: 3e-5]
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) epsilon_min: Option<f64>,
    /// Largest epsilon to try [default: 1e-3]
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) epsilon_max: Option<f64>,
    /// Smallest relaxation to try; between the ends each power of ten [default: 0.1]
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) relaxation_min: Option<f64>,
    /// Largest relaxation to try [default: 100]
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) relaxation_max: Option<f64>,
    /// Largest blur that is acceptable, in pixels [default: any, or half of the median displacement
    /// with --raw-velocity]
    #[arg(long, value_name = "PX", value_parser = positive)]
    pub(crate) blur: Option<f64>,
    /// Trials at once; 0 means all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// How to show progress: auto, bar, plain, json or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressStyle,
    /// Settings file to read, and to write with --apply, instead of ./swathe.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten, next_help_heading = "What to solve")]
    pub(crate) input: OtInput,
    #[command(flatten, next_help_heading = "What to solve")]
    pub(crate) measure: OtMeasure,
    /// Suggest for runs with --raw-velocity, which have the whole blur in their displacement
    #[arg(long)]
    pub(crate) raw_velocity: bool,
}

fn positive(text: &str) -> Result<f64, WrongValue> {
    let value = text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
    let hint = "write something like 0.001, 1e-3 or 10";
    value.ok_or_else(|| WrongValue::not("a positive number", hint))
}

const SUGGEST_EXAMPLES: &str = "\
Examples:
  swathe ot suggest pairs.csv
  swathe ot pairs.csv --out RUN $(swathe ot suggest pairs.csv)
  swathe ot suggest masks.csv --group-by embryo_id --order-by frame_index --apply

The rule:
  epsilon     the largest whose error of the displacement is at most 2 % of the median displacement
              or 0.05 px, for three quarters of the pairs; with --blur, and with --raw-velocity, the
              blur counts, too
  relaxation  the smallest whose error is at most 2 % or 0.01 px. A smaller one destroys mass here
              and creates it there instead of moving it; a larger one moves mass that really
              appeared or vanished. Where mass changes in one place (a body vanishes, grows, fades
              or leaves the frame) none is suggested: a small and a large one are shown instead

Columns:
  displacement_px  median displacement of the source's pixels, without the pull of entropy
  error_px         error of the displacement, extrapolated from its change to the next row: it is
                   proportional to epsilon and to 1 / relaxation
  blur_px          how far the plan spreads the mass of one pixel: the root mean squared distance
                   from the pixel's mean destination. Far from borders it is sqrt(epsilon) times the
                   frame's longer side. The pull that it has on the displacement is subtracted; what
                   is left is in error_px
  transported      part of the mass (of the lighter frame) that is moved
  created          part of the target's mass that is created instead of moved: growth
  ms               time per pair
  converged        pairs that reached the tolerance";
