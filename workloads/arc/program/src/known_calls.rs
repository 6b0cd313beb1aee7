//! Calls of a finished run that a new run need not repeat: `--extend`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array as _, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, UInt32Type, UInt64Type};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use swathe_arc::{Batt, Call, Fault, Output, Problem, SampleKey, Score, Task};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, column, number_column, string_column};

use crate::arc_run::{ProgramRow, SampleRow, read_programs, read_samples};
use crate::arc_table::{RESULTS, SPLITS};

/// The calls of a finished run, by the samples and programs of a new one. A call is known if the program and the sample
/// are the same, whatever their names and places: the sample with all demonstrations of its task.
#[derive(Debug)]
pub struct KnownCalls {
    run: PathBuf,
    /// The rows of each known sample in the table of the finished run.
    rows: HashMap<SampleKey, Range<u64>>,
    n_rows: u64,
    /// For each program of the finished run the equal ones of the new run, ascending.
    new_numbers: HashMap<String, Vec<usize>>,
    /// The programs of the new run that the finished one does not have.
    new_programs: Vec<usize>,
}

impl KnownCalls {
    /// Finds what is known of these programs and samples.
    ///
    /// # Errors
    /// If a table of the finished run cannot be read.
    pub fn of(
        run: &Path,
        programs: &[ProgramRow],
        problems: &[Problem],
    ) -> Result<KnownCalls, FolderError> {
        let mut by_digest: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, program) in programs.iter().enumerate() {
            by_digest.entry(&program.digest).or_default().push(number);
        }
        let mut new_numbers = HashMap::new();
        for program in read_programs(run)? {
            // Of equal programs of the finished run the first is enough.
            if let Some(numbers) = by_digest.remove(program.digest.as_str()) {
                new_numbers.insert(program.name, numbers);
            }
        }
        let mut new_programs: Vec<usize> = by_digest.into_values().flatten().collect();
        new_programs.sort_unstable();
        let same = same_samples(&read_samples(run)?, problems);
        let (mut rows, n_rows) = rows_of_samples(run)?;
        rows.retain(|key, _| same.contains(key));
        Ok(KnownCalls {
            run: run.to_owned(),
            rows,
            n_rows,
            new_numbers,
            new_programs,
        })
    }

    /// Makes a workload run only what is not known.
    pub fn leave_out(&self, workload: &mut Batt) {
        let samples = self.rows.keys().cloned().collect();
        workload.run_only(self.new_programs.clone(), samples);
    }

    /// How many calls of the new run are known.
    pub fn n_calls(&self) -> u64 {
        let n_programs: usize = self.new_numbers.values().map(Vec::len).sum();
        self.rows.len() as u64 * n_programs as u64
    }

    /// Adds the calls of a sample that are known to the new ones.
    ///
    /// # Errors
    /// If the table of the finished run cannot be read.
    pub fn complete(&self, problem: &Problem, calls: &mut Vec<Call>) -> Result<(), FolderError> {
        let key = (problem.task.name.clone(), problem.is_test, problem.index);
        let Some(rows) = self.rows.get(&key) else {
            return Ok(());
        };
        let skip = |n: u64| RowSelector::skip(n as usize);
        let mut table = TableReader::of_run(&self.run, RESULTS)?.columns(&[
            "program",
            "error_kind",
            "equal",
            "score",
            "output",
            "output_hash",
            "output_bytes",
        ]);
        table.builder = table.builder.with_row_selection(RowSelection::from(vec![
            skip(rows.start),
            RowSelector::select((rows.end - rows.start) as usize),
            skip(self.n_rows - rows.end),
        ]));
        table.for_each(|batch| self.add(batch, calls))?;
        calls.sort_by_key(|call| call.program);
        Ok(())
    }

    fn add(&self, batch: &RecordBatch, calls: &mut Vec<Call>) -> Result<(), String> {
        let program = string_column(batch, "program")?;
        let error_kind = string_column(batch, "error_kind")?;
        let text = cast(column(batch, "output")?, &DataType::LargeUtf8);
        let text = text.map_err(|error| error.to_string())?;
        let text = text.as_string::<i64>();
        let hash = number_column::<UInt64Type>(batch, "output_hash")?;
        let n_bytes = number_column::<UInt64Type>(batch, "output_bytes")?;
        let score = number_column::<Float64Type>(batch, "score")?;
        let equal = column(batch, "equal")?.as_boolean_opt();
        let equal = equal.ok_or("equal is neither true nor false")?;
        for at in 0..batch.num_rows() {
            let Some(numbers) = self.new_numbers.get(program.value(at)) else {
                continue;
            };
            let output = match error_kind.is_valid(at) {
                true => Err(fault(error_kind.value(at))?),
                false => Ok(Output {
                    text: text.is_valid(at).then(|| Arc::from(text.value(at))),
                    n_bytes: n_bytes.value(at) as usize,
                    // The table has these 8 of its 16 bytes.
                    hash: u128::from(hash.value(at)),
                }),
            };
            let is_scored = output.is_ok() && equal.is_valid(at);
            calls.extend(numbers.iter().map(|&program| Call {
                program,
                output: output.clone(),
                score: is_scored.then(|| Score {
                    equal: equal.value(at),
                    score: score.value(at),
                }),
            }));
        }
        Ok(())
    }
}

