//! The workload: one operation over many items, through the engine.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::sync::Arc;

use swathe::{DeviceKind, Difference, Need, Shape, Size, Stop, Workload};

use crate::element::{Float, Unsigned};
use crate::map::{Map, MapError, Operand, map_into};
use crate::matmul::{MatmulError, ProductShape, SCRATCH_BYTES_MAX, Scratch, matmul_into};
use crate::operation::{Key, MapKind, MapOperand, Operation};
use crate::xor::{XorError, XorKey, xor_in_place};
use crate::{Array, Dtype, Elements, Simd};

/// One operation over many items.
///
/// `A` is how an item holds its operands: `Arc<Array>` for the engine, `&Array` for a slice.
#[derive(Clone, Debug)]
pub struct ArrayWorkload<A = Arc<Array>> {
    operation: Operation,
    simd: Simd,
    n_copies: u64,
    operands: PhantomData<fn() -> A>,
}

/// One item: an operand, or two.
#[derive(Clone, Debug)]
pub struct Item<A = Arc<Array>> {
    /// The first operand.
    pub first: A,
    /// The second, if the operation takes two.
    pub second: Option<A>,
}

/// What an operand is, without its elements: all that a plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands<'a> {
    /// The first operand's extents and element type.
    pub first: (&'a [usize], Dtype),
    /// The second's, if there is one.
    pub second: Option<(&'a [usize], Dtype)>,
}

/// The result of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The result.
    pub array: Array,
    /// How many of its elements are NaN where no operand was: roots and logarithms of negatives.
    pub n_nan: u64,
}

