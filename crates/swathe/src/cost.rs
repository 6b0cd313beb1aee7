//! Costs: measured times of problems, learnt while running and kept for the next run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{DeviceId, Shape, Size};

/// Measured times of problems, by workload, class, shape and device.
///
/// Shapes are binned to powers of two, because a cost only guides batch sizes and routes and must
/// be known after a few problems. Plain data: store it as JSON between runs.
///
/// ```
/// use std::time::Duration;
/// use swathe::{Costs, DeviceId, Shape, Size};
/// let mut costs = Costs::default();
/// let size = Size::of(Shape::new(&[60, 120]));
/// assert_eq!(costs.lane("primes", &size, DeviceId::Cpu), None);
/// costs.learn("primes", &size, DeviceId::Cpu, 10, Duration::from_millis(50));
/// assert_eq!(costs.lane("primes", &size, DeviceId::Cpu), Some(Duration::from_millis(5)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<CostRow>", from = "Vec<CostRow>")]
pub struct Costs {
    /// Keyed by workload first, so that a lookup compares the name once and allocates nothing.
    workloads: BTreeMap<String, BTreeMap<Key, Cost>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    class: u32,
    bin: Shape,
    device: DeviceId,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    n_samples: u64,
    lane_ns: f64,
    n_lanes_best: Option<u64>,
}

/// One measured cost, as it is serialised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostRow {
    /// The workload's name.
    pub workload: String,
    /// The problems' class.
    pub class: u32,
    /// The problems' shape, every extent rounded up to a power of two.
    pub bin: Shape,
    /// The device that the problems ran on.
    pub device: DeviceId,
    /// How many problems were measured.
    pub n_samples: u64,
    /// Nanoseconds per problem.
    pub lane_ns: f64,
    /// The launch size with the best throughput, where several launch sizes were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_lanes_best: Option<u64>,
}

impl Costs {
    /// A cost is trusted once this many problems were measured.
    pub const N_SAMPLES_TRUSTED: u64 = 10;

    /// Old measurements fade: a machine that got slower is detected within about this many
    /// problems.
    const N_SAMPLES_REMEMBERED: f64 = 1000.0;

    /// The minimum weight of a batch. It corrects a wrong stored cost within twenty batches,
    /// however many samples that cost came from.
    const WEIGHT_MIN: f64 = 0.2;

    /// Records that `n_lanes` problems of this size took this long together.
    pub fn learn(
        &mut self,
        workload: &str,
        size: &Size,
        device: DeviceId,
        n_lanes: u64,
        took: Duration,
    ) {
        if n_lanes == 0 {
            return;
        }
        let lane_ns = took.as_nanos() as f64 / n_lanes as f64;
        if !self.workloads.contains_key(workload) {
            self.workloads.insert(workload.to_owned(), BTreeMap::new());
        }
        let Some(rows) = self.workloads.get_mut(workload) else {
            return;
        };
        let cost = rows.entry(Key::new(size, device)).or_insert(Cost {
            n_samples: 0,
            lane_ns,
            n_lanes_best: None,
        });
        cost.n_samples += n_lanes;
        let weight = n_lanes as f64
            / (cost.n_samples as f64).min(Self::N_SAMPLES_REMEMBERED.max(n_lanes as f64));
        let weight = weight.max(if n_lanes > 1 { Self::WEIGHT_MIN } else { 0.0 });
        cost.lane_ns += (lane_ns - cost.lane_ns) * weight;
    }

    /// The time of one problem of this size on a device, if enough problems were measured.
    pub fn lane(&self, workload: &str, size: &Size, device: DeviceId) -> Option<Duration> {
        self.workloads
            .get(workload)?
            .get(&Key::new(size, device))
            .filter(|cost| cost.n_samples >= Self::N_SAMPLES_TRUSTED)
            .map(|cost| Duration::from_nanos(cost.lane_ns as u64))
    }

    /// The time of one problem of this size on a device, even if few problems were measured.
    pub fn measured(&self, workload: &str, size: &Size, device: DeviceId) -> Option<Duration> {
        let cost = self.workloads.get(workload)?.get(&Key::new(size, device))?;
        Some(Duration::from_nanos(cost.lane_ns as u64))
    }

    /// The launch size with the best throughput for problems of this size on a device, if known.
    pub fn n_lanes_best(&self, workload: &str, size: &Size, device: DeviceId) -> Option<u64> {
        self.workloads.get(workload)?.get(&Key::new(size, device))?.n_lanes_best
    }

    /// Stores the launch size with the best throughput. The cost must have been measured before.
    pub(crate) fn keep_n_lanes_best(
        &mut self,
        workload: &str,
        size: &Size,
        device: DeviceId,
        n_lanes: u64,
    ) {
        let rows = self.workloads.get_mut(workload);
        if let Some(cost) = rows.and_then(|rows| rows.get_mut(&Key::new(size, device))) {
            cost.n_lanes_best = Some(n_lanes);
        }
    }

