//! Libraries of programs: parsed, called one by one, run on tasks.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::{PyKeyError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use swathe::{Delivery, Outcome, Source};
use swathe_arc::{
    Call, Evaluator, Fault, GridPrograms, Library, Limits, Order, Pairing, Problem, Task, TaskJson,
    call_within, parse, primitive, set_order,
};
use swathe_python::{Interrupt, Progress, engine_settings, no_panic};

use crate::convert::{Reader, error_of, grid, to_python};

/// Programs, merged.
#[pyclass(frozen, module = "swathe._swathe.arc")]
pub(crate) struct RawLibrary {
    text: String,
    file: String,
    library: Library,
    rejected: Vec<String>,
}

/// The calls of a run as columns: program, task, test, sample, outcome (0: an output; else the
/// number of the fault), equal (-1: not known), score, output.
type Columns<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i8>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
);

/// Names of tasks that cannot be used, and why.
type Rejected = Vec<(String, String)>;

/// The tasks with their numbers of demonstrations and tests, the calls, the texts of outputs, the
/// tasks that cannot be used, and the report.
type Ran<'py> = (Vec<(String, usize, usize)>, Columns<'py>, Vec<String>, Rejected, String);

#[pymethods]
impl RawLibrary {
    /// Parses the programs of a file's text.
    #[new]
    fn new(py: Python<'_>, file: String, text: String) -> PyResult<RawLibrary> {
        let (rejected, library) = no_panic(|| {
            let parsed = py.detach(|| parse(&file, &text));
            let rejected: Vec<String> = parsed.errors.iter().map(ToString::to_string).collect();
            Ok((rejected, Library::new(parsed.programs)))
        })?;
        if library.is_empty() {
            return Err(PyValueError::new_err(match rejected.first() {
                Some(first) => format!("no program of {file} can be used: {first}"),
                None => format!("{file} has no programs: functions of one grid, def name(I)"),
            }));
        }
        Ok(RawLibrary { rejected, library, text, file })
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.library.names().map(str::to_owned).collect()
    }

    /// Programs that cannot be used, with the place that is wrong.
    #[getter]
    fn rejected(&self) -> Vec<String> {
        self.rejected.clone()
    }

    #[getter]
    fn n_statements(&self) -> Vec<usize> {
        (0..self.library.len()).map(|k| self.library.n_statements(k)).collect()
    }

    /// The names of the faults, by their numbers from 1 on.
    #[staticmethod]
    fn fault_names() -> Vec<&'static str> {
        Fault::ALL.iter().map(|fault| fault.name()).collect()
    }

    /// What one program makes of a grid: a value, or the exception of the Python reference.
    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        input: &Bound<'py, PyAny>,
        ordered: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(program) = self.library.position(name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        let input = grid(input)?;
        no_panic(|| {
            let mut evaluator = Evaluator::new(&self.library, Order::Cpython, Limits::default());
            let mut made = None;
            evaluator.run_some(&input, [program], |_, result| {
                made = Some(match result {
                    Ok(value) => to_python(py, value, ordered, None),
                    Err(fault) => Err(error_of(*fault, name)),
                });
            });
            made.unwrap_or_else(|| Err(PyKeyError::new_err(name.to_owned())))
        })
    }

    /// Runs the programs on the tasks of a JSON object by name. Returns the names of the tasks, the
    /// calls, the texts of the outputs, the tasks that cannot be used, and the report.
    fn run<'py>(
        &self,
        py: Python<'py>,
        tasks: &str,
        pairing: &str,
        engine: &Bound<'py, PyDict>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Ran<'py>> {
        let engine = engine_settings(engine, false)?;
        let mut programs = GridPrograms::new(Library::new(parse(&self.file, &self.text).programs));
        programs.pairing = match pairing {
            "all" => Pairing::All,
            "own" => Pairing::Own,
            other => {
                return Err(PyValueError::new_err(format!(
                    "pairing is '{other}'; it is 'all' or 'own'"
                )));
            }
        };
        programs.fit(engine.memory.cap_bytes(), engine.n_threads);
        let shared_bytes = programs.shared_bytes();
        let _programs = engine.memory.try_pin(shared_bytes).map_err(|refused| {
            PyMemoryError::new_err(format!(
                "{} programs alone take {shared_bytes} bytes, and memory leaves {}",
                programs.library().len(),
                refused.free_bytes
            ))
        })?;
        let (tasks, rejected) = read_tasks(tasks)?;
        let programs = Arc::new(programs);
        let table = no_panic(|| py.detach(|| run(&programs, &tasks, &engine, progress)))?;
        let names = tasks.iter().map(|task| (task.name.clone(), task.train.len(), task.test.len()));
        let columns = (
            PyArray1::from_vec(py, table.program),
            PyArray1::from_vec(py, table.task),
            PyArray1::from_vec(py, table.is_test),
            PyArray1::from_vec(py, table.sample),
            PyArray1::from_vec(py, table.outcome),
            PyArray1::from_vec(py, table.equal),
            PyArray1::from_vec(py, table.score),
            PyArray1::from_vec(py, table.output),
        );
        Ok((names.collect(), columns, table.texts, rejected, table.report))
    }
}

