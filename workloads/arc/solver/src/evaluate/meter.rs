//! The thread-local meter: it charges work, bytes and stack frames against the limits of a call, and holds the order of
//! sets.

use crate::evaluate::large_calls::{Claim, LargeCalls};
use crate::language::dialect::Dialect;
use crate::language::python_frames::N_FRAMES_MAX;
use crate::value::Value;
use crate::value::fault::{Fault, Result};
use crate::value::packed::ElementKind;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use swathe::Stop;

/// The order in which programs see the elements of a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// The order of CPython's hash tables (3.8 to 3.13): bit-exact with the Python reference.
    #[default]
    Cpython,
    /// Ascending: None, integers, tuples element by element, sets by their ascending elements.
    Sorted,
}

/// What one call (one program on one sample) may use.
///
/// ```
/// let limits = swathe_arc::Limits::default();
/// assert_eq!(limits.n_frames_max, 1000);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Units of work; a unit is about one call of a function or eight elements of a set. The unit is
    /// deterministic: whether a call ends as a timeout never depends on the machine. The default is enough for every
    /// call that CPython 3.11 finishes in a second.
    pub work_max: u64,
    /// Bytes that a call's statements build, summed.
    pub bytes_max: u64,
    /// Nested calls, as Python's recursion limit.
    pub n_frames_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            work_max: 8_000_000,
            // A set of eight million places or a grid of 128 million cells: Python builds them in 2 to 4 s.
            bytes_max: 128 << 20,
            n_frames_max: 1000,
        }
    }
}

/// Frames on Python's stack when a program's first statement runs: the module, the function that drives the programs,
/// and the program.
const N_FRAMES_BASE: u32 = 3;

/// The meter releases work in rations of this many units and polls the stop between two rations. A ration takes a few
/// milliseconds at most.
const RATION: i64 = 1 << 14;

struct Meter {
    /// What is left of the current ration. The total left is this plus the reserve.
    work_left: Cell<i64>,
    work_reserve: Cell<i64>,
    bytes_left: Cell<i64>,
    /// Where `bytes_left` is below this, the call must claim memory, or may build no more.
    bytes_floor: Cell<i64>,
    statement: Cell<StatementBytes>,
    /// What the running call may build without claiming more.
    n_claimed: Cell<u64>,
    n_frames_left: Cell<u32>,
    order: Cell<Order>,
    dialect: Cell<Dialect>,
}

impl Meter {
    /// Charges work. The reserve is read only when the ration is used up.
    #[inline]
    fn take(&self, n: u64) -> Result<()> {
        let left = self.work_left.get().saturating_sub_unsigned(n);
        self.work_left.set(left);
        if left < 0 { self.next_ration() } else { Ok(()) }
    }

    #[cold]
    fn next_ration(&self) -> Result<()> {
        let (left, reserve) = (self.work_left.get(), self.work_reserve.get());
        let more = reserve.min(RATION.saturating_sub(left));
        self.work_left.set(left + more);
        self.work_reserve.set(reserve - more);
        let is_stopped = || STOP.with_borrow(|s| s.as_ref().is_some_and(Stop::requested));
        if left + more < 0 || is_stopped() {
            return Err(Fault::Timeout);
        }
        Ok(())
    }

    /// Charges memory before it is built.
    #[inline]
    fn take_bytes(&self, n: u64) -> Result<()> {
        let left = self.bytes_left.get().saturating_sub_unsigned(n);
        self.bytes_left.set(left);
        if left < self.bytes_floor.get() { self.claim(left) } else { Ok(()) }
    }

    /// Claims more memory for the call, waiting for the calls of other threads.
    #[cold]
    fn claim(&self, left: i64) -> Result<()> {
        let StatementBytes { max, before } = self.statement.get();
        if left < before {
            return Err(Fault::Memory);
        }
        CLAIM.with_borrow(|claim| {
            let Some(claim) = claim else {
                return Ok(());
            };
            let wanted = (before + max - left) as u64;
            // In large steps, because a claim takes a lock.
            let wanted = wanted.max(2 * self.n_claimed.get()).min(max as u64);
            if !STOP.with_borrow(|stop| claim.set(wanted, stop.as_ref())) {
                return Err(Fault::Timeout);
            }
            self.n_claimed.set(wanted);
            self.bytes_floor.set(floor(max, before, wanted));
            Ok(())
        })
    }

