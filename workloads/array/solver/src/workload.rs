//! The workload: one operation over many items, through the engine.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::sync::Arc;

use swathe::{Device, DeviceKind, Difference, GpuError, Lane, Need, Shape, Size, Stop, Workload};

use crate::agree::agree;
use crate::element::{Float, Unsigned};
use crate::fit::{FloatWork, FromF64, Slice};
use crate::map::{MapError, map_into};
use crate::matmul::{MatmulError, SCRATCH_BYTES_MAX, Scratch, matmul_into};
use crate::operation::Operation;
use crate::xor::{XorError, xor_in_place};
use crate::{Array, Dtype, Elements, Simd, gpu};

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
    /// How far its elements may be from those the CPU finds, where this cannot be told from the
    /// elements: zero except for products from a graphics processor, whose sums may be rounded
    /// more often than the CPU's.
    pub error_max: f64,
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
        let shape = match (operands.second, &self.operation) {
            (Some((second, _)), Operation::Matmul) => match (first, second) {
                // Only what fits together has the three extents of a product.
                (&[n_rows, n_inner], &[n_inner_too, n_cols]) if n_inner == n_inner_too => {
                    Shape::new(&[extent(&[n_rows]), extent(&[n_inner]), extent(&[n_cols])])
                }
                _ => Shape::new(&[n_first, extent(second)]),
            },
            (Some((second, _)), _) => Shape::new(&[n_first, extent(second)]),
            (None, _) => Shape::new(&[n_first]),
        };
        Size {
            shape,
            class: self.operation.number() * N_DTYPES + dtype as u32,
            affinity: 0,
        }
    }
}

/// The number of elements; a plan needs no more than `u32` can say, as nothing so large fits.
fn extent(shape: &[usize]) -> u32 {
    crate::volume(shape)
        .and_then(|n| u32::try_from(n).ok())
        .unwrap_or(u32::MAX)
}

/// Classes are numbered by operation, then by element type: different operations take different
/// times, and nothing that is measured of one should be believed of another.
const N_DTYPES: u32 = 8;

fn dtype_of_class(class: u32) -> Dtype {
    [Dtype::U8, Dtype::U32, Dtype::U64, Dtype::F32, Dtype::F64]
        .into_iter()
        .find(|dtype| *dtype as u32 == class % N_DTYPES)
        .unwrap_or(Dtype::F64)
}

impl<A: Borrow<Array> + Send + Sync> Workload for ArrayWorkload<A> {
    type Problem = Item<A>;
    type Solution = Answer;
    type Failure = ArrayFailure;
    type Scratch = Scratch;
    type Local = ();
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

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        if on == DeviceKind::Gpu {
            return gpu::need(&self.operation, dtype_of_class(size.class), size.shape);
        }
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

    fn local(&self) {}

    fn solve(
        &self,
        item: &Item<A>,
        scratch: &mut Scratch,
        _: &mut (),
        stop: &Stop,
    ) -> Result<Answer, ArrayFailure> {
        let (first, second) = self.operands(item)?;
        match first.elements() {
            Elements::U8(data) => self.xor(first, data, second, stop),
            Elements::U32(data) => self.xor(first, data, second, stop),
            Elements::U64(data) => self.xor(first, data, second, stop),
            Elements::F32(data) => self.float(first, data, second, scratch),
            Elements::F64(data) => self.float(first, data, second, scratch),
        }
    }

    fn launch_form(&self, size: &Size) -> Option<Shape> {
        gpu::form(&self.operation, dtype_of_class(size.class), size.shape)
    }

    fn gpu_is_packed(&self) -> bool {
        true
    }

    fn launch(
        &self,
        device: &Device,
        _padded: Shape,
        items: &[&Item<A>],
        stop: &Stop,
    ) -> Result<Vec<Lane<Answer, ArrayFailure>>, GpuError> {
        gpu::solve(self, device.kernels()?, items, stop)
    }

    /// Integers, and what only changes a sign. Devices may round a product otherwise (sums in another
    /// order) or take the smallest numbers for 0.
    fn launch_is_exact(&self, _class: u32) -> bool {
        matches!(
            self.operation,
            Operation::Xor(_) | Operation::Map(crate::MapKind::Abs | crate::MapKind::Negate)
        )
    }

    fn can_compare(&self) -> bool {
        true
    }

    fn agree(&self, reference: &Answer, other: &Answer, on: DeviceKind) -> Result<(), Difference> {
        agree(&self.operation, reference, other, on)
    }

    fn class_name(&self, class: u32) -> String {
        format!("{} {}", self.operation, dtype_of_class(class))
    }
}

impl<A> ArrayWorkload<A> {
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
        let key = self.xor_key(first, second)?;
        if stop.requested() {
            return Err(ArrayFailure::Stopped);
        }
        let mut out = data.to_vec();
        xor_in_place(&mut out, key, self.simd)?;
        Ok(Answer::new(first.shape(), out))
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
        match self.float_work(first, second)? {
            FloatWork::Product { right, shape } => {
                let mut out = vec![T::default(); shape.n_rows * shape.n_cols];
                matmul_into(data, right, &mut out, shape, scratch, self.simd)?;
                Ok(Answer::new(&[shape.n_rows, shape.n_cols], out))
            }
            FloatWork::Map(map) => {
                let mut out = vec![T::default(); data.len()];
                let n_nan = map_into(data, &mut out, map, self.simd)?;
                Ok(Answer {
                    n_nan,
                    ..Answer::new(first.shape(), out)
                })
            }
        }
    }
}

impl Answer {
    /// A result of this shape, without NaN that were made.
    pub(crate) fn new<T>(shape: &[usize], out: Vec<T>) -> Answer
    where
        Elements: From<Vec<T>>,
    {
        let array = Array::new(shape.to_vec(), out).expect("an operation fills its result's shape");
        Answer {
            array,
            n_nan: 0,
            error_max: 0.0,
        }
    }
}
