//! Traces: a run's launches in the form that Perfetto and chrome://tracing open.

use serde_json::{Value, json};
use swathe::Report;

/// One track for each worker, one slice for loading and one for solving each launch.
pub fn chrome_trace(report: &Report) -> String {
    let mut events: Vec<Value> = Vec::new();
    for worker in &report.workers {
        events.push(json!({
            "ph": "M", "pid": 1, "tid": worker.worker, "name": "thread_name",
            "args": {"name": format!("cpu worker {}", worker.worker)},
        }));
    }
    for launch in &report.launches {
        let slice = |name: &str, from_ms: f64, to_ms: f64| {
            json!({
                "ph": "X", "pid": 1, "tid": launch.worker, "cat": name,
                "name": format!("{name} {} x {}", launch.n_lanes, launch.shape),
                "ts": from_ms * 1e3, "dur": (to_ms - from_ms).max(0.0) * 1e3,
                "args": {
                    "device": launch.device, "class": launch.class, "shape": launch.shape,
                    "n_lanes": launch.n_lanes, "bytes": launch.bytes,
                },
            })
        };
        events.push(slice("load", launch.start_ms, launch.solve_start_ms));
        events.push(slice("solve", launch.solve_start_ms, launch.end_ms));
    }
    for setback in &report.setbacks {
        events.push(json!({
            "ph": "i", "pid": 1, "tid": 0, "s": "p", "ts": setback.at_ms * 1e3,
            "name": "setback", "args": setback,
        }));
    }
    json!({"traceEvents": events, "displayTimeUnit": "ms"}).to_string()
}
