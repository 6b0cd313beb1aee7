//! The allocator: small blocks from mimalloc, large ones from the system.

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// Grid programs make and drop values by the hundred million, which mimalloc is quickest at. Large
/// blocks are few; the system's allocator gives them back as soon as they are freed, so that the
/// process keeps to its memory budget.
pub(crate) struct Allocator;

/// The largest block that mimalloc serves.
const SMALL_BYTES_MAX: usize = 64 << 10;

fn is_small(n_bytes: usize) -> bool {
    n_bytes <= SMALL_BYTES_MAX
}

// SAFETY: a block's size, which its owner passes in again, decides which of two sound allocators
// serves it, so each block goes back to where it came from.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        unsafe {
            match is_small(layout.size()) {
                true => MiMalloc.alloc(layout),
                false => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        unsafe {
            match is_small(layout.size()) {
                true => MiMalloc.alloc_zeroed(layout),
                false => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe {
            match is_small(layout.size()) {
                true => MiMalloc.dealloc(block, layout),
                false => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promises are passed on; a block that moves between the two is copied
        // as far as both of its sizes reach.
        unsafe {
            match (is_small(layout.size()), is_small(n_bytes)) {
                (true, true) => MiMalloc.realloc(block, layout, n_bytes),
                (false, false) => System.realloc(block, layout, n_bytes),
                _ => {
                    let moved =
                        self.alloc(Layout::from_size_align_unchecked(n_bytes, layout.align()));
                    if !moved.is_null() {
                        moved.copy_from_nonoverlapping(block, layout.size().min(n_bytes));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}
