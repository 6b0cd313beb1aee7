//! Arrays: a shape and the elements in row-major order.

use std::fmt;

/// The type of an array's elements.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// Unsigned bytes.
    U8,
    /// Unsigned 32-bit integers.
    U32,
    /// Unsigned 64-bit integers.
    U64,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Dtype {
    /// Bytes one element occupies.
    pub const fn size_bytes(self) -> usize {
        match self {
            Dtype::U8 => 1,
            Dtype::U32 | Dtype::F32 => 4,
            Dtype::U64 | Dtype::F64 => 8,
        }
    }

    /// The name users see, as Rust spells it: `u8` is one byte, `f32` four.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::U8 => "u8",
            Dtype::U32 => "u32",
            Dtype::U64 => "u64",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The elements of an array, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// See [`Dtype::U8`].
    U8(Vec<u8>),
    /// See [`Dtype::U32`].
    U32(Vec<u32>),
    /// See [`Dtype::U64`].
    U64(Vec<u64>),
    /// See [`Dtype::F32`].
    F32(Vec<f32>),
    /// See [`Dtype::F64`].
    F64(Vec<f64>),
}

impl Elements {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Elements::U8(v) => v.len(),
            Elements::U32(v) => v.len(),
            Elements::U64(v) => v.len(),
            Elements::F32(v) => v.len(),
            Elements::F64(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        match self {
            Elements::U8(_) => Dtype::U8,
            Elements::U32(_) => Dtype::U32,
            Elements::U64(_) => Dtype::U64,
            Elements::F32(_) => Dtype::F32,
            Elements::F64(_) => Dtype::F64,
        }
    }
}

/// An n-dimensional array in row-major order. A scalar has an empty shape and one element.
///
/// ```
/// use swathe::array::Array;
/// let a = Array::new(vec![2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
/// assert_eq!(a.shape(), [2, 3]);
/// assert_eq!(a.dtype().name(), "f32");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    elements: Elements,
}

/// The shape and the number of elements do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shape {shape:?} does not describe {n_elements} elements")]
pub struct ShapeMismatch {
    /// The shape that was asked for.
    pub shape: Vec<usize>,
    /// The elements that were given.
    pub n_elements: usize,
}

impl Array {
    /// Puts a shape and its elements together; refuses if the shape's volume is another number (or overflows).
    pub fn new(shape: Vec<usize>, elements: impl Into<Elements>) -> Result<Array, ShapeMismatch> {
        let elements = elements.into();
        match volume(&shape) {
            Some(n) if n == elements.len() => Ok(Array { shape, elements }),
            _ => Err(ShapeMismatch {
                n_elements: elements.len(),
                shape,
            }),
        }
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements, row-major.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// The elements, to be changed in place; their number and type are for the caller to keep.
    pub fn elements_mut(&mut self) -> &mut Elements {
        &mut self.elements
    }

    /// Takes the array apart.
    pub fn into_parts(self) -> (Vec<usize>, Elements) {
        (self.shape, self.elements)
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.elements.dtype()
    }

    /// Bytes the elements occupy.
    pub fn size_bytes(&self) -> usize {
        self.elements.len() * self.dtype().size_bytes()
    }
}

/// The number of elements a shape describes; `None` when it exceeds `usize`.
pub fn volume(shape: &[usize]) -> Option<usize> {
    // A zero anywhere makes the volume zero even where the other extents would overflow.
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1usize, |n, &extent| n.checked_mul(extent))
}

macro_rules! elements_from {
    ($($variant:ident $type:ty),*) => {$(
        impl From<Vec<$type>> for Elements {
            fn from(v: Vec<$type>) -> Elements {
                Elements::$variant(v)
            }
        }
    )*};
}
elements_from!(U8 u8, U32 u32, U64 u64, F32 f32, F64 f64);
