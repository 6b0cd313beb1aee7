//! The cost file: what problems were measured to take on this machine, kept for the next run.
//!
//! It is a guide, never a truth: a file that cannot be read, or that another version or another
//! processor wrote, is as good as none, and one that cannot be written harms nobody.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swathe::{CostRow, Costs, Cpu, DeviceId, GpuInfo};

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
    let Some(path) = path() else { return };
    let cpu = Cpu::detect();
    let mut rows: Vec<CostRow> = costs.clone().into();
    let mut known: BTreeMap<usize, String> = BTreeMap::new();
    if let Some(before) = read() {
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
    };
    let Ok(text) = serde_json::to_string(&file) else {
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
