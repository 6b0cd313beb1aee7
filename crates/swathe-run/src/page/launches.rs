//! Launches as columns, which take a tenth of the bytes of one object per launch.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use swathe::{DeviceId, Launch, Shape};

use super::number::significant;

/// The columns of launches. Devices and shapes are deduplicated into lists and referred to by
/// index. After the start time, the columns hold the duration of each phase.
pub(super) fn columns(launches: &[Launch]) -> Value {
    let mut devices: Vec<DeviceId> = Vec::new();
    let mut shapes: Vec<Shape> = Vec::new();
    let mut shape_places: BTreeMap<Shape, usize> = BTreeMap::new();
    let mut device_column = Vec::with_capacity(launches.len());
    let mut shape_column = Vec::with_capacity(launches.len());
    for launch in launches {
        let place = devices.iter().position(|device| *device == launch.device);
        device_column.push(place.unwrap_or_else(|| {
            devices.push(launch.device);
            devices.len() - 1
        }));
        shape_column.push(*shape_places.entry(launch.shape).or_insert_with(|| {
            shapes.push(launch.shape);
            shapes.len() - 1
        }));
    }
    let times = |time_ms: fn(&Launch) -> f64| -> Vec<f64> {
        let times = launches.iter().map(|launch| significant(time_ms(launch)));
        times.collect()
    };
    // Rounded to the microsecond: five significant digits would shift launches late in a long run.
    let start_ms = launches.iter().map(|launch| (launch.start_ms * 1e3).round() / 1e3);
    let numbers =
        |number: fn(&Launch) -> u64| -> Vec<u64> { launches.iter().map(number).collect() };
    json!({
        "devices": devices,
        "shapes": shapes,
        "device": device_column,
        "shape": shape_column,
        "worker": numbers(|launch| launch.worker as u64),
        "class": numbers(|launch| u64::from(launch.class)),
        "n_lanes": numbers(|launch| launch.n_lanes as u64),
        "volume_real": numbers(|launch| launch.volume_real),
        "volume_launched": numbers(|launch| launch.volume_launched),
        "bytes": numbers(|launch| launch.bytes),
        "start_ms": start_ms.collect::<Vec<f64>>(),
        "memory_ms": times(Launch::memory_ms),
        "load_ms": times(Launch::load_ms),
        "turn_ms": times(Launch::turn_ms),
        "solve_ms": times(Launch::solve_ms),
    })
}
