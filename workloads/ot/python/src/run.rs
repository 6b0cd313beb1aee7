//! Solving pairs: through the engine, or one by one on the calling thread.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::{Delivery, Finish, Outcome, Size, Source, Stop};
use swathe_ot::{Failure, Pair, Scratch, Settings, Solution, Summary, Transport, placed_size};
use swathe_python::{Interrupt, Progress, engine_settings};

use crate::frame_view::PairView;
use crate::settings::settings;
use crate::solution::RawSolution;

/// What became of a pair: a solution, or the kind and message of its failure.
type Solved = Result<RawSolution, (String, String)>;

/// A pair that failed: its number, the kind of failure and the message.
type FailedPair = (usize, String, String);

/// A solution or `None` for each pair, the failures, and the report as JSON.
type Answered = (Vec<Option<RawSolution>>, Vec<FailedPair>, Option<String>);

/// A solution and what was computed from its maps before they were dropped.
pub(crate) struct Finished {
    pub(crate) solution: Solution,
    pub(crate) summary: Option<Summary>,
}

/// Solves pairs and returns, in their order, a solution or `None` for each, the failures, and the
/// report as JSON (`None` where the pairs were solved one by one).
///
/// With `is_lenient`, an argument that is no frame fails its pair alone instead of raising. With
/// `deliver`, each outcome is passed to this function as it comes and is not returned: its number,
/// the solution or `None`, and the kind and message of the failure or `None`. Pairs are numbered from
/// `first` there and in exceptions.
#[pyfunction]
#[pyo3(signature = (pairs, ot, engine, keeps_fields, is_sequential, is_lenient, progress, deliver=None, first=0))]
#[expect(clippy::too_many_arguments, reason = "arguments of a Python function")]
pub(crate) fn solve_pairs(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    ot: &Bound<'_, PyDict>,
    engine: &Bound<'_, PyDict>,
    keeps_fields: bool,
    is_sequential: bool,
    is_lenient: bool,
    progress: Option<Py<PyAny>>,
    deliver: Option<Py<PyAny>>,
    first: usize,
) -> PyResult<Answered> {
    let settings = Arc::new(settings(ot)?);
    let mut views: Vec<Result<Arc<PairView>, String>> = Vec::new();
    for (number, pair) in pairs.try_iter()?.enumerate() {
        views.push(match PairView::new(&pair?, first + number) {
            Ok(view) => Ok(Arc::new(view)),
            Err(error) if is_lenient && is_argument_error(py, &error) => {
                Err(error.value(py).to_string())
            }
            Err(error) => return Err(error),
        });
    }
    let job = Job {
        views: Arc::new(views),
        settings,
        keeps_fields,
        deliver,
        first,
    };
    let progress = Progress::new(progress, job.views.len());
    // Starting the engine costs more than a tiny pair takes.
    let (solved, report) = match is_sequential || job.views.len() == 1 {
        true => {
            // Checked all the same: a wrong argument must not be accepted by one mode alone. Without
            // any there is nothing to check, and asking the system for its memory takes longer than
            // a tiny pair.
            if !engine.is_empty() {
                engine_settings(engine)?;
            }
            (py.detach(|| job.one_by_one(progress))?, None)
        }
        false => {
            let engine = engine_settings(engine)?;
            let (solved, report) = py.detach(|| job.batched(&engine, progress))?;
            (solved, Some(report))
        }
    };
    let mut solutions = Vec::with_capacity(solved.len());
    let mut failures = Vec::new();
    for (number, solved) in solved.into_iter().enumerate() {
        match solved {
            // It was delivered.
            _ if job.deliver.is_some() => {}
            Ok(solution) => solutions.push(Some(solution)),
            Err((kind, message)) => {
                failures.push((number, kind, message));
                solutions.push(None);
            }
        }
    }
    Ok((solutions, failures, report))
}

fn is_argument_error(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyTypeError>(py)
}

/// Pairs to solve with the same settings.
struct Job {
    views: Arc<Vec<Result<Arc<PairView>, String>>>,
    settings: Arc<Settings>,
    keeps_fields: bool,
    deliver: Option<Py<PyAny>>,
    first: usize,
}

impl Job {
    /// Passes an outcome on, or keeps it.
    fn take(&self, number: usize, outcome: Solved, kept: &mut [Solved]) -> PyResult<()> {
        let Some(deliver) = &self.deliver else {
            kept[number] = outcome;
            return Ok(());
        };
        let number = self.first + number;
        Python::attach(|py| {
            match outcome {
                Ok(solution) => deliver.call1(py, (number, solution, py.None())),
                Err(failure) => deliver.call1(py, (number, py.None(), failure)),
            }
            .map(drop)
        })
    }

    /// What stands for every pair before it has an outcome.
    fn unsolved(&self) -> Vec<Solved> {
        let early = || Err(("failed".to_owned(), "the run ended early".to_owned()));
        self.views.iter().map(|_| early()).collect()
    }

