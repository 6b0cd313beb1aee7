//! Reported runs: who a run is and how it went, as its folder tells.

use std::path::{Path, PathBuf};

use crate::store::report_file::ReportFile;
use crate::store::run_folder::{FolderError, RunJson, RunState};

/// A run that came to its end, or was interrupted and reported.
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
    /// It is made of shards, which have a report each.
    #[error("{path} has no report of its own: it is made of shards", path = path.display())]
    OfShards {
        /// The folder.
        path: PathBuf,
        /// One of the shards.
        shard: PathBuf,
    },
    /// The file is gone.
    #[error("{path} has no report any more: {name} is gone", path = path.display(), name = ReportFile::NAME)]
    Gone {
        /// The folder.
        path: PathBuf,
    },
}

impl ReportedRun {
    /// Reads what a run folder tells.
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
    shards
        .filter(|shard| shard.join(ReportFile::NAME).is_file())
        .min()
}
