//! Ctrl-C: the first stops the run and commits finished outcomes, the second ends the process at
//! once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use swathe::Stop;

static STOP: OnceLock<Stop> = OnceLock::new();
static ASKED: AtomicBool = AtomicBool::new(false);
/// Set while inputs are read: nothing can be lost then, so the first signal ends the process.
static ENDS_AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Installs the signal handlers. Before this, Ctrl-C kills the process.
pub fn install() {
    let _ = STOP.set(Stop::new());
    // SAFETY: the handler uses only atomic operations and `_exit`, which are allowed in a signal
    // handler; `STOP` is set before it can run. With SIGXFSZ ignored, a file that exceeds the
    // user's size limit causes a write error instead of ending the process.
    unsafe {
        libc::signal(libc::SIGINT, on_signal as *const () as libc::sighandler_t);
        libc::signal(libc::SIGTERM, on_signal as *const () as libc::sighandler_t);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// The stop flag that Ctrl-C sets.
pub fn stop() -> Stop {
    STOP.get().cloned().unwrap_or_default()
}

/// Reads inputs. Meanwhile no code polls [`stop`] and there are no outcomes to commit, so Ctrl-C
/// ends the process at once.
pub fn while_reading<T>(read: impl FnOnce() -> T) -> T {
    // One step of reading may be a part of another.
    let is_part = ENDS_AT_ONCE.swap(true, Ordering::AcqRel);
    let made = read();
    ENDS_AT_ONCE.store(is_part, Ordering::Release);
    made
}

extern "C" fn on_signal(_signal: libc::c_int) {
    if ASKED.swap(true, Ordering::AcqRel) || ENDS_AT_ONCE.load(Ordering::Acquire) {
        // SAFETY: ends the process without running anything else.
        unsafe { libc::_exit(130) };
    }
    if let Some(stop) = STOP.get() {
        stop.cancel();
    }
}
