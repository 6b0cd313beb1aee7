//! The caller's stop request.

use crate::failure::Failure;
use std::cell::Cell;

/// Polls the caller's stop request and latches it: once requested, a stop stays requested.
pub(crate) struct StopLatch<'a> {
    stop: &'a dyn Fn() -> bool,
    is_stopped: Cell<bool>,
}

impl<'a> StopLatch<'a> {
    pub(crate) fn new(stop: &'a dyn Fn() -> bool) -> StopLatch<'a> {
        StopLatch { stop, is_stopped: Cell::new(false) }
    }

    /// Polls the request. Called between blocks of lines, every few hundred microseconds.
    pub(crate) fn stopped(&self) -> bool {
        if !self.is_stopped.get() {
            self.is_stopped.set((self.stop)());
        }
        self.is_stopped.get()
    }

    /// Fails if a poll has seen a stop request. Does not poll itself.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_stopped.get() { Err(Failure::Stopped) } else { Ok(()) }
    }
}
