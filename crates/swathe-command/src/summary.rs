//! Summaries: short texts about a run, for the end of a run and its report.

use swathe::{Counts, DeviceUse, MemoryFigures, Report, WorkerFigures};
use swathe_run::explain::advice::Turns;
use swathe_run::explain::quantity::{bytes, percent};
use swathe_run::kind::Apart;
use swathe_run::store::run_folder::sum_counts;

/// The counts of all problems as texts (`40 solved`, `2 failed` …), including those done `before`
/// the run resumed. Those `apart` are not counted as solved.
pub fn outcomes(report: &Report, before: Counts, apart: Option<Apart>) -> Vec<String> {
    let counts = sum_counts([before, report.counts]);
    let n_apart = apart.map_or(0, |apart| apart.n);
    let mut parts = vec![format!("{} solved", counts.n_solved.saturating_sub(n_apart))];
    parts.extend(apart.map(|Apart { n, what }| format!("{n} {what}")));
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

/// The time of each phase in milliseconds, summed over all workers.
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

/// One line: how busy the threads and devices were, what they waited for most, and the memory used.
pub fn figures(report: &Report) -> String {
    let turns = Turns::of(report);
    let mut line = match turns.n_turns {
        0 => "nothing was solved".to_owned(),
        _ => format!("{} busy {}", turns_text(report), percent(turns.busy())),
    };
    // Prefetching delays nothing, so while the turns are busy the workers' waiting times mean
    // little.
    if turns.busy() < 0.95 && turns.n_turns > 0 {
        let mut waits = [
            ("loading", turns.load_ms),
            ("waiting for memory", turns.memory_ms),
            ("writing results", turns.deliver_ms),
            ("no work left", turns.idle_ms),
        ];
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (cause, ms) = waits[0];
        if ms > 0.0 {
            line += &format!("; most of the rest: {cause}");
        }
    }
    line + "; " + &memory(&report.memory).join(", ")
}

/// What a run took of memory, and what it had reserved: `memory 62 MiB at most`, `reserved 700 MiB
/// of 18 GiB`.
pub fn memory(memory: &MemoryFigures) -> Vec<String> {
    let resident = (memory.resident_peak_bytes > 0)
        .then(|| format!("memory {} at most", bytes(memory.resident_peak_bytes)));
    let reserved =
        format!("reserved {} of {}", bytes(memory.peak_bytes), bytes(memory.budget_bytes));
    resident.into_iter().chain([reserved]).collect()
}

/// The devices that solved problems: `2 threads and gpu:0`.
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
