//! `swathe devices --calibrate`: measures operations on each device and stores the costs.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::array_limits::Limits;
use swathe::array::Array;
use swathe::{Costs, Device, DeviceId, Gpu, Routing, Settings, Size, Source, Workload};
use swathe_array::{ArrayWorkload, Item, Key, MapKind, Operation};
use swathe_run::store::cost_file;

use swathe_command::cli_error::{CliError, Code};
use swathe_command::status;
use swathe_command::{interrupt, stdout};

/// A kind of problem to measure.
struct Sample {
    workload: Arc<ArrayWorkload>,
    item: Item,
    n_items: usize,
}

/// Measures a few kinds of problems on the CPU and on every graphics processor, and the limits of
/// one thread. Stores the figures for later runs and prints them.
pub(crate) fn calibrate(gpus: &[Gpu]) -> Result<Code, CliError> {
    let infos: Vec<_> = gpus.iter().map(|gpu| gpu.info().clone()).collect();
    let mut costs = cost_file::load(&infos);
    let ids: Vec<DeviceId> = std::iter::once(DeviceId::Cpu)
        .chain(infos.iter().map(|info| DeviceId::Gpu(info.number)))
        .collect();
    let heads = ids.iter().map(|id| format!("{id}, us")).collect();
    table_line("operation", "shape", heads, "fastest for many")?;
    for sample in samples() {
        costs = measure(&sample, costs, &[], Routing::Measured)?;
        for gpu in gpus {
            costs = measure(&sample, costs, std::slice::from_ref(gpu), Routing::Launch)?;
        }
        print_costs(&sample, &costs, &ids)?;
    }
    cost_file::save(&costs, &infos);
    let limits = Limits::measure();
    limits.keep();
    status!("kept for later runs; times on the CPU are for one thread, whose limits are:");
    for (rate, unit, what) in [
        (limits.product_f32_gflops, "GFLOP/s", "products of float32"),
        (limits.product_f64_gflops, "GFLOP/s", "products of float64"),
        (limits.cache_copy_gb_s, "GB/s", "copies in the first cache"),
        (limits.memory_copy_gb_s, "GB/s", "copies in memory"),
    ] {
        let rate = rate.unwrap_or(f64::NAN);
        status!("{rate:>8.1} {unit:<7} {what}");
    }
    Ok(Code::Solved)
}

fn measure(
    sample: &Sample,
    costs: Costs,
    gpus: &[Gpu],
    routing: Routing,
) -> Result<Costs, CliError> {
    let settings = Settings {
        devices: gpus.iter().cloned().map(Device::Gpu).collect(),
        routing,
        costs,
        stop: interrupt::stop(),
        ..Settings::default()
    };
    // Two runs: the first finds out how many problems a device takes at once.
    let items = vec![sample.item.clone(); sample.n_items];
    let source = Source::from_vec(&sample.workload, items);
    let mut costs = settings.costs.clone();
    for _ in 0..2 {
        let settings = Settings { costs, ..settings.clone() };
        let report =
            swathe::run(&sample.workload, &source, &settings, &mut |_| ControlFlow::Continue(()));
        costs = report.costs;
        if report.cancelled {
            return Err(CliError::new(Code::Interrupted, "interrupted: nothing was kept"));
        }
    }
    Ok(costs)
}

fn print_costs(sample: &Sample, costs: &Costs, ids: &[DeviceId]) -> Result<(), CliError> {
    let size = sample.workload.size(&sample.item);
    let n_threads = Settings::default().n_threads;
    let mut best: Option<(f64, DeviceId)> = None;
    let mut cells = Vec::new();
    for &id in ids {
        let Some(lane_us) = lane(sample, costs, &size, id) else {
            cells.push("cannot".to_owned());
            continue;
        };
        cells.push(format!("{lane_us:.2}"));
        let n_at_once = if id == DeviceId::Cpu { n_threads } else { 1 };
        let shared = lane_us / n_at_once as f64;
        if best.is_none_or(|(least, _)| shared < least) {
            best = Some((shared, id));
        }
    }
    let operation = sample.workload.operation().to_string();
    let fastest = best.map_or(String::new(), |(_, id)| id.to_string());
    table_line(&operation, &size.shape.to_string(), cells, &fastest)
}

fn table_line(first: &str, second: &str, cells: Vec<String>, last: &str) -> Result<(), CliError> {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>14}")).collect();
    stdout::line(format_args!("{first:<10} {second:>14}{cells}  {last}"))
}

fn lane(sample: &Sample, costs: &Costs, size: &Size, id: DeviceId) -> Option<f64> {
    let size = match id {
        DeviceId::Cpu => *size,
        DeviceId::Gpu(_) | DeviceId::Host(_) => {
            Size { shape: sample.workload.launch_form(size)?, ..*size }
        }
    };
    let lane = costs.lane(ArrayWorkload::<Arc<Array>>::NAME, &size, id)?;
    Some(lane.as_secs_f64() * 1e6)
}

fn samples() -> Vec<Sample> {
    let floats = |shape: &[usize]| {
        let n = shape.iter().product::<usize>();
        let data: Vec<f32> = (0..n).map(|k| 0.25 + (k % 97) as f32 / 64.0).collect();
        Arc::new(Array::new(shape.to_vec(), data).expect("as many elements as the shape has"))
    };
    let mut samples = Vec::new();
    for n in [256, 16_384, 1 << 20] {
        let words: Vec<u32> = (0..n as u32).collect();
        let words = Array::new(vec![n], words).expect("as many elements as the shape has");
        samples.push(Sample {
            workload: Arc::new(ArrayWorkload::new(Operation::Xor(Key::Seed(1)))),
            item: Item { first: Arc::new(words), second: None },
            n_items: ((1 << 23) / n.max(1 << 13)).max(24),
        });
        samples.push(Sample {
            workload: Arc::new(ArrayWorkload::new(Operation::Map(MapKind::Exp))),
            item: Item { first: floats(&[n]), second: None },
            n_items: ((1 << 23) / n.max(1 << 13)).max(24),
        });
    }
    for n in [16, 64, 256] {
        samples.push(Sample {
            workload: Arc::new(ArrayWorkload::new(Operation::Matmul)),
            item: Item { first: floats(&[n, n]), second: Some(floats(&[n, n])) },
            n_items: (4096 / n).max(24),
        });
    }
    samples
}
