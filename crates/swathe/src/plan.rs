//! Plans: what will run where, as plain data.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::BatchSize;
use crate::{Costs, DeviceId, DeviceKind, Need, Padding, Shape, Size, bucket};

/// Problems that are loaded and run together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Where it runs. A batch planned for a graphics processor may run on any of them, or on the
    /// CPU where that takes such problems too.
    pub device: DeviceKind,
    /// The class all of its problems have.
    pub class: u32,
    /// The smallest shape that all of its problems fit in; on a graphics processor the shape that
    /// they are padded to.
    pub shape: Shape,
    /// The problems, by number, in the order they run.
    pub problems: Vec<usize>,
    /// The memory it takes: all its lanes and answers, and the largest scratch.
    pub bytes: u64,
}

/// What will run where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The batches, in the order they start.
    pub batches: Vec<Batch>,
    /// Problems that fit in no device's memory, with the bytes they would need.
    pub too_large: Vec<(usize, u64)>,
}

/// A problem as the planner sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(test, derive(Hash))]
pub struct Planned {
    /// Its number.
    pub index: usize,
    /// Its size.
    pub size: Size,
    /// The memory it takes.
    pub need: Need,
    /// How it can be launched on a graphics processor, if it can.
    pub gpu: Option<GpuLane>,
}

/// A problem as a lane of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(test, derive(Hash))]
pub struct GpuLane {
    /// Its shape in the launch.
    pub form: Shape,
    /// The memory it takes on the device.
    pub need: Need,
    /// The memory it takes on the host meanwhile: the problem and its answer.
    pub host_bytes: u64,
}

/// The limits of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The memory of the device.
    pub budget_bytes: u64,
    /// Batches in memory at once: those being solved and those loaded ahead.
    pub n_batches_at_once: usize,
    /// Problems in a batch.
    pub batch_size: BatchSize,
    /// The maximum number of problems in a batch.
    pub batch_size_max: usize,
    /// The limits of launches on graphics processors; `None` without any.
    pub gpu: Option<GpuLimits>,
}

/// The limits of launches on graphics processors.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuLimits {
    /// How shapes are padded.
    pub padding: Padding,
    /// The maximum memory of a launch.
    pub launch_bytes_max: u64,
}

impl Limits {
    /// No batch should take longer than this, because an interruption loses the batches in flight.
    pub const BATCH_TIME_MAX: Duration = Duration::from_millis(50);
}

/// Puts problems into batches: pure, deterministic, O(n log n).
///
/// On the CPU, problems of one affinity stay together, in the order in which their affinities first
/// appear, and a batch has one class. Shapes stay exact there: a batch is a unit of loading and of
/// memory, and its problems are solved one by one. Problems that can run on graphics processors are
/// padded to common shapes.
pub fn plan(workload: &str, problems: &[Planned], limits: &Limits, costs: &Costs) -> Plan {
    let Some(gpu) = &limits.gpu else {
        return plan_cpu(workload, problems, limits, costs);
    };
    let fits = |planned: &Planned, lane: &GpuLane| {
        lane.need.total_bytes() <= gpu.launch_bytes_max
            && planned.need.total_bytes() <= limits.budget_bytes
    };
    let (gpu_problems, cpu_problems): (Vec<Planned>, Vec<Planned>) =
        problems.iter().partition(|planned| planned.gpu.is_some_and(|lane| fits(planned, &lane)));
    let mut plan = plan_cpu(workload, &cpu_problems, limits, costs);
    let forms: Vec<(usize, u32, Shape)> = gpu_problems
        .iter()
        .enumerate()
        .filter_map(|(at, planned)| Some((at, planned.size.class, planned.gpu?.form)))
        .collect();
    let (buckets, unfit) = bucket(&forms, &gpu.padding);
    // Problems that fit in no bucket of an explicit list stay unpadded, on the CPU.
    let unfit: Vec<Planned> = unfit.into_iter().map(|at| gpu_problems[at]).collect();
    plan.batches.extend(plan_cpu(workload, &unfit, limits, costs).batches);
    for bucket in buckets {
        let members: Vec<&Planned> = bucket.problems.iter().map(|&at| &gpu_problems[at]).collect();
        let need = |planned: &Planned| planned.gpu.map_or(0, |lane| lane.need.total_bytes());
        let lane_bytes = members.iter().map(|planned| need(planned)).max();
        let lane_bytes = lane_bytes.unwrap_or(0).max(1);
        let n_lanes_max = match limits.batch_size {
            BatchSize::Auto => limits.batch_size_max,
            BatchSize::Fixed(n) => n.min(limits.batch_size_max),
        };
        let n_lanes = (gpu.launch_bytes_max / lane_bytes).clamp(1, n_lanes_max.max(1) as u64);
        for lanes in members.chunks(n_lanes as usize) {
            plan.batches.push(Batch {
                device: DeviceKind::Gpu,
                class: bucket.class,
                shape: bucket.shape,
                problems: lanes.iter().map(|planned| planned.index).collect(),
                bytes: lanes.iter().map(|planned| need(planned)).sum(),
            });
        }
    }
    plan
}

