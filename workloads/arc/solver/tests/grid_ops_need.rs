//! The declared memory need of single operations on grids, compared with the measured peak.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use swathe::{DeviceKind, Stop, Workload};
use swathe_arc::{Grid, GridOp, GridOps, GridProblem};

struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards every call to the system's allocator and only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::SeqCst) + layout.size();
        PEAK.fetch_max(now, Ordering::SeqCst);
        // SAFETY: the caller keeps the allocator's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test in this file, because the counters are for the whole process.
#[test]
fn need_covers_the_measured_peak() {
    let workload = GridOps::default();
    for (h, w) in [(1, 1), (3, 5), (30, 30), (63, 64), (300, 300)] {
        // From one object to as many as there are cells.
        for n_colors in [1, 2, 10] {
            for op in [GridOp::Objects, GridOp::Rot90, GridOp::ColorCounts] {
                let rows: Vec<Vec<i8>> = (0..h)
                    .map(|i: usize| (0..w).map(|j| ((i * 7 + j * 3) % n_colors) as i8).collect())
                    .collect();
                let before = IN_USE.load(Ordering::SeqCst);
                PEAK.store(before, Ordering::SeqCst);
                let problem = GridProblem { grid: Grid::from_rows(&rows).unwrap(), op };
                let answer = workload.solve(&problem, &mut (), &mut (), &Stop::new()).unwrap();
                let peak = (PEAK.load(Ordering::SeqCst) - before) as u64;
                let need = workload.need(&workload.size(&problem), DeviceKind::Cpu);
                println!("{op:?} {h} x {w}, {n_colors} colours: {peak} of {need:?}");
                assert!(
                    peak <= need.total_bytes(),
                    "{op:?} of {h} x {w}: {peak} bytes taken, {need:?} said"
                );
                drop(answer);
            }
        }
    }
}
