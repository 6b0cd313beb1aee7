//! The files that a run of grid programs writes beside its results: the samples and programs that were run, and the
//! table of tasks with the programs that solve them.
//!
//! Every file here that is not an input is made from tables in the run folder, so that it is the same after a resumed
//! run and after a merge.

mod batt_scores;
mod dictionary_column;
mod differ_rows;
mod differs;
mod part_values;
mod profile;
mod ranking;
mod samples;
mod shown;
mod tally;

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{Array, AsArray};

pub use batt_scores::write_batt_scores;
pub(crate) use differ_rows::find_differ_rows;
pub use differ_rows::write_differ_rows;
pub(crate) use differs::DIFFERS;
pub use differs::write_differs;
pub(crate) use profile::read_operations;
pub use profile::{ProfileRow, profile_rows, write_profile};
pub(crate) use ranking::ProgramScore;
pub use ranking::{Ranked, ranking};
pub use samples::{ProgramRow, SampleRow, adopt_inputs, read_programs, read_samples, write_inputs};
pub(crate) use samples::{REJECTED, numbers_by_name, read_sample_names};
pub use shown::{ShowError, Shown, ShownOutput, ShownSample, shown};
pub(crate) use tally::{Mark, TaskCalls, tally};

use batt_scores::BATT_SCORES;
use differ_rows::DIFFER_ROWS;
use profile::PROFILE;
use samples::{PROGRAMS, SAMPLES};
use swathe_command::summary::counted;
use swathe_run::record;
use swathe_run::store::record::{SideTable, TableReference};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, column};

/// How many tasks are solved, tests included, and how many have a program that fits their demonstrations: none if the
/// run is a part of the input, which has no table of tasks. Tests whose answers are not known cannot be counted.
pub(crate) fn headline(run: &Path) -> Result<Option<String>, FolderError> {
    if !run.join(TASKS.file_name()).exists() {
        return Ok(None);
    }
    let (mut n_tasks, mut n_fit, mut n_tested, mut n_solved) = (0, 0, 0, 0);
    let table = TableReader::of_run(run, TASKS.name)?.columns(&["solved_by", TESTS_RIGHT]);
    table.for_each(|batch| {
        let solved_by = column(batch, "solved_by")?;
        let lists = solved_by.as_list_opt::<i32>();
        let lists = lists.ok_or("solved_by is no list of programs")?;
        n_tasks += lists.len() as u64;
        // Tables of earlier versions do not have it.
        let tests_right =
            batch.column_by_name(TESTS_RIGHT).and_then(|column| column.as_boolean_opt());
        for (at, list) in lists.iter().enumerate() {
            let fits = list.is_some_and(|list| !list.is_empty());
            let are_right =
                tests_right.filter(|column| column.is_valid(at)).map(|column| column.value(at));
            n_fit += u64::from(fits);
            n_tested += u64::from(are_right.is_some());
            n_solved += u64::from(fits && are_right == Some(true));
        }
        Ok(())
    })?;
    let tasks = counted(n_tasks, "task", "tasks");
    let fit = if n_fit == 1 { "fits its demonstrations" } else { "fit their demonstrations" };
    Ok(Some(match n_tested {
        0 => format!("{n_fit} of {tasks} {fit}"),
        _ => format!("{n_solved} of {tasks} solved, {n_fit} {fit}"),
    }))
}

const TESTS_RIGHT: &str = "tests_right";

/// The tasks of a run.
const TASKS: SideTable<TaskRow> = SideTable::new("tasks", "the task's number, from 0");

record! {
    /// How the programs did at a task.
    struct TaskRow / TaskColumns {
        /// the task's name
        task: String;
        /// the programs whose outputs are right on all demonstrations
        solved_by: Vec<String>;
        /// the first by demonstrations solved, mean score, fewer statements, name; null if none ran
        best_program: Option<String>;
        /// its mean score over the demonstrations
        best_score: Option<f64>;
        /// whether it gets all tests right; null if there are none, or an answer is not known
        tests_right: Option<bool>, name(TESTS_RIGHT);
    }
}

/// Writes `tasks.parquet` of a complete run: for each task the programs that fit its demonstrations, and the best.
///
/// # Errors
/// If a table of the run cannot be read or `tasks.parquet` cannot be written.
pub fn write_tasks(run: &Path) -> Result<(), FolderError> {
    let samples = read_sample_names(run)?;
    let ranked = ranking(run)?;
    let mut names: Vec<&str> = samples.iter().map(|sample| sample.task.as_str()).collect();
    names.dedup();
    let empty = Vec::new();
    let row = |name: &&str| {
        let programs = ranked.get(*name).unwrap_or(&empty);
        let mut solvers: Vec<&Ranked> =
            programs.iter().filter(|program| program.solves()).collect();
        solvers.sort_by_key(|program| program.number);
        let best = programs.first();
        TaskRow {
            task: (*name).to_owned(),
            solved_by: solvers.into_iter().map(|solver| solver.program.clone()).collect(),
            best_program: best.map(|best| best.program.clone()),
            best_score: best.map(Ranked::mean_score),
            tests_right: best.and_then(|best| best.tests_right),
        }
    };
    TASKS.write(run, &names.iter().map(row).collect::<Vec<_>>())
}

/// The tables beside the results, in the reference.
pub(crate) fn references() -> Vec<TableReference> {
    let mut tables = vec![
        SAMPLES.reference("every run: a row for each sample"),
        PROGRAMS.reference("every run: a row for each program"),
        TASKS.reference("every whole run: a row for each task"),
        PROFILE.reference("`--profile`: a row for each primitive and each program"),
        BATT_SCORES.reference("`arc batt`: a row for each candidate of each task"),
        DIFFER_ROWS.reference("`arc batt`: a row for each differ"),
    ];
    tables.extend(differs::references());
    tables
}

/// Tasks by name, each with its programs from the best to the worst.
pub type Ranking = BTreeMap<String, Vec<Ranked>>;
