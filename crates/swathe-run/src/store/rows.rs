//! Rows: how a workload turns its answers into a table.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;

use crate::store::row_numbers::RowNumbers;
use crate::store::run_folder::{FolderError, RowFile};

/// Rows of a part that go into a file of their own, beside the table.
#[derive(Clone, Debug)]
pub struct PartTable {
    /// The file's path relative to the folder of the run, also for a shard.
    pub path: String,
    /// Its rows.
    pub batch: RecordBatch,
}

/// Turns answers into the rows of a table, a part at a time.
///
/// A part of a run is built by many calls of [`append`](Rows::append) and one of
/// [`take`](Rows::take). The first column of every table is `row`, a `u64`, which the run folder
/// adds: an implementation provides the other columns.
pub trait Rows {
    /// One problem's answer.
    type Solution;

    /// The table's name: `items` becomes `items.parquet`.
    fn table(&self) -> &'static str;

    /// The columns after `row`. The fields' metadata holds descriptions and units.
    fn schema(&self) -> SchemaRef;

    /// The id of a problem, for messages and `failures.parquet`.
    fn id(&self, index: usize) -> String;

    /// Prepares for these problems. It is called after the run folder is locked.
    ///
    /// # Errors
    /// If the implementation cannot prepare its files; the run then ends with this error.
    fn begin(&mut self, _problems: &RowNumbers) -> Result<(), FolderError> {
        Ok(())
    }

    /// An error from writing files beside the table. The run ends with it, and outcomes after the
    /// last commit are lost.
    fn write_error(&self) -> Option<FolderError> {
        None
    }

    /// The `row` of a problem's first row; the problem's own number if each problem has one row.
    fn first_row(&self, index: usize) -> u64 {
        index as u64
    }

    /// Appends one answer and returns how many rows it made.
    fn append(&mut self, index: usize, solution: &Self::Solution) -> usize;

    /// The approximate size of the rows that [`take`](Rows::take) would return.
    fn n_bytes(&self) -> usize;

    /// The workload's own figures since the start, for the report: a name and a count.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Warnings for the user at the end of the run, in sentences.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The files that the rows since the last call refer to. They are checked when the run is
    /// resumed and at its end.
    fn take_files(&mut self) -> Vec<RowFile> {
        Vec::new()
    }

    /// The tables beside the rows since the last call. Each is written with the part, and checked as
    /// the files of [`take_files`](Rows::take_files) are.
    fn take_tables(&mut self) -> Vec<PartTable> {
        Vec::new()
    }

    /// Returns the columns of all rows since the last call.
    fn take(&mut self) -> Vec<ArrayRef>;
}
