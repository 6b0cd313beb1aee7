//! The pool: the devices of a run, and what the run has learnt about them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::{WAIT_MAX, lock};
use crate::device::DeviceUse;
use crate::report::{Route, RouteDevice};
use crate::{
    Budget, Costs, Device, DeviceId, DeviceKind, GpuLimits, Settings, Shape, Size, Stop, Workload,
};

pub(super) struct GpuPool {
    members: Vec<Member>,
    routes: Mutex<BTreeMap<(u32, Shape), Tally>>,
}

pub(super) struct Member {
    pub(super) device: Device,
    /// Whether a launch runs on the device; the other worker loads meanwhile.
    busy: Mutex<bool>,
    freed: Condvar,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    retired: Option<String>,
    n_losses: u32,
    n_failures: HashMap<u32, u32>,
    banned: HashSet<u32>,
    size_searches: HashMap<(u32, Shape), BatchSizeSearch>,
}

/// The counts of problems of one class and padded shape.
#[derive(Default)]
struct Tally {
    n_problems: u64,
    volume_real: u64,
    n_lanes: Vec<u64>,
    /// The size of one of them, padded.
    size: Option<Size>,
    /// The size of one of them, unpadded.
    real: Option<Size>,
}

impl GpuPool {
    /// One worker loads the next launch while the other worker's launch runs.
    pub(super) const N_WORKERS_EACH: usize = 2;

    pub(super) fn new(settings: &Settings) -> GpuPool {
        let members = settings.devices.iter().map(|device| Member {
            device: device.for_run(&settings.memory, settings.time_limit),
            busy: Mutex::new(false),
            freed: Condvar::new(),
            state: Mutex::default(),
        });
        GpuPool { members: members.collect(), routes: Mutex::default() }
    }

    pub(super) fn n_gpus(&self) -> usize {
        self.members.len()
    }

    pub(super) fn member(&self, number: usize) -> &Member {
        &self.members[number]
    }

    /// The kind of the devices: all devices of one run are of one kind.
    pub(super) fn kind(settings: &Settings) -> DeviceKind {
        let first = settings.devices.first();
        first.map_or(DeviceKind::Gpu, |device| device.id().kind())
    }

    /// The device's id in reports and costs.
    pub(super) fn id(&self, number: usize) -> DeviceId {
        self.members[number].device.id()
    }

    /// Whether any device is still in use.
    pub(super) fn is_alive(&self) -> bool {
        self.members.iter().any(|member| !member.is_retired())
    }

    /// Whether any device accepts problems of this class.
    pub(super) fn can(&self, class: u32) -> bool {
        self.members.iter().any(|member| member.can(class))
    }

    pub(super) fn limits(settings: &Settings) -> Option<GpuLimits> {
        let devices = settings.devices.iter();
        let launch_bytes_max = devices.map(|device| device.launch_bytes_max(settings));
        Some(GpuLimits {
            padding: settings.padding.clone(),
            launch_bytes_max: launch_bytes_max.min()?,
        })
    }

    /// Counts planned problems of a padded shape.
    pub(super) fn count_planned(&self, padded: Size, real: Size, n_problems: u64, volume: u64) {
        let mut routes = lock(&self.routes);
        let tally = routes.entry((padded.class, padded.shape)).or_default();
        tally.n_problems += n_problems;
        tally.volume_real = tally.volume_real.saturating_add(volume);
        tally.size = Some(padded);
        tally.real = Some(real);
        tally.n_lanes.resize(self.members.len(), 0);
    }

    /// Counts problems that a device has answered.
    pub(super) fn count_done(&self, number: usize, class: u32, padded: Shape, n_lanes: u64) {
        let mut routes = lock(&self.routes);
        let tally = routes.entry((class, padded)).or_default();
        tally.n_lanes.resize(self.members.len(), 0);
        tally.n_lanes[number] += n_lanes;
    }

    pub(super) fn devices(&self) -> impl Iterator<Item = DeviceUse> {
        self.members.iter().map(|member| {
            let retired = lock(&member.state).retired.clone();
            member.device.used(retired)
        })
    }

    pub(super) fn routes<W: Workload>(
        &self,
        workload: &W,
        costs: &Costs,
        n_threads: usize,
    ) -> Vec<Route> {
        let routes = lock(&self.routes);
        let rows = routes.iter().filter_map(|(&(class, padded), tally)| {
            let ms = |lane: Duration| lane.as_secs_f64() * 1e3;
            let cpu_lane = tally.real.and_then(|size| costs.lane(W::NAME, &size, DeviceId::Cpu));
            let n_gpu: u64 = tally.n_lanes.iter().sum();
            let mut devices = vec![RouteDevice {
                device: DeviceId::Cpu,
                n_lanes: tally.n_problems.saturating_sub(n_gpu),
                lane_ms: cpu_lane.map(ms),
            }];
            for (number, &n_lanes) in tally.n_lanes.iter().enumerate() {
                let device = self.id(number);
                let lane = costs.lane(W::NAME, &tally.size?, device);
                devices.push(RouteDevice { device, n_lanes, lane_ms: lane.map(ms) });
            }
            let mut totals: Vec<(f64, DeviceId)> = devices
                .iter()
                .filter_map(|part| {
                    let n_at_once = match part.device {
                        DeviceId::Cpu => n_threads.max(1),
                        DeviceId::Gpu(_) | DeviceId::Host(_) => 1,
                    };
                    let total_ms = part.lane_ms? * tally.n_problems as f64 / n_at_once as f64;
                    Some((total_ms, part.device))
                })
                .collect();
            totals.sort_by(|a, b| a.0.total_cmp(&b.0));
            Some(Route {
                class,
                padded,
                volume_real: tally.volume_real,
                packed: workload.gpu_is_packed(),
                n_problems: tally.n_problems,
                choice: totals.first().map(|&(_, device)| device),
                choice_ms: totals.first().map(|&(ms, _)| ms),
                other_ms: totals.get(1).map(|&(ms, _)| ms),
                devices,
            })
        });
        rows.collect()
    }
}

