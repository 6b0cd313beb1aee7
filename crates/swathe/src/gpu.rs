//! Graphics processors: buffers, kernels and errors.
//!
//! A [`Gpu`] is all that a workload's [`launch`](crate::Workload::launch) sees of a device: it
//! allocates buffers, records launches of [`Kernel`]s written in WGSL and reads results back. Every
//! call that a driver can refuse returns a [`GpuError`] and never panics. Each of these calls is a
//! point where a [fault](crate::Faults) can be injected.

mod adapter;
mod buffer;
mod error;
mod kernel;
mod open;
mod recording;
mod self_test;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use adapter::{GpuSearch, Gpus, Refused, RefusedReason};
pub use buffer::GpuBuffer;
pub use error::GpuError;
pub use kernel::{Access, Kernel};
pub use recording::Recording;

use buffer::BufferCache;
use open::Open;

use crate::memory::{Budget, ReclaimerGuard};
use crate::{Fault, FaultPoint, Faults, Stop};

/// An open graphics processor. A clone shares the same device.
#[derive(Clone)]
pub struct Gpu(Arc<Inner>);

struct Inner {
    adapter: wgpu::Adapter,
    info: GpuInfo,
    /// The open device, shared by all its users; replaced after a loss.
    open: Arc<Mutex<Arc<Open>>>,
    /// Buffers that wait to be reused.
    shelf: Arc<BufferCache>,
    memory: Budget,
    _reclaimer: ReclaimerGuard,
    faults: Faults,
    /// How long one submission may take.
    time_limit: Duration,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    n_submissions: AtomicU64,
    n_dispatches: AtomicU64,
    uploaded_bytes: AtomicU64,
    downloaded_bytes: AtomicU64,
}

/// The properties of a graphics processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuInfo {
    /// Its number, as in `--device gpu:0,2`.
    pub number: usize,
    /// The name that the driver reports.
    pub name: String,
    /// The driver and its version.
    pub driver: String,
    /// The interface that reaches it: `vulkan`, `metal`, `dx12`.
    pub backend: String,
    /// Whether it is a software device, which uses the processor's memory and cores.
    pub software: bool,
    /// The maximum size of one buffer.
    pub buffer_bytes_max: u64,
    /// The maximum part of one buffer that a kernel can bind.
    pub binding_bytes_max: u64,
}

/// What a graphics processor did in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuFigures {
    /// How often work was submitted to the device.
    pub n_submissions: u64,
    /// Kernels launched.
    pub n_dispatches: u64,
    /// Bytes written to the device.
    pub uploaded_bytes: u64,
    /// Bytes read back.
    pub downloaded_bytes: u64,
    /// Buffers taken.
    pub n_buffers: u64,
    /// Of these, the buffers that had been used before.
    pub n_buffers_reused: u64,
    /// The most memory held at once, if the device has memory of its own.
    pub peak_bytes: u64,
}

impl Gpu {
    /// The memory that a run assumes where the driver does not report it. A refused allocation
    /// lowers it.
    const MEMORY_ASSUMED_BYTES: u64 = 2 << 30;

    fn new(
        adapter: wgpu::Adapter,
        info: GpuInfo,
        open: Arc<Mutex<Arc<Open>>>,
        use_of: RunContext,
    ) -> Gpu {
        let shelf = Arc::new(BufferCache::default());
        let weak = Arc::downgrade(&shelf);
        let reclaimer = use_of.memory.on_shortage(move || {
            if let Some(shelf) = weak.upgrade() {
                shelf.clear();
            }
        });
        Gpu(Arc::new(Inner {
            adapter,
            info,
            open,
            shelf,
            memory: use_of.memory,
            _reclaimer: reclaimer,
            faults: use_of.faults,
            time_limit: use_of.time_limit,
            counters: Counters::default(),
        }))
    }

    /// The same device with the faults, limits and figures of one run. A software device takes its
    /// buffers from the host's memory.
    pub(crate) fn for_run(&self, host: &Budget, time_limit: Duration) -> Gpu {
        let faults = host.faults();
        let memory = if self.0.info.software {
            host.clone()
        } else {
            Budget::with_faults(self.0.memory.cap_bytes(), faults.clone())
        };
        Gpu::new(
            self.0.adapter.clone(),
            self.0.info.clone(),
            Arc::clone(&self.0.open),
            RunContext { memory, faults: faults.clone(), time_limit },
        )
    }

    /// The same device with so much memory. A run ignores it for a software device.
    pub fn with_memory(&self, bytes: u64) -> Gpu {
        Gpu::new(
            self.0.adapter.clone(),
            self.0.info.clone(),
            Arc::clone(&self.0.open),
            RunContext {
                memory: Budget::new(bytes),
                faults: self.0.faults.clone(),
                time_limit: self.0.time_limit,
            },
        )
    }

