//! Stop: the signal that tells a solver to give up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a solver to give up, because the run was cancelled or the problem's time limit has passed.
///
/// Solvers poll [`Stop::requested`] at least every few milliseconds and then return any failure:
/// the engine ignores the failure after a stop. Clones share one state.
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
    /// Set by the run itself when its outcomes are no longer needed.
    run_over: Arc<AtomicBool>,
    /// Set when the time limit of the current problem has passed.
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

    /// Whether the whole run was cancelled or ended.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire) || self.run_over.load(Ordering::Acquire)
    }

    /// A stop for one run: it follows this stop and can also end alone.
    pub(crate) fn for_run(&self) -> Stop {
        Stop { cancelled: Arc::clone(&self.cancelled), ..Stop::default() }
    }

    /// A stop for the problems of one worker: it follows the run's stop and can also expire alone.
    pub(crate) fn for_worker(&self) -> Stop {
        Stop { expired: Arc::default(), ..self.clone() }
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

    /// Resets the expiry before the worker's next problem.
    pub(crate) fn renew(&self) {
        self.expired.store(false, Ordering::Release);
    }
}
