//! What was run: `samples.parquet` and `programs.parquet`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Schema, UInt32Type, UInt64Type};
use swathe_arc::{Grid, Problem, Program, grid_from_value};

use super::differ_rows::DIFFER_ROWS;
use crate::arc_table::SPLITS;
use swathe_formats::described_field::described;
use swathe_run::store::run_folder::{FolderError, read, write_file, write_table};
use swathe_run::store::table_reader::{TableReader, string_column};

const SAMPLES: &str = "samples";
const PROGRAMS: &str = "programs";

/// One sample of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// Its task.
    pub task: String,
    /// Whether it is a test, not a demonstration.
    pub is_test: bool,
    /// Its number among the demonstrations or the tests.
    pub index: usize,
    /// The input.
    pub input: Grid,
    /// The expected output, if it is known.
    pub expected: Option<Grid>,
}

/// Which sample of a run it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleName {
    /// Its task.
    pub(crate) task: String,
    /// Whether it is a test, not a demonstration.
    pub(crate) is_test: bool,
    /// Its number among the demonstrations or the tests.
    pub(crate) index: usize,
}

/// One program of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRow {
    /// Its name.
    pub name: String,
    /// The file it is from.
    pub file: String,
    /// The line of its `def`.
    pub line: u64,
    /// Its length.
    pub n_statements: u64,
    /// The task of the row that it fills in a `batt` function.
    pub candidate: String,
    /// Its digest: equal programs have equal ones.
    pub digest: String,
}

impl ProgramRow {
    /// The row of a program from this file.
    pub fn of(program: &Program, file: &Path) -> ProgramRow {
        ProgramRow {
            name: program.name.clone(),
            file: file.display().to_string(),
            line: program.line as u64,
            n_statements: program.n_statements() as u64,
            candidate: program.row_task().to_owned(),
            digest: program.digest(),
        }
    }

    /// The memory of the row.
    pub fn n_bytes(&self) -> u64 {
        let texts = [&self.name, &self.file, &self.candidate, &self.digest];
        let n_bytes = texts.map(|text| text.capacity()).iter().sum::<usize>();
        (size_of::<ProgramRow>() + n_bytes) as u64
    }
}

/// The file with what is wrong with programs and tasks that cannot run.
pub(crate) const REJECTED: &str = "rejected.txt";

/// Writes the tables of the samples and programs that are run.
///
/// # Errors
/// If a table cannot be written.
pub fn write_inputs(
    run: &Path,
    problems: &[Problem],
    programs: &[ProgramRow],
) -> Result<(), FolderError> {
    write_table(&run.join(format!("{SAMPLES}.parquet")), &samples_batch(problems))?;
    write_table(&run.join(format!("{PROGRAMS}.parquet")), &programs_batch(programs))
}

/// Copies the tables of samples, programs and differs, programs that the run made and what was rejected, from a shard
/// to the merged run; all shards have the same.
///
/// # Errors
/// If the run has no shards, or if a table cannot be read or written.
pub fn adopt_inputs(run: &Path) -> Result<(), FolderError> {
    let shards = run.join("shards");
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| FolderError::Read { path, source }
    };
    let entries = std::fs::read_dir(&shards).map_err(unreadable(&shards))?;
    let folders = entries.flatten().map(|entry| entry.path());
    let Some(shard) = folders.filter(|path| path.is_dir()).min() else {
        return Err(FolderError::NoRun { path: shards });
    };
    let tables = [SAMPLES, PROGRAMS, DIFFER_ROWS].map(|table| format!("{table}.parquet"));
    for entry in std::fs::read_dir(&shard).map_err(unreadable(&shard))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if tables.contains(&name) || name.ends_with(".py") || name == REJECTED {
            let bytes = read(&entry.path()).map_err(unreadable(&entry.path()))?;
            write_file(&run.join(&name), &bytes)?;
        }
    }
    Ok(())
}

fn samples_batch(problems: &[Problem]) -> RecordBatch {
    let schema = Schema::new(vec![
        described(
            "row",
            DataType::UInt64,
            "the sample's number, from 0: the row in timing.parquet",
        ),
        described("task", DataType::Utf8, "the task's name"),
        described("split", DataType::Utf8, "train for a demonstration, test for a test"),
        described(
            "sample",
            DataType::UInt32,
            "its number among the task's demonstrations or tests, from 0",
        ),
        described("input", DataType::Utf8, "the input grid, rows of colours as JSON"),
        described("expected", DataType::Utf8, "the expected output; null if it is not known")
            .with_nullable(true),
    ]);
    let samples = || problems.iter().map(Problem::sample);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..problems.len() as u64)),
        Arc::new(StringArray::from_iter_values(problems.iter().map(|problem| &problem.task.name))),
        Arc::new(StringArray::from_iter_values(
            problems.iter().map(|problem| SPLITS[usize::from(problem.is_test)]),
        )),
        Arc::new(UInt32Array::from_iter_values(
            problems.iter().map(|problem| problem.index as u32),
        )),
        Arc::new(StringArray::from_iter_values(samples().map(|sample| json(&sample.input)))),
        Arc::new(StringArray::from_iter(samples().map(|sample| sample.output.as_ref().map(json)))),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).expect("the columns have one length")
}

