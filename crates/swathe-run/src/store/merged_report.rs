//! The report of a run that was merged from shards.

use std::collections::BTreeMap;
use std::path::Path;

use swathe::{Counts, Report};

use crate::kind::RunKind;
use crate::page::{self, PageData};
use crate::store::place::places;
use crate::store::report_file::ReportFile;
use crate::store::run_folder::{FolderError, Merged, sum_counts, write_file};
use crate::store::shard_status::shard_statuses;

/// Writes `report.json` and `report.html` of a merged run: the figures of its shards, joined.
/// Returns how many shards there are and their time together, in milliseconds.
///
/// # Errors
/// If a shard has no report, or if a file cannot be written.
pub fn write_merged_report(
    run: &Path,
    kind: Option<&RunKind>,
    merged: &Merged,
) -> Result<(usize, f64), FolderError> {
    let shards = shard_statuses(run)?;
    let files: Result<Vec<ReportFile>, FolderError> =
        shards.iter().map(|shard| ReportFile::read(&shard.path)).collect();
    let files = files?;
    let n_shards = files.len();
    let together_ms = files.iter().map(|file| file.report.wall_ms).sum();
    let counts = sum_counts(files.iter().map(ReportFile::whole_counts));
    let mut figures: BTreeMap<String, u64> = BTreeMap::new();
    let mut warnings: Vec<String> = Vec::new();
    for file in &files {
        for (name, n) in &file.figures {
            *figures.entry(name.clone()).or_default() += n;
        }
    }
    let (places, lost) = places(run, &shards, &files);
    warnings.extend(lost);
    // What all shards say is said once; the rest names its shard.
    for (file, shard) in files.iter().zip(&shards) {
        for warning in &file.warnings {
            let warning = match files.iter().all(|other| other.warnings.contains(warning)) {
                true => warning.clone(),
                false => format!("shard {}/{}: {warning}", shard.number, shard.n_shards),
            };
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    let Some(joined) = Report::join(files.into_iter().map(|file| file.report)) else {
        return Ok((0, 0.0));
    };
    ReportFile {
        report: Report { counts, ..joined },
        n_before: 0,
        before: Counts::default(),
        figures,
        warnings,
        command: format!("swathe merge {}", run.display()),
        result_hash: Some(merged.result_hash.clone()),
        places,
    }
    .write(run)?;
    let data = PageData::read(run, kind)?;
    let page = page::page(&data, kind);
    write_file(&run.join("report.html"), page.as_bytes())?;
    Ok((n_shards, together_ms))
}
