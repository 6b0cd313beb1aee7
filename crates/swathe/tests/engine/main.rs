//! The engine driven end to end by a small real workload.

mod background;
mod faults;
mod gpu;
mod memory;
mod plans;
mod poison;
mod report;
mod sameness;
mod sieve;
mod slice;
mod stop;
mod stress;
mod supervision;
mod verify;
