//! Devices: where batches run.

use serde::{Deserialize, Serialize};

use crate::DeviceKind;

/// Something that batches run on. Closed: every device the engine knows is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Device {
    /// The processor's cores.
    Cpu(Cpu),
}

impl Device {
    /// What kind it is.
    pub fn kind(&self) -> DeviceKind {
        match self {
            Device::Cpu(_) => DeviceKind::Cpu,
        }
    }
}

/// The processor and the memory beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Threads that can run at once, as far as this process may use them.
    pub n_threads: usize,
    /// Memory that is free for this process now: what the system says is available, or what is
    /// left of its control group's limit if that is less.
    pub memory_available_bytes: u64,
    /// The widest vector instructions, as solvers choose their code by.
    pub simd: String,
}

impl Cpu {
    /// The share of the available memory that a run takes without being told: the rest is for
    /// everybody else and for what is not counted.
    const MEMORY_SHARE: f64 = 0.8;

    /// Looks at this machine.
    pub fn detect() -> Cpu {
        Cpu {
            n_threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_available_bytes: memory_available_bytes(),
            simd: simd().to_owned(),
        }
    }

    /// The memory a run may use if nobody says otherwise.
    pub fn memory_default_bytes(&self) -> u64 {
        (self.memory_available_bytes as f64 * Self::MEMORY_SHARE) as u64
    }
}

/// The instruction set that kernels with run-time selection use on this processor.
pub fn simd() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "avx512";
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return "avx2";
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        if std::arch::is_aarch64_feature_detected!("neon") {
            return "neon";
        }
    }
    "portable"
}

/// Where the system says nothing, a run assumes this much.
const MEMORY_ASSUMED_BYTES: u64 = 2 << 30;

// These are not files but how the kernel answers questions; the engine reads no others.
fn memory_available_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo").and_then(|text| available_of_meminfo(&text));
    let number = |path: &str| read(path).and_then(|text| text.trim().parse::<u64>().ok());
    let group = number("/sys/fs/cgroup/memory.max")
        .zip(number("/sys/fs/cgroup/memory.current"))
        .or_else(|| {
            number("/sys/fs/cgroup/memory/memory.limit_in_bytes")
                .zip(number("/sys/fs/cgroup/memory/memory.usage_in_bytes"))
        })
        .map(|(limit, used)| limit.saturating_sub(used));
    match (meminfo, group) {
        (Some(system), Some(group)) => system.min(group),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => MEMORY_ASSUMED_BYTES,
    }
}

fn available_of_meminfo(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       24576000 kB\nMemAvailable:   12345678 kB\nBuffers: 1 kB\n";
        assert_eq!(available_of_meminfo(text), Some(12345678 * 1024));
        assert_eq!(available_of_meminfo("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn this_machine_has_something() {
        let cpu = Cpu::detect();
        assert!(cpu.n_threads >= 1);
        assert!(cpu.memory_default_bytes() > 1 << 20);
    }
}
