//! Columns: samples and launches as parallel arrays, which keeps the JSON short.

use serde::Serialize;
use swathe::{Launch, Sample};

/// Samples as one array for each field.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct SampleColumns {
    at_ms: Vec<f64>,
    n_done: Vec<u64>,
    n_unsolved: Vec<u64>,
    n_in_flight: Vec<u64>,
    n_waiting: Vec<u64>,
    used_bytes: Vec<u64>,
    resident_bytes: Vec<u64>,
}

impl SampleColumns {
    pub(crate) fn of(samples: &[Sample]) -> SampleColumns {
        SampleColumns {
            at_ms: samples.iter().map(|sample| rounded(sample.at_ms)).collect(),
            n_done: samples.iter().map(|sample| sample.n_done).collect(),
            n_unsolved: samples.iter().map(|sample| sample.n_unsolved).collect(),
            n_in_flight: samples.iter().map(|sample| sample.n_in_flight).collect(),
            n_waiting: samples.iter().map(|sample| sample.n_waiting).collect(),
            used_bytes: samples.iter().map(|sample| sample.used_bytes).collect(),
            resident_bytes: samples.iter().map(|sample| sample.resident_bytes).collect(),
        }
    }
}

/// Launches as one array for each field: when each began and ended, and how long its phases took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LaunchColumns {
    device: Vec<String>,
    worker: Vec<usize>,
    shape: Vec<String>,
    n_lanes: Vec<usize>,
    start_ms: Vec<f64>,
    memory_ms: Vec<f64>,
    load_ms: Vec<f64>,
    turn_ms: Vec<f64>,
    solve_ms: Vec<f64>,
    end_ms: Vec<f64>,
}

impl LaunchColumns {
    pub(crate) fn of(launches: &[Launch]) -> LaunchColumns {
        let ms = |time: fn(&Launch) -> f64| -> Vec<f64> {
            launches.iter().map(|launch| rounded(time(launch))).collect()
        };
        LaunchColumns {
            device: launches.iter().map(|launch| launch.device.to_string()).collect(),
            worker: launches.iter().map(|launch| launch.worker).collect(),
            shape: launches.iter().map(|launch| launch.shape.to_string()).collect(),
            n_lanes: launches.iter().map(|launch| launch.n_lanes).collect(),
            start_ms: ms(|launch| launch.start_ms),
            memory_ms: ms(Launch::memory_ms),
            load_ms: ms(Launch::load_ms),
            turn_ms: ms(Launch::turn_ms),
            solve_ms: ms(Launch::solve_ms),
            end_ms: ms(|launch| launch.end_ms),
        }
    }
}

/// Rounds to the microsecond; further digits are noise and would make the JSON longer.
fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}