    /// An estimate while too few problems were measured to [trust](Self::lane) the cost: what these
    /// took, or else what the slowest problems of the class take on the device.
    pub(crate) fn rough_lane(
        &self,
        workload: &str,
        size: &Size,
        device: DeviceId,
    ) -> Option<Duration> {
        let rows = self.workloads.get(workload)?;
        let lane_ns = match rows.get(&Key::new(size, device)) {
            Some(cost) => Some(cost.lane_ns),
            None => rows
                .iter()
                .filter(|(key, _)| key.class == size.class && key.device == device)
                .map(|(_, cost)| cost.lane_ns)
                .max_by(f64::total_cmp),
        };
        lane_ns.map(|lane_ns| Duration::from_nanos(lane_ns as u64))
    }

    /// All measured costs, sorted.
    pub fn rows(&self) -> impl Iterator<Item = CostRow> + '_ {
        self.workloads.iter().flat_map(|(workload, rows)| {
            rows.iter().map(move |(key, cost)| CostRow {
                workload: workload.clone(),
                class: key.class,
                bin: key.bin,
                device: key.device,
                n_samples: cost.n_samples,
                lane_ns: cost.lane_ns,
                n_lanes_best: cost.n_lanes_best,
            })
        })
    }
}

impl Key {
    fn new(size: &Size, device: DeviceId) -> Key {
        Key { class: size.class, bin: size.shape.bin(), device }
    }
}

impl From<Costs> for Vec<CostRow> {
    fn from(costs: Costs) -> Vec<CostRow> {
        costs.rows().collect()
    }
}

impl From<Vec<CostRow>> for Costs {
    fn from(rows: Vec<CostRow>) -> Costs {
        let mut costs = Costs::default();
        for row in rows {
            if !row.lane_ns.is_finite() || row.lane_ns < 0.0 {
                continue;
            }
            let key = Key { class: row.class, bin: row.bin, device: row.device };
            let cost = Cost {
                n_samples: row.n_samples,
                lane_ns: row.lane_ns,
                n_lanes_best: row.n_lanes_best,
            };
            let rows = costs.workloads.entry(row.workload).or_default();
            rows.insert(key, cost);
        }
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_forgets_and_is_written_down() {
        let size = Size::of(Shape::new(&[100]));
        let mut costs = Costs::default();
        costs.learn("a", &size, DeviceId::Cpu, 9, Duration::from_nanos(900));
        assert_eq!(costs.lane("a", &size, DeviceId::Cpu), None, "nine are not enough");
        costs.learn("a", &size, DeviceId::Cpu, 1, Duration::from_nanos(100));
        assert_eq!(costs.lane("a", &size, DeviceId::Cpu), Some(Duration::from_nanos(100)));
        // A shape that was never measured starts with the highest cost of its class.
        let other = Size::of(Shape::new(&[5000]));
        assert_eq!(costs.lane("a", &other, DeviceId::Cpu), None);
        let rough = costs.rough_lane("a", &other, DeviceId::Cpu);
        assert_eq!(rough, Some(Duration::from_nanos(100)));
        let elsewhere = Size { class: 1, ..other };
        assert_eq!(costs.rough_lane("a", &elsewhere, DeviceId::Cpu), None);
        // A tenfold slowdown of the machine is learnt after a few thousand problems.
        for _ in 0..5000 {
            costs.learn("a", &size, DeviceId::Cpu, 1, Duration::from_nanos(1000));
        }
        let lane = costs.lane("a", &size, DeviceId::Cpu).unwrap().as_nanos();
        assert!((980..=1000).contains(&lane), "{lane}");
        let text = serde_json::to_string(&costs).unwrap();
        assert_eq!(serde_json::from_str::<Costs>(&text).unwrap(), costs);
    }

    #[test]
    fn wrong_costs_are_put_right_within_twenty_batches() {
        let size = Size::of(Shape::new(&[100]));
        // A stored cost with many samples, from a device ten times slower or faster.
        for wrong in [0.1, 10.0] {
            for n_lanes in [2, 8, 64, 4096] {
                let mut costs = Costs::from(vec![CostRow {
                    workload: "a".to_owned(),
                    class: 0,
                    bin: size.shape.bin(),
                    device: DeviceId::Gpu(0),
                    n_samples: 1_000_000,
                    lane_ns: 1000.0 * wrong,
                    n_lanes_best: None,
                }]);
                for _ in 0..20 {
                    let took = Duration::from_nanos(1000 * n_lanes);
                    costs.learn("a", &size, DeviceId::Gpu(0), n_lanes, took);
                }
                let lane = costs.lane("a", &size, DeviceId::Gpu(0)).unwrap();
                let off = lane.as_nanos() as f64 / 1000.0 - 1.0;
                assert!(off.abs() < 0.12, "{wrong} {n_lanes}: {off}");
            }
        }
    }
}
