//! Flags of `swathe ot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use check::OtCheckFlags;
pub(crate) use show::OtShowFlags;
pub(crate) use suggest::OtSuggestFlags;
use swathe_command::run_flags::RunFlags;
pub(crate) use synth::OtSynthFlags;

use crate::settings::OtSettings;

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
    /// Check another program's solution: residuals, optimality gap and cost
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
    pub(crate) problem: OtSettings,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}