fn plan_cpu(workload: &str, problems: &[Planned], limits: &Limits, costs: &Costs) -> Plan {
    let mut plan = Plan::default();
    let mut batch: Option<OpenBatch> = None;
    let batch_bytes_max = limits.budget_bytes / (2 * limits.n_batches_at_once.max(1)) as u64;
    for planned in in_order(problems) {
        let wanted_bytes = planned.need.total_bytes();
        if wanted_bytes > limits.budget_bytes {
            plan.too_large.push((planned.index, wanted_bytes));
            continue;
        }
        let lane = match limits.batch_size {
            BatchSize::Auto => {
                costs.lane(workload, &planned.size, DeviceId::Cpu).unwrap_or_default()
            }
            BatchSize::Fixed(_) => Duration::ZERO,
        };
        let n_lanes_max = match limits.batch_size {
            BatchSize::Auto => limits.batch_size_max,
            BatchSize::Fixed(n) => n.min(limits.batch_size_max),
        };
        if let Some(open) = &mut batch
            && open.takes(planned, lane, n_lanes_max, batch_bytes_max)
        {
            open.push(planned, lane);
            continue;
        }
        plan.batches.extend(batch.take().map(OpenBatch::close));
        batch = Some(OpenBatch::new(planned, lane));
    }
    plan.batches.extend(batch.map(OpenBatch::close));
    plan
}

/// Sorts by affinity (in the order of first appearance), then class, then number.
fn in_order(problems: &[Planned]) -> Vec<&Planned> {
    let mut ranks: std::collections::HashMap<u64, usize> = std::collections::HashMap::new();
    let mut keyed: Vec<(usize, u32, &Planned)> = problems
        .iter()
        .map(|planned| {
            let n_ranks = ranks.len();
            let rank = *ranks.entry(planned.size.affinity).or_insert(n_ranks);
            (rank, planned.size.class, planned)
        })
        .collect();
    keyed.sort_by_key(|&(rank, class, planned)| (rank, class, planned.index));
    keyed.into_iter().map(|(_, _, planned)| planned).collect()
}

struct OpenBatch {
    batch: Batch,
    lanes_bytes: u64,
    scratch_bytes: u64,
    time: Duration,
}

impl OpenBatch {
    fn new(planned: &Planned, lane: Duration) -> OpenBatch {
        let batch = Batch {
            device: DeviceKind::Cpu,
            class: planned.size.class,
            shape: planned.size.shape,
            problems: Vec::new(),
            bytes: 0,
        };
        let mut open = OpenBatch { batch, lanes_bytes: 0, scratch_bytes: 0, time: Duration::ZERO };
        open.push(planned, lane);
        open
    }

    fn takes(&self, planned: &Planned, lane: Duration, n_lanes_max: usize, bytes_max: u64) -> bool {
        self.batch.class == planned.size.class
            && self.batch.shape.extents().len() == planned.size.shape.extents().len()
            && self.batch.problems.len() < n_lanes_max
            && self.bytes_with(planned) <= bytes_max
            && self.time + lane <= Limits::BATCH_TIME_MAX
    }

    fn push(&mut self, planned: &Planned, lane: Duration) {
        self.batch.bytes = self.bytes_with(planned);
        self.lanes_bytes += planned.need.lane_bytes + planned.need.solution_bytes;
        self.scratch_bytes = self.scratch_bytes.max(planned.need.scratch_bytes);
        self.batch.shape = self.batch.shape.union(&planned.size.shape);
        self.batch.problems.push(planned.index);
        self.time += lane;
    }

    fn bytes_with(&self, planned: &Planned) -> u64 {
        let need = planned.need;
        self.lanes_bytes
            .saturating_add(need.lane_bytes)
            .saturating_add(need.solution_bytes)
            .saturating_add(self.scratch_bytes.max(need.scratch_bytes))
    }

    fn close(self) -> Batch {
        self.batch
    }
}

