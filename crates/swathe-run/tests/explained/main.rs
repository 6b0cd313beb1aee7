//! Runs explained: what traces, flame graphs, advice and comparisons make of a report.

mod advice;
mod comparison;
mod flame;
mod made_up_report;
mod quantity;
mod trace;
