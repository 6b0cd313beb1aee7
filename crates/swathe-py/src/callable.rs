//! A workload that is a function of the user's: Python solves, the engine batches, halves batches
//! that do not fit in memory, isolates what fails, and keeps to the budget.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use swathe::{
    Delivery, Device, DeviceKind, GpuError, Host, Lane, Need, Outcome, Padding, Routing, Settings,
    Shape, Size, Source, Stop, Workload,
};
use swathe_python::{FolderRun, Interrupt, Progress, Shard, engine_settings};
use swathe_run::store::value_rows::ValueRows;

use crate::callable_rows::{Fingerprint, KIND, Pickling};

/// A stop that another thread can request.
#[pyclass(frozen, module = "swathe._swathe")]
pub(crate) struct StopHandle(Stop);

#[pymethods]
impl StopHandle {
    #[new]
    fn new() -> StopHandle {
        StopHandle(Stop::new())
    }

    /// Ends the call that has this handle.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// What is known of the items before they are solved: their shapes, padded to their buckets, and the
/// bytes that each takes.
pub(crate) struct Callable {
    /// A function of the numbers of some items that returns a result for each.
    solve: Py<PyAny>,
    shapes: Vec<Shape>,
    /// Items of different classes, which are element types, never share a batch.
    classes: Vec<u32>,
    bytes: Vec<u64>,
    /// The most that an item of each shape takes: the engine asks for every item.
    bytes_by_shape: BTreeMap<Shape, u64>,
    is_batched: bool,
    /// The number of the first item: not 0 in a shard. Numbers of problems are those of the whole.
    first: usize,
}

/// Why an item has no result: the exception as text.
#[derive(Clone, Debug)]
pub(crate) struct Raised(pub(crate) String);

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// How a call of the user's function failed.
enum CallError {
    OutOfMemory,
    /// An item may be to blame.
    Raised(String),
    /// The function itself is to blame.
    Wrong(String),
}

impl Callable {
    fn call(&self, numbers: &[usize]) -> Result<Vec<Py<PyAny>>, CallError> {
        let own: Vec<usize> = numbers.iter().map(|number| number - self.first).collect();
        Python::attach(|py| {
            let raised = |error: PyErr| {
                let is_memory = error.is_instance_of::<PyMemoryError>(py)
                    || error.value(py).hasattr("_swathe_out_of_memory").unwrap_or(false);
                let is_wrong = || error.value(py).hasattr("_swathe_whole_batch").unwrap_or(false);
                match is_memory {
                    true => CallError::OutOfMemory,
                    false if is_wrong() => CallError::Wrong(described(py, &error)),
                    false => CallError::Raised(described(py, &error)),
                }
            };
            let results = self.solve.call1(py, (own,)).map_err(raised)?;
            let results: Vec<Py<PyAny>> = results.extract(py).map_err(raised)?;
            match results.len() == numbers.len() {
                true => Ok(results),
                false => Err(CallError::Wrong(format!(
                    "the function returned {} results for {} items",
                    results.len(),
                    numbers.len()
                ))),
            }
        })
    }

    /// A batch that raises is halved until the item that does it is alone.
    fn bisect(
        &self,
        numbers: &[usize],
        lanes: &mut Vec<Lane<Py<PyAny>, Raised>>,
    ) -> Result<(), ()> {
        match self.call(numbers) {
            Ok(results) => lanes.extend(results.into_iter().map(|one| Lane::Done(Ok(one)))),
            Err(CallError::OutOfMemory) => return Err(()),
            Err(CallError::Wrong(message)) => {
                let failed = numbers.iter().map(|_| Lane::Done(Err(Raised(message.clone()))));
                lanes.extend(failed);
            }
            Err(CallError::Raised(message)) if numbers.len() == 1 => {
                lanes.push(Lane::Done(Err(Raised(message))));
            }
            Err(CallError::Raised(_)) => {
                let (first, second) = numbers.split_at(numbers.len() / 2);
                self.bisect(first, lanes)?;
                self.bisect(second, lanes)?;
            }
        }
        Ok(())
    }
}

fn described(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).name().map(|name| name.to_string());
    format!("{}: {}", name.unwrap_or_default(), error.value(py))
}

impl Workload for Callable {
    type Problem = usize;
    type Solution = Py<PyAny>;
    type Failure = Raised;
    type Scratch = ();
    type Local = ();
    const NAME: &'static str = "run";

    fn size(&self, number: &usize) -> Size {
        let own = *number - self.first;
        Size { class: self.classes[own], ..Size::of(self.shapes[own]) }
    }

    fn need(&self, size: &Size, _: DeviceKind) -> Need {
        Need {
            lane_bytes: self.bytes_by_shape.get(&size.shape).copied().unwrap_or(0),
            ..Need::default()
        }
    }

    fn scratch(&self) {}

    fn local(&self) {}

