//! The pages of runs, made by the real program and opened in a real browser.
//!
//! `run_page.rs` has what all of them need: the browser, and a run with its page open. A
//! workload's page has a file of its own here.

mod arc;
mod array;
mod generic;
mod ot;
#[path = "../cli/program.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line")]
mod program;
mod run_page;
