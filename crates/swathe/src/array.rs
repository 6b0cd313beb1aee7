//! Arrays: a shape and the elements in row-major order.

mod views;

pub use views::{Element, OtherDtype};

use std::fmt;

/// Defines [`Dtype`], [`Elements`] and the methods that need an arm for every variant.
macro_rules! dtypes {
    ($($variant:ident $type:ident $numpy:literal $what:literal),*) => {
        /// The type of an array's elements.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[serde(rename_all = "lowercase")]
        pub enum Dtype {
            $(#[doc = $what] $variant,)*
        }

        impl Dtype {
            /// All types, in the order of the variants.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant),*];

            /// Bytes one element occupies.
            pub const fn size_bytes(self) -> usize {
                match self {
                    $(Dtype::$variant => size_of::<$type>(),)*
                }
            }

            /// The name users see, as Rust spells it: `u8` is one byte, `f32` four.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Dtype::$variant => stringify!($type),)*
                }
            }

            /// The name NumPy has for it: `uint8`, `float32`.
            pub const fn numpy_name(self) -> &'static str {
                match self {
                    $(Dtype::$variant => $numpy,)*
                }
            }

            /// The type that has this name in NumPy.
            pub fn from_numpy_name(name: &str) -> Option<Dtype> {
                Dtype::ALL.iter().copied().find(|dtype| dtype.numpy_name() == name)
            }
        }

        /// The elements of an array, row-major.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Elements {
            $(#[doc = $what] $variant(Vec<$type>),)*
        }

        impl Elements {
            /// No elements of this type.
            pub fn empty(dtype: Dtype) -> Elements {
                match dtype {
                    $(Dtype::$variant => Elements::$variant(Vec::new()),)*
                }
            }

            /// The type of the elements.
            pub fn dtype(&self) -> Dtype {
                match self {
                    $(Elements::$variant(_) => Dtype::$variant,)*
                }
            }

            /// Appends copies of other elements of the same type.
            ///
            /// # Panics
            /// If the two types differ.
            pub fn append(&mut self, more: &Elements) {
                match (self, more) {
                    $((Elements::$variant(v), Elements::$variant(more)) => v.extend_from_slice(more),)*
                    (v, more) => panic!("{} behind {}", more.dtype(), v.dtype()),
                }
            }
        }

        $(
            impl From<Vec<$type>> for Elements {
                fn from(v: Vec<$type>) -> Elements {
                    Elements::$variant(v)
                }
            }
        )*
    };
}
dtypes!(
    U8 u8 "uint8" "Unsigned bytes.",
    U32 u32 "uint32" "Unsigned 32-bit integers.",
    U64 u64 "uint64" "Unsigned 64-bit integers.",
    F32 f32 "float32" "IEEE single precision.",
    F64 f64 "float64" "IEEE double precision.",
    U16 u16 "uint16" "Unsigned 16-bit integers.",
    I8 i8 "int8" "Signed bytes.",
    I16 i16 "int16" "Signed 16-bit integers.",
    I32 i32 "int32" "Signed 32-bit integers.",
    I64 i64 "int64" "Signed 64-bit integers."
);

/// Evaluates an expression with the vector of elements, for every element type.
///
/// ```
/// use swathe::array::Elements;
/// let elements = Elements::from(vec![1u16, 2]);
/// let text = swathe::with_elements!(&elements, v => format!("{v:?}"));
/// assert_eq!(text, "[1, 2]");
/// ```
#[macro_export]
macro_rules! with_elements {
    ($elements:expr, $v:ident => $body:expr) => {
        match $elements {
            $crate::array::Elements::U8($v) => $body,
            $crate::array::Elements::U16($v) => $body,
            $crate::array::Elements::U32($v) => $body,
            $crate::array::Elements::U64($v) => $body,
            $crate::array::Elements::I8($v) => $body,
            $crate::array::Elements::I16($v) => $body,
            $crate::array::Elements::I32($v) => $body,
            $crate::array::Elements::I64($v) => $body,
            $crate::array::Elements::F32($v) => $body,
            $crate::array::Elements::F64($v) => $body,
        }
    };
}

impl Dtype {
    /// Whether elements are whole numbers.
    pub const fn is_integer(self) -> bool {
        !matches!(self, Dtype::F32 | Dtype::F64)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Elements {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        with_elements!(self, v => v.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reserves capacity for exactly `n_more` further elements.
    pub fn reserve_exact(&mut self, n_more: usize) {
        with_elements!(self, v => v.reserve_exact(n_more));
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

/// The volume of the shape is not the number of elements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shape {shape:?} does not describe {n_elements} elements")]
pub struct ShapeMismatch {
    /// The requested shape.
    pub shape: Vec<usize>,
    /// The number of elements that were given.
    pub n_elements: usize,
}

impl Array {
    /// Combines a shape and its elements.
    ///
    /// # Errors
    /// If the volume of the shape overflows or is not the number of elements.
    pub fn new(shape: Vec<usize>, elements: impl Into<Elements>) -> Result<Array, ShapeMismatch> {
        let elements = elements.into();
        match volume(&shape) {
            Some(n) if n == elements.len() => Ok(Array { shape, elements }),
            _ => Err(ShapeMismatch { n_elements: elements.len(), shape }),
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

    /// The elements, for changes in place. The caller must keep their number and type.
    pub fn elements_mut(&mut self) -> &mut Elements {
        &mut self.elements
    }

    /// Splits the array into its shape and its elements.
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
    shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent))
}