    fn set_work(&self, work: i64) {
        let ration = work.min(RATION);
        self.work_left.set(ration);
        self.work_reserve.set(work - ration);
    }

    fn work_in_all(&self) -> i64 {
        self.work_left.get().saturating_add(self.work_reserve.get())
    }
}

thread_local! {
    static METER: Meter = const {
        Meter {
            work_left: Cell::new(i64::MAX / 4),
            work_reserve: Cell::new(0),
            bytes_left: Cell::new(i64::MAX / 2),
            bytes_floor: Cell::new(0),
            statement: Cell::new(StatementBytes {
                max: i64::MAX / 2,
                before: 0,
            }),
            n_claimed: Cell::new(u64::MAX),
            n_frames_left: Cell::new(1000 - N_FRAMES_BASE),
            order: Cell::new(Order::Cpython),
            dialect: Cell::new(Dialect::ArcDsl),
        }
    };
}

thread_local! {
    /// Separate from the meter, which every step reads and which must not need a destructor.
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

thread_local! {
    /// The claim of this thread's calls, where threads share the memory of large calls.
    static CLAIM: RefCell<Option<Claim>> = const { RefCell::new(None) };
}

/// What a statement may build: with what the statements before it built, not more than a call may.
#[derive(Clone, Copy)]
struct StatementBytes {
    max: i64,
    before: i64,
}

/// The bytes left at which a statement must claim more: the statements before it have used a part of the claim.
fn floor(max: i64, before: i64, claimed: u64) -> i64 {
    let claimed = i64::try_from(claimed).unwrap_or(i64::MAX);
    max.saturating_sub(claimed.saturating_sub(before)).max(before)
}

/// What one statement used.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Usage {
    pub(crate) work: u64,
    pub(crate) bytes: u64,
}

/// Runs `body` with fresh limits and returns what it used. A limit is never exceeded by more than one charge.
///
/// The body may also not build more than is left of the call's memory, of which earlier statements used
/// `bytes_before`; then its error is no result of its own.
#[inline]
pub(crate) fn measured<T>(
    limits: &Limits,
    bytes_before: u64,
    body: impl FnOnce() -> T,
) -> (T, Usage) {
    let (work, bytes) = (limits.work_max as i64, limits.bytes_max as i64);
    let before = bytes_before as i64;
    METER.with(|m| {
        m.set_work(work);
        m.bytes_left.set(bytes);
        m.bytes_floor.set(floor(bytes, before, m.n_claimed.get()));
        m.statement.set(StatementBytes { max: bytes, before });
        m.n_frames_left.set(limits.n_frames_max.saturating_sub(N_FRAMES_BASE));
    });
    let result = body();
    let usage = METER.with(|m| Usage {
        work: work.saturating_sub(m.work_in_all()).max(0) as u64,
        bytes: bytes.saturating_sub(m.bytes_left.get()).max(0) as u64,
    });
    (result, usage)
}

/// The usage so far, from an arbitrary origin: only the difference of two such figures has a meaning.
pub(crate) fn used() -> Usage {
    METER.with(|m| Usage {
        work: m.work_in_all().wrapping_neg() as u64,
        bytes: m.bytes_left.get().wrapping_neg() as u64,
    })
}

impl Usage {
    /// What was used since then.
    pub(crate) fn since(self, before: Usage) -> Usage {
        Usage {
            work: self.work.wrapping_sub(before.work),
            bytes: self.bytes.wrapping_sub(before.bytes),
        }
    }
}

/// Charges `n` units of work.
#[inline]
pub(crate) fn spend(n: usize) -> Result<()> {
    METER.with(|m| m.take(n as u64))
}

