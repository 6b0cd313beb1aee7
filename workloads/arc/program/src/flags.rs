//! Flags of `swathe arc`.

mod batt;
mod generate;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use swathe_arc::Dialect;
use swathe_command::run_flags::RunFlags;
use swathe_command::setting_value::{ByteSize, WrongValue};

pub(crate) use batt::ArcBattFlags;
pub(crate) use generate::{ArcCombineFlags, ArcMutateFlags};

/// Runs grid programs in the ARC DSL on tasks, and says which program solves what.
///
/// Every program is run on every sample of every task, and its output compared with the expected
/// one. Results are those of the Python reference, bit for bit. A call that fails is a result; a
/// program or task that cannot be used is named and passed over, and the exit status is 1.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLES)]
pub(crate) struct ArcFlags {
    #[command(subcommand)]
    pub(crate) verb: Option<ArcVerb>,
    #[command(flatten)]
    pub(crate) asked: Option<ArcAskedFlags>,
    #[command(flatten)]
    pub(crate) job: Option<ArcJobFlags>,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

const EXAMPLES: &str = "\
Examples:
  swathe arc --programs solvers.py --tasks training/ --out RUN
                                    all programs on all samples of a folder of tasks
  swathe arc --programs solvers.py --tasks training/ --pairing own --out RUN
                                    each solve_<task> on its own task
  swathe arc --programs a.py b.py --tasks arc-agi_test_challenges.json --out RUN \\
      --submission submission.json  two attempts for every test, by the best programs
  swathe arc show RUN 67a3c6ac      input, expected and output of the best program
  swathe arc explain --programs solvers.py
                                    how much of the programs is shared

Programs are functions `solve_<task>(I)`, or the candidates of one function `batt(task_id, S, I, C, log_path)`.
Candidates never see the expected output: `C` is None.

RUN/results.parquet has a row for every call, RUN/tasks.parquet the programs that solve each task.";

#[derive(Debug, Subcommand)]
pub(crate) enum ArcVerb {
    /// Run programs on tasks; `swathe arc` alone does the same
    #[command(after_help = EXAMPLES)]
    Run(Box<ArcRunFlags>),
    /// Show how programs share their statements, and one program's graph
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ArcExplainFlags),
    /// Show a task of a finished run: input, expected and output
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ArcShowFlags),
    /// Write two attempts for every test of a finished run, by the best programs
    Submit(ArcSubmitFlags),
    /// Write the programs of a finished run that solve a task, or are the best at one, as files
    #[command(after_help = SAVE_EXAMPLES)]
    Save(ArcSaveFlags),
    /// Run generated `batt` files on tasks: candidates and differs, scored
    #[command(after_help = batt::EXAMPLES)]
    Batt(Box<ArcBattFlags>),
    /// Write variants of programs: functions and arguments replaced, parts of programs spliced
    #[command(after_help = generate::MUTATE_EXAMPLES)]
    Mutate(ArcMutateFlags),
    /// Merge programs into one function `batt`, each statement once
    #[command(after_help = generate::COMBINE_EXAMPLES)]
    Combine(ArcCombineFlags),
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  swathe arc explain --programs solvers.py
  swathe arc explain --programs solvers.py --program solve_67a3c6ac
  swathe arc explain --programs solvers.py --program solve_67a3c6ac --dot | dot -Tsvg > graph.svg";

const SHOW_EXAMPLES: &str = "\
Examples:
  swathe arc show RUN 67a3c6ac                  what the best program makes of it
  swathe arc show RUN 67a3c6ac --program solve_3c9b0459
  swathe arc show RUN 67a3c6ac -o task.png      a picture; .html makes a page

Without a terminal, or with NO_COLOR set, grids are printed as characters: a dot for the
background, a digit for a colour, a star after a cell that is not as expected.";

const SAVE_EXAMPLES: &str = "\
Example:
  swathe arc save RUN --to kept

It writes what --save-programs writes, also of a run that was merged from shards. The programs are
read again from the files that were given to the run; files that changed since are refused.";

#[derive(Debug, Args)]
pub(crate) struct ArcSaveFlags {
    /// The run's folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The folder for the programs
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ArcRunFlags {
    #[command(flatten)]
    pub(crate) asked: ArcAskedFlags,
    #[command(flatten)]
    pub(crate) job: ArcJobFlags,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct ArcAskedFlags {
    /// Python files of programs: functions of one grid, lines that call primitives, a return
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) programs: Vec<PathBuf>,
    /// Which programs run on which task: all, or own (the program solve_<task> on the task of that
    /// name)
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        default_value = "all",
        hide_possible_values = true
    )]
    pub(crate) pairing: PairingName,
}

