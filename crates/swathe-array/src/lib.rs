//! Batched XOR, matrix products, element-wise maps and lattices.

mod agree;
mod array;
mod batch;
mod element;
mod fit;
mod gpu;
mod key_stream;
pub mod lattice;
pub mod map;
pub mod matmul;
mod operation;
mod simd;
mod workload;
pub mod xor;

pub use array::{Array, Dtype, Elements, ShapeMismatch, volume};
pub use batch::{map, map_pairs, matmul, xor};
pub use element::{Float, Unsigned};
pub use key_stream::KeyStream;
pub use lattice::Lattice;
pub use operation::{Key, MapKind, MapOperand, Operation};
pub use swathe::{Simd, SimdPath, SimdUnavailable};
pub use workload::{Answer, ArrayFailure, ArrayWorkload, Item, Operands};

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
