//! Merging: from parts in the order they were finished to tables in the order of the input.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{DataType, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::FolderError;
use super::hash::{TableHash, is_supported};
use super::identity::{RunJson, RunState};
use super::lock::FolderLock;
use super::manifest::{Manifest, ManifestLine, Spans};
use super::part::{FOLDER_NAME, described, io_error, outcomes_name, properties};
use crate::atomic_file::AtomicFile;

/// What a merge made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Rows in the table.
    pub n_rows: u64,
    /// Rows in `failures.parquet`.
    pub n_failures: u64,
    /// BLAKE3 over the result columns in input order.
    pub result_hash: String,
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
    let merged = merge(run, &borrowed, &table)?;
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
) -> Result<Merged, FolderError> {
    let mut rows: Vec<Waiting> = Vec::new();
    let mut outcomes: Vec<Waiting> = Vec::new();
    for (folder, lines) in folders {
        for line in *lines {
            let path = folder.join(FOLDER_NAME).join(&line.part);
            let first_problem = line.problems.spans().first().map(|&(from, _)| from);
            outcomes.push(Waiting {
                first_row: first_problem,
                path: path.with_file_name(outcomes_name(&line.part)),
            });
            rows.push(Waiting {
                first_row: line.first_row,
                path,
            });
        }
    }
    let mut hash = None;
    let table = out.join(format!("{table}.parquet"));
    let n_rows = merge_files(rows, &table, &|_| true, &mut |batch| {
        hash.get_or_insert_with(|| TableHash::new(&batch.schema()))
            .update(&batch);
        Ok(batch)
    })?;
    let timing_of = |name: &str| matches!(name, "row" | "device" | "milliseconds" | "attempts");
    merge_files(
        outcomes.clone(),
        &out.join("timing.parquet"),
        &timing_of,
        &mut Ok,
    )?;
    let failure_of = |name: &str| matches!(name, "row" | "id" | "kind" | "message");
    let n_failures = merge_files(
        outcomes,
        &out.join("failures.parquet"),
        &failure_of,
        &mut |batch| {
            let kinds = batch.column_by_name("kind").expect("outcomes have a kind");
            arrow::compute::filter_record_batch(&batch, &arrow::compute::is_not_null(kinds)?)
        },
    )?;
    let result_hash = hash.map_or_else(
        || TableHash::new(&Schema::empty()).finish(),
        TableHash::finish,
    );
    Ok(Merged {
        n_rows,
        n_failures,
        result_hash,
    })
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

/// Rows read from a part at a time.
const N_ROWS_READ: usize = 1024;

/// Merges files that are each sorted by `row` into one, keeping the columns that `keep` names and
/// passing every batch through `map`. Returns the rows written.
fn merge_files(
    mut waiting: Vec<Waiting>,
    out: &Path,
    keep: &dyn Fn(&str) -> bool,
    map: &mut dyn FnMut(RecordBatch) -> Result<RecordBatch, ArrowError>,
) -> Result<u64, FolderError> {
    let write_error = |source| FolderError::Write {
        path: out.to_owned(),
        source,
    };
    let schema = match waiting.first() {
        Some(first) => Cursor::open(&first.path, keep)?.1,
        None => Arc::new(Schema::empty()),
    };
    debug_assert!(schema.fields().iter().all(|field| is_supported(field)));
    let file = AtomicFile::create(out).map_err(write_error)?;
    let mut writer = ArrowWriter::try_new(file, with_descriptions(&schema), Some(properties()))
        .map_err(|error| write_error(io_error(error)))?;
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
                open.extend(Cursor::open(&path, keep)?.0);
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
        let batches: Vec<&RecordBatch> = open.iter().map(|cursor| &cursor.batch).collect();
        let written = interleave_record_batch(&batches, &picks)
            .and_then(&mut *map)
            .map_err(|error| write_error(io::Error::other(error)))?;
        n_written += written.num_rows() as u64;
        writer
            .write(&written)
            .map_err(|error| write_error(io_error(error)))?;
        for cursor in &mut open {
            cursor.refill()?;
        }
        open.retain(|cursor| cursor.row().is_some());
    }
    let file = writer
        .into_inner()
        .map_err(|error| write_error(io_error(error)))?;
    file.commit().map_err(write_error)?;
    Ok(n_written)
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
        let mut reader = builder
            .with_projection(mask)
            .with_batch_size(N_ROWS_READ)
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

/// The columns every folder has, explained in the schema.
fn with_descriptions(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let field = field.as_ref().clone();
        match (field.name().as_str(), field.data_type()) {
            ("row", DataType::UInt64) => described(field, "the input's number, from 0"),
            ("milliseconds", DataType::Float64) => {
                described(field, "time to solve the problem, ms")
            }
            ("attempts", DataType::UInt32) => described(field, "how often it was started"),
            _ => field,
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
