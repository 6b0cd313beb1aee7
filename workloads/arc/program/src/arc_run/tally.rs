//! One pass over `results.parquet`: every call is counted, a task at a time.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use arrow::array::{Array, AsArray, BooleanArray, Float64Array, RecordBatch};
use arrow::datatypes::{Float64Type, UInt32Type};

use super::dictionary_column::DictionaryColumn;
use crate::arc_table::{OUTCOMES, RESULTS, SPLITS};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::TableReader;

/// The counts of all calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Calls {
    /// By outcome, in the order of [`OUTCOMES`].
    pub(crate) n_by_outcome: [u64; OUTCOMES.len()],
    /// Calls that gave the expected output.
    pub(crate) n_right: u64,
    /// Calls whose expected output is known.
    pub(crate) n_known: u64,
    /// Calls without an output, by the kind of error.
    pub(crate) n_by_error: BTreeMap<String, u64>,
}

/// What one program made of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    pub(crate) n_calls: u32,
    /// Calls with an output.
    pub(crate) n_ok: u32,
    /// Demonstrations that are right.
    pub(crate) n_right: u32,
    /// The sum of the scores of the demonstrations.
    pub(crate) score_sum: f64,
    pub(crate) n_tests: u32,
    /// Tests whose answer is known.
    pub(crate) n_tests_known: u32,
    pub(crate) n_tests_right: u32,
}

/// One call of the task whose rows are being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The position of its row in the table.
    pub(crate) position: u64,
    pub(crate) program: u32,
    pub(crate) is_test: bool,
    pub(crate) index: u32,
    pub(crate) is_right: bool,
    pub(crate) score: Option<f64>,
}

/// All calls of one task.
pub(crate) struct TaskCalls<'a> {
    pub(crate) task: &'a str,
    /// By the program's number; programs that did not run have no calls.
    pub(crate) marks: &'a [Mark],
    /// The programs that ran.
    pub(crate) programs: &'a [u32],
    /// In the order of the table.
    pub(crate) places: &'a [Place],
}

