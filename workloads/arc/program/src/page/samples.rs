//! The tasks of a run and how large their samples are.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::Array;
use arrow::datatypes::UInt32Type;

use super::grid_text::short;
use crate::arc_table::SPLITS;
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, number_column, string_column};
use swathe_run::store::timing_table::Timings;

/// The tasks of a run, in order.
pub(super) struct Samples {
    pub(super) tasks: Vec<TaskSize>,
    numbers: HashMap<String, usize>,
}

/// A task without its grids.
#[derive(Default)]
pub(super) struct TaskSize {
    pub(super) name: String,
    pub(super) n_demonstrations: u32,
    pub(super) n_tests: u32,
    /// The size of its grids on a page.
    pub(super) n_bytes: usize,
    /// The size of the expected outputs among them.
    pub(super) n_bytes_expected: usize,
    /// The time all programs took on its samples; None if that is not known.
    pub(super) ms: Option<f64>,
}

/// One sample with its grids, as a page has them.
pub(super) struct ShortSample {
    pub(super) task: usize,
    pub(super) is_test: bool,
    pub(super) index: u32,
    pub(super) input: String,
    pub(super) expected: Option<String>,
}

impl Samples {
    pub(super) fn read(run: &Path) -> Result<Samples, FolderError> {
        let mut samples = Samples { tasks: Vec::new(), numbers: HashMap::new() };
        let mut task_of_sample: Vec<usize> = Vec::new();
        each(run, |name, is_test, _, input, expected| {
            if samples.tasks.last().is_none_or(|task| task.name != name) {
                let number = samples.tasks.len();
                samples.numbers.insert(name.to_owned(), number);
                samples.tasks.push(TaskSize { name: name.to_owned(), ..TaskSize::default() });
            }
            let number = samples.tasks.len() - 1;
            task_of_sample.push(number);
            let task = &mut samples.tasks[number];
            *(if is_test { &mut task.n_tests } else { &mut task.n_demonstrations }) += 1;
            let n_bytes_expected = expected.map(grid).transpose()?.map_or(0, |text| text.len());
            task.n_bytes += grid(input)?.len() + n_bytes_expected;
            task.n_bytes_expected += n_bytes_expected;
            Ok(())
        })?;
        samples.add_times(run, &task_of_sample)?;
        Ok(samples)
    }

    pub(super) fn number(&self, task: &str) -> Option<usize> {
        self.numbers.get(task).copied()
    }

    /// The grids of some tasks.
    pub(super) fn grids(
        &self,
        run: &Path,
        is_wanted: &[bool],
    ) -> Result<Vec<ShortSample>, FolderError> {
        let mut grids = Vec::new();
        each(run, |name, is_test, index, input, expected| {
            let Some(task) = self.number(name).filter(|&task| is_wanted[task]) else {
                return Ok(());
            };
            grids.push(ShortSample {
                task,
                is_test,
                index,
                input: grid(input)?,
                expected: expected.map(grid).transpose()?,
            });
            Ok(())
        })?;
        Ok(grids)
    }

    fn add_times(&mut self, run: &Path, task_of_sample: &[usize]) -> Result<(), FolderError> {
        for (row, ms) in Timings::read(run)?.all() {
            // A row without a sample would belong to another run.
            if let Some(&task) = task_of_sample.get(row as usize) {
                *self.tasks[task].ms.get_or_insert(0.0) += ms;
            }
        }
        Ok(())
    }
}

/// A grid of a task as a short text. Its cells are always colours, so anything else means a damaged
/// file.
fn grid(json: &str) -> Result<String, String> {
    short(json).ok_or_else(|| format!("it has a grid that is none: {json:.40}"))
}

/// Calls `add` with every sample: its task, whether it is a test, its number and its grids.
fn each(
    run: &Path,
    mut add: impl FnMut(&str, bool, u32, &str, Option<&str>) -> Result<(), String>,
) -> Result<(), FolderError> {
    let columns = ["task", "split", "sample", "input", "expected"];
    let table = TableReader::of_run(run, "samples")?.columns(&columns);
    table.for_each(|batch| {
        let column = |name: &str| string_column(batch, name);
        let (task, split) = (column("task")?, column("split")?);
        let (input, expected) = (column("input")?, column("expected")?);
        let index = number_column::<UInt32Type>(batch, "sample")?;
        for at in 0..batch.num_rows() {
            add(
                task.value(at),
                split.value(at) == SPLITS[1],
                index.value(at),
                input.value(at),
                expected.is_valid(at).then(|| expected.value(at)),
            )?;
        }
        Ok(())
    })
}
