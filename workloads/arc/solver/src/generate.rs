//! New programs from programs: parts of them, mutants, and many merged into one function.

pub(crate) mod augment;
pub(crate) mod combine;
pub(crate) mod digest;
pub(crate) mod harvest;
pub(crate) mod mutate;
mod node_program;
