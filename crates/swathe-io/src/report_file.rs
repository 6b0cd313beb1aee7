//! Report files: the figures of a run as its folder keeps them, in `report.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swathe::Report;

use crate::run_folder::{FolderError, RunJson, RunState, write_file};

const FILE_NAME: &str = "report.json";

/// The contents of `report.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportFile {
    /// The figures of what ran last.
    pub report: Report,
    /// Problems whose outcomes were there already.
    pub n_before: u64,
    /// Figures of the workload's own: what they count, how many.
    pub figures: BTreeMap<String, u64>,
    /// The command that made it.
    pub command: String,
    /// BLAKE3 over the result columns in input order; absent if the run was interrupted.
    pub result_hash: Option<String>,
}

/// A run as its folder tells of it: who it is, and how it went.
#[derive(Clone, Debug)]
pub struct ReportedRun {
    /// The folder.
    pub path: PathBuf,
    /// What is in `run.json`.
    pub run: RunJson,
    /// What is in `report.json`.
    pub file: ReportFile,
}

/// Why a folder has no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// It is no run folder, or damaged.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The run has not come to its end.
    #[error("{path} has no report: the run has not come to its end", path = path.display())]
    Unfinished {
        /// The folder.
        path: PathBuf,
    },
    /// It was put together of shards, which have a report each.
    #[error("{path} has no report of its own: it was put together of shards", path = path.display())]
    OfShards {
        /// The folder.
        path: PathBuf,
        /// One of the shards.
        shard: PathBuf,
    },
    /// The file is gone.
    #[error("{path} has no {FILE_NAME}", path = path.display())]
    Gone {
        /// The folder.
        path: PathBuf,
    },
}

impl ReportFile {
    /// Writes it into a run folder.
    pub fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        write_file(&folder.join(FILE_NAME), text.as_bytes())
    }
}

impl ReportedRun {
    /// Reads the reports of a run folder.
    pub fn read(folder: &Path) -> Result<ReportedRun, ReportError> {
        let run = match RunJson::read(folder) {
            Err(FolderError::NoRun { .. }) if shard_of(folder).is_some() => {
                return Err(absent(folder, RunState::Complete));
            }
            run => run?,
        };
        let path = folder.join(FILE_NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(absent(folder, run.state));
            }
            Err(source) => return Err(FolderError::Read { path, source }.into()),
        };
        let file = serde_json::from_str(&text).map_err(|error| FolderError::Damaged {
            path,
            reason: error.to_string(),
        })?;
        Ok(ReportedRun {
            path: folder.to_owned(),
            run,
            file,
        })
    }
}

/// Why there is no report, as far as the folder tells.
fn absent(folder: &Path, state: RunState) -> ReportError {
    let path = folder.to_owned();
    match (shard_of(folder), state) {
        (Some(shard), _) => ReportError::OfShards { path, shard },
        (None, RunState::Complete) => ReportError::Gone { path },
        (None, RunState::Running | RunState::Interrupted) => ReportError::Unfinished { path },
    }
}

/// The first of a run's shards that has a report.
fn shard_of(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder.join("shards")).ok()?;
    let shards = entries.flatten().map(|entry| entry.path());
    shards.filter(|shard| shard.join(FILE_NAME).is_file()).min()
}
