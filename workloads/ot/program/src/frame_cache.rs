//! The frame cache: as far as memory allows, a frame is read once even if several pairs use it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use swathe::{Budget, ReclaimerGuard, Reservation};
use swathe_ot::SelfCell;

use crate::frame::{FrameError, FrameFiles, FrameHeader, FrameRef, LiveFrame};

/// A cache of frames. Its memory is reserved from the run's budget; all frames are evicted as soon
/// as a worker waits for memory.
pub struct FrameCache {
    inner: Arc<Inner>,
    _gives_way: ReclaimerGuard,
}

struct Inner {
    files: Arc<FrameFiles>,
    frames: Vec<FrameRef>,
    label: Option<f64>,
    budget: Budget,
    kept_bytes_max: u64,
    /// Whether a frame's bytes include its self-transport, which its cell will hold.
    keeps_self: bool,
    /// A place for each frame. Its lock is held while the frame is read, so that no other thread
    /// reads the same frame.
    places: Vec<Mutex<Option<CachedFrame>>>,
    order: Mutex<Order>,
    n_reads: AtomicU64,
}

struct CachedFrame {
    frame: Arc<LiveFrame>,
    /// Keeps the frame's self-transport for all of its pairs, as long as the frame is cached.
    cell: Arc<SelfCell>,
    /// Time of the last use.
    tick: u64,
    _reservation: Reservation,
}

/// The cached frames, least recently used first.
#[derive(Default)]
struct Order {
    frame_by_tick: BTreeMap<u64, usize>,
    tick_next: u64,
    kept_bytes: u64,
}

impl FrameCache {
    /// A cache for these frames. It holds at most a quarter of the budget, so that the run does not
    /// alternate between filling and evicting it.
    pub fn new(
        files: Arc<FrameFiles>,
        frames: Vec<FrameRef>,
        label: Option<f64>,
        budget: &Budget,
    ) -> FrameCache {
        FrameCache::build(files, frames, label, budget, false)
    }

    /// Like [`FrameCache::new`], for pairs whose velocities are debiased: room is reserved for the
    /// self-transport of every cached frame, without pooling eight bytes per pixel of its box.
    pub fn with_self_transports(
        files: Arc<FrameFiles>,
        frames: Vec<FrameRef>,
        label: Option<f64>,
        budget: &Budget,
    ) -> FrameCache {
        FrameCache::build(files, frames, label, budget, true)
    }

    fn build(
        files: Arc<FrameFiles>,
        frames: Vec<FrameRef>,
        label: Option<f64>,
        budget: &Budget,
        keeps_self: bool,
    ) -> FrameCache {
        let inner = Arc::new(Inner {
            files,
            label,
            budget: budget.clone(),
            kept_bytes_max: budget.cap_bytes() / 4,
            keeps_self,
            places: frames.iter().map(|_| Mutex::new(None)).collect(),
            frames,
            order: Mutex::default(),
            n_reads: AtomicU64::new(0),
        });
        let shared = Arc::downgrade(&inner);
        let gives_way = budget.on_shortage(move || {
            if let Some(inner) = shared.upgrade() {
                while inner.drop_oldest() {}
            }
        });
        FrameCache { inner, _gives_way: gives_way }
    }

    /// The frames, by number.
    pub fn frames(&self) -> &[FrameRef] {
        &self.inner.frames
    }

    /// What a frame declares: its height and width, and the size of its pixels.
    ///
    /// # Errors
    /// If the header of the frame cannot be read.
    ///
    /// # Panics
    /// If there is no frame of this number.
    pub fn header(&self, number: usize) -> Result<FrameHeader, FrameError> {
        self.inner.files.header(&self.inner.frames[number])
    }

    /// A frame, from memory or from its file.
    ///
    /// # Errors
    /// If the frame cannot be read.
    ///
    /// # Panics
    /// If there is no frame of this number.
    pub fn get(&self, number: usize) -> Result<Arc<LiveFrame>, FrameError> {
        Ok(self.get_with_cell(number)?.0)
    }

    /// A frame and the cell that keeps its self-transport. A frame that is not cached has a new
    /// cell every time.
    ///
    /// # Errors
    /// If the frame cannot be read.
    ///
    /// # Panics
    /// If there is no frame of this number.
    pub fn get_with_cell(
        &self,
        number: usize,
    ) -> Result<(Arc<LiveFrame>, Arc<SelfCell>), FrameError> {
        let inner = &*self.inner;
        let mut place = lock(&inner.places[number]);
        if let Some(kept) = &mut *place {
            inner.touch(number, kept);
            return Ok((Arc::clone(&kept.frame), Arc::clone(&kept.cell)));
        }
        inner.n_reads.fetch_add(1, Ordering::Relaxed);
        let frame =
            swathe::timed("read frame", || inner.files.read(&inner.frames[number], inner.label))?;
        let frame = Arc::new(frame);
        let cell = Arc::new(SelfCell::new());
        *place = inner.keep(number, &frame, &cell);
        Ok((frame, cell))
    }

    /// Number of times that a frame was read from its file.
    pub fn n_reads(&self) -> u64 {
        self.inner.n_reads.load(Ordering::Relaxed)
    }
}

