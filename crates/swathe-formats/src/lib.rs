//! Formats: NumPy files, lists in Parquet, CSV tables; files that appear whole or not at all, and
//! files in memory.
//!
//! No length that a file declares is trusted. Nothing here knows what a file is for.

pub mod arrow_elements;
pub mod atomic_file;
pub mod csv;
pub mod described_field;
pub mod list_column;
pub mod mapped_file;
pub mod npy;
pub mod npz;
pub mod regular_file;