    /// The properties of the device.
    pub fn info(&self) -> &GpuInfo {
        &self.0.info
    }

    /// The figures since the device was opened, or since the run began.
    pub fn figures(&self) -> GpuFigures {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.0.counters;
        let (n_buffers, n_buffers_reused) = self.0.shelf.n_taken_reused();
        GpuFigures {
            n_submissions: get(&counters.n_submissions),
            n_dispatches: get(&counters.n_dispatches),
            uploaded_bytes: get(&counters.uploaded_bytes),
            downloaded_bytes: get(&counters.downloaded_bytes),
            n_buffers,
            n_buffers_reused,
            peak_bytes: if self.0.info.software { 0 } else { self.0.memory.peak_bytes() },
        }
    }

    /// How many kernels were compiled since the device was opened. A launch that compiles a kernel
    /// takes longer.
    pub(crate) fn n_compiled(&self) -> usize {
        self.open().n_ready()
    }

    /// The memory that the device may use.
    pub(crate) fn memory(&self) -> &Budget {
        &self.0.memory
    }

    /// A buffer of so many bytes, with arbitrary contents.
    ///
    /// # Errors
    /// If the buffer is too large for the device or its memory, or if the device was lost.
    pub fn buffer(&self, bytes: u64) -> Result<GpuBuffer, GpuError> {
        self.take_buffer(bytes, buffer::Purpose::Storage)
    }

    /// A buffer of so many bytes, all zero.
    ///
    /// # Errors
    /// If the buffer is too large for the device or its memory, or if the device was lost.
    pub fn zeroed(&self, bytes: u64) -> Result<GpuBuffer, GpuError> {
        let buffer = self.buffer(bytes)?;
        let open = self.open();
        open.guarded(0, || {
            let mut encoder = open.device.create_command_encoder(&Default::default());
            encoder.clear_buffer(&buffer.raw, 0, None);
            open.queue.submit([encoder.finish()]);
        })?;
        Ok(buffer)
    }

