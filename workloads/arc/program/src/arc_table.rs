//! The table of grid programs' results: `results.parquet`.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use swathe_arc::{Batt, BattCalls, Call, Fault, Problem};

use swathe_run::record;
use swathe_run::store::record::{Cells, Record as _, TableReference, Word, WordsBuilder};
use swathe_run::store::row_numbers::RowNumbers;
use swathe_run::store::rows::{PartTable, Rows};
use swathe_run::store::run_folder::FolderError;

use crate::differ_parts::DifferParts;
use crate::outputs::KeptText;

/// The name of the table.
pub const RESULTS: &str = "results";

record! {
    /// A call.
    struct CallRow / CallColumns {
        /// the function's name
        program: Word, value(0);
        /// the task's name
        task: Word, value(1);
        /// train for a demonstration, test for a test
        split: Word, value(2);
        /// the sample's number among the task's demonstrations or tests, from 0
        sample: u32, value(3);
        /// ok, error, timeout (the call used up its work) or memory (it would have used up its memory)
        outcome: Word, value(4);
        /// the exception that the program ends with, or the limit; null if it has an output
        error_kind: Option<Word>, value(5);
        /// whether the output is the expected one; null if that is not known
        equal: Option<bool>, value(6);
        /// the fraction of cells that are as expected, 0 where the shape differs; null if the expected output is not known
        score: Option<f64>, value(7);
        /// the output as compact JSON, sets ascending; null if there is none or it is longer than 64 KiB and --outputs all was not given
        output: KeptText, value(8);
        /// the first 8 bytes, little-endian, of the BLAKE3 hash of the output's encoding: equal outputs have equal hashes
        output_hash: Option<u64>, value(9);
        /// the length of the output's encoding, bytes
        output_bytes: Option<u64>, value(10);
    }
}

/// The table in the reference.
pub(crate) fn reference() -> TableReference {
    let about = "a row for each call: a program on a sample";
    TableReference::of_results(RESULTS, about, CallRow::declared().iter().cloned())
}

/// Results as rows: one for every call, that is one program on one sample.
///
/// An output that several calls of a part share is stored in it once.
pub struct ArcRows {
    problems: Arc<Vec<Problem>>,
    /// The first row of each problem, and the end.
    first_rows: Vec<u64>,
    /// For each problem, its task's number among the names.
    task_keys: Vec<i32>,
    calls: CallColumns,
    n_calls: Counts,
    differs: Option<DifferParts>,
}

#[derive(Default)]
struct Counts {
    n: u64,
    n_equal: u64,
    n_errors: u64,
    n_timeouts: u64,
    n_memory: u64,
    n_not_kept: u64,
}

/// The memory of a row apart from its output's text.
const ROW_BYTES: usize = 64;

impl ArcRows {
    /// Rows for these samples and all programs that run on them, with the values of the differs.
    pub fn new(
        workload: &Batt,
        problems: Arc<Vec<Problem>>,
        differs: Option<DifferParts>,
    ) -> ArcRows {
        let mut first_rows = vec![0];
        let mut tasks: Vec<String> = Vec::new();
        let mut task_keys = Vec::with_capacity(problems.len());
        for problem in problems.iter() {
            let name = &problem.task.name;
            let n_calls = workload.programs_for(name).len() as u64;
            first_rows.push(first_rows[first_rows.len() - 1] + n_calls);
            if tasks.last() != Some(name) {
                tasks.push(name.clone());
            }
            task_keys.push(tasks.len() as i32 - 1);
        }
        let mut calls = CallRow::builder();
        calls.program = WordsBuilder::new(workload.names());
        calls.task = WordsBuilder::new(tasks.iter().map(String::as_str));
        calls.split = WordsBuilder::new(SPLITS);
        calls.outcome = WordsBuilder::new(OUTCOMES);
        calls.error_kind = WordsBuilder::new(Fault::ALL.map(Fault::name));
        ArcRows { problems, first_rows, task_keys, calls, n_calls: Counts::default(), differs }
    }

