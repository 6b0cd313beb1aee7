//! Large calls: how much the calls of several threads build at once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use swathe::Stop;

/// What the calls of several threads may build at once.
///
/// Few calls build more than [`SMALL_BYTES`](LargeCalls::SMALL_BYTES). Such a call claims what it builds, step by step,
/// and waits while the others have claimed too much: all claims but the largest are at most `beside_bytes_max` in sum.
/// The largest claim can always grow, so some call always goes on.
#[derive(Debug)]
pub(crate) struct LargeCalls {
    beside_bytes_max: u64,
    /// The claims, each with the bytes of one thread's call.
    claims: Mutex<Vec<(u64, u64)>>,
    released: Condvar,
}

impl LargeCalls {
    /// A call that builds less claims nothing.
    pub(crate) const SMALL_BYTES: u64 = 8 << 20;

    pub(crate) fn new(beside_bytes_max: u64) -> LargeCalls {
        LargeCalls { beside_bytes_max, claims: Mutex::default(), released: Condvar::new() }
    }

    fn claims(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        // No code panics in the middle of a change.
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_allowed(&self, claims: &[(u64, u64)]) -> bool {
        let sum: u64 = claims.iter().map(|claim| claim.1).sum();
        let largest = claims.iter().map(|claim| claim.1).max().unwrap_or(0);
        sum - largest <= self.beside_bytes_max
    }
}

/// The claim of one thread, released when it is dropped.
pub(crate) struct Claim {
    of: Arc<LargeCalls>,
    id: u64,
}

impl Claim {
    /// A claim of nothing yet.
    pub(crate) fn new(of: &Arc<LargeCalls>) -> Claim {
        let mut claims = of.claims();
        let id = claims.iter().map(|claim| claim.0 + 1).max().unwrap_or(0);
        claims.push((id, 0));
        drop(claims);
        Claim { of: Arc::clone(of), id }
    }

    /// Sets the claim to so many bytes; a larger one waits for other threads. False if the stop was requested while it
    /// waited; the claim is then what it was.
    pub(crate) fn set(&self, n_bytes: u64, stop: Option<&Stop>) -> bool {
        let mut claims = self.of.claims();
        loop {
            let own = claims.iter().position(|claim| claim.0 == self.id);
            let own = own.expect("a claim is there as long as its guard");
            let before = std::mem::replace(&mut claims[own].1, n_bytes);
            if n_bytes <= before {
                self.of.released.notify_all();
                return true;
            }
            if self.of.is_allowed(&claims) {
                return true;
            }
            claims[own].1 = before;
            if stop.is_some_and(Stop::requested) {
                return false;
            }
            // The time-out lets the loop poll the stop.
            let poll = Duration::from_millis(20);
            let waited = self.of.released.wait_timeout(claims, poll);
            claims = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.of.claims().retain(|claim| claim.0 != self.id);
        self.of.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    #[test]
    fn the_largest_claim_grows_and_others_wait() {
        let calls = Arc::new(LargeCalls::new(10));
        let [a, b] = [0, 1].map(|_| Claim::new(&calls));
        let stopped = Stop::new();
        stopped.cancel();
        assert!(a.set(100, None));
        assert!(b.set(10, None));
        assert!(!b.set(11, Some(&stopped)));
        // The larger of the two grows further.
        assert!(a.set(1000, None));
        assert!(a.set(10, None));
        assert!(b.set(500, None));
        drop(b);
        assert!(a.set(1, None));
    }

    #[test]
    fn claims_never_exceed_what_is_allowed() {
        let calls = Arc::new(LargeCalls::new(100));
        let highest = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (calls, highest) = (&calls, &highest);
                scope.spawn(move || {
                    let claim = Claim::new(calls);
                    for k in 0..300u64 {
                        for n_bytes in [10, 40, 160, (k * 37 + thread * 11) % 640] {
                            assert!(claim.set(n_bytes, None));
                            let sum = calls.claims().iter().map(|claim| claim.1).sum();
                            highest.fetch_max(sum, SeqCst);
                        }
                        assert!(claim.set(0, None));
                    }
                });
            }
        });
        let highest = highest.into_inner();
        assert!((300..=740).contains(&highest), "{highest}");
        assert!(calls.claims().is_empty());
    }
}
