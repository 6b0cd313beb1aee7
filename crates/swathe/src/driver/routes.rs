//! Routes: which devices solved the problems that can be launched, for the report.

use std::collections::BTreeMap;
use std::time::Duration;

use super::DeviceId;
use crate::report::{Route, RouteDevice};
use crate::{Costs, Shape, Size, Workload};

#[derive(Default)]
pub(super) struct Routes(BTreeMap<(u32, Shape), Tally>);

/// The counts of problems of one class and padded shape.
struct Tally {
    n_problems: u64,
    volume_real: u64,
    /// By device.
    n_lanes: Vec<u64>,
    padded: Size,
    /// The size of one of them, unpadded.
    real: Size,
}

impl Routes {
    /// Counts planned problems of a padded size.
    pub(super) fn count_planned(
        &mut self,
        padded: Size,
        real: Size,
        n_problems: u64,
        volume: u64,
        n_devices: usize,
    ) {
        let tally = self.0.entry((padded.class, padded.shape)).or_insert_with(|| Tally {
            n_problems: 0,
            volume_real: 0,
            n_lanes: vec![0; n_devices],
            padded,
            real,
        });
        tally.n_problems += n_problems;
        tally.volume_real = tally.volume_real.saturating_add(volume);
    }

    /// Counts problems that a device has answered.
    pub(super) fn count_done(&mut self, number: usize, padded: &Size, n_lanes: u64) {
        if let Some(tally) = self.0.get_mut(&(padded.class, padded.shape)) {
            tally.n_lanes[number] += n_lanes;
        }
    }

    pub(super) fn rows<W: Workload>(
        &self,
        workload: &W,
        ids: &[DeviceId],
        costs: &Costs,
        n_threads: usize,
    ) -> Vec<Route> {
        let rows = self.0.iter().map(|(&(class, padded), tally)| {
            let ms = |lane: Duration| lane.as_secs_f64() * 1e3;
            let cpu_lane = costs.lane(W::NAME, &tally.real, DeviceId::Cpu);
            let n_launched: u64 = tally.n_lanes.iter().sum();
            let mut devices = vec![RouteDevice {
                device: DeviceId::Cpu,
                n_lanes: tally.n_problems.saturating_sub(n_launched),
                lane_ms: cpu_lane.map(ms),
            }];
            for (&device, &n_lanes) in ids.iter().zip(&tally.n_lanes) {
                let lane = costs.lane(W::NAME, &tally.padded, device);
                devices.push(RouteDevice { device, n_lanes, lane_ms: lane.map(ms) });
            }
            let totals = devices.iter().filter_map(|part| {
                let n_at_once = match part.device {
                    DeviceId::Cpu => n_threads.max(1),
                    DeviceId::Gpu(_) | DeviceId::Host(_) => 1,
                };
                let total_ms = part.lane_ms? * tally.n_problems as f64 / n_at_once as f64;
                Some((total_ms, part.device))
            });
            let mut totals: Vec<(f64, DeviceId)> = totals.collect();
            totals.sort_by(|a, b| a.0.total_cmp(&b.0));
            Route {
                class,
                padded,
                volume_real: tally.volume_real,
                packed: workload.gpu_is_packed(),
                n_problems: tally.n_problems,
                choice: totals.first().map(|&(_, device)| device),
                choice_ms: totals.first().map(|&(ms, _)| ms),
                other_ms: totals.get(1).map(|&(ms, _)| ms),
                devices,
            }
        });
        rows.collect()
    }
}
