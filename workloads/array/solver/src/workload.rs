//! The array workload: one operation over many items, run by the engine.

use std::borrow::{Borrow, Cow};
use std::marker::PhantomData;
use std::sync::Arc;

use swathe::{Device, DeviceKind, Difference, GpuError, Lane, Need, Shape, Size, Stop, Workload};

use crate::agree::agree;
use crate::element::{Float, Unsigned};
use crate::fit::{FloatWork, FromF64, Slice};
use crate::map::{MapError, map_into};
use crate::matmul::{
    MatmulError, ProductShape, SCRATCH_BYTES_MAX, Scratch, StackShape, matmul_stack_into,
};
use crate::operation::{Key, Operation};
use crate::xor::{XorError, xor_in_place};
use crate::{Array, Dtype, Elements, Simd, gpu};

/// One operation over many items.
///
/// `A` is the type that holds an operand: `Arc<Array>` for the engine, `&Array` for a slice.
#[derive(Clone, Debug)]
pub struct ArrayWorkload<A = Arc<Array>> {
    operation: Operation,
    simd: Simd,
    storing: fn(Dtype) -> u64,
    /// The numbers of a key, as elements of 1, 2, 4 and 8 bytes.
    number_keys: Arc<[Elements]>,
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

/// The shapes and types of an item's operands, without their elements: enough for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands<'a> {
    /// The first operand's extents and element type.
    pub first: (&'a [usize], Dtype),
    /// The second operand's, if there is one.
    pub second: Option<(&'a [usize], Dtype)>,
}

/// The result of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The result.
    pub array: Array,
    /// How many elements are NaN although no operand was: roots and logarithms of negative numbers.
    pub n_nan: u64,
    /// How far elements may be from the CPU's, if the elements alone do not determine that. Zero
    /// except for products from a graphics processor, whose sums may be rounded more often than the
    /// CPU's.
    pub error_max: f64,
}

/// Why an item has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrayFailure {
    /// The operation does not accept this element type.
    #[error("{operation} does not work on {dtype} elements; it takes {takes}")]
    WrongDtype {
        /// The operation.
        operation: String,
        /// The element type given.
        dtype: Dtype,
        /// The accepted element types.
        takes: &'static str,
    },
    /// The operands have different element types.
    #[error(
        "the operands have different element types, {first} and {second}; convert the second with arr.astype('{to}')",
        to = first.numpy_name()
    )]
    DtypeMismatch {
        /// The first operand's element type.
        first: Dtype,
        /// The second operand's element type.
        second: Dtype,
    },
    /// The operands' shapes do not fit together.
    #[error("shapes {first:?} and {second:?} do not fit together for {operation}")]
    ShapeMismatch {
        /// The operation.
        operation: String,
        /// The first operand's extents.
        first: Vec<usize>,
        /// The second operand's extents.
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
    /// The operands' lengths do not fit the product.
    #[error(transparent)]
    Matmul(#[from] MatmulError),
    /// The operand's length does not fit the map.
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
    /// The workload of this operation, with the best instructions of this processor.
    pub fn new(operation: Operation) -> ArrayWorkload<A> {
        let number_keys: Arc<[Elements]> = match &operation {
            Operation::Xor(Key::Numbers(numbers)) => Arc::new([
                Elements::U8(truncated(numbers)),
                Elements::U16(truncated(numbers)),
                Elements::U32(truncated(numbers)),
                Elements::U64(truncated(numbers)),
            ]),
            _ => Arc::new([]),
        };
        ArrayWorkload {
            operation,
            simd: Simd::detect(),
            storing: |_| 0,
            number_keys,
            operands: PhantomData,
        }
    }

    /// Adds `element_bytes` for every element of a result to [`need`](Workload::need): the memory
    /// that storing the result takes before the result is freed.
    pub fn with_storing(self, element_bytes: fn(Dtype) -> u64) -> ArrayWorkload<A> {
        ArrayWorkload { storing: element_bytes, ..self }
    }

    /// The numbers of the key as elements of this type.
    pub(crate) fn number_key<T: Slice>(&self) -> &[T] {
        let of_type = self.number_keys.iter().find_map(|key| T::slice(key));
        of_type.unwrap_or_default()
    }

    /// The operation.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The size of an item with these operands.
    pub fn size_of(&self, operands: &Operands<'_>) -> Size {
        let (first, dtype) = operands.first;
        let n_first = extent(first);
        let stack = match (operands.second, &self.operation) {
            (Some((second, _)), Operation::Matmul) => StackShape::of(first, second),
            _ => None,
        };
        let shape = match (stack, operands.second) {
            // Only operands that fit together have the extents of a product.
            (Some(stack), _) => {
                let ProductShape { n_rows, n_inner, n_cols } = stack.product();
                let extents = [stack.n_products(), n_rows, n_inner, n_cols].map(|n| extent(&[n]));
                Shape::new(&extents[usize::from(extents[0] == 1)..])
            }
            (None, Some((second, _))) => Shape::new(&[n_first, extent(second)]),
            (None, None) => Shape::new(&[n_first]),
        };
        let is_mixed = operands.second.is_some_and(|(_, other)| other != dtype);
        let number = match is_mixed && !dtype.is_integer() {
            true => MIXED,
            false => dtype as u32,
        };
        Size { shape, class: self.operation.number() * N_DTYPES + number, affinity: 0 }
    }
}

fn truncated<T: Unsigned>(numbers: &[u64]) -> Vec<T> {
    numbers.iter().map(|&number| T::truncate(number)).collect()
}

/// The number of elements, at most `u32::MAX`; a larger item would fit in no memory.
fn extent(shape: &[usize]) -> u32 {
    crate::volume(shape).and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX)
}

