//! The report page: a run's figures for people, in one file that needs nothing else.

use std::fmt::Write;

use swathe::{Report, Setback};

use crate::carry_out::{Finished, Output};

/// The contents of `report.html`.
pub(crate) fn page(finished: &Finished, output: &Output) -> String {
    let report = &finished.report;
    let counts = report.counts;
    let mut body = String::new();
    let headline = match &finished.merged {
        None => format!(
            "Interrupted: {} of {} problems done",
            counts.n_done(),
            counts.n_problems
        ),
        Some(_) if counts.n_unsolved() == 0 => format!("All {} problems solved", counts.n_problems),
        Some(_) => format!(
            "{} of {} problems solved",
            counts.n_solved, counts.n_problems
        ),
    };
    let _ = write!(body, "<h1>{}</h1>", escape(&headline));
    let _ = write!(
        body,
        "<p class=lead>Workload <b>{}</b>, {:.2} s, {:.1} problems a second.</p>",
        escape(&report.workload),
        report.wall_ms / 1e3,
        report.solved_per_s()
    );
    if finished.n_before > 0 {
        let _ = write!(
            body,
            "<p>{} more were done before this run resumed.</p>",
            finished.n_before
        );
    }
    table(
        &mut body,
        "Outcomes",
        &["outcome", "problems"],
        &[
            row(["solved", &counts.n_solved.to_string()]),
            row(["failed", &counts.n_failed.to_string()]),
            row(["too large", &counts.n_too_large.to_string()]),
            row(["timed out", &counts.n_timed_out.to_string()]),
            row(["panicked", &counts.n_panicked.to_string()]),
        ],
    );
    let figures: Vec<Vec<String>> = finished
        .figures
        .iter()
        .map(|(what, n)| row([what, &n.to_string()]))
        .collect();
    if !figures.is_empty() {
        table(
            &mut body,
            "Of this workload",
            &["figure", "value"],
            &figures,
        );
    }
    workers(&mut body, report);
    routes(&mut body, report);
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64);
    table(
        &mut body,
        "Memory",
        &["figure", "value"],
        &[
            row(["budget", &mib(report.memory.budget_bytes)]),
            row(["most in use", &mib(report.memory.peak_bytes)]),
            row(["reservations", &report.memory.n_reservations.to_string()]),
            row(["refused", &report.memory.n_refusals.to_string()]),
        ],
    );
    setbacks(&mut body, report);
    let verification = &report.verification;
    if verification.n_checked + verification.n_skipped > 0 {
        table(
            &mut body,
            "Verification",
            &["figure", "value"],
            &[
                row(["solved again", &verification.n_checked.to_string()]),
                row(["not possible", &verification.n_skipped.to_string()]),
                row([
                    "different answers",
                    &verification.mismatches.len().to_string(),
                ]),
            ],
        );
    }
    let _ = write!(
        body,
        "<h2>Command</h2><pre>{}</pre>",
        escape(&output.command)
    );
    if let Some(merged) = &finished.merged {
        let _ = write!(
            body,
            "<p>Result hash <code>{}</code></p>",
            escape(&merged.result_hash)
        );
    }
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style><main>{body}</main></html>\n",
        escape(&headline)
    )
}

/// Where problems went that several devices could take, and what the other choice would have cost.
fn routes(body: &mut String, report: &Report) {
    if report.routes.is_empty() {
        return;
    }
    let mut rows = Vec::new();
    for route in &report.routes {
        let shape = format!(
            "{} ({} problems, {:.0} % padding)",
            route.padded,
            route.n_problems,
            100.0 * route.waste()
        );
        for part in &route.devices {
            let is_choice = route.choice == Some(part.device);
            let lane = part.lane_ms.map(|ms| format!("{ms:.3}"));
            let remark = match (is_choice, route.choice_ms, route.other_ms) {
                (true, Some(ms), Some(other_ms)) => {
                    format!("fastest: {ms:.1} ms for all, {other_ms:.1} ms on the next best")
                }
                (true, Some(ms), None) => format!("the only one measured: {ms:.1} ms for all"),
                _ => String::new(),
            };
            rows.push(row([
                &shape,
                &part.device.to_string(),
                &part.n_lanes.to_string(),
                lane.as_deref().unwrap_or("not measured"),
                &remark,
            ]));
        }
    }
    table(
        body,
        "Routes",
        &["padded to", "device", "solved", "ms for one", ""],
        &rows,
    );
    if report.n_cpu_only > 0 {
        let _ = write!(
            body,
            "<p>{} more problems ran on the CPU because no kernel can do them.</p>",
            report.n_cpu_only
        );
    }
}

fn workers(body: &mut String, report: &Report) {
    let rows: Vec<Vec<String>> = report
        .workers
        .iter()
        .map(|worker| {
            let phases = [
                worker.solve_ms,
                worker.load_ms,
                worker.turn_ms,
                worker.memory_ms,
                worker.deliver_ms,
                worker.idle_ms,
                worker.wall_ms,
            ];
            std::iter::once(worker.worker.to_string())
                .chain(phases.iter().map(|ms| format!("{ms:.1}")))
                .collect()
        })
        .collect();
    let heads = [
        "worker",
        "solving",
        "loading",
        "waiting for a turn",
        "for memory",
        "delivering",
        "idle",
        "in all",
    ];
    table(body, "Workers, milliseconds", &heads, &rows);
}

fn setbacks(body: &mut String, report: &Report) {
    if report.n_setbacks == 0 {
        return;
    }
    let rows: Vec<Vec<String>> = report
        .setbacks
        .iter()
        .take(50)
        .map(
            |Setback {
                 at_ms,
                 cause,
                 n_problems,
                 remedy,
                 ..
             }| {
                row([
                    &format!("{at_ms:.1}"),
                    &format!("{cause:?}"),
                    &n_problems.to_string(),
                    &format!("{remedy:?}"),
                ])
            },
        )
        .collect();
    let title = format!("Setbacks: {}, all mended", report.n_setbacks);
    table(body, &title, &["ms", "cause", "problems", "remedy"], &rows);
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn table(body: &mut String, title: &str, heads: &[&str], rows: &[Vec<String>]) {
    let _ = write!(
        body,
        "<h2>{}</h2><div class=wide><table><tr>",
        escape(title)
    );
    for head in heads {
        let _ = write!(body, "<th>{}</th>", escape(head));
    }
    body.push_str("</tr>");
    for cells in rows {
        body.push_str("<tr>");
        for cell in cells {
            let _ = write!(body, "<td>{}</td>", escape(cell));
        }
        body.push_str("</tr>");
    }
    body.push_str("</table></div>");
}

/// Text that came from outside stays text.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--soft:#8882}\
body{margin:0;font:16px/1.5 system-ui,sans-serif}\
main{max-width:60rem;margin:0 auto;padding:2rem 1rem 4rem}\
h1{font-size:1.7rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}\
.lead{margin:0;opacity:.8}.wide{overflow-x:auto}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{text-align:right;padding:.3rem .8rem;border-bottom:1px solid var(--line)}\
th:first-child,td:first-child{text-align:left;padding-left:0}th{font-weight:600}\
pre{background:var(--soft);padding:.8rem;border-radius:.4rem;overflow-x:auto}\
code{overflow-wrap:anywhere}";
