//! The data of a run of grid programs for its page: how calls ended, which program solves which
//! task, and what the best programs made of the tasks.
//!
//! All of it is made from the tables of the run folder, in one pass over the narrow columns of
//! `results.parquet` and one over the outputs that are shown.

mod cell;
mod grid_text;
mod matrix;
mod profile;
mod samples;
mod standings;
mod views;

use std::path::Path;

use serde_json::{Value, json};

use crate::arc_run::{numbers_by_name, read_programs, tally};
use crate::arc_table::OUTCOMES;
use matrix::Matrix;
use samples::Samples;
use standings::Standings;
use swathe_run::store::run_folder::FolderError;
use views::Views;

/// The data of the page.
pub(crate) fn data(run: &Path) -> Result<Value, FolderError> {
    // A run that was interrupted has no tables yet.
    for table in ["results", "samples", "programs", "timing"] {
        let name = format!("{table}.parquet");
        if !run.join(&name).exists() {
            return Ok(json!({ "absent": name }));
        }
    }
    let programs = read_programs(run)?;
    let numbers = numbers_by_name(&programs);
    let samples = Samples::read(run)?;
    let mut standings = Standings::new(&samples, &programs);
    let mut views = Views::new(run, &samples)?;
    let mut matrix = Matrix::of_all(samples.tasks.len(), programs.len());
    let calls = tally(run, &numbers, |task| {
        let Some(number) = samples.number(task.task) else {
            return;
        };
        let best = standings.add(number, task);
        views.add(number, task, &best);
        if let Some(matrix) = &mut matrix {
            matrix.add(number, samples.tasks[number].n_demonstrations, task);
        }
    })?;
    let is_own = standings.is_one_to_one();
    let matrix = match matrix {
        _ if is_own => None,
        Some(matrix) => Some(matrix),
        // Too large to be shown whole. Which programs are best is known only now, so the table is
        // read again.
        None => {
            let mut matrix = standings.matrix_of_best();
            tally(run, &numbers, |task| {
                if let Some(number) = samples.number(task.task) {
                    matrix.add(number, samples.tasks[number].n_demonstrations, task);
                }
            })?;
            Some(matrix)
        }
    };
    let errors: Vec<Value> = calls.n_by_error.iter().map(|(kind, n)| json!([kind, n])).collect();
    let outcomes: Vec<Value> =
        OUTCOMES.iter().zip(calls.n_by_outcome).map(|(name, n)| json!([name, n])).collect();
    Ok(json!({
        "run": run.display().to_string(),
        "calls": {
            "n": calls.n_by_outcome.iter().sum::<u64>(),
            "n_right": calls.n_right,
            "n_known": calls.n_known,
            "outcomes": outcomes,
            "errors": errors,
        },
        "is_own": is_own,
        "tasks": standings.tasks_json(),
        "programs": standings.programs_json(),
        "matrix": matrix.map(|matrix| matrix.json(&samples, &programs)),
        "views": views.json(run, &programs)?,
        "profile": profile::json(run)?,
    }))
}