fn programs_batch(programs: &[ProgramRow]) -> RecordBatch {
    let schema = Schema::new(vec![
        described("row", DataType::UInt64, "the program's number, from 0"),
        described("program", DataType::Utf8, "the function's name"),
        described("file", DataType::Utf8, "the file it is from"),
        described("line", DataType::UInt64, "the line of its def, from 1"),
        described("statements", DataType::UInt64, "its calls, nested ones included"),
        described(
            "candidate",
            DataType::Utf8,
            "the task of its row in a batt file, or what follows solve_ in its name",
        ),
        described(
            "digest",
            DataType::Utf8,
            "12 bytes of the BLAKE3 hash of its text without its name: equal programs have equal ones",
        ),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..programs.len() as u64)),
        Arc::new(StringArray::from_iter_values(programs.iter().map(|program| &program.name))),
        Arc::new(StringArray::from_iter_values(programs.iter().map(|program| &program.file))),
        Arc::new(UInt64Array::from_iter_values(programs.iter().map(|program| program.line))),
        Arc::new(UInt64Array::from_iter_values(
            programs.iter().map(|program| program.n_statements),
        )),
        Arc::new(StringArray::from_iter_values(programs.iter().map(|program| &program.candidate))),
        Arc::new(StringArray::from_iter_values(programs.iter().map(|program| &program.digest))),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).expect("the columns have one length")
}

/// A grid as JSON, as task files hold it.
fn json(grid: &Grid) -> String {
    let rows: Vec<&[i8]> = grid.rows().collect();
    serde_json::to_string(&rows).unwrap_or_default()
}

/// The samples of a run, in order.
///
/// # Errors
/// If the table cannot be read or has other columns, or if a grid in it is not one.
pub fn read_samples(run: &Path) -> Result<Vec<SampleRow>, FolderError> {
    let columns = ["task", "split", "sample", "input", "expected"];
    read_rows(run, SAMPLES, &columns, |batch| {
        let (input, expected) = (string_column(batch, "input")?, string_column(batch, "expected")?);
        let row = |(at, name): (usize, SampleName)| {
            let answer = expected.is_valid(at).then(|| grid(expected.value(at))).transpose();
            Ok(SampleRow {
                task: name.task,
                is_test: name.is_test,
                index: name.index,
                input: grid(input.value(at))?,
                expected: answer?,
            })
        };
        names(batch)?.into_iter().enumerate().map(row).collect()
    })
}

/// The samples of a run, in order, without their grids.
pub(crate) fn read_sample_names(run: &Path) -> Result<Vec<SampleName>, FolderError> {
    read_rows(run, SAMPLES, &["task", "split", "sample"], names)
}

fn names(batch: &RecordBatch) -> Result<Vec<SampleName>, String> {
    let (task, split) = (string_column(batch, "task")?, string_column(batch, "split")?);
    let index =
        column(batch, "sample")?.as_primitive_opt::<UInt32Type>().ok_or("index is no number")?;
    let name = |at: usize| SampleName {
        task: task.value(at).to_owned(),
        is_test: split.value(at) == SPLITS[1],
        index: index.value(at) as usize,
    };
    Ok((0..batch.num_rows()).map(name).collect())
}

/// The programs of a run, in order.
///
/// # Errors
/// If the table cannot be read or has other columns.
pub fn read_programs(run: &Path) -> Result<Vec<ProgramRow>, FolderError> {
    let columns = ["program", "file", "line", "statements", "candidate", "digest"];
    read_rows(run, PROGRAMS, &columns, |batch| {
        let (name, file) = (string_column(batch, "program")?, string_column(batch, "file")?);
        let number = |name: &str| {
            let numbers = column(batch, name)?.as_primitive_opt::<UInt64Type>();
            numbers.ok_or_else(|| format!("{name} is no number"))
        };
        let (line, n_statements) = (number("line")?, number("statements")?);
        // Runs of earlier versions do not have these.
        let text = |name: &str, at: usize| match string_column(batch, name) {
            Ok(texts) => texts.value(at).to_owned(),
            Err(_) => String::new(),
        };
        let row = |at: usize| ProgramRow {
            name: name.value(at).to_owned(),
            file: file.value(at).to_owned(),
            line: line.value(at),
            n_statements: n_statements.value(at),
            candidate: text("candidate", at),
            digest: text("digest", at),
        };
        Ok((0..batch.num_rows()).map(row).collect())
    })
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, String> {
    let found = batch.column_by_name(name);
    found.ok_or_else(|| format!("it has no column {name}"))
}

fn grid(text: &str) -> Result<Grid, String> {
    let json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    grid_from_value(&json, "a grid").map_err(|error| error.to_string())
}

pub(super) fn read_rows<T>(
    run: &Path,
    table: &str,
    columns: &[&str],
    rows: impl Fn(&RecordBatch) -> Result<Vec<T>, String>,
) -> Result<Vec<T>, FolderError> {
    let mut all = Vec::new();
    let table = TableReader::of_run(run, table)?.columns(columns);
    table.for_each(|batch| {
        all.extend(rows(batch)?);
        Ok(())
    })?;
    Ok(all)
}

/// The number of each program in the run.
pub(crate) fn numbers_by_name(programs: &[ProgramRow]) -> HashMap<&str, u32> {
    let named = programs.iter().zip(0..);
    named.map(|(program, number)| (program.name.as_str(), number)).collect()
}
