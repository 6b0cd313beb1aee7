//! Traces hold the figures of reports in the format that trace viewers expect.

use std::collections::BTreeMap;

use serde_json::Value;
use swathe::{DeviceId, Remedy, Report, Setback, SetbackCause};
use swathe_run::explain::trace::chrome_trace;

use crate::made_up_report::healthy;

fn events(report: &Report) -> Vec<Value> {
    let trace: Value = serde_json::from_str(&chrome_trace(report, "swathe toy \"x\"")).unwrap();
    assert_eq!(trace["otherData"]["command"], "swathe toy \"x\"");
    trace["traceEvents"].as_array().unwrap().clone()
}

fn of_kind<'a>(events: &'a [Value], ph: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["ph"] == ph)
}

#[test]
fn slices_nest_and_add_up_to_the_workers_figures() {
    let report = healthy();
    let events = events(&report);
    let mut open: BTreeMap<u64, Vec<(String, f64)>> = BTreeMap::new();
    let mut last_us: BTreeMap<u64, f64> = BTreeMap::new();
    let mut solve_us: BTreeMap<u64, f64> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "B" || event["ph"] == "E") {
        let (track, at_us) = (event["tid"].as_u64().unwrap(), event["ts"].as_f64().unwrap());
        let before = last_us.insert(track, at_us).unwrap_or(0.0);
        assert!(at_us >= before, "track {track} goes back from {before} to {at_us}");
        let stack = open.entry(track).or_default();
        if event["ph"] == "B" {
            assert!(stack.len() < 2, "phases stand inside launches, nothing inside phases");
            stack.push((event["name"].as_str().unwrap().to_owned(), at_us));
        } else {
            let (name, from_us) = stack.pop().expect("nothing ends that did not begin");
            if name == "solve" {
                assert_eq!(stack.len(), 1, "solving is part of a launch");
                *solve_us.entry(track).or_default() += at_us - from_us;
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "everything ends");
    assert_eq!(solve_us.len(), report.workers.len());
    for worker in &report.workers {
        let solve_ms = solve_us[&(worker.worker as u64 + 1)] / 1e3;
        assert!((solve_ms - worker.solve_ms).abs() < 1e-3, "{solve_ms} {}", worker.solve_ms);
    }
    let first = of_kind(&events, "B").next().unwrap();
    assert_eq!(first["name"], "4 × 64x64 f32 <ε>");
    assert_eq!(first["args"]["lanes"], 4);
    assert_eq!(first["args"]["bytes"], 1 << 20);
    assert_eq!(first["args"]["padding"], 0.0);
}

#[test]
fn counters_are_the_samples() {
    let report = healthy();
    let events = events(&report);
    type Told = (f64, u64);
    let counter = |name: &str, unit: &str| -> Vec<Told> {
        of_kind(&events, "C")
            .filter(|event| event["name"] == name)
            .map(|event| (event["ts"].as_f64().unwrap(), event["args"][unit].as_u64().unwrap()))
            .collect()
    };
    let samples = |of: fn(&swathe::Sample) -> u64| -> Vec<Told> {
        let samples = report.samples.iter();
        samples.map(|sample| (sample.at_ms * 1e3, of(sample))).collect()
    };
    assert_eq!(counter("memory", "bytes"), samples(|sample| sample.resident_bytes));
    assert_eq!(counter("memory reserved", "bytes"), samples(|sample| sample.used_bytes));
    assert_eq!(counter("problems waiting", "problems"), samples(|sample| sample.n_waiting));
    assert_eq!(counter("problems in flight", "problems"), samples(|sample| sample.n_in_flight));
    assert_eq!(counter("problems done", "problems"), samples(|sample| sample.n_done));
}

#[test]
fn every_device_is_a_process_and_every_worker_a_named_track_in_it() {
    let mut report = healthy();
    report.launches_step = 4;
    report.n_launches = 800;
    report.workers[3].device = DeviceId::Gpu(0);
    report.launches.retain(|launch| launch.worker != 3);
    report.setbacks = vec![Setback {
        at_ms: 12.5,
        device: DeviceId::Gpu(0),
        cause: SetbackCause::DeviceLost,
        n_problems: 4,
        remedy: Remedy::Reopened,
    }];
    let events = events(&report);
    let named = |what: &str| -> Vec<(u64, Value)> {
        of_kind(&events, "M")
            .filter(|event| event["name"] == what)
            .map(|event| (event["pid"].as_u64().unwrap(), event["args"]["name"].clone()))
            .collect()
    };
    assert_eq!(
        named("process_name"),
        [(1, "toy run".into()), (2, "cpu".into()), (3, "gpu:0".into())]
    );
    let tracks = named("thread_name");
    assert_eq!(tracks.len(), 4);
    assert_eq!(tracks[3], (3, "worker 3".into()));
    let setbacks: Vec<&Value> = of_kind(&events, "i").collect();
    assert_eq!(setbacks.len(), 1);
    assert_eq!(setbacks[0]["pid"], 3);
    assert_eq!(setbacks[0]["ts"], 12_500.0);
    assert_eq!(setbacks[0]["name"], "device lost");
    let labels = events.iter().find(|event| event["name"] == "process_labels").unwrap();
    assert_eq!(labels["args"]["labels"], "one in 4 of 800 launches is shown");
}

/// A launch that was abandoned before its turn has no times for the later phases.
#[test]
fn moments_that_did_not_come_make_no_slices() {
    let mut report = healthy();
    report.launches.truncate(1);
    report.launches[0].solve_start_ms = 0.0;
    report.launches[0].end_ms = 0.0;
    let events = events(&report);
    let begun: Vec<&Value> = of_kind(&events, "B").map(|event| &event["name"]).collect();
    assert_eq!(begun[1..], ["memory", "load"]);
    assert_eq!(of_kind(&events, "E").count(), 3);
    assert_eq!(of_kind(&events, "E").last().unwrap()["ts"], 2_000.0);
}
