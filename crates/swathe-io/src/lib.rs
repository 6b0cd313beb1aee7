//! swathe-io

pub mod atomic_file;
pub mod npy;
pub mod npz;
