//! One task of a run, to be shown: its samples, and what a program made of them.

use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, UInt32Type, UInt64Type};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use swathe_arc::Grid;

use super::ranking;
use super::samples::read_samples;
use crate::arc_table::{RESULTS, SPLITS};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, string_column};

/// A task of a run and what one program made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The task's name.
    pub task: String,
    /// The program.
    pub program: String,
    /// Its samples, demonstrations first.
    pub samples: Vec<ShownSample>,
}

/// One sample of a shown task.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownSample {
    /// Whether it is a test, not a demonstration.
    pub is_test: bool,
    /// Its number among the demonstrations or the tests.
    pub index: usize,
    /// The input.
    pub input: Grid,
    /// The expected output, if it is known.
    pub expected: Option<Grid>,
    /// What the program made of it.
    pub output: ShownOutput,
    /// Whether the output is right, if the expected one is known.
    pub is_equal: Option<bool>,
    /// The fraction of cells that are right.
    pub score: Option<f64>,
}

/// What a program made of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum ShownOutput {
    /// A grid; its cells need not be colours, nor its sides small.
    Grid(Vec<Vec<i64>>),
    /// Something else, encoded.
    Other(String),
    /// An output of this many bytes that was not kept.
    NotKept(u64),
    /// No output: the exception's kind, or the limit.
    Error(String),
    /// The call is not in the table: its sample failed.
    Missing,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// The run's files cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The run has no such task.
    #[error("the run has no task called '{task}'")]
    NoTask {
        /// The requested name.
        task: String,
        /// Tasks that it has.
        some: Vec<String>,
    },
    /// The program did not run on the task.
    #[error("no program called '{program}' ran on the task {task}")]
    NoProgram {
        /// The requested name.
        program: String,
        /// The task.
        task: String,
        /// Programs that ran on it.
        some: Vec<String>,
    },
}

/// Collects the samples of a task and the outputs of a program; without a name, of the program that
/// is best at the task.
///
/// # Errors
/// If a table of the run cannot be read, or if the run has no such task or program.
pub fn shown(run: &Path, task: &str, program: Option<&str>) -> Result<Shown, ShowError> {
    let all = read_samples(run)?;
    if all.iter().all(|sample| sample.task != task) {
        let mut some: Vec<String> = all.into_iter().map(|sample| sample.task).collect();
        some.dedup();
        some.truncate(5);
        return Err(ShowError::NoTask { task: task.to_owned(), some });
    }
    let ranked = ranking(run)?.remove(task).unwrap_or_default();
    let chosen = match program {
        Some(name) => ranked.iter().find(|ranked| ranked.program == name),
        None => ranked.first(),
    };
    let Some(chosen) = chosen else {
        let names = ranked.iter().map(|ranked| ranked.program.clone());
        return Err(ShowError::NoProgram {
            program: program.unwrap_or("solve_…").to_owned(),
            task: task.to_owned(),
            some: names.take(5).collect(),
        });
    };
    let calls = calls(run, task, &chosen.program)?;
    let samples = all.into_iter().filter(|sample| sample.task == task);
    let samples = samples.map(|sample| {
        let call =
            calls.iter().find(|call| (call.is_test, call.index) == (sample.is_test, sample.index));
        ShownSample {
            is_test: sample.is_test,
            index: sample.index,
            input: sample.input,
            expected: sample.expected,
            output: call.map_or(ShownOutput::Missing, |call| call.output.clone()),
            is_equal: call.and_then(|call| call.is_equal),
            score: call.and_then(|call| call.score),
        }
    });
    Ok(Shown { task: task.to_owned(), program: chosen.program.clone(), samples: samples.collect() })
}

struct ShownCall {
    is_test: bool,
    index: usize,
    output: ShownOutput,
    is_equal: Option<bool>,
    score: Option<f64>,
}

/// The rows of one task and program. Narrow columns are read first to find them: outputs are long,
/// and nearly all belong to other tasks and programs.
fn calls(run: &Path, task: &str, program: &str) -> Result<Vec<ShownCall>, FolderError> {
    let mut selectors: Vec<RowSelector> = Vec::new();
    let places = TableReader::of_run(run, RESULTS)?.columns(&["program", "task"]);
    places.for_each(|batch| {
        let tasks = string_column(batch, "task")?;
        let programs = string_column(batch, "program")?;
        selectors.extend((0..batch.num_rows()).map(|at| {
            if tasks.value(at) == task && programs.value(at) == program {
                RowSelector::select(1)
            } else {
                RowSelector::skip(1)
            }
        }));
        Ok(())
    })?;
    let mut table = TableReader::of_run(run, RESULTS)?.columns(&[
        "split",
        "sample",
        "error_kind",
        "equal",
        "score",
        "output",
        "output_bytes",
    ]);
    let selection = RowSelection::from(selectors);
    table.builder = table.builder.with_row_selection(selection);
    let mut calls = Vec::new();
    table.for_each(|batch| {
        calls.extend(calls_of(batch)?);
        Ok(())
    })?;
    Ok(calls)
}

fn calls_of(batch: &RecordBatch) -> Result<Vec<ShownCall>, String> {
    let column = |name: &str| {
        let found = batch.column_by_name(name);
        found.ok_or_else(|| format!("it has no column {name}"))
    };
    let (split, error_kind) = (string_column(batch, "split")?, string_column(batch, "error_kind")?);
    let output =
        cast(column("output")?, &DataType::LargeUtf8).map_err(|error| error.to_string())?;
    let output = output.as_string::<i64>();
    let index = column("sample")?.as_primitive::<UInt32Type>();
    let n_bytes = column("output_bytes")?.as_primitive::<UInt64Type>();
    let equal = column("equal")?.as_boolean();
    let score = column("score")?.as_primitive::<Float64Type>();
    let call = |at: usize| ShownCall {
        is_test: split.value(at) == SPLITS[1],
        index: index.value(at) as usize,
        output: if error_kind.is_valid(at) {
            ShownOutput::Error(error_kind.value(at).to_owned())
        } else if output.is_null(at) {
            ShownOutput::NotKept(n_bytes.value(at))
        } else {
            understood(output.value(at))
        },
        is_equal: equal.is_valid(at).then(|| equal.value(at)),
        score: score.is_valid(at).then(|| score.value(at)),
    };
    Ok((0..batch.num_rows()).map(call).collect())
}

/// An encoded output, as a grid if it is one.
fn understood(text: &str) -> ShownOutput {
    #[derive(serde::Deserialize)]
    struct Encoded {
        grid: Vec<Vec<i64>>,
    }
    match serde_json::from_str::<Encoded>(text) {
        Ok(Encoded { grid }) => ShownOutput::Grid(grid),
        Err(_) => ShownOutput::Other(text.to_owned()),
    }
}
