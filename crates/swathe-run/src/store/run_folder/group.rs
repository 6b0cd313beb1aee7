//! Groups: the Parquet row groups of parts, and how they are merged into one table.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::{filter_record_batch, interleave_record_batch, is_not_null};
use arrow::datatypes::{SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;

use super::FolderError;
use super::manifest::Checksum;
use super::table_file::TableFile;
use crate::store::table_reader::{Batches, TableReader};

/// A row group of a part; its rows ascend. Its file is not open yet: a run can have more parts than
/// a process may have open files.
#[derive(Clone)]
pub(super) struct Group {
    path: Arc<Path>,
    /// Its number in the file.
    number: usize,
    first_row: u64,
    last_row: u64,
    n_rows: u64,
    /// Its compressed size.
    n_bytes: u64,
}

/// The groups of a part, ascending.
pub(super) fn groups_of(path: &Path) -> Result<Vec<Group>, FolderError> {
    let file = File::open(path).map_err(FolderError::read(path))?;
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(&file).map_err(FolderError::damaged(path))?;
    let path: Arc<Path> = path.into();
    let groups = metadata.row_groups().iter().enumerate();
    let groups = groups.map(|(number, group)| {
        let rows = match group.column(0).statistics() {
            Some(Statistics::Int64(rows)) => rows.min_opt().zip(rows.max_opt()),
            _ => None,
        };
        let (first_row, last_row) =
            rows.ok_or_else(|| FolderError::damaged(&path)("it does not say which rows it has"))?;
        Ok(Group {
            path: Arc::clone(&path),
            number,
            first_row: *first_row as u64,
            last_row: *last_row as u64,
            n_rows: group.num_rows() as u64,
            n_bytes: group.compressed_size() as u64,
        })
    });
    groups.collect()
}

/// Which rows and columns of the parts go into a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Picked {
    /// All rows and columns.
    All,
    /// Some columns of every row.
    Columns,
    /// Some columns of the rows that record a failure.
    Failures,
}

/// Merges groups by row number into a file with the columns of `schema`. Returns the number of rows
/// written and the file's checksum.
pub(super) fn merge_groups(
    mut waiting: Vec<Group>,
    out: &Path,
    schema: &SchemaRef,
    picked: Picked,
) -> Result<(u64, Checksum), FolderError> {
    let write_error = |source| FolderError::Write { path: out.to_owned(), source };
    let keep = |name: &str| schema.field_with_name(name).is_ok();
    let mut writer = TableFile::create(out, Arc::clone(schema)).map_err(write_error)?;
    // The next group is the last element. Few groups are open at once, because runs deliver
    // outcomes nearly in order.
    waiting.sort_by_key(|group| std::cmp::Reverse(group.first_row));
    let mut open: Vec<Cursor> = Vec::new();
    let mut n_written = 0;
    // The row that was written last. A row that does not exceed it is a duplicate or out of order.
    let mut last_row: Option<u64> = None;
    while !(waiting.is_empty() && open.is_empty()) {
        let is_next_copied =
            |waiting: &[Group], open: &[Cursor]| picked == Picked::All && is_copied(waiting, open);
        if is_next_copied(&waiting, &open)
            && let Some(group) = waiting.pop()
        {
            let is_dense = group.last_row - group.first_row + 1 >= group.n_rows;
            if last_row.is_some_and(|last| group.first_row <= last) || !is_dense {
                return Err(row_twice(&group.path, group.first_row));
            }
            last_row = Some(group.last_row);
            group.copy(&mut writer, &write_error)?;
            n_written += group.n_rows;
            continue;
        }
        // Picks refer to batches, so no batch may be replaced until the picks are interleaved.
        let mut picks: Vec<(usize, usize)> = Vec::with_capacity(N_ROWS_PICKED);
        while picks.len() < N_ROWS_PICKED {
            let lowest = (0..open.len()).min_by_key(|&which| open[which].row());
            if let Some(next) = waiting.last()
                && lowest.is_none_or(|which| open[which].row() > Some(next.first_row))
            {
                if is_next_copied(&waiting, &open) {
                    break;
                }
                open.extend(Cursor::open(next, &keep)?);
                waiting.pop();
                continue;
            }
            let Some(which) = lowest else { break };
            let row = open[which].row();
            if let Some(row) = row.filter(|row| last_row.is_some_and(|last| *row <= last)) {
                return Err(row_twice(&open[which].path, row));
            }
            last_row = row;
            picks.push((which, open[which].at));
            open[which].at += 1;
            if open[which].row().is_none() {
                break;
            }
        }
        if !picks.is_empty() {
            let mut batch = rows_at(&open, &picks);
            if picked == Picked::Failures {
                batch = batch.and_then(|batch| failures(&batch));
            }
            let batch = batch.map_err(|error| write_error(io::Error::other(error)))?;
            n_written += batch.num_rows() as u64;
            writer.write(&batch).map_err(write_error)?;
        }
        // The written batch is dropped before the next is read, so two large rows are not in memory
        // at once.
        for cursor in &mut open {
            cursor.refill()?;
        }
        open.retain(|cursor| cursor.row().is_some());
    }
    let seal = writer.commit().map_err(write_error)?;
    Ok((n_written, seal))
}