/// Why an item has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrayFailure {
    /// The operation does not work on this element type.
    #[error("{operation} does not work on {dtype} elements; it takes {takes}")]
    WrongDtype {
        /// The operation.
        operation: String,
        /// The element type it was given.
        dtype: Dtype,
        /// Those it takes.
        takes: &'static str,
    },
    /// The operands have different element types.
    #[error("the operands have different element types, {first} and {second}")]
    DtypeMismatch {
        /// The first operand's.
        first: Dtype,
        /// The second's.
        second: Dtype,
    },
    /// The operands' shapes do not fit together.
    #[error("shapes {first:?} and {second:?} do not fit together for {operation}")]
    ShapeMismatch {
        /// The operation.
        operation: String,
        /// The first operand's extents.
        first: Vec<usize>,
        /// The second's.
        second: Vec<usize>,
    },
    /// A second operand is missing.
    #[error("{operation} takes two operands and there is one")]
    NoSecond {
        /// The operation.
        operation: String,
    },
    /// The key cannot be used.
    #[error(transparent)]
    Xor(#[from] XorError),
    /// The product is impossible.
    #[error(transparent)]
    Matmul(#[from] MatmulError),
    /// The map is impossible.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The item could not be read.
    #[error("{message}")]
    Unreadable {
        /// Why.
        message: String,
    },
    /// The operation was stopped.
    #[error("stopped")]
    Stopped,
}

impl<A> ArrayWorkload<A> {
    /// This operation, with the best instructions of this processor.
    pub fn new(operation: Operation) -> ArrayWorkload<A> {
        ArrayWorkload {
            operation,
            simd: Simd::detect(),
            n_copies: 0,
            operands: PhantomData,
        }
    }

    /// Counts so many more copies of every result in [`need`](Workload::need): those that whoever
    /// takes the results makes of them, before they are stored and the memory is free again.
    pub fn with_copies(self, n_copies: u64) -> ArrayWorkload<A> {
        ArrayWorkload { n_copies, ..self }
    }

    /// The operation.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The size of an item with these operands.
    pub fn size_of(&self, operands: &Operands<'_>) -> Size {
        let (first, dtype) = operands.first;
        let n_first = extent(first);
        let (shape, work) = match (operands.second, &self.operation) {
            (Some((second, _)), Operation::Matmul) => match (first, second) {
                // Only what fits together has the three extents of a product.
                (&[n_rows, n_inner], &[n_inner_too, n_cols]) if n_inner == n_inner_too => (
                    Shape::new(&[extent(&[n_rows]), extent(&[n_inner]), extent(&[n_cols])]),
                    2.0 * n_rows as f64 * n_inner as f64 * n_cols as f64,
                ),
                _ => (Shape::new(&[n_first, extent(second)]), 1.0),
            },
            (Some((second, _)), _) => (Shape::new(&[n_first, extent(second)]), f64::from(n_first)),
            (None, _) => (Shape::new(&[n_first]), f64::from(n_first)),
        };
        Size {
            shape,
            class: dtype as u32,
            affinity: 0,
            work,
        }
    }
}

/// The number of elements; a plan needs no more than `u32` can say, as nothing so large fits.
fn extent(shape: &[usize]) -> u32 {
    crate::volume(shape)
        .and_then(|n| u32::try_from(n).ok())
        .unwrap_or(u32::MAX)
}

fn dtype_of_class(class: u32) -> Dtype {
    [Dtype::U8, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64]
        .into_iter()
        .find(|dtype| *dtype as u32 == class)
        .unwrap_or(Dtype::F64)
}

impl<A: Borrow<Array> + Send + Sync> Workload for ArrayWorkload<A> {
    type Problem = Item<A>;
    type Solution = Answer;
    type Failure = ArrayFailure;
    type Scratch = Scratch;
    const NAME: &'static str = "array";

    fn size(&self, item: &Item<A>) -> Size {
        let describe = |array: &'_ A| {
            let array: &Array = array.borrow();
            (array.shape().to_vec(), array.dtype())
        };
        let first = describe(&item.first);
        let second = item.second.as_ref().map(describe);
        self.size_of(&Operands {
            first: (&first.0, first.1),
            second: second
                .as_ref()
                .map(|(shape, dtype)| (shape.as_slice(), *dtype)),
        })
    }

    fn need(&self, size: &Size, _on: DeviceKind) -> Need {
        /// The arrays' own extents and the bookkeeping around them.
        const OVERHEAD_BYTES: u64 = 256;
        let element_bytes = dtype_of_class(size.class).size_bytes() as u64;
        let extents: Vec<u64> = size.shape.extents().iter().map(|&n| u64::from(n)).collect();
        let (n_in, n_out, scratch_bytes) = match extents[..] {
            [n_rows, n_inner, n_cols] => {
                let n_in = n_rows * n_inner + n_inner * n_cols;
                (n_in, n_rows * n_cols, SCRATCH_BYTES_MAX as u64)
            }
            [n_first, n_second] => (n_first + n_second, n_first, 0),
            _ => (size.shape.volume(), size.shape.volume(), 0),
        };
        Need {
            lane_bytes: n_in * element_bytes + OVERHEAD_BYTES,
            scratch_bytes,
            solution_bytes: n_out * element_bytes * (1 + self.n_copies) + OVERHEAD_BYTES,
        }
    }

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn solve(
        &self,
        item: &Item<A>,
        scratch: &mut Scratch,
        stop: &Stop,
    ) -> Result<Answer, ArrayFailure> {
        let first: &Array = item.first.borrow();
        let second = item
            .second
            .as_ref()
            .map(|second| -> &Array { second.borrow() });
        if !self.operation.accepts(first.dtype()) {
            return Err(self.wrong_dtype(first.dtype()));
        }
        if self.operation.takes_two() && second.is_none() {
            return Err(ArrayFailure::NoSecond {
                operation: self.operation.to_string(),
            });
        }
        match first.elements() {
            Elements::U8(data) => self.xor(first, data, second, stop),
            Elements::U32(data) => self.xor(first, data, second, stop),
            Elements::U64(data) => self.xor(first, data, second, stop),
            Elements::F32(data) => self.float(first, data, second, scratch),
            Elements::F64(data) => self.float(first, data, second, scratch),
        }
    }

    fn agree(&self, reference: &Answer, other: &Answer, _on: DeviceKind) -> Result<(), Difference> {
        let bits = |array: &Array| array_bits(array);
        if reference.array.shape() == other.array.shape()
            && bits(&reference.array) == bits(&other.array)
        {
            return Ok(());
        }
        Err(Difference {
            field: "array".to_owned(),
            expected: format!("{:?} {}", reference.array.shape(), reference.array.dtype()),
            found: "other elements".to_owned(),
        })
    }

    fn class_name(&self, class: u32) -> String {
        format!("{} {}", self.operation, dtype_of_class(class))
    }
}

/// The elements as bits: a NaN agrees with itself, zero does not agree with minus zero.
fn array_bits(array: &Array) -> Vec<u64> {
    match array.elements() {
        Elements::U8(v) => v.iter().map(|&x| u64::from(x)).collect(),
        Elements::U32(v) => v.iter().map(|&x| u64::from(x)).collect(),
        Elements::U64(v) => v.clone(),
        Elements::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
        Elements::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
    }
}

impl<A> ArrayWorkload<A> {
    fn wrong_dtype(&self, dtype: Dtype) -> ArrayFailure {
        let takes = if matches!(self.operation, Operation::Xor(_)) {
            "u8, u32 or u64"
        } else {
            "f32 or f64"
        };
        ArrayFailure::WrongDtype {
            operation: self.operation.to_string(),
            dtype,
            takes,
        }
    }

    fn mismatch(&self, first: &Array, second: &Array) -> ArrayFailure {
        if first.dtype() != second.dtype() {
            return ArrayFailure::DtypeMismatch {
                first: first.dtype(),
                second: second.dtype(),
            };
        }
        ArrayFailure::ShapeMismatch {
            operation: self.operation.to_string(),
            first: first.shape().to_vec(),
            second: second.shape().to_vec(),
        }
    }

