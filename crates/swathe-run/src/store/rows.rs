//! Rows: how a workload's answers become a table.

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;

use crate::store::run_folder::{FolderError, RowFile};

/// Turns answers into the rows of a table, a part at a time.
///
/// A part of a run is built by many [`append`](Rows::append)s and one [`take`](Rows::take). The
/// first column of every table is `row`, a `u64`, and is the run folder's business: the columns
/// here are the others.
pub trait Rows {
    /// One problem's answer.
    type Solution;

    /// The table's name: `items` becomes `items.parquet`.
    fn table(&self) -> &'static str;

    /// The columns after `row`. Descriptions and units stand in the fields' metadata.
    fn schema(&self) -> SchemaRef;

    /// The name users know a problem by, for messages and `failures.parquet`.
    fn id(&self, index: usize) -> String;

    /// Makes ready for these problems, once the run folder is this process's own.
    fn begin(&mut self, _problems: &[u64]) -> Result<(), FolderError> {
        Ok(())
    }

    /// An error of what is written beside the table: the run ends with it, and what came after
    /// the last commit is not committed.
    fn write_error(&self) -> Option<FolderError> {
        None
    }

    /// The `row` of a problem's first row. Problems with one row each have their own number.
    fn first_row(&self, index: usize) -> u64 {
        index as u64
    }

    /// Takes in one answer and returns how many rows it made.
    fn append(&mut self, index: usize, solution: &Self::Solution) -> usize;

    /// The bytes that are waiting to be taken, roughly.
    fn n_bytes(&self) -> usize;

    /// Figures of the workload's own since the start, for the report: what they count, how many.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What a user should be warned of at the end, in sentences.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The files that the rows since the last time rely on, if there are such: they are checked when
    /// the run is resumed and at its end.
    fn take_files(&mut self) -> Vec<RowFile> {
        Vec::new()
    }

    /// Hands over the columns of all rows since the last time.
    fn take(&mut self) -> Vec<ArrayRef>;
}
