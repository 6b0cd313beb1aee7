//! Buffers on a graphics processor, reused through a cache.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::GpuError;
use super::open::Open;
use crate::memory::{Budget, Reservation};

/// Memory on a graphics processor. Dropping it returns it to the cache.
pub struct GpuBuffer {
    pub(super) raw: wgpu::Buffer,
    bytes: u64,
    cache_return: Option<CacheReturn>,
}

/// What returns to the cache with a buffer.
struct CacheReturn {
    buffer_cache: Weak<BufferCache>,
    /// The open device that made the buffer; a reopened device cannot use it.
    open: Weak<Open>,
    purpose: Purpose,
    reservation: Reservation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Kernels read and write it.
    Storage,
    /// Parameters of launches.
    Uniform,
    /// The host reads it.
    Readback,
}

impl GpuBuffer {
    /// The requested bytes; the buffer may be larger.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Drops the buffer without returning it to the cache.
    pub(super) fn discard(mut self) {
        self.cache_return = None;
    }
}

impl Drop for GpuBuffer {
    fn drop(&mut self) {
        if let Some(cache_return) = self.cache_return.take()
            && let Some(buffer_cache) = cache_return.buffer_cache.upgrade()
        {
            buffer_cache.put(Idle { raw: self.raw.clone(), cache_return });
        }
    }
}

/// A cache of idle buffers.
#[derive(Default)]
pub(super) struct BufferCache(Mutex<State>);

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    n_taken: u64,
    n_reused: u64,
}

struct Idle {
    raw: wgpu::Buffer,
    cache_return: CacheReturn,
}

impl BufferCache {
    /// The maximum number of idle buffers: kernels use a few buffers of a few sizes.
    const N_IDLE_MAX: usize = 64;

    pub(super) fn take(
        self: &Arc<BufferCache>,
        memory: &Budget,
        open: &Arc<Open>,
        bytes: u64,
        purpose: Purpose,
    ) -> Result<GpuBuffer, GpuError> {
        let capacity_bytes = capacity(bytes);
        let found = {
            let mut state = self.state();
            state.n_taken += 1;
            let at = state.idle.iter().position(|idle| {
                idle.raw.size() == capacity_bytes
                    && idle.cache_return.purpose == purpose
                    && std::ptr::eq(idle.cache_return.open.as_ptr(), Arc::as_ptr(open))
            });
            state.n_reused += u64::from(at.is_some());
            at.map(|at| state.idle.swap_remove(at))
        };
        if let Some(Idle { raw, cache_return }) = found {
            return Ok(GpuBuffer { raw, bytes, cache_return: Some(cache_return) });
        }
        let reserve = || {
            let refused = |refusal: crate::OutOfMemory| GpuError::OutOfMemory {
                wanted_bytes: refusal.wanted_bytes,
                free_bytes: refusal.free_bytes,
            };
            memory.try_reserve(capacity_bytes).map_err(refused)
        };
        let reservation = reserve().or_else(|refusal| match self.clear() {
            0 => Err(refusal),
            _ => reserve(),
        })?;
        let raw = make(open, capacity_bytes, purpose).or_else(|error| match error {
            GpuError::OutOfMemory { .. } if self.clear() > 0 => make(open, capacity_bytes, purpose),
            error => Err(error),
        })?;
        let cache_return = CacheReturn {
            buffer_cache: Arc::downgrade(self),
            open: Arc::downgrade(open),
            purpose,
            reservation,
        };
        Ok(GpuBuffer { raw, bytes, cache_return: Some(cache_return) })
    }

    /// Drops all idle buffers and returns how many bytes they held.
    pub(super) fn clear(&self) -> u64 {
        let idle = std::mem::take(&mut self.state().idle);
        idle.iter().map(|idle| idle.cache_return.reservation.bytes()).sum()
    }

    pub(super) fn n_taken_reused(&self) -> (u64, u64) {
        let state = self.state();
        (state.n_taken, state.n_reused)
    }

    fn put(&self, idle: Idle) {
        let mut state = self.state();
        let dropped = match state.idle.len() >= Self::N_IDLE_MAX {
            true => Some(state.idle.remove(0)),
            false => None,
        };
        state.idle.push(idle);
        // Dropping its reservation locks the budget, and a reclaimer of the budget locks this
        // cache.
        drop(state);
        drop(dropped);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make(open: &Open, capacity_bytes: u64, purpose: Purpose) -> Result<wgpu::Buffer, GpuError> {
    use wgpu::BufferUsages as Usage;
    let usage = match purpose {
        Purpose::Storage => Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST,
        Purpose::Uniform => Usage::UNIFORM | Usage::COPY_DST,
        Purpose::Readback => Usage::MAP_READ | Usage::COPY_DST,
    };
    open.guarded(capacity_bytes, || {
        open.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: capacity_bytes,
            usage,
            mapped_at_creation: false,
        })
    })
}

/// Rounds a size up to one of four steps between two powers of two, so that buffers of nearly equal
/// size can replace each other.
fn capacity(bytes: u64) -> u64 {
    let bytes = bytes.max(256);
    let step = (bytes.next_power_of_two() / 8).max(4);
    bytes.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_hold_and_are_few() {
        assert_eq!(capacity(0), 256);
        assert_eq!(capacity(257), 320);
        assert_eq!(capacity(1000), 1024);
        assert_eq!(capacity(1025), 1280);
        for bytes in (0..100_000).step_by(37) {
            let held = capacity(bytes);
            assert!(held >= bytes && held.is_multiple_of(4));
            assert!(held <= bytes.max(256) + bytes.max(256) / 4, "{bytes}: {held}");
        }
    }
}
