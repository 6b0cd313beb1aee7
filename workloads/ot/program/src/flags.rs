//! Flags of `swathe ot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use check::OtCheckFlags;
pub(crate) use show::OtShowFlags;
pub(crate) use suggest::OtSuggestFlags;
use swathe_command::run_flags::RunFlags;
pub(crate) use synth::OtSynthFlags;

mod check;
mod show;
mod suggest;
mod synth;

/// How mass moved, appeared and vanished between frames: unbalanced optimal transport.
///
/// INPUT is a table of pairs or a series of frames (see below). A pair that cannot be used fails
/// alone: the others are solved, and the exit status is 1.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = OT_USAGE,
    after_help = OT_EXAMPLES
)]
pub(crate) struct OtFlags {
    #[command(subcommand)]
    pub(crate) verb: Option<OtVerb>,
    #[command(flatten)]
    pub(crate) run: OtRunFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OtVerb {
    /// Solve pairs: what `swathe ot INPUT` does
    #[command(after_help = OT_EXAMPLES)]
    Run(Box<OtRunFlags>),
    /// Write synthetic series of frames, to try things out with
    Synth(OtSynthFlags),
    /// Draw a solved pair as a PNG picture
    Show(OtShowFlags),
    /// Try values of epsilon and relaxation, and say which suit an input
    Suggest(Box<OtSuggestFlags>),
    /// Say what anybody's answer for two frames is worth: residuals, gap and true cost
    Check(OtCheckFlags),
}

const OT_USAGE: &str = "\
swathe ot <INPUT> --out <DIR> [OPTIONS]
       swathe ot <COMMAND>";

const OT_EXAMPLES: &str = "\
Examples:
  swathe ot pairs.csv --out RUN
  swathe ot frames/ --out RUN --fields npz           each frame with the next, and maps
  swathe ot movie.tif --out RUN --um-per-px 0.65     the pages of a stack, results in µm too
  swathe ot pairs.csv --out RUN --epsilon 1e-4 --relaxation 10 --memory 2GiB
  swathe ot labels/ --out RUN --label 3              the pixels with the value 3 are the mask
  swathe ot masks.csv --out RUN --group-by embryo_id --order-by frame_index
  swathe ot movie.ome.tif --out RUN --channel 1      one channel of a stack over time
  swathe ot suggest pairs.csv                        which epsilon and relaxation suit the frames
  swathe ot show RUN PAIR_ID -o pair.png             a picture of a solved pair
  swathe ot check a.png b.png --plan plan.npz --epsilon 1e-3 --relaxation 10
                                                     what the answer of another program is worth
  swathe ot synth --out DIR                          synthetic series to try it with

INPUT is one of
  a table (.csv, .parquet) with the columns pair_id, src and tgt: frames, from the table's folder
      on; src_um_per_px and tgt_um_per_px, or um_per_px, if known; all columns but pair_id, src
      and tgt are carried to the results
  a folder of frames: each frame with the next, in natural order of their names
  a stack: a TIFF file of many pages, or a .npy or .npz array (time, height, width). Axes and pixel
      sizes of OME-TIFF and ImageJ files are used; a stack that is not plain time is refused until
      --channel, --z-slice and --time-axis say what to take
  a table (.csv, .parquet) with a frame in each row: path, or masks (COCO's run-length encoding) as
      mask_rle, mask_height_px, mask_width_px and, if wanted, frame_id; um_per_px if known. Each
      frame is paired with the next of its group (--group-by, --order-by); the columns are carried
      as src_* and tgt_*
A pair across missing frames (0, 1, 3) has its number of steps in the column steps.

Frames are .npy, .npz (stack.npz:name), .png and .tif files (movie.tif:3, stack.npy:3, from 0) of
integers or floats, and masks (masks.csv:ID). Pixels are mass and must not be negative.

RUN/pairs.parquet has a row for each pair: masses, costs, displacement, divergence and curl, each
column with its unit in the schema. RUN/fields/ has the maps.

KL is the generalised divergence; epsilon and relaxation are in the unit of the cost, which is
(pixels x coord-scale) squared. OTT's tau is relaxation / (relaxation + epsilon), POT's reg_m is
relaxation.";

/// What can be said of a run. Input and output are required unless a verb stands in their place.
#[derive(Debug, Args)]
pub(crate) struct OtRunFlags {
    /// A table of pairs or frames, a folder of frames, or a stack
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) input: Option<PathBuf>,
    /// A folder for the run
    #[arg(short, long, value_name = "DIR", required = true)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) problem: OtProblemFlags,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

/// What is solved and what is written. Kept as text: the same setting can come from a variable or
/// from `swathe.toml`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What to solve")]
pub(crate) struct OtProblemFlags {
    /// Entropic blur, in cost units, or auto: the largest of 1e-3, 3e-4, 1e-4 and 3e-5 from which
    /// a smaller one hardly changes the motion of a sample of pairs [default: auto]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) epsilon: Option<String>,
    /// Price of creating and destroying mass, in cost units; inf: all mass must move. A,B sets
    /// source and target apart: inf,10 is growth without loss [default: 10]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) relaxation: Option<String>,
    #[command(flatten)]
    pub(crate) measure: OtMeasureFlags,
    /// Work grid: union (the box around both masses), fixed (the whole frame) or bucketed (union,
    /// padded to one of --buckets); it changes no result [default: union]
    #[arg(long, value_name = "HOW")]
    pub(crate) crop: Option<String>,
    /// Pixels that the box is grown by on each side [default: 16]
    #[arg(long, value_name = "PX", allow_negative_numbers = true)]
    pub(crate) padding: Option<String>,
    #[command(flatten)]
    pub(crate) input: OtInputFlags,
    /// Width of a pixel, for frames of which the table does not say it; comes before what TIFF
    /// files say
    #[arg(long, value_name = "UM", allow_negative_numbers = true)]
    pub(crate) um_per_px: Option<String>,
    /// Report the plan's own displacement, as other programs do: entropy pulls it inward. Saves a
    /// part of the time
    #[arg(long)]
    pub(crate) raw_velocity: bool,
    /// Maps to write (velocity, created, destroyed, cost): none, npz or parquet [default: none]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) fields: Option<String>,
    /// Write the potentials f and g with the maps, as `swathe ot check` reads them
    #[arg(long)]
    pub(crate) potentials: bool,
    /// Entries of the plan to write: none, topk:8 (the largest of each source pixel) or
    /// threshold:1e-6 [default: none]
    #[arg(long, value_name = "WHICH")]
    pub(crate) coupling: Option<String>,
}

/// How mass, distance and exactness are measured.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OtMeasureFlags {
    /// Measure that entropy is taken against: product, or counting as in OTT-JAX [default: product]
    #[arg(long, value_name = "WHICH")]
    pub(crate) reference: Option<String>,
    /// Factor from pixels to cost units: auto (1 / longer side of the frame) or a number [default: auto]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) coord_scale: Option<String>,
    /// Divide each frame by its sum [default]
    #[arg(long, overrides_with = "no_normalize")]
    pub(crate) normalize: bool,
    /// Take the frames' masses as they are
    #[arg(long, overrides_with = "normalize")]
    pub(crate) no_normalize: bool,
    /// Residual of both marginals to stop at, as part of the mass [default: 1e-5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) tolerance: Option<String>,
    /// Sweeps at full resolution at most [default: 5000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_iterations: Option<String>,
    /// Arithmetic: auto, f32 or f64 [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub(crate) precision: Option<String>,
}

/// What the input is, and how it becomes pairs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OtInputFlags {
    /// Side of the squares of pixels that are summed into one [default: 1]
    #[arg(long, value_name = "PX", allow_negative_numbers = true)]
    pub(crate) pool: Option<String>,
    /// Frames are label images: the pixels with this value are the mask; all: a series for each
    /// label
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) label: Option<String>,
    /// Take a background off every pixel: a level, or auto (the median of each frame; what is within
    /// its noise becomes 0)
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
    pub(crate) background: Option<String>,
    /// Columns of a table of frames that tell series apart, such as embryo_id; none: one series
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) group_by: Option<String>,
    /// Column of a table of frames that orders a series, such as frame_index; none: as the rows are
    #[arg(long, value_name = "COLUMN")]
    pub(crate) order_by: Option<String>,
    /// Pair each frame of a series with the one N places later [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) step: Option<String>,
    /// Channel of stacks and of colour images to take, from 0
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) channel: Option<String>,
    /// Axis of a stack that is time: a letter such as T or Z, or a number from 0 where axes have no
    /// names [default: T]
    #[arg(long, value_name = "AXIS")]
    pub(crate) time_axis: Option<String>,
    /// Slice of stacks to take along Z, from 0
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) z_slice: Option<String>,
}
