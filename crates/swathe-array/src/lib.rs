//! Batched XOR, matrix products, element-wise maps and lattices.

mod array;

pub use array::{Array, Dtype, Elements, ShapeMismatch, volume};