/// Reads all calls of a run and passes them to `close` task by task: the rows of a task are
/// adjacent.
pub(crate) fn tally(
    run: &Path,
    programs: &HashMap<&str, u32>,
    mut close: impl FnMut(&TaskCalls<'_>),
) -> Result<Calls, FolderError> {
    let columns = ["program", "task", "split", "sample", "outcome", "error_kind", "equal", "score"];
    let mut open = Open { marks: vec![Mark::default(); programs.len()], ..Open::default() };
    let mut calls = Calls::default();
    let table = TableReader::of_run(run, RESULTS)?.columns(&columns);
    table.for_each(|batch| open.add(batch, programs, &mut calls, &mut close))?;
    open.close(&mut close);
    Ok(calls)
}

/// The task whose rows are being read.
#[derive(Default)]
struct Open {
    task: Option<String>,
    marks: Vec<Mark>,
    programs: Vec<u32>,
    places: Vec<Place>,
    n_rows: u64,
}

impl Open {
    fn close(&mut self, close: &mut impl FnMut(&TaskCalls<'_>)) {
        let Some(task) = self.task.take() else {
            return;
        };
        close(&TaskCalls {
            task: &task,
            marks: &self.marks,
            programs: &self.programs,
            places: &self.places,
        });
        for program in self.programs.drain(..) {
            self.marks[program as usize] = Mark::default();
        }
        self.places.clear();
    }

    fn add(
        &mut self,
        batch: &RecordBatch,
        numbers: &HashMap<&str, u32>,
        calls: &mut Calls,
        close: &mut impl FnMut(&TaskCalls<'_>),
    ) -> Result<(), String> {
        let task = DictionaryColumn::of(batch, "task")?;
        let program = DictionaryColumn::of(batch, "program")?;
        let program_numbers: Vec<Result<u32, String>> = program
            .values()
            .map(|name| {
                let number = name.and_then(|name| numbers.get(name)).copied();
                number.ok_or_else(|| format!("it has a program {name:?} that was not run"))
            })
            .collect();
        let split = DictionaryColumn::of(batch, "split")?;
        let is_test: Vec<bool> = split.values().map(|word| word == Some(SPLITS[1])).collect();
        let column = |name: &str| {
            let found = batch.column_by_name(name);
            found.ok_or_else(|| format!("it has no column {name}"))
        };
        let index =
            column("sample")?.as_primitive_opt::<UInt32Type>().ok_or("index is no number")?;
        let equal = column("equal")?.as_boolean_opt().ok_or("equal is neither true nor false")?;
        let score =
            column("score")?.as_primitive_opt::<Float64Type>().ok_or("score is no number")?;
        let is_ok = count_outcomes(batch, calls)?;
        count_answers(equal, calls);
        let mut task_key = usize::MAX;
        for at in 0..batch.num_rows() {
            if task.key(at) != task_key {
                task_key = task.key(at);
                let name = task.value(at);
                if self.task.as_deref() != Some(name) {
                    self.close(close);
                    self.task = Some(name.to_owned());
                }
            }
            let number = *program_numbers[program.key(at)].as_ref().map_err(Clone::clone)?;
            let mark = &mut self.marks[number as usize];
            if mark.n_calls == 0 {
                self.programs.push(number);
            }
            let call = Call::at(at, equal, score);
            mark.add(&call, is_test[split.key(at)], is_ok[at]);
            self.places.push(Place {
                position: self.n_rows + at as u64,
                program: number,
                is_test: is_test[split.key(at)],
                index: index.value(at),
                is_right: call.is_right == Some(true),
                score: call.score,
            });
        }
        self.n_rows += batch.num_rows() as u64;
        Ok(())
    }
}

struct Call {
    is_right: Option<bool>,
    score: Option<f64>,
}

impl Call {
    fn at(at: usize, equal: &BooleanArray, score: &Float64Array) -> Call {
        Call {
            is_right: equal.is_valid(at).then(|| equal.value(at)),
            score: score.is_valid(at).then(|| score.value(at)),
        }
    }
}

impl Mark {
    /// Whether all tests are right, if there are some and all answers are known.
    pub(crate) fn tests_right(&self) -> Option<bool> {
        let are_known = self.n_tests > 0 && self.n_tests_known == self.n_tests;
        are_known.then_some(self.n_tests_right == self.n_tests)
    }

    fn add(&mut self, call: &Call, is_test: bool, is_ok: bool) {
        self.n_calls += 1;
        self.n_ok += u32::from(is_ok);
        let is_right = u32::from(call.is_right == Some(true));
        if is_test {
            self.n_tests += 1;
            self.n_tests_known += u32::from(call.is_right.is_some());
            self.n_tests_right += is_right;
        } else {
            self.n_right += is_right;
            self.score_sum += call.score.unwrap_or(0.0);
        }
    }
}

/// Counts calls by outcome and error, and returns which have an output.
fn count_outcomes(batch: &RecordBatch, calls: &mut Calls) -> Result<Vec<bool>, String> {
    let outcome = DictionaryColumn::of(batch, "outcome")?;
    let numbers: Vec<Option<usize>> =
        outcome.values().map(|word| OUTCOMES.iter().position(|name| Some(*name) == word)).collect();
    let kinds = DictionaryColumn::of(batch, "error_kind")?;
    let mut n_by_kind = vec![0u64; kinds.values().count()];
    let mut is_ok = Vec::with_capacity(batch.num_rows());
    for at in 0..batch.num_rows() {
        let number = numbers[outcome.key(at)].ok_or_else(|| {
            let word = outcome.value(at);
            format!("it has an outcome {word:?}, which is not known")
        })?;
        calls.n_by_outcome[number] += 1;
        is_ok.push(number == 0);
        if number != 0 {
            n_by_kind[kinds.key(at)] += 1;
        }
    }
    for (kind, n) in kinds.values().zip(n_by_kind) {
        if let (Some(kind), 1..) = (kind, n) {
            *calls.n_by_error.entry(kind.to_owned()).or_default() += n;
        }
    }
    Ok(is_ok)
}

fn count_answers(equal: &BooleanArray, calls: &mut Calls) {
    calls.n_right += equal.true_count() as u64;
    calls.n_known += (equal.len() - equal.null_count()) as u64;
}