    /// A buffer with these values.
    ///
    /// # Errors
    /// If the values are too large for the device or its memory, or if the device was lost.
    pub fn upload<T: bytemuck::NoUninit>(&self, values: &[T]) -> Result<GpuBuffer, GpuError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let buffer = self.buffer(bytes.len() as u64)?;
        self.write(&buffer, values)?;
        Ok(buffer)
    }

    /// Writes values to the beginning of a buffer.
    ///
    /// # Errors
    /// If the device was lost or refuses the write.
    pub fn write<T: bytemuck::NoUninit>(
        &self,
        buffer: &GpuBuffer,
        values: &[T],
    ) -> Result<(), GpuError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let n_bytes = bytes.len() as u64;
        let open = self.open();
        self.strike(FaultPoint::Upload, n_bytes, &open)?;
        if n_bytes == 0 {
            return open.check();
        }
        open.guarded(n_bytes, || {
            // wgpu writes whole words of four bytes.
            let (words, rest) = bytes.split_at(bytes.len() / 4 * 4);
            if !words.is_empty() {
                open.queue.write_buffer(&buffer.raw, 0, words);
            }
            if !rest.is_empty() {
                let mut last = [0; 4];
                last[..rest.len()].copy_from_slice(rest);
                open.queue.write_buffer(&buffer.raw, words.len() as u64, &last);
            }
        })?;
        self.0.counters.uploaded_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Begins to record launches.
    pub fn record(&self) -> Recording<'_> {
        Recording::new(self)
    }

    /// The first `n` values of a buffer.
    ///
    /// # Errors
    /// If the device was lost, refuses the copy or times out, or if a stop is requested.
    pub fn read<T: bytemuck::Pod>(
        &self,
        buffer: &GpuBuffer,
        n: usize,
        stop: &Stop,
    ) -> Result<Vec<T>, GpuError> {
        let n_bytes = (n * size_of::<T>()) as u64;
        let open = self.open();
        self.strike(FaultPoint::Readback, n_bytes, &open)?;
        if n_bytes == 0 {
            open.check()?;
            return Ok(Vec::new());
        }
        let copied_bytes = n_bytes.next_multiple_of(4);
        let staging = self.take_buffer(copied_bytes, buffer::Purpose::Readback)?;
        let mapped = Arc::new(Mutex::new(None));
        let result = Arc::clone(&mapped);
        let submission = open.guarded(copied_bytes, || {
            let mut encoder = open.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&buffer.raw, 0, &staging.raw, 0, copied_bytes);
            let submission = open.queue.submit([encoder.finish()]);
            staging.raw.map_async(wgpu::MapMode::Read, ..copied_bytes, move |outcome| {
                *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            });
            submission
        })?;
        let is_mapped = || {
            let outcome = mapped.lock().unwrap_or_else(PoisonError::into_inner);
            outcome.is_some()
        };
        let waited = self.wait(&open, submission, Duration::ZERO, stop, &is_mapped);
        if let Err(error) = waited {
            // The mapping may still be pending, so this buffer cannot be reused.
            staging.discard();
            return Err(error);
        }
        let outcome = mapped.lock().unwrap_or_else(PoisonError::into_inner).take();
        if !matches!(outcome, Some(Ok(()))) {
            staging.discard();
            open.check()?;
            return Err(GpuError::Kernel {
                kernel: "readback",
                message: "the buffer could not be mapped".to_owned(),
            });
        }
        let values = match staging.raw.get_mapped_range(..n_bytes) {
            Ok(view) => bytemuck::pod_collect_to_vec::<u8, T>(&view),
            Err(error) => {
                staging.discard();
                open.check()?;
                return Err(GpuError::Kernel { kernel: "readback", message: error.to_string() });
            }
        };
        staging.raw.unmap();
        self.0.counters.downloaded_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        Ok(values)
    }

    /// Reopens the device after it was lost or timed out.
    pub(crate) fn reopen(&self) -> Result<(), GpuError> {
        self.0.shelf.clear();
        // Opened without the lock, so that other users of the device do not wait for a hung driver.
        let opened = Arc::new(open::open(&self.0.adapter, &self.0.info.name)?);
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = opened;
        Ok(())
    }

    fn open(&self) -> Arc<Open> {
        Arc::clone(&self.0.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take_buffer(&self, bytes: u64, purpose: buffer::Purpose) -> Result<GpuBuffer, GpuError> {
        let open = self.open();
        self.strike(FaultPoint::Buffer, bytes, &open)?;
        let limit_bytes = self.0.info.buffer_bytes_max;
        if bytes > limit_bytes {
            return Err(GpuError::TooLarge { wanted_bytes: bytes, limit_bytes });
        }
        let taken = self.0.shelf.take(&self.0.memory, &open, bytes, purpose);
        if let Err(GpuError::OutOfMemory { free_bytes: 0, .. }) = taken
            && !self.0.info.software
        {
            self.0.memory.learn_refusal(bytes);
        }
        taken
    }

    /// Injects a fault if one is due here. Returns the delay of an injected slowdown. A loss is
    /// real: the device is destroyed, and the calls that follow must detect it.
    fn strike(
        &self,
        point: FaultPoint,
        wanted_bytes: u64,
        open: &Open,
    ) -> Result<Duration, GpuError> {
        match self.0.faults.strike(point, None) {
            None => Ok(Duration::ZERO),
            Some(Fault::Slow(delay)) => Ok(delay),
            Some(Fault::OutOfMemory) => Err(GpuError::OutOfMemory { wanted_bytes, free_bytes: 0 }),
            Some(Fault::Lost | Fault::Panic) => {
                open.device.destroy();
                Ok(Duration::ZERO)
            }
        }
    }

    /// Waits until a submission is done and `is_over` returns true. Polls the stop and the time
    /// limit meanwhile.
    fn wait(
        &self,
        open: &Open,
        submission: wgpu::SubmissionIndex,
        delay: Duration,
        stop: &Stop,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), GpuError> {
        const SLICE: Duration = Duration::from_millis(20);
        let start = Instant::now();
        loop {
            let late = start.elapsed() < delay;
            let polled = if late {
                std::thread::sleep(SLICE.min(delay));
                Err(wgpu::PollError::Timeout)
            } else {
                let _driver = open.driver();
                open.device.poll(wgpu::PollType::Wait {
                    submission_index: Some(submission.clone()),
                    timeout: Some(SLICE),
                })
            };
            open.check()?;
            match polled {
                Ok(_) if is_over() => return Ok(()),
                Ok(_) | Err(wgpu::PollError::Timeout) => {}
                Err(error) => {
                    return Err(GpuError::Kernel { kernel: "wait", message: error.to_string() });
                }
            }
            if stop.requested() {
                return Err(GpuError::Stopped);
            }
            if start.elapsed() > self.0.time_limit {
                return Err(GpuError::TimedOut { after: self.0.time_limit });
            }
        }
    }
}

struct RunContext {
    memory: Budget,
    faults: Faults,
    time_limit: Duration,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({} {})", self.0.info.number, self.0.info.name)
    }
}