    /// How many rows there are in all.
    pub fn n_rows(&self) -> u64 {
        self.first_rows[self.first_rows.len() - 1]
    }

    fn append_call(&mut self, index: usize, call: &Call) {
        let problem = &self.problems[index];
        // Where the expected output is known, a call without an output is wrong.
        let is_answer_known = problem.sample().output.is_some();
        let is_equal = call.score.map(|score| score.equal);
        let score = call.score.map(|score| score.score);
        let output = call.output.as_ref().ok();
        let fault = call.output.as_ref().err();
        let outcome = self.n_calls.add(call, is_equal);
        let row = CallRow {
            program: Word(call.program as i32),
            task: Word(self.task_keys[index]),
            split: Word(i32::from(problem.is_test)),
            sample: problem.index as u32,
            outcome: Word(outcome),
            error_kind: fault.map(|&fault| Word(fault as i32)),
            equal: is_equal.or(is_answer_known.then_some(false)),
            score: score.or(is_answer_known.then_some(0.0)),
            output: self.calls.output.key(output),
            output_hash: output.map(|output| output.hash as u64),
            output_bytes: output.map(|output| output.n_bytes as u64),
        };
        row.append(&mut self.calls);
    }
}

impl Counts {
    /// Counts a call, and returns the number of its outcome among [`OUTCOMES`].
    fn add(&mut self, call: &Call, is_equal: Option<bool>) -> i32 {
        self.n += 1;
        self.n_equal += u64::from(is_equal == Some(true));
        match &call.output {
            Ok(output) => {
                self.n_not_kept += u64::from(output.text.is_none());
                0
            }
            Err(Fault::Timeout) => {
                self.n_timeouts += 1;
                2
            }
            Err(Fault::Memory) => {
                self.n_memory += 1;
                3
            }
            Err(_) => {
                self.n_errors += 1;
                1
            }
        }
    }
}

/// The names of the splits.
pub(crate) const SPLITS: [&str; 2] = ["train", "test"];
pub(crate) const OUTCOMES: [&str; 4] = ["ok", "error", "timeout", "memory"];

impl Rows for ArcRows {
    type Solution = BattCalls;

    fn table(&self) -> &'static str {
        RESULTS
    }

    fn schema(&self) -> SchemaRef {
        CallRow::schema()
    }

    fn id(&self, index: usize) -> String {
        let problem = &self.problems[index];
        format!("{} {} {}", problem.task.name, SPLITS[usize::from(problem.is_test)], problem.index)
    }

    fn begin(&mut self, problems: &RowNumbers) -> Result<(), FolderError> {
        match &self.differs {
            Some(differs) => differs.prepare(problems),
            None => Ok(()),
        }
    }

    fn take_tables(&mut self) -> Vec<PartTable> {
        let differs = self.differs.iter_mut();
        differs.filter_map(DifferParts::take).collect()
    }

    fn first_row(&self, index: usize) -> u64 {
        self.first_rows[index]
    }

    fn append(&mut self, index: usize, answer: &BattCalls) -> usize {
        let calls = &answer.calls;
        if let Some(differs) = &mut self.differs {
            differs.append(index, &answer.differs);
        }
        calls.iter().for_each(|call| self.append_call(index, call));
        calls.len()
    }

    fn n_bytes(&self) -> usize {
        use arrow::array::ArrayBuilder as _;
        let differs = self.differs.as_ref().map_or(0, DifferParts::n_bytes);
        self.calls.output.n_bytes() + self.calls.sample.len() * ROW_BYTES + differs
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.n_calls;
        vec![
            ("calls", counts.n),
            ("calls gave the expected output", counts.n_equal),
            ("calls ended in an error", counts.n_errors),
            ("calls used up their work (--call-work allows more)", counts.n_timeouts),
            ("calls would have used up their memory (--call-memory allows more)", counts.n_memory),
            ("outputs were too long to be kept (--outputs all keeps them)", counts.n_not_kept),
        ]
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        CallRow::arrays(&mut self.calls)
    }
}
