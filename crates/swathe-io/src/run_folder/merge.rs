//! Merging: from parts in the order they were finished to tables in the order of the input.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::FolderError;
use super::hash::{TableHash, is_supported};
use super::identity::{RunJson, RunState};
use super::lock::FolderLock;
use super::manifest::{Manifest, ManifestLine, Spans};
use super::part::{FOLDER_NAME, outcomes_name, outcomes_schema};
use super::table_file::{TableFile, check};

/// What a merge made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Rows in the table.
    pub n_rows: u64,
    /// Rows in `failures.parquet`.
    pub n_failures: u64,
    /// BLAKE3 over the result columns in input order.
    pub result_hash: String,
    /// The instruction sets that shards were computed with: more than one is worth a warning.
    pub simd: Vec<String>,
}

/// Merges the shards under `run/shards/` into the tables of `run`.
pub fn merge_shards(run: &Path) -> Result<Merged, FolderError> {
    let incomplete = |reason: String| FolderError::Incomplete {
        path: run.to_owned(),
        reason,
    };
    let folder = run.join("shards");
    let mut shards: Vec<(PathBuf, RunJson)> = Vec::new();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(FolderError::NoRun { path: folder });
        }
        Err(source) => {
            return Err(FolderError::Read {
                path: folder,
                source,
            });
        }
    };
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        shards.push((entry.path(), RunJson::read(&entry.path())?));
    }
    shards.sort_by_key(|(_, shard)| shard.identity.shard);
    let Some((_, first)) = shards.first() else {
        return Err(incomplete("there are no shards".to_owned()));
    };
    let n_shards = first.identity.shard.map_or(1, |(_, n)| n);
    for number in 1..=n_shards {
        let Some((path, shard)) = shards
            .iter()
            .find(|(_, shard)| shard.identity.shard == Some((number, n_shards)))
        else {
            return Err(incomplete(format!("shard {number}/{n_shards} is missing")));
        };
        if shard.state != RunState::Complete {
            return Err(incomplete(format!(
                "shard {number}/{n_shards} is not finished: go on with it by --resume"
            )));
        }
        let differences = without_shard(first)
            .identity
            .differences(&without_shard(shard).identity);
        if !differences.is_empty() {
            return Err(FolderError::Differs {
                path: path.clone(),
                differences,
            });
        }
    }
    if shards.len() > n_shards {
        return Err(incomplete(format!(
            "there are shards of different counts in {}",
            folder.display()
        )));
    }
    let _lock = FolderLock::take(run)?;
    let lines: Vec<(PathBuf, Vec<ManifestLine>)> = shards
        .iter()
        .map(|(path, _)| Ok((path.clone(), Manifest::read(path)?)))
        .collect::<Result<_, FolderError>>()?;
    let all = lines
        .iter()
        .flat_map(|(_, lines)| lines)
        .flat_map(|line| line.problems.spans());
    let missing = Spans::from_iter(all.copied()).missing(0, first.identity.n_problems);
    if let Some(index) = missing.first() {
        return Err(incomplete(format!(
            "{} problems have no outcome, the first is {index}",
            missing.len()
        )));
    }
    let table = first.table.clone().unwrap_or_default();
    let borrowed: Vec<(PathBuf, &[ManifestLine])> = lines
        .iter()
        .map(|(path, lines)| (path.clone(), lines.as_slice()))
        .collect();
    let (first_path, _) = &shards[0];
    let schema = Cursor::open(&first_path.join(format!("{table}.parquet")), &|_| true)?.1;
    let simd: BTreeSet<&String> = shards
        .iter()
        .map(|(_, shard)| &shard.identity.simd)
        .collect();
    let merged = Merged {
        simd: simd.into_iter().cloned().collect(),
        ..merge(run, &borrowed, &table, schema)?
    };
    let mut whole = without_shard(first);
    whole.result_hash = Some(merged.result_hash.clone());
    whole.write(run)?;
    Ok(merged)
}

fn without_shard(run: &RunJson) -> RunJson {
    let mut run = run.clone();
    run.identity.shard = None;
    run
}

