//! File formats: NumPy files, list columns in Parquet, CSV tables, atomic files and memory-mapped
//! files.
//!
//! Lengths that a file declares are never trusted. This crate does not know what a file is used
//! for.

pub mod arrow_elements;
pub mod atomic_file;
pub mod csv;
pub mod list_column;
pub mod mapped_file;
pub mod name_list;
pub mod npy;
pub mod npz;
pub mod regular_file;
