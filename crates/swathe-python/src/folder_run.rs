//! Runs that Python writes into a run folder, as the command does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{
    PyBlockingIOError, PyFileExistsError, PyFileNotFoundError, PyOSError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;
use serde_json::Value;
use swathe::{Event, Finish, Observer, Settings, Simd, Source, Workload};
use swathe_command::placement;
use swathe_run::kind::RunKind;
use swathe_run::store::execute::{Output, execute};
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{FolderError, Identity, InputFile, shard_problems};

use crate::{Interrupt, Progress, place};

/// Where a call writes its answers, and what they depend on.
#[derive(Debug)]
pub struct FolderRun {
    /// What the workload adds to the run.
    pub kind: &'static RunKind,
    /// The run folder.
    pub out: PathBuf,
    /// Whether to go on with the run that is in the folder.
    pub resume: bool,
    /// The call, for the report.
    pub call: String,
    /// The settings that answers depend on.
    pub settings: BTreeMap<String, Value>,
    /// The arrays of the call, as one input file that has no path.
    pub input: InputFile,
    /// The shard that the call solves, if it is one of several that make a run.
    pub shard: Option<Shard>,
    /// Solves nothing: the problems without an outcome fail with this reason.
    pub gives_up: Option<String>,
}

/// A shard of a run.
#[derive(Clone, Copy, Debug)]
pub struct Shard {
    /// Its number, from 1.
    pub number: usize,
    /// The number of shards.
    pub n_shards: usize,
    /// The problems of all shards together.
    pub n_problems: usize,
}

impl Shard {
    /// Its problems, by their number in the whole.
    pub fn problems(self) -> std::ops::Range<usize> {
        let its = shard_problems(self.n_problems as u64, Some((self.number, self.n_shards)));
        its.start as usize..its.end as usize
    }
}

impl FolderRun {
    /// Solves the problems that have no outcome in the folder yet, and commits outcomes as they
    /// arrive. Ctrl-C ends the call with everything finished committed. Returns the run's warnings.
    ///
    /// # Errors
    /// `FileExistsError` if the folder holds a run, `ValueError` if it holds another one, `OSError`
    /// if it cannot be written, `KeyboardInterrupt`, or what the progress function raises.
    pub fn execute<F, R>(
        self,
        py: Python<'_>,
        finish: &Arc<F>,
        source: &Source<<F::Workload as Workload>::Problem, F::Failure>,
        mut engine: Settings,
        rows: R,
        progress: Progress,
    ) -> PyResult<Vec<String>>
    where
        F: Finish,
        R: Rows<Solution = F::Finished> + Send,
    {
        let output = Output {
            kind: self.kind,
            out: self.out,
            resume: self.resume,
            shard: self.shard.map(|shard| (shard.number, shard.n_shards)),
            command: self.call,
            settings: BTreeMap::new(),
            gives_up: self.gives_up,
        };
        let mut settings = self.settings;
        py.detach(|| place(finish, source, &mut engine, Some(&output)))?;
        placement::record(&engine, &mut settings);
        let identity = Identity {
            workload: F::Workload::NAME.to_owned(),
            settings,
            inputs: vec![self.input],
            n_problems: self.shard.map_or(source.n_problems(), |shard| shard.n_problems) as u64,
            shard: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            simd: Simd::detect().path().name().to_owned(),
        };
        let told = Arc::new(Mutex::new((Interrupt::new(), progress)));
        let (observed, stop) = (Arc::clone(&told), engine.stop.clone());
        engine.observer = Some(Observer::new(move |event| {
            let mut observed = observed.lock().unwrap_or_else(PoisonError::into_inner);
            let (interrupt, progress) = &mut *observed;
            if let Event::Progress { counts, .. } = event
                && let Err(error) = progress.reach(counts.n_done() as usize)
            {
                interrupt.raise(error);
            }
            if interrupt.is_due() {
                stop.cancel();
            }
        }));
        let nothing = Box::new(|_| Ok(()));
        let finished = py.detach(|| {
            let ran = execute(finish, source, &engine, identity, &output, rows, nothing);
            // The observer holds what was told.
            drop(engine);
            ran
        });
        let finished = finished.map_err(folder_error)?;
        let told = Arc::into_inner(told).map(Mutex::into_inner);
        if let Some(told) = told {
            told.unwrap_or_else(PoisonError::into_inner).0.finish()?;
        }
        if let Some(cause) = finished.report.ended_by {
            return Err(PyRuntimeError::new_err(format!(
                "{cause}; what was finished is kept, go on with it by resume=True"
            )));
        }
        match finished.report.verification.mismatches.first() {
            Some(mismatch) => Err(pyo3::exceptions::PyArithmeticError::new_err(format!(
                "problem {} solved again gives another answer: {}",
                mismatch.problem, mismatch.difference
            ))),
            None => Ok(finished.warnings),
        }
    }
}

/// A run folder's error as the exception that Python programs expect.
fn folder_error(error: FolderError) -> PyErr {
    let text = error.to_string();
    match error {
        FolderError::Exists { complete, .. } => PyFileExistsError::new_err(match complete {
            true => format!("{text}, and it is complete; open it with swathe.open_run"),
            false => format!("{text}; go on with it by resume=True"),
        }),
        FolderError::NotARun { .. } => PyFileExistsError::new_err(text),
        FolderError::NoRun { .. } => PyFileNotFoundError::new_err(text),
        FolderError::InUse { .. } => PyBlockingIOError::new_err(text),
        FolderError::Write { .. } | FolderError::Read { .. } | FolderError::Vanished { .. } => {
            PyOSError::new_err(text)
        }
        FolderError::Foreign { .. } => PyValueError::new_err(format!(
            "{text}; put the files of this run back, or begin anew in another folder"
        )),
        FolderError::NoId { .. } => PyValueError::new_err(format!(
            "{text}; swathe.open_run reads it, and a new run takes another folder"
        )),
        _ => PyValueError::new_err(text),
    }
}