impl Inner {
    /// Reserves memory for a frame, evicting others if needed; `None` if that is not possible.
    fn keep(
        &self,
        number: usize,
        frame: &Arc<LiveFrame>,
        cell: &Arc<SelfCell>,
    ) -> Option<CachedFrame> {
        let n_bytes = self.n_bytes(frame);
        if n_bytes > self.kept_bytes_max {
            return None;
        }
        while lock(&self.order).kept_bytes + n_bytes > self.kept_bytes_max {
            if !self.drop_oldest() {
                return None;
            }
        }
        let reservation = loop {
            match self.budget.try_reserve(n_bytes) {
                Ok(reservation) => break reservation,
                // A worker waits for memory, and the cache must not take it.
                Err(_) if self.budget.is_short() => return None,
                Err(_) if self.drop_oldest() => {}
                Err(_) => return None,
            }
        };
        let mut order = lock(&self.order);
        let tick = order.next_tick();
        order.frame_by_tick.insert(tick, number);
        order.kept_bytes += n_bytes;
        Some(CachedFrame {
            frame: Arc::clone(frame),
            cell: Arc::clone(cell),
            tick,
            _reservation: reservation,
        })
    }

    /// Bytes of a frame, with its self-transport if that is kept, too.
    fn n_bytes(&self, frame: &LiveFrame) -> u64 {
        let own =
            if self.keeps_self { (frame.density.len() * size_of::<[f32; 2]>()) as u64 } else { 0 };
        frame.n_bytes() + own
    }

    fn touch(&self, number: usize, kept: &mut CachedFrame) {
        let mut order = lock(&self.order);
        order.frame_by_tick.remove(&kept.tick);
        kept.tick = order.next_tick();
        order.frame_by_tick.insert(kept.tick, number);
    }

    /// Evicts the least recently used frame; false if there is none to evict. Frames whose place is
    /// locked are in use and skipped: waiting for the lock could deadlock.
    fn drop_oldest(&self) -> bool {
        let numbers: Vec<usize> = lock(&self.order).frame_by_tick.values().copied().collect();
        for number in numbers {
            let mut place = match self.places[number].try_lock() {
                Ok(place) => place,
                Err(TryLockError::Poisoned(place)) => place.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            if let Some(kept) = place.take() {
                let mut order = lock(&self.order);
                order.frame_by_tick.remove(&kept.tick);
                order.kept_bytes -= self.n_bytes(&kept.frame);
                return true;
            }
        }
        false
    }
}

impl Order {
    fn next_tick(&mut self) -> u64 {
        self.tick_next += 1;
        self.tick_next
    }
}

/// Locks a mutex. Poisoning is ignored, because no change can panic half-way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use swathe::Stop;
    use swathe::array::Array;

    /// Frames of 10 × 10 live pixels: some 850 bytes each.
    fn cache(folder: &Path, n_frames: usize, budget: &Budget) -> FrameCache {
        let frames = (0..n_frames).map(|n| {
            let path = folder.join(format!("{n}.npy"));
            let array = Array::new(vec![10, 10], vec![n as f64 + 1.0; 100]).unwrap();
            swathe_formats::npy::save(&path, &array).unwrap();
            FrameRef { path, ..FrameRef::default() }
        });
        FrameCache::new(Arc::default(), frames.collect(), None, budget)
    }

    #[test]
    fn a_frame_is_read_once_while_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::new(1 << 20);
        let cache = cache(folder.path(), 5, &budget);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..5 {
                        let frame = cache.get(number).unwrap();
                        assert_eq!(frame.density[0], number as f64 + 1.0);
                    }
                });
            }
        });
        assert_eq!(cache.n_reads(), 5);
        assert!(budget.used_bytes() >= 5 * 800);
        drop(cache);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn self_transports_are_counted_and_leave_with_their_frame() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::new(4 * 2000);
        let plain = cache(folder.path(), 3, &budget);
        let frames = plain.frames().to_vec();
        drop(plain);
        let cache = FrameCache::with_self_transports(Arc::default(), frames, None, &budget);
        let (_, first) = cache.get_with_cell(0).unwrap();
        assert!(budget.used_bytes() >= 1600);
        assert!(Arc::ptr_eq(&first, &cache.get_with_cell(0).unwrap().1));
        // There is room for one frame with its self-transport.
        cache.get(1).unwrap();
        assert!(!Arc::ptr_eq(&first, &cache.get_with_cell(0).unwrap().1));
    }

    #[test]
    fn the_longest_unused_goes_first_and_all_give_way() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::new(4 * 2000);
        let cache = cache(folder.path(), 3, &budget);
        // The cache has room for two frames.
        for number in [0, 1, 0, 2, 0, 2] {
            cache.get(number).unwrap();
        }
        assert_eq!(cache.n_reads(), 3, "frame 1 went, frame 0 stayed");
        cache.get(1).unwrap();
        assert_eq!(cache.n_reads(), 4);
        assert!(budget.used_bytes() > 0);
        let all = budget.reserve(4 * 2000, &Stop::new()).unwrap();
        assert_eq!(all.bytes(), 4 * 2000);
        cache.get(1).unwrap();
        assert_eq!(cache.n_reads(), 5, "it works without any room, too");
    }
}
