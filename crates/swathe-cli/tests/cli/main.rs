//! Tests that run the real program as users do.

mod arc;
mod arc_inputs;
mod arc_runs;
mod arc_show;
mod arc_usage;
mod array_inputs;
mod gpus;
mod interruption;
mod memory;
mod odd_files;
mod ot_check;
mod ot_epsilon;
mod ot_failures;
mod ot_frames;
mod ot_inputs;
mod ot_pictures;
mod ot_runs;
mod ot_suggest;
mod output_trouble;
mod program;
mod sameness;
mod shards;
mod streams;
mod tools;
mod usage;
