//! Stop: how a solver learns that it should give up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a solver to give up, because the run was cancelled or its problem's time is over.
///
/// Solvers poll [`Stop::requested`] at least every few milliseconds and then return any failure:
/// what they return after a stop is not looked at. A clone tells the same thing.
///
/// ```
/// use swathe::Stop;
/// let stop = Stop::new();
/// assert!(!stop.requested());
/// stop.cancel();
/// assert!(stop.requested());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Set by the caller.
    cancelled: Arc<AtomicBool>,
    /// Set by the run itself, when its outcomes are no longer wanted.
    run_over: Arc<AtomicBool>,
    /// Set when this problem's time is over.
    expired: Arc<AtomicBool>,
}

impl Stop {
    /// A stop that is not requested yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Whether to give up now. Three relaxed loads: cheap enough for an inner loop.
    #[inline]
    pub fn requested(&self) -> bool {
        self.expired.load(Ordering::Relaxed)
            || self.cancelled.load(Ordering::Relaxed)
            || self.run_over.load(Ordering::Relaxed)
    }

    /// Requests a stop of the whole run: problems in flight give up, nothing new is started.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Whether the whole run was told to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire) || self.run_over.load(Ordering::Acquire)
    }

    /// A stop for one run: it follows this one and can end alone.
    pub(crate) fn for_run(&self) -> Stop {
        Stop {
            cancelled: Arc::clone(&self.cancelled),
            ..Stop::default()
        }
    }

    /// A stop for the problems of one worker: it follows this run's and can expire alone.
    pub(crate) fn for_worker(&self) -> Stop {
        Stop {
            expired: Arc::default(),
            ..self.clone()
        }
    }

    pub(crate) fn end_run(&self) {
        self.run_over.store(true, Ordering::Release);
    }

    pub(crate) fn expire(&self) {
        self.expired.store(true, Ordering::Release);
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.expired.load(Ordering::Acquire)
    }

    /// Takes the expiry back before the worker's next problem.
    pub(crate) fn renew(&self) {
        self.expired.store(false, Ordering::Release);
    }
}
