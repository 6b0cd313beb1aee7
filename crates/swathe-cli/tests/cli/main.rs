//! The real program, driven as its users drive it.

mod array_inputs;
mod interruption;
mod memory;
mod output_trouble;
mod program;
mod sameness;
mod shards;
mod usage;
