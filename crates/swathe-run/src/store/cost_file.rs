//! The cost file: the measured cost of problems on this machine, kept for the next run.
//!
//! The file is only a hint. A file that cannot be read, or that another version or another
//! processor wrote, is ignored. A failure to write it is ignored too.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swathe::{CostRow, Costs, Cpu, DeviceId, GpuInfo, Placement};

/// Measured costs, and the version and hardware they were measured with.
#[derive(Debug, Serialize, Deserialize)]
struct CostFile {
    version: String,
    simd: String,
    n_threads: usize,
    /// The GPUs by number, with their drivers.
    #[serde(default)]
    gpus: BTreeMap<usize, String>,
    costs: Costs,
    /// On which devices problems were solved, keyed by workload, threads and GPUs.
    #[serde(default)]
    placements: BTreeMap<String, Placement>,
}

/// The costs that earlier runs measured on this machine. Costs of a GPU are included only if the
/// same GPU with the same driver is in `gpus`.
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

/// Saves the costs for the next run. Saved costs of GPUs that this run did not use are kept.
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

/// The placement that earlier runs of this workload used with the same GPUs and number of threads.
pub fn placement(workload: &str, gpus: &[GpuInfo], n_threads: usize) -> Option<Placement> {
    read()?.placements.remove(&placement_key(workload, gpus, n_threads))
}

/// Saves a placement for the next run. It is added to the cost file, so [`save`] must come first;
/// without a cost file nothing is saved.
pub fn keep_placement(workload: &str, gpus: &[GpuInfo], n_threads: usize, decided: &Placement) {
    if let Some(mut file) = read() {
        let of_workload =
            file.placements.entry(placement_key(workload, gpus, n_threads)).or_default();
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

/// The key under which costs of a GPU are valid: another driver counts as another device.
fn described(gpu: &GpuInfo) -> String {
    format!("{}, {} {}", gpu.name, gpu.backend, gpu.driver)
}

fn applies(file: &CostFile) -> bool {
    let cpu = Cpu::detect();
    file.version == env!("CARGO_PKG_VERSION")
        && file.simd == cpu.simd
        && file.n_threads == cpu.n_threads
}

/// The path in the user's cache folder; `None` if neither variable names an absolute folder.
fn path() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("swathe").join("costs.json"))
}