/// Classes are numbered by operation, then by element type. Each operation has its own times, so
/// the measured costs of one must not apply to another.
const N_DTYPES: u32 = 16;

/// Takes the place of an element type: single and double precision together, computed in double.
const MIXED: u32 = N_DTYPES - 1;

fn dtype_of_class(class: u32) -> Dtype {
    let mut dtypes = Dtype::ALL.iter().copied();
    dtypes.find(|&dtype| dtype as u32 == class % N_DTYPES).unwrap_or(Dtype::F64)
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
            second: second.as_ref().map(|(shape, dtype)| (shape.as_slice(), *dtype)),
        })
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        if on == DeviceKind::Gpu {
            return gpu::need(&self.operation, dtype_of_class(size.class), size.shape);
        }
        /// The arrays' extents and the bookkeeping around them.
        const OVERHEAD_BYTES: u64 = 256;
        let dtype = dtype_of_class(size.class);
        let element_bytes = dtype.size_bytes() as u64;
        let extents: Vec<u64> = size.shape.extents().iter().map(|&n| u64::from(n)).collect();
        let (n_in, n_out, scratch_bytes) = match extents[..] {
            [.., n_rows, n_inner, n_cols] => {
                let n_products = if extents.len() == 4 { extents[0] } else { 1 };
                // Products of empty matrices can be of any size.
                let matrix = |n: u64, m: u64| n_products.saturating_mul(n).saturating_mul(m);
                let n_in = matrix(n_rows, n_inner).saturating_add(matrix(n_inner, n_cols));
                let n_out = matrix(n_rows, n_cols);
                (n_in, n_out, SCRATCH_BYTES_MAX as u64)
            }
            [n_first, n_second] => (n_first + n_second, n_first, 0),
            _ => (size.shape.volume(), size.shape.volume(), 0),
        };
        // If operands have two types, one is converted.
        let n_converted = if size.class % N_DTYPES == MIXED { n_in } else { 0 };
        Need {
            lane_bytes: n_in
                .saturating_add(n_converted)
                .saturating_mul(element_bytes)
                .saturating_add(OVERHEAD_BYTES),
            scratch_bytes,
            solution_bytes: n_out
                .saturating_mul(element_bytes + (self.storing)(dtype))
                .saturating_add(OVERHEAD_BYTES),
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
        if let Some(second) = second
            && first.dtype() != second.dtype()
            && !first.dtype().is_integer()
        {
            // Like NumPy, convert single precision to double.
            let (first, second) = (in_double(first), in_double(second));
            let data = f64::slice(first.elements()).unwrap_or_default();
            return self.float(&first, data, Some(&second), scratch);
        }
        match first.elements() {
            Elements::F32(data) => self.float(first, data, second, scratch),
            Elements::F64(data) => self.float(first, data, second, scratch),
            Elements::U8(_) | Elements::I8(_) => self.xor::<u8>(first, second, stop),
            Elements::U16(_) | Elements::I16(_) => self.xor::<u16>(first, second, stop),
            Elements::U32(_) | Elements::I32(_) => self.xor::<u32>(first, second, stop),
            Elements::U64(_) | Elements::I64(_) => self.xor::<u64>(first, second, stop),
        }
    }

    fn launch_form(&self, size: &Size) -> Option<Shape> {
        // Operands of two types are computed in double precision, for which there are no kernels.
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

    /// Exact for integers and for changes of the sign. For others, devices may round products and
    /// sums differently or flush subnormal numbers to zero.
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
        match class % N_DTYPES {
            MIXED => format!("{} f32 with f64", self.operation),
            _ => format!("{} {}", self.operation, dtype_of_class(class)),
        }
    }
}

impl<A> ArrayWorkload<A> {
    fn xor<T: Unsigned + Slice>(
        &self,
        first: &Array,
        second: Option<&Array>,
        stop: &Stop,
    ) -> Result<Answer, ArrayFailure> {
        let key = self.xor_key::<T>(first, second)?;
        if stop.requested() {
            return Err(ArrayFailure::Stopped);
        }
        let mut out = first.elements().clone();
        xor_in_place(T::slice_mut(&mut out).unwrap_or_default(), key, self.simd)?;
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
            FloatWork::Product { right, stack } => {
                let mut out = vec![T::default(); stack.out_shape().iter().product()];
                matmul_stack_into(data, right, &mut out, &stack, scratch, self.simd)?;
                Ok(Answer::new(stack.out_shape(), out))
            }
            FloatWork::Map(map) => {
                let mut out = vec![T::default(); data.len()];
                let n_nan = map_into(data, &mut out, map, self.simd)?;
                Ok(Answer { n_nan, ..Answer::new(first.shape(), out) })
            }
        }
    }
}

/// The array in double precision.
fn in_double(array: &Array) -> Cow<'_, Array> {
    match array.elements() {
        Elements::F32(data) => {
            let data: Vec<f64> = data.iter().map(|&x| f64::from(x)).collect();
            let converted = Array::new(array.shape().to_vec(), data);
            Cow::Owned(converted.expect("it has as many elements"))
        }
        _ => Cow::Borrowed(array),
    }
}

impl Answer {
    /// A result of this shape, without new NaN.
    pub(crate) fn new(shape: &[usize], out: impl Into<Elements>) -> Answer {
        let array = Array::new(shape.to_vec(), out).expect("an operation fills its result's shape");
        Answer { array, n_nan: 0, error_max: 0.0 }
    }
}
