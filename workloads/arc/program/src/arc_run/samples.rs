//! What was run: `samples.parquet` and `programs.parquet`.

use std::collections::HashMap;
use std::path::Path;

use swathe_arc::{Grid, Problem, Program, grid_from_value};

use super::differ_rows::DIFFER_ROWS;
use crate::arc_table::SPLITS;
use swathe_run::record;
use swathe_run::store::record::SideTable;
use swathe_run::store::run_folder::{FolderError, read, write_file};

/// The samples of a run.
pub(super) const SAMPLES: SideTable<SampleCells> =
    SideTable::new("samples", "the sample's number, from 0: the row in timing.parquet");

/// The same without their grids.
const SAMPLE_NAMES: SideTable<SampleNameCells> = SideTable::new(SAMPLES.name, "");

/// The programs of a run.
pub(super) const PROGRAMS: SideTable<ProgramRow> =
    SideTable::new("programs", "the program's number, from 0");

record! {
    /// The columns that name a sample.
    pub(super) struct SampleNameCells / SampleNameColumns: read, of(problem: &Problem) {
        /// the task's name
        task: String = problem.task.name.clone();
        /// train for a demonstration, test for a test
        split: String = SPLITS[usize::from(problem.is_test)].to_owned();
        /// its number among the task's demonstrations or tests, from 0
        sample: u32 = problem.index as u32;
    }
}

record! {
    /// The columns of a sample.
    pub(super) struct SampleCells / SampleColumns: read, of(problem: &Problem) {
        /// which sample it is
        name: SampleNameCells = SampleNameCells::of(problem);
        /// the input grid, rows of colours as JSON
        input: String = json(&problem.sample().input);
        /// the expected output; null if it is not known
        expected: Option<String> = problem.sample().output.as_ref().map(json);
    }
}

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

record! {
    /// One program of a run.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ProgramRow / ProgramColumns: read {
        /// the function's name
        name: String, name("program");
        /// the file it is from
        file: String;
        /// the line of its def, from 1
        line: u64;
        /// its calls, nested ones included
        n_statements: u64, name("statements");
        /// the task of its row in a batt file, or what follows solve_ in its name
        candidate: String, later;
        /// 12 bytes of the BLAKE3 hash of its text without its name: equal programs have equal ones
        digest: String, later;
    }
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
    let samples: Vec<SampleCells> = problems.iter().map(SampleCells::of).collect();
    SAMPLES.write(run, &samples)?;
    PROGRAMS.write(run, programs)
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
    let tables = [SAMPLES.file_name(), PROGRAMS.file_name(), DIFFER_ROWS.file_name()];
    for entry in std::fs::read_dir(&shard).map_err(unreadable(&shard))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if tables.contains(&name) || name.ends_with(".py") || name == REJECTED {
            let bytes = read(&entry.path()).map_err(unreadable(&entry.path()))?;
            write_file(&run.join(&name), &bytes)?;
        }
    }
    Ok(())
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
    let row = |cells: SampleCells| {
        let SampleName { task, is_test, index } = cells.name.into();
        let (input, expected) = (grid(&cells.input)?, cells.expected.as_deref().map(grid));
        Ok(SampleRow { task, is_test, index, input, expected: expected.transpose()? })
    };
    let rows: Result<_, String> = SAMPLES.read(run)?.into_iter().map(row).collect();
    rows.map_err(FolderError::damaged(&run.join(SAMPLES.file_name())))
}

/// The samples of a run, in order, without their grids.
pub(crate) fn read_sample_names(run: &Path) -> Result<Vec<SampleName>, FolderError> {
    Ok(SAMPLE_NAMES.read(run)?.into_iter().map(SampleName::from).collect())
}

impl From<SampleNameCells> for SampleName {
    fn from(cells: SampleNameCells) -> SampleName {
        let SampleNameCells { task, split, sample } = cells;
        SampleName { task, is_test: split == SPLITS[1], index: sample as usize }
    }
}

/// The programs of a run, in order.
///
/// # Errors
/// If the table cannot be read or has other columns.
pub fn read_programs(run: &Path) -> Result<Vec<ProgramRow>, FolderError> {
    PROGRAMS.read(run)
}

fn grid(text: &str) -> Result<Grid, String> {
    let json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    grid_from_value(&json, "a grid").map_err(|error| error.to_string())
}

/// The number of each program in the run.
pub(crate) fn numbers_by_name(programs: &[ProgramRow]) -> HashMap<&str, u32> {
    let named = programs.iter().zip(0..);
    named.map(|(program, number)| (program.name.as_str(), number)).collect()
}
