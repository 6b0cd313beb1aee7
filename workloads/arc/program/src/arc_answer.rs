//! Answers of a run of grid programs: the calls of a sample, also those that are known from another run.

use std::sync::Arc;

use swathe::{Finish, Stop};
use swathe_arc::{Batt, BattCalls, Problem, Stopped};
use swathe_run::store::run_folder::FolderError;

use crate::known_calls::KnownCalls;

/// The programs and differs of a run.
pub struct ArcRun {
    /// The programs and differs.
    pub workload: Arc<Batt>,
    /// Calls that are taken from another run.
    pub known_calls: Option<KnownCalls>,
}

/// Why a sample has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ArcFailure {
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The calls of another run cannot be read.
    #[error(transparent)]
    Known(#[from] FolderError),
}

impl Finish for ArcRun {
    type Workload = Batt;
    type Finished = BattCalls;
    type Failure = ArcFailure;

    fn workload(&self) -> &Batt {
        &self.workload
    }

    fn finish(
        &self,
        _: usize,
        problem: &Problem,
        mut solution: BattCalls,
        _: &Stop,
    ) -> Result<BattCalls, ArcFailure> {
        if let Some(known) = &self.known_calls {
            swathe::timed("read known calls", || known.complete(problem, &mut solution))?;
        }
        Ok(solution)
    }
}
