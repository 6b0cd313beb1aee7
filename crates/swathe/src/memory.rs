//! Memory: a budget, reservations from it, and buffers that are used again.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fault::{FaultPoint, Faults};
use crate::{PoolFigures, Stop};

/// The memory that a run may use. A clone is the same budget.
///
/// Code that wants memory reserves it first and holds the [`Reservation`] as long as the memory
/// lives. Those who keep memory only to be quick (caches, pools, idle scratch) register a
/// [reclaimer](Budget::on_shortage) and are asked to give it back before a reservation waits.
///
/// ```
/// use swathe::Budget;
/// let budget = Budget::new(100);
/// let held = budget.try_reserve(70).unwrap();
/// assert_eq!(budget.try_reserve(40).unwrap_err().free_bytes, 30);
/// drop(held);
/// assert!(budget.try_reserve(40).is_ok());
/// assert_eq!(budget.peak_bytes(), 70);
/// ```
#[derive(Clone)]
pub struct Budget(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    /// Signalled when bytes are freed or the line moves.
    moved: Condvar,
    faults: Faults,
}

struct State {
    cap_bytes: u64,
    used_bytes: u64,
    /// Of the used ones, those that no reclaimer can give back.
    stranded_bytes: u64,
    peak_bytes: u64,
    n_reservations: u64,
    n_refusals: u64,
    /// Those who wait, first come first served: small requests must not starve a large one.
    line: VecDeque<u64>,
    ticket_next: u64,
    reclaimers: Vec<(u64, Reclaimer)>,
    reclaimer_next: u64,
    pools: PoolFigures,
}

type Reclaimer = Arc<dyn Fn() + Send + Sync>;

/// A request for memory that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted_bytes} bytes wanted, {free_bytes} free")]
pub struct OutOfMemory {
    /// What was asked for.
    pub wanted_bytes: u64,
    /// What was there.
    pub free_bytes: u64,
}