impl Member {
    /// A device that is lost more often than this is retired.
    const N_LOSSES_MAX: u32 = 3;
    /// After this many failed launches, a class is left to the CPU.
    const N_FAILURES_MAX: u32 = 3;

    /// Waits until the device is free; `None` if it is retired or the run cancelled first.
    pub(super) fn turn(&self, stop: &Stop) -> Option<Turn<'_>> {
        let mut busy = lock(&self.busy);
        loop {
            if self.is_retired() || stop.is_cancelled() {
                return None;
            }
            if !*busy {
                *busy = true;
                return Some(Turn(self));
            }
            let wait = self.freed.wait_timeout(busy, WAIT_MAX);
            busy = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn is_retired(&self) -> bool {
        lock(&self.state).retired.is_some()
    }

    /// Whether the device accepts problems of this class.
    pub(super) fn can(&self, class: u32) -> bool {
        let state = lock(&self.state);
        state.retired.is_none() && !state.banned.contains(&class)
    }

    pub(super) fn retire(&self, reason: &str) {
        lock(&self.state).retired.get_or_insert_with(|| reason.to_owned());
    }

    /// Reopens the device after a loss; `false` if it is retired instead.
    pub(super) fn recover(&self, reason: &str, memory: &Budget) -> bool {
        let n_losses = {
            let mut state = lock(&self.state);
            state.n_losses += 1;
            state.n_losses
        };
        if n_losses > Self::N_LOSSES_MAX {
            self.retire(&format!("{reason} {n_losses} times"));
            return false;
        }
        match self.device.reopen(memory) {
            Ok(()) => true,
            Err(error) => {
                self.retire(&format!("{reason}, then {error}"));
                false
            }
        }
    }

    /// Counts a failed launch of this class. After a few failures the CPU takes the class.
    pub(super) fn count_failure(&self, class: u32) {
        let mut state = lock(&self.state);
        let n_failures = state.n_failures.entry(class).or_default();
        *n_failures += 1;
        if *n_failures >= Self::N_FAILURES_MAX {
            state.banned.insert(class);
        }
    }

    /// The number of lanes to try next.
    pub(super) fn n_lanes_next(&self, class: u32, padded: Shape, best: Option<u64>) -> usize {
        let mut state = lock(&self.state);
        let size_search = state.size_searches.entry((class, padded));
        size_search.or_insert_with(|| BatchSizeSearch::new(best)).n_next
    }

    /// Records the time of a launch. Returns the launch size with the best throughput so far.
    pub(super) fn learn(
        &self,
        class: u32,
        padded: Shape,
        n_lanes: usize,
        took: Duration,
    ) -> Option<u64> {
        let mut state = lock(&self.state);
        let size_search = state.size_searches.entry((class, padded));
        let size_search = size_search.or_insert_with(|| BatchSizeSearch::new(None));
        size_search.learn(n_lanes, took);
        size_search.best.map(|(n_lanes, _)| n_lanes as u64)
    }
}

/// Exclusive use of a device, until dropped.
pub(super) struct Turn<'a>(&'a Member);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.busy) = false;
        self.0.freed.notify_one();
    }
}

/// Searches for the launch size with the best throughput by doubling it as long as that pays.
#[derive(Debug)]
struct BatchSizeSearch {
    n_next: usize,
    /// Lanes, and lanes per second.
    best: Option<(usize, f64)>,
}

impl BatchSizeSearch {
    const N_FIRST: usize = 4;
    /// The gain in throughput that a doubling must bring.
    const GAIN: f64 = 1.05;

    fn new(best: Option<u64>) -> BatchSizeSearch {
        BatchSizeSearch {
            n_next: best.map_or(BatchSizeSearch::N_FIRST, |n| n.max(1) as usize),
            best: None,
        }
    }

    fn learn(&mut self, n_lanes: usize, took: Duration) {
        // A small rest of a lot does not represent full launches.
        if n_lanes * 2 < self.n_next {
            return;
        }
        let rate = n_lanes as f64 / took.as_secs_f64().max(1e-9);
        match self.best {
            Some((n_best, rate_best)) if n_lanes > n_best => {
                if rate > rate_best * BatchSizeSearch::GAIN {
                    self.best = Some((n_lanes, rate));
                    self.n_next = n_lanes * 2;
                } else {
                    self.n_next = n_best;
                }
            }
            Some((n_best, rate_best)) if n_lanes == n_best => {
                self.best = Some((n_best, 0.5 * (rate + rate_best)));
            }
            Some(_) => {}
            None => {
                self.best = Some((n_lanes, rate));
                self.n_next = n_lanes * 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_grow_while_that_pays() {
        let mut size_search = BatchSizeSearch::new(None);
        // A fixed cost of 1 ms and 10 us per lane: beyond 1,024 lanes little is gained.
        let took = |n: usize| Duration::from_secs_f64(1e-3 + 1e-5 * n as f64);
        for _ in 0..20 {
            let n = size_search.n_next;
            size_search.learn(n, took(n));
        }
        let (n_best, _) = size_search.best.unwrap();
        assert_eq!(size_search.n_next, n_best);
        assert!((512..=2048).contains(&n_best), "{n_best}");
        // A small rest changes nothing.
        size_search.learn(3, took(3));
        assert_eq!(size_search.n_next, n_best);
    }
}
