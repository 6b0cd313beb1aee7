//! The files that a run of grid programs writes beside its results: the samples and programs that were run, and the
//! table of tasks with the programs that solve them.
//!
//! Every file here that is not an input is made from tables in the run folder, so that it is the same after a resumed
//! run and after a merge.

mod batt_scores;
mod dictionary_column;
mod differs;
mod profile;
mod ranking;
mod samples;
mod shown;
mod tally;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, ListBuilder, RecordBatch, StringArray, StringBuilder, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Schema};

pub(crate) use batt_scores::batt_scores;
pub use batt_scores::write_batt_scores;
pub(crate) use differs::differ_scores;
pub use differs::write_differs;
pub use profile::{ProfileRow, profile_rows, write_profile};
pub(crate) use ranking::ProgramScore;
pub use ranking::{Ranked, ranking};
pub(crate) use samples::numbers_by_name;
pub use samples::{ProgramRow, SampleRow, adopt_inputs, read_programs, read_samples, write_inputs};
pub use shown::{ShowError, Shown, ShownOutput, ShownSample, shown};
pub(crate) use tally::{Mark, TaskCalls, tally};

use swathe_formats::described_field::described;
use swathe_run::store::run_folder::{FolderError, write_table};

/// How many tasks of a run are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Tasks in the run.
    pub n_tasks: u64,
    /// Tasks that some program solves.
    pub n_solved: u64,
}

/// Writes `tasks.parquet` of a complete run: for each task the programs that solve it, and the best.
///
/// # Errors
/// If a table of the run cannot be read or `tasks.parquet` cannot be written.
pub fn write_tasks(run: &Path) -> Result<Summary, FolderError> {
    let samples = read_samples(run)?;
    let ranked = ranking(run)?;
    let mut names: Vec<&str> = samples.iter().map(|sample| sample.task.as_str()).collect();
    names.dedup();
    let item = Field::new("element", DataType::Utf8, false);
    let mut solved_by = ListBuilder::new(StringBuilder::new()).with_field(item.clone());
    let mut n_solved = 0;
    let empty = Vec::new();
    let mut best: Vec<Option<&Ranked>> = Vec::new();
    for name in &names {
        let programs = ranked.get(*name).unwrap_or(&empty);
        let mut solvers: Vec<&Ranked> =
            programs.iter().filter(|program| program.solves()).collect();
        n_solved += u64::from(!solvers.is_empty());
        solvers.sort_by_key(|program| program.number);
        for solver in solvers {
            solved_by.values().append_value(&solver.program);
        }
        solved_by.append(true);
        best.push(programs.first());
    }
    let schema = Schema::new(vec![
        described("row", DataType::UInt64, "the task's number, from 0"),
        described("task", DataType::Utf8, "the task's name"),
        described("solved_by", DataType::List(Arc::new(item)), "the programs whose outputs are right on all demonstrations"),
        described("best_program", DataType::Utf8, "the first by demonstrations solved, mean score, fewer statements, name; null if none ran").with_nullable(true),
        described("best_score", DataType::Float64, "its mean score over the demonstrations").with_nullable(true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..names.len() as u64)),
        Arc::new(StringArray::from_iter_values(&names)),
        Arc::new(solved_by.finish()),
        Arc::new(StringArray::from_iter(
            best.iter()
                .map(|best| best.map(|best| best.program.as_str())),
        )),
        Arc::new(Float64Array::from_iter(
            best.iter().map(|best| best.map(Ranked::mean_score)),
        )),
    ];
    let batch =
        RecordBatch::try_new(Arc::new(schema), columns).expect("the columns have one length");
    write_table(&run.join("tasks.parquet"), &batch)?;
    Ok(Summary {
        n_tasks: names.len() as u64,
        n_solved,
    })
}

/// Tasks by name, each with its programs from the best to the worst.
pub type Ranking = BTreeMap<String, Vec<Ranked>>;
