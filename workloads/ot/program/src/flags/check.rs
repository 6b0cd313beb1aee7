//! Flags of `swathe ot check`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use swathe_command::setting_value::{Auto, Real};

use crate::settings::{Label, OtMeasure, Relaxation};

/// Says what an answer for two frames is worth, whichever program computed it.
///
/// The answer is a plan or a pair of potentials. Stdout has a line for each figure: the residuals of
/// both marginals, the true cost, the value of the plan, a lower bound of the minimum, and the gap
/// between them. The files and the settings must be those of the answer.
#[derive(Debug, Args)]
#[command(
    after_help = CHECK_EXAMPLES,
    group = ArgGroup::new("answer").args(["answer_potentials", "plan"]).required(true)
)]
pub(crate) struct OtCheckFlags {
    /// The frame that mass comes from, named as in a table of pairs
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// The frame that mass goes to
    #[arg(value_name = "TGT")]
    pub(crate) target: String,
    /// Potentials in cost units: an .npz file with the arrays f and g, or two .npy files
    // The setting of that name is whether a run writes them.
    #[arg(id = "answer_potentials", long = "potentials", value_name = "FILE", num_args = 1..=2)]
    pub(crate) potentials: Vec<PathBuf>,
    /// Plan: an .npz file of scipy.sparse.save_npz, a matrix in an .npy file, or a table
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Entropic blur that the answer belongs to
    #[arg(long, value_name = "X")]
    pub(crate) epsilon: Auto<Real>,
    /// Price of creating and destroying mass that the answer belongs to; inf: balanced
    #[arg(long, value_name = "X")]
    pub(crate) relaxation: Relaxation,
    /// Frames are label images: the pixels with this value are the mask
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) label: Option<Label>,
    #[command(flatten)]
    pub(crate) measure: OtMeasure,
    /// Print the figures as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  swathe ot check a.npy b.npy --plan plan.npz --epsilon 1e-3 --relaxation 10
  swathe ot check a.npy b.npy --potentials f.npy g.npy --epsilon 1e-3 --relaxation 1 --reference counting
  swathe ot check a.png b.png --potentials RUN/fields/t0-t1.npz --epsilon 1e-3 --relaxation 10

Values stand for all pixels of a frame, row by row, or for its pixels with mass alone: a plan is a
matrix of source x target pixels. A table (.csv, .parquet) has the columns src_y, src_x, tgt_y, tgt_x
and mass, as RUN/coupling/ has, or row, col and mass, where row and col number all pixels. Masses are
in problem units: parts of 1 unless --no-normalize is given.

Figures:
  residual_src, residual_tgt  how far the marginals are from those of an answer that is right, divided
                              by the smaller mass. A plan is compared with a solve of this program
  cost                        <P, C>
  mass_transported            mass of the plan
  objective                   the minimised value at the plan
  dual_objective              no plan has a smaller value than this
  gap                         how far the objective can be above the minimum

OTT-JAX: potentials f and g with --reference counting, relaxation = epsilon tau / (1 - tau).
POT: plans of sinkhorn_unbalanced with relaxation = reg_m; with reg_type=\"entropy\" --reference counting.";
