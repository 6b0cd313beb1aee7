//! An allocator that counts bytes, so that tests can limit the memory of an operation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with thread-local counters of allocated bytes. A test installs it as its
/// global allocator.
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

// SAFETY: every call is forwarded unchanged to the system's allocator. The counters are plain cells
// without destructors, so accessing them does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract, which is the same for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract, which is the same for the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The peak number of bytes that `run` allocated on this thread, beyond the bytes allocated before.
/// [`Counting`] must be the global allocator.
pub fn peak_bytes<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE_BYTES.get();
    PEAK_BYTES.set(before);
    let value = run();
    (value, (PEAK_BYTES.get() - before) as usize)
}
