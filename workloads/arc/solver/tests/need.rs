//! The declared memory need of a sample, compared with the measured peak.

mod variants;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use swathe::{DeviceKind, Need, Stop, Workload};
use swathe_arc::{Call, GridPrograms, Library, Problem, Task, parse};
use variants::variants;

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

/// Calls share equal texts.
fn solution_bytes(calls: &[Call]) -> i64 {
    let outputs = calls.iter().filter_map(|call| call.output.as_ref().ok());
    let texts = outputs.filter_map(|output| output.text.as_ref());
    let distinct: HashMap<*const str, usize> =
        texts.map(|text| (Arc::as_ptr(text), text.len())).collect();
    (size_of_val(calls) + distinct.values().sum::<usize>()) as i64
}

/// The samples of the tasks in a folder.
fn problems(folder: &Path) -> Vec<Problem> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the tasks")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let tasks = paths.iter().map(|path| {
        let text = fs::read_to_string(path).expect("a readable task");
        Arc::new(Task::from_json("sample", &text).expect("a valid task"))
    });
    tasks.flat_map(|task| Problem::all(&task)).collect()
}

/// What is said and what is taken, in bytes: for solving without what a thread keeps, and for the answers.
#[expect(clippy::print_stderr, reason = "figures to read with --nocapture")]
fn check(what: &str, workload: &GridPrograms, problems: &[Problem]) {
    let (peak, solution) = measured(workload, problems);
    let most = |bytes: fn(&Need) -> u64| {
        let said = problems.iter().map(|p| workload.need(&workload.size(p), DeviceKind::Cpu));
        said.map(|need| bytes(&need)).max().expect("there are problems") as i64
    };
    let (said, local) = (most(Need::total_bytes), workload.local_bytes() as i64);
    eprintln!("{what}: {said} and {local} kept said, {peak} taken; {solution} of them the answer");
    assert!(peak <= said + local, "{what}: {peak} bytes taken, {said} + {local} said");
    let said_of_solution = most(|need| need.solution_bytes);
    assert!(
        solution <= said_of_solution,
        "{what}: {solution} bytes of results, {said_of_solution} said"
    );
    assert!(said <= 2 * peak, "{what}: {said} bytes said, only {peak} taken");
}

/// Counters are for the whole process, so there is one test.
#[test]
fn what_is_said_to_be_needed_is_about_what_is_taken() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let programs = fs::read_to_string(folder.join("programs.py")).expect("the programs");
    let problems = problems(&folder.join("tasks"));
    let workload = |text: &str| GridPrograms::new(Library::new(parse("p.py", text).programs));
    check("few programs", &workload(&programs), &problems);
    let few: Vec<Problem> = problems.into_iter().step_by(6).collect();
    let mut many = workload(&variants(&programs, 4_000, 1));
    check("many programs", &many, &few);
    many.kept_bytes_max = 1 << 20;
    check("many programs in groups", &many, &few);
}

#[test]
#[ignore = "needs a library and a folder of tasks"]
fn figures_of_a_library() {
    let given = |name: &str| std::env::var(name).ok();
    let (Some(programs), Some(tasks)) = (given("SWATHE_ARC_PROGRAMS"), given("SWATHE_ARC_TASKS"))
    else {
        eprintln!("SKIPPED: SWATHE_ARC_PROGRAMS and SWATHE_ARC_TASKS name no files");
        return;
    };
    let text = fs::read_to_string(&programs).expect("a file of programs");
    let workload = GridPrograms::new(Library::new(parse(&programs, &text).programs));
    let step = 1 + workload.library().len() / 1000;
    let problems = problems(Path::new(&tasks)).into_iter().step_by(step);
    check(&programs, &workload, &problems.collect::<Vec<_>>());
}
