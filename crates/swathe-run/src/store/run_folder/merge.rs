//! Merging: turns parts in the order they finished into tables in input order.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};

use super::FolderError;
use super::group::{Group, Picked, groups_of, merge_groups};
use super::hash::{TableHashes, is_supported, table_hashes};
use super::identity::{RunJson, RunOrigin, RunState, with_made};
use super::lock::FolderLock;
use super::manifest::{self, Checksum, Manifest, ManifestLine, Spans};
use super::on_threads::on_threads;
use super::own_files::{refuse_link, remove_temporary};
use super::part::{
    FOLDER_NAME, check_line, failures_schema, outcomes_name, outcomes_schema, timing_schema,
};
use super::table_file::{check, check_length};
use crate::store::table_reader::TableReader;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Rows in the table.
    pub n_rows: u64,
    /// Rows in `failures.parquet`.
    pub n_failures: u64,
    /// BLAKE3 over the result columns in input order.
    pub result_hash: String,
    /// BLAKE3 over the values alone. It does not depend on column names, nor on other columns.
    pub values_hash: String,
    /// The instruction sets that shards were computed with; the caller warns if there are several.
    pub simd: Vec<String>,
}

/// Merges the shards under `run/shards/` into the tables of `run` on `n_threads` threads.
///
/// # Errors
/// If a shard is missing, unfinished, damaged or of another run, or if a table cannot be written.
pub fn merge_shards(run: &Path, n_threads: usize) -> Result<Merged, FolderError> {
    let incomplete = |reason: String| FolderError::Incomplete { path: run.to_owned(), reason };
    let folder = run.join("shards");
    let mut shards: Vec<(PathBuf, RunJson)> = Vec::new();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(FolderError::NoRun { path: folder });
        }
        Err(source) => {
            return Err(FolderError::Read { path: folder, source });
        }
    };
    refuse_link(&folder)?;
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        refuse_link(&entry.path())?;
        shards.push((entry.path(), RunJson::read(&entry.path())?));
    }
    shards.sort_by_key(|(_, shard)| shard.identity.shard);
    let Some((_, first)) = shards.first() else {
        return Err(incomplete("there are no shards".to_owned()));
    };
    let n_shards = first.identity.shard.map_or(1, |(_, n)| n);
    let mut whole = without_shard(first);
    for number in 1..=n_shards {
        let Some((path, shard)) =
            shards.iter().find(|(_, shard)| shard.identity.shard == Some((number, n_shards)))
        else {
            return Err(incomplete(format!("shard {number}/{n_shards} is missing")));
        };
        if shard.state != RunState::Complete {
            return Err(incomplete(format!(
                "shard {number}/{n_shards} is not finished: go on with it by --resume"
            )));
        }
        let its = without_shard(shard).identity;
        let differences = whole.identity.differences(&its);
        if !differences.is_empty() {
            return Err(FolderError::Differs { path: path.clone(), differences });
        }
        whole.identity.absorb_inputs(&its);
    }
    if shards.len() > n_shards {
        return Err(incomplete(format!(
            "there are shards of different counts in {}",
            folder.display()
        )));
    }
    let _lock = FolderLock::take(run)?;
    remove_temporary(run)?;
    let lines: Vec<(PathBuf, Vec<ManifestLine>)> = shards
        .iter()
        .map(|(path, run)| Ok((path.clone(), Manifest::read(path, run.run_id.as_deref())?)))
        .collect::<Result<_, FolderError>>()?;
    let table = first.table.clone().unwrap_or_default();
    let borrowed: Vec<(PathBuf, &[ManifestLine])> =
        lines.iter().map(|(path, lines)| (path.clone(), lines.as_slice())).collect();
    let (first_path, _) = &shards[0];
    let first_table = TableReader::of_run(first_path, &table)?.builder;
    let schema = Arc::clone(first_table.schema());
    let simd: BTreeSet<&String> = shards.iter().map(|(_, shard)| &shard.identity.simd).collect();
    let problems = 0..first.identity.n_problems;
    let made = (first.run_id.as_deref(), first.made.as_ref());
    let threads = (usize::MAX, n_threads);
    let tables = merge(run, &borrowed, problems, (&table, &schema), made, threads)?;
    let merged = Merged {
        simd: simd.into_iter().cloned().collect(),
        ..tables.merged(table_hashes(&tables.table, n_threads)?)
    };
    whole.tables = tables.seals.clone();
    whole.result_hash = Some(merged.result_hash.clone());
    whole.values_hash = Some(merged.values_hash.clone());
    whole.write(run)?;
    Ok(merged)
}

