//! Generated `batt` files: their function, called on many samples at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use swathe::Stop;
use swathe_arc::{
    Evaluator, Fault, Grid, Inputs, Library, Limits, Order, Program, RowList, Sample, Value, parse,
};
use swathe_python::{interruptible, no_panic};

use crate::convert::{grid, to_python};

/// The rows of a `batt` function, merged.
#[pyclass(frozen, module = "swathe._swathe.arc")]
pub(crate) struct RawBatt {
    /// The rows of `o`, then those of `s`.
    library: Library,
    rows: Vec<Row>,
    rejected: Vec<String>,
}

/// What a row has beside its value.
struct Row {
    number: u32,
    task: String,
    list: RowList,
}

/// The demonstrations of one call, its input and the expected output.
struct Arguments {
    samples: Arc<Vec<Sample>>,
    input: Grid,
    expected: Option<Grid>,
}

#[pymethods]
impl RawBatt {
    /// Parses the function of a file's text.
    #[new]
    fn new(py: Python<'_>, file: String, text: String) -> PyResult<RawBatt> {
        let parsed = no_panic(|| Ok(py.detach(|| parse(&file, &text))))?;
        let rejected: Vec<String> = parsed.errors.iter().map(ToString::to_string).collect();
        let programs: Vec<Program> = parsed.programs.into_iter().chain(parsed.differs).collect();
        let rows: Option<Vec<Row>> = programs.iter().map(Row::of).collect();
        match rows {
            Some(rows) if !rows.is_empty() => {
                Ok(RawBatt { library: Library::new(programs), rows, rejected })
            }
            _ => Err(PyValueError::new_err(match rejected.first() {
                Some(first) => format!("no row of {file} can be used: {first}"),
                None => format!("{file} has no function batt(task_id, S, I, C, log_path)"),
            })),
        }
    }

    /// Rows that cannot be used, with the place that is wrong.
    #[getter]
    fn rejected(&self) -> Vec<String> {
        self.rejected.clone()
    }

    /// What the function returns for each of many arguments, on this many threads: None where it would end with an
    /// exception, and for each of these the number, the kind and the message.
    fn batch(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyList>,
        n_threads: usize,
        ordered: Py<PyAny>,
        function: Py<PyAny>,
    ) -> PyResult<Returned> {
        let arguments = read_arguments(arguments)?;
        let makers = Makers { ordered, function };
        no_panic(|| interruptible(py, |stop| self.call_all(&arguments, n_threads, &makers, stop))?)
    }
}

/// The lists of each call, and the calls without any: number, kind, message.
type Returned = (Vec<Option<Py<PyTuple>>>, Vec<(usize, &'static str, String)>);

/// The lists of one call, or why it has none.
type CallResult = Result<Py<PyTuple>, Fault>;

/// Python's classes for values that it has no class for.
struct Makers {
    ordered: Py<PyAny>,
    function: Py<PyAny>,
}

impl Row {
    fn of(program: &Program) -> Option<Row> {
        let row = program.row.as_ref()?;
        Some(Row {
            number: row.number,
            task: row.task.clone().unwrap_or_else(|| "None".to_owned()),
            list: row.list.clone(),
        })
    }
}

/// Reads `(S, I, C)` for each call. Demonstrations that are one object in Python are read once.
fn read_arguments(arguments: &Bound<'_, PyList>) -> PyResult<Vec<Arguments>> {
    let mut before: Option<(Bound<'_, PyAny>, Arc<Vec<Sample>>)> = None;
    let mut read = Vec::with_capacity(arguments.len());
    for call in arguments {
        let (pairs, input, expected): (Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>) =
            call.extract()?;
        let samples = match &before {
            Some((object, samples)) if object.is(&pairs) => Arc::clone(samples),
            _ => Arc::new(read_samples(&pairs)?),
        };
        before = Some((pairs, Arc::clone(&samples)));
        read.push(Arguments {
            samples,
            input: grid(&input)?,
            expected: match expected.is_none() {
                true => None,
                false => Some(grid(&expected)?),
            },
        });
    }
    Ok(read)
}

fn read_samples(pairs: &Bound<'_, PyAny>) -> PyResult<Vec<Sample>> {
    let pairs = pairs.try_iter()?.map(|pair| {
        let (input, output): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
        Ok(Sample { input: grid(&input)?, output: Some(grid(&output)?) })
    });
    pairs.collect()
}

impl RawBatt {
    fn call_all(
        &self,
        arguments: &[Arguments],
        n_threads: usize,
        makers: &Makers,
        stop: &Stop,
    ) -> PyResult<Returned> {
        let next = AtomicUsize::new(0);
        let work = || -> PyResult<Vec<(usize, CallResult)>> {
            let mut evaluator = Evaluator::new(&self.library, Order::Cpython, Limits::default());
            evaluator.watch(stop);
            let mut task: Option<&Arc<Vec<Sample>>> = None;
            let mut made = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(call) = arguments.get(number).filter(|_| !stop.requested()) else {
                    return Ok(made);
                };
                if !task.is_some_and(|before| Arc::ptr_eq(before, &call.samples)) {
                    evaluator.start_task(&call.samples);
                    task = Some(&call.samples);
                }
                let inputs = Inputs { input: &call.input, expected: call.expected.as_ref() };
                let mut values: Vec<Value> = Vec::with_capacity(self.rows.len());
                let mut failed: Option<Fault> = None;
                evaluator.run(inputs, |_, result| match result {
                    Ok(value) => values.push(value.clone()),
                    Err(&fault) => {
                        failed.get_or_insert(fault);
                    }
                });
                let lists = match failed {
                    Some(failed) => Err(failed),
                    None => Ok(Python::attach(|py| self.lists(py, &values, makers))?),
                };
                made.push((number, lists));
            }
        };
        let n_threads = n_threads.clamp(1, arguments.len().max(1));
        let made = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
            let made = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            made.collect::<PyResult<Vec<_>>>()
        })?;
        let mut lists: Vec<Option<Py<PyTuple>>> = Vec::new();
        lists.resize_with(arguments.len(), || None);
        let mut failures = Vec::new();
        for (number, made) in made.into_iter().flatten() {
            match made {
                Ok(made) => lists[number] = Some(made),
                Err(fault) => failures.push((number, fault.name(), message(fault))),
            }
        }
        failures.sort_unstable_by_key(|(number, ..)| *number);
        Ok((lists, failures))
    }

    /// `(o, s)`.
    fn lists(&self, py: Python<'_>, values: &[Value], makers: &Makers) -> PyResult<Py<PyTuple>> {
        let (o, s) = (PyList::empty(py), PyList::empty(py));
        let (ordered, function) = (makers.ordered.bind(py), makers.function.bind(py));
        for (row, value) in self.rows.iter().zip(values) {
            let value = to_python(py, value, ordered, Some(function))?;
            match &row.list {
                RowList::Candidates { is_altered } => {
                    o.append((row.number, *is_altered, &row.task, value))?;
                }
                RowList::Differs { differ } => s.append((row.number, &row.task, differ, value))?,
            }
        }
        Ok(PyTuple::new(py, [o, s])?.unbind())
    }
}

/// Why a call has no lists.
fn message(fault: Fault) -> String {
    match fault {
        Fault::Timeout => "the function used up its work limit".to_owned(),
        Fault::Memory => "the function used up its memory limit".to_owned(),
        fault => format!("the function raised {}", fault.name()),
    }
}
