//! The allocator: small blocks from mimalloc, large ones from the system.

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// Grid programs make and drop values by the hundred million, and mimalloc does that fastest. Large
/// blocks are few and go back to the system as soon as they are freed, so that the process keeps to
/// --memory.
pub(crate) struct Allocator;

/// The largest block that mimalloc serves.
const SMALL_BYTES_MAX: usize = 64 << 10;

fn is_small(n_bytes: usize) -> bool {
    n_bytes <= SMALL_BYTES_MAX
}

// SAFETY: every block is served and freed by the same of two sound allocators, as its size says; a
// block whose size changes sides is copied to a new one.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about the layout are passed on.
        unsafe {
            if is_small(layout.size()) {
                MiMalloc.alloc(layout)
            } else {
                System.alloc(layout)
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about the layout are passed on.
        unsafe {
            if is_small(layout.size()) {
                MiMalloc.alloc_zeroed(layout)
            } else {
                System.alloc_zeroed(layout)
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block was allocated with this layout, so by the same side.
        unsafe {
            if is_small(layout.size()) {
                MiMalloc.dealloc(block, layout);
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the block was allocated with this layout, so by the same side; the new layout is
        // valid because the caller promises so, and the two blocks cannot overlap.
        unsafe {
            match (is_small(layout.size()), is_small(new_size)) {
                (true, true) => MiMalloc.realloc(block, layout, new_size),
                (false, false) => System.realloc(block, layout, new_size),
                _ => {
                    let new_layout = Layout::from_size_align_unchecked(new_size, layout.align());
                    let new_block = self.alloc(new_layout);
                    if !new_block.is_null() {
                        let n_bytes = layout.size().min(new_size);
                        std::ptr::copy_nonoverlapping(block, new_block, n_bytes);
                        self.dealloc(block, layout);
                    }
                    new_block
                }
            }
        }
    }
}
