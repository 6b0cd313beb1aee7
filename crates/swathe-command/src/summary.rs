//! Summaries: a run in a few words, at its end and in its report.

use swathe::{Counts, DeviceUse, Report, WorkerFigures};
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

/// Three lines that say where the time and the memory went.
pub fn figures(report: &Report) -> [String; 3] {
    let phases = phases(report);
    let all_ms: f64 = phases.iter().map(|(_, ms)| ms).sum();
    let shares: Vec<String> = phases
        .iter()
        .map(|(name, ms)| format!("{:.1} % {name}", 100.0 * ms / all_ms.max(1e-9)))
        .collect();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    [
        format!("workers: {},", shares[..3].join(", ")),
        format!("         {}", shares[3..].join(", ")),
        format!(
            "memory:  {:.1} MiB of {:.1} MiB at most",
            mib(report.memory.peak_bytes),
            mib(report.memory.budget_bytes)
        ),
    ]
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
