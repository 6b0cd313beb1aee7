//! What a call says of its pairs at its end, in the words of the command.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::Report;
use swathe_ot::Shape;
use swathe_ot_program::epsilon_check::{EpsilonCheck, EpsilonRefused};
use swathe_ot_program::run_warnings::{RunWarnings, SolvedPair};
use swathe_ot_program::spelling::Spelling;

use crate::settings::{CallSettings, settings};

/// Collects warnings over all pairs of a call, which a stream solves in several windows.
#[pyclass(frozen, module = "swathe._swathe.ot")]
pub(crate) struct Notes {
    /// The settings of the call.
    pub(crate) settings: CallSettings,
    is_epsilon_auto: bool,
    collected: Mutex<(EpsilonCheck, RunWarnings)>,
    /// What devices left to the CPU, window by window.
    handed_over: Mutex<Vec<String>>,
}

#[pymethods]
impl Notes {
    #[new]
    fn new(ot: &Bound<'_, PyDict>, is_epsilon_auto: bool) -> PyResult<Notes> {
        let settings = settings(ot)?;
        let solver = (*settings.solver).clone();
        let warnings = RunWarnings::new(solver, is_epsilon_auto, Spelling::Python);
        Ok(Notes {
            settings,
            is_epsilon_auto,
            collected: Mutex::new((EpsilonCheck::default(), warnings)),
            handed_over: Mutex::default(),
        })
    }

    /// The warnings so far.
    pub(crate) fn texts(&self) -> Vec<String> {
        let (check, warnings) = &*self.lock();
        let mut texts = warnings.texts();
        texts.extend(check.warning(Spelling::Python));
        let handed_over = self.handed_over.lock().unwrap_or_else(PoisonError::into_inner);
        texts.extend(handed_over.iter().cloned());
        texts
    }
}

impl Notes {
    /// What collects the warnings of a run folder.
    pub(crate) fn of_run(&self) -> RunWarnings {
        let solver = (*self.settings.solver).clone();
        RunWarnings::new(solver, self.is_epsilon_auto, Spelling::Python)
    }

    /// Adds a solved pair.
    pub(crate) fn add(&self, pair: &SolvedPair<'_>) {
        self.lock().1.add(pair);
    }

    /// Adds what devices could not finish.
    pub(crate) fn add_handed_over(&self, report: &Report) {
        let mut handed_over = self.handed_over.lock().unwrap_or_else(PoisonError::into_inner);
        handed_over.extend(report.handed_over());
    }

    /// Notes the frames of pairs that are about to be solved. With `refuses`, an ε that suits none
    /// of them is an error.
    pub(crate) fn begin(&self, frames: impl Iterator<Item = Shape>, refuses: bool) -> PyResult<()> {
        if self.is_epsilon_auto {
            return Ok(());
        }
        let settings = &self.settings.solver;
        let (check, _) = &mut *self.lock();
        for frame in frames {
            check.add(settings, frame);
        }
        match refuses {
            true => check.refuse(settings, Spelling::Python).map_err(refused),
            false => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, (EpsilonCheck, RunWarnings)> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The exception for an ε that is refused.
pub(crate) fn refused(refused: EpsilonRefused) -> PyErr {
    PyValueError::new_err(format!("{}; {}", refused.message, refused.hint))
}