fn fault(name: &str) -> Result<Fault, String> {
    let found = Fault::ALL.into_iter().find(|fault| fault.name() == name);
    found.ok_or_else(|| format!("it has an error {name:?}, which is not known"))
}

/// The samples that both runs have, with the same demonstrations of their task.
fn same_samples(then: &[SampleRow], now: &[Problem]) -> HashSet<SampleKey> {
    let mut by_task: HashMap<&str, Vec<&SampleRow>> = HashMap::new();
    for sample in then {
        by_task.entry(&sample.task).or_default().push(sample);
    }
    let is_same_task = |task: &Task, then: &[&SampleRow]| {
        let demonstrations = then.iter().filter(|sample| !sample.is_test);
        let then = demonstrations.map(|sample| (&sample.input, &sample.expected));
        then.eq(task.train.iter().map(|s| (&s.input, &s.output)))
    };
    let mut same = HashSet::new();
    for problem in now {
        let (task, sample) = (&problem.task, problem.sample());
        let Some(then) = by_task.get(task.name.as_str()) else {
            continue;
        };
        let is_it = |then: &&SampleRow| {
            (then.is_test, then.index) == (problem.is_test, problem.index)
                && (&then.input, &then.expected) == (&sample.input, &sample.output)
        };
        if then.iter().any(is_it) && is_same_task(task, then) {
            same.insert((task.name.clone(), problem.is_test, problem.index));
        }
    }
    same
}

/// The rows of each sample in a table, and how many rows there are: those of a sample are adjacent.
fn rows_of_samples(run: &Path) -> Result<(HashMap<SampleKey, Range<u64>>, u64), FolderError> {
    let mut rows: HashMap<SampleKey, Range<u64>> = HashMap::new();
    let mut open: Option<(SampleKey, Range<u64>)> = None;
    let mut at_row = 0;
    let table = TableReader::of_run(run, RESULTS)?.columns(&["task", "split", "sample"]);
    table.for_each(|batch| {
        let (task, split) = (
            string_column(batch, "task")?,
            string_column(batch, "split")?,
        );
        let sample = number_column::<UInt32Type>(batch, "sample")?;
        for at in 0..batch.num_rows() {
            let is_test = split.value(at) == SPLITS[1];
            let index = sample.value(at) as usize;
            match &mut open {
                Some((key, of))
                    if (key.0.as_str(), key.1, key.2) == (task.value(at), is_test, index) =>
                {
                    of.end = at_row + 1;
                }
                _ => {
                    let key = (task.value(at).to_owned(), is_test, index);
                    rows.extend(open.replace((key, at_row..at_row + 1)));
                }
            }
            at_row += 1;
        }
        Ok(())
    })?;
    rows.extend(open);
    Ok((rows, at_row))
}
