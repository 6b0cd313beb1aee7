//! The cost file: what problems were measured to take on this machine, kept for the next run.
//!
//! It is a guide, never a truth: a file that cannot be read, or that another version or another
//! processor wrote, is as good as none, and one that cannot be written does no harm.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swathe::{CostRow, Costs, Cpu, DeviceId, GpuInfo, Placement};

/// Measured costs and what they were measured with.
#[derive(Debug, Serialize, Deserialize)]
struct CostFile {
    version: String,
    simd: String,
    n_threads: usize,
    /// The graphics processors by number, with their drivers.
    #[serde(default)]
    gpus: BTreeMap<usize, String>,
    costs: Costs,
    /// Where problems were solved, by workload and devices.
    #[serde(default)]
    placements: BTreeMap<String, Placement>,
}

/// The costs that earlier runs on this machine measured, with these graphics processors; none if
/// they do not apply.
pub fn load(gpus: &[GpuInfo]) -> Costs {
    let Some(file) = read() else {
        return Costs::default();
    };
    let mut rows: Vec<CostRow> = file.costs.into();
    rows.retain(|row| match row.device {
        DeviceId::Cpu | DeviceId::Host(_) => true,
        DeviceId::Gpu(number) => {
            let now = gpus.iter().find(|gpu| gpu.number == number).map(described);
            now.as_ref() == file.gpus.get(&number)
        }
    });
    rows.into()
}

/// Keeps the costs for the next run. What was known of graphics processors that this run did not
/// use stays known.
pub fn save(costs: &Costs, gpus: &[GpuInfo]) {
    let cpu = Cpu::detect();
    let mut rows: Vec<CostRow> = costs.clone().into();
    let mut known: BTreeMap<usize, String> = BTreeMap::new();
    let mut placements = BTreeMap::new();
    if let Some(before) = read() {
        placements = before.placements;
        let is_elsewhere = |number: usize| !gpus.iter().any(|gpu| gpu.number == number);
        known = before.gpus;
        known.retain(|&number, _| is_elsewhere(number));
        let kept: Vec<CostRow> = before.costs.into();
        rows.extend(
            kept.into_iter()
                .filter(|row| matches!(row.device, DeviceId::Gpu(n) if is_elsewhere(n))),
        );
    }
    known.extend(gpus.iter().map(|gpu| (gpu.number, described(gpu))));
    let file = CostFile {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        simd: cpu.simd,
        n_threads: cpu.n_threads,
        gpus: known,
        costs: rows.into(),
        placements,
    };
    write(&file);
}

/// Where earlier runs of this workload, with these graphics processors and so many threads, solved
/// their problems.
pub fn placement(workload: &str, gpus: &[GpuInfo], n_threads: usize) -> Option<Placement> {
    read()?
        .placements
        .remove(&placement_key(workload, gpus, n_threads))
}

/// Keeps a placement for the next run. Without a cost file there is none: it is written first.
pub fn keep_placement(workload: &str, gpus: &[GpuInfo], n_threads: usize, decided: &Placement) {
    if let Some(mut file) = read() {
        let of_workload = file
            .placements
            .entry(placement_key(workload, gpus, n_threads))
            .or_default();
        *of_workload = decided.over(of_workload);
        write(&file);
    }
}

fn placement_key(workload: &str, gpus: &[GpuInfo], n_threads: usize) -> String {
    let gpus: Vec<String> = gpus.iter().map(described).collect();
    format!("{workload}, {n_threads} threads, {}", gpus.join(", "))
}

fn write(file: &CostFile) {
    let Some(path) = path() else { return };
    let Ok(text) = serde_json::to_string(file) else {
        return;
    };
    if let Some(folder) = path.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let _ = crate::store::run_folder::write_file(&path, text.as_bytes());
}

fn read() -> Option<CostFile> {
    let text = fs::read_to_string(path()?).ok()?;
    let file: CostFile = serde_json::from_str(&text).ok()?;
    applies(&file).then_some(file)
}

/// What costs of a graphics processor hold for: another driver is another device.
fn described(gpu: &GpuInfo) -> String {
    format!("{}, {} {}", gpu.name, gpu.backend, gpu.driver)
}

fn applies(file: &CostFile) -> bool {
    let cpu = Cpu::detect();
    file.version == env!("CARGO_PKG_VERSION")
        && file.simd == cpu.simd
        && file.n_threads == cpu.n_threads
}

/// In the user's cache folder; none where there is no such thing.
fn path() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("swathe").join("costs.json"))
}
