//! Buffers on a graphics processor, used again and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::GpuError;
use super::open::Open;
use crate::memory::{Budget, Reservation};

/// Memory on a graphics processor. Dropped, it waits to be used again.
pub struct GpuBuffer {
    pub(super) raw: wgpu::Buffer,
    bytes: u64,
    kept: Option<Kept>,
}

/// What goes back to the shelf.
struct Kept {
    shelf: Weak<BufferCache>,
    /// The device as it was open when the buffer was made: another one cannot use it.
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
    /// How many bytes were asked for; there may be more.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Never used again.
    pub(super) fn discard(mut self) {
        self.kept = None;
    }
}

impl Drop for GpuBuffer {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take()
            && let Some(shelf) = kept.shelf.upgrade()
        {
            shelf.put(Idle {
                raw: self.raw.clone(),
                kept,
            });
        }
    }
}

/// Buffers that wait to be used again.
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
    kept: Kept,
}

impl BufferCache {
    /// No more wait than this: kernels use a few buffers of a few sizes.
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
                    && idle.kept.purpose == purpose
                    && std::ptr::eq(idle.kept.open.as_ptr(), Arc::as_ptr(open))
            });
            state.n_reused += u64::from(at.is_some());
            at.map(|at| state.idle.swap_remove(at))
        };
        if let Some(Idle { raw, kept }) = found {
            return Ok(GpuBuffer {
                raw,
                bytes,
                kept: Some(kept),
            });
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
        let kept = Kept {
            shelf: Arc::downgrade(self),
            open: Arc::downgrade(open),
            purpose,
            reservation,
        };
        Ok(GpuBuffer {
            raw,
            bytes,
            kept: Some(kept),
        })
    }

    /// Lets all that waits go; how many bytes that were.
    pub(super) fn clear(&self) -> u64 {
        let idle = std::mem::take(&mut self.state().idle);
        idle.iter().map(|idle| idle.kept.reservation.bytes()).sum()
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
        // Its reservation takes the budget's lock, and the budget may be asking for this shelf's.
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

/// Sizes are rounded up to one of four between two powers of two, so that buffers of nearly equal
/// size can stand in for each other.
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
            assert!(
                held <= bytes.max(256) + bytes.max(256) / 4,
                "{bytes}: {held}"
            );
        }
    }
}
