//! An allocator that counts, so that tests can say how much memory something may take.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting what each thread holds. A test makes it its global allocator.
pub struct Counting;

thread_local! {
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(n_bytes: isize) {
    let live = LIVE_BYTES.get() + n_bytes;
    LIVE_BYTES.set(live);
    PEAK_BYTES.set(PEAK_BYTES.get().max(live));
}

// SAFETY: every call is handed on to the system's allocator as it came; the counters are plain
// cells without destructors, so touching them allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most that `run` held at once, beyond what was held before, with [`Counting`] as the global
/// allocator.
pub fn peak_bytes<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE_BYTES.get();
    PEAK_BYTES.set(before);
    let value = run();
    (value, (PEAK_BYTES.get() - before) as usize)
}
