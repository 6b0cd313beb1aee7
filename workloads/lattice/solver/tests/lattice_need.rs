//! The memory that each algorithm predicts, compared with the peak of a counting allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use swathe_lattice::Lattice;
use swathe_lattice::{
    CatalyticAnswer, CatalyticSettings, SearchScratch, analyze, analyze_need, catalytic_need,
    catalytic_path, layers, layers_need, path_need, shortest_path,
};

/// The system allocator, with a count of the bytes in use and of their peak.
struct Counting;

static IN_USE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let in_use = IN_USE.fetch_add(layout.size() as u64, Relaxed) + layout.size() as u64;
        PEAK.fetch_max(in_use, Relaxed);
        // SAFETY: the caller guarantees `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller guarantees `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn peak_bytes(work: impl FnOnce()) -> u64 {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed) - before
}

/// A single test, because the allocator counts for all threads together.
#[test]
fn needs_cover_the_measured_peaks() {
    // A cube with scattered blocked vertices, and a maze of corridors.
    let scattered = (0..40_u64.pow(3)).filter(|id| id % 7 == 3);
    let cube = Lattice::new(&[40; 3]).unwrap().with_blocked(scattered).unwrap();
    let is_wall = |x: u64, y: u64| x % 2 == 1 && y != if x % 4 == 1 { 59 } else { 0 };
    let walls = (0..3600).filter(|id| is_wall(id / 60, id % 60));
    let maze = Lattice::new(&[60, 60]).unwrap().with_blocked(walls).unwrap();
    let open = Lattice::new(&[20, 30, 40]).unwrap();

    let go_on: &dyn Fn() -> bool = &|| false;
    for lattice in [&cube, &maze, &open] {
        let last = lattice.n_vertices() as u64 - 1;
        let to = (0..=last).rev().find(|&id| !lattice.is_blocked(id)).unwrap();
        let total = |need: swathe_lattice::MemoryNeed| need.scratch_bytes + need.answer_bytes;
        let check = |name: &str, peak: u64, need: u64| {
            let sizes = lattice.sizes();
            assert!(peak <= need, "{name} on {sizes:?}: {peak} > {need}");
        };

        let peak = peak_bytes(|| {
            let scratch = &mut SearchScratch::default();
            drop(shortest_path(lattice, 0, to, scratch, go_on).unwrap());
        });
        check("path", peak, total(path_need(lattice).unwrap()));
        for with_distances in [false, true] {
            let peak = peak_bytes(|| {
                let scratch = &mut SearchScratch::default();
                drop(layers(lattice, 0, with_distances, scratch, go_on).unwrap());
            });
            check("layers", peak, total(layers_need(lattice, with_distances).unwrap()));
        }
        let peak = peak_bytes(|| {
            analyze(lattice, &mut SearchScratch::default(), go_on).unwrap();
        });
        check("analyze", peak, total(analyze_need(lattice)));
    }

    let mut words: Vec<u64> = (0..cube.n_vertices() as u64).collect();
    let settings = CatalyticSettings::default();
    let mut clean_bytes = 0;
    let peak = peak_bytes(|| {
        let answer = catalytic_path(&cube, 0, 63_999, &mut words, &settings, go_on).unwrap();
        let CatalyticAnswer::Found(path) = answer else {
            panic!("there is a path");
        };
        clean_bytes = path.clean_bytes;
    });
    assert!(peak <= clean_bytes, "{peak} > {clean_bytes}");
    let need = catalytic_need(&cube, 4 * 117).unwrap();
    assert!(clean_bytes <= need.scratch_bytes + need.answer_bytes);
    assert!(clean_bytes < 10_000, "{clean_bytes} bytes beside 512 kB borrowed");
}
