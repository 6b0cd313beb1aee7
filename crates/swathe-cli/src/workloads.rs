//! The register of workloads: every workload is one line here.

use swathe_command::program::Program;

/// The workloads, in the order in which help and demo show them.
pub(crate) static PROGRAMS: &[&Program] = &[
    &swathe_ot_program::PROGRAM,
    &swathe_arc_program::PROGRAM,
    &swathe_array_program::PROGRAM,
    &swathe_lattice_program::PROGRAM,
];
