//! Ctrl-C in the middle of a call.

use std::panic::resume_unwind;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use swathe::Stop;

/// Asks Python now and then whether the user pressed Ctrl-C. Python runs signal handlers on its
/// main thread only, between its own instructions: a call that never asks cannot be interrupted.
#[derive(Debug)]
pub struct Interrupt {
    asked: Instant,
    error: Option<PyErr>,
}

/// How often Python is asked.
const PAUSE: Duration = Duration::from_millis(50);

impl Interrupt {
    /// Nothing was asked yet.
    #[allow(clippy::new_without_default, reason = "it begins now")]
    pub fn new() -> Interrupt {
        Interrupt { asked: Instant::now(), error: None }
    }

    /// Whether the call should end. Asks Python every 50 ms at most.
    pub fn is_due(&mut self) -> bool {
        if self.error.is_some() {
            return true;
        }
        if self.asked.elapsed() < PAUSE {
            return false;
        }
        self.asked = Instant::now();
        self.error = Python::attach(|py| py.check_signals()).err();
        self.error.is_some()
    }

    /// The exception of the interrupt, if there was one.
    ///
    /// # Errors
    /// `KeyboardInterrupt`, or what the user's signal handler raised.
    pub fn finish(self) -> PyResult<()> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Ends the call with this error.
    pub fn raise(&mut self, error: PyErr) {
        self.error.get_or_insert(error);
    }
}

/// Calls `work` with a stop that Ctrl-C requests. Python runs signal handlers on the calling thread,
/// so that `work` runs on another: this is for work that takes longer than starting a thread.
///
/// # Errors
/// `KeyboardInterrupt`, or what the user's signal handler raised, once `work` has ended.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Stop) -> T + Send) -> PyResult<T> {
    const POLL: Duration = Duration::from_millis(20);
    let stop = Stop::new();
    py.detach(|| {
        let mut interrupt = Interrupt::new();
        let (ended, waiting) = mpsc::channel::<()>();
        let stop = &stop;
        let result = std::thread::scope(|scope| {
            let working = scope.spawn(move || {
                // Dropped at the end, also by a panic.
                let _ended = ended;
                work(stop)
            });
            while waiting.recv_timeout(POLL) == Err(mpsc::RecvTimeoutError::Timeout) {
                if interrupt.is_due() {
                    stop.cancel();
                }
            }
            working.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        interrupt.finish()?;
        Ok(result)
    })
}