/// Why a waiting request got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// It can never be granted, or a fault refused it.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The run was cancelled while it waited.
    #[error("stopped while waiting for memory")]
    Stopped,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(cap_bytes: u64) -> Budget {
        Budget::with_faults(cap_bytes, Faults::none())
    }

    /// A budget with faults on purpose. They are given here once: everything that works with this
    /// budget (runs, pools, devices) meets them.
    pub fn with_faults(cap_bytes: u64, faults: Faults) -> Budget {
        let state = State {
            cap_bytes,
            used_bytes: 0,
            stranded_bytes: 0,
            peak_bytes: 0,
            n_reservations: 0,
            n_refusals: 0,
            line: VecDeque::new(),
            ticket_next: 0,
            reclaimers: Vec::new(),
            reclaimer_next: 0,
            pools: PoolFigures::default(),
        };
        Budget(Arc::new(Inner {
            state: Mutex::new(state),
            moved: Condvar::new(),
            faults,
        }))
    }

    /// The faults of everything that works with this budget.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Reserves at once or not at all. Does not jump the line of those who wait.
    pub fn try_reserve(&self, bytes: u64) -> Result<Reservation, OutOfMemory> {
        let refused = self.0.faults.refuses(FaultPoint::Reserve);
        let mut state = self.state();
        if refused || !state.line.is_empty() || !state.fits(bytes) {
            state.n_refusals += 1;
            return Err(state.refusal(bytes));
        }
        Ok(self.grant(&mut state, bytes))
    }

    /// Reserves, waiting for others to give memory back. Refused only if there will never be room
    /// (or a fault says so).
    ///
    /// A holder of a reservation, a loader for instance, should not wait for another:
    /// two who each wait for what the other holds wait for ever. [`Budget::try_reserve`] is for
    /// them.
    pub fn reserve(&self, bytes: u64, stop: &Stop) -> Result<Reservation, ReserveError> {
        let refused = self.0.faults.refuses(FaultPoint::Reserve);
        let mut state = self.state();
        if refused || bytes > state.reachable_bytes() {
            state.n_refusals += 1;
            return Err(state.refusal(bytes).into());
        }
        if state.line.is_empty() && state.fits(bytes) {
            return Ok(self.grant(&mut state, bytes));
        }
        let ticket = state.ticket_next;
        state.ticket_next += 1;
        state.line.push_back(ticket);
        loop {
            if state.line.front() == Some(&ticket) {
                if !state.fits(bytes) {
                    drop(state);
                    self.reclaim();
                    state = self.state();
                }
                if state.fits(bytes) {
                    state.line.pop_front();
                    self.0.moved.notify_all();
                    return Ok(self.grant(&mut state, bytes));
                }
            }
            if bytes > state.reachable_bytes() {
                state.line.retain(|&waiting| waiting != ticket);
                state.n_refusals += 1;
                self.0.moved.notify_all();
                return Err(state.refusal(bytes).into());
            }
            if stop.is_cancelled() {
                state.line.retain(|&waiting| waiting != ticket);
                self.0.moved.notify_all();
                return Err(ReserveError::Stopped);
            }
            // The time-out is for the stop, which is polled.
            let (guard, _) = self
                .0
                .moved
                .wait_timeout(state, Duration::from_millis(20))
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
        }
    }

    /// Registers a function that can give memory back when it is short, for as long as the returned
    /// guard lives. It is called without any lock of the budget held, from any thread.
    pub fn on_shortage(&self, reclaim: impl Fn() + Send + Sync + 'static) -> ReclaimerGuard {
        let mut state = self.state();
        let id = state.reclaimer_next;
        state.reclaimer_next += 1;
        state.reclaimers.push((id, Arc::new(reclaim)));
        ReclaimerGuard {
            budget: self.clone(),
            id,
        }
    }

    /// Whether a reservation waits for memory right now.
    pub fn is_short(&self) -> bool {
        !self.state().line.is_empty()
    }

    /// The size of the budget.
    pub fn cap_bytes(&self) -> u64 {
        self.state().cap_bytes
    }

    /// There is less than was thought: no more than what is used now and half of what was wanted.
    pub(crate) fn learn_refusal(&self, wanted_bytes: u64) {
        let mut state = self.state();
        let reached_bytes = state.used_bytes + wanted_bytes / 2;
        state.cap_bytes = state.cap_bytes.min(reached_bytes);
    }

    /// The part of the budget that is free or can become so.
    pub(crate) fn reachable_bytes(&self) -> u64 {
        self.state().reachable_bytes()
    }

    /// What is reserved now.
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes
    }

    /// The most that was ever reserved at once.
    pub fn peak_bytes(&self) -> u64 {
        self.state().peak_bytes
    }

    /// How many reservations were granted and how many were refused.
    pub fn n_granted_refused(&self) -> (u64, u64) {
        let state = self.state();
        (state.n_reservations, state.n_refusals)
    }

    /// How often the pools of this budget used buffers again.
    pub fn pool_figures(&self) -> PoolFigures {
        self.state().pools
    }

    pub(crate) fn count_taken(&self, reused: bool) {
        let mut state = self.state();
        state.pools.n_taken += 1;
        state.pools.n_reused += u64::from(reused);
    }

    fn grant(&self, state: &mut State, bytes: u64) -> Reservation {
        state.used_bytes += bytes;
        state.peak_bytes = state.peak_bytes.max(state.used_bytes);
        state.n_reservations += 1;
        Reservation {
            budget: self.clone(),
            bytes,
            stranded: false,
        }
    }

    fn release(&self, bytes: u64, stranded: bool) {
        if bytes == 0 {
            return;
        }
        let mut state = self.state();
        state.used_bytes -= bytes;
        if stranded {
            state.stranded_bytes -= bytes;
        }
        if !state.line.is_empty() {
            self.0.moved.notify_all();
        }
    }

    fn reclaim(&self) {
        let reclaimers: Vec<Reclaimer> = self
            .state()
            .reclaimers
            .iter()
            .map(|(_, reclaim)| Arc::clone(reclaim))
            .collect();
        for reclaim in reclaimers {
            reclaim();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way through a change.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fits(&self, bytes: u64) -> bool {
        bytes <= self.cap_bytes - self.used_bytes
    }

    fn reachable_bytes(&self) -> u64 {
        self.cap_bytes - self.stranded_bytes
    }

    fn refusal(&self, wanted_bytes: u64) -> OutOfMemory {
        OutOfMemory {
            wanted_bytes,
            free_bytes: self.cap_bytes - self.used_bytes,
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(
            f,
            "Budget({} of {} bytes used)",
            state.used_bytes, state.cap_bytes
        )
    }
}

/// Bytes of a budget, given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
    stranded: bool,
}

impl Reservation {
    /// How many bytes it holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a part of it out; at most what is there.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Reservation {
            budget: self.budget.clone(),
            bytes,
            stranded: self.stranded,
        }
    }

    /// Its holder does not answer any more: those who could only be served with these bytes are
    /// refused instead of waiting for ever.
    pub(crate) fn strand(&mut self) {
        if !std::mem::replace(&mut self.stranded, true) {
            self.budget.state().stranded_bytes += self.bytes;
            self.budget.0.moved.notify_all();
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes, self.stranded);
    }
}

/// Keeps a reclaimer registered with [`Budget::on_shortage`].
pub struct ReclaimerGuard {
    budget: Budget,
    id: u64,
}

impl Drop for ReclaimerGuard {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        let at = state.reclaimers.iter().position(|&(id, _)| id == self.id);
        let removed = at.map(|at| state.reclaimers.remove(at));
        // What it holds may be a reservation of this very budget, whose end takes the lock again.
        drop(state);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reclaimer_may_hold_what_it_gives_back() {
        let budget = Budget::new(100);
        let held = Mutex::new(Some(budget.try_reserve(60).unwrap()));
        let guard = budget.on_shortage(move || {
            let held = held.lock().unwrap().take();
            drop(held);
        });
        assert_eq!(budget.reserve(100, &Stop::new()).unwrap().bytes(), 100);
        let held = Mutex::new(Some(budget.try_reserve(60).unwrap()));
        let other = budget.on_shortage(move || drop(held.lock().unwrap().take()));
        drop((guard, other));
        assert_eq!(budget.used_bytes(), 0);
    }
}