/// Merges the announced parts of some folders into the tables of one.
pub(super) fn merge(
    out: &Path,
    folders: &[(PathBuf, &[ManifestLine])],
    table: &str,
    schema: SchemaRef,
) -> Result<Merged, FolderError> {
    debug_assert!(schema.fields().iter().all(|field| is_supported(field)));
    let mut rows: Vec<Waiting> = Vec::new();
    let mut outcomes: Vec<Waiting> = Vec::new();
    for (folder, lines) in folders {
        for line in *lines {
            let path = folder.join(FOLDER_NAME).join(&line.part);
            let outcomes_path = path.with_file_name(outcomes_name(&line.part));
            check(&path, &line.rows)?;
            check(&outcomes_path, &line.outcomes)?;
            let first_problem = line.problems.spans().first().map(|&(from, _)| from);
            outcomes.push(Waiting {
                first_row: first_problem,
                path: outcomes_path,
            });
            rows.push(Waiting {
                first_row: line.first_row,
                path,
            });
        }
    }
    let mut hash = TableHash::new(&schema);
    let table = out.join(format!("{table}.parquet"));
    let n_rows = merge_files(rows, &table, &schema, &mut |batch| {
        hash.update(&batch);
        Ok(batch)
    })?;
    let timing = outcomes_columns(&["row", "device", "milliseconds", "attempts"]);
    let timing_path = out.join("timing.parquet");
    merge_files(outcomes.clone(), &timing_path, &timing, &mut Ok)?;
    let failures = outcomes_columns(&["row", "id", "kind", "message"]);
    let failures_path = out.join("failures.parquet");
    let n_failures = merge_files(outcomes, &failures_path, &failures, &mut |batch| {
        let kinds = batch.column_by_name("kind").expect("outcomes have a kind");
        arrow::compute::filter_record_batch(&batch, &arrow::compute::is_not_null(kinds)?)
    })?;
    Ok(Merged {
        n_rows,
        n_failures,
        result_hash: hash.finish(),
        simd: Vec::new(),
    })
}

fn outcomes_columns(names: &[&str]) -> SchemaRef {
    let schema = outcomes_schema();
    let fields = names
        .iter()
        .map(|name| schema.field_with_name(name).expect("outcomes have it"));
    Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
}

/// A file that is not open yet: a run has more parts than a process may have files.
#[derive(Clone)]
struct Waiting {
    /// Its first row; none if it has no rows.
    first_row: Option<u64>,
    path: PathBuf,
}

/// A part that is being read.
struct Cursor {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    batch: RecordBatch,
    at: usize,
}

/// Rows read from a part at a time …
const N_ROWS_READ: usize = 1024;
/// … if they are not larger than this; one row is read whatever its size.
const N_BYTES_READ: u64 = 4 << 20;

/// Merges files that are each sorted by `row` into one with the columns of `schema`, passing every
/// batch through `map`. Returns the rows written.
fn merge_files(
    mut waiting: Vec<Waiting>,
    out: &Path,
    schema: &SchemaRef,
    map: &mut dyn FnMut(RecordBatch) -> Result<RecordBatch, ArrowError>,
) -> Result<u64, FolderError> {
    let write_error = |source| FolderError::Write {
        path: out.to_owned(),
        source,
    };
    let keep = |name: &str| schema.field_with_name(name).is_ok();
    let mut writer = TableFile::create(out, Arc::clone(schema)).map_err(write_error)?;
    // The next to be opened is the last: few are open at once, as runs deliver nearly in order.
    waiting.retain(|file| file.first_row.is_some());
    waiting.sort_by_key(|file| std::cmp::Reverse(file.first_row));
    let mut open: Vec<Cursor> = Vec::new();
    let mut n_written = 0;
    loop {
        // Picks refer to batches, so the batches stay as they are until they are interleaved.
        let mut picks: Vec<(usize, usize)> = Vec::with_capacity(N_ROWS_READ);
        while picks.len() < N_ROWS_READ {
            let lowest = (0..open.len()).min_by_key(|&which| open[which].row());
            let next = waiting.last().and_then(|file| file.first_row);
            if let Some(next) = next
                && lowest.is_none_or(|which| open[which].row() > Some(next))
            {
                let path = waiting.pop().map(|file| file.path).unwrap_or_default();
                open.extend(Cursor::open(&path, &keep)?.0);
                continue;
            }
            let Some(which) = lowest else { break };
            picks.push((which, open[which].at));
            open[which].at += 1;
            if open[which].row().is_none() {
                break;
            }
        }
        if picks.is_empty() {
            break;
        }
        let written = picked(&open, &picks)
            .and_then(&mut *map)
            .map_err(|error| write_error(io::Error::other(error)))?;
        n_written += written.num_rows() as u64;
        writer.write(&written).map_err(write_error)?;
        // Gone before the next is read: two large rows need not be in memory at once.
        drop(written);
        for cursor in &mut open {
            cursor.refill()?;
        }
        open.retain(|cursor| cursor.row().is_some());
    }
    writer.commit().map_err(write_error)?;
    Ok(n_written)
}

