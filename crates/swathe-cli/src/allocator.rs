//! The global allocator: small blocks come from thread-local free lists in front of mimalloc, large blocks from the
//! system allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

use mimalloc::MiMalloc;

/// Serves small blocks from thread-local free lists.
///
/// Grid programs allocate and free hundreds of millions of small values. A block that was just freed is still in the
/// processor's cache, so each thread keeps some blocks of each size and reuses the most recently freed one first;
/// mimalloc would go through a whole page of blocks before it reuses one. Large blocks are few and are left to the
/// system allocator, because `mallopt` can limit how much freed memory that one retains.
pub(crate) struct Allocator;

/// The largest block that mimalloc serves; the system allocator serves larger ones.
const SMALL_BYTES_MAX: usize = 64 << 10;
/// The largest block that a free list keeps.
const KEPT_BYTES_MAX: usize = 16 << 10;
/// The most bytes that a thread keeps in one free list.
const LIST_BYTES_MAX: usize = 32 << 10;
const N_LISTS: usize = 79;
const ALIGN: usize = 16;

/// The index of the free list for blocks of this size, and the size of the blocks in that list.
///
/// Up to 1 KiB the block sizes are multiples of 16 bytes; above, they are multiples of 1 KiB.
#[inline]
fn list(n_bytes: usize) -> (usize, usize) {
    if n_bytes <= 1024 {
        let k = n_bytes.saturating_sub(1) / 16;
        (k, (k + 1) * 16)
    } else {
        let k = (n_bytes - 1) / 1024;
        (63 + k, (k + 1) * 1024)
    }
}

/// The size of the blocks in a list; the inverse of [`list`].
fn bytes_of_list(k: usize) -> usize {
    if k < 64 { (k + 1) * 16 } else { (k - 62) * 1024 }
}

#[inline]
fn is_kept(layout: Layout) -> bool {
    layout.size() <= KEPT_BYTES_MAX && layout.align() <= ALIGN
}

fn is_small(n_bytes: usize) -> bool {
    n_bytes <= SMALL_BYTES_MAX
}

/// The layout with which mimalloc allocates the blocks of a list.
#[inline]
fn layout_of_list(n_bytes: usize) -> Layout {
    // SAFETY: the alignment is a power of two and the sizes of lists are far from overflow.
    unsafe { Layout::from_size_align_unchecked(n_bytes, ALIGN) }
}

/// The free list of one block size: each free block stores the address of the next.
#[derive(Clone, Copy)]
struct Free {
    first: *mut u8,
    /// How many more blocks fit in the list.
    n_room: u32,
}

thread_local! {
    /// Has no destructor, so the lists stay usable while the destructors of other thread-locals free memory.
    static LISTS: [Cell<Free>; N_LISTS] =
        const { [const { Cell::new(Free { first: null_mut(), n_room: 0 }) }; N_LISTS] };
    static STATE: Cell<State> = const { Cell::new(State::New) };
    /// Returns the blocks to mimalloc when the thread ends.
    static AT_END: AtEnd = const { AtEnd };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Closed,
}

struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        STATE.set(State::Closed);
        LISTS.with(|lists| {
            for (k, list) in lists.iter().enumerate() {
                let closed = Free { first: null_mut(), n_room: 0 };
                let mut block = list.replace(closed).first;
                while !block.is_null() {
                    // SAFETY: a kept block holds the address of the next, and came from mimalloc with this layout.
                    unsafe {
                        let next = block.cast::<*mut u8>().read();
                        MiMalloc.dealloc(block, layout_of_list(bytes_of_list(k)));
                        block = next;
                    }
                }
            }
        });
    }
}

/// Gives the lists their capacity on the thread's first call. Returns whether it did.
#[cold]
fn open() -> bool {
    if STATE.get() != State::New {
        return false;
    }
    // The state changes first, because registering the destructor may itself allocate and free.
    STATE.set(State::Open);
    LISTS.with(|lists| {
        for (k, list) in lists.iter().enumerate() {
            let n_bytes = bytes_of_list(k);
            list.set(Free { n_room: (LIST_BYTES_MAX / n_bytes) as u32, ..list.get() });
        }
    });
    AT_END.with(|_| ());
    true
}

/// The most recently freed block of list `k`, or null if the list is empty.
#[inline]
fn take(k: usize) -> *mut u8 {
    LISTS.with(|lists| {
        let Free { first, n_room } = lists[k].get();
        if !first.is_null() {
            // SAFETY: a kept block holds the address of the next.
            let next = unsafe { first.cast::<*mut u8>().read() };
            lists[k].set(Free { first: next, n_room: n_room + 1 });
        }
        first
    })
}

