//! Flags of `swathe arc batt`.

use std::path::PathBuf;

use clap::Args;

use super::ArcJobFlags;
use swathe_command::run_flags::RunFlags;

pub(super) const EXAMPLES: &str = "\
Examples:
  swathe arc batt batt.py --tasks training/ --out RUN
  swathe arc batt gen*.py --tasks training/ --only 67a3c6ac --out RUN

The rows of `o` are programs, which never see the expected output: `C` is None. The rows of `s` are
differs, which are evaluated twice, with `C` = None and with the expected output. With --submission
differs do not see the answers of tests.

RUN/results.parquet and RUN/tasks.parquet are as those of `swathe arc`.
RUN/differs.parquet has a row for every differ and sample, with both values and their scores.
RUN/batt_scores.parquet has the candidates of each task from the best to the worst, with the score
of run_batt (1000 for each sample that is right, demonstrations and tests alike) and the graded one.
RUN/differ_scores.parquet has the sums of the differs' scores.";

#[derive(Debug, Args)]
pub(crate) struct ArcBattFlags {
    /// Python files, each with a function `batt`, or with solvers
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) job: ArcJobFlags,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}
