//! The backlog: problems that several devices can take.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::gpu_pool::GpuPool;
use super::queue::Range;
use super::{Shared, WorkloadOf, lock};
use crate::route::{Choice, LaneCost, Lot, choose};
use crate::settings::BatchSize;
use crate::{DeviceId, Finish, Limits, Planned, Shape, Size, Workload};

#[derive(Default)]
pub(super) struct GpuBacklog {
    /// The lots as the router sees them, in the order of `kinds`.
    costs: Vec<Lot>,
    kinds: Vec<Kind>,
    n_lanes: usize,
    /// The version of the costs in `costs`; 0 if they must be refreshed.
    version: u64,
}

struct Kind {
    /// The padded size of its problems.
    padded: Size,
    lane_bytes: u64,
    launch_bytes: u64,
    problems: VecDeque<Planned>,
}

/// Whether a worker serves the CPU or a device, and which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerKind {
    Cpu,
    Gpu(usize),
}

impl WorkerKind {
    pub(super) fn device(self) -> usize {
        match self {
            WorkerKind::Cpu => 0,
            WorkerKind::Gpu(number) => number + 1,
        }
    }
}

impl GpuBacklog {
    pub(super) fn n_lanes(&self) -> usize {
        self.n_lanes
    }

    /// Adds problems of one class that are padded to the same shape.
    pub(super) fn add<F: Finish>(
        &mut self,
        shared: &Shared<F>,
        class: u32,
        padded: Shape,
        problems: Vec<Planned>,
    ) {
        let Some(first) = problems.first() else {
            return;
        };
        let padded = Size { shape: padded, class, ..first.size };
        let volumes = problems.iter().filter_map(|planned| planned.gpu);
        let volume = volumes.map(|lane| lane.form.volume());
        shared.gpu_pool.count_planned(
            padded,
            first.size,
            problems.len() as u64,
            volume.fold(0, u64::saturating_add),
        );
        let known = self
            .kinds
            .iter()
            .position(|kind| kind.padded.class == class && kind.padded.shape == padded.shape);
        let at = known.unwrap_or_else(|| {
            let need = shared.workload().need(&padded, GpuPool::kind(&shared.settings));
            self.kinds.push(Kind {
                padded,
                lane_bytes: need.lane_bytes.saturating_add(need.solution_bytes),
                launch_bytes: need.scratch_bytes,
                problems: VecDeque::new(),
            });
            self.costs.push(Lot {
                n_lanes: 0,
                cost_by_device: vec![LaneCost::Unknown; 1 + shared.gpu_pool.n_gpus()],
            });
            self.kinds.len() - 1
        });
        self.n_lanes += problems.len();
        self.costs[at].n_lanes += problems.len();
        self.kinds[at].problems.extend(problems);
        // Costs are refreshed at the next request of a worker, because a window adds many lots.
        self.version = 0;
    }

    /// A range for this worker, if it should take one.
    pub(super) fn take<F: Finish>(&mut self, shared: &Shared<F>, who: WorkerKind) -> Option<Range> {
        if self.n_lanes == 0 {
            return None;
        }
        if self.version != shared.cost_version.load(Ordering::Acquire) {
            self.refresh(shared);
        }
        let mut n_at_once = vec![1; 1 + shared.gpu_pool.n_gpus()];
        n_at_once[0] = shared.settings.n_threads.max(1);
        let Choice::Take { lot, n_lanes } = choose(who.device(), &self.costs, &n_at_once) else {
            return None;
        };
        let n_lanes = match who {
            WorkerKind::Cpu => {
                let problems = self.kinds[lot].problems.iter().take(n_lanes);
                super::queue::n_claimed(shared, problems, self.n_lanes)
            }
            WorkerKind::Gpu(number) => n_lanes.min(self.n_launched(shared, lot, number)).max(1),
        };
        self.n_lanes -= n_lanes;
        self.costs[lot].n_lanes -= n_lanes;
        let kind = &mut self.kinds[lot];
        Some(Range {
            class: kind.padded.class,
            problems: kind.problems.drain(..n_lanes).collect(),
            n_attempts: 1,
            padded: match who {
                WorkerKind::Cpu => None,
                WorkerKind::Gpu(_) => Some(kind.padded),
            },
        })
    }

    /// How many lanes of a lot a device takes at once.
    fn n_launched<F: Finish>(&self, shared: &Shared<F>, lot: usize, number: usize) -> usize {
        let kind = &self.kinds[lot];
        let padded = kind.padded;
        let settings = &shared.settings;
        let member = shared.gpu_pool.member(number);
        let n_max = match settings.batch_size {
            BatchSize::Fixed(n) => n.max(1),
            BatchSize::Auto => {
                let device = shared.gpu_pool.id(number);
                let costs = lock(&shared.costs);
                let best = costs.n_lanes_best(WorkloadOf::<F>::NAME, &padded, device);
                let n_next = member.n_lanes_next(padded.class, padded.shape, best);
                match costs.lane(WorkloadOf::<F>::NAME, &padded, device) {
                    None => n_next,
                    Some(lane) => {
                        let time = Limits::BATCH_TIME_MAX.as_secs_f64();
                        n_next.min((time / lane.as_secs_f64().max(1e-9)) as usize)
                    }
                }
            }
        };
        let limits = super::limits(settings);
        let launch_bytes_max = limits.gpu.map_or(0, |gpu| gpu.launch_bytes_max);
        let n_fit = launch_bytes_max.saturating_sub(kind.launch_bytes) / kind.lane_bytes.max(1);
        // The host also holds the problems and their answers meanwhile.
        let host_bytes_max = limits.budget_bytes / (2 * limits.n_batches_at_once.max(1)) as u64;
        let host_bytes = kind.problems.front().map_or(1, |planned| {
            let held_bytes = planned.need.lane_bytes + planned.need.solution_bytes;
            held_bytes.max(planned.gpu.map_or(0, |lane| lane.host_bytes))
        });
        let n_held = host_bytes_max / host_bytes.max(1);
        n_max.min(settings.batch_size_max.max(1)).min(n_fit.min(n_held) as usize).max(1)
    }

    /// Refreshes the costs of all lots.
    fn refresh<F: Finish>(&mut self, shared: &Shared<F>) {
        self.version = shared.cost_version.load(Ordering::Acquire);
        let costs = lock(&shared.costs);
        for (kind, lot) in self.kinds.iter().zip(&mut self.costs) {
            let class = kind.padded.class;
            let takes = |lane: Option<std::time::Duration>| match lane {
                Some(lane) => LaneCost::Takes(lane),
                None => LaneCost::Unknown,
            };
            if let Some(first) = kind.problems.front() {
                lot.cost_by_device[0] = if shared.is_for_devices(class) {
                    LaneCost::Never
                } else {
                    let lane = costs.lane(WorkloadOf::<F>::NAME, &first.size, DeviceId::Cpu);
                    takes(lane.or_else(|| {
                        costs.rough_lane(WorkloadOf::<F>::NAME, &first.size, DeviceId::Cpu)
                    }))
                };
            }
            for number in 0..shared.gpu_pool.n_gpus() {
                lot.cost_by_device[1 + number] = if shared.gpu_pool.member(number).can(class) {
                    takes(costs.lane(
                        WorkloadOf::<F>::NAME,
                        &kind.padded,
                        shared.gpu_pool.id(number),
                    ))
                } else {
                    LaneCost::Never
                };
            }
        }
    }
}
