//! Calls of a finished run that a new run need not repeat: `--extend`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array as _, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Float64Type, Int32Type, UInt32Type, UInt64Type};
use swathe_arc::{
    Batt, BattCalls, Call, DifferCall, Fault, Output, Problem, Rating, SampleKey, Score, Task,
    ToRun,
};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, column, number_column, string_column};

use crate::arc_run::{
    DIFFERS, ProgramRow, SampleRow, find_differ_rows, read_programs, read_samples,
};
use crate::arc_table::{RESULTS, SPLITS};
use crate::differ_parts::DifferRow;

/// The calls and the values of differs of a finished run, by the samples and programs of a new one. A call is known if
/// the program and the sample are the same, whatever their names and places: the sample with all demonstrations of its
/// task.
#[derive(Debug)]
pub struct KnownCalls {
    calls: SampleTable,
    /// For each program of the finished run the equal ones of the new run, ascending.
    new_numbers: HashMap<String, Vec<usize>>,
    /// None if the finished run has no differs.
    values: Option<SampleTable>,
    /// For each differ of the finished run the equal ones of the new run, ascending.
    new_differs: Vec<Vec<usize>>,
    /// The programs and differs of the new run that the finished one does not have.
    left: ToRun,
}

/// A table of the finished run in which the rows of a sample are adjacent.
#[derive(Debug)]
struct SampleTable {
    path: PathBuf,
    columns: &'static [&'static str],
    /// The rows of each known sample.
    rows: HashMap<SampleKey, Range<u64>>,
    /// The rows of each row group.
    groups: Vec<Range<u64>>,
    /// Row groups that were read last.
    kept: Mutex<VecDeque<(usize, RecordBatch)>>,
}

impl KnownCalls {
    /// Finds what is known of these programs, differs and samples.
    ///
    /// # Errors
    /// If a table of the finished run cannot be read.
    pub fn of(
        run: &Path,
        programs: &[ProgramRow],
        differs: &[DifferRow],
        problems: &[Problem],
    ) -> Result<KnownCalls, FolderError> {
        let mut programs = ByDigest::of(programs.iter().map(|program| program.digest.as_str()));
        let mut new_numbers = HashMap::new();
        for program in read_programs(run)? {
            new_numbers.insert(program.name, programs.take(&program.digest));
        }
        new_numbers.retain(|_, numbers| !numbers.is_empty());
        let mut differs = ByDigest::of(differs.iter().map(|differ| differ.digest.as_str()));
        let differ_rows = find_differ_rows(run)?.unwrap_or_default();
        let new_differs: Vec<Vec<usize>> =
            differ_rows.iter().map(|row| differs.take(&row.digest)).collect();
        let same = same_samples(&read_samples(run)?, problems);
        let has_values = new_differs.iter().any(|numbers| !numbers.is_empty());
        let values = has_values.then(|| SampleTable::of(run, DIFFERS, VALUE_COLUMNS, &same));
        Ok(KnownCalls {
            calls: SampleTable::of(run, RESULTS, CALL_COLUMNS, &same)?,
            new_numbers,
            values: values.transpose()?,
            new_differs,
            left: ToRun { programs: programs.left(), differs: differs.left() },
        })
    }

    /// Makes a workload run only what is not known.
    pub fn leave_out(&self, workload: &mut Batt) {
        let samples = self.calls.rows.keys().cloned().collect();
        workload.run_only(self.left.clone(), samples);
    }

    /// How many calls of the new run are known.
    pub fn n_calls(&self) -> u64 {
        let n_programs: usize = self.new_numbers.values().map(Vec::len).sum();
        self.calls.rows.len() as u64 * n_programs as u64
    }

    /// How many values of differs of the new run are known: with the expected output and without it, where both are
    /// there, is one.
    pub fn n_values(&self) -> u64 {
        let n_differs: usize = self.new_differs.iter().map(Vec::len).sum();
        self.calls.rows.len() as u64 * n_differs as u64
    }

    /// Adds what is known of a sample to what is new.
    ///
    /// # Errors
    /// If a table of the finished run cannot be read.
    pub fn complete(&self, problem: &Problem, new: &mut BattCalls) -> Result<(), FolderError> {
        let key = (problem.task.name.clone(), problem.is_test, problem.index);
        let BattCalls { calls, differs } = new;
        self.calls.read(&key, |_, batch| self.add(batch, calls))?;
        calls.sort_by_key(|call| call.program);
        if let Some(values) = &self.values {
            values.read(&key, |first, batch| self.add_values(first, batch, differs))?;
            differs.sort_by_key(|call| call.differ);
            let n_known: usize = self.new_differs.iter().map(Vec::len).sum();
            if differs.len() != n_known + self.left.differs.len() {
                let reason = format!("it lacks values of a sample of the task {}", key.0);
                return Err(FolderError::damaged(&values.path)(reason));
            }
        }
        Ok(())
    }

