//! The allocator: small blocks from lists of each thread, then from mimalloc, large ones from the system.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

use mimalloc::MiMalloc;

/// Grid programs make and drop values by the hundred million. A block that was just freed is still in the processor's
/// cache, so each thread keeps some of each size and hands the last one out first; mimalloc, which has the others, goes
/// through a whole page of blocks before it comes back to one. Large blocks are few and left to the system's
/// allocator, which the program tells how much of what is freed it may keep.
pub(crate) struct Allocator;

/// The largest block that mimalloc serves.
const SMALL_BYTES_MAX: usize = 64 << 10;
/// The largest block that a thread keeps.
const KEPT_BYTES_MAX: usize = 16 << 10;
/// What a thread keeps of one size.
const LIST_BYTES_MAX: usize = 32 << 10;
const N_LISTS: usize = 79;
const ALIGN: usize = 16;

/// The list for blocks of a size, and the size that its blocks have.
///
/// Up to 1 KiB sizes are multiples of 16 bytes, above of 1 KiB.
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

/// The size of the blocks in a list.
fn bytes_of_list(k: usize) -> usize {
    if k < 64 {
        (k + 1) * 16
    } else {
        (k - 62) * 1024
    }
}

#[inline]
fn is_kept(layout: Layout) -> bool {
    layout.size() <= KEPT_BYTES_MAX && layout.align() <= ALIGN
}

fn is_small(n_bytes: usize) -> bool {
    n_bytes <= SMALL_BYTES_MAX
}

/// The layout under which mimalloc serves a list's blocks.
#[inline]
fn layout_of_list(n_bytes: usize) -> Layout {
    // SAFETY: the alignment is a power of two and the sizes of lists are far from overflow.
    unsafe { Layout::from_size_align_unchecked(n_bytes, ALIGN) }
}

/// The free blocks of one size: each holds the address of the next.
#[derive(Clone, Copy)]
struct Free {
    first: *mut u8,
    /// How many more are kept.
    n_room: u32,
}

thread_local! {
    /// Without a destructor, so that they can be used as long as the thread frees anything.
    static LISTS: [Cell<Free>; N_LISTS] =
        const { [const { Cell::new(Free { first: null_mut(), n_room: 0 }) }; N_LISTS] };
    static STATE: Cell<State> = const { Cell::new(State::New) };
    /// Gives the blocks back when the thread ends.
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
                let closed = Free {
                    first: null_mut(),
                    n_room: 0,
                };
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

/// Makes room in the lists, once; whether there is some now.
#[cold]
fn open() -> bool {
    if STATE.get() != State::New {
        return false;
    }
    // First, because registering the destructor may itself allocate and free.
    STATE.set(State::Open);
    LISTS.with(|lists| {
        for (k, list) in lists.iter().enumerate() {
            let n_bytes = bytes_of_list(k);
            list.set(Free {
                n_room: (LIST_BYTES_MAX / n_bytes) as u32,
                ..list.get()
            });
        }
    });
    AT_END.with(|_| ());
    true
}

/// The block that was kept last, or null.
#[inline]
fn take(k: usize) -> *mut u8 {
    LISTS.with(|lists| {
        let Free { first, n_room } = lists[k].get();
        if !first.is_null() {
            // SAFETY: a kept block holds the address of the next.
            let next = unsafe { first.cast::<*mut u8>().read() };
            lists[k].set(Free {
                first: next,
                n_room: n_room + 1,
            });
        }
        first
    })
}

/// Keeps a block of a list's size; false if there is no room.
///
/// # Safety
/// The block is free, came from mimalloc with the list's layout, and is given up by the caller.
#[inline]
unsafe fn keep(block: *mut u8, k: usize) -> bool {
    LISTS.with(|lists| {
        let Free { first, n_room } = lists[k].get();
        if n_room == 0 {
            return false;
        }
        // SAFETY: blocks have room for an address and are aligned for it.
        unsafe { block.cast::<*mut u8>().write(first) };
        lists[k].set(Free {
            first: block,
            n_room: n_room - 1,
        });
        true
    })
}

// SAFETY: every block is served and freed by the same of two sound allocators, as its size and alignment say; between
// the two it may have been in a list, where nobody else has it. A block whose size changes sides is copied to a new one.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about the layout are passed on.
        unsafe {
            if is_kept(layout) {
                let (k, n_bytes) = list(layout.size());
                let block = take(k);
                if block.is_null() {
                    MiMalloc.alloc(layout_of_list(n_bytes))
                } else {
                    block
                }
            } else if is_small(layout.size()) {
                MiMalloc.alloc(layout)
            } else {
                System.alloc(layout)
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about the layout are passed on; a block has at least its layout's size.
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
        // SAFETY: the block was allocated with this layout, so by the same side; the caller gives it up.
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
        // SAFETY: the block was allocated with this layout, so by the same side; the new layout is
        // valid because the caller promises so, and the two blocks cannot overlap.
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
            assert!(
                k < N_LISTS && size >= n_bytes.max(1) && size % ALIGN == 0,
                "{n_bytes} bytes"
            );
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
        let threads: Vec<_> = (0..4)
            .map(|seed| std::thread::spawn(worker(seed)))
            .collect();
        for thread in threads {
            // Freed by another thread than the one that made them.
            let vecs = thread.join().expect("a worker");
            assert!(vecs.iter().all(|v| v.windows(2).all(|w| w[0] == w[1])));
        }
        let zeroed = vec![0u64; 100];
        assert!(zeroed.iter().all(|&x| x == 0));
    }
}
