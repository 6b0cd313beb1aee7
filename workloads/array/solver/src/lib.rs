//! Batched XOR, matrix products and element-wise maps.

mod agree;
mod batch;
mod element;
mod fit;
mod gpu;
mod key_stream;
pub mod map;
pub mod matmul;
mod operation;
mod simd;
mod workload;
pub mod xor;

pub use batch::{map, map_pairs, matmul, xor};
pub use element::{Float, Unsigned};
pub use key_stream::KeyStream;
pub use operation::{Key, MapKind, MapOperand, Operation};
pub use swathe::array::{Array, Dtype, Elements, ShapeMismatch, volume};
pub use swathe::{Simd, SimdPath, SimdUnavailable};
pub use workload::{Answer, ArrayFailure, ArrayWorkload, Item, Operands};
