//! Operations: named steps of a solver or a loader that are timed for the report.

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Runs `work` and records its time under a name, for the report of the run.
///
/// Meant for a few steps per problem, not for inner loops: it reads the clock twice. Outside of a
/// run it only runs `work`. Time in a nested operation counts for the inner operation alone, so
/// that the times of all operations add up.
///
/// ```
/// let sum: u64 = swathe::timed("sum", || (1..=10).sum());
/// assert_eq!(sum, 55);
/// ```
pub fn timed<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    if !STOPWATCH.with_borrow(|stopwatch| stopwatch.is_on) {
        return work();
    }
    STOPWATCH.with_borrow_mut(|stopwatch| stopwatch.open.push((Instant::now(), Duration::ZERO)));
    // The guard also stops the timer on a panic.
    let _closes = TimerGuard(name);
    work()
}

/// Records time that was measured by other means, such as the workload's own profiler.
///
/// The time counts as nested in the [`timed`] operation that is open, if there is one.
pub fn record_time(name: &'static str, n_calls: u64, took: Duration) {
    STOPWATCH.with_borrow_mut(|stopwatch| {
        if stopwatch.is_on {
            stopwatch.add(name, n_calls, took);
            if let Some((_, inner)) = stopwatch.open.last_mut() {
                *inner += took;
            }
        }
    });
}

/// Starts recording on this thread and discards earlier records.
pub(crate) fn listen() {
    STOPWATCH.with_borrow_mut(|stopwatch| {
        *stopwatch = Stopwatch { is_on: true, ..Stopwatch::default() };
    });
}

/// The times recorded since the last call.
pub(crate) fn drain() -> Vec<Spent> {
    STOPWATCH.with_borrow_mut(|stopwatch| std::mem::take(&mut stopwatch.spent))
}

/// Time spent on an operation.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) name: &'static str,
    pub(crate) n_calls: u64,
    pub(crate) took: Duration,
}

#[derive(Default)]
struct Stopwatch {
    is_on: bool,
    /// Operations that have not ended: when each began, and the time of the operations nested in
    /// it.
    open: Vec<(Instant, Duration)>,
    spent: Vec<Spent>,
}

impl Stopwatch {
    fn add(&mut self, name: &'static str, n_calls: u64, took: Duration) {
        match self.spent.iter_mut().find(|spent| spent.name == name) {
            Some(spent) => {
                spent.n_calls += n_calls;
                spent.took += took;
            }
            None => self.spent.push(Spent { name, n_calls, took }),
        }
    }
}

struct TimerGuard(&'static str);

impl Drop for TimerGuard {
    fn drop(&mut self) {
        STOPWATCH.with_borrow_mut(|stopwatch| {
            let Some((began, inner)) = stopwatch.open.pop() else {
                return;
            };
            let took = began.elapsed();
            stopwatch.add(self.0, 1, took.saturating_sub(inner));
            if let Some((_, outer)) = stopwatch.open.last_mut() {
                *outer += took;
            }
        });
    }
}

thread_local! {
    static STOPWATCH: RefCell<Stopwatch> = RefCell::default();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{drain, listen, record_time, timed};

    #[test]
    fn inner_operations_are_not_counted_twice() {
        listen();
        let pause = || std::thread::sleep(Duration::from_millis(20));
        timed("outer", || {
            timed("inner", pause);
            record_time("told", 3, Duration::from_millis(1));
        });
        let all = drain();
        let of = |name: &str| all.iter().find(|spent| spent.name == name).copied();
        let (outer, inner, told) = (of("outer"), of("inner"), of("told"));
        assert!(inner.is_some_and(|inner| inner.took >= Duration::from_millis(20)));
        assert!(outer.is_some_and(|outer| outer.took < Duration::from_millis(20)));
        assert!(told.is_some_and(|told| told.n_calls == 3));
        assert!(drain().is_empty(), "what was taken is gone");
    }

    #[test]
    fn a_panic_closes_its_operation() {
        listen();
        let panics = std::panic::catch_unwind(|| timed("panics", || panic!("on purpose")));
        assert!(panics.is_err());
        timed("after", || {});
        let names: Vec<_> = drain().iter().map(|spent| spent.name).collect();
        assert_eq!(names, ["panics", "after"]);
    }

    #[test]
    fn nothing_is_counted_outside_of_a_run() {
        assert_eq!(timed("unheard", || 7), 7);
        record_time("unheard", 1, Duration::from_secs(1));
        assert!(drain().is_empty());
    }
}
