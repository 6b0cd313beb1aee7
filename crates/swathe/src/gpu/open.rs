//! An open device: its queue, error scopes and compiled kernels.

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
    /// Locked by the thread that calls the driver. wgpu fails if one thread submits or polls while
    /// another thread waits for its own submission.
    driver: Mutex<()>,
    lost: Arc<AtomicBool>,
    /// The last error that was reported outside of every error scope.
    uncaptured: Arc<Mutex<Option<String>>>,
    ready: Mutex<HashMap<&'static str, Arc<Ready>>>,
}

/// Opens a device with all limits that its adapter allows.
pub(super) fn open(adapter: &wgpu::Adapter, name: &str) -> Result<Open, GpuError> {
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("swathe"),
        required_limits: adapter.limits(),
        ..Default::default()
    };
    let (device, queue) = now(adapter.request_device(&descriptor)).map_err(|error| {
        GpuError::Unsupported { what: format!("{name} cannot be opened: {error}") }
    })?;
    let lost = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&lost);
    device.set_device_lost_callback(move |_, _| told.store(true, Ordering::Release));
    let uncaptured = Arc::new(Mutex::new(None));
    let told = Arc::clone(&uncaptured);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }));
    Ok(Open { device, queue, driver: Mutex::new(()), lost, uncaptured, ready: Mutex::default() })
}

impl Open {
    /// Locks the driver for the calling thread.
    pub(super) fn driver(&self) -> MutexGuard<'_, ()> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if the device was lost or has reported an error.
    pub(super) fn check(&self) -> Result<(), GpuError> {
        if self.is_lost() {
            return Err(GpuError::Lost);
        }
        let complaint = self.uncaptured.lock().unwrap_or_else(PoisonError::into_inner).take();
        match complaint {
            None => Ok(()),
            Some(message) => Err(GpuError::Kernel { kernel: "device", message }),
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Runs calls that the driver may refuse. A loss is checked first, because drivers may report a
    /// lost device as a full one.
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
        // wgpu reports the loss of a device only while polling.
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.check()?;
        if memory.is_some() {
            return Err(GpuError::OutOfMemory { wanted_bytes, free_bytes: 0 });
        }
        if let Some(error) = validation.or(internal) {
            return Err(GpuError::Kernel { kernel: "device", message: error.to_string() });
        }
        Ok(value)
    }

    /// How many kernels have been compiled so far.
    pub(super) fn n_ready(&self) -> usize {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// A kernel compiled for this device. The first request compiles it.
    pub(super) fn ready(&self, kernel: &Kernel) -> Result<Arc<Ready>, GpuError> {
        let mut all = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = all.get(kernel.name) {
            return Ok(Arc::clone(ready));
        }
        let ready = self.guarded(0, || Ready::new(&self.device, kernel));
        let ready = Arc::new(ready.map_err(|error| match error {
            GpuError::Kernel { message, .. } => GpuError::Kernel { kernel: kernel.name, message },
            other => other,
        })?);
        all.insert(kernel.name, Arc::clone(&ready));
        Ok(ready)
    }
}

/// The value of a future that is ready at once, as the futures of native drivers are.
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
