//! Images, NumPy, CSV, Parquet and JSON in; run folders and reports out.
//!
//! Everything that touches a file is here, and nothing that talks to a person: errors carry what
//! happened, their readers find the words.

pub mod advice;
mod arc_page;
pub mod arc_picture;
pub mod arc_run;
pub mod arc_table;
pub mod array_input;
pub mod array_limits;
mod array_page;
pub mod array_table;
pub mod atomic_file;
pub mod canvas;
pub mod carry_out;
pub mod comparison;
pub mod cost_file;
pub mod csv;
mod described_field;
pub mod flame;
pub mod frame;
pub mod frame_cache;
mod kept_rows;
mod lattice_page;
pub mod lattice_queries;
pub mod lattice_table;
pub mod list_column;
pub mod live_file;
pub mod mapped_file;
pub mod npy;
pub mod npz;
mod ot_page;
pub mod pair_files;
pub mod pair_input;
pub mod pair_picture;
pub mod pair_record;
pub mod pair_shapes;
pub mod pair_survey;
pub mod pair_table;
pub mod pair_workload;
pub mod program_input;
pub mod quantity;
pub mod report_file;
pub mod report_page;
pub mod reported_run;
pub mod rows;
pub mod run_folder;
pub mod series_files;
pub mod submission;
mod table_reader;
pub mod task_input;
mod timing_table;
pub mod trace;
