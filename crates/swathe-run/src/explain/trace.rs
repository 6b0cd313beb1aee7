//! Traces: a run's launches in the format of Perfetto and chrome://tracing.
//!
//! Each device is a process and each of its workers a track, with a slice for every kept launch and
//! nested slices for its phases. One more process holds the counters of the whole run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use swathe::{BucketFigures, DeviceId, Launch, Report, Setback, SetbackCause};

/// The trace of a run as JSON; `command` is the command that made the run.
pub fn chrome_trace(report: &Report, command: &str) -> String {
    let processes = processes(report);
    let mut events = names(report, &processes);
    counters(report, &mut events);
    let classes = class_names(&report.buckets);
    for launch in &report.launches {
        slices(launch, &classes, &processes, &mut events);
    }
    for setback in &report.setbacks {
        events.push(instant(setback, &processes));
    }
    let trace = Trace {
        trace_events: events,
        display_time_unit: "ms",
        other_data: json!({
            "command": command,
            "workload": report.workload,
            "n_launches": report.n_launches,
            "launches_step": report.launches_step,
        }),
    };
    serde_json::to_string(&trace).unwrap_or_default()
}

/// The whole file. The trace format defines the names.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace<'a> {
    trace_events: Vec<TraceEvent<'a>>,
    display_time_unit: &'static str,
    other_data: Value,
}

/// One event. The trace format defines the names of the fields.
#[derive(Serialize)]
struct TraceEvent<'a> {
    /// The kind: `M` is metadata (a name), `B` and `E` begin and end a slice, `C` is a counter, `i`
    /// is an instant.
    ph: char,
    pid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<usize>,
    /// In microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    /// The scope of an instant: `p` is its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
}

impl<'a> TraceEvent<'a> {
    fn new(ph: char, pid: usize) -> TraceEvent<'a> {
        TraceEvent { ph, pid, tid: None, ts: None, name: None, s: None, args: None }
    }
}

/// The process of the run's own counters.
const RUN_PID: usize = 1;

/// Microseconds, rounded to the nanosecond. The same moment always gives the same number, so
/// rounding cannot make touching slices overlap.
fn us(ms: f64) -> f64 {
    (ms * 1e6).round() / 1e3
}

/// The process of every device that did anything, the CPU first.
fn processes(report: &Report) -> BTreeMap<DeviceId, usize> {
    let workers = report.workers.iter().map(|worker| worker.device);
    let launches = report.launches.iter().map(|launch| launch.device);
    let setbacks = report.setbacks.iter().map(|setback| setback.device);
    let mut processes: BTreeMap<DeviceId, usize> =
        workers.chain(launches).chain(setbacks).map(|device| (device, 0)).collect();
    for (at, pid) in processes.values_mut().enumerate() {
        *pid = RUN_PID + 1 + at;
    }
    processes
}

/// The names and the order of processes and tracks.
fn names<'a>(report: &Report, processes: &BTreeMap<DeviceId, usize>) -> Vec<TraceEvent<'a>> {
    let mut events = Vec::new();
    let mut name = |what: &'static str, pid: usize, tid: Option<usize>, args: Value| {
        events.push(TraceEvent {
            tid,
            name: Some(what.into()),
            args: Some(args),
            ..TraceEvent::new('M', pid)
        });
    };
    let run = format!("{} run", report.workload);
    name("process_name", RUN_PID, None, json!({"name": run}));
    name("process_sort_index", RUN_PID, None, json!({"sort_index": 0}));
    if report.launches_step > 1 {
        let thinned =
            format!("one in {} of {} launches is shown", report.launches_step, report.n_launches);
        name("process_labels", RUN_PID, None, json!({"labels": thinned}));
    }
    for (&device, &pid) in processes {
        let called = device_name(report, device);
        name("process_name", pid, None, json!({"name": called}));
        name("process_sort_index", pid, None, json!({"sort_index": pid}));
    }
    // Abandoned workers have launches but no figures.
    let workers = report.workers.iter().map(|worker| (worker.worker, worker.device));
    let launches = report.launches.iter().map(|launch| (launch.worker, launch.device));
    let tracks: BTreeMap<usize, DeviceId> = workers.chain(launches).collect();
    for (worker, device) in tracks {
        let pid = processes.get(&device).copied().unwrap_or(RUN_PID);
        let called = json!({"name": format!("worker {worker}")});
        name("thread_name", pid, Some(track(worker)), called);
        let index = json!({"sort_index": worker});
        name("thread_sort_index", pid, Some(track(worker)), index);
    }
    events
}

