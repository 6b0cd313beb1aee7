//! swathe-io

pub mod atomic_file;
pub mod list_column;
pub mod npy;
pub mod npz;