    fn solve(&self, number: &usize, _: &mut (), _: &mut (), _: &Stop) -> Result<Py<PyAny>, Raised> {
        match self.call(&[*number]) {
            Ok(mut results) => Ok(results.remove(0)),
            Err(CallError::Raised(message) | CallError::Wrong(message)) => Err(Raised(message)),
            Err(CallError::OutOfMemory) => {
                Err(Raised("MemoryError: it does not fit alone".to_owned()))
            }
        }
    }

    fn launch_form(&self, size: &Size) -> Option<Shape> {
        self.is_batched.then_some(size.shape)
    }

    fn launch(
        &self,
        _: &Device,
        _: Shape,
        problems: &[&usize],
        _: &Stop,
    ) -> Result<Vec<Lane<Py<PyAny>, Raised>>, GpuError> {
        let numbers: Vec<usize> = problems.iter().map(|number| **number).collect();
        let mut lanes = Vec::with_capacity(numbers.len());
        match self.bisect(&numbers, &mut lanes) {
            Ok(()) => Ok(lanes),
            Err(()) => Err(GpuError::OutOfMemory {
                wanted_bytes: numbers.iter().map(|&number| self.bytes[number - self.first]).sum(),
                free_bytes: 0,
            }),
        }
    }
}

/// The most axes that an item can have.
#[pyfunction]
pub(crate) fn n_axes_max() -> usize {
    Shape::N_EXTENTS_MAX
}

/// The most bytes that a batch may take.
#[pyfunction]
pub(crate) fn batch_bytes_max(engine: &Bound<'_, PyDict>) -> PyResult<u64> {
    Ok(launch_bytes_max(&engine_settings(engine, false)?))
}

/// Half of the memory: the results of a batch wait while the next one is solved.
fn launch_bytes_max(settings: &Settings) -> u64 {
    settings.memory.cap_bytes() / 2
}

/// For each shape the bucket it is padded to: at most `n` of them for each class and number of axes,
/// with the least padding.
#[pyfunction]
pub(crate) fn shape_buckets(
    shapes: Vec<Vec<u32>>,
    classes: Vec<u32>,
    n: usize,
) -> PyResult<Vec<Vec<u32>>> {
    let sizes = shapes_of(&shapes)?.into_iter().zip(classes).enumerate();
    let sizes: Vec<(usize, u32, Shape)> =
        sizes.map(|(number, (shape, class))| (number, class, shape)).collect();
    let padding = Padding::Auto { n_buckets_max: n.max(1) };
    let mut padded = shapes.clone();
    for bucket in swathe::bucket(&sizes, &padding).0 {
        for number in bucket.problems {
            padded[number] = bucket.shape.extents().to_vec();
        }
    }
    Ok(padded)
}

fn shapes_of(shapes: &[Vec<u32>]) -> PyResult<Vec<Shape>> {
    let shape = |(number, extents): (usize, &Vec<u32>)| match extents.len() {
        0..=Shape::N_EXTENTS_MAX => Ok(Shape::new(extents)),
        n => Err(PyValueError::new_err(format!(
            "item {number}: its shape has {n} axes; it can have {}",
            Shape::N_EXTENTS_MAX
        ))),
    };
    shapes.iter().enumerate().map(shape).collect()
}

/// An item that failed: its number, the kind of failure and the message.
type FailedItem = (usize, String, String);

/// Results in order, failures, milliseconds of each item, and the report as JSON.
type Ran = (Vec<Option<Py<PyAny>>>, Vec<FailedItem>, Vec<f64>, String);

/// A call of a user's function over many items, before it runs.
struct CallableRun {
    callable: Arc<Callable>,
    settings: Settings,
    /// The items of this call, by their number in the whole.
    items: Range<usize>,
}

impl CallableRun {
    #[expect(clippy::too_many_arguments, reason = "what Python knows of the items stands in lists")]
    fn new(
        solve: Py<PyAny>,
        shapes: &[Vec<u32>],
        classes: Vec<u32>,
        bytes: Vec<u64>,
        is_batched: bool,
        engine: &Bound<'_, PyDict>,
        stop: &StopHandle,
        first: usize,
    ) -> PyResult<CallableRun> {
        let mut settings = engine_settings(engine, false)?;
        settings.stop = stop.0.clone();
        settings.padding = Padding::Exact;
        if is_batched {
            settings.routing = Routing::Launch;
            settings.devices = vec![Device::Host(Host {
                number: 0,
                launch_bytes_max: Some(launch_bytes_max(&settings)),
            })];
        }
        let shapes = shapes_of(shapes)?;
        let mut bytes_by_shape: BTreeMap<Shape, u64> = BTreeMap::new();
        for (shape, bytes) in shapes.iter().zip(&bytes) {
            let largest = bytes_by_shape.entry(*shape).or_default();
            *largest = (*largest).max(*bytes);
        }
        let items = first..first + shapes.len();
        let callable =
            Arc::new(Callable { solve, shapes, classes, bytes, bytes_by_shape, is_batched, first });
        Ok(CallableRun { callable, settings, items })
    }

    /// The problems by their number in the whole; only those of this call are asked for.
    fn source(&self) -> Source<usize, Raised> {
        let callable = Arc::clone(&self.callable);
        Source::new(
            self.items.end,
            move |number| Ok(callable.size(&number)),
            |number, _| Ok(number),
        )
    }
}

