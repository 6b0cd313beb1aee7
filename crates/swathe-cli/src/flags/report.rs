//! Flags of `swathe report`.

use std::path::PathBuf;

use clap::Args;

/// Makes the page of a finished run again, explains the run as text, or compares two runs.
///
/// With one RUN and no flags, report.html is made again from what is in the folder and its path is
/// printed. With --check, nothing is written, and the exit status is 3 if something is damaged. With
/// two, what differs between them is printed: settings, times, memory, outcomes,
/// answers.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportFlags {
    /// The folder that was given to --out; two folders are compared
    #[arg(value_name = "RUN", required = true, num_args = 1..=2)]
    pub(crate) runs: Vec<PathBuf>,
    /// Print the report as text: what ran, where the time went, and what would make it faster
    #[arg(long)]
    pub(crate) text: bool,
    /// Print the figures as JSON for programs
    #[arg(long, conflicts_with = "text")]
    pub(crate) json: bool,
    /// Read everything in the folder and say what is damaged or gone, if anything is
    #[arg(long, conflicts_with_all = ["text", "json"])]
    pub(crate) check: bool,
    /// Draw where the time went, down to single operations, and print the drawing's path
    #[arg(long, value_name = "FILE.svg", conflicts_with_all = ["text", "json", "check"])]
    pub(crate) flame: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  swathe report RUN                      make RUN/report.html again
  swathe report RUN --text               the same for a terminal, with advice
  swathe report RUN --flame time.svg     where the time went, as a picture
  swathe report RUN --check              whether all its files are what was written
  swathe report BEFORE AFTER             what changed from one run to another";
