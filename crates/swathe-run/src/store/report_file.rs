//! Report files: `report.json`, the figures of a run folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use swathe::{Counts, Report};

use crate::store::run_folder::{FolderError, sum_counts, write_file};

/// The contents of `report.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportFile {
    /// The figures of what ran last.
    pub report: Report,
    /// Problems whose outcomes were there before it.
    pub n_before: u64,
    /// What became of those; reports of earlier versions do not tell.
    #[serde(default)]
    pub before: Counts,
    /// Figures of the workload's own: what they count, how many.
    pub figures: BTreeMap<String, u64>,
    /// What the user was warned of, in sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The command that made the run.
    pub command: String,
    /// BLAKE3 over the result columns in input order; absent if the run was interrupted.
    pub result_hash: Option<String>,
}

impl ReportFile {
    /// What it is called in a run folder.
    pub const NAME: &'static str = "report.json";

    /// What became of all problems of the run, those that were done before it resumed included.
    pub fn whole_counts(&self) -> Counts {
        sum_counts([self.before, self.report.counts])
    }

    /// Reads the `report.json` of a run folder.
    pub fn read(run: &Path) -> Result<ReportFile, FolderError> {
        let path = run.join(ReportFile::NAME);
        let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => FolderError::Incomplete {
                path: run.to_owned(),
                reason: "it has no report.json".to_owned(),
            },
            _ => FolderError::Read {
                path: path.clone(),
                source,
            },
        })?;
        let mut file: ReportFile =
            serde_json::from_str(&text).map_err(FolderError::damaged(&path))?;
        if file.before.n_problems != file.n_before {
            // Of an earlier version, which kept the number alone.
            file.before = Counts {
                n_problems: file.n_before,
                n_solved: file.n_before,
                ..Counts::default()
            };
        }
        Ok(file)
    }

    /// Writes it into a run folder.
    pub fn write(&self, run: &Path) -> Result<(), FolderError> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        write_file(&run.join(ReportFile::NAME), text.as_bytes())
    }
}
