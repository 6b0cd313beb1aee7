//! A run as text: what ran, where the time went, and what cost it.

use swathe::{OperationFigures, Report};
use swathe_run::explain::advice::{Advice, Turns};
use swathe_run::explain::failure_groups::{self, failure_groups};
use swathe_run::explain::quantity::{count, percent, rate, time};
use swathe_run::kind::Apart;
use swathe_run::store::reported_run::ReportedRun;

use super::advice_text::advice_text;
use super::columns::{columns, plain};
use swathe_command::summary;

/// How many costs are listed; further ones are small.
const N_COSTS: usize = 5;
const N_BUCKETS: usize = 5;

/// The report of a run, short enough for a terminal.
pub(super) fn run_text(
    run: &ReportedRun,
    headline: Option<String>,
    apart: Option<Apart>,
    found: &[Advice],
) -> String {
    let report = &run.file.report;
    let mut text = headline.map_or_else(String::new, |headline| format!("{headline}\n"));
    text += &format!("{}: {}\n", report.workload, outcomes(run, apart));
    text += &why(run);
    text += &facts(run);
    text += "\nWhere the workers' time went\n";
    text += &phases(report);
    let turns = Turns::of(report);
    if turns.n_turns > 0 {
        text += &format!(
            "  {} solved {} of the time; waiting for a turn is loading ahead.\n",
            summary::turns_text(report),
            percent(turns.busy())
        );
    }
    text += &buckets(report);
    text += &costs(report, &turns, found);
    text
}

fn outcomes(run: &ReportedRun, apart: Option<Apart>) -> String {
    let text = summary::outcomes(&run.file.report, run.file.before, apart).join(", ");
    match run.file.report.cancelled {
        true => format!("interrupted, {text}"),
        false => text,
    }
}

/// Why problems failed, if some did.
fn why(run: &ReportedRun) -> String {
    // An interrupted run has no table of failures yet.
    let groups = failure_groups(&run.path).unwrap_or_default();
    let lines = failure_groups::lines(&groups);
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

fn facts(run: &ReportedRun) -> String {
    let report = &run.file.report;
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut fact = |name: &str, value: String| rows.push([name.to_owned(), value]);
    fact("command", run.file.command.clone());
    fact("time", format!("{}, {} solved", time(report.wall_ms), rate(report.solved_per_s())));
    for figure in summary::memory(&report.memory) {
        let (name, value) = figure.split_once(' ').unwrap_or_default();
        fact(name, value.to_owned());
    }
    fact(
        "launches",
        format!(
            "{} in {}",
            count(report.n_launches),
            summary::counted(report.buckets.len() as u64, "bucket", "buckets")
        ),
    );
    fact(
        "setbacks",
        match report.n_setbacks {
            0 => "none".to_owned(),
            n => format!("{}, all mended", count(n)),
        },
    );
    let verification = &report.verification;
    if verification.n_checked + verification.n_skipped > 0 {
        fact(
            "solved again",
            format!(
                "{}, {} with another answer, {} not possible",
                count(verification.n_checked),
                count(verification.mismatches.len() as u64),
                count(verification.n_skipped)
            ),
        );
    }
    for (what, n) in run.file.figures.iter().filter(|(_, n)| **n > 0) {
        fact("", format!("{} {what}", count(*n)));
    }
    for warning in &run.file.warnings {
        fact("warning", warning.clone());
    }
    if let Some(hash) = &run.file.result_hash {
        fact("result hash", hash.clone());
    }
    columns(["", ""], &rows)
}

/// Each phase with its time, its share, and a bar whose length is that share.
fn phases(report: &Report) -> String {
    const N_BLOCKS: f64 = 30.0;
    let phases = summary::phases(report);
    let all_ms: f64 = phases.iter().map(|(_, ms)| ms).sum();
    let rows: Vec<[String; 4]> = phases
        .iter()
        .map(|(name, ms)| {
            let share = if all_ms > 0.0 { ms / all_ms } else { 0.0 };
            let bar = "█".repeat((share * N_BLOCKS).round() as usize);
            [(*name).to_owned(), time(*ms), percent(share), bar]
        })
        .collect();
    columns(["", ">", ">", ""], &rows)
}

/// The buckets that took the longest to solve.
fn buckets(report: &Report) -> String {
    if report.buckets.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<_> = report.buckets.iter().collect();
    sorted.sort_by(|a, b| b.solve_ms.total_cmp(&a.solve_ms));
    let rows: Vec<[String; 8]> = sorted
        .iter()
        .take(N_BUCKETS)
        .map(|bucket| {
            let dearest = bucket.operations.iter().max_by(|a, b| a.ms.total_cmp(&b.ms));
            let operation =
                |operation: &OperationFigures| format!("{} {}", operation.name, time(operation.ms));
            [
                bucket.device.to_string(),
                bucket.class_name.clone(),
                bucket.shape.to_string(),
                count(bucket.n_lanes),
                time(bucket.solve_ms),
                time(bucket.solve_ms / bucket.n_lanes.max(1) as f64),
                percent(bucket.waste()),
                dearest.map_or(String::new(), operation),
            ]
        })
        .collect();
    let title = match report.buckets.len() > N_BUCKETS {
        true => format!("{N_BUCKETS} of {} buckets", report.buckets.len()),
        false => "Buckets".to_owned(),
    };
    let heads =
        ["device", "class", "shape", ">problems", ">solving", ">for one", ">padding", "most on"];
    format!("\n{title}, the longest first\n{}", columns(heads, &rows))
}

fn costs(report: &Report, turns: &Turns, found: &[Advice]) -> String {
    let mut text = String::from("\nWhat cost time\n");
    if found.is_empty() {
        text += &match turns.n_turns {
            0 => "  nothing was solved\n".to_owned(),
            _ => format!(
                "  nothing stands out: solving took {} of the threads' time\n",
                percent(turns.busy())
            ),
        };
    }
    for advice in found.iter().take(N_COSTS) {
        let (what, remedy) = advice_text(advice, turns);
        let share = percent(advice.cost_ms / report.wall_ms.max(1e-9));
        text += &format!(
            "  {} ({share}): {}\n    {}\n",
            time(advice.cost_ms),
            plain(&what),
            plain(&remedy)
        );
    }
    text
}
