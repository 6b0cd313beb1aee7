//! Pools of buffers that are reused.
//!
//! Touching a fresh large buffer costs many times what a reused one costs, because the operating
//! system must find and clear its pages first.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use crate::fault::FaultPoint;
use crate::memory::{Budget, ReclaimerGuard, Reservation};

/// A pool of reusable buffers of `T`. A clone shares the same pool.
///
/// Idle buffers count against the budget and are dropped as soon as it runs short. The memory of a
/// buffer in use is counted by the caller that took it.
///
/// ```
/// use swathe::{Budget, Pool};
/// let pool: Pool<f32> = Pool::new(&Budget::new(1 << 20));
/// let buffer = pool.take(1000);
/// drop(buffer);
/// let again = pool.take(900);
/// assert_eq!(again.len(), 900);
/// assert_eq!(pool.figures().n_reused, 1);
/// ```
pub struct Pool<T> {
    shared: Arc<Shared<T>>,
    _reclaimer: Arc<ReclaimerGuard>,
}

struct Shared<T> {
    budget: Budget,
    state: Mutex<State<T>>,
}

struct State<T> {
    /// Idle buffers by capacity, each with its reservation from the budget.
    idle: BTreeMap<usize, Vec<(Vec<T>, Reservation)>>,
    figures: PoolFigures,
}

/// How often buffers were reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolFigures {
    /// Buffers handed out.
    pub n_taken: u64,
    /// Of these, the buffers that had been used before.
    pub n_reused: u64,
}

impl<T: Clone + Default + Send + 'static> Pool<T> {
    /// An empty pool whose idle buffers count against this budget. The budget's injected faults can
    /// force [`take`](Self::take) to allocate a fresh buffer.
    pub fn new(budget: &Budget) -> Pool<T> {
        let state = Mutex::new(State { idle: BTreeMap::new(), figures: PoolFigures::default() });
        let shared = Arc::new(Shared { budget: budget.clone(), state });
        let weak = Arc::downgrade(&shared);
        let reclaimer = budget.on_shortage(move || {
            if let Some(shared) = weak.upgrade() {
                shared.drop_idle();
            }
        });
        Pool { shared, _reclaimer: Arc::new(reclaimer) }
    }

    /// A buffer of `len` elements. The elements of a reused buffer keep their old values.
    ///
    /// A reused buffer may have capacity for up to twice as many elements, so a workload that takes
    /// buffers here must count them double in its need.
    pub fn take(&self, len: usize) -> Pooled<T> {
        let forced_miss = self.shared.budget.faults().refuses(FaultPoint::Pool);
        let idle = self.shared.take_idle(len, forced_miss);
        self.shared.budget.count_taken(idle.is_some());
        let mut buffer = idle.unwrap_or_default();
        buffer.resize(len, T::default());
        Pooled { buffer, pool: Arc::downgrade(&self.shared) }
    }

    /// How often buffers have been reused so far.
    pub fn figures(&self) -> PoolFigures {
        self.shared.lock().figures
    }
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Pool<T> {
        Pool { shared: Arc::clone(&self.shared), _reclaimer: Arc::clone(&self._reclaimer) }
    }
}

impl<T> Shared<T> {
    fn take_idle(&self, len: usize, forced_miss: bool) -> Option<Vec<T>> {
        let mut state = self.lock();
        state.figures.n_taken += 1;
        if forced_miss || len == 0 {
            return None;
        }
        // Up to twice the requested length: a small request must not pin a huge buffer.
        let capacity = *state.idle.range(len..=len.saturating_mul(2)).next()?.0;
        let buffers = state.idle.get_mut(&capacity)?;
        let (buffer, reservation) = buffers.pop()?;
        if buffers.is_empty() {
            state.idle.remove(&capacity);
        }
        state.figures.n_reused += 1;
        drop(state);
        drop(reservation);
        Some(buffer)
    }

    fn give_back(&self, buffer: Vec<T>) {
        let bytes = (buffer.capacity() * size_of::<T>()) as u64;
        if bytes == 0 {
            return;
        }
        if let Ok(reservation) = self.budget.try_reserve(bytes) {
            self.lock().idle.entry(buffer.capacity()).or_default().push((buffer, reservation));
        }
    }

    fn drop_idle(&self) {
        // Dropping a reservation locks the budget, so the buffers leave this lock first.
        let idle = std::mem::take(&mut self.lock().idle);
        drop(idle);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A buffer from a [`Pool`]. Dropping it returns the buffer to the pool.
pub struct Pooled<T> {
    buffer: Vec<T>,
    pool: Weak<Shared<T>>,
}

impl<T> Pooled<T> {
    /// Keeps the buffer: it does not return to the pool.
    pub fn into_vec(mut self) -> Vec<T> {
        std::mem::take(&mut self.buffer)
    }
}

impl<T> Deref for Pooled<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.buffer
    }
}

impl<T> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.buffer
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.give_back(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_buffers_give_way() {
        let budget = Budget::new(1000);
        let pool: Pool<u8> = Pool::new(&budget);
        drop(pool.take(800));
        assert_eq!(budget.used_bytes(), 800);
        let held = budget.reserve(900, &crate::Stop::new()).unwrap();
        assert_eq!(budget.used_bytes(), 900);
        drop(pool.take(800));
        assert_eq!(budget.used_bytes(), 900, "no room to keep it");
        drop(held);
        assert_eq!(pool.figures(), PoolFigures { n_taken: 2, n_reused: 0 });
    }

    #[test]
    fn a_small_request_does_not_take_a_huge_buffer() {
        let pool: Pool<u8> = Pool::new(&Budget::new(1 << 20));
        drop(pool.take(10_000));
        drop(pool.take(100));
        assert_eq!(pool.figures().n_reused, 0);
        drop(pool.take(9_000));
        assert_eq!(pool.figures().n_reused, 1);
    }
}
