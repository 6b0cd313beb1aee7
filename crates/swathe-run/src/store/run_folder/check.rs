//! Checks: whether the files of a run folder are unchanged since they were written.

use std::path::{Path, PathBuf};

use super::hash::table_hashes;
use super::identity::{RunJson, RunState};
use super::manifest::{self, Manifest, ManifestLine};
use super::merge::check_coverage;
use super::on_threads::on_threads;
use super::part::{FOLDER_NAME, check_line, files_folder, outcomes_name};
use super::table_file::check;
use super::{FolderError, SHARDS_NAME};
use crate::store::report_file::ReportFile;
use crate::store::table_reader::TableReader;

/// The result of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Files that were read.
    pub n_files: u64,
    /// Files that are damaged or missing.
    pub damages: Vec<FolderError>,
}

impl Checked {
    /// Counts a file and records its damage.
    fn note<T>(&mut self, checked: Result<T, FolderError>) -> Option<T> {
        self.n_files += 1;
        self.note_more(checked)
    }

    /// Records damage of files that are already counted.
    fn note_more<T>(&mut self, checked: Result<T, FolderError>) -> Option<T> {
        checked.map_err(|error| self.damages.push(error)).ok()
    }
}

/// Reads all files of a run folder and of its shards, and compares them with their recorded
/// checksums.
///
/// # Errors
/// If the folder is not a run folder, or if its `run.json` cannot be read.
pub fn check_run(run: &Path, n_threads: usize) -> Result<Checked, FolderError> {
    let mut checked = Checked::default();
    let shards = shards(run);
    match RunJson::read(run) {
        Err(FolderError::NoRun { .. }) if !shards.is_empty() => {}
        Err(error @ (FolderError::NoRun { .. } | FolderError::Read { .. })) => return Err(error),
        read => {
            if let Some(run_json) = checked.note(read) {
                check_one(run, &run_json, shards.is_empty(), n_threads, &mut checked);
            }
        }
    }
    for shard in shards {
        if let Some(run_json) = checked.note(RunJson::read(&shard)) {
            check_one(&shard, &run_json, true, n_threads, &mut checked);
        }
    }
    Ok(checked)
}

fn shards(run: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(run.join(SHARDS_NAME)).into_iter();
    let entries = entries.flatten().flatten().map(|entry| entry.path());
    let mut shards: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    shards.sort();
    shards
}

fn check_one(
    run: &Path,
    run_json: &RunJson,
    has_parts: bool,
    n_threads: usize,
    checked: &mut Checked,
) {
    if has_parts && let Some(lines) = checked.note(Manifest::read(run, run_json.run_id.as_deref()))
    {
        check_parts(run, run_json, &lines, n_threads, checked);
    }
    if run_json.state == RunState::Complete {
        check_tables(run, run_json, n_threads, checked);
    }
    if run.join(ReportFile::NAME).exists() {
        checked.note(ReportFile::read(run));
    }
}

/// Checks the parts, and the files that their rows refer to.
fn check_parts(
    run: &Path,
    run_json: &RunJson,
    lines: &[ManifestLine],
    n_threads: usize,
    checked: &mut Checked,
) {
    let parts = run.join(FOLDER_NAME);
    let base = files_folder(run, &run_json.identity);
    let results = on_threads("swathe-check", n_threads, lines.len(), &|at| {
        let line = &lines[at];
        let path = parts.join(&line.part);
        let outcomes_path = path.with_file_name(outcomes_name(&line.part));
        let outcomes = check(&outcomes_path, &line.outcomes);
        let mut found = vec![check(&path, &line.rows)];
        found.push(match found[0].is_ok() && outcomes.is_ok() {
            true => check_line(run, at, line),
            false => outcomes,
        });
        found.extend(line.files.iter().map(|file| check(&base.join(&file.path), &file.seal)));
        Ok::<_, std::convert::Infallible>(found)
    });
    for found in results.unwrap_or_default().into_iter().flatten() {
        checked.note(found);
    }
    if run_json.state == RunState::Complete {
        let lines = lines.iter().enumerate();
        let lines: Vec<_> = lines.map(|(at, line)| (run, at, line)).collect();
        checked.note_more(check_coverage(run, &lines, run_json.identity.problems()));
    }
}

/// Checks the tables of a complete run against their checksums and the result hash. Earlier
/// versions recorded no checksums. Other tables in the folder, which the workload wrote, are only
/// decoded.
fn check_tables(run: &Path, run_json: &RunJson, n_threads: usize, checked: &mut Checked) {
    let mut is_whole = true;
    for (name, seal) in &run_json.tables {
        is_whole &= checked.note(check(&run.join(name), seal)).is_some();
    }
    if is_whole {
        checked.note_more(verify_tables(run, run_json, n_threads));
    }
    let entries = std::fs::read_dir(run).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_table = name.ends_with(".parquet") && !name.starts_with('.');
        if is_table && !run_json.tables.contains_key(&*name) {
            checked.note(TableReader::open(&path).and_then(|table| table.for_each(|_| Ok(()))));
        }
    }
}

/// Checks that the table of a complete run matches its result hash.
pub(crate) fn verify_tables(
    run: &Path,
    run_json: &RunJson,
    n_threads: usize,
) -> Result<(), FolderError> {
    let (Some(table), Some(hash)) = (&run_json.table, &run_json.result_hash) else {
        return Ok(());
    };
    let path = run.join(format!("{table}.parquet"));
    let hashes = table_hashes(&path, n_threads)?;
    match hashes.result_hash == *hash {
        true => Ok(()),
        false => Err(FolderError::Damaged {
            path,
            reason: "its values are not those that were written".to_owned(),
        }),
    }
}

/// Whether the manifest exists.
pub(super) fn has_manifest(run: &Path) -> bool {
    run.join(manifest::FILE_NAME).symlink_metadata().is_ok()
}
