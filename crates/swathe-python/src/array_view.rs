//! Arrays of Python, read where they are.

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// `bool`: a byte, 0 or 1.
    Bool,
    /// `uint8`.
    U8,
    /// `uint16`.
    U16,
    /// `uint32`.
    U32,
    /// `uint64`.
    U64,
    /// `int8`.
    I8,
    /// `int16`.
    I16,
    /// `int32`.
    I32,
    /// `int64`.
    I64,
    /// `float32`.
    F32,
    /// `float64`.
    F64,
}

impl ElementType {
    fn of(kind: u8, n_bytes: usize) -> Option<ElementType> {
        Some(match (kind, n_bytes) {
            (b'b', 1) => ElementType::Bool,
            (b'u', 1) => ElementType::U8,
            (b'u', 2) => ElementType::U16,
            (b'u', 4) => ElementType::U32,
            (b'u', 8) => ElementType::U64,
            (b'i', 1) => ElementType::I8,
            (b'i', 2) => ElementType::I16,
            (b'i', 4) => ElementType::I32,
            (b'i', 8) => ElementType::I64,
            (b'f', 4) => ElementType::F32,
            (b'f', 8) => ElementType::F64,
            _ => return None,
        })
    }
}

/// An array of real numbers that Python owns. It is kept alive and read in place, by any thread and
/// without the interpreter; its owner must not change it meanwhile.
#[derive(Debug)]
pub struct ArrayView {
    data: *const u8,
    element: ElementType,
    shape: Vec<usize>,
    /// Bytes from one element to the next along each axis.
    strides: Vec<isize>,
    owner: Py<PyAny>,
}

// SAFETY: the data are only read, and `owner` keeps them where they are. Python documents that an
// array must not be changed while a function works on it.
unsafe impl Send for ArrayView {}
// SAFETY: as above.
unsafe impl Sync for ArrayView {}

impl ArrayView {
    /// Takes a NumPy array as it is, without a copy, and anything else that NumPy can look at:
    /// `__array__`, `__dlpack__`, buffers, nested lists. `what` names it in errors.
    ///
    /// # Errors
    /// A `TypeError` if it is no array of real numbers in this machine's byte order, or if elements
    /// of it are masked: a mask would be lost.
    pub fn new(object: &Bound<'_, PyAny>, what: impl Fn() -> String) -> PyResult<ArrayView> {
        if is_masked(object, 0)? {
            return Err(PyTypeError::new_err(format!(
                "{}: some of its elements are masked, and masks of numpy.ma are not read; fill them with arr.filled(0), and pass ~numpy.ma.getmaskarray(arr) where the call takes a mask",
                what()
            )));
        }
        match object.cast::<PyUntypedArray>() {
            Ok(array) => Self::of_array(array, what),
            Err(_) => {
                let py = object.py();
                let numpy = py.import("numpy")?;
                let has = |name: &str| object.hasattr(name).unwrap_or(false);
                let made = match has("__dlpack__") && !has("__array__") {
                    true => numpy.call_method1("from_dlpack", (object,)),
                    false => numpy.call_method1("asarray", (object,)),
                };
                let made = made.map_err(|error| {
                    PyTypeError::new_err(format!("{}: it is no array: {error}", what()))
                })?;
                Self::of_array(made.cast::<PyUntypedArray>()?, what)
            }
        }
    }

    fn of_array(
        array: &Bound<'_, PyUntypedArray>,
        what: impl Fn() -> String,
    ) -> PyResult<ArrayView> {
        let dtype = array.dtype();
        let element = ElementType::of(dtype.kind(), dtype.itemsize());
        let is_native = dtype.is_native_byteorder() != Some(false);
        let Some(element) = element.filter(|_| is_native) else {
            let hint = match is_native {
                false => {
                    "its byte order is not this machine's: convert it with arr.astype(arr.dtype.newbyteorder('='))"
                }
                true => {
                    "booleans, integers and floats of 32 or 64 bits are accepted: convert it with arr.astype('float32')"
                }
            };
            return Err(PyTypeError::new_err(format!(
                "{}: dtype {dtype} is not accepted; {hint}",
                what()
            )));
        };
        // SAFETY: the pointer of a live array object is valid; it is only read below.
        let raw = unsafe { &*array.as_array_ptr() };
        Ok(ArrayView {
            data: raw.fields.data.cast::<u8>(),
            element,
            shape: array.shape().to_vec(),
            strides: array.strides().to_vec(),
            owner: array.as_any().clone().unbind(),
        })
    }

    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The Python object.
    pub fn owner(&self) -> &Py<PyAny> {
        &self.owner
    }

