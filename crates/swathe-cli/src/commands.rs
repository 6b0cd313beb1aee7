//! Commands: a file for each verb.

pub(crate) mod arc;
pub(crate) mod array;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod devices;
pub(crate) mod lattice;
pub(crate) mod merge;
pub(crate) mod ot;
pub(crate) mod report;
pub(crate) mod sweep;
pub(crate) mod watch;
