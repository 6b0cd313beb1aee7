//! The memory that the workload predicts for an item, compared with the measured peak.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use swathe::{DeviceKind, Stop, Workload};
use swathe_array::{Array, ArrayWorkload, Item, Key, MapKind, MapOperand, Operation};

struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes every call on to the system allocator and only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::SeqCst) + layout.size();
        PEAK.fetch_max(now, Ordering::SeqCst);
        // SAFETY: the caller guarantees the allocator's contract.
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

/// The only test in this file, because the counters cover the whole process.
#[test]
fn need_covers_the_measured_peak() {
    let floats = |shape: &[usize]| {
        let n: usize = shape.iter().product();
        Array::new(shape.to_vec(), vec![0.5f32; n]).unwrap()
    };
    let bytes = |n: usize| Array::new(vec![n], vec![7u8; n]).unwrap();
    let one = |first: Array| Item { first: Arc::new(first), second: None };
    let two = |first: Array, second: Array| Item {
        first: Arc::new(first),
        second: Some(Arc::new(second)),
    };
    let scalar = MapOperand::Scalar(2.0);
    let cases: Vec<(Operation, Box<dyn Fn() -> Item>)> = vec![
        (Operation::Xor(Key::Seed(1)), Box::new(move || one(bytes(100_000)))),
        (Operation::Xor(Key::Second), Box::new(move || two(bytes(100_000), bytes(100_000)))),
        (Operation::Map(MapKind::Exp), Box::new(move || one(floats(&[300, 400])))),
        (Operation::Map(MapKind::Add(scalar)), Box::new(move || one(floats(&[1])))),
        (Operation::Matmul, Box::new(move || two(floats(&[16, 16]), floats(&[16, 16])))),
        (Operation::Matmul, Box::new(move || two(floats(&[300, 500]), floats(&[500, 200])))),
    ];
    for (operation, item) in cases {
        let workload: ArrayWorkload = ArrayWorkload::new(operation);
        let measure = || {
            let before = IN_USE.load(Ordering::SeqCst);
            PEAK.store(before, Ordering::SeqCst);
            let item = item();
            let size = workload.size(&item);
            let mut scratch = workload.scratch();
            let answer = workload.solve(&item, &mut scratch, &mut (), &Stop::new()).unwrap();
            let peak = PEAK.load(Ordering::SeqCst).saturating_sub(before) as u64;
            drop(answer);
            (peak, size)
        };
        // The least of three measurements, because the test harness has a thread that allocates
        // too.
        let (peak, size) = (0..3).map(|_| measure()).min_by_key(|&(peak, _)| peak).unwrap();
        let need = workload.need(&size, DeviceKind::Cpu);
        assert!(
            peak <= need.total_bytes(),
            "{}: {peak} bytes taken, {} said",
            workload.operation(),
            need.total_bytes()
        );
        // A far too large prediction would waste the budget.
        assert!(need.lane_bytes + need.solution_bytes <= peak + 1024, "{}", workload.operation());
    }
}
