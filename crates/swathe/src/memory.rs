//! Memory: a budget and the reservations from it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use crate::fault::{FaultPoint, Faults};
use crate::{PoolFigures, Stop};

/// The memory that a run may use. A clone shares the same budget.
///
/// Code that needs memory reserves it first and holds the [`Reservation`] as long as the memory
/// lives. Caches, pools and idle scratches register a [reclaimer](Budget::on_shortage), which the
/// budget calls before it lets a reservation wait.
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
    /// Signalled when bytes are released or the line of waiting requests moves.
    moved: Condvar,
    faults: Faults,
}

struct State {
    cap_bytes: u64,
    used_bytes: u64,
    /// The part of `used_bytes` whose holder no longer responds, so no reclaimer can release it.
    stranded_bytes: u64,
    peak_bytes: u64,
    n_reservations: u64,
    n_refusals: u64,
    /// Waiting requests, first come first served: small requests must not starve a large one.
    line: VecDeque<Ticket>,
    ticket_next: u64,
    reclaimers: Vec<(u64, Reclaimer)>,
    reclaimer_next: u64,
    pools: PoolFigures,
}

type Reclaimer = Arc<dyn Fn() + Send + Sync>;

/// A waiting request.
struct Ticket {
    number: u64,
    /// The thread to wake, where nobody waits for the signal.
    thread: Option<Thread>,
}

/// A request for memory that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted_bytes} bytes wanted, {free_bytes} free")]
pub struct OutOfMemory {
    /// The bytes that were requested.
    pub wanted_bytes: u64,
    /// The bytes that were free.
    pub free_bytes: u64,
}

/// Why a waiting request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// The request can never be granted, or an injected fault refused it.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The run was cancelled while the request waited.
    #[error("stopped while waiting for memory")]
    Stopped,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(cap_bytes: u64) -> Budget {
        Budget::with_faults(cap_bytes, Faults::none())
    }

    /// A budget with injected faults. Everything that uses this budget (runs, pools, devices) gets
    /// its faults from here.
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
        Budget(Arc::new(Inner { state: Mutex::new(state), moved: Condvar::new(), faults }))
    }

    /// The injected faults for everything that uses this budget.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Reserves at once or not at all. Does not overtake requests that wait.
    ///
    /// # Errors
    /// If the bytes are not free, other requests wait, or an injected fault refuses the request.
    pub fn try_reserve(&self, bytes: u64) -> Result<Reservation, OutOfMemory> {
        let refused = self.0.faults.refuses(FaultPoint::Reserve);
        let mut state = self.state();
        if refused || !state.line.is_empty() || !state.fits(bytes) {
            state.n_refusals += 1;
            return Err(state.refusal(bytes));
        }
        Ok(self.grant(&mut state, bytes))
    }

    /// Reserves memory that is not released before the run ends, such as an index of its input.
    /// A problem that would need these bytes is refused instead of waiting for them.
    ///
    /// # Errors
    /// If it does not fit beside what is reserved already.
    pub fn try_pin(&self, bytes: u64) -> Result<Reservation, OutOfMemory> {
        let mut reservation = self.try_reserve(bytes)?;
        reservation.strand();
        Ok(reservation)
    }

    /// Reserves, waiting for others to give memory back. Refused only if there will never be room
    /// (or a fault says so).
    ///
    /// A thread that already holds a reservation, a loader for instance, should call
    /// [`Budget::try_reserve`] instead: two threads that wait for each other's bytes deadlock.
    ///
    /// # Errors
    /// If there will never be enough memory, an injected fault refuses the request, or the run is
    /// cancelled while the request waits.
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
        let ticket = state.join_line(None);
        loop {
            if state.is_next(ticket) {
                if !state.fits(bytes) {
                    drop(state);
                    self.reclaim();
                    state = self.state();
                }
                if state.fits(bytes) {
                    self.leave_line(&mut state, ticket);
                    return Ok(self.grant(&mut state, bytes));
                }
            }
            if bytes > state.reachable_bytes() {
                self.leave_line(&mut state, ticket);
                state.n_refusals += 1;
                return Err(state.refusal(bytes).into());
            }
            if stop.is_cancelled() {
                self.leave_line(&mut state, ticket);
                return Err(ReserveError::Stopped);
            }
            // The time-out lets the loop poll the stop.
            let (guard, _) = self
                .0
                .moved
                .wait_timeout(state, Duration::from_millis(20))
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
        }
    }

    /// Registers a function that releases memory when it is short, for as long as the returned
    /// guard lives. It is called from any thread, without any lock of the budget held.
    pub fn on_shortage(&self, reclaim: impl Fn() + Send + Sync + 'static) -> ReclaimerGuard {
        let mut state = self.state();
        let id = state.reclaimer_next;
        state.reclaimer_next += 1;
        state.reclaimers.push((id, Arc::new(reclaim)));
        ReclaimerGuard { budget: self.clone(), id }
    }

    /// Whether a reservation waits for memory right now.
    pub fn is_short(&self) -> bool {
        !self.state().line.is_empty()
    }

    /// The size of the budget.
    pub fn cap_bytes(&self) -> u64 {
        self.state().cap_bytes
    }

    /// Lowers the budget after the device refused an allocation: to what is used now plus half of
    /// what was requested.
    pub(crate) fn learn_refusal(&self, wanted_bytes: u64) {
        let mut state = self.state();
        let reached_bytes = state.used_bytes + wanted_bytes / 2;
        state.cap_bytes = state.cap_bytes.min(reached_bytes);
    }

    /// The part of the budget that is free or can be released.
    pub(crate) fn reachable_bytes(&self) -> u64 {
        self.state().reachable_bytes()
    }

    /// The bytes that are reserved now.
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes
    }

    /// The most bytes that were ever reserved at once.
    pub fn peak_bytes(&self) -> u64 {
        self.state().peak_bytes
    }

    /// How many reservations were granted and how many were refused.
    pub fn n_granted_refused(&self) -> (u64, u64) {
        let state = self.state();
        (state.n_reservations, state.n_refusals)
    }

    /// How often the pools of this budget reused buffers.
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
        Reservation { budget: self.clone(), bytes, stranded: false }
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
        self.wake(&state);
    }

    /// Wakes whoever waits for memory.
    fn wake(&self, state: &State) {
        if let Some(first) = state.line.front() {
            self.0.moved.notify_all();
            if let Some(thread) = &first.thread {
                thread.unpark();
            }
        }
    }

    fn leave_line(&self, state: &mut State, ticket: u64) {
        state.line.retain(|waiting| waiting.number != ticket);
        self.wake(state);
    }

    fn reclaim(&self) {
        let reclaimers: Vec<Reclaimer> =
            self.state().reclaimers.iter().map(|(_, reclaim)| Arc::clone(reclaim)).collect();
        for reclaim in reclaimers {
            reclaim();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics in the middle of a change, so a poisoned state is still consistent.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Joins the line of waiting requests.
    fn join_line(&mut self, thread: Option<Thread>) -> u64 {
        let number = self.ticket_next;
        self.ticket_next += 1;
        self.line.push_back(Ticket { number, thread });
        number
    }

    fn is_next(&self, ticket: u64) -> bool {
        self.line.front().is_some_and(|first| first.number == ticket)
    }

    fn fits(&self, bytes: u64) -> bool {
        bytes <= self.cap_bytes - self.used_bytes
    }

    fn reachable_bytes(&self) -> u64 {
        self.cap_bytes - self.stranded_bytes
    }

    fn refusal(&self, wanted_bytes: u64) -> OutOfMemory {
        OutOfMemory { wanted_bytes, free_bytes: self.cap_bytes - self.used_bytes }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "Budget({} of {} bytes used)", state.used_bytes, state.cap_bytes)
    }
}

