//! Devices: where batches run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{DeviceKind, GpuFigures, GpuInfo};

/// One of the devices of a run.
///
/// ```
/// use swathe::DeviceId;
/// assert_eq!(DeviceId::Gpu(2).to_string(), "gpu:2");
/// assert_eq!("cpu".parse(), Ok(DeviceId::Cpu));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceId {
    /// The processor, all cores together.
    #[default]
    Cpu,
    /// The graphics processor of this number.
    Gpu(usize),
}

impl DeviceId {
    /// What kind it is.
    pub fn kind(self) -> DeviceKind {
        match self {
            DeviceId::Cpu => DeviceKind::Cpu,
            DeviceId::Gpu(_) => DeviceKind::Gpu,
        }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceId::Cpu => f.write_str("cpu"),
            DeviceId::Gpu(number) => write!(f, "gpu:{number}"),
        }
    }
}

impl FromStr for DeviceId {
    type Err = DeviceParseError;

    fn from_str(text: &str) -> Result<DeviceId, DeviceParseError> {
        let number = |text: &str| text.strip_prefix("gpu:")?.parse().ok();
        match text {
            "cpu" => Ok(DeviceId::Cpu),
            _ => number(text).map(DeviceId::Gpu).ok_or(DeviceParseError {
                text: text.to_owned(),
            }),
        }
    }
}

/// A text that is not a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a device: write cpu, or gpu:0 and so on")]
pub struct DeviceParseError {
    /// The text.
    pub text: String,
}

impl Serialize for DeviceId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<DeviceId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Something that batches run on. Closed: every device the engine knows is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Device {
    /// The processor's cores.
    Cpu(Cpu),
    /// A graphics processor.
    Gpu(GpuUse),
}

impl Device {
    /// What kind it is.
    pub fn kind(&self) -> DeviceKind {
        match self {
            Device::Cpu(_) => DeviceKind::Cpu,
            Device::Gpu(_) => DeviceKind::Gpu,
        }
    }
}

/// A graphics processor in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuUse {
    /// What is known of it.
    #[serde(flatten)]
    pub info: GpuInfo,
    /// What it did.
    pub figures: GpuFigures,
    /// Why it was given up before the end of the run, if it was.
    pub retired: Option<String>,
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