    fn xor<T>(
        &self,
        first: &Array,
        data: &[T],
        second: Option<&Array>,
        stop: &Stop,
    ) -> Result<Answer, ArrayFailure>
    where
        T: Unsigned + Slice,
        Elements: From<Vec<T>>,
    {
        let Operation::Xor(key) = &self.operation else {
            return Err(self.wrong_dtype(first.dtype()));
        };
        fn elements_of<T: Slice>(array: &Array) -> Option<&[T]> {
            T::slice(array.elements())
        }
        let key = match (key, second) {
            (Key::Seed(seed), _) => XorKey::Seed(*seed),
            (Key::Cycle(key), _) => {
                XorKey::Cycle(elements_of(key).ok_or_else(|| self.mismatch(first, key))?)
            }
            (Key::Array(key), _) => {
                XorKey::Array(elements_of(key).ok_or_else(|| self.mismatch(first, key))?)
            }
            (Key::Second, Some(second)) if second.shape() == first.shape() => {
                XorKey::Array(elements_of(second).ok_or_else(|| self.mismatch(first, second))?)
            }
            (Key::Second, Some(second)) => return Err(self.mismatch(first, second)),
            (Key::Second, None) => {
                return Err(ArrayFailure::NoSecond {
                    operation: self.operation.to_string(),
                });
            }
        };
        if stop.requested() {
            return Err(ArrayFailure::Stopped);
        }
        let mut out = data.to_vec();
        xor_in_place(&mut out, key, self.simd)?;
        Ok(answer(first.shape(), out, 0))
    }

    fn float<T>(
        &self,
        first: &Array,
        data: &[T],
        second: Option<&Array>,
        scratch: &mut Scratch,
    ) -> Result<Answer, ArrayFailure>
    where
        T: Float + Slice + FromF64 + Default,
        Elements: From<Vec<T>>,
    {
        let second = match second {
            Some(array) => {
                let data = T::slice(array.elements()).ok_or_else(|| self.mismatch(first, array))?;
                Some((array, data))
            }
            None => None,
        };
        match (&self.operation, second) {
            (Operation::Matmul, Some((second, second_data))) => {
                let (&[n_rows, n_inner], &[n_inner_too, n_cols]) = (first.shape(), second.shape())
                else {
                    return Err(self.mismatch(first, second));
                };
                if n_inner != n_inner_too {
                    return Err(self.mismatch(first, second));
                }
                let shape = ProductShape {
                    n_rows,
                    n_inner,
                    n_cols,
                };
                let n_out =
                    crate::volume(&[n_rows, n_cols]).ok_or_else(|| self.mismatch(first, second))?;
                let mut out = vec![T::default(); n_out];
                matmul_into(data, second_data, &mut out, shape, scratch, self.simd)?;
                Ok(answer(&[n_rows, n_cols], out, 0))
            }
            (Operation::Map(kind), second) => {
                let operand = |operand: MapOperand| match (operand, second) {
                    (MapOperand::Scalar(x), _) => Ok(Operand::Scalar(T::from_f64(x))),
                    (MapOperand::Second, Some((array, data))) if array.shape() == first.shape() => {
                        Ok(Operand::Array(data))
                    }
                    (MapOperand::Second, Some((array, _))) => Err(self.mismatch(first, array)),
                    (MapOperand::Second, None) => Err(ArrayFailure::NoSecond {
                        operation: self.operation.to_string(),
                    }),
                };
                let map = match *kind {
                    MapKind::Add(x) => Map::Add(operand(x)?),
                    MapKind::Multiply(x) => Map::Multiply(operand(x)?),
                    MapKind::Square => Map::Square,
                    MapKind::Sqrt => Map::Sqrt,
                    MapKind::Exp => Map::Exp,
                    MapKind::Log => Map::Log,
                    MapKind::Abs => Map::Abs,
                    MapKind::Negate => Map::Negate,
                };
                let mut out = vec![T::default(); data.len()];
                let n_nan = map_into(data, &mut out, map, self.simd)?;
                Ok(answer(first.shape(), out, n_nan))
            }
            _ => Err(self.wrong_dtype(first.dtype())),
        }
    }
}

fn answer<T>(shape: &[usize], out: Vec<T>, n_nan: u64) -> Answer
where
    Elements: From<Vec<T>>,
{
    let array = Array::new(shape.to_vec(), out).expect("an operation fills its result's shape");
    Answer { array, n_nan }
}

/// The elements of one type, if an array has that type.
trait Slice: Sized {
    fn slice(elements: &Elements) -> Option<&[Self]>;
}

macro_rules! slice {
    ($($variant:ident $type:ty),*) => {$(
        impl Slice for $type {
            fn slice(elements: &Elements) -> Option<&[$type]> {
                match elements {
                    Elements::$variant(data) => Some(data),
                    _ => None,
                }
            }
        }
    )*};
}
slice!(U8 u8, U32 u32, U64 u64, F32 f32, F64 f64);

/// A scalar operand in an item's own precision.
trait FromF64 {
    fn from_f64(x: f64) -> Self;
}

impl FromF64 for f32 {
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
}

impl FromF64 for f64 {
    fn from_f64(x: f64) -> f64 {
        x
    }
}
