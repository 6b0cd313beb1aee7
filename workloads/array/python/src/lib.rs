//! Array operations for Python: lists of arrays in, lists of arrays out, no files.

mod small_products;

use std::collections::BTreeMap;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyModule;
use swathe::{Cpu, DeviceKind, Outcome, Stop, Workload as _, solve_slice};
use swathe_array::{
    Array, ArrayWorkload, Elements, Item, Key, MapKind, MapOperand, Operation, volume,
};
use swathe_python::{ArrayView, ElementType, interruptible, submodule};

/// Adds `swathe._swathe.array`.
///
/// # Errors
/// If Python refuses to create the module.
pub fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    submodule(parent, "array", |module| {
        module.add_function(wrap_pyfunction!(products, module)?)?;
        module.add_function(wrap_pyfunction!(hidden, module)?)?;
        module.add_function(wrap_pyfunction!(mapped, module)?)
    })
}

/// What a call returns: the results in order (`None` for what failed), and the failures.
type Results<'py> = (Vec<Option<Bound<'py, PyAny>>>, Vec<(usize, String)>);

/// The product of every pair of arrays, by the rules of `numpy.matmul`.
#[pyfunction]
fn products<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
) -> PyResult<Results<'py>> {
    let (first, second) = (listed(first)?, listed(second)?);
    if let Some(products) = small_products::small_products(py, &first, &second)? {
        return Ok((products, Vec::new()));
    }
    let (first, second) = (arrays_of(&first, "a")?, arrays_of(&second, "b")?);
    let products = solved(py, Operation::Matmul, paired(&first, &second)?)?;
    results(py, products)
}

/// Every array XORed with the numbers of a key, the stream of a seed, or an array of its own.
#[pyfunction]
#[pyo3(signature = (items, key, seed))]
fn hidden<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyAny>,
    key: Option<Vec<u64>>,
    seed: Option<u64>,
) -> PyResult<Results<'py>> {
    let items = arrays(items, "item")?;
    let key = match (key, seed) {
        (Some(numbers), None) => Key::Numbers(std::sync::Arc::new(numbers)),
        (None, Some(seed)) => Key::Seed(seed),
        _ => return Err(PyValueError::new_err("give either key or seed")),
    };
    let hidden = solved(py, Operation::Xor(key), alone(&items))?;
    results(py, hidden)
}

/// Every element of every array, mapped.
#[pyfunction]
#[pyo3(signature = (name, items, operand, second))]
fn mapped<'py>(
    py: Python<'py>,
    name: &str,
    items: &Bound<'py, PyAny>,
    operand: Option<f64>,
    second: Option<Bound<'py, PyAny>>,
) -> PyResult<Results<'py>> {
    let items = arrays(items, "item")?;
    let second = second.map(|second| arrays(&second, "operand")).transpose()?;
    let operand = match (operand, &second) {
        (Some(x), _) => Some(MapOperand::Scalar(x)),
        (None, Some(_)) => Some(MapOperand::Second),
        (None, None) => None,
    };
    let kind = map_kind(name, operand)?;
    let items = match &second {
        Some(second) => paired(&items, second)?,
        None => alone(&items),
    };
    let mapped = solved(py, Operation::Map(kind), items)?;
    results(py, mapped)
}

/// Solves items on all cores. Ctrl-C ends what takes long between two items.
fn solved(
    py: Python<'_>,
    operation: Operation,
    mut items: Vec<Item<&Array>>,
) -> PyResult<Vec<Result<Array, String>>> {
    /// Fewer elements take less time than starting a thread.
    const N_ELEMENTS_QUICK: usize = 1 << 20;
    let workload: ArrayWorkload<&Array> = ArrayWorkload::new(operation);
    let too_large = too_large(&workload, &items);
    let mut number = 0..items.len();
    items.retain(|_| number.next().is_some_and(|number| !too_large.contains_key(&number)));
    let n_elements = items.iter().map(|item| {
        let n_of = |array: &Array| volume(array.shape()).unwrap_or(0);
        n_of(item.first) + item.second.map_or(0, n_of)
    });
    let is_quick = n_elements.sum::<usize>() < N_ELEMENTS_QUICK;
    let work = |stop: &Stop| solve_slice(&workload, &items, 0, stop);
    let outcomes = match is_quick {
        true => py.detach(|| work(&Stop::new())),
        false => interruptible(py, work)?,
    };
    let answers = outcomes.into_iter().map(|outcome| match outcome {
        Outcome::Solved(answer) => Ok(Ok(answer.array)),
        Outcome::Failed(failure) => Ok(Err(failure.to_string())),
        other => Err(PyRuntimeError::new_err(other.message().unwrap_or_default())),
    });
    let mut answers: Vec<Result<Array, String>> = answers.collect::<PyResult<_>>()?;
    for (number, message) in too_large {
        answers.insert(number, Err(message));
    }
    Ok(answers)
}

/// The items whose results do not fit in memory, and why: without inner extents a product of empty
/// matrices has any size.
fn too_large(workload: &ArrayWorkload<&Array>, items: &[Item<&Array>]) -> BTreeMap<usize, String> {
    /// What is always there. Looking for more takes longer than small items.
    const SMALL_BYTES: u64 = 64 << 20;
    let mut free_bytes = None;
    let mut too_large = BTreeMap::new();
    for (number, item) in items.iter().enumerate() {
        let wanted_bytes = workload.need(&workload.size(item), DeviceKind::Cpu).solution_bytes;
        if wanted_bytes <= SMALL_BYTES {
            continue;
        }
        let free_bytes = *free_bytes.get_or_insert_with(|| Cpu::detect().memory_available_bytes);
        if wanted_bytes > free_bytes {
            let second = item.second.map(|second| format!(" and {:?}", second.shape()));
            let message = format!(
                "the result of shapes {:?}{} takes {wanted_bytes} bytes, and {free_bytes} bytes of memory are free",
                item.first.shape(),
                second.unwrap_or_default()
            );
            too_large.insert(number, message);
        }
    }
    too_large
}