/// Charges for hashing or comparing these values: Python visits every leaf again each time.
pub(crate) fn hash(values: &[Value]) -> Result<()> {
    let n_leaves: u64 = values.iter().map(|v| u64::from(v.weight())).sum();
    METER.with(|m| m.take(n_leaves / N_LEAVES_UNIT))
}

/// Leaves that Python hashes in the time of one function call.
const N_LEAVES_UNIT: u64 = 512;

/// The memory of a tuple of two values in a list.
pub(crate) const TUPLE_BYTES: usize = 64;

/// Charges memory for `n` items of `size` bytes before they are built, and an eighth of a unit of work for each.
#[inline]
pub(crate) fn build(n: usize, size: usize) -> Result<()> {
    METER.with(|m| {
        m.take_bytes((n as u64).saturating_mul(size as u64))?;
        m.take(n as u64 / 8)
    })
}

/// Charges a measured usage.
#[inline]
pub(crate) fn charge(usage: Usage) -> Result<()> {
    METER.with(|m| {
        m.take_bytes(usage.bytes)?;
        m.take(usage.work)
    })
}

/// Runs `body` once and charges it as if it had run n times.
pub(crate) fn often<T>(n: usize, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let left = || METER.with(|m| (m.work_in_all(), m.bytes_left.get()));
    let before = left();
    let result = body()?;
    let after = left();
    let again = (n as u64).saturating_sub(1);
    charge(Usage {
        work: again.saturating_mul(before.0.abs_diff(after.0)),
        bytes: again.saturating_mul(before.1.abs_diff(after.1)),
    })?;
    Ok(result)
}

/// Runs `body` inside `n` more frames of Python's stack.
#[inline]
pub(crate) fn nested<T>(n: u32, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let left = METER.with(|m| m.n_frames_left.get());
    if left < n {
        return Err(Fault::RecursionError);
    }
    METER.with(|m| m.n_frames_left.set(left - n));
    let result = body();
    METER.with(|m| m.n_frames_left.set(left));
    result
}

/// Runs `body` as one function call: a unit of work and a frame.
#[inline]
pub(crate) fn called<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    called_within(|| 1, body)
}

/// As `called`, for a function that takes this many frames with those of what it calls itself. The number is asked for
/// only near the limit.
#[inline]
pub(crate) fn called_within<T>(
    n_frames: impl FnOnce() -> u32,
    body: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let n_frames_left = METER.with(|m| {
        m.take(1)?;
        let left = m.n_frames_left.get();
        if left < N_FRAMES_MAX && left < n_frames() {
            return Err(Fault::RecursionError);
        }
        m.n_frames_left.set(left - 1);
        Ok(left)
    })?;
    let result = body();
    METER.with(|m| m.n_frames_left.set(n_frames_left));
    result
}

/// Runs `body` as n function calls from one place: n units of work and a frame.
#[inline]
pub(crate) fn called_often<T>(n: usize, body: impl FnOnce() -> Option<T>) -> Option<T> {
    spend(n).ok()?;
    let left = METER.with(|m| m.n_frames_left.get());
    // Near the limit, calls are made one by one.
    if left < N_FRAMES_MAX {
        return None;
    }
    METER.with(|m| m.n_frames_left.set(left - 1));
    let result = body();
    METER.with(|m| m.n_frames_left.set(left));
    result
}

/// Runs `body`; if it gives None, restores the meter.
pub(crate) fn attempt<T>(body: impl FnOnce() -> Option<T>) -> Option<T> {
    let (work, bytes) = METER.with(|m| (m.work_in_all(), m.bytes_left.get()));
    let result = body();
    if result.is_none() {
        METER.with(|m| {
            m.set_work(work);
            m.bytes_left.set(bytes);
        });
    }
    result
}

