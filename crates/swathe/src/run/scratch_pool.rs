//! The scratch pool: one scratch for every problem that may be solved at the same time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::{WAIT_MAX, lock};
use crate::memory::{Budget, ReclaimerGuard, Reservation};
use crate::{OwnedWorkload, Stop, Workload};

/// A scratch and the reservation of its memory.
pub(super) struct ScratchLease<W: Workload> {
    /// Created by the first worker that solves with it. If the workload panics while creating it,
    /// the panic is caught there.
    pub(super) scratch: Option<W::Scratch>,
    pub(super) reservation: Reservation,
}

/// Keeps scratches between problems. Taking a scratch also grants a turn to solve.
pub(super) struct ScratchPool<W: Workload> {
    shared: Arc<Inner<W>>,
    _reclaimer: ReclaimerGuard,
}

struct Inner<W: Workload> {
    state: Mutex<State<W>>,
    freed: Condvar,
    budget: Budget,
}

struct State<W: Workload> {
    idle: Vec<ScratchLease<W>>,
    n_free: usize,
}

impl<W: OwnedWorkload> ScratchPool<W> {
    pub(super) fn new(n_at_once: usize, budget: &Budget) -> ScratchPool<W> {
        let state = Mutex::new(State { idle: Vec::new(), n_free: n_at_once });
        let shared = Arc::new(Inner { state, freed: Condvar::new(), budget: budget.clone() });
        let weak = Arc::downgrade(&shared);
        let reclaimer = budget.on_shortage(move || {
            if let Some(shared) = weak.upgrade() {
                let idle: Vec<ScratchLease<W>> = std::mem::take(&mut lock(&shared.state).idle);
                drop(idle);
            }
        });
        ScratchPool { shared, _reclaimer: reclaimer }
    }

    /// Waits for a turn and takes a scratch, for which `reservation` was made; `None` if the run is
    /// cancelled first.
    pub(super) fn take(&self, reservation: Reservation, stop: &Stop) -> Option<ScratchLease<W>> {
        let mut state = lock(&self.shared.state);
        while state.n_free == 0 {
            if stop.is_cancelled() {
                return None;
            }
            let wait = self.shared.freed.wait_timeout(state, WAIT_MAX);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.n_free -= 1;
        let idle = state.idle.pop();
        drop(state);
        Some(match idle {
            // A scratch grows to the need of the largest problem it has solved, never beyond.
            Some(mut held) => {
                if held.reservation.bytes() < reservation.bytes() {
                    held.reservation = reservation;
                }
                held
            }
            None => ScratchLease { scratch: None, reservation },
        })
    }

    /// Returns a scratch to the pool, or drops it if a reservation waits for memory.
    pub(super) fn give_back(&self, held: ScratchLease<W>) {
        if self.shared.budget.is_short() {
            drop(held);
        } else {
            lock(&self.shared.state).idle.push(held);
        }
        self.release_turn();
    }

    /// Wakes all waiting workers, which then check whether the run is cancelled.
    pub(super) fn wake(&self) {
        self.shared.freed.notify_all();
    }

    /// Lets the next worker solve. Called directly for a worker that never returns.
    pub(super) fn release_turn(&self) {
        lock(&self.shared.state).n_free += 1;
        self.shared.freed.notify_one();
    }
}
