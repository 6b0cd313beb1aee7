//! Signals that wait: while borrowed memory is changed, nothing but kill -9 ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// What a terminal or a supervisor sends to end a program.
const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Until this is dropped, signals are only noted, however many come.
///
/// Elsewhere a second Ctrl-C ends the program at once. Here it would leave somebody's data changed.
pub(super) struct DeferredSignals {
    before: [libc::sighandler_t; SIGNALS.len()],
}

impl DeferredSignals {
    pub(super) fn begin() -> DeferredSignals {
        let before = SIGNALS.map(|signal| {
            // SAFETY: the handler does nothing but one atomic store, which is allowed in a handler.
            let before = unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
            if before == libc::SIG_IGN {
                // Whoever started the program wants this one ignored, as `nohup` does.
                // SAFETY: puts back what was there.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
            before
        });
        DeferredSignals { before }
    }

    /// Whether one has come.
    pub(super) fn asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed)
    }
}

impl Drop for DeferredSignals {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(self.before) {
            if before != libc::SIG_ERR {
                // SAFETY: puts back what was there.
                unsafe { libc::signal(signal, before) };
            }
        }
    }
}

extern "C" fn note(_signal: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}
