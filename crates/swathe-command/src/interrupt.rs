//! Ctrl-C: the first asks the run to end and keep what is finished, the second ends it at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use swathe::Stop;

static STOP: OnceLock<Stop> = OnceLock::new();
static ASKED: AtomicBool = AtomicBool::new(false);
/// Inputs are being read and nothing is unfinished: the first signal ends the process.
static ENDS_AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Takes over the signals; before this, Ctrl-C simply kills.
pub fn install() {
    let _ = STOP.set(Stop::new());
    // SAFETY: the handler does nothing but atomic operations and `_exit`, which are allowed in a
    // signal handler; `STOP` is set before it can run. Ignoring SIGXFSZ turns a file that grows
    // over the user's limit into a write error like any other.
    unsafe {
        libc::signal(libc::SIGINT, on_signal as *const () as libc::sighandler_t);
        libc::signal(libc::SIGTERM, on_signal as *const () as libc::sighandler_t);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// The stop that Ctrl-C requests.
pub fn stop() -> Stop {
    STOP.get().cloned().unwrap_or_default()
}

/// Reads inputs. Nothing polls the [`stop`] meanwhile and nothing has begun that could be kept, so
/// that Ctrl-C simply ends the process.
pub fn while_reading<T>(read: impl FnOnce() -> T) -> T {
    ENDS_AT_ONCE.store(true, Ordering::Release);
    let made = read();
    ENDS_AT_ONCE.store(false, Ordering::Release);
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
