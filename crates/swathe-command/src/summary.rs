//! Summaries: a run in a few words, at its end and in its report.

use swathe::{Counts, DeviceUse, Report, WorkerFigures};
use swathe_run::explain::advice::Turns;
use swathe_run::explain::quantity::{bytes, percent};
use swathe_run::store::run_folder::sum_counts;

/// What became of all problems, those that were done `before` the run resumed included: `40 solved`,
/// `2 failed` …
pub fn outcomes(report: &Report, before: Counts) -> Vec<String> {
    let counts = sum_counts([before, report.counts]);
    let mut parts = vec![format!("{} solved", counts.n_solved)];
    for (n, what) in [
        (counts.n_failed, "failed"),
        (counts.n_too_large, "too large"),
        (counts.n_timed_out, "timed out"),
        (counts.n_panicked, "panicked"),
        (before.n_problems, "of them done before"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    if report.n_setbacks > 0 {
        let setbacks = counted(report.n_setbacks, "setback", "setbacks");
        parts.push(format!("{setbacks} mended"));
    }
    parts
}

/// What workers did, all together, in milliseconds, in the order of a problem's way.
pub fn phases(report: &Report) -> [(&'static str, f64); 6] {
    let sum = |of: fn(&WorkerFigures) -> f64| report.workers.iter().map(of).sum();
    [
        ("solving", sum(|worker| worker.solve_ms)),
        ("loading", sum(|worker| worker.load_ms)),
        ("waiting for a turn", sum(|worker| worker.turn_ms)),
        ("waiting for memory", sum(|worker| worker.memory_ms)),
        ("handing over", sum(|worker| worker.deliver_ms)),
        ("idle", sum(|worker| worker.idle_ms)),
    ]
}

/// One line: how busy the threads and devices were, what held them up, and the memory.
pub fn figures(report: &Report) -> String {
    let turns = Turns::of(report);
    let mut line = match turns.n_turns {
        0 => "nothing was solved".to_owned(),
        _ => format!("{} busy {}", turns_text(report), percent(turns.busy())),
    };
    // What is loaded ahead of its turn holds nothing up, so a share of the workers' time says
    // little while the turns are busy.
    if turns.busy() < 0.95 && turns.n_turns > 0 {
        let mut waits = [
            ("loading", turns.load_ms),
            ("waiting for memory", turns.memory_ms),
            ("writing results", turns.deliver_ms),
            ("nothing left to take", turns.idle_ms),
        ];
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (cause, ms) = waits[0];
        if ms > 0.0 {
            line += &format!(", held up most by {cause}");
        }
    }
    line + &format!(
        "; memory {} of {} at most",
        bytes(report.memory.peak_bytes),
        bytes(report.memory.budget_bytes)
    )
}

/// Who solved: `2 threads and gpu:0`.
pub fn turns_text(report: &Report) -> String {
    let did_solve = |device: &DeviceUse| {
        let mut workers = report.workers.iter();
        workers.any(|worker| worker.device == device.id() && worker.solve_ms > 0.0)
    };
    let devices = report.devices.iter().filter(|device| did_solve(device));
    let names: Vec<String> = devices
        .map(|device| match device.cpu() {
            Some(cpu) => counted(cpu.n_threads as u64, "thread", "threads"),
            None => device.id().to_string(),
        })
        .collect();
    names.join(" and ")
}

/// `1 problem`, `2 problems`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
