//! Flags of `swathe lattice`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use swathe_command::run_flags::RunFlags;

/// Answers questions about lattices.
#[derive(Debug, Args)]
#[command(after_help = LATTICE_EXAMPLES)]
pub(crate) struct LatticeFlags {
    #[command(subcommand)]
    pub(crate) verb: LatticeVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LatticeVerb {
    /// Count vertices and edges; connected or not, diameter, degree, density
    #[command(after_help = ANALYZE_EXAMPLES, override_usage = ANALYZE_USAGE)]
    Analyze(AnalyzeFlags),
    /// Find a shortest path between two vertices
    #[command(after_help = PATH_EXAMPLES, override_usage = PATH_USAGE)]
    Path(PathFlags),
    /// Count the vertices at each distance from one vertex
    #[command(after_help = LAYERS_EXAMPLES, override_usage = LAYERS_USAGE)]
    Layers(LayersFlags),
}

const LATTICE_EXAMPLES: &str = "\
A lattice is a grid graph of 1 to 10 axes with 2 or more vertices each. Edges join vertices that
differ by one along one axis; nothing wraps around. A vertex is named by its coordinates, such as
0,0,9, or by its id in row-major order: the last axis runs fastest. Blocked vertices and their edges
are no part of the graph.

Where nothing is blocked all answers are closed forms: for analyze of up to 100^10 vertices, for
path and layers of up to 2^64, where ids end. Lattices with blocked vertices are searched, and may
have 2^32 vertices.

One question is asked by flags, many by a table (CSV). The answers are printed, or go into a run
folder with --out.

Examples:
  swathe lattice analyze --size 10x10x10
  swathe lattice path --size 20x20 --from 0,0 --to 19,19 --blocked 1,1 1,2 1,3
  swathe lattice layers QUERIES.csv --out RUN";

const ANALYZE_USAGE: &str = "\
swathe lattice analyze --size <SIZE> [OPTIONS]
       swathe lattice analyze <QUERIES.csv> [OPTIONS]";

const PATH_USAGE: &str = "\
swathe lattice path --size <SIZE> --from <VERTEX> --to <VERTEX> [OPTIONS]
       swathe lattice path <QUERIES.csv> [OPTIONS]";

const LAYERS_USAGE: &str = "\
swathe lattice layers --size <SIZE> --from <VERTEX> [OPTIONS]
       swathe lattice layers <QUERIES.csv> [OPTIONS]";

const ANALYZE_EXAMPLES: &str = "\
Examples:
  swathe lattice analyze --size 100x100x100x100x100x100x100x100x100x100
  swathe lattice analyze --size 3x3 --blocked 4 --json
  swathe lattice analyze QUERIES.csv --out RUN

QUERIES.csv has the columns
  size      such as 10x10x10
  blocked   ids, or coordinates such as 0,0,9, separated by spaces (may be left out)
  id        what the question is called (may be left out: the number of the row, from 0)

Where nothing is blocked everything is in closed form. Otherwise the diameter is exact up to
100,000 free vertices, and left open beyond.
A line that makes no sense fails alone (exit status 1); a flag or a table that makes none is an
error (2).";

const PATH_EXAMPLES: &str = "\
Examples:
  swathe lattice path --size 10x10x10 --from 0 --to 9,9,9
  swathe lattice path --size 40x40 --from 0 --to 1599 --blocked-file walls.txt --json
  swathe lattice path QUERIES.csv --out RUN
  swathe lattice path --size 40x40 --from 0 --to 1599 --scratch photos.tar

QUERIES.csv has the columns
  size      such as 10x10x10
  from, to  ids, or coordinates such as 0 0 9
  blocked   ids, or coordinates such as 0,0,9, separated by spaces (may be left out)
  id        what the question is called (may be left out: the number of the row, from 0)

That there is no path is an answer, not a failure. A line that makes no sense fails alone (exit
status 1); a flag or a table that makes none is an error (2).

Borrowed memory: with --scratch the file itself, whatever is in it, is the working memory of the
search: 8 bytes for each vertex. It is changed and changed back step by step, and is bit for bit as
it was when the command ends, also after an error or Ctrl-C. It is never copied, so that kill -9 or
a power cut in the middle leaves it changed for good: lend only what you have elsewhere. How much
memory of its own the search used, and how sure the answer is, is told on stderr. Paths longer than
--length-max are not looked for; if none was found and longer ones are possible, the exit status
is 1.";

const LAYERS_EXAMPLES: &str = "\
Examples:
  swathe lattice layers --size 10x10x10 --from 0
  swathe lattice layers --size 4x4 --from 1,1 --distances --json
  swathe lattice layers QUERIES.csv --out RUN

QUERIES.csv has the columns
  size      such as 10x10x10
  from      an id, or coordinates such as 0 0 9
  blocked   ids, or coordinates such as 0,0,9, separated by spaces (may be left out)
  id        what the question is called (may be left out: the number of the row, from 0)

A line that makes no sense fails alone (exit status 1); a flag or a table that makes none is an
error (2).";

/// What all three verbs take.
#[derive(Debug, Args)]
pub(crate) struct QuestionFlags {
    /// A table with a question on each line
    #[arg(
        value_name = "QUERIES.csv",
        conflicts_with_all = ["size", "blocked", "blocked_file"]
    )]
    pub(crate) queries: Option<PathBuf>,
    /// Vertices along each axis, such as 10x10x10
    #[arg(long, value_name = "SIZE", required_unless_present = "queries")]
    pub(crate) size: Option<String>,
    /// Blocked vertices, separated by spaces: ids, or coordinates such as 0,0,9
    #[arg(long, value_name = "VERTEX", num_args = 1.., conflicts_with = "blocked_file")]
    pub(crate) blocked: Vec<String>,
    /// A text file with blocked vertices, separated by spaces or line breaks
    #[arg(long, value_name = "FILE")]
    pub(crate) blocked_file: Option<PathBuf>,
    /// A folder for a run that can be resumed and has a report [default: print the answers]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print a line of JSON for each answer
    #[arg(long, conflicts_with = "out")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeFlags {
    #[command(flatten)]
    pub(crate) question: QuestionFlags,
}

#[derive(Debug, Args)]
pub(crate) struct PathFlags {
    /// Where the path begins: an id, or coordinates such as 0,0,9
    #[arg(long, value_name = "VERTEX", required_unless_present = "queries")]
    #[arg(conflicts_with = "queries")]
    pub(crate) from: Option<String>,
    /// Where the path ends
    #[arg(long, value_name = "VERTEX", required_unless_present = "queries")]
    #[arg(conflicts_with = "queries")]
    pub(crate) to: Option<String>,
    /// Search in borrowed memory: this file, which is left as it was (see below)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["queries", "out"])]
    pub(crate) scratch: Option<PathBuf>,
    /// With --scratch: look for no longer paths [default: four times the open lattice's diameter]
    #[arg(long, value_name = "N", requires = "scratch")]
    pub(crate) length_max: Option<u64>,
    #[command(flatten)]
    pub(crate) question: QuestionFlags,
}

#[derive(Debug, Args)]
pub(crate) struct LayersFlags {
    /// The vertex in the middle: an id, or coordinates such as 0,0,9
    #[arg(long, value_name = "VERTEX", required_unless_present = "queries")]
    #[arg(conflicts_with = "queries")]
    pub(crate) from: Option<String>,
    /// Give the distance of each vertex as well
    #[arg(long)]
    pub(crate) distances: bool,
    #[command(flatten)]
    pub(crate) question: QuestionFlags,
}
