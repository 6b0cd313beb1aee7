//! Batched XOR, matrix products, element-wise maps and lattices.

mod array;
mod element;
mod key_stream;
pub mod lattice;
pub mod map;
pub mod matmul;
mod simd;
pub mod xor;

pub use array::{Array, Dtype, Elements, ShapeMismatch, volume};
pub use element::{Float, Unsigned};
pub use key_stream::KeyStream;
pub use lattice::Lattice;
pub use simd::{Simd, SimdPath, SimdUnavailable};