/// The tasks of a JSON object by name, and why others cannot be used.
fn read_tasks(text: &str) -> PyResult<(Vec<Arc<Task>>, Rejected)> {
    let json: TaskJson = serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("the tasks are no JSON: {error}")))?;
    let TaskJson::Object(members) = json else {
        return Err(PyTypeError::new_err("tasks are a dict by name"));
    };
    let (mut tasks, mut rejected) = (Vec::new(), Vec::new());
    for (name, json) in members {
        match Task::from_value(&name, &json) {
            Ok(task) => tasks.push(Arc::new(task)),
            Err(error) => rejected.push((name, error.to_string())),
        }
    }
    Ok((tasks, rejected))
}

#[derive(Default)]
struct CallTable {
    program: Vec<u32>,
    task: Vec<u32>,
    is_test: Vec<bool>,
    sample: Vec<u32>,
    outcome: Vec<u8>,
    equal: Vec<i8>,
    score: Vec<f64>,
    output: Vec<i64>,
    texts: Vec<String>,
    number_by_hash: HashMap<u128, i64>,
    report: String,
}

impl CallTable {
    fn push(&mut self, task: usize, problem: &Problem, call: &Call) {
        self.program.push(call.program as u32);
        self.task.push(task as u32);
        self.is_test.push(problem.is_test);
        self.sample.push(problem.index as u32);
        self.equal.push(call.score.map_or(-1, |score| i8::from(score.equal)));
        self.score.push(call.score.map_or(f64::NAN, |score| score.score));
        let (outcome, output) = match &call.output {
            Ok(output) => {
                let texts = &mut self.texts;
                let number = match &output.text {
                    None => -1,
                    Some(text) => *self.number_by_hash.entry(output.hash).or_insert_with(|| {
                        texts.push(text.to_string());
                        texts.len() as i64 - 1
                    }),
                };
                (0, number)
            }
            Err(fault) => {
                let number = Fault::ALL.iter().position(|other| other == fault);
                (number.map_or(u8::MAX, |number| number as u8 + 1), -1)
            }
        };
        self.outcome.push(outcome);
        self.output.push(output);
    }
}

fn run(
    programs: &Arc<GridPrograms>,
    tasks: &[Arc<Task>],
    engine: &swathe::Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<CallTable> {
    let mut problems: Vec<(usize, Problem)> = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        problems.extend(Problem::all(task).into_iter().map(|problem| (number, problem)));
    }
    let loaded: Vec<Problem> = problems.iter().map(|(_, problem)| problem.clone()).collect();
    let source = Source::from_vec(programs, loaded);
    let mut progress = Progress::new(progress, problems.len());
    let mut interrupt = Interrupt::new();
    let mut calls: Vec<Option<Vec<Call>>> = Vec::new();
    calls.resize_with(problems.len(), || None);
    let mut failed: Option<String> = None;
    let finish = Arc::new(swathe::AsSolved(Arc::clone(programs)));
    let report = swathe::run_finishing(&finish, &source, engine, &mut |delivery| {
        if let Delivery::Done(done) = delivery {
            match done.outcome {
                Outcome::Solved(solved) => calls[done.index] = Some(solved),
                other => {
                    let (_, problem) = &problems[done.index];
                    let message = other.message().unwrap_or_default();
                    failed.get_or_insert(format!("task {}: {message}", problem.task.name));
                }
            }
            if let Err(error) = progress.step() {
                interrupt.raise(error);
            }
        }
        match interrupt.is_due() || failed.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    interrupt.finish()?;
    let ended_by = report.ended_by.map(|cause| cause.to_string());
    if let Some(message) = failed.or(ended_by) {
        return Err(pyo3::exceptions::PyRuntimeError::new_err(message));
    }
    let mut table = CallTable {
        report: serde_json::to_string(&report).unwrap_or_default(),
        ..CallTable::default()
    };
    for ((task, problem), calls) in problems.iter().zip(&calls) {
        for call in calls.iter().flatten() {
            table.push(*task, problem, call);
        }
    }
    Ok(table)
}

/// One primitive with these arguments, for each of many first arguments.
#[pyfunction]
pub(crate) fn call_primitive<'py>(
    py: Python<'py>,
    name: &str,
    firsts: &Bound<'py, PyAny>,
    rest: &Bound<'py, PyTuple>,
    ordered: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    no_panic(|| {
        let function = primitive(name)
            .ok_or_else(|| PyValueError::new_err(format!("there is no primitive '{name}'")))?;
        set_order(Order::Cpython);
        let mut reader = Reader::new(ordered);
        let rest: Vec<_> = rest.iter().map(|item| reader.value(&item)).collect::<PyResult<_>>()?;
        let mut results = Vec::new();
        for (number, first) in firsts.try_iter()?.enumerate() {
            py.check_signals()?;
            let first = reader.clone().value(&first?)?;
            let arguments: Vec<_> = std::iter::once(first).chain(rest.iter().cloned()).collect();
            let result = call_within(Limits::default(), &function, &arguments);
            let result =
                result.map_err(|fault| error_of(fault, &format!("{name} of grid {number}")))?;
            results.push(to_python(py, &result, ordered, None)?);
        }
        Ok(results)
    })
}