/// The rows picked from the open files. Neighbours in one file, the usual case, are not copied.
fn picked(open: &[Cursor], picks: &[(usize, usize)]) -> Result<RecordBatch, ArrowError> {
    let (which, from) = picks[0];
    let neighbours = picks.iter().enumerate();
    if neighbours
        .into_iter()
        .all(|(n, &pick)| pick == (which, from + n))
    {
        return Ok(open[which].batch.slice(from, picks.len()));
    }
    let batches: Vec<&RecordBatch> = open.iter().map(|cursor| &cursor.batch).collect();
    interleave_record_batch(&batches, picks)
}

impl Cursor {
    /// Opens a file at its first row; the cursor is absent where it has none.
    fn open(
        path: &Path,
        keep: &dyn Fn(&str) -> bool,
    ) -> Result<(Option<Cursor>, SchemaRef), FolderError> {
        let file = File::open(path).map_err(FolderError::read(path))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged(path))?;
        let names = builder.schema().fields().iter().enumerate();
        let kept: Vec<usize> = names
            .filter(|(_, field)| keep(field.name()))
            .map(|(at, _)| at)
            .collect();
        let mask =
            parquet::arrow::ProjectionMask::roots(builder.parquet_schema(), kept.iter().copied());
        let schema = Arc::new(
            builder
                .schema()
                .project(&kept)
                .expect("the columns are there"),
        );
        let row_groups = builder.metadata().row_groups().iter();
        let n_bytes: i64 = row_groups.map(|group| group.total_byte_size()).sum();
        let n_rows = builder.metadata().file_metadata().num_rows();
        let row_bytes = n_bytes.max(1) as u64 / n_rows.max(1) as u64;
        let n_rows_read = (N_BYTES_READ / row_bytes.max(1)).clamp(1, N_ROWS_READ as u64);
        let mut reader = builder
            .with_projection(mask)
            .with_batch_size(n_rows_read as usize)
            .build()
            .map_err(damaged(path))?;
        let first = reader.next().transpose().map_err(damaged(path))?;
        let cursor = first.map(|batch| Cursor {
            path: path.to_owned(),
            reader,
            batch,
            at: 0,
        });
        Ok((cursor, schema))
    }

    /// The row it stands at; `None` at the end of its batch.
    fn row(&self) -> Option<u64> {
        let rows = self.batch.column(0).as_primitive::<UInt64Type>();
        (self.at < rows.len()).then(|| rows.value(self.at))
    }

    /// Reads on where the batch is used up.
    fn refill(&mut self) -> Result<(), FolderError> {
        while self.row().is_none() {
            match self
                .reader
                .next()
                .transpose()
                .map_err(damaged(&self.path))?
            {
                Some(batch) => {
                    self.batch = batch;
                    self.at = 0;
                }
                None => break,
            }
        }
        Ok(())
    }
}

fn damaged<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> FolderError {
    let path = path.to_owned();
    move |error| FolderError::Damaged {
        path,
        reason: error.to_string(),
    }
}
