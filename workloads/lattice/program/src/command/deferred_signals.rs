//! Deferred signals: while borrowed memory is changed, only kill -9 ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// The signals with which a terminal or a supervisor ends a process.
const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Records signals instead of handling them until this guard is dropped.
///
/// In other commands a second Ctrl-C ends the process at once. Here that would leave the user's
/// data changed.
pub(super) struct DeferredSignals {
    before: [libc::sighandler_t; SIGNALS.len()],
}

impl DeferredSignals {
    pub(super) fn begin() -> DeferredSignals {
        let before = SIGNALS.map(|signal| {
            // SAFETY: the handler performs a single atomic store, which is allowed in a signal
            // handler.
            let before = unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
            if before == libc::SIG_IGN {
                // The parent process has set this signal to be ignored, as `nohup` does.
                // SAFETY: restores the previous handler.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
            before
        });
        DeferredSignals { before }
    }

    /// Whether a signal has arrived.
    pub(super) fn asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed)
    }
}

impl Drop for DeferredSignals {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(self.before) {
            if before != libc::SIG_ERR {
                // SAFETY: restores the previous handler.
                unsafe { libc::signal(signal, before) };
            }
        }
    }
}

extern "C" fn note(_signal: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}
