//! Batched XOR, matrix products, element-wise maps and lattices.

mod array;
pub mod lattice;

pub use array::{Array, Dtype, Elements, ShapeMismatch, volume};
pub use lattice::Lattice;
