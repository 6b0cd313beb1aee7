//! The memory of a solve, measured at the allocator, compared with `need`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use swathe_ot::{
    Coupling, Frame, Pair, Precision, Reference, Scratch, Settings, Shape, need, solve_with,
};

/// Counts the bytes that each thread holds, and their peak.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(by: isize) {
    // A thread that ends may free memory after its thread-local counters are dropped.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + by);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is forwarded to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `at` came from `alloc` above, which is the system's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most bytes held at once while `work` ran, above what was held before.
fn peak_bytes(work: impl FnOnce()) -> usize {
    let before = HELD.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before) as usize
}

/// Every pixel live on both sides: the worst case for its shape.
fn full(shape: Shape) -> Pair {
    let ramp = |by: f64| {
        let pixels = (0..shape.n_px()).map(|p| 1.0 + by * (p % shape.w_px) as f64);
        Frame::new(shape.h_px, shape.w_px, pixels.collect()).unwrap()
    };
    Pair::new(ramp(0.1), ramp(0.0))
}

fn check(shape: Shape, settings: &Settings) {
    let pair = full(shape);
    let mut scratch = Scratch::new();
    let measured = peak_bytes(|| {
        // Scratch that served a smaller pair before must not exceed the need of this one.
        let small = full(Shape::new(shape.h_px * 2 / 3 + 1, shape.w_px * 3 / 4 + 1));
        drop(solve_with(&small, settings, &mut scratch, &|| false).unwrap());
        drop(small);
        drop(solve_with(&pair, settings, &mut scratch, &|| false).unwrap());
    });
    let said = need(shape, settings);
    let case = format!(
        "{shape} ε {:e} {:?} {:?} {:?} fields {}: {measured} measured, {said:?}",
        settings.epsilon,
        settings.reference,
        settings.precision,
        settings.coupling,
        settings.fields
    );
    assert!(scratch.bytes() <= said.scratch_bytes, "{case}");
    assert!(measured <= said.total_bytes(), "{case}");
    // The need of kernels and rows is a generous bound, but small for large frames.
    assert!(said.total_bytes() < measured * 5 / 4 + (1 << 18), "{case}: far too much");
}

#[test]
fn need_is_what_a_pair_takes() {
    for (h, w) in [(16, 16), (64, 128), (40, 300), (300, 40), (128, 256)] {
        for epsilon in [1e-2, 1e-3] {
            for precision in [Precision::Auto, Precision::F32, Precision::F64] {
                for (reference, fields) in [
                    (Reference::Product, true),
                    (Reference::Counting, true),
                    (Reference::Product, false),
                ] {
                    let settings =
                        Settings { epsilon, precision, reference, fields, ..Settings::default() };
                    check(Shape::new(h, w), &settings);
                }
            }
        }
    }
}

#[test]
fn need_counts_potentials_and_the_coupling() {
    for coupling in
        [Coupling::None, Coupling::TopK(1), Coupling::TopK(5), Coupling::Threshold(1e-4)]
    {
        let settings =
            Settings { potentials: true, target_cost: true, coupling, ..Settings::default() };
        let shape = Shape::new(32, 64);
        let pair = full(shape);
        let measured = peak_bytes(|| {
            solve_with(&pair, &settings, &mut Scratch::new(), &|| false).unwrap();
        });
        let said = need(shape, &settings).total_bytes();
        assert!(measured <= said, "{coupling:?}: {measured} > {said}");
    }
}

#[test]
fn a_pair_of_256x512_takes_less_than_25_mb_and_33_mb_debiased() {
    for (raw_velocity, bytes_max) in [(true, 25_000_000), (false, 33_000_000)] {
        let settings = Settings { raw_velocity, ..Settings::default() };
        let mut scratch = Scratch::new();
        let pair_and_all = peak_bytes(|| {
            let pair = full(Shape::new(256, 512));
            solve_with(&pair, &settings, &mut scratch, &|| false).unwrap();
        });
        assert!(pair_and_all < bytes_max, "{pair_and_all} bytes");
    }
}
