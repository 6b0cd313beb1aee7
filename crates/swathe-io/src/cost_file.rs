//! The cost file: what problems were measured to take on this machine, kept for the next run.
//!
//! It is a guide, never a truth: a file that cannot be read, or that another version or another
//! processor wrote, is as good as none, and one that cannot be written harms nobody.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swathe::{Costs, Cpu};

/// Measured costs and what they were measured with.
#[derive(Debug, Serialize, Deserialize)]
struct CostFile {
    version: String,
    simd: String,
    n_threads: usize,
    costs: Costs,
}

/// The costs that earlier runs on this machine measured; none if they do not apply.
pub fn load() -> Costs {
    let read = || {
        let text = fs::read_to_string(path()?).ok()?;
        let file: CostFile = serde_json::from_str(&text).ok()?;
        applies(&file).then_some(file.costs)
    };
    read().unwrap_or_default()
}

/// Keeps the costs for the next run.
pub fn save(costs: &Costs) {
    let Some(path) = path() else { return };
    let cpu = Cpu::detect();
    let file = CostFile {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        simd: cpu.simd,
        n_threads: cpu.n_threads,
        costs: costs.clone(),
    };
    let Ok(text) = serde_json::to_string(&file) else {
        return;
    };
    if let Some(folder) = path.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let _ = crate::run_folder::write_file(&path, text.as_bytes());
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
