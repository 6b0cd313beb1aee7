//! An open device: queue, error scopes, kernels made ready.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::GpuError;
use super::kernel::{Kernel, Ready};

pub(super) struct Open {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// Held by the thread that talks to the driver. wgpu fails if one thread submits or polls while
    /// another one waits for a submission of its own.
    driver: Mutex<()>,
    lost: Arc<AtomicBool>,
    /// What was reported outside of every error scope, last.
    uncaptured: Arc<Mutex<Option<String>>>,
    ready: Mutex<HashMap<&'static str, Arc<Ready>>>,
}

/// Opens a device with all that its adapter can do.
pub(super) fn open(adapter: &wgpu::Adapter, name: &str) -> Result<Open, GpuError> {
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("swathe"),
        required_limits: adapter.limits(),
        ..Default::default()
    };
    let (device, queue) =
        now(adapter.request_device(&descriptor)).map_err(|error| GpuError::Unsupported {
            what: format!("{name} cannot be opened: {error}"),
        })?;
    let lost = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&lost);
    device.set_device_lost_callback(move |_, _| told.store(true, Ordering::Release));
    let uncaptured = Arc::new(Mutex::new(None));
    let told = Arc::clone(&uncaptured);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }));
    Ok(Open {
        device,
        queue,
        driver: Mutex::new(()),
        lost,
        uncaptured,
        ready: Mutex::default(),
    })
}

impl Open {
    /// The right to talk to the driver.
    pub(super) fn driver(&self) -> MutexGuard<'_, ()> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the device is still there and has nothing to complain about.
    pub(super) fn check(&self) -> Result<(), GpuError> {
        if self.is_lost() {
            return Err(GpuError::Lost);
        }
        let complaint = self
            .uncaptured
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match complaint {
            None => Ok(()),
            Some(message) => Err(GpuError::Kernel {
                kernel: "device",
                message,
            }),
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Runs calls that the driver may refuse. A lost device is told apart from a full one, since
    /// drivers report either as whatever comes first.
    pub(super) fn guarded<T>(
        &self,
        wanted_bytes: u64,
        calls: impl FnOnce() -> T,
    ) -> Result<T, GpuError> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let value = calls();
        let internal = now(internal.pop());
        let validation = now(validation.pop());
        let memory = now(memory.pop());
        // The device's loss is announced by polling only.
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.check()?;
        if memory.is_some() {
            return Err(GpuError::OutOfMemory {
                wanted_bytes,
                free_bytes: 0,
            });
        }
        if let Some(error) = validation.or(internal) {
            return Err(GpuError::Kernel {
                kernel: "device",
                message: error.to_string(),
            });
        }
        Ok(value)
    }

    /// How many kernels were made ready so far.
    pub(super) fn n_ready(&self) -> usize {
        self.ready
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// A kernel made ready for this device, the first time it is asked for.
    pub(super) fn ready(&self, kernel: &Kernel) -> Result<Arc<Ready>, GpuError> {
        let mut all = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = all.get(kernel.name) {
            return Ok(Arc::clone(ready));
        }
        let ready = self.guarded(0, || Ready::new(&self.device, kernel));
        let ready = Arc::new(ready.map_err(|error| match error {
            GpuError::Kernel { message, .. } => GpuError::Kernel {
                kernel: kernel.name,
                message,
            },
            other => other,
        })?);
        all.insert(kernel.name, Arc::clone(&ready));
        Ok(ready)
    }
}

/// The value of a future that is ready at once, as those of native drivers are.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}