/// Items of one operand.
fn alone(items: &[Array]) -> Vec<Item<&Array>> {
    let item = |first| Item { first, second: None };
    items.iter().map(item).collect()
}

fn map_kind(name: &str, operand: Option<MapOperand>) -> PyResult<MapKind> {
    let plain = match (name, operand) {
        ("add", Some(operand)) => return Ok(MapKind::Add(operand)),
        ("multiply", Some(operand)) => return Ok(MapKind::Multiply(operand)),
        ("add" | "multiply", None) => {
            return Err(PyValueError::new_err(format!(
                "'{name}' needs an operand: a number, or a list of arrays"
            )));
        }
        ("square", None) => MapKind::Square,
        ("sqrt", None) => MapKind::Sqrt,
        ("exp", None) => MapKind::Exp,
        ("log", None) => MapKind::Log,
        ("abs", None) => MapKind::Abs,
        ("negate", None) => MapKind::Negate,
        ("square" | "sqrt" | "exp" | "log" | "abs" | "negate", Some(_)) => {
            return Err(PyValueError::new_err(format!("'{name}' takes no operand")));
        }
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no map '{name}'; there are add, multiply, square, sqrt, exp, log, abs and negate"
            )));
        }
    };
    Ok(plain)
}

/// Pairs of equal places; a list of one serves for all.
fn paired<'a>(first: &'a [Array], second: &'a [Array]) -> PyResult<Vec<Item<&'a Array>>> {
    let item = |(first, second)| Item { first, second: Some(second) };
    match (first, second) {
        (_, [only]) => Ok(first.iter().map(|a| item((a, only))).collect()),
        _ if first.len() == second.len() => Ok(first.iter().zip(second).map(item).collect()),
        _ => Err(PyValueError::new_err(format!(
            "there are {} arrays on the left and {} on the right",
            first.len(),
            second.len()
        ))),
    }
}

fn listed<'py>(items: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    items.try_iter()?.collect()
}

fn arrays(items: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Array>> {
    arrays_of(&listed(items)?, what)
}

fn arrays_of(items: &[Bound<'_, PyAny>], what: &str) -> PyResult<Vec<Array>> {
    let array = |(number, item): (usize, &Bound<'_, PyAny>)| {
        let what = || format!("{what} {number}");
        owned(&ArrayView::new(item, what)?, &what)
    };
    items.iter().enumerate().map(array).collect()
}

/// The array's elements, copied once.
fn owned(view: &ArrayView, what: &dyn Fn() -> String) -> PyResult<Array> {
    let Some(bytes) = view.bytes() else {
        // NumPy gathers strided elements; that copy is the one that is taken.
        return Python::attach(|py| {
            let numpy = py.import("numpy")?;
            let dense = numpy.call_method1("ascontiguousarray", (view.owner(),))?;
            owned(&ArrayView::new(&dense, what)?, what)
        });
    };
    macro_rules! elements {
        ($variant:ident, $type:ty) => {{
            let chunks = bytes.as_chunks::<{ size_of::<$type>() }>().0.iter();
            Elements::$variant(chunks.map(|chunk| <$type>::from_ne_bytes(*chunk)).collect())
        }};
    }
    let elements = match view.element() {
        ElementType::Bool | ElementType::U8 => Elements::U8(bytes.to_vec()),
        ElementType::U16 => elements!(U16, u16),
        ElementType::U32 => elements!(U32, u32),
        ElementType::U64 => elements!(U64, u64),
        ElementType::I8 => elements!(I8, i8),
        ElementType::I16 => elements!(I16, i16),
        ElementType::I32 => elements!(I32, i32),
        ElementType::I64 => elements!(I64, i64),
        ElementType::F32 => elements!(F32, f32),
        ElementType::F64 => elements!(F64, f64),
    };
    let array = Array::new(view.shape().to_vec(), elements);
    array.map_err(|error| PyValueError::new_err(format!("{}: {error}", what())))
}

fn results<'py>(py: Python<'py>, results: Vec<Result<Array, String>>) -> PyResult<Results<'py>> {
    let mut arrays = Vec::with_capacity(results.len());
    let mut failures = Vec::new();
    for (number, result) in results.into_iter().enumerate() {
        match result {
            Ok(array) => arrays.push(Some(to_python(py, array)?)),
            Err(failure) => {
                failures.push((number, failure));
                arrays.push(None);
            }
        }
    }
    Ok((arrays, failures))
}

/// The array without a copy of its elements.
fn to_python(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    use numpy::{IxDyn, PyArray1, PyArrayMethods as _};
    let (shape, elements) = array.into_parts();
    let shape = IxDyn(&shape);
    macro_rules! wrap {
        ($($variant:ident),*) => {
            match elements {
                $(Elements::$variant(values) => {
                    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any())
                })*
            }
        };
    }
    wrap!(U8, U16, U32, U64, I8, I16, I32, I64, F32, F64)
}
