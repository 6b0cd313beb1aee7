//! Placement: which problems run on devices and which on the CPU, decided before a run.
//!
//! A kernel's answer may differ from the CPU's in its last bits. If the CPU and the devices took
//! problems from one queue, the bits of an answer would depend on which of them was free first. A
//! placement depends on a problem's class and size alone, so two runs with the same placement give
//! the same bits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Costs, DeviceId, Shape, Size};

/// Where problems are solved, by class and size. Plain data: store it as JSON with the run.
///
/// ```
/// use std::time::Duration;
/// use swathe::{Costs, DeviceId, Placement, Shape, Size};
///
/// let size = Size::of(Shape::new(&[64, 64]));
/// let mut costs = Costs::default();
/// costs.learn("primes", &size, DeviceId::Cpu, 10, Duration::from_millis(80));
/// costs.learn("primes", &size, DeviceId::Gpu(0), 10, Duration::from_millis(10));
/// let form = |size: &Size| Some(size.shape);
/// let sizes = [size];
/// let devices = [DeviceId::Gpu(0)];
/// let placement = Placement::decide("primes", &costs, &sizes, form, &devices, 2, None);
/// assert!(placement.is_on_devices(&size));
/// // What was not measured is the CPU's.
/// assert!(!placement.is_on_devices(&Size::of(Shape::new(&[1000, 1000]))));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Placement {
    rows: Vec<PlacementRow>,
}

/// Where problems of one class and size are solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementRow {
    /// The problems' class.
    pub class: u32,
    /// The problems' shape, every extent rounded up to a power of two.
    pub bin: Shape,
    /// Where the problems are solved.
    pub on: PlacedOn,
    /// The time of one problem on a thread of the CPU, in milliseconds; `None` where it was not
    /// measured.
    pub cpu_ms: Option<f64>,
    /// The time of one problem on the fastest device, in milliseconds; `None` where it was not
    /// measured.
    pub device_ms: Option<f64>,
}

/// Where problems are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacedOn {
    /// On threads of the CPU.
    Cpu,
    /// On the devices that take launches, as long as there is one.
    Devices,
}

impl Placement {
    /// Compares the measured throughput of all devices together with that of all CPU threads
    /// together. The CPU keeps sizes that were not measured on both and sizes that are about as
    /// fast there. A decision in `before` is kept unless it has become clearly wrong: measurements
    /// scatter, and repeated runs should give the same bits. `form` returns the shape in which
    /// problems of a size are launched.
    pub fn decide(
        workload: &str,
        costs: &Costs,
        sizes: &[Size],
        form: impl Fn(&Size) -> Option<Shape>,
        devices: &[DeviceId],
        n_threads: usize,
        before: Option<&Placement>,
    ) -> Placement {
        /// How much faster the devices must be to be chosen.
        const GAIN: f64 = 1.25;
        /// How much faster the other side must be to change an earlier decision.
        const GAIN_TO_CHANGE: f64 = 2.0;
        let mut rows: Vec<PlacementRow> = Vec::new();
        for size in sizes {
            let (class, bin) = (size.class, size.shape.bin());
            let Err(at) = rows.binary_search_by_key(&(class, bin), |row| (row.class, row.bin))
            else {
                continue;
            };
            let seconds = |lane: Duration| lane.as_secs_f64().max(1e-12);
            let cpu = costs.measured(workload, size, DeviceId::Cpu).map(seconds);
            let launched = form(size).map(|shape| Size { shape, ..*size });
            let lanes = devices.iter().filter_map(|&device| {
                let lane = costs.measured(workload, &launched?, device)?;
                Some(seconds(lane))
            });
            let lanes: Vec<f64> = lanes.collect();
            let rate: f64 = lanes.iter().map(|lane| 1.0 / lane).sum();
            let gain = cpu.map(|cpu| rate * cpu / n_threads.max(1) as f64);
            let gain_min = match before.and_then(|before| before.row(size)).map(|row| row.on) {
                None => GAIN,
                Some(PlacedOn::Cpu) => GAIN_TO_CHANGE,
                Some(PlacedOn::Devices) => 1.0 / GAIN_TO_CHANGE,
            };
            let on = match gain {
                Some(gain) if gain > gain_min => PlacedOn::Devices,
                _ => PlacedOn::Cpu,
            };
            let row = PlacementRow {
                class,
                bin,
                on,
                cpu_ms: cpu.map(|s| s * 1e3),
                device_ms: lanes.into_iter().reduce(f64::min).map(|s| s * 1e3),
            };
            rows.insert(at, row);
        }
        Placement { rows }
    }

    /// Whether problems of this size run on the devices.
    pub fn is_on_devices(&self, size: &Size) -> bool {
        self.row(size).is_some_and(|row| row.on == PlacedOn::Devices)
    }

    fn row(&self, size: &Size) -> Option<&PlacementRow> {
        let key = (size.class, size.shape.bin());
        let found = (self.rows).binary_search_by_key(&key, |row| (row.class, row.bin));
        Some(&self.rows[found.ok()?])
    }

    /// This placement, extended by the rows of `before` for other sizes.
    pub fn over(&self, before: &Placement) -> Placement {
        let mut rows = self.rows.clone();
        for row in &before.rows {
            let key = (row.class, row.bin);
            if let Err(at) = rows.binary_search_by_key(&key, |row| (row.class, row.bin)) {
                rows.insert(at, row.clone());
            }
        }
        Placement { rows }
    }

    /// All rows, sorted by class and size.
    pub fn rows(&self) -> &[PlacementRow] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_against_devices_and_the_unmeasured_is_the_cpus() {
        let size = |n: u32| Size::of(Shape::new(&[n]));
        let mut costs = Costs::default();
        let mut learn = |n: u32, device, ms: u64| {
            costs.learn("w", &size(n), device, 1, Duration::from_millis(ms));
        };
        // Four threads at 8 ms are faster than one device at 3 ms, but slower than two.
        learn(8, DeviceId::Cpu, 8);
        learn(8, DeviceId::Gpu(0), 3);
        learn(8, DeviceId::Gpu(1), 3);
        learn(64, DeviceId::Gpu(0), 1);
        let sizes = [size(64), size(8), size(7), size(512)];
        let form = |size: &Size| Some(size.shape);
        let decide =
            |devices: &[DeviceId]| Placement::decide("w", &costs, &sizes, form, devices, 4, None);
        let one = decide(&[DeviceId::Gpu(0)]);
        assert!(!one.is_on_devices(&size(8)));
        let two = decide(&[DeviceId::Gpu(0), DeviceId::Gpu(1)]);
        assert!(two.is_on_devices(&size(8)) && two.is_on_devices(&size(5)));
        assert!(!two.is_on_devices(&size(64)), "not measured on the CPU");
        let bins: Vec<u64> = two.rows().iter().map(|row| row.bin.volume()).collect();
        assert_eq!(bins, [8, 64, 512]);
        // Two devices are 1.33 times as fast: enough to choose them at first, too little to change
        // an earlier choice of the CPU.
        let gpus = [DeviceId::Gpu(0), DeviceId::Gpu(1)];
        let again = Placement::decide("w", &costs, &sizes, form, &gpus, 4, Some(&one));
        assert!(!again.is_on_devices(&size(8)));
        assert_eq!(two.over(&one), two);
        assert_eq!(Placement::default().over(&one), one);
        let json = serde_json::to_string(&two).expect("plain data");
        assert_eq!(serde_json::from_str::<Placement>(&json).expect("as it was"), two);
    }
}
