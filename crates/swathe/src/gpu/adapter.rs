//! Finds graphics processors and reports why one is not used.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Gpu, GpuError, GpuInfo, RunContext, open, self_test};
use crate::{Budget, Faults};

/// Which graphics processors to search for.
#[derive(Clone, Debug)]
pub struct GpuSearch {
    /// Whether to use software devices too. They compute on the processor and are slower than the
    /// CPU code, so they are useful in tests alone.
    pub software: bool,
    /// How many times to open each device, every time as a device of its own. Tests use several
    /// devices on a machine that has one.
    pub n_copies: usize,
    /// Injected faults: a refused or slow self-test.
    pub faults: Faults,
    /// How long a driver may take to list its devices, or to open and test one.
    pub time_max: Duration,
}

impl Default for GpuSearch {
    fn default() -> GpuSearch {
        GpuSearch {
            software: false,
            n_copies: 1,
            faults: Faults::none(),
            time_max: Duration::from_secs(30),
        }
    }
}

/// The graphics processors of a machine.
#[derive(Clone, Debug, Default)]
pub struct Gpus {
    /// The devices that passed the self-test, in a fixed order.
    pub usable: Vec<Gpu>,
    /// The devices that are present but not used.
    pub refused: Vec<Refused>,
}

/// A graphics processor that is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The name that the driver reports.
    pub name: String,
    /// Why it is not used.
    pub reason: RefusedReason,
}

/// Why a graphics processor is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedReason {
    /// It is a software device, not hardware.
    Software,
    /// It cannot be opened.
    Closed {
        /// The message of the driver.
        message: String,
    },
    /// Its driver does not return.
    Hung {
        /// How long the search waited for the driver.
        after: Duration,
    },
    /// It computes a wrong result.
    SelfTest {
        /// What was wrong.
        message: String,
    },
}

impl fmt::Display for RefusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusedReason::Software => f.write_str(
                "software device (slower than the CPU); set SWATHE_SOFTWARE_GPU=1 to use it anyway",
            ),
            RefusedReason::Closed { message } => write!(f, "cannot be opened: {message}"),
            RefusedReason::Hung { after } => {
                write!(f, "its driver did not come back after {after:?}")
            }
            RefusedReason::SelfTest { message } => write!(f, "failed the self-test: {message}"),
        }
    }
}

impl Gpus {
    /// Searches for graphics processors, opens them and tests them. Takes up to a second. A driver
    /// that does not return within [`GpuSearch::time_max`] is abandoned and its device refused.
    pub fn find(search: &GpuSearch) -> Gpus {
        let mut gpus = Gpus::default();
        let listed = supervised(search.time_max, || {
            open::now(instance().enumerate_adapters(wgpu::Backends::all()))
        });
        let mut adapters = match listed {
            Ok(adapters) => adapters,
            Err(reason) => {
                gpus.refused.push(Refused { name: "the list of devices".to_owned(), reason });
                return gpus;
            }
        };
        // Hardware first, the fastest kind first; within a kind in the order of the driver.
        adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
        for adapter in adapters {
            let info = adapter.get_info();
            let software = info.device_type == wgpu::DeviceType::Cpu;
            if software && !search.software {
                gpus.refused.push(Refused { name: info.name, reason: RefusedReason::Software });
                continue;
            }
            for _ in 0..search.n_copies.max(1) {
                let (adapter, number, its) = (adapter.clone(), gpus.usable.len(), search.clone());
                let opened = supervised(search.time_max, move || try_open(&adapter, number, &its));
                match opened.flatten() {
                    Ok(gpu) => gpus.usable.push(gpu),
                    Err(reason) => {
                        gpus.refused.push(Refused { name: info.name.clone(), reason });
                        break;
                    }
                }
            }
        }
        gpus
    }
}

/// Calls a driver on a thread of its own, which is abandoned if the call does not return in time.
fn supervised<T: Send + 'static>(
    time_max: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RefusedReason> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("swathe-driver".to_owned());
    let spawned = thread.spawn(move || {
        let _ = sender.send(call());
    });
    spawned.map_err(|error| RefusedReason::Closed {
        message: format!("the system refused to start a thread: {error}"),
    })?;
    let hung = RefusedReason::Hung { after: time_max };
    receiver.recv_timeout(time_max).map_err(|_| hung)
}

fn try_open(
    adapter: &wgpu::Adapter,
    number: usize,
    search: &GpuSearch,
) -> Result<Gpu, RefusedReason> {
    let info = adapter.get_info();
    let limits = adapter.limits();
    let closed = |error: GpuError| RefusedReason::Closed { message: error.to_string() };
    let open = open::open(adapter, &info.name).map_err(closed)?;
    let described = GpuInfo {
        number,
        name: info.name,
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        backend: info.backend.to_str().to_owned(),
        software: info.device_type == wgpu::DeviceType::Cpu,
        buffer_bytes_max: limits.max_buffer_size,
        binding_bytes_max: limits.max_storage_buffer_binding_size,
    };
    let gpu = Gpu::new(
        adapter.clone(),
        described,
        Arc::new(Mutex::new(Arc::new(open))),
        RunContext {
            memory: Budget::new(Gpu::MEMORY_ASSUMED_BYTES),
            faults: Faults::none(),
            time_limit: Duration::from_secs(60),
        },
    );
    self_test::run(&gpu, &search.faults).map_err(|message| RefusedReason::SelfTest { message })?;
    Ok(gpu)
}

/// One instance for the process, because every instance loads the drivers anew.
fn instance() -> &'static wgpu::Instance {
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    INSTANCE.get_or_init(|| {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        // Debug builds would request validation layers, which are rarely installed.
        descriptor.flags = wgpu::InstanceFlags::empty();
        wgpu::Instance::new(descriptor)
    })
}

fn rank(kind: wgpu::DeviceType) -> u8 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}