/// Puts a free block into list `k`; returns false if the list is full.
///
/// # Safety
/// The block is free, came from mimalloc with the list's layout, and the caller does not use it again.
#[inline]
unsafe fn keep(block: *mut u8, k: usize) -> bool {
    LISTS.with(|lists| {
        let Free { first, n_room } = lists[k].get();
        if n_room == 0 {
            return false;
        }
        // SAFETY: blocks have room for an address and are aligned for it.
        unsafe { block.cast::<*mut u8>().write(first) };
        lists[k].set(Free { first: block, n_room: n_room - 1 });
        true
    })
}

// SAFETY: size and alignment decide which of two sound allocators serves a block, so the same one frees it. In between,
// the block may have been in a free list, where no other code can reach it. A block whose new size belongs to another
// allocator is copied to a new block.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantees about the layout are passed on.
        unsafe {
            if is_kept(layout) {
                let (k, n_bytes) = list(layout.size());
                let block = take(k);
                if block.is_null() { MiMalloc.alloc(layout_of_list(n_bytes)) } else { block }
            } else if is_small(layout.size()) {
                MiMalloc.alloc(layout)
            } else {
                System.alloc(layout)
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantees about the layout are passed on; a block has at least its layout's size.
        unsafe {
            if is_kept(layout) {
                let block = self.alloc(layout);
                if !block.is_null() {
                    block.write_bytes(0, layout.size());
                }
                block
            } else if is_small(layout.size()) {
                MiMalloc.alloc_zeroed(layout)
            } else {
                System.alloc_zeroed(layout)
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block was allocated with this layout, so by the same allocator; the caller does not use it again.
        unsafe {
            if is_kept(layout) {
                let (k, n_bytes) = list(layout.size());
                let is_taken = keep(block, k) || (open() && keep(block, k));
                if !is_taken {
                    MiMalloc.dealloc(block, layout_of_list(n_bytes));
                }
            } else if is_small(layout.size()) {
                MiMalloc.dealloc(block, layout);
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the block was allocated with this layout, so by the same allocator. The caller guarantees that the
        // new layout is valid. The two blocks cannot overlap.
        unsafe {
            let new_layout = Layout::from_size_align_unchecked(new_size, layout.align());
            match (is_kept(layout), is_kept(new_layout)) {
                (true, true) if list(layout.size()) == list(new_size) => return block,
                (false, false) if is_small(layout.size()) && is_small(new_size) => {
                    return MiMalloc.realloc(block, layout, new_size);
                }
                (false, false) if !is_small(layout.size()) && !is_small(new_size) => {
                    return System.realloc(block, layout, new_size);
                }
                _ => {}
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_their_lists() {
        for n_bytes in 0..=KEPT_BYTES_MAX {
            let (k, size) = list(n_bytes);
            assert!(k < N_LISTS && size >= n_bytes.max(1) && size % ALIGN == 0, "{n_bytes} bytes");
            assert_eq!(list(size), (k, size), "{n_bytes} bytes");
            assert_eq!(size, bytes_of_list(k), "{n_bytes} bytes");
        }
    }

    #[test]
    fn blocks_keep_their_content_across_threads_and_sizes() {
        let worker = |seed: usize| {
            move || {
                let mut vecs: Vec<Vec<u8>> = Vec::new();
                for k in 0..20_000_usize {
                    let n = ((k * 7919 + seed * 104_729) % 40_000) >> (k % 12);
                    vecs.push(vec![(k % 251) as u8; n]);
                    if k % 3 == 0 {
                        let at = (k * 31) % vecs.len();
                        let v = vecs.swap_remove(at);
                        assert!(v.windows(2).all(|w| w[0] == w[1]));
                    } else if k % 5 == 0 {
                        let at = (k * 17) % vecs.len();
                        let byte = vecs[at].first().copied().unwrap_or(0);
                        let more = vecs[at].len() + k % 3000;
                        vecs[at].resize(more, byte);
                    }
                    if vecs.len() > 500 {
                        vecs.truncate(100);
                    }
                }
                vecs
            }
        };
        let threads: Vec<_> = (0..4).map(|seed| std::thread::spawn(worker(seed))).collect();
        for thread in threads {
            // This thread frees blocks that another thread allocated.
            let vecs = thread.join().expect("a worker");
            assert!(vecs.iter().all(|v| v.windows(2).all(|w| w[0] == w[1])));
        }
        let zeroed = vec![0u64; 100];
        assert!(zeroed.iter().all(|&x| x == 0));
    }
}