/// Bytes of a budget, released when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
    stranded: bool,
}

impl Reservation {
    /// How many bytes the reservation holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Splits off a part, at most as many bytes as there are.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Reservation { budget: self.budget.clone(), bytes, stranded: self.stranded }
    }

    /// Marks the bytes as lost because their holder no longer responds. Requests that would need
    /// these bytes are then refused instead of waiting for ever.
    pub(crate) fn strand(&mut self) {
        if !std::mem::replace(&mut self.stranded, true) {
            let mut state = self.budget.state();
            state.stranded_bytes += self.bytes;
            self.budget.wake(&state);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes, self.stranded);
    }
}

/// A run's place in the line for memory. The run asks again instead of waiting, so that its workers
/// do what releases memory, and does not lose its place meanwhile.
pub(crate) struct MemoryLine {
    budget: Budget,
    ticket: Mutex<Option<u64>>,
    /// The thread to wake when memory was released.
    thread: OnceLock<Thread>,
}

/// The answer to a request for memory.
pub(crate) enum Grant {
    Granted(Reservation),
    /// Others hold the memory.
    Busy,
    /// There will never be enough, or an injected fault refused the request.
    Refused {
        reachable_bytes: u64,
    },
}

impl MemoryLine {
    pub(crate) fn new(budget: &Budget) -> MemoryLine {
        let (ticket, thread) = (Mutex::new(None), OnceLock::new());
        MemoryLine { budget: budget.clone(), ticket, thread }
    }

    /// Wakes this thread when memory is released that the run waits for.
    pub(crate) fn wake_by(&self, thread: Thread) {
        let _ = self.thread.set(thread);
    }

    /// Asks for memory, and has it released if it is short. Does not wait.
    pub(crate) fn request(&self, bytes: u64) -> Grant {
        let budget = &self.budget;
        // A request that is repeated is one request.
        let is_refused = self.ticket().is_none() && budget.0.faults.refuses(FaultPoint::Reserve);
        let mut is_reclaimed = false;
        loop {
            let mut ticket = self.ticket();
            let mut state = budget.state();
            let reachable_bytes = state.reachable_bytes();
            let is_next = match *ticket {
                None => state.line.is_empty(),
                Some(ticket) => state.is_next(ticket),
            };
            let is_granted = is_next && state.fits(bytes) && !is_refused;
            if is_refused || bytes > reachable_bytes || is_granted {
                if let Some(ticket) = ticket.take() {
                    budget.leave_line(&mut state, ticket);
                }
                if is_granted {
                    return Grant::Granted(budget.grant(&mut state, bytes));
                }
                state.n_refusals += 1;
                return Grant::Refused { reachable_bytes };
            }
            if is_reclaimed || !is_next {
                ticket.get_or_insert_with(|| state.join_line(self.thread.get().cloned()));
                return Grant::Busy;
            }
            is_reclaimed = true;
            drop(state);
            drop(ticket);
            budget.reclaim();
        }
    }

    fn ticket(&self) -> MutexGuard<'_, Option<u64>> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryLine {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket().take() {
            self.budget.leave_line(&mut self.budget.state(), ticket);
        }
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
        // The reclaimer may hold a reservation of this budget, and dropping that takes the lock
        // again.
        drop(state);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_pinned_bytes_is_refused() {
        let budget = Budget::new(100);
        let pinned = budget.try_pin(30).unwrap();
        assert_eq!(budget.reachable_bytes(), 70);
        assert!(budget.reserve(71, &Stop::new()).is_err());
        assert!(budget.reserve(70, &Stop::new()).is_ok());
        drop(pinned);
        assert!(budget.reserve(100, &Stop::new()).is_ok());
    }

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
