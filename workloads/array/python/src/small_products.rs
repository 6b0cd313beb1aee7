//! Products of many small matrices, read and written where Python has them.
//!
//! A product of 16×16 takes a tenth of a microsecond. Copying its operands, starting threads or the
//! engine would take longer than all of them.

use numpy::{
    Element, PyArray2, PyArrayDescrMethods as _, PyArrayMethods as _, PyUntypedArray,
    PyUntypedArrayMethods as _,
};
use pyo3::prelude::*;
use swathe_array::matmul::{ProductShape, Scratch, matmul_into};
use swathe_array::{Float, Simd};

/// Multiplications up to which one thread is quicker than several: about a millisecond.
const N_MULTIPLY_MAX: usize = 10 << 20;

/// The products, if all operands are dense matrices of one float type that fit together and there is
/// little to multiply. `None` otherwise: then the general way names what is wrong.
pub(crate) fn small_products<'py>(
    py: Python<'py>,
    first: &[Bound<'py, PyAny>],
    second: &[Bound<'py, PyAny>],
) -> PyResult<Option<Vec<Option<Bound<'py, PyAny>>>>> {
    let kind = first.first().and_then(|array| {
        let dtype = array.cast::<PyUntypedArray>().ok()?.dtype();
        Some((dtype.kind(), dtype.itemsize()))
    });
    match kind {
        Some((b'f', 4)) => products_of::<f32>(py, first, second),
        Some((b'f', 8)) => products_of::<f64>(py, first, second),
        _ => Ok(None),
    }
}

/// A matrix of Python's.
struct Matrix<T> {
    data: *const T,
    n_rows: usize,
    n_cols: usize,
}

// SAFETY: the data are only read, while the caller holds the arrays. Python documents that an array
// must not be changed while a function works on it.
unsafe impl<T> Sync for Matrix<T> {}

/// A new matrix of Python's, to which there is no other reference yet.
struct NewMatrix<T>(*mut T);

// SAFETY: the array was just made, and the thread that fills it is the only one that knows it.
unsafe impl<T> Send for NewMatrix<T> {}

fn products_of<'py, T: Element + Float>(
    py: Python<'py>,
    first: &[Bound<'py, PyAny>],
    second: &[Bound<'py, PyAny>],
) -> PyResult<Option<Vec<Option<Bound<'py, PyAny>>>>> {
    let (Some(left), Some(right)) = (matrices::<T>(first), matrices::<T>(second)) else {
        return Ok(None);
    };
    let step = usize::from(right.len() != 1);
    if step == 1 && left.len() != right.len() {
        return Ok(None);
    }
    let shape = |number: usize| {
        let (a, b) = (&left[number], &right[number * step]);
        (a.n_cols == b.n_rows).then_some(ProductShape {
            n_rows: a.n_rows,
            n_inner: a.n_cols,
            n_cols: b.n_cols,
        })
    };
    let shapes: Option<Vec<ProductShape>> = (0..left.len()).map(shape).collect();
    let Some(shapes) = shapes else {
        return Ok(None);
    };
    let n_multiply = |shape: &ProductShape| {
        // Without inner extents there are still elements to write.
        let n = shape.n_rows.saturating_mul(shape.n_inner.max(1));
        n.saturating_mul(shape.n_cols)
    };
    let n_multiply = shapes.iter().map(n_multiply);
    if n_multiply.fold(0, usize::saturating_add) > N_MULTIPLY_MAX {
        return Ok(None);
    }
    let mut made = Vec::with_capacity(shapes.len());
    let mut filled = Vec::with_capacity(shapes.len());
    for shape in &shapes {
        // SAFETY: every element is written below before Python sees the array.
        let array = unsafe { PyArray2::<T>::new(py, [shape.n_rows, shape.n_cols], false) };
        filled.push(NewMatrix(array.data()));
        made.push(Some(array.into_any()));
    }
    let (left, right) = (&left, &right);
    let multiplied = py.detach(move || {
        let (mut scratch, simd) = (Scratch::new(), Simd::detect());
        for (number, (shape, out)) in shapes.iter().zip(filled).enumerate() {
            let (a, b) = (&left[number], &right[number * step]);
            // SAFETY: both are contiguous arrays with so many elements, which their owners hold.
            let (a, b) = unsafe {
                (
                    std::slice::from_raw_parts(a.data, shape.n_rows * shape.n_inner),
                    std::slice::from_raw_parts(b.data, shape.n_inner * shape.n_cols),
                )
            };
            // SAFETY: the array was made with so many elements, and only this thread has it.
            let out = unsafe { std::slice::from_raw_parts_mut(out.0, shape.n_rows * shape.n_cols) };
            matmul_into(a, b, out, *shape, &mut scratch, simd)?;
        }
        Ok::<(), swathe_array::matmul::MatmulError>(())
    });
    match multiplied {
        Ok(()) => Ok(Some(made)),
        // The general way says the same in its own words.
        Err(_) => Ok(None),
    }
}

/// The arrays as contiguous matrices of this type; `None` if one is something else: a subclass of
/// NumPy's array may have more than its elements.
fn matrices<T: Element>(arrays: &[Bound<'_, PyAny>]) -> Option<Vec<Matrix<T>>> {
    let matrix = |array: &Bound<'_, PyAny>| {
        let array = array.cast::<PyArray2<T>>().ok()?;
        if !array.is_exact_instance_of::<PyUntypedArray>() {
            return None;
        }
        let dims = array.shape();
        array.is_c_contiguous().then(|| Matrix {
            data: array.data().cast_const(),
            n_rows: dims[0],
            n_cols: dims[1],
        })
    };
    arrays.iter().map(matrix).collect()
}
