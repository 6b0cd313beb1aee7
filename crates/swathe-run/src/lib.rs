//! Runs on disk: the folder that keeps a run, what explains it, and its pages.
//!
//! `store` drives the engine into a run folder and reads it again, `explain` finds what cost time,
//! `page` makes the report, `canvas` draws pictures, and `kind` is what a workload adds to its
//! runs. Nothing here talks to a person or names a workload: errors carry values, their readers
//! find the words.

pub mod canvas;
pub mod explain;
pub mod kind;
pub mod page;
pub mod store;
