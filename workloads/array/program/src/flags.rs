//! Flags of `swathe array`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};

use swathe_command::run_flags::RunFlags;
use swathe_command::setting_value::{WrongValue, whole};

/// XORs, multiplies or maps many arrays of different shapes.
///
/// Inputs are .npy files (one item each), .npz files (each member an item), Parquet files with a list
/// column (each row an item) and the folders of finished runs (each result an item). An item that cannot be used fails alone: the others are done,
/// and the exit status is 1.
#[derive(Debug, Args)]
pub(crate) struct ArrayFlags {
    #[command(subcommand)]
    pub(crate) verb: ArrayVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArrayVerb {
    /// XOR arrays of integers with a key; the same key again restores them
    #[command(after_help = XOR_EXAMPLES)]
    Xor(XorFlags),
    /// Multiply matrices, vectors and stacks of matrices (f32 or f64) as NumPy's matmul does, each item of IN by the item of its name in --with
    #[command(after_help = MATMUL_EXAMPLES)]
    Matmul(MatmulFlags),
    /// Map every element of f32 or f64 arrays
    #[command(after_help = MAP_EXAMPLES)]
    Map(MapFlags),
}

const XOR_EXAMPLES: &str = "\
Examples:
  swathe array xor data.npz --key-seed 42 --out hidden.npz
  swathe array xor hidden.npz --out data-again.npz      the seed is stored in hidden.npz
  swathe array xor RUN --out data-again.npz              a run folder stands for its results
  swathe array xor a.npy b.npy --key 1,2,255 --out RUN   a short key, over and over
  swathe array xor data.npz --with keys.npz --out out.npz";

const MATMUL_EXAMPLES: &str = "\
Examples:
  swathe array matmul left.npz --with right.npz --out products.npz
  swathe array matmul many.npz --with one.npy --out RUN  every item by the same matrix

Axes before the last two are stacks, which are broadcast; a vector on the left is a row, on the
right a column. Single by double precision gives double.";

const MAP_EXAMPLES: &str = "\
Examples:
  swathe array map sqrt data.npz --out roots.npz
  swathe array map multiply data.parquet --operand 0.5 --out RUN
  swathe array map add a.npz --with b.npz --out sums.npz

NaN from the root or logarithm of a negative number is IEEE's answer, not a failure; how many
there are is counted.";

/// What all three verbs take.
#[derive(Debug, Args)]
pub(crate) struct ItemFlags {
    /// .npy, .npz or .parquet files, or folders of finished runs
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// A folder for a run that can be resumed and has a report, or a file ending in .npz
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The list column of Parquet inputs; needed where there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Option<String>,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct XorFlags {
    /// Key arrays: the item of the same name, or the only one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "key_seed"])]
    pub(crate) with: Option<PathBuf>,
    /// A short key that is used over and over: numbers joined by commas, each of which fits in the items' elements
    #[arg(long, value_name = "NUMBERS", conflicts_with = "key_seed", value_parser = key)]
    pub(crate) key: Option<Arc<Vec<u64>>>,
    /// A key derived from a seed; the seed is stored with the result
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(crate) key_seed: Option<u64>,
    #[command(flatten)]
    pub(crate) items: ItemFlags,
}

fn operand(text: &str) -> Result<f64, WrongValue> {
    text.parse().map_err(|_| WrongValue::not("a number", "write something like --operand 2.5"))
}

fn key(text: &str) -> Result<Arc<Vec<u64>>, WrongValue> {
    let numbers = text.split(',').map(|number| number.trim().parse::<u64>());
    let hint = "write something like --key 17,42,255";
    let wrong = |_| WrongValue::not("numbers joined by commas", hint);
    numbers.collect::<Result<_, _>>().map(Arc::new).map_err(wrong)
}

#[derive(Debug, Args)]
pub(crate) struct MatmulFlags {
    /// The right operands: the item of the same name, or the only one
    #[arg(long, value_name = "FILE")]
    pub(crate) with: PathBuf,
    #[command(flatten)]
    pub(crate) items: ItemFlags,
}

#[derive(Debug, Args)]
pub(crate) struct MapFlags {
    /// What to do to every element
    #[arg(value_enum, value_name = "OP")]
    pub(crate) map: MapName,
    /// The number to add or to multiply by
    #[arg(long, value_name = "X", value_parser = operand, allow_negative_numbers = true, conflicts_with = "with")]
    pub(crate) operand: Option<f64>,
    /// The arrays to add or to multiply by: the item of the same name, or the only one
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) items: ItemFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapName {
    Add,
    Multiply,
    Square,
    Sqrt,
    Exp,
    Log,
    Abs,
    Negate,
}