    /// The columns of a differ's values are as they were, also where a value was too long to be kept.
    fn add_values(
        &self,
        first: usize,
        batch: &RecordBatch,
        calls: &mut Vec<DifferCall>,
    ) -> Result<(), String> {
        let columns = |value: &str| -> Result<_, String> {
            Ok((
                string_column(batch, value)?,
                number_column::<UInt32Type>(batch, &format!("{value}_score"))?,
                string_column(batch, &format!("{value}_error"))?,
            ))
        };
        let passes = [columns("without")?, columns("with")?];
        for at in 0..batch.num_rows() {
            let ratings = passes.each_ref().map(|(text, score, error)| {
                let is_there = text.is_valid(at) || score.is_valid(at) || error.is_valid(at);
                let output = match error.is_valid(at) {
                    true => Err(fault(error.value(at))?),
                    false if text.is_valid(at) => Ok(Output::from_text(text.value(at).into())),
                    // It was too long to be kept: the table has neither its length nor its hash.
                    false => Ok(Output { text: None, n_bytes: 0, hash: 0 }),
                };
                let score = score.is_valid(at).then(|| score.value(at) as u16);
                Ok::<_, String>((Rating { output, score }, is_there))
            });
            let [without, with] = ratings;
            let ((without, _), (with, has_with)) = (without?, with?);
            let numbers = self.new_differs.get(first + at);
            let numbers = numbers.ok_or("a sample has more values than there are differs")?;
            calls.extend(numbers.iter().map(|&differ| DifferCall {
                differ,
                without: without.clone(),
                with: has_with.then(|| with.clone()),
            }));
        }
        Ok(())
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
                score: is_scored.then(|| Score { equal: equal.value(at), score: score.value(at) }),
            }));
        }
        Ok(())
    }
}

/// The numbers of programs by their digests.
struct ByDigest<'a>(HashMap<&'a str, Vec<usize>>);

impl<'a> ByDigest<'a> {
    fn of(digests: impl Iterator<Item = &'a str>) -> ByDigest<'a> {
        let mut numbers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, digest) in digests.enumerate() {
            numbers.entry(digest).or_default().push(number);
        }
        ByDigest(numbers)
    }

    /// The programs of a digest. Of equal programs of the finished run the first is enough.
    fn take(&mut self, digest: &str) -> Vec<usize> {
        self.0.remove(digest).unwrap_or_default()
    }

    /// The others, ascending.
    fn left(self) -> Vec<usize> {
        let mut left: Vec<usize> = self.0.into_values().flatten().collect();
        left.sort_unstable();
        left
    }
}

const CALL_COLUMNS: &[&str] =
    &["program", "error_kind", "equal", "score", "output", "output_hash", "output_bytes"];

const VALUE_COLUMNS: &[&str] =
    &["without", "without_score", "without_error", "with", "with_score", "with_error"];

impl SampleTable {
    /// The rows of these samples in a table.
    fn of(
        run: &Path,
        table: &str,
        columns: &'static [&'static str],
        samples: &HashSet<SampleKey>,
    ) -> Result<SampleTable, FolderError> {
        let path = run.join(format!("{table}.parquet"));
        let mut rows = rows_of_samples(&path)?;
        rows.retain(|key, _| samples.contains(key));
        Ok(SampleTable { rows, groups: row_groups(&path)?, columns, path, kept: Mutex::default() })
    }

    /// Calls `add` with the rows of a sample, and the number of the first of them among the rows of the sample.
    fn read(
        &self,
        sample: &SampleKey,
        mut add: impl FnMut(usize, &RecordBatch) -> Result<(), String>,
    ) -> Result<(), FolderError> {
        let Some(rows) = self.rows.get(sample) else {
            return Ok(());
        };
        for (number, group) in self.groups.iter().enumerate() {
            let (from, to) = (rows.start.max(group.start), rows.end.min(group.end));
            if from >= to {
                continue;
            }
            let batch = self.group(number)?;
            let part = batch.slice((from - group.start) as usize, (to - from) as usize);
            add((from - rows.start) as usize, &part).map_err(FolderError::damaged(&self.path))?;
        }
        Ok(())
    }

    /// A row group of the table. The last ones are kept, because samples are solved nearly in the order of their rows.
    fn group(&self, number: usize) -> Result<RecordBatch, FolderError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, batch)) = kept.iter().find(|(of, _)| *of == number) {
            return Ok(batch.clone());
        }
        let mut table = TableReader::open(&self.path)?.columns(self.columns);
        table.builder = table.builder.with_row_groups(vec![number]);
        let mut batches = Vec::new();
        table.for_each(|batch| {
            batches.push(batch.clone());
            Ok(())
        })?;
        let schema = batches.first().map(RecordBatch::schema);
        let damaged = FolderError::damaged(&self.path);
        let schema = schema.ok_or_else(|| damaged("a row group is empty"))?;
        let batch = concat_batches(&schema, &batches).map_err(FolderError::damaged(&self.path))?;
        if kept.len() == N_KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((number, batch.clone()));
        Ok(batch)
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
fn row_groups(table: &Path) -> Result<Vec<Range<u64>>, FolderError> {
    let table = TableReader::open(table)?;
    let mut end = 0;
    let groups = table.builder.metadata().row_groups().iter().map(|group| {
        let start = end;
        end += group.num_rows().max(0) as u64;
        start..end
    });
    Ok(groups.collect())
}

/// The rows of each sample in a table: those of a sample are adjacent.
fn rows_of_samples(table: &Path) -> Result<HashMap<SampleKey, Range<u64>>, FolderError> {
    let mut rows: HashMap<SampleKey, Range<u64>> = HashMap::new();
    let mut open: Option<(SampleKey, Range<u64>)> = None;
    let mut at_row = 0;
    let table = TableReader::open(table)?.columns(&["task", "split", "sample"]);
    table.for_each(|batch| {
        let (task, split) = (string_column(batch, "task")?, string_column(batch, "split")?);
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