/// What programs run on, and how.
#[derive(Debug, Args)]
pub(crate) struct ArcJobFlags {
    /// What the programs are written in: auto (each file by its imports and names), arc-dsl, batt
    /// (generated files, and solvers of S, I and C) or re-arc (verifiers)
    #[arg(
        long,
        value_enum,
        value_name = "DIALECT",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) dialect: DialectName,
    /// A folder of tasks, a *_challenges.json file (its *_solutions.json beside it is used too),
    /// or a JSON file of tasks by name
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    pub(crate) tasks: Vec<PathBuf>,
    /// The folder of the run
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Take the calls of this finished run that are the same, and the values of differs, and evaluate
    /// only the others: those of new or changed programs and tasks
    #[arg(long, value_name = "RUN")]
    pub(crate) extend: Option<PathBuf>,
    /// The order in which programs see the elements of sets: cpython (as CPython 3.8 to 3.13 iterates
    /// them, bit-exact with the Python reference) or sorted
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        default_value = "cpython",
        hide_possible_values = true
    )]
    pub(crate) order: OrderName,
    /// Which outputs are kept in the table: short (up to 64 KiB; of longer ones the hash and the
    /// length) or all
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        default_value = "short",
        hide_possible_values = true
    )]
    pub(crate) outputs: OutputsName,
    /// Write two attempts for every test, by the best programs, as the ARC Prize wants them
    #[arg(long, value_name = "FILE")]
    pub(crate) submission: Option<PathBuf>,
    /// Also run each program on rotated, mirrored or recoloured inputs: symmetries (the input turned
    /// or mirrored, the output turned back: seven for each), colors (colours permuted: four), or all
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        num_args = 0..=1,
        default_missing_value = "symmetries",
        hide_possible_values = true
    )]
    pub(crate) augment: Option<AugmentName>,
    /// Look for solutions among the values that programs compute on the way: every statement whose
    /// value is right on all demonstrations of a task is a program too, called harvest_<hash>
    #[arg(long)]
    pub(crate) harvest: bool,
    /// Write the programs that solve a task or are the best at one as files, minimised to the
    /// statements that they need
    #[arg(long, value_name = "DIR")]
    pub(crate) save_programs: Option<PathBuf>,
    /// Let programs vote on the attempts of a submission: of the outputs of equally good programs,
    /// the one that most of them give comes first
    #[arg(long)]
    pub(crate) vote: bool,
    /// Rank the programs of a submission by your own key: a CSV file with the columns program and
    /// key, the largest key first; programs that are not in it come after
    #[arg(long, value_name = "FILE")]
    pub(crate) rank_by: Option<PathBuf>,
    /// Never put samples of different tasks into one batch; results are the same, and `swathe bench`
    /// measures the difference
    #[arg(long)]
    pub(crate) batch_within_task: bool,
    /// Measure the time of every primitive and program; the table is RUN/profile.parquet
    #[arg(long)]
    pub(crate) profile: bool,
    /// Work one call may do; a unit is about one function call or eight elements of a set, and the default enough for
    /// what Python does in a second
    #[arg(long, value_name = "N", default_value = "8000000", value_parser = call_work)]
    pub(crate) call_work: u64,
    /// Memory that one call's statements may build, summed. Calls that build much wait for each other in a quarter of
    /// --memory; one alone may take about three times this size
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = call_memory)]
    pub(crate) call_memory: ByteSize,
}

fn call_work(text: &str) -> Result<u64, WrongValue> {
    /// More work than a machine does in a month.
    const WORK_MAX: u64 = 1_000_000_000_000;
    let work = text.replace('_', "").parse().ok().filter(|n| (1..=WORK_MAX).contains(n));
    let hint = "write a whole number such as 8000000, at most a thousand billion";
    work.ok_or_else(|| WrongValue::not("a number of units", hint))
}

fn call_memory(text: &str) -> Result<ByteSize, WrongValue> {
    const BYTES_MAX: u64 = 1 << 40;
    let size = text.parse().ok().filter(|size: &ByteSize| size.0 <= BYTES_MAX);
    let hint = "write a number and a unit, such as 128MiB, at most 1TiB";
    size.ok_or_else(|| WrongValue::not("a memory size", hint))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// Each file by its imports
    Auto,
    /// The public arc-dsl
    ArcDsl,
    /// Generated batt files, and solvers of S, I and C
    Batt,
    /// The verifiers of re-arc
    ReArc,
}

impl DialectName {
    /// The dialect; None if each file decides.
    pub(crate) fn dialect(self) -> Option<Dialect> {
        match self {
            DialectName::Auto => None,
            DialectName::ArcDsl => Some(Dialect::ArcDsl),
            DialectName::Batt => Some(Dialect::Batt),
            DialectName::ReArc => Some(Dialect::ReArc),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AugmentName {
    /// Turns and mirrors
    Symmetries,
    /// Permutations of colours
    Colors,
    /// Both
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PairingName {
    /// Every program on every task
    All,
    /// The program solve_<task> on the task of that name
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderName {
    /// As CPython 3.8 to 3.13 iterates them: bit-exact with the Python reference
    Cpython,
    /// Ascending
    Sorted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputsName {
    /// Those of up to 64 KiB; of longer ones only the hash and the length
    Short,
    /// All, however long
    All,
}

#[derive(Debug, Args)]
pub(crate) struct ArcExplainFlags {
    /// Python files of programs
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) programs: Vec<PathBuf>,
    /// What the programs are written in: auto (each file by its imports and names), arc-dsl, batt
    /// (generated files, and solvers of S, I and C) or re-arc (verifiers)
    #[arg(
        long,
        value_enum,
        value_name = "DIALECT",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) dialect: DialectName,
    /// Print this program's graph instead of the figures
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// The graph in the DOT language
    #[arg(long, requires = "program")]
    pub(crate) dot: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ArcShowFlags {
    /// The run's folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The task's name
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// The program [default: the one that is best at the task]
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// A picture (.png) or a page (.html) instead of text
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ArcSubmitFlags {
    /// The run's folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "submission.json")]
    pub(crate) to: PathBuf,
    /// Let programs vote on the attempts of a submission: of the outputs of equally good programs,
    /// the one that most of them give comes first
    #[arg(long)]
    pub(crate) vote: bool,
    /// Rank the programs of a submission by your own key: a CSV file with the columns program and
    /// key, the largest key first; programs that are not in it come after
    #[arg(long, value_name = "FILE")]
    pub(crate) rank_by: Option<PathBuf>,
}
