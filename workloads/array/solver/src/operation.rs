//! Operations: what is done to every item of a batch.

use std::fmt;
use std::sync::Arc;

use crate::{Array, Dtype};

/// What is done to every item. The operation and the operands determine the element type of a
/// result (see [`result_dtype`](Operation::result_dtype)).
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// XORs integers with a key; a second XOR with the same key restores them.
    Xor(Key),
    /// Multiplies the first operand by the second.
    Matmul,
    /// Maps every element.
    Map(MapKind),
}

/// What an item is XORed with.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// Each item with its own second operand, element by element.
    Second,
    /// All items with one array of the same number of elements.
    Array(Arc<Array>),
    /// All items with one short array, repeated.
    Cycle(Arc<Array>),
    /// All items with these numbers, repeated. Each number must fit in the items' elements,
    /// whatever their width.
    Numbers(Arc<Vec<u64>>),
    /// All items with the [`KeyStream`](crate::KeyStream) of this seed.
    Seed(u64),
}

/// What a map does to an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MapKind {
    /// Adds the operand.
    Add(MapOperand),
    /// Multiplies by the operand.
    Multiply(MapOperand),
    /// x².
    Square,
    /// √x; NaN for negative x.
    Sqrt,
    /// eˣ.
    Exp,
    /// ln x; NaN for negative x.
    Log,
    /// |x|.
    Abs,
    /// −x.
    Negate,
}

/// What a map adds or multiplies by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MapOperand {
    /// One number, rounded to the item's element type.
    Scalar(f64),
    /// Each item's second operand, element by element.
    Second,
}

impl Operation {
    /// Whether every item has two operands.
    pub fn takes_two(&self) -> bool {
        match self {
            Operation::Xor(key) => *key == Key::Second,
            Operation::Matmul => true,
            Operation::Map(map) => {
                matches!(
                    map,
                    MapKind::Add(MapOperand::Second) | MapKind::Multiply(MapOperand::Second)
                )
            }
        }
    }

    /// A number for each operation, which must not change while stored costs use it.
    pub(crate) fn number(&self) -> u32 {
        match self {
            Operation::Xor(Key::Seed(_)) => 0,
            Operation::Xor(_) => 1,
            Operation::Matmul => 2,
            Operation::Map(map) => match map {
                MapKind::Add(_) => 3,
                MapKind::Multiply(_) => 4,
                MapKind::Square => 5,
                MapKind::Sqrt => 6,
                MapKind::Exp => 7,
                MapKind::Log => 8,
                MapKind::Abs => 9,
                MapKind::Negate => 10,
            },
        }
    }

    /// The element type of the results for operands of these types, or `None` if the operation does
    /// not accept them. Single and double precision together give double.
    pub fn result_dtype(&self, first: Dtype, second: Option<Dtype>) -> Option<Dtype> {
        let second = second.unwrap_or(first);
        match (self.accepts(first) && self.accepts(second), first == second) {
            (false, _) => None,
            (true, true) => Some(first),
            (true, false) => (!first.is_integer()).then_some(Dtype::F64),
        }
    }

    /// Whether the operation accepts items of this element type.
    pub fn accepts(&self, dtype: Dtype) -> bool {
        match self {
            Operation::Xor(_) => dtype.is_integer(),
            Operation::Matmul | Operation::Map(_) => !dtype.is_integer(),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Xor(_) => "xor",
            Operation::Matmul => "matmul",
            Operation::Map(map) => match map {
                MapKind::Add(_) => "add",
                MapKind::Multiply(_) => "multiply",
                MapKind::Square => "square",
                MapKind::Sqrt => "sqrt",
                MapKind::Exp => "exp",
                MapKind::Log => "log",
                MapKind::Abs => "abs",
                MapKind::Negate => "negate",
            },
        })
    }
}
