//! Flags of the commands that make programs from programs.

use std::path::PathBuf;

use clap::Args;

use super::DialectName;

pub(super) const MUTATE_EXAMPLES: &str = "\
Examples:
  swathe arc mutate --programs solvers.py --count 5000 --to mutants.py
  swathe arc mutate --programs kept/*.py --seed 7 --count 5000 --to next.py

A mutant has a function, a constant or a variable of a program replaced by another of the same
type, or a part of another program spliced in. It has only the statements that it needs, and is
called mutant_<hash of its text>. Mutants differ from each other and from the programs. The same
programs, seed and count give the same file, and a larger count begins with the same mutants.";

#[derive(Debug, Args)]
pub(crate) struct ArcMutateFlags {
    /// Python files of programs, all in one dialect
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) programs: Vec<PathBuf>,
    /// What the programs are written in: auto (each file by its imports and names), arc-dsl, batt
    /// or re-arc
    #[arg(
        long,
        value_enum,
        value_name = "DIALECT",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) dialect: DialectName,
    /// Another seed makes other mutants
    // The setting of that name is the seed of runs.
    #[arg(id = "seed_of_mutants", long = "seed", value_name = "N", default_value = "0")]
    pub(crate) seed: u64,
    /// How many mutants to make
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) count: usize,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
}

pub(super) const COMBINE_EXAMPLES: &str = "\
Examples:
  swathe arc combine --programs kept/*.py --to batt.py
  swathe arc combine --programs kept/*.py --differs differs.py --to batt.py

The programs are in the dialect batt. Each has a row in `o`, under the task of its own row, or
under what follows solve_ in its name. Each differ has a row in `s` for the input, and one for the
output of each program. Calls are guarded, so a call that would fail gives the empty tuple.";

#[derive(Debug, Args)]
pub(crate) struct ArcCombineFlags {
    /// Python files of programs in the dialect batt
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) programs: Vec<PathBuf>,
    /// Python files of differs: functions of S, I and C that compare I with C
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) differs: Vec<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
}
