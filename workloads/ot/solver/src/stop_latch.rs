use crate::failure::Failure;
use std::cell::Cell;

/// The caller's wish to stop, remembered once it was heard.
pub(crate) struct StopLatch<'a> {
    stop: &'a dyn Fn() -> bool,
    heard: Cell<bool>,
}

impl<'a> StopLatch<'a> {
    pub(crate) fn new(stop: &'a dyn Fn() -> bool) -> StopLatch<'a> {
        StopLatch {
            stop,
            heard: Cell::new(false),
        }
    }

    /// Asks the caller; called between blocks of lines, every few hundred microseconds.
    pub(crate) fn stopped(&self) -> bool {
        if !self.heard.get() {
            self.heard.set((self.stop)());
        }
        self.heard.get()
    }

    /// Whether a stop was heard, as a failure.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.heard.get() {
            Err(Failure::Stopped)
        } else {
            Ok(())
        }
    }
}
