//! Report files: `report.json`, the figures of a run folder.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use swathe::{Counts, Report};

use crate::store::place::Place;
use crate::store::run_folder::{FolderError, read, sum_counts, write_file};

/// The contents of `report.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportFile {
    /// The figures of the last process that ran.
    pub report: Report,
    /// Problems that had an outcome before that process started.
    pub n_before: u64,
    /// The counts of those problems; absent in reports of earlier versions.
    #[serde(default)]
    pub before: Counts,
    /// The workload's own figures: a name and a count.
    pub figures: BTreeMap<String, u64>,
    /// Warnings for the user, in sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The command that made the run.
    pub command: String,
    /// BLAKE3 over the result columns in input order; absent if the run was interrupted.
    pub result_hash: Option<String>,
    /// The machines and actors that solved the shards of a merged run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
}

impl ReportFile {
    /// The file's name in a run folder.
    pub const NAME: &'static str = "report.json";

    /// The counts of all problems of the run, including those done before it resumed.
    pub fn whole_counts(&self) -> Counts {
        sum_counts([self.before, self.report.counts])
    }

    /// Reads the `report.json` of a run folder.
    ///
    /// # Errors
    /// If there is no `report.json`, or if it cannot be read or decoded.
    pub fn read(run: &Path) -> Result<ReportFile, FolderError> {
        let path = run.join(ReportFile::NAME);
        let text = read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => FolderError::Incomplete {
                path: run.to_owned(),
                reason: "it has no report.json".to_owned(),
            },
            _ => FolderError::Read { path: path.clone(), source },
        })?;
        let mut file: ReportFile =
            serde_json::from_slice(&text).map_err(FolderError::damaged(&path))?;
        if file.before.n_problems != file.n_before {
            // An earlier version kept only the number of these problems.
            file.before =
                Counts { n_problems: file.n_before, n_solved: file.n_before, ..Counts::default() };
        }
        Ok(file)
    }

    /// Writes the file into a run folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, run: &Path) -> Result<(), FolderError> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        write_file(&run.join(ReportFile::NAME), text.as_bytes())
    }
}
