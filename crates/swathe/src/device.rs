//! Devices: where batches run.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Budget, DeviceKind, Gpu, GpuError, GpuFigures, GpuInfo, Settings, Simd};

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
    /// The processor as a device for launches of many problems, with this number.
    Host(usize),
}

impl DeviceId {
    /// The kind of the device.
    pub fn kind(self) -> DeviceKind {
        match self {
            DeviceId::Cpu => DeviceKind::Cpu,
            DeviceId::Gpu(_) => DeviceKind::Gpu,
            DeviceId::Host(_) => DeviceKind::Host,
        }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceId::Cpu => f.write_str("cpu"),
            DeviceId::Gpu(number) => write!(f, "gpu:{number}"),
            DeviceId::Host(number) => write!(f, "host:{number}"),
        }
    }
}

impl FromStr for DeviceId {
    type Err = DeviceParseError;

    fn from_str(text: &str) -> Result<DeviceId, DeviceParseError> {
        let parsed = match text.split_once(':') {
            None if text == "cpu" => Some(DeviceId::Cpu),
            Some(("gpu", number)) => number.parse().ok().map(DeviceId::Gpu),
            Some(("host", number)) => number.parse().ok().map(DeviceId::Host),
            _ => None,
        };
        parsed.ok_or_else(|| DeviceParseError { text: text.to_owned() })
    }
}

/// A text that is not a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a device: write cpu, or gpu:0 and so on")]
pub struct DeviceParseError {
    /// The text that was given.
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

/// A device that takes launches: many problems together, padded to one shape. The enum is closed:
/// it lists every device that the engine supports. (Problems that are solved one by one run on the
/// CPU's threads and need no device.)
#[derive(Clone, Debug)]
pub enum Device {
    /// A graphics processor.
    Gpu(Gpu),
    /// The processor itself.
    Host(Host),
}

/// The processor as a device for launches: a batched function on it gets padding, memory limits,
/// splitting and retries like a kernel on a graphics processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Distinguishes several hosts.
    pub number: usize,
    /// The maximum memory of one launch; a quarter of the run's budget by default.
    pub launch_bytes_max: Option<u64>,
}

impl Device {
    /// The device's id in reports and costs.
    pub fn id(&self) -> DeviceId {
        match self {
            Device::Gpu(gpu) => DeviceId::Gpu(gpu.info().number),
            Device::Host(host) => DeviceId::Host(host.number),
        }
    }

    /// The graphics processor, if it is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        match self {
            Device::Gpu(gpu) => Some(gpu),
            Device::Host(_) => None,
        }
    }

    /// The graphics processor, for a workload whose launches are kernels alone.
    ///
    /// # Errors
    /// If the device is the host, which runs no kernels.
    pub fn kernels(&self) -> Result<&Gpu, GpuError> {
        self.gpu().ok_or_else(|| GpuError::Unsupported {
            what: "kernels do not run on the host".to_owned(),
        })
    }

    /// The same device with the faults, limits and figures of one run.
    pub(crate) fn for_run(&self, host: &Budget, time_limit: Duration) -> Device {
        match self {
            Device::Gpu(gpu) => Device::Gpu(gpu.for_run(host, time_limit)),
            Device::Host(host) => Device::Host(host.clone()),
        }
    }

    /// The maximum memory of a launch on the device.
    pub(crate) fn launch_bytes_max(&self, settings: &Settings) -> u64 {
        let share_bytes = settings.memory.cap_bytes() / 4;
        match self {
            Device::Gpu(gpu) if gpu.info().software => {
                gpu.info().binding_bytes_max.min(share_bytes)
            }
            Device::Gpu(gpu) => {
                let memory_bytes = gpu.memory().cap_bytes();
                gpu.info().binding_bytes_max.min(memory_bytes / 4)
            }
            Device::Host(host) => host.launch_bytes_max.unwrap_or(share_bytes),
        }
    }

    /// How many kernels were compiled so far. A launch that compiles a kernel takes longer.
    pub(crate) fn n_compiled(&self) -> usize {
        self.gpu().map_or(0, Gpu::n_compiled)
    }

    /// Reopens the device after it was lost or timed out.
    pub(crate) fn reopen(&self, host: &Budget) -> Result<(), GpuError> {
        match host.faults().strike(crate::FaultPoint::Reopen, None) {
            None => {}
            // A hung driver does not poll, so neither does this sleep.
            Some(crate::Fault::Slow(delay)) => std::thread::sleep(delay),
            Some(_) => return Err(GpuError::Lost),
        }
        match self {
            Device::Gpu(gpu) => gpu.reopen(),
            Device::Host(_) => Ok(()),
        }
    }

    /// The device's entry in reports.
    pub(crate) fn used(&self, retired: Option<String>) -> DeviceUse {
        match self {
            Device::Gpu(gpu) => {
                DeviceUse::Gpu(GpuUse { info: gpu.info().clone(), figures: gpu.figures(), retired })
            }
            Device::Host(host) => DeviceUse::Host(HostUse { number: host.number, retired }),
        }
    }
}

