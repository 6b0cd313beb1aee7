//! The table of grid programs' results: `results.parquet`.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, DictionaryArray, Float64Builder, Int32Builder, StringArray,
    UInt32Builder, UInt64Builder,
};
use arrow::datatypes::{DataType, Int32Type, Schema, SchemaRef};
use swathe_arc::{Batt, BattCalls, Call, Fault, Problem};

use swathe_formats::described_field::{described, mark_values};
use swathe_run::store::row_numbers::RowNumbers;
use swathe_run::store::rows::{PartTable, Rows};
use swathe_run::store::run_folder::FolderError;

use crate::differ_parts::DifferParts;
use crate::outputs::Outputs;

/// The name of the table.
pub const RESULTS: &str = "results";

/// Results as rows: one for every call, that is one program on one sample.
///
/// An output that several calls of a part share is stored in it once.
pub struct ArcRows {
    problems: Arc<Vec<Problem>>,
    /// The first row of each problem, and the end.
    first_rows: Vec<u64>,
    programs: Names,
    tasks: Names,
    /// For each problem, its task's number among the names.
    task_keys: Vec<i32>,
    splits: Names,
    outcomes: Names,
    error_kinds: Names,
    program: Int32Builder,
    task: Int32Builder,
    split: Int32Builder,
    index: UInt32Builder,
    outcome: Int32Builder,
    error_kind: Int32Builder,
    equal: BooleanBuilder,
    score: Float64Builder,
    output: Outputs,
    output_hash: UInt64Builder,
    output_bytes: UInt64Builder,
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
        ArcRows {
            problems,
            first_rows,
            programs: Names::new(workload.names()),
            tasks: Names::new(tasks.iter().map(String::as_str)),
            task_keys,
            splits: Names::new(SPLITS),
            outcomes: Names::new(OUTCOMES),
            error_kinds: Names::new(Fault::ALL.map(Fault::name)),
            program: Int32Builder::new(),
            task: Int32Builder::new(),
            split: Int32Builder::new(),
            index: UInt32Builder::new(),
            outcome: Int32Builder::new(),
            error_kind: Int32Builder::new(),
            equal: BooleanBuilder::new(),
            score: Float64Builder::new(),
            output: Outputs::default(),
            output_hash: UInt64Builder::new(),
            output_bytes: UInt64Builder::new(),
            n_calls: Counts::default(),
            differs,
        }
    }

    /// How many rows there are in all.
    pub fn n_rows(&self) -> u64 {
        self.first_rows[self.first_rows.len() - 1]
    }

    fn append_call(&mut self, call: &Call, is_answer_known: bool) {
        self.program.append_value(call.program as i32);
        self.n_calls.n += 1;
        let outcome = match &call.output {
            Ok(output) => {
                self.error_kind.append_null();
                self.output_hash.append_value(output.hash as u64);
                self.output_bytes.append_value(output.n_bytes as u64);
                self.n_calls.n_not_kept += u64::from(output.text.is_none());
                self.output.append(Some(output));
                0
            }
            Err(fault) => {
                self.error_kind.append_value(*fault as i32);
                self.output_hash.append_null();
                self.output_bytes.append_null();
                self.output.append(None);
                match fault {
                    Fault::Timeout => {
                        self.n_calls.n_timeouts += 1;
                        2
                    }
                    Fault::Memory => {
                        self.n_calls.n_memory += 1;
                        3
                    }
                    _ => {
                        self.n_calls.n_errors += 1;
                        1
                    }
                }
            }
        };
        self.outcome.append_value(outcome);
        // Where the expected output is known, a call without an output is wrong.
        let is_equal = call.score.map(|score| score.equal);
        let score = call.score.map(|score| score.score);
        self.n_calls.n_equal += u64::from(is_equal == Some(true));
        self.equal.append_option(is_equal.or(is_answer_known.then_some(false)));
        self.score.append_option(score.or(is_answer_known.then_some(0.0)));
    }
}

