//! Tests of the explanations of a run: traces, flame graphs, advice and comparisons.

mod advice;
mod comparison;
mod flame;
mod made_up_report;
mod quantity;
mod trace;
