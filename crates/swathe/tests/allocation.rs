//! The counted memory bounds the memory that is really allocated.
//!
//! The test runs alone in its process, with an allocator that counts.

#[path = "engine/sieve.rs"]
#[allow(dead_code, reason = "the workload of the other tests, of which this one needs less")]
mod sieve;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use swathe::{BatchSize, Budget, Settings};

use sieve::{Field, Sieve, check};

struct Counting;

static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);
static PEAK_BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator; the counters do not affect it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let bytes = layout.size() as u64;
        let live = LIVE_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The engine's own memory: queue, worker states, mailbox, figures; nothing that grows with a
/// problem.
const ENGINE_BYTES: u64 = 256 << 10;

#[test]
fn the_process_stays_within_the_budget() {
    for cap_bytes in [256 << 10, 2 << 20, 32 << 20] {
        // Two hundred problems of up to a twentieth of the budget, and one of half of it.
        let mut fields: Vec<Field> = (0..200)
            .map(|k| {
                let n_rows = cap_bytes / 20 / (8 * 16) * (1 + sieve::mix(k) % 20) / 20;
                Field::new(k, n_rows as u32, 16)
            })
            .collect();
        fields[100] = Field::new(7, (cap_bytes / 2 / (8 * 16 + 8)) as u32, 16);
        let fields = Arc::new(fields);
        for (n_threads, n_prefetch, batch_size) in
            [(1, 0, BatchSize::Fixed(1)), (2, 2, BatchSize::Auto), (2, 8, BatchSize::Fixed(7))]
        {
            let settings = Settings {
                n_threads,
                n_prefetch,
                batch_size,
                memory: Budget::new(cap_bytes),
                ..Settings::default()
            };
            let sieve = Sieve::new(&settings.memory);
            let source = sieve.source(&fields);
            let _watchdog = sieve::Watchdog::start();
            let before = LIVE_BYTES.load(Ordering::Relaxed);
            PEAK_BYTES.store(before, Ordering::Relaxed);
            let report = swathe::run(&sieve, &source, &settings, &mut |done| {
                assert!(done.outcome.solution().is_some());
                std::ops::ControlFlow::Continue(())
            });
            let peak_bytes = PEAK_BYTES.load(Ordering::Relaxed) - before;
            let counted_bytes = report.memory.peak_bytes;
            assert!(counted_bytes <= cap_bytes);
            assert!(
                peak_bytes <= counted_bytes + ENGINE_BYTES,
                "{peak_bytes} bytes were allocated, {counted_bytes} counted"
            );
            assert!(
                4 * peak_bytes >= counted_bytes,
                "{counted_bytes} bytes were counted, only {peak_bytes} allocated"
            );
            drop((sieve, source));
        }
        let settings = Settings { memory: Budget::new(cap_bytes), ..Settings::default() };
        check(&Sieve::new(&settings.memory), &fields, &settings);
    }
}