/// A device that took part in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum DeviceUse {
    /// The processor's cores.
    Cpu(Cpu),
    /// A graphics processor.
    Gpu(GpuUse),
    /// The processor, for launches.
    Host(HostUse),
}

impl DeviceUse {
    /// The device's id in reports.
    pub fn id(&self) -> DeviceId {
        match self {
            DeviceUse::Cpu(_) => DeviceId::Cpu,
            DeviceUse::Gpu(gpu) => DeviceId::Gpu(gpu.info.number),
            DeviceUse::Host(host) => DeviceId::Host(host.number),
        }
    }

    /// The processor, if it is that.
    pub fn cpu(&self) -> Option<&Cpu> {
        match self {
            DeviceUse::Cpu(cpu) => Some(cpu),
            _ => None,
        }
    }

    /// The graphics processor, if it is one.
    pub fn gpu(&self) -> Option<&GpuUse> {
        match self {
            DeviceUse::Gpu(gpu) => Some(gpu),
            _ => None,
        }
    }
}

/// The processor as a device for launches, in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostUse {
    /// Its number.
    pub number: usize,
    /// Why it was retired before the end of the run, if it was.
    pub retired: Option<String>,
}

/// A graphics processor in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuUse {
    /// Its properties.
    #[serde(flatten)]
    pub info: GpuInfo,
    /// Its figures.
    pub figures: GpuFigures,
    /// Why it was retired before the end of the run, if it was.
    pub retired: Option<String>,
}

/// The processor and its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Threads that can run at the same time, as far as this process may use them.
    pub n_threads: usize,
    /// Memory that is free for this process now: what the system reports as available, or what is
    /// left of its control group's limit or of its address space (`ulimit -v`) if that is less.
    pub memory_available_bytes: u64,
    /// The widest vector instructions, by which solvers choose their code.
    pub simd: String,
}

impl Cpu {
    /// The share of the available memory that a run uses by default. The rest is for other programs
    /// and for memory that is not counted.
    const MEMORY_SHARE: f64 = 0.8;

    /// Detects the processor and memory of this machine.
    pub fn detect() -> Cpu {
        Cpu {
            n_threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_available_bytes: memory_available_bytes(),
            simd: Simd::detect().path().name().to_owned(),
        }
    }

    /// The memory that a run may use by default.
    pub fn memory_default_bytes(&self) -> u64 {
        (self.memory_available_bytes as f64 * Self::MEMORY_SHARE) as u64
    }
}

/// The memory that a run assumes where the system reports none.
const MEMORY_ASSUMED_BYTES: u64 = 2 << 30;

// These paths are interfaces of the kernel, not files on a disk; the engine reads no others.
fn memory_available_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo").and_then(|text| available_of_meminfo(&text));
    let group = read("/proc/self/cgroup")
        .and_then(|groups| free_of_groups(&groups, Path::new("/sys/fs/cgroup")));
    let space = read("/proc/self/limits")
        .zip(read("/proc/self/statm"))
        .and_then(|(limits, statm)| free_of_address_space(&limits, &statm));
    let known = [meminfo, group, space].into_iter().flatten().min();
    known.unwrap_or(MEMORY_ASSUMED_BYTES)
}

