//! Solving pairs: through the engine, or one by one on the calling thread.

use std::cell::{LazyCell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swathe::{Cpu, Delivery, Finish, Outcome, Size, Source, Stop};
use swathe_ot::{Failure, Geometry, Pair, Scratch, Settings, Solution, Transport, placed_size};
use swathe_ot_program::pair_workload::PairAnswer;
use swathe_ot_program::run_warnings::SolvedPair;
use swathe_python::{Interrupt, Progress, engine_settings, place};

use crate::frame_view::{PairView, need_bytes};
use crate::notes::Notes;
use crate::solution::RawSolution;

/// What became of a pair: a solution, or the kind and message of its failure.
type Solved = Result<RawSolution, (String, String)>;

/// A pair that failed: its number, the kind of failure and the message.
type FailedPair = (usize, String, String);

/// A solution or `None` for each pair, the failures, and the report as JSON.
type Answered = (Vec<Option<RawSolution>>, Vec<FailedPair>, Option<String>);

/// Solves pairs and returns, in their order, a solution or `None` for each, the failures, and the
/// report as JSON (`None` where the pairs were solved one by one).
///
/// With `is_lenient`, an argument that is no frame fails its pair alone instead of raising. With
/// `deliver`, each outcome is passed to this function as it comes and is not returned: its number,
/// the solution or `None`, and the kind and message of the failure or `None`. Pairs are numbered from
/// `first` there and in exceptions. Warnings are added to `notes`.
#[pyfunction]
#[pyo3(signature = (pairs, engine, keeps_fields, is_sequential, is_lenient, progress, notes, deliver=None, first=0))]
#[expect(clippy::too_many_arguments, reason = "arguments of a Python function")]
pub(crate) fn solve_pairs(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    engine: &Bound<'_, PyDict>,
    keeps_fields: bool,
    is_sequential: bool,
    is_lenient: bool,
    progress: Option<Py<PyAny>>,
    notes: Py<Notes>,
    deliver: Option<Py<PyAny>>,
    first: usize,
) -> PyResult<Answered> {
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
    let frames = views.iter().flatten().map(|view| view.source.shape());
    notes.get().begin(frames, first == 0)?;
    let settings = Arc::clone(&notes.get().settings.solver);
    let job = Job { views: Arc::new(views), settings, notes, keeps_fields, deliver, first };
    let progress = Progress::new(progress, job.views.len());
    // Starting the engine costs more than a tiny pair takes.
    let (solved, report) = match is_sequential || job.views.len() == 1 {
        true => {
            // Checked all the same: a wrong argument must not be accepted by one mode alone. Without
            // any there is nothing to check, and asking the system for its memory takes longer than
            // a tiny pair.
            let memory_bytes = match engine.is_empty() {
                true => None,
                false => Some(engine_settings(engine, false)?.memory.cap_bytes()),
            };
            (py.detach(|| job.one_by_one(progress, memory_bytes))?, None)
        }
        false => {
            let mut engine = engine_settings(engine, true)?;
            let (solved, report) = py.detach(|| job.batched(&mut engine, progress))?;
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
    notes: Py<Notes>,
    keeps_fields: bool,
    deliver: Option<Py<PyAny>>,
    first: usize,
}

/// A pair on frames that need less than this is not compared with the memory of the machine.
const SMALL_BYTES: u64 = 64 << 20;

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

    fn one_by_one(
        &self,
        mut progress: Progress,
        memory_bytes: Option<u64>,
    ) -> PyResult<Vec<Solved>> {
        let interrupt = RefCell::new(Interrupt::new());
        let stop = || interrupt.borrow_mut().is_due();
        let mut scratch = Scratch::new();
        let mut solved = self.unsolved();
        let memory_bytes =
            LazyCell::new(|| memory_bytes.unwrap_or_else(|| Cpu::detect().memory_default_bytes()));
        for (number, view) in self.views.iter().enumerate() {
            if interrupt.borrow_mut().is_due() {
                break;
            }
            let failed = |failure: Failure| ("failed".to_owned(), failure.to_string());
            let outcome = match view {
                Err(message) => Err(("failed".to_owned(), message.clone())),
                Ok(view) => self.placed(view, &memory_bytes, &stop).and_then(|geometry| {
                    let settings = &*self.settings;
                    let pair = view.cut(geometry).map_err(failed)?;
                    let solution = swathe_ot::solve_with(&pair, settings, &mut scratch, &stop);
                    let answer = answer(solution.map_err(failed)?, &pair, self.keeps_fields);
                    Ok(self.raw(number, answer, view))
                }),
            };
            if interrupt.borrow_mut().is_due() {
                break;
            }
            self.take(number, outcome, &mut solved)?;
            progress.step()?;
        }
        interrupt.into_inner().finish()?;
        Ok(solved)
    }

    /// Where a pair lies. One that needs more memory than there is fails in the words of the engine.
    fn placed<F: FnOnce() -> u64>(
        &self,
        view: &PairView,
        memory_bytes: &LazyCell<u64, F>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Geometry, (String, String)> {
        let failed = |failure: Failure| ("failed".to_owned(), failure.to_string());
        let settings = &*self.settings;
        let frame = view.source.shape();
        if need_bytes(settings, &placed_size(frame, frame)) <= SMALL_BYTES {
            return view.place(&settings.crop, settings.pool, stop).map_err(failed);
        }
        let budget_bytes = **memory_bytes;
        let sized = view.size(settings, budget_bytes, stop).map_err(failed)?;
        match sized.geometry {
            Some(geometry) if sized.need_bytes <= budget_bytes => Ok(geometry),
            _ => {
                let outcome: Outcome<Solution, Failure> =
                    Outcome::TooLarge { wanted_bytes: sized.need_bytes, budget_bytes };
                let message = outcome.message().unwrap_or_default();
                Err((outcome.kind().name().to_owned(), message))
            }
        }
    }

    fn batched(
        &self,
        engine: &mut swathe::Settings,
        mut progress: Progress,
    ) -> PyResult<(Vec<Solved>, String)> {
        let finish = Arc::new(Finishing {
            transport: Transport { settings: (*self.settings).clone() },
            keeps_fields: self.keeps_fields,
        });
        let mut solved = self.unsolved();
        let mut interrupt = Interrupt::new();
        let source = self.source(engine);
        if !engine.devices.is_empty() {
            place(&finish, &source, engine, None)?;
        }
        let report = swathe::run_finishing(&finish, &source, engine, &mut |delivery| {
            if let Delivery::Done(done) = delivery {
                let outcome = match done.outcome {
                    Outcome::Solved(answer) => match &self.views[done.index] {
                        Ok(view) => Ok(self.raw(done.index, answer, view)),
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
                true => {
                    // Frames that are being read stop by it.
                    engine.stop.cancel();
                    ControlFlow::Break(())
                }
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
        if let Some(cause) = report.ended_by
            && self.deliver.is_some()
        {
            return Err(pyo3::exceptions::PyRuntimeError::new_err(cause.to_string()));
        }
        self.notes.get().add_handed_over(&report);
        let report = serde_json::to_string(&report).unwrap_or_default();
        Ok((solved, report))
    }

    fn source(&self, engine: &swathe::Settings) -> Source<Pair, Failure> {
        let (sizes, loads) = (Arc::clone(&self.views), Arc::clone(&self.views));
        let (size_settings, load_settings) =
            (Arc::clone(&self.settings), Arc::clone(&self.settings));
        let (memory_bytes, stop) = (engine.memory.cap_bytes(), engine.stop.clone());
        Source::new(
            self.views.len(),
            move |number| -> Result<Size, Failure> {
                let view = sizes[number].as_ref().map_err(|_| not_a_pair())?;
                view.size_while(&size_settings, memory_bytes, &stop)
            },
            move |number, stop| {
                let view = loads[number].as_ref().map_err(|_| not_a_pair())?;
                let Settings { crop, pool, .. } = &*load_settings;
                view.cut(view.place(crop, *pool, &|| stop.is_cancelled())?)
            },
        )
    }

    fn raw(&self, number: usize, answer: PairAnswer, view: &Arc<PairView>) -> RawSolution {
        let row = self.first + number;
        self.notes.get().add(&SolvedPair {
            row,
            name: format_args!("{row}"),
            doubt: answer.doubt,
            solution: &answer.solution,
            summary: answer.summary.as_ref(),
            blurring: answer.blurring.as_ref(),
            live_share: answer.live_share,
        });
        RawSolution::new(answer, Arc::clone(view), Arc::clone(&self.settings))
    }
}

/// A placeholder: the message of such a pair is the one that Python gave.
fn not_a_pair() -> Failure {
    Failure::Stopped
}

/// Sums the maps up, and drops them unless they are wanted.
fn answer(solution: Solution, pair: &Pair, keeps_fields: bool) -> PairAnswer {
    let mut answer = PairAnswer::of(solution, pair);
    if !keeps_fields {
        answer.solution.fields = None;
    }
    answer
}

struct Finishing {
    transport: Transport,
    keeps_fields: bool,
}

impl Finish for Finishing {
    type Workload = Transport;
    type Finished = PairAnswer;
    type Failure = Failure;

    fn workload(&self) -> &Transport {
        &self.transport
    }

    fn finish(
        &self,
        _: usize,
        pair: &Pair,
        solution: Solution,
        _: &Stop,
    ) -> Result<PairAnswer, Failure> {
        Ok(answer(solution, pair, self.keeps_fields))
    }
}
