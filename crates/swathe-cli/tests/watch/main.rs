//! The live page: its server, tested by HTTP requests, and the page in a browser.

#[path = "../cli/program.rs"]
#[allow(dead_code, reason = "shared with the tests of the commands")]
mod program;

mod access;
mod folders;
mod http;
mod metrics;
mod page;
mod routes;
mod runs;
mod states;
mod usage;
mod viewers;
mod watching;