    /// Whether the elements stand one after another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        if self.n_elements() == 0 {
            return true;
        }
        let mut expected = self.element_bytes() as isize;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if extent > 1 && stride != expected {
                return false;
            }
            expected *= extent as isize;
        }
        true
    }

    /// How many elements there are.
    pub fn n_elements(&self) -> usize {
        self.shape.iter().product()
    }

    fn element_bytes(&self) -> usize {
        match self.element {
            ElementType::Bool | ElementType::U8 | ElementType::I8 => 1,
            ElementType::U16 | ElementType::I16 => 2,
            ElementType::U32 | ElementType::I32 | ElementType::F32 => 4,
            ElementType::U64 | ElementType::I64 | ElementType::F64 => 8,
        }
    }

    /// The bytes of a contiguous array.
    pub fn bytes(&self) -> Option<&[u8]> {
        let n_bytes = self.n_elements() * self.element_bytes();
        self.is_contiguous().then(|| match n_bytes {
            0 => &[][..],
            // SAFETY: contiguous elements occupy exactly these bytes, and `owner` keeps them alive.
            _ => unsafe { std::slice::from_raw_parts(self.data, n_bytes) },
        })
    }

    /// Calls `take` with every element of a row of a matrix, as f64, from column `x0` on.
    ///
    /// # Panics
    /// If the array has not two axes or the row or columns are outside of it.
    pub fn for_row(&self, y: usize, x0: usize, n: usize, mut take: impl FnMut(usize, f64)) {
        let ([height, width], [stride_y, stride_x]) = (&self.shape[..], &self.strides[..]) else {
            panic!("a row belongs to a matrix");
        };
        assert!(y < *height && x0 + n <= *width, "the row is in the array");
        // SAFETY: the assertion keeps every address inside of the array.
        let row = unsafe { self.data.offset(y as isize * stride_y + x0 as isize * stride_x) };
        macro_rules! walk {
            ($type:ty, $convert:expr) => {{
                let convert: fn($type) -> f64 = $convert;
                for x in 0..n {
                    // SAFETY: as above; elements need not be aligned.
                    let value = unsafe {
                        row.offset(x as isize * stride_x).cast::<$type>().read_unaligned()
                    };
                    take(x, convert(value));
                }
            }};
        }
        match self.element {
            ElementType::Bool => walk!(u8, |v| f64::from(u8::from(v != 0))),
            ElementType::U8 => walk!(u8, f64::from),
            ElementType::U16 => walk!(u16, f64::from),
            ElementType::U32 => walk!(u32, f64::from),
            ElementType::U64 => walk!(u64, |v| v as f64),
            ElementType::I8 => walk!(i8, f64::from),
            ElementType::I16 => walk!(i16, f64::from),
            ElementType::I32 => walk!(i32, f64::from),
            ElementType::I64 => walk!(i64, |v| v as f64),
            ElementType::F32 => walk!(f32, f64::from),
            ElementType::F64 => walk!(f64, |v| v),
        }
    }
}

/// Whether elements of a masked array, or of a masked array in nested lists, are masked.
fn is_masked(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<bool> {
    /// NumPy reads no deeper lists.
    const DEPTH_MAX: usize = 64;
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        if array.is_exact_instance_of::<PyUntypedArray>() {
            return Ok(false);
        }
        let masked = object.py().import("numpy.ma")?;
        let is_one = object.is_instance(&masked.getattr("MaskedArray")?)?;
        return Ok(is_one && masked.call_method1("is_masked", (object,))?.is_truthy()?);
    }
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if is_list && depth < DEPTH_MAX {
        for item in object.try_iter()? {
            if is_masked(&item?, depth + 1)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
