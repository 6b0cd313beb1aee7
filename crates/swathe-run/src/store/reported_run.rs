//! Reported runs: the identity and the report of a run, read from its folder.

use std::path::{Path, PathBuf};

use crate::store::report_file::ReportFile;
use crate::store::run_folder::{FolderError, RunJson, RunState};

/// A run that has a report: it ended, or was interrupted.
#[derive(Clone, Debug)]
pub struct ReportedRun {
    /// The folder.
    pub path: PathBuf,
    /// The contents of `run.json`.
    pub run: RunJson,
    /// The contents of `report.json`.
    pub file: ReportFile,
}

/// Why a folder has no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The folder is not a run folder, or is damaged.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The run is still going on, or its process died.
    #[error("{path} has no report: the run has not come to its end", path = path.display())]
    Unfinished {
        /// The folder.
        path: PathBuf,
    },
    /// The run consists of shards, each of which has a report.
    #[error("{path} has no report of its own: it is made of shards", path = path.display())]
    OfShards {
        /// The folder.
        path: PathBuf,
        /// One of the shards.
        shard: PathBuf,
    },
    /// The run is complete, but its `report.json` was removed.
    #[error("{path} has no report any more: {name} is gone", path = path.display(), name = ReportFile::NAME)]
    Gone {
        /// The folder.
        path: PathBuf,
    },
}

impl ReportedRun {
    /// Reads `run.json` and `report.json` of a run folder.
    ///
    /// # Errors
    /// If the folder is not a run folder, has no report, or is damaged.
    pub fn read(folder: &Path) -> Result<ReportedRun, ReportError> {
        let path = folder.to_owned();
        let run = match (RunJson::read(folder), reported_shard(folder)) {
            (Err(FolderError::NoRun { .. }), Some(shard)) => {
                return Err(ReportError::OfShards { path, shard });
            }
            (run, _) => run?,
        };
        if !folder.join(ReportFile::NAME).exists() {
            return Err(match (reported_shard(folder), run.state) {
                (Some(shard), _) => ReportError::OfShards { path, shard },
                (None, RunState::Complete) => ReportError::Gone { path },
                (None, RunState::Running | RunState::Interrupted) => {
                    ReportError::Unfinished { path }
                }
            });
        }
        let file = ReportFile::read(folder)?;
        Ok(ReportedRun { path, run, file })
    }
}

/// The first of a run's shards that has a report.
fn reported_shard(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder.join("shards")).ok()?;
    let shards = entries.flatten().map(|entry| entry.path());
    shards.filter(|shard| shard.join(ReportFile::NAME).is_file()).min()
}
