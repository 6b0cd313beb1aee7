//! Values of differs, a file for each part of a run: they become `differs.parquet` once all are there.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, DictionaryArray, Int32Builder, RecordBatch, StringArray, UInt32Builder,
    UInt64Array,
};
use arrow::datatypes::{Field, Int32Type, Schema};
use swathe_arc::{DifferCall, Fault, Program, Rating, RowList};

use crate::outputs::{KeptText, Outputs};
use swathe_formats::atomic_file::temporary_target;
use swathe_run::record;
use swathe_run::store::record::Cells as _;
use swathe_run::store::row_numbers::RowNumbers;
use swathe_run::store::rows::PartTable;
use swathe_run::store::run_folder::{FolderError, make_own_folder};

/// The folder of the files, in the folder of the run.
pub(crate) const FOLDER: &str = "differs";

record! {
    /// One differ: a row that a `batt` function appends to `s`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DifferRow / DifferColumns: read {
        /// its name
        differ: String;
        /// the file it is from
        file: String;
        /// the number of the value's line, as the row of s gives it
        number: u32;
        /// the task whose candidate's output it compares; null for the input
        candidate: Option<String>;
        /// 12 bytes of the BLAKE3 hash of its text without its name: equal differs have equal ones
        digest: String;
    }
}

impl DifferRow {
    /// The row of a differ from this file.
    pub fn of(program: &Program, file: &Path) -> DifferRow {
        let row = program.row.as_ref();
        DifferRow {
            file: file.display().to_string(),
            number: row.map_or(0, |row| row.number),
            candidate: row.and_then(|row| row.task.clone()),
            differ: match row.map(|row| &row.list) {
                Some(RowList::Differs { differ }) => differ.clone(),
                _ => program.name.clone(),
            },
            digest: program.digest(),
        }
    }
}

/// The values of differs on the samples of a part that is not committed yet. A text that several values share is stored
/// once.
#[derive(Debug)]
pub struct DifferParts {
    run: PathBuf,
    n_differs: usize,
    /// The samples, in order of arrival.
    samples: Vec<usize>,
    /// For each differ of these samples: without the expected output, and with it.
    ratings: [Ratings; 2],
}

#[derive(Debug, Default)]
struct Ratings {
    outputs: Outputs,
    score: UInt32Builder,
    error: Int32Builder,
}

/// The memory of a differ's values on a sample apart from their texts.
const ROW_BYTES: usize = 32;

/// The file of a part whose first sample this is, relative to the folder of the run. A sample is in one part, so that
/// names are unique among all shards.
fn part_file(first_sample: usize) -> String {
    format!("{FOLDER}/{first_sample:06}.parquet")
}

/// The first sample of the part that a file of the folder has, if the name is one of ours.
pub(crate) fn first_sample(name: &str) -> Option<usize> {
    let number: usize = name.strip_suffix(".parquet")?.parse().ok()?;
    (part_file(number) == format!("{FOLDER}/{name}")).then_some(number)
}

impl DifferParts {
    /// Values for this run folder, also for a shard of the run.
    pub fn new(run: &Path, n_differs: usize) -> DifferParts {
        DifferParts {
            run: run.to_owned(),
            n_differs,
            samples: Vec::new(),
            ratings: Default::default(),
        }
    }

    /// Makes the folder, and removes what an earlier process left of files that begin with one of these samples.
    ///
    /// # Errors
    /// If the folder cannot be made, or a file cannot be removed.
    pub fn prepare(&self, samples: &RowNumbers) -> Result<(), FolderError> {
        let folder = self.run.join(FOLDER);
        make_own_folder(&folder)?;
        let samples: HashSet<usize> = samples.iter().map(|n| n as usize).collect();
        let failed = |source| FolderError::Write { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let whole = temporary_target(&name).map_or(&*name, |(whole, _)| whole);
            if first_sample(whole).is_some_and(|sample| samples.contains(&sample)) {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Adds what the differs made of a sample.
    pub fn append(&mut self, sample: usize, calls: &[DifferCall]) {
        self.samples.push(sample);
        let [without, with] = &mut self.ratings;
        for call in calls {
            without.append(Some(&call.without));
            with.append(call.with.as_ref());
        }
    }

    /// The approximate size of what [`take`](DifferParts::take) would return.
    pub fn n_bytes(&self) -> usize {
        let texts = self.ratings.iter().map(|ratings| ratings.outputs.n_bytes());
        self.samples.len() * self.n_differs * ROW_BYTES + texts.sum::<usize>()
    }

    /// The table of all values since the last call, with samples in ascending order; None if there are no values.
    pub fn take(&mut self) -> Option<PartTable> {
        let samples = std::mem::take(&mut self.samples);
        let n_differs = self.n_differs;
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.sort_by_key(|&at| samples[at]);
        let first = order.first().map(|&at| samples[at])?;
        let ratings = self.ratings.each_mut().map(Ratings::take);
        if n_differs == 0 {
            return None;
        }
        let of_sample = |from: usize| (from * n_differs) as u64..((from + 1) * n_differs) as u64;
        let rows = order.iter().flat_map(|&at| of_sample(samples[at]));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_iter_values(rows))];
        let places = order.iter().flat_map(|&at| of_sample(at));
        let places = UInt64Array::from_iter_values(places);
        for column in ratings.into_iter().flatten() {
            let sorted = arrow::compute::take(&column, &places, None);
            columns.push(sorted.expect("every sample has a value of every differ"));
        }
        let fields = NAMES
            .iter()
            .zip(&columns)
            .map(|(&name, column)| Field::new(name, column.data_type().clone(), name != ROW));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        Some(PartTable {
            path: part_file(first),
            batch: RecordBatch::try_new(Arc::new(schema), columns)
                .expect("the columns have one length"),
        })
    }
}

/// The number of the sample times the number of differs, and the differ's number.
pub(crate) const ROW: &str = "row";

const NAMES: [&str; 7] =
    [ROW, "without", "without_score", "without_error", "with", "with_score", "with_error"];

impl Ratings {
    fn append(&mut self, rating: Option<&Rating>) {
        let output = rating.map(|rating| rating.output.as_ref());
        let text = self.outputs.key(output.and_then(Result::ok));
        text.append(&mut self.outputs);
        let score = rating.and_then(|rating| rating.score);
        self.score.append_option(score.map(u32::from));
        let fault = output.and_then(Result::err);
        self.error.append_option(fault.map(|&fault| fault as i32));
    }

    /// The columns: value, score, error.
    fn take(&mut self) -> [ArrayRef; 3] {
        let names = StringArray::from_iter_values(Fault::ALL.map(Fault::name));
        let error = DictionaryArray::<Int32Type>::new(self.error.finish(), Arc::new(names));
        let mut outputs = Vec::with_capacity(1);
        KeptText::take(&mut self.outputs, &mut outputs);
        [outputs.remove(0), Arc::new(self.score.finish()), Arc::new(error)]
    }
}
