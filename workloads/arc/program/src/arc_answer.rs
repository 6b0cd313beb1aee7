//! Answers of a run of grid programs: the calls of a sample, and a file with the values of its differs.

use std::sync::Arc;

use swathe::{Finish, Stop};
use swathe_arc::{Batt, BattCalls, Call, Problem, Stopped};
use swathe_run::store::run_folder::{FolderError, RowFile};

use crate::differ_files::DifferFiles;
use crate::known_calls::KnownCalls;

/// The programs and differs of a run. Each sample's values of differs are written to a file.
pub struct ArcRun {
    /// The programs and differs.
    pub workload: Arc<Batt>,
    /// Where the values of differs are written; None if there are no differs.
    pub differ_files: Option<Arc<DifferFiles>>,
    /// Calls that are taken from another run.
    pub known_calls: Option<KnownCalls>,
}

/// What a sample's rows are made of.
#[derive(Debug)]
pub struct ArcAnswer {
    /// A call for every program.
    pub calls: Vec<Call>,
    /// The file with the values of the differs.
    pub differs: Option<RowFile>,
}

/// Why a sample has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ArcFailure {
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The file of its differs cannot be written; the run ends.
    #[error("{0}")]
    Output(String),
    /// The calls of another run cannot be read.
    #[error(transparent)]
    Known(#[from] FolderError),
}

impl Finish for ArcRun {
    type Workload = Batt;
    type Finished = ArcAnswer;
    type Failure = ArcFailure;

    fn workload(&self) -> &Batt {
        &self.workload
    }

    fn finish(
        &self,
        index: usize,
        problem: &Problem,
        mut solution: BattCalls,
        _: &Stop,
    ) -> Result<ArcAnswer, ArcFailure> {
        if let Some(known) = &self.known_calls {
            swathe::timed("read known calls", || {
                known.complete(problem, &mut solution.calls)
            })?;
        }
        let written = self.differ_files.as_ref().map(|files| {
            swathe::timed("write differs", || {
                files.write(index, problem, &solution.differs)
            })
        });
        Ok(ArcAnswer {
            calls: solution.calls,
            differs: written.transpose().map_err(ArcFailure::Output)?,
        })
    }
}