    fn one_by_one(&self, mut progress: Progress) -> PyResult<Vec<Solved>> {
        let interrupt = RefCell::new(Interrupt::new());
        let stop = || interrupt.borrow_mut().is_due();
        let mut scratch = Scratch::new();
        let mut solved = self.unsolved();
        for (number, view) in self.views.iter().enumerate() {
            if interrupt.borrow_mut().is_due() {
                break;
            }
            let outcome = match view {
                Err(message) => Err(("failed".to_owned(), message.clone())),
                Ok(view) => {
                    let settings = &*self.settings;
                    let mut solve = || -> Result<Finished, Failure> {
                        let geometry = view.place(&settings.crop, settings.pool)?;
                        let pair = view.cut(geometry)?;
                        let solution = swathe_ot::solve_with(&pair, settings, &mut scratch, &stop)?;
                        Ok(finished(solution, self.keeps_fields))
                    };
                    match solve() {
                        Ok(finished) => Ok(self.raw(finished, view)),
                        Err(failure) => Err(("failed".to_owned(), failure.to_string())),
                    }
                }
            };
            self.take(number, outcome, &mut solved)?;
            progress.step()?;
        }
        interrupt.into_inner().finish()?;
        Ok(solved)
    }

    fn batched(
        &self,
        engine: &swathe::Settings,
        mut progress: Progress,
    ) -> PyResult<(Vec<Solved>, String)> {
        let finish = Arc::new(Finishing {
            transport: Transport {
                settings: (*self.settings).clone(),
            },
            keeps_fields: self.keeps_fields,
        });
        let mut solved = self.unsolved();
        let mut interrupt = Interrupt::new();
        let report = swathe::run_finishing(&finish, &self.source(), engine, &mut |delivery| {
            if let Delivery::Done(done) = delivery {
                let outcome = match done.outcome {
                    Outcome::Solved(finished) => match &self.views[done.index] {
                        Ok(view) => Ok(self.raw(finished, view)),
                        Err(message) => Err(("failed".to_owned(), message.clone())),
                    },
                    other => {
                        let message = match &self.views[done.index] {
                            Err(message) => message.clone(),
                            Ok(_) => other.message().unwrap_or_default(),
                        };
                        Err((other.kind().name().to_owned(), message))
                    }
                };
                let taken = self.take(done.index, outcome, &mut solved);
                if let Err(error) = taken.and_then(|()| progress.step()) {
                    interrupt.raise(error);
                }
            }
            match interrupt.is_due() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        interrupt.finish()?;
        if let Some(mismatch) = report.verification.mismatches.first() {
            return Err(pyo3::exceptions::PyArithmeticError::new_err(format!(
                "pair {} solved again gives another answer: {}",
                mismatch.problem, mismatch.difference
            )));
        }
        let report = serde_json::to_string(&report).unwrap_or_default();
        Ok((solved, report))
    }

    fn source(&self) -> Source<Pair, Failure> {
        let (sizes, loads) = (Arc::clone(&self.views), Arc::clone(&self.views));
        let (size_settings, load_settings) =
            (Arc::clone(&self.settings), Arc::clone(&self.settings));
        Source::new(
            self.views.len(),
            move |number| -> Result<Size, Failure> {
                let view = sizes[number].as_ref().map_err(|_| not_a_pair())?;
                let geometry = view.place(&size_settings.crop, size_settings.pool)?;
                Ok(placed_size(geometry.work, geometry.frame))
            },
            move |number, _| {
                let view = loads[number].as_ref().map_err(|_| not_a_pair())?;
                view.cut(view.place(&load_settings.crop, load_settings.pool)?)
            },
        )
    }

    fn raw(&self, finished: Finished, view: &Arc<PairView>) -> RawSolution {
        RawSolution::new(finished, Arc::clone(view), Arc::clone(&self.settings))
    }
}

/// A placeholder: the message of such a pair is the one that Python gave.
fn not_a_pair() -> Failure {
    Failure::Stopped
}

/// Sums the maps up, and drops them unless they are wanted.
fn finished(mut solution: Solution, keeps_fields: bool) -> Finished {
    let summary = swathe_ot::summarise(&solution);
    if !keeps_fields {
        solution.fields = None;
    }
    Finished { solution, summary }
}

struct Finishing {
    transport: Transport,
    keeps_fields: bool,
}

impl Finish for Finishing {
    type Workload = Transport;
    type Finished = Finished;
    type Failure = Failure;

    fn workload(&self) -> &Transport {
        &self.transport
    }

    fn finish(
        &self,
        _: usize,
        _: &Pair,
        solution: Solution,
        _: &Stop,
    ) -> Result<Finished, Failure> {
        Ok(finished(solution, self.keeps_fields))
    }
}
