//! Checks that an item's operands fit the operation, in the same way for every device.

use std::borrow::Borrow;

use crate::element::{Float, Unsigned};
use crate::map::{Map, Operand, check_operand};
use crate::matmul::{StackShape, check_stack};
use crate::operation::{Key, MapKind, MapOperand, Operation};
use crate::workload::{ArrayFailure, ArrayWorkload, Item};
use crate::xor::{XorError, XorKey, check_key};
use crate::{Array, Dtype, Elements};

/// The work on an item of floats whose operands fit together.
pub(crate) enum FloatWork<'a, T> {
    /// Multiplies the first operand by this one.
    Product { right: &'a [T], stack: StackShape },
    /// Maps the first operand's elements.
    Map(Map<'a, T>),
}

impl<A: Borrow<Array>> ArrayWorkload<A> {
    /// The operands of an item, if their number and types suit the operation.
    pub(crate) fn operands<'a>(
        &self,
        item: &'a Item<A>,
    ) -> Result<(&'a Array, Option<&'a Array>), ArrayFailure> {
        let first: &Array = item.first.borrow();
        let second = item.second.as_ref().map(|second| -> &Array { second.borrow() });
        if !self.operation().accepts(first.dtype()) {
            return Err(self.wrong_dtype(first.dtype()));
        }
        if self.operation().takes_two() && second.is_none() {
            return Err(self.no_second());
        }
        if let Some(second) = second
            && !self.operation().accepts(second.dtype())
        {
            return Err(self.mismatch(first, second));
        }
        Ok((first, second))
    }
}

impl<A> ArrayWorkload<A> {
    /// The key of an item, if it fits.
    pub(crate) fn xor_key<'a, T: Unsigned + Slice>(
        &'a self,
        first: &Array,
        second: Option<&'a Array>,
    ) -> Result<XorKey<'a, T>, ArrayFailure> {
        let Operation::Xor(key) = self.operation() else {
            return Err(self.wrong_dtype(first.dtype()));
        };
        let elements_of = |key: &'a Array| match T::slice(key.elements()) {
            Some(elements) if key.dtype() == first.dtype() => Ok(elements),
            _ => Err(self.mismatch(first, key)),
        };
        let key = match (key, second) {
            (Key::Seed(seed), _) => XorKey::Seed(*seed),
            (Key::Cycle(key), _) => XorKey::Cycle(elements_of(key)?),
            (Key::Numbers(numbers), _) => {
                let n_bits = 8 * size_of::<T>() as u32;
                let is_wide = |&&number: &&u64| number.checked_shr(n_bits).unwrap_or(0) != 0;
                if let Some(&number) = numbers.iter().find(is_wide) {
                    return Err(XorError::KeyNumber { number, n_bits }.into());
                }
                XorKey::Cycle(self.number_key())
            }
            (Key::Array(key), _) => XorKey::Array(elements_of(key)?),
            (Key::Second, Some(second)) if second.shape() == first.shape() => {
                XorKey::Array(elements_of(second)?)
            }
            (Key::Second, Some(second)) => return Err(self.mismatch(first, second)),
            (Key::Second, None) => return Err(self.no_second()),
        };
        check_key(first.elements().len(), &key)?;
        Ok(key)
    }

    /// The work on an item of floats, if its operands fit together.
    pub(crate) fn float_work<'a, T: Float + Slice + FromF64>(
        &self,
        first: &'a Array,
        second: Option<&'a Array>,
    ) -> Result<FloatWork<'a, T>, ArrayFailure> {
        let second = match second {
            Some(array) => {
                let data = T::slice(array.elements()).ok_or_else(|| self.mismatch(first, array))?;
                Some((array, data))
            }
            None => None,
        };
        match (self.operation(), second) {
            (Operation::Matmul, Some((second, right))) => {
                let stack = StackShape::of(first.shape(), second.shape())
                    .ok_or_else(|| self.mismatch(first, second))?;
                check_stack(first.elements().len(), right.len(), &stack)?;
                Ok(FloatWork::Product { right, stack })
            }
            (Operation::Map(kind), second) => {
                let map = self.map_of(*kind, first, second)?;
                check_operand(first.elements().len(), map)?;
                Ok(FloatWork::Map(map))
            }
            _ => Err(self.wrong_dtype(first.dtype())),
        }
    }

    fn map_of<'a, T: FromF64>(
        &self,
        kind: MapKind,
        first: &Array,
        second: Option<(&Array, &'a [T])>,
    ) -> Result<Map<'a, T>, ArrayFailure> {
        let operand = |operand: MapOperand| match (operand, second) {
            (MapOperand::Scalar(x), _) => Ok(Operand::Scalar(T::from_f64(x))),
            (MapOperand::Second, Some((array, data))) if array.shape() == first.shape() => {
                Ok(Operand::Array(data))
            }
            (MapOperand::Second, Some((array, _))) => Err(self.mismatch(first, array)),
            (MapOperand::Second, None) => Err(self.no_second()),
        };
        Ok(match kind {
            MapKind::Add(x) => Map::Add(operand(x)?),
            MapKind::Multiply(x) => Map::Multiply(operand(x)?),
            MapKind::Square => Map::Square,
            MapKind::Sqrt => Map::Sqrt,
            MapKind::Exp => Map::Exp,
            MapKind::Log => Map::Log,
            MapKind::Abs => Map::Abs,
            MapKind::Negate => Map::Negate,
        })
    }

    fn wrong_dtype(&self, dtype: Dtype) -> ArrayFailure {
        let takes = match self.operation() {
            Operation::Xor(_) => "integers; arr.view('uint8') shows the bytes of others as such",
            _ => "f32 or f64; convert with arr.astype('float64')",
        };
        ArrayFailure::WrongDtype { operation: self.operation().to_string(), dtype, takes }
    }

    fn no_second(&self) -> ArrayFailure {
        ArrayFailure::NoSecond { operation: self.operation().to_string() }
    }

    fn mismatch(&self, first: &Array, second: &Array) -> ArrayFailure {
        if first.dtype() != second.dtype() {
            return ArrayFailure::DtypeMismatch { first: first.dtype(), second: second.dtype() };
        }
        ArrayFailure::ShapeMismatch {
            operation: self.operation().to_string(),
            first: first.shape().to_vec(),
            second: second.shape().to_vec(),
        }
    }
}

/// Access to the elements of an array as one type, if it has that type. Signed integers are
/// accessed as unsigned ones of the same bits.
pub(crate) trait Slice: Sized {
    fn slice(elements: &Elements) -> Option<&[Self]>;
    fn slice_mut(elements: &mut Elements) -> Option<&mut [Self]>;
}

macro_rules! slice {
    ($($type:ty: $($variant:ident)+),*) => {$(
        impl Slice for $type {
            fn slice(elements: &Elements) -> Option<&[$type]> {
                match elements {
                    $(Elements::$variant(data) => Some(bytemuck::cast_slice(data)),)+
                    _ => None,
                }
            }

            fn slice_mut(elements: &mut Elements) -> Option<&mut [$type]> {
                match elements {
                    $(Elements::$variant(data) => Some(bytemuck::cast_slice_mut(data)),)+
                    _ => None,
                }
            }
        }
    )*};
}
slice!(u8: U8 I8, u16: U16 I16, u32: U32 I32, u64: U64 I64, f32: F32, f64: F64);

/// Converts a scalar operand to the item's precision.
pub(crate) trait FromF64 {
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