/// Trace viewers treat track 0 specially, so workers begin at 1.
fn track(worker: usize) -> usize {
    worker + 1
}

fn device_name(report: &Report, device: DeviceId) -> String {
    let known = report.devices.iter().find(|known| known.id() == device);
    let gpu = known.and_then(|known| Some(&known.gpu()?.info.name));
    match gpu {
        Some(name) => format!("{device} ({name})"),
        None => device.to_string(),
    }
}

/// Memory, resident and reserved, and problems done, waiting and in flight, over time.
fn counters(report: &Report, events: &mut Vec<TraceEvent<'_>>) {
    for sample in &report.samples {
        let counters = [
            ("memory", json!({"bytes": sample.resident_bytes})),
            ("memory reserved", json!({"bytes": sample.used_bytes})),
            ("problems waiting", json!({"problems": sample.n_waiting})),
            ("problems in flight", json!({"problems": sample.n_in_flight})),
            ("problems done", json!({"problems": sample.n_done})),
        ];
        for (name, args) in counters {
            events.push(TraceEvent {
                ts: Some(us(sample.at_ms)),
                name: Some(name.into()),
                args: Some(args),
                ..TraceEvent::new('C', RUN_PID)
            });
        }
    }
}

fn class_names(buckets: &[BucketFigures]) -> BTreeMap<u32, &str> {
    let named = buckets.iter().map(|bucket| (bucket.class, bucket.class_name.as_str()));
    named.collect()
}

/// The slice of a launch with the slices of its phases inside.
fn slices<'a>(
    launch: &Launch,
    classes: &BTreeMap<u32, &str>,
    processes: &BTreeMap<DeviceId, usize>,
    events: &mut Vec<TraceEvent<'a>>,
) {
    let pid = processes.get(&launch.device).copied().unwrap_or(RUN_PID);
    let mut push = |ph: char, at_ms: f64, name: Option<Cow<'a, str>>, args: Option<Value>| {
        events.push(TraceEvent {
            tid: Some(track(launch.worker)),
            ts: Some(us(at_ms)),
            name,
            args,
            ..TraceEvent::new(ph, pid)
        });
    };
    let launched = launch.volume_launched;
    let padding = launched.saturating_sub(launch.volume_real) as f64 / launched.max(1) as f64;
    let class = classes.get(&launch.class).copied().unwrap_or_default();
    let args = json!({
        "class": class,
        "shape": launch.shape,
        "lanes": launch.n_lanes,
        "bytes": launch.bytes,
        "padding": padding,
    });
    let name = match class {
        "" => format!("{} × {}", launch.n_lanes, launch.shape),
        class => format!("{} × {} {class}", launch.n_lanes, launch.shape),
    };
    push('B', launch.start_ms, Some(name.into()), Some(args));
    // A phase that did not happen ends when the phase before it ends, and gets no slice.
    let mut from_ms = launch.start_ms;
    for (phase, to_ms) in [
        ("memory", launch.load_start_ms),
        ("load", launch.load_end_ms),
        ("turn", launch.solve_start_ms),
        ("solve", launch.end_ms),
    ] {
        if us(to_ms) > us(from_ms) {
            push('B', from_ms, Some(phase.into()), None);
            push('E', to_ms, None, None);
            from_ms = to_ms;
        }
    }
    push('E', from_ms, None, None);
}

fn instant<'a>(setback: &Setback, processes: &BTreeMap<DeviceId, usize>) -> TraceEvent<'a> {
    let name = match setback.cause {
        SetbackCause::OutOfMemory { .. } => "out of memory",
        SetbackCause::WorkerLost => "worker lost",
        SetbackCause::WorkerStuck { .. } => "worker stuck",
        SetbackCause::ThreadsRefused { .. } => "threads refused",
        SetbackCause::DeviceLost => "device lost",
        SetbackCause::DeviceTimedOut => "device timed out",
        SetbackCause::LaunchFailed { .. } => "launch failed",
        SetbackCause::HandedOver { .. } => "handed over",
    };
    TraceEvent {
        tid: Some(0),
        ts: Some(us(setback.at_ms)),
        name: Some(name.into()),
        s: Some('p'),
        args: serde_json::to_value(setback).ok(),
        ..TraceEvent::new('i', processes.get(&setback.device).copied().unwrap_or(RUN_PID))
    }
}