fn without_shard(run: &RunJson) -> RunJson {
    let mut run = run.clone();
    run.identity.shard = None;
    run
}

/// The tables that a merge made, before they are hashed.
pub(super) struct Tables {
    pub(super) table: PathBuf,
    /// The files, with their checksums.
    pub(super) seals: BTreeMap<String, Checksum>,
    n_rows: u64,
    n_failures: u64,
}

impl Tables {
    pub(super) fn merged(&self, hashes: TableHashes) -> Merged {
        Merged {
            n_rows: self.n_rows,
            n_failures: self.n_failures,
            result_hash: hashes.result_hash,
            values_hash: hashes.values_hash,
            simd: Vec::new(),
        }
    }
}

/// Merges the announced parts of some folders into the tables of `out`. Each of `problems` must
/// have exactly one outcome in the part files; the manifests alone are not trusted. Parts from the
/// line `n_own_from` on were written by this process.
pub(super) fn merge(
    out: &Path,
    folders: &[(PathBuf, &[ManifestLine])],
    problems: Range<u64>,
    (table, schema): (&str, &Schema),
    (run_id, made): (Option<&str>, Option<&RunOrigin>),
    (n_own_from, n_threads): (usize, usize),
) -> Result<Tables, FolderError> {
    debug_assert!(schema.fields().iter().all(|field| is_supported(field)));
    let parts = folders.iter().flat_map(|(folder, lines)| {
        let lines = lines.iter().enumerate();
        lines.map(move |(at, line)| (folder.as_path(), at, line))
    });
    let parts: Vec<(&Path, usize, &ManifestLine)> = parts.collect();
    let groups = on_threads("swathe-merge", n_threads, parts.len(), &|number| {
        let (folder, at, line) = parts[number];
        let path = folder.join(FOLDER_NAME).join(&line.part);
        let outcomes_path = path.with_file_name(outcomes_name(&line.part));
        // What this process wrote moments ago is read from the system's cache, which would hide
        // damage on disk.
        let check = match at < n_own_from {
            true => check,
            false => check_length,
        };
        check(&path, &line.rows)?;
        check(&outcomes_path, &line.outcomes)?;
        check_line(folder, at, line)?;
        let rows = checked_groups(&path, schema)?;
        Ok((rows, checked_groups(&outcomes_path, &outcomes_schema())?))
    })?;
    check_coverage(out, &parts, problems)?;
    let (rows, outcomes): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
    let (rows, outcomes) = (rows.concat(), outcomes.concat());

    let names =
        [format!("{table}.parquet"), "timing.parquet".to_owned(), "failures.parquet".to_owned()];
    let paths = names.each_ref().map(|name| out.join(name));
    let (timing, failures) = (timing_schema(), failures_schema());
    let [schema, timing, failures] =
        [schema, &timing, &failures].map(|schema| with_made(schema, run_id, made));
    let written = on_threads("swathe-merge", n_threads, 3, &|number| {
        let (groups, schema, picked) = match number {
            0 => (&rows, &schema, Picked::All),
            1 => (&outcomes, &timing, Picked::Columns),
            _ => (&outcomes, &failures, Picked::Failures),
        };
        let merged = || merge_groups(groups.clone(), &paths[number], schema, picked);
        guarded(&out.join(FOLDER_NAME), merged)
    })?;
    let [table, _, _] = paths;
    let (n_rows, n_failures) = (written[0].0, written[2].0);
    let seals = written.into_iter().map(|(_, seal)| seal);
    Ok(Tables { table, seals: names.into_iter().zip(seals).collect(), n_rows, n_failures })
}

