//! The pages of runs, made by the real program and opened in a real browser.
//!
//! `run_page.rs` has what all tests need: the browser, and a run with its page open. Each
//! workload's page has its own file here.

mod arc;
mod array;
mod generic;
mod ot;
#[path = "../cli/program.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line")]
mod program;
mod run_page;