/// What the control groups of a process leave it: the least of its own group and of all groups
/// around it. `groups` is the text of `/proc/self/cgroup`, `mounted` the folder of the groups.
fn free_of_groups(groups: &str, mounted: &Path) -> Option<u64> {
    /// The files of a group in versions 2 and 1, and the line of `memory.stat` with the memory of
    /// files that the system takes back when memory is short.
    const FILES: [[&str; 3]; 2] = [
        ["memory.max", "memory.current", "inactive_file "],
        ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "],
    ];
    let free = |group: &Path, [limit, used, cached]: [&str; 3]| -> Option<u64> {
        let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
        // In version 2 a group without a limit has the word max in its place.
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let (limit, used) = number(limit).zip(number(used))?;
        let stat = read("memory.stat").unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(cached)?.trim().parse().ok());
        Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    };
    let of_line = |line: &str| -> Option<u64> {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        // Where a file system has both versions, that of version 2 is in a folder of its own.
        let roots = match controllers {
            "" => vec![(mounted.to_owned(), FILES[0]), (mounted.join("unified"), FILES[0])],
            _ if controllers.split(',').any(|name| name == "memory") => {
                vec![(mounted.join("memory"), FILES[1])]
            }
            _ => return None,
        };
        // A path that leads out of a container's own groups begins with `..`.
        let names = Path::new(path).components();
        let names = names.filter(|name| matches!(name, Component::Normal(_)));
        let path: PathBuf = names.collect();
        let levels = roots.iter().flat_map(|(root, files)| {
            path.ancestors().filter_map(move |level| free(&root.join(level), *files))
        });
        levels.min()
    };
    groups.lines().filter_map(of_line).min()
}

/// Half of what is left of a limited address space: the other half is for thread stacks, allocators
/// and libraries.
fn free_of_address_space(limits: &str, statm: &str) -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let n_pages: u64 = statm.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(n_pages * PAGE_BYTES) / 2)
}

fn available_of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
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
    fn the_tightest_group_on_the_path_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let group = |path: &str, files: &[(&str, &str)]| {
            let group = root.join(path);
            std::fs::create_dir_all(&group).unwrap();
            for (name, text) in files {
                std::fs::write(group.join(name), text).unwrap();
            }
        };
        let limited = |path: &str, limit: &str, used: &str| {
            group(path, &[("memory.max", limit), ("memory.current", used)]);
        };
        assert_eq!(free_of_groups("0::/\n", root), None);
        // The root of version 2 has neither file; a group without a limit has a word.
        limited("user.slice", "8000\n", "1000\n");
        limited("user.slice/job", "max\n", "500\n");
        limited("user.slice/job/step", "9000\n", "400\n");
        limited("user.slice/other", "10\n", "10\n");
        assert_eq!(free_of_groups("0::/user.slice/job/step\n", root), Some(7000));
        limited("user.slice/job", "900\n", "500\n");
        assert_eq!(free_of_groups("0::/user.slice/job/step\n", root), Some(400));
        // Memory of files is taken back before the limit is reached.
        group("user.slice/job", &[("memory.stat", "anon 100\ninactive_file 350\nslab 9\n")]);
        assert_eq!(free_of_groups("0::/user.slice/job/step\n", root), Some(750));
        // A container's own group is mounted in place of the root, and is not below its own path.
        limited("", "600\n", "50\n");
        assert_eq!(free_of_groups("0::/docker/3f\n", root), Some(550));
        assert_eq!(free_of_groups("0::/../../user.slice\n", root), Some(550));
        // Version 1, with and without a controller beside it, next to version 2.
        let of_v1 = |path: &str, limit: &str, used: &str| {
            group(path, &[("memory.limit_in_bytes", limit), ("memory.usage_in_bytes", used)]);
        };
        of_v1("memory", "9223372036854771712\n", "4000\n");
        of_v1("memory/slurm", "300\n", "100\n");
        of_v1("memory/slurm/job_7", "9223372036854771712\n", "80\n");
        let lines = "12:cpu,cpuacct:/\n7:memory:/slurm/job_7\n1:name=systemd:/x\n0::/\n";
        assert_eq!(free_of_groups(lines, root), Some(200));
        group("memory/slurm", &[("memory.stat", "total_inactive_file 60\n")]);
        assert_eq!(free_of_groups("7:hugetlb,memory:/slurm/job_7\n", root), Some(260));
    }

    #[test]
    fn a_limited_address_space_is_halved() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         40960000             unlimited            bytes\n";
        assert_eq!(free_of_address_space(limits, "5000 1 2\n"), Some(10_240_000));
        assert_eq!(free_of_address_space(limits, "50000 1 2\n"), Some(0));
        let free = "Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(free_of_address_space(free, "5000 1 2\n"), None);
    }

    #[test]
    fn this_machine_has_something() {
        let cpu = Cpu::detect();
        assert!(cpu.n_threads >= 1);
        assert!(cpu.memory_default_bytes() > 1 << 20);
    }
}