/// The error for a row that does not exceed the last one written.
fn row_twice(path: &Path, row: u64) -> FolderError {
    FolderError::damaged(path)(format!("row {row} is out of order, or stands twice"))
}

/// Rows written at a time.
const N_ROWS_PICKED: usize = 1024;

/// A group of this size is copied as a row group of its own; smaller groups are combined.
const COPIED_BYTES_MIN: u64 = 192 << 10;

/// Whether the next group can be copied without decoding: it is large enough, and no other group
/// has rows between its first and its last.
fn is_copied(waiting: &[Group], open: &[Cursor]) -> bool {
    let mut waiting = waiting.iter().rev();
    waiting.next().is_some_and(|next| {
        next.n_bytes >= COPIED_BYTES_MIN
            && (waiting.next()).is_none_or(|after| after.first_row > next.last_row)
            && open.iter().all(|cursor| cursor.row() > Some(next.last_row))
    })
}

fn failures(outcomes: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let kinds = outcomes.column_by_name("kind");
    let kinds = kinds.expect("outcomes have a kind");
    filter_record_batch(outcomes, &is_not_null(kinds)?)
}

impl Group {
    /// Copies the group into a table without decoding it.
    fn copy(
        &self,
        writer: &mut TableFile,
        write_error: &dyn Fn(io::Error) -> FolderError,
    ) -> Result<(), FolderError> {
        let file = File::open(&self.path).map_err(FolderError::read(&self.path))?;
        let metadata = ParquetMetaDataReader::new()
            .with_page_index_policy(PageIndexPolicy::Optional)
            .parse_and_finish(&file)
            .map_err(FolderError::damaged(&self.path))?;
        let copied = writer.copy_group(&file, &metadata, self.number);
        copied.map_err(write_error)
    }
}

/// A group that is being read.
struct Cursor {
    path: Arc<Path>,
    batches: Batches,
    batch: RecordBatch,
    at: usize,
}

/// The rows picked from the open groups. In the usual case they are adjacent rows of one batch,
/// which is sliced instead of copied.
fn rows_at(open: &[Cursor], picks: &[(usize, usize)]) -> Result<RecordBatch, ArrowError> {
    let (which, from) = picks[0];
    let neighbours = picks.iter().enumerate();
    if neighbours.into_iter().all(|(n, &pick)| pick == (which, from + n)) {
        return Ok(open[which].batch.slice(from, picks.len()));
    }
    let batches: Vec<&RecordBatch> = open.iter().map(|cursor| &cursor.batch).collect();
    interleave_record_batch(&batches, picks)
}

impl Cursor {
    /// Opens a group at its first row, with the columns that `keep` selects.
    fn open(group: &Group, keep: &dyn Fn(&str) -> bool) -> Result<Option<Cursor>, FolderError> {
        let mut table = TableReader::open(&group.path)?.columns_where(keep);
        table.builder = table.builder.with_row_groups(vec![group.number]);
        let mut batches = table.batches()?;
        let first = batches.next().transpose()?;
        Ok(first.map(|batch| Cursor { path: Arc::clone(&group.path), batches, batch, at: 0 }))
    }

    /// The current row; `None` at the end of the batch.
    fn row(&self) -> Option<u64> {
        let rows = self.batch.column(0).as_primitive::<UInt64Type>();
        (self.at < rows.len()).then(|| rows.value(self.at))
    }

    /// Reads the next batch if the current one is used up.
    fn refill(&mut self) -> Result<(), FolderError> {
        while self.row().is_none() {
            let Some(batch) = self.batches.next().transpose()? else {
                break;
            };
            self.batch = batch;
            self.at = 0;
        }
        Ok(())
    }
}
