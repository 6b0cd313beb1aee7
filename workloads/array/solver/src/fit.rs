//! Whether an item's operands fit the operation: asked alike wherever the item is solved.

use std::borrow::Borrow;

use crate::element::{Float, Unsigned};
use crate::map::{Map, Operand, check_operand};
use crate::matmul::{ProductShape, check_operands};
use crate::operation::{Key, MapKind, MapOperand, Operation};
use crate::workload::{ArrayFailure, ArrayWorkload, Item};
use crate::xor::{XorKey, check_key};
use crate::{Array, Dtype, Elements};

/// What is to be done to an item of floats, whose operands fit together.
pub(crate) enum FloatWork<'a, T> {
    /// Multiply the first operand by this one.
    Product { right: &'a [T], shape: ProductShape },
    /// Map the first operand's elements.
    Map(Map<'a, T>),
}

impl<A: Borrow<Array>> ArrayWorkload<A> {
    /// The operands of an item, if they are as many and of a type that the operation takes.
    pub(crate) fn operands<'a>(
        &self,
        item: &'a Item<A>,
    ) -> Result<(&'a Array, Option<&'a Array>), ArrayFailure> {
        let first: &Array = item.first.borrow();
        let second = item
            .second
            .as_ref()
            .map(|second| -> &Array { second.borrow() });
        if !self.operation().accepts(first.dtype()) {
            return Err(self.wrong_dtype(first.dtype()));
        }
        if self.operation().takes_two() && second.is_none() {
            return Err(self.no_second());
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
        let elements_of =
            |key: &'a Array| T::slice(key.elements()).ok_or_else(|| self.mismatch(first, key));
        let key = match (key, second) {
            (Key::Seed(seed), _) => XorKey::Seed(*seed),
            (Key::Cycle(key), _) => XorKey::Cycle(elements_of(key)?),
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

    /// What is to be done to an item of floats, if its operands fit together.
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
                let shape = self.product_shape(first, second)?;
                check_operands(first.elements().len(), right.len(), shape)?;
                Ok(FloatWork::Product { right, shape })
            }
            (Operation::Map(kind), second) => {
                let map = self.map_of(*kind, first, second)?;
                check_operand(first.elements().len(), map)?;
                Ok(FloatWork::Map(map))
            }
            _ => Err(self.wrong_dtype(first.dtype())),
        }
    }

    fn product_shape(&self, first: &Array, second: &Array) -> Result<ProductShape, ArrayFailure> {
        match (first.shape(), second.shape()) {
            (&[n_rows, n_inner], &[n_inner_too, n_cols])
                if n_inner == n_inner_too && crate::volume(&[n_rows, n_cols]).is_some() =>
            {
                Ok(ProductShape {
                    n_rows,
                    n_inner,
                    n_cols,
                })
            }
            _ => Err(self.mismatch(first, second)),
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
        let takes = if matches!(self.operation(), Operation::Xor(_)) {
            "u8, u32 or u64"
        } else {
            "f32 or f64"
        };
        ArrayFailure::WrongDtype {
            operation: self.operation().to_string(),
            dtype,
            takes,
        }
    }

    fn no_second(&self) -> ArrayFailure {
        ArrayFailure::NoSecond {
            operation: self.operation().to_string(),
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
            operation: self.operation().to_string(),
            first: first.shape().to_vec(),
            second: second.shape().to_vec(),
        }
    }
}

/// The elements of one type, if an array has that type.
pub(crate) trait Slice: Sized {
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
