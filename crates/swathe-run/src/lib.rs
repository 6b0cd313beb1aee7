//! Runs on disk: run folders, explanations of finished runs, and report pages.
//!
//! `store` runs the engine, writes its outcomes into a run folder and reads the folder back.
//! `explain` finds what cost time, `page` makes the report, `canvas` draws pictures, and `kind` is
//! what a workload adds to its runs. This crate prints nothing and names no workload: errors carry
//! values, and the caller turns them into text.

pub mod canvas;
pub mod explain;
pub mod kind;
pub mod page;
pub mod store;