/// Checks that the parts together have an outcome for each of `problems` and for no other.
pub(super) fn check_coverage(
    out: &Path,
    parts: &[(&Path, usize, &ManifestLine)],
    problems: Range<u64>,
) -> Result<(), FolderError> {
    let mut spans: Vec<((u64, u64), usize)> = Vec::new();
    for (number, (_, _, line)) in parts.iter().enumerate() {
        let its = line.problems.spans().iter();
        spans.extend(its.map(|&span| (span, number)));
    }
    spans.sort_unstable();
    let line_error = |number: usize, reason: String| {
        let (folder, at, _) = parts[number];
        FolderError::ManifestLine { path: folder.join(manifest::FILE_NAME), line: at + 1, reason }
    };
    let mut before: Option<((u64, u64), usize)> = None;
    for &((from, to), number) in &spans {
        if let Some(((_, end), other)) = before
            && from < end
        {
            let (folder, at, _) = parts[other];
            let manifest = folder.join(manifest::FILE_NAME);
            let reason = format!(
                "it announces problem {from}, which line {} of {} announces too",
                at + 1,
                manifest.display()
            );
            return Err(line_error(number, reason));
        }
        if from < problems.start || to > problems.end {
            let reason = format!(
                "it announces the problems {from} to {}, but the run has {} to {}",
                to - 1,
                problems.start,
                problems.end.saturating_sub(1)
            );
            return Err(line_error(number, reason));
        }
        before = Some(((from, to), number));
    }
    let held = Spans::from_iter(spans.iter().map(|&(span, _)| span));
    let missing = held.missing(problems.start, problems.end);
    match missing.spans().first() {
        None => Ok(()),
        Some((first, _)) => Err(FolderError::Incomplete {
            path: out.to_owned(),
            reason: format!("{} problems have no outcome, the first is {first}", missing.len()),
        }),
    }
}

/// The groups of a part, after a check that it has the expected columns: the merge relies on them.
fn checked_groups(path: &Path, schema: &Schema) -> Result<Vec<Group>, FolderError> {
    guarded(path, || {
        let found = TableReader::open(path)?.builder.schema().clone();
        let of = |schema: &Schema| -> Vec<(String, DataType)> {
            let fields = schema.fields().iter();
            let columns = fields.map(|field| (field.name().clone(), field.data_type().clone()));
            columns.collect()
        };
        if of(&found) != of(schema) {
            return Err(FolderError::damaged(path)("it has other columns than the table"));
        }
        groups_of(path)
    })
}

/// Crafted contents can make a decoder panic. The panic becomes an error, and the decoder's state
/// is dropped.
fn guarded<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, FolderError>,
) -> Result<T, FolderError> {
    swathe::guarded(work).unwrap_or_else(|panic| {
        let what = swathe::panic_message(panic);
        Err(FolderError::damaged(path)(format!("its contents cannot be decoded: {what}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::run_folder::table_file::TableFile;
    use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
    use arrow::datatypes::Field;

    #[test]
    fn a_part_with_other_columns_is_damaged_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("000001.parquet");
        let wanted = Schema::new(vec![Field::new("row", DataType::UInt64, false)]);
        let rows: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        for (columns, is_sound) in [
            (vec![("row", rows.clone())], true),
            (vec![("row", texts.clone())], false),
            (vec![("line", rows.clone())], false),
            (vec![("row", rows), ("more", texts)], false),
        ] {
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            let mut file = TableFile::create(&path, batch.schema()).unwrap();
            file.write(&batch).unwrap();
            file.commit().unwrap();
            match checked_groups(&path, &wanted) {
                Ok(groups) => assert!(is_sound && groups.len() == 1),
                Err(error) => {
                    assert!(!is_sound, "{error}");
                    assert!(error.to_string().contains("000001.parquet"), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_panic_of_a_decoder_names_the_file() {
        let decoded: Result<(), _> = guarded(Path::new("parts/7.parquet"), || panic!("no offsets"));
        let told = decoded.unwrap_err().to_string();
        assert!(told.contains("parts/7.parquet") && told.contains("no offsets"), "{told}");
    }
}
