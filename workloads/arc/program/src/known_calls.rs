//! Calls of a finished run that a new run need not repeat: `--extend`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array as _, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Float64Type, Int32Type, UInt32Type, UInt64Type};
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
    /// The rows of each row group of that table.
    groups: Vec<Range<u64>>,
    /// Row groups that were read last.
    kept: Mutex<VecDeque<(usize, RecordBatch)>>,
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
        let mut rows = rows_of_samples(run)?;
        rows.retain(|key, _| same.contains(key));
        Ok(KnownCalls {
            run: run.to_owned(),
            rows,
            groups: row_groups(run)?,
            kept: Mutex::default(),
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
        for (number, group) in self.groups.iter().enumerate() {
            let (from, to) = (rows.start.max(group.start), rows.end.min(group.end));
            if from >= to {
                continue;
            }
            let batch = self.group(number)?;
            let part = batch.slice((from - group.start) as usize, (to - from) as usize);
            let table = self.run.join(format!("{RESULTS}.parquet"));
            self.add(&part, calls)
                .map_err(FolderError::damaged(&table))?;
        }
        calls.sort_by_key(|call| call.program);
        Ok(())
    }

    /// A row group of the table. The last ones are kept, because samples are solved nearly in the order of their rows.
    fn group(&self, number: usize) -> Result<RecordBatch, FolderError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, batch)) = kept.iter().find(|(of, _)| *of == number) {
            return Ok(batch.clone());
        }
        let mut table = TableReader::of_run(&self.run, RESULTS)?.columns(&[
            "program",
            "error_kind",
            "equal",
            "score",
            "output",
            "output_hash",
            "output_bytes",
        ]);
        table.builder = table.builder.with_row_groups(vec![number]);
        let mut batches = Vec::new();
        table.for_each(|batch| {
            batches.push(batch.clone());
            Ok(())
        })?;
        let path = self.run.join(format!("{RESULTS}.parquet"));
        let schema = batches.first().map(RecordBatch::schema);
        let schema = schema.ok_or_else(|| FolderError::damaged(&path)("a row group is empty"))?;
        let batch = concat_batches(&schema, &batches).map_err(FolderError::damaged(&path))?;
        if kept.len() == N_KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((number, batch.clone()));
        Ok(batch)
    }

    fn add(&self, batch: &RecordBatch, calls: &mut Vec<Call>) -> Result<(), String> {
        let program = string_column(batch, "program")?;
        let error_kind = string_column(batch, "error_kind")?;
        let outputs = column(batch, "output")?.as_dictionary_opt::<Int32Type>();
        let outputs = outputs.ok_or("output is stored in another way")?;
        let texts = outputs.values().as_string_opt::<i64>();
        let texts = texts.ok_or("output is stored in another way")?;
        // Equal outputs share their text.
        let mut shared: HashMap<usize, Arc<str>> = HashMap::new();
        let mut text = |at: usize| {
            let key = outputs.key(at)?;
            let text = shared.entry(key).or_insert_with(|| texts.value(key).into());
            Some(Arc::clone(text))
        };
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
                    text: text(at),
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

/// As many row groups are kept, of a few megabytes each.
const N_KEPT_MAX: usize = 4;

/// The rows of each row group of a table.
fn row_groups(run: &Path) -> Result<Vec<Range<u64>>, FolderError> {
    let table = TableReader::of_run(run, RESULTS)?;
    let mut end = 0;
    let groups = table.builder.metadata().row_groups().iter().map(|group| {
        let start = end;
        end += group.num_rows().max(0) as u64;
        start..end
    });
    Ok(groups.collect())
}

/// The rows of each sample in a table: those of a sample are adjacent.
fn rows_of_samples(run: &Path) -> Result<HashMap<SampleKey, Range<u64>>, FolderError> {
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
    Ok(rows)
}