impl fmt::Display for Plan {
    /// A line for each class and shape bin; the batches themselves are data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_problems: usize = self.batches.iter().map(|batch| batch.problems.len()).sum();
        writeln!(f, "{n_problems} problems in {} batches", self.batches.len())?;
        let mut rows: BTreeMap<(DeviceKind, u32, Shape), (usize, usize, u64)> = BTreeMap::new();
        for batch in &self.batches {
            let row = rows.entry((batch.device, batch.class, batch.shape.bin())).or_default();
            row.0 += batch.problems.len();
            row.1 += 1;
            row.2 = row.2.max(batch.bytes);
        }
        if !rows.is_empty() {
            writeln!(
                f,
                "{:<7} {:>6} {:>16} {:>10} {:>8} {:>14}",
                "device", "class", "shapes up to", "problems", "batches", "bytes at most"
            )?;
        }
        for ((device, class, bin), (n_problems, n_batches, bytes)) in rows {
            writeln!(
                f,
                "{device:<7} {class:>6} {bin:>16} {n_problems:>10} {n_batches:>8} {bytes:>14}",
                device = device.to_string(),
                bin = bin.to_string()
            )?;
        }
        for (index, wanted_bytes) in &self.too_large {
            writeln!(f, "problem {index} fits nowhere: it needs {wanted_bytes} bytes")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(index: usize, extent: u32, class: u32, affinity: u64) -> Planned {
        let size = Size { class, affinity, ..Size::of(Shape::new(&[extent])) };
        let need = Need { lane_bytes: u64::from(extent), scratch_bytes: 10, solution_bytes: 1 };
        Planned { index, size, need, gpu: None }
    }

    fn limits(budget_bytes: u64) -> Limits {
        Limits {
            budget_bytes,
            n_batches_at_once: 2,
            batch_size: BatchSize::Auto,
            batch_size_max: 100,
            gpu: None,
        }
    }

    fn groups(plan: &Plan) -> Vec<Vec<usize>> {
        plan.batches.iter().map(|batch| batch.problems.clone()).collect()
    }

    #[test]
    fn affinities_stay_together_and_classes_apart() {
        let problems = [
            planned(0, 5, 0, 7),
            planned(1, 5, 1, 3),
            planned(2, 5, 0, 7),
            planned(3, 5, 0, 3),
            planned(4, 5, 1, 7),
        ];
        let plan = plan("w", &problems, &limits(10_000), &Costs::default());
        assert_eq!(groups(&plan), [vec![0, 2], vec![4], vec![3], vec![1]]);
    }

    #[test]
    fn batches_fit_the_memory() {
        // A quarter of 400 bytes: 10 of scratch and eight lanes of 11.
        let problems: Vec<Planned> = (0..20).map(|k| planned(k, 10, 0, 0)).collect();
        let plan = plan("w", &problems, &limits(400), &Costs::default());
        assert_eq!(groups(&plan).iter().map(Vec::len).collect::<Vec<_>>(), [8, 8, 4]);
        assert_eq!(plan.batches[0].bytes, 98);
    }

    #[test]
    fn what_fits_nowhere_is_said_and_what_fits_alone_is_alone() {
        let problems = [
            planned(0, 10, 0, 0),
            planned(1, 300, 0, 0),
            planned(2, 400, 0, 0),
            planned(3, 10, 0, 0),
        ];
        let plan = plan("w", &problems, &limits(400), &Costs::default());
        assert_eq!(groups(&plan), [vec![0], vec![1], vec![3]]);
        assert_eq!(plan.too_large, [(2, 411)]);
    }

    #[test]
    fn a_batch_of_known_cost_takes_fifty_milliseconds() {
        let problems: Vec<Planned> = (0..20).map(|k| planned(k, 10, 0, 0)).collect();
        let mut costs = Costs::default();
        costs.learn("w", &problems[0].size, DeviceId::Cpu, 10, Duration::from_millis(100));
        let plan = plan("w", &problems, &limits(1 << 20), &costs);
        assert_eq!(groups(&plan).iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 5]);
    }

    #[test]
    fn what_can_be_launched_is_padded_and_the_rest_stays_on_the_cpu() {
        let lane = |extent: u32| GpuLane {
            form: Shape::new(&[extent]),
            need: Need { lane_bytes: 4 * u64::from(extent), ..Need::default() },
            host_bytes: 0,
        };
        let mut problems: Vec<Planned> =
            (0..10).map(|k| planned(k, 7 + k as u32 % 2, 0, 0)).collect();
        for problem in &mut problems[..8] {
            problem.gpu = Some(lane(problem.size.shape.extents()[0]));
        }
        // Too large for any launch.
        problems[7].gpu = Some(lane(1000));
        let limits = Limits {
            gpu: Some(GpuLimits { padding: Padding::Multiple(8), launch_bytes_max: 100 }),
            ..limits(10_000)
        };
        let plan = plan("w", &problems, &limits, &Costs::default());
        assert_eq!(groups(&plan), [vec![7, 8, 9], vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
        assert_eq!(plan.batches[0].device, DeviceKind::Cpu);
        assert_eq!(plan.batches[1].device, DeviceKind::Gpu);
        assert_eq!(plan.batches[1].shape, Shape::new(&[8]));
    }

    #[test]
    fn a_plan_can_be_read() {
        let problems: Vec<Planned> = (0..200)
            .map(|k| planned(k, 10 + k as u32 % 50, k as u32 % 2, 0))
            .chain([planned(200, 9000, 0, 0)])
            .collect();
        insta::assert_snapshot!(plan("w", &problems, &limits(4000), &Costs::default()), @r"
        200 problems in 8 batches
        device   class     shapes up to   problems  batches  bytes at most
        cpu          0               64        100        4            989
        cpu          1               64        100        4           1000
        problem 200 fits nowhere: it needs 9011 bytes
        ");
    }
}
