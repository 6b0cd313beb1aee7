//! A place where the pairs of a frame keep and find its self-transport.

use crate::failure::Failure;
use crate::self_transport::{SelfKey, SelfTransport};
use crate::stop_latch::StopLatch;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The self-transport of one frame, solved by the first pair that needs it and kept for the others.
///
/// A cell belongs to a frame, not to a pair: give the same cell to every pair of the frame
/// ([`Pair::with_self_cells`](crate::Pair::with_self_cells)). What is kept is the same bits that a
/// pair without a cell computes anew, so cells change the time of a run and nothing else. If the
/// settings or the pooled squares differ, the cell solves again and keeps the newer one.
#[derive(Debug, Default)]
pub struct SelfCell {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    kept: Option<(SelfKey, Option<Arc<SelfTransport>>)>,
    is_busy: bool,
}

/// How often a waiting thread polls its stop request.
const POLL: Duration = Duration::from_millis(2);
/// The longest wait for another thread. After it the self-transport is computed here as well, so
/// that a thread that hangs cannot hold up the others.
const WAIT_MAX: Duration = Duration::from_secs(10);

impl SelfCell {
    /// An empty cell.
    pub fn new() -> SelfCell {
        SelfCell::default()
    }

    /// Whether something is kept.
    pub fn is_filled(&self) -> bool {
        self.lock().kept.is_some()
    }

    /// Forgets what is kept.
    pub fn clear(&self) {
        self.lock().kept = None;
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.lock().kept {
            Some((_, Some(kept))) => kept.bytes(),
            _ => 0,
        }
    }

    /// The self-transport of this key: from the cell, or from `solve`.
    pub(crate) fn get_or_solve(
        &self,
        key: SelfKey,
        watch: &StopLatch<'_>,
        solve: impl FnOnce() -> Result<Option<SelfTransport>, Failure>,
    ) -> Result<Option<Arc<SelfTransport>>, Failure> {
        let began = Instant::now();
        let mut state = self.lock();
        loop {
            if let Some((kept_key, kept)) = &state.kept
                && *kept_key == key
            {
                return Ok(kept.clone());
            }
            if !state.is_busy || began.elapsed() > WAIT_MAX {
                break;
            }
            if watch.stopped() {
                return Err(Failure::Stopped);
            }
            let waited = self.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_busy = true;
        drop(state);
        // Also after a failure or a panic the others must not wait.
        let _free = FreeOnDrop(self);
        let solved = solve()?.map(Arc::new);
        self.lock().kept = Some((key, solved.clone()));
        Ok(solved)
    }

    /// Locks the state. Poisoning is ignored, because no change can panic half-way.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct FreeOnDrop<'a>(&'a SelfCell);

impl Drop for FreeOnDrop<'_> {
    fn drop(&mut self) {
        self.0.lock().is_busy = false;
        self.0.changed.notify_all();
    }
}
