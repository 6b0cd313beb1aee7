//! Run folders on disk: written part by part, merged into tables, read back.

pub mod cost_file;
pub mod execute;
pub mod kept_rows;
pub mod live_file;
pub mod merged_report;
pub mod place;
pub mod record;
pub mod report_file;
pub mod reported_run;
pub mod row_numbers;
pub mod rows;
pub mod run_folder;
pub mod shard_status;
pub mod table_reader;
pub mod timing_table;
pub mod value_rows;