/// The names of the splits.
pub(crate) const SPLITS: [&str; 2] = ["train", "test"];
pub(crate) const OUTCOMES: [&str; 4] = ["ok", "error", "timeout", "memory"];

/// The words of a column, each once.
struct Names {
    words: ArrayRef,
}

impl Names {
    fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Names {
        Names { words: Arc::new(StringArray::from_iter_values(words)) }
    }

    fn column(&self, keys: &mut Int32Builder) -> ArrayRef {
        Arc::new(DictionaryArray::<Int32Type>::new(keys.finish(), Arc::clone(&self.words)))
    }
}

/// The columns that `values_hash` covers. New columns go to the end of the list, and a renamed column keeps its place.
const VALUES: &[&str] = &[
    "program",
    "task",
    "split",
    "sample",
    "outcome",
    "error_kind",
    "equal",
    "score",
    "output",
    "output_hash",
    "output_bytes",
];

impl Rows for ArcRows {
    type Solution = BattCalls;

    fn table(&self) -> &'static str {
        RESULTS
    }

    fn schema(&self) -> SchemaRef {
        let field = |name: &str, data_type: DataType, nullable: bool, description: &str| {
            described(name, data_type, description).with_nullable(nullable)
        };
        let words = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let texts = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        let fields = vec![
            field("program", words(), false, "the function's name"),
            field("task", words(), false, "the task's name"),
            field("split", words(), false, "train for a demonstration, test for a test"),
            field(
                "sample",
                DataType::UInt32,
                false,
                "the sample's number among the task's demonstrations or tests, from 0",
            ),
            field(
                "outcome",
                words(),
                false,
                "ok, error, timeout (the call used up its work) or memory (it would have used up its memory)",
            ),
            field(
                "error_kind",
                words(),
                true,
                "the exception that the program ends with, or the limit; null if it has an output",
            ),
            field(
                "equal",
                DataType::Boolean,
                true,
                "whether the output is the expected one; null if that is not known",
            ),
            field(
                "score",
                DataType::Float64,
                true,
                "the fraction of cells that are as expected, 0 where the shape differs; null if the expected output is not known",
            ),
            field(
                "output",
                texts,
                true,
                "the output as compact JSON, sets ascending; null if there is none or it is longer than 64 KiB and --outputs all was not given",
            ),
            field(
                "output_hash",
                DataType::UInt64,
                true,
                "the first 8 bytes, little-endian, of the BLAKE3 hash of the output's encoding: equal outputs have equal hashes",
            ),
            field(
                "output_bytes",
                DataType::UInt64,
                true,
                "the length of the output's encoding, bytes",
            ),
        ];
        Arc::new(Schema::new(mark_values(fields, VALUES)))
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
        let problem = &self.problems[index];
        let is_answer_known = problem.sample().output.is_some();
        let n = calls.len();
        self.task.append_value_n(self.task_keys[index], n);
        self.split.append_value_n(i32::from(problem.is_test), n);
        self.index.append_value_n(problem.index as u32, n);
        for call in calls {
            self.append_call(call, is_answer_known);
        }
        n
    }

    fn n_bytes(&self) -> usize {
        use arrow::array::ArrayBuilder as _;
        let differs = self.differs.as_ref().map_or(0, DifferParts::n_bytes);
        self.output.n_bytes() + self.program.len() * ROW_BYTES + differs
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
        vec![
            self.programs.column(&mut self.program),
            self.tasks.column(&mut self.task),
            self.splits.column(&mut self.split),
            Arc::new(self.index.finish()),
            self.outcomes.column(&mut self.outcome),
            self.error_kinds.column(&mut self.error_kind),
            Arc::new(self.equal.finish()),
            Arc::new(self.score.finish()),
            self.output.take(),
            Arc::new(self.output_hash.finish()),
            Arc::new(self.output_bytes.finish()),
        ]
    }
}
