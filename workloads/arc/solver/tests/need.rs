//! The declared memory need of a sample, compared with the measured peak.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use swathe::{DeviceKind, Need, Stop, Workload};
use swathe_arc::{Call, GridPrograms, Library, Problem, Task, parse};

/// Counts the bytes in use and their peak.
struct Counting;

static IN_USE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is forwarded to the system's allocator unchanged; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size() as i64, Relaxed) + layout.size() as i64;
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: the block came from `alloc` above, hence from the system, with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that a thread takes for solving these, one after the other, and the largest solution.
fn measured(workload: &GridPrograms, problems: &[Problem]) -> (i64, i64) {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let solution_bytes_max = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut kept = workload.local();
            let bytes = problems.iter().map(|problem| {
                let calls = workload.solve(problem, &mut (), &mut kept, &Stop::new());
                solution_bytes(&calls.expect("nobody stops it"))
            });
            bytes.max().unwrap_or(0)
        });
        worker.join().expect("a worker")
    });
    (PEAK.load(Relaxed) - before, solution_bytes_max)
}

fn solution_bytes(calls: &[Call]) -> i64 {
    let text = |call: &Call| {
        let output = call.output.as_ref().ok();
        output
            .and_then(|o| o.text.as_ref())
            .map_or(0, |text| text.len())
    };
    let bytes = calls.iter().map(|call| size_of::<Call>() + text(call));
    bytes.sum::<usize>() as i64
}

/// Counters are for the whole process, so there is one test.
#[test]
fn what_is_said_to_be_needed_covers_what_is_taken() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let programs = fs::read_to_string(folder.join("programs.py")).expect("the programs");
    let workload = GridPrograms::new(Library::new(parse("programs.py", &programs).programs));
    let mut problems = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(folder.join("tasks"))
        .expect("the tasks")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a readable task");
        let task = Task::from_json("sample", &text).expect("a valid task");
        problems.extend(Problem::all(&Arc::new(task)));
    }
    let need = |problem: &Problem| workload.need(&workload.size(problem), DeviceKind::Cpu);
    let (peak_bytes, solution_bytes) = measured(&workload, &problems);
    let most = |bytes: fn(&Need) -> u64| {
        let said = problems.iter().map(|p| bytes(&need(p)));
        said.max().expect("there are problems") as i64
    };
    let said = most(Need::total_bytes) + workload.local_bytes() as i64;
    assert!(peak_bytes <= said, "{peak_bytes} bytes taken, {said} said");
    assert!(
        said <= 16 * peak_bytes,
        "{said} bytes said, only {peak_bytes} taken"
    );
    let said = most(|need| need.solution_bytes);
    assert!(
        solution_bytes <= said,
        "{solution_bytes} bytes of results, {said} said"
    );
}
