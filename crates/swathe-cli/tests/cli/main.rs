//! Tests that run the real program as users do.

mod arc;
mod arc_batt;
mod arc_generate;
mod arc_runs;
mod arc_show;
mod borrowed_memory;
mod cases;
mod config;
mod documents;
mod interruption;
mod memory;
mod ot_library;
mod ot_runs;
mod output_trouble;
mod program;
mod report;
mod shards;
mod streams;
mod table_metadata;
