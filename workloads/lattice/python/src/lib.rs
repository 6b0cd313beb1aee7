//! Lattices for Python.

use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use swathe::{Outcome, Stop, solve_slice};
use swathe_lattice::{
    Answer, Lattice, LatticeError, LatticeWorkload, Operation, PathAnswer, Query,
};
use swathe_lattice_program::lattice_row::Structure;
use swathe_python::{figures, interruptible, submodule};

/// Adds `swathe._swathe.lattice`.
///
/// # Errors
/// If Python refuses to create the module.
pub fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    submodule(parent, "lattice", |module| {
        module.add_class::<RawLattice>()?;
        module.add_function(wrap_pyfunction!(answers, module)?)
    })
}

/// A lattice, built.
#[pyclass(frozen, module = "swathe._swathe.lattice")]
#[derive(Clone)]
struct RawLattice {
    lattice: Arc<Lattice>,
}

#[pymethods]
impl RawLattice {
    /// `sizes` vertices along each axis; `blocked` are ids.
    #[new]
    fn new(sizes: Vec<u32>, blocked: Vec<u64>) -> PyResult<RawLattice> {
        let open = Lattice::new(&sizes).map_err(wrong)?;
        let lattice = open.with_blocked(blocked).map_err(wrong)?;
        Ok(RawLattice { lattice: Arc::new(lattice) })
    }

    /// The id of a vertex.
    fn vertex_at(&self, coordinates: Vec<u32>) -> PyResult<u64> {
        self.lattice.vertex_at(&coordinates).map_err(wrong)
    }

    /// The coordinates of a vertex.
    fn coordinates_of(&self, vertex: u64) -> PyResult<Vec<u32>> {
        self.lattice.coordinates_of(vertex).map_err(wrong)
    }

    #[getter]
    fn sizes(&self) -> Vec<u32> {
        self.lattice.sizes().to_vec()
    }

    #[getter]
    fn n_vertices(&self) -> u128 {
        self.lattice.n_vertices()
    }

    #[getter]
    fn n_blocked(&self) -> u64 {
        self.lattice.n_blocked()
    }
}

fn wrong(error: LatticeError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An answer, or the text of its failure.
type Answered<'py> = (Option<Bound<'py, PyDict>>, Option<String>);

/// Answers questions about lattices, on all cores. `ends` are the vertices that each question
/// names. Returns an answer or the text of its failure for each.
#[pyfunction]
fn answers<'py>(
    py: Python<'py>,
    op: &str,
    lattices: Vec<PyRef<'py, RawLattice>>,
    ends: Vec<(u64, u64)>,
    threads: usize,
) -> PyResult<Vec<Answered<'py>>> {
    let operation = |(from, to): (u64, u64)| match op {
        "analyze" => Ok(Operation::Analyze),
        "path" => Ok(Operation::Path { from, to }),
        "layers" => Ok(Operation::Layers { from, with_distances: false }),
        "distances" => Ok(Operation::Layers { from, with_distances: true }),
        other => Err(PyValueError::new_err(format!("there is no question '{other}'"))),
    };
    let queries: Vec<Query> = lattices
        .iter()
        .zip(ends)
        .map(|(lattice, ends)| {
            Ok(Query { lattice: Arc::clone(&lattice.lattice), operation: operation(ends)? })
        })
        .collect::<PyResult<_>>()?;
    drop(lattices);
    /// Fewer vertices take less time than starting a thread.
    const N_VERTICES_QUICK: u128 = 1 << 16;
    let n_vertices = queries.iter().map(|query| query.lattice.n_vertices());
    let is_quick = n_vertices.fold(0, u128::saturating_add) < N_VERTICES_QUICK;
    let work = |stop: &Stop| solve_slice(&LatticeWorkload, &queries, threads, stop);
    let outcomes = match is_quick {
        true => py.detach(|| work(&Stop::new())),
        false => interruptible(py, work)?,
    };
    let answers = outcomes.into_iter().map(|outcome| match outcome {
        Outcome::Solved(answer) => Ok((Some(described(py, &answer)?), None)),
        Outcome::Panicked { message } => Err(PyRuntimeError::new_err(message)),
        other => Ok((None, Some(other.message().unwrap_or_default()))),
    });
    answers.collect()
}

fn described<'py>(py: Python<'py>, answer: &Answer) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    match answer {
        Answer::Analysis(analysis) => return figures(py, &Structure::of(analysis)),
        Answer::Path(PathAnswer::Found(path)) => dict.set_item("path", path)?,
        Answer::Path(_) => dict.set_item("path", py.None())?,
        Answer::Layers(layers) => {
            dict.set_item("counts", &layers.counts)?;
            dict.set_item("n_unreachable", layers.n_unreachable)?;
            dict.set_item("distances", &layers.distances)?;
        }
    }
    Ok(dict)
}