/// Solves items with a function of the user's into a run folder.
#[pyfunction]
#[pyo3(signature = (solve, shapes, classes, bytes, is_batched, engine, progress, stop, *, out, resume, recorded, items, ids, shard, gives_up))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn run_callable_into(
    py: Python<'_>,
    solve: Py<PyAny>,
    shapes: Vec<Vec<u32>>,
    classes: Vec<u32>,
    bytes: Vec<u64>,
    is_batched: bool,
    engine: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
    stop: &StopHandle,
    out: PathBuf,
    resume: bool,
    recorded: BTreeMap<String, String>,
    items: &Fingerprint,
    ids: Option<Vec<String>>,
    shard: Option<(usize, usize, usize)>,
    gives_up: Option<String>,
) -> PyResult<()> {
    let shard = shard.map(|(number, n_shards, n_problems)| Shard { number, n_shards, n_problems });
    let first = shard.map_or(0, |shard| shard.problems().start);
    let run = CallableRun::new(solve, &shapes, classes, bytes, is_batched, engine, stop, first)?;
    let n_items = run.items.len();
    if shard.is_some_and(|shard| shard.problems() != run.items) {
        return Err(PyValueError::new_err("these are not the items of the shard"));
    }
    let recorded = recorded.into_iter();
    let folder = FolderRun {
        kind: &KIND,
        call: format!("swathe.run(…, out={:?})", out.display().to_string()),
        out,
        resume,
        settings: recorded.map(|(name, text)| (name, Value::String(text))).collect(),
        input: items.input(),
        shard,
        gives_up,
    };
    let finish = Arc::new(Pickling { callable: Arc::clone(&run.callable) });
    let source = run.source();
    let progress = Progress::new(progress, n_items);
    let rows = ValueRows::new(ids, first);
    folder.execute(py, &finish, &source, run.settings, rows, progress).map(drop)
}

/// Solves items with a function of the user's. With `deliver`, each outcome is passed to this
/// function as it comes and is not returned: its number, the result or `None`, and the kind and
/// message of the failure or `None`.
#[pyfunction]
#[pyo3(signature = (solve, shapes, classes, bytes, is_batched, engine, progress, stop, deliver=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn run_callable(
    py: Python<'_>,
    solve: Py<PyAny>,
    shapes: Vec<Vec<u32>>,
    classes: Vec<u32>,
    bytes: Vec<u64>,
    is_batched: bool,
    engine: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
    stop: &StopHandle,
    deliver: Option<Py<PyAny>>,
) -> PyResult<Ran> {
    let run = CallableRun::new(solve, &shapes, classes, bytes, is_batched, engine, stop, 0)?;
    let n_items = run.items.len();
    let mut progress = Progress::new(progress, n_items);
    py.detach(|| {
        let (callable, source, settings) = (&run.callable, run.source(), &run.settings);
        let finish = Arc::new(swathe::AsSolved(Arc::clone(callable)));
        let mut values: Vec<Option<Py<PyAny>>> = Vec::new();
        values.resize_with(n_items, || None);
        let (mut failures, mut times_ms) = (Vec::new(), vec![f64::NAN; n_items]);
        let mut interrupt = Interrupt::new();
        let report = swathe::run_finishing(&finish, &source, settings, &mut |delivery| {
            if let Delivery::Done(done) = delivery {
                times_ms[done.index] = done.took.as_secs_f64() * 1e3;
                let solved = match done.outcome {
                    Outcome::Solved(value) => Ok(value),
                    other => {
                        let message = other.message().unwrap_or_default();
                        Err((other.kind().name().to_owned(), message))
                    }
                };
                let taken = match (&deliver, solved) {
                    (Some(deliver), solved) => delivered(deliver, done.index, solved),
                    (None, Ok(value)) => {
                        values[done.index] = Some(value);
                        Ok(())
                    }
                    (None, Err((kind, message))) => {
                        failures.push((done.index, kind, message));
                        Ok(())
                    }
                };
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
        // A call that was cancelled leaves items without an outcome.
        let has_failed: std::collections::HashSet<usize> =
            failures.iter().map(|(number, ..)| *number).collect();
        for (number, value) in values.iter().enumerate() {
            if deliver.is_none() && value.is_none() && !has_failed.contains(&number) {
                let message = report.ended_by.map_or("cancelled".to_owned(), |c| c.to_string());
                failures.push((number, "cancelled".to_owned(), message));
            }
        }
        failures.sort();
        let report = serde_json::to_string(&report).unwrap_or_default();
        Ok((values, failures, times_ms, report))
    })
}

fn delivered(
    deliver: &Py<PyAny>,
    number: usize,
    solved: Result<Py<PyAny>, (String, String)>,
) -> PyResult<()> {
    Python::attach(|py| {
        match solved {
            Ok(value) => deliver.call1(py, (number, value, py.None())),
            Err(failure) => deliver.call1(py, (number, py.None(), failure)),
        }
        .map(drop)
    })
}