/// Runs `body` with extra work on credit; if it gives None, restores the meter.
///
/// A timeout if `body` succeeded but used more work than was left without the credit.
pub(crate) fn on_credit<T>(body: impl FnOnce() -> Option<T>) -> Result<Option<T>> {
    let result = attempt(|| {
        METER.with(|m| m.work_reserve.set(m.work_reserve.get() + CREDIT));
        body()
    });
    if result.is_some() {
        METER.with(|m| {
            let left = m.work_in_all() - CREDIT;
            m.set_work(left);
            if left < 0 { Err(Fault::Timeout) } else { Ok(()) }
        })?;
    }
    Ok(result)
}

/// Units of work: a few milliseconds.
const CREDIT: i64 = 1 << 20;

/// Frames that may still be entered.
pub(crate) fn n_frames_left() -> u32 {
    METER.with(|m| m.n_frames_left.get())
}

/// Runs `body` without charging. Computing a set's order is charged when the set is made, so the computation itself
/// runs outside the meter. Otherwise the first reader would pay, and results would depend on the other programs in the
/// library.
///
/// The replay of an order visits elements that were charged when they were made, so its cost is bounded. It cannot
/// fail, and a stop does not interrupt it.
pub(crate) fn unmetered<T>(body: impl FnOnce() -> T) -> T {
    let stop = STOP.take();
    let (work, reserve, bytes, frames) = METER.with(|m| {
        (
            m.work_left.replace(i64::MAX / 4),
            m.work_reserve.replace(0),
            m.bytes_left.replace(i64::MAX / 4),
            m.n_frames_left.get(),
        )
    });
    let result = body();
    METER.with(|m| {
        m.work_left.set(work);
        m.work_reserve.set(reserve);
        m.bytes_left.set(bytes);
        m.n_frames_left.set(frames);
    });
    STOP.set(stop);
    result
}

/// From now on, work on this thread ends as a timeout once the stop is requested. The caller must not count it as a
/// real timeout.
pub(crate) fn watch(stop: Option<&Stop>) {
    STOP.set(stop.cloned());
}

/// Threads share the memory of large calls as long as the guard lives.
pub(crate) fn share(calls: Option<&Arc<LargeCalls>>) -> SharedGuard {
    CLAIM.set(calls.map(Claim::new));
    let n_claimed = calls.map_or(u64::MAX, |_| LargeCalls::SMALL_BYTES);
    METER.with(|m| m.n_claimed.set(n_claimed));
    SharedGuard
}

/// Also ends the claim of a call that panics.
pub(crate) struct SharedGuard;

impl Drop for SharedGuard {
    fn drop(&mut self) {
        CLAIM.set(None);
        METER.with(|m| m.n_claimed.set(u64::MAX));
    }
}

/// Ends the claim of a call: what it built was dropped, or is kept within the limit for that.
#[inline]
pub(crate) fn end_claim() {
    METER.with(|m| {
        let n_claimed = m.n_claimed.get();
        if n_claimed > LargeCalls::SMALL_BYTES && n_claimed != u64::MAX {
            m.n_claimed.set(LargeCalls::SMALL_BYTES);
            CLAIM.with_borrow(|claim| claim.as_ref().map(|claim| claim.set(0, None)));
        }
    });
}

/// The set order that values on this thread follow.
#[inline]
pub(crate) fn order() -> Order {
    METER.with(|m| m.order.get())
}

/// The dialect of the values on this thread.
#[inline]
pub(crate) fn dialect() -> Dialect {
    METER.with(|m| m.dialect.get())
}

/// The form of a cell in the dialect of this thread.
#[inline]
pub(crate) fn cell_kind() -> ElementKind {
    dialect().cell_kind()
}

/// Chooses the dialect of this thread. Values made in one dialect must not be used in another.
pub fn set_dialect(dialect: Dialect) {
    METER.with(|m| m.dialect.set(dialect));
}

/// Chooses the set order of this thread. A change clears this thread's cache of sets.
pub fn set_order(order: Order) {
    let before = METER.with(|m| m.order.replace(order));
    if before != order {
        crate::set::set_cache::clear();
    }
}
