//! A small real workload: the sums of the primes in every row of a grid of numbers.
//!
//! Problems are generated from a seed and held in pooled buffers, the scratch is a sieve that is
//! reused, and a twist makes a problem misbehave in one chosen way. The oracle uses neither pool
//! nor sieve.

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use swathe::seed::mix;
use swathe::{
    Access, Budget, Device, DeviceKind, Difference, Gpu, GpuError, Kernel, Lane, Need, OutcomeKind,
    Pool, Pooled, Report, Settings, Shape, Size, Source, Stop, Workload,
};

pub(crate) const SUM_PRIMES: Kernel = Kernel {
    name: "sieve.sum_primes",
    wgsl: &[include_str!("sieve.wgsl")],
    entry: "sum_primes",
    bindings: &[Access::Read, Access::Write],
};

pub(crate) struct Sieve {
    pool: Pool<u32>,
    /// Set at the end of a test: loops that never poll then return, and their threads end.
    pub(crate) released: Arc<AtomicBool>,
    n_random: AtomicU64,
    /// The maximum number of lanes that fit in a launch.
    pub(crate) n_lanes_max: AtomicUsize,
    /// Seeds of problems with [`Twist::AnswersOnce`] that were solved, and of problems with
    /// [`Twist::LoadLoopsOnce`] that were loaded.
    solved: Mutex<HashSet<u64>>,
    /// Polling loops that received a stop.
    pub(crate) n_stopped: AtomicUsize,
    /// The local state of each worker, as stated to the engine.
    pub(crate) local_bytes: AtomicU64,
}

/// A problem that is not loaded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) seed: u64,
    pub(crate) n_rows: u32,
    pub(crate) n_columns: u32,
    pub(crate) twist: Twist,
}

/// How a problem misbehaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Twist {
    None,
    Panics,
    Fails,
    HasWrongSize,
    LoopsAndPolls,
    LoopsAsleep,
    LoadPanics,
    LoadFails,
    LoadLoopsAndPolls,
    LoadLoopsAsleep,
    SizePanics,
    SizeFails,
    SizeLoopsAsleep,
    /// Sleeps this long while loading and while solving.
    Takes {
        load: Duration,
        solve: Duration,
    },
    /// Answers differently every time.
    AnswersAnything,
    /// Kernels cannot solve it.
    NeedsCpu,
    /// The launch it is in panics.
    LaunchPanics,
    /// The launch it is in waits and polls.
    LaunchLoops,
    /// Answers once; every other time it neither answers nor polls its stop.
    AnswersOnce,
    /// The first load neither ends nor polls its stop.
    LoadLoopsOnce,
}

pub(crate) struct Loaded {
    field: Field,
    cells: Pooled<u32>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("seed {seed} is refused")]
    Refused { seed: u64 },
    #[error("stopped")]
    Stopped,
}

#[derive(Default)]
pub(crate) struct Scratch {
    composite: Vec<bool>,
    row: Vec<u32>,
}

impl Sieve {
    pub(crate) fn new(budget: &Budget) -> Arc<Sieve> {
        Arc::new(Sieve {
            pool: Pool::new(budget),
            released: Arc::default(),
            n_random: AtomicU64::new(0),
            n_lanes_max: AtomicUsize::new(usize::MAX),
            solved: Mutex::default(),
            n_stopped: AtomicUsize::new(0),
            local_bytes: AtomicU64::new(0),
        })
    }

    pub(crate) fn source(self: &Arc<Sieve>, fields: &Arc<Vec<Field>>) -> Source<Loaded, Refusal> {
        let (sized, loaded) = (Arc::clone(fields), Arc::clone(fields));
        let (sieve, counts) = (Arc::clone(self), Arc::clone(self));
        Source::new(
            fields.len(),
            move |index| {
                let field = &sized[index];
                match field.twist {
                    Twist::SizePanics => panic!("a size on purpose"),
                    Twist::SizeFails => Err(Refusal::Refused { seed: field.seed }),
                    Twist::SizeLoopsAsleep => counts.loop_asleep(),
                    _ => Ok(field.size()),
                }
            },
            move |index, stop| sieve.load(loaded[index], stop),
        )
    }

    fn load(&self, mut field: Field, stop: &Stop) -> Result<Loaded, Refusal> {
        match field.twist {
            Twist::LoadPanics => panic!("a load on purpose"),
            Twist::LoadFails => return Err(Refusal::Refused { seed: field.seed }),
            Twist::LoadLoopsAndPolls => return self.loop_and_poll(stop),
            Twist::LoadLoopsAsleep => return self.loop_asleep(),
            Twist::LoadLoopsOnce if self.is_first(&field) => return self.loop_asleep(),
            Twist::HasWrongSize => field.n_columns += 1,
            Twist::Takes { load, .. } => {
                swathe::timed("nap in loading", || std::thread::sleep(load))
            }
            _ => {}
        }
        let mut cells = self.pool.take((field.n_rows * field.n_columns) as usize);
        for (k, cell) in cells.iter_mut().enumerate() {
            *cell = field.cell(k);
        }
        Ok(Loaded { field, cells })
    }

    fn loop_and_poll<T>(&self, stop: &Stop) -> Result<T, Refusal> {
        while !stop.requested() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.n_stopped.fetch_add(1, Ordering::Relaxed);
        Err(Refusal::Stopped)
    }

    fn is_first(&self, field: &Field) -> bool {
        self.solved.lock().unwrap().insert(field.seed)
    }

    fn loop_asleep<T>(&self) -> Result<T, Refusal> {
        while !self.released.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Refusal::Stopped)
    }
}

impl Field {
    pub(crate) fn new(seed: u64, n_rows: u32, n_columns: u32) -> Field {
        Field { seed, n_rows, n_columns, twist: Twist::None }
    }

    pub(crate) fn twisted(self, twist: Twist) -> Field {
        Field { twist, ..self }
    }

    pub(crate) fn size(&self) -> Size {
        let shape = Shape::new(&[self.n_rows, self.n_columns]);
        Size { class: (self.seed % 2) as u32, affinity: self.seed % 5, ..Size::of(shape) }
    }

    /// Numbers in a field are below this.
    fn bound(&self) -> u32 {
        (32 * self.n_columns).min(4096)
    }

    fn cell(&self, k: usize) -> u32 {
        (mix(self.seed ^ mix(k as u64)) % u64::from(self.bound())) as u32
    }

    /// The answer, computed in another way: by trial division.
    pub(crate) fn oracle(&self) -> Vec<u64> {
        let is_prime: Vec<bool> = (0..self.bound()).map(is_prime).collect();
        let n_columns = self.n_columns as usize;
        (0..self.n_rows as usize)
            .map(|row| {
                let cells = (row * n_columns..(row + 1) * n_columns).map(|k| self.cell(k));
                cells.filter(|&n| is_prime[n as usize]).map(u64::from).sum()
            })
            .collect()
    }
}

impl Twist {
    /// The outcome that such a problem must have.
    pub(crate) fn kind(self) -> OutcomeKind {
        match self {
            Twist::None
            | Twist::Takes { .. }
            | Twist::AnswersAnything
            | Twist::NeedsCpu
            | Twist::LaunchPanics
            | Twist::LaunchLoops
            | Twist::AnswersOnce => OutcomeKind::Solved,
            Twist::Panics | Twist::LoadPanics | Twist::SizePanics => OutcomeKind::Panicked,
            Twist::Fails | Twist::LoadFails | Twist::SizeFails => OutcomeKind::Failed,
            Twist::HasWrongSize => OutcomeKind::WrongSize,
            Twist::LoopsAndPolls
            | Twist::LoopsAsleep
            | Twist::LoadLoopsAndPolls
            | Twist::LoadLoopsAsleep
            | Twist::SizeLoopsAsleep
            | Twist::LoadLoopsOnce => OutcomeKind::TimedOut,
        }
    }
}

impl Workload for Sieve {
    type Problem = Loaded;
    type Solution = Vec<u64>;
    type Failure = Refusal;
    type Scratch = Scratch;
    type Local = Rc<Cell<u64>>;
    const NAME: &'static str = "sieve";

    fn size(&self, problem: &Loaded) -> Size {
        problem.field.size()
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        let [n_rows, n_columns] = size.shape.extents() else {
            panic!("a field has two extents");
        };
        let (n_rows, n_columns) = (u64::from(*n_rows), u64::from(*n_columns));
        if on == DeviceKind::Gpu {
            return Need {
                lane_bytes: 4 * n_rows * (n_columns + 1),
                scratch_bytes: 1024,
                solution_bytes: 0,
            };
        }
        Need {
            // A pooled buffer may have capacity for twice as many cells.
            lane_bytes: 2 * 4 * n_rows * n_columns,
            scratch_bytes: (32 * n_columns).min(4096) + 4 * n_columns,
            solution_bytes: 8 * n_rows,
        }
    }

    fn local_bytes(&self) -> u64 {
        self.local_bytes.load(Ordering::Relaxed)
    }

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    /// `Rc` is not `Send`, which shows that the state of a worker stays on its thread.
    fn local(&self) -> Rc<Cell<u64>> {
        Rc::default()
    }

    fn solve(
        &self,
        problem: &Loaded,
        scratch: &mut Scratch,
        local: &mut Rc<Cell<u64>>,
        stop: &Stop,
    ) -> Result<Vec<u64>, Refusal> {
        local.set(local.get() + 1);
        let Loaded { field, cells } = problem;
        match field.twist {
            // Leaves the scratch in disorder, as a real panic would.
            Twist::Panics => {
                scratch.composite.fill(true);
                panic!("a solver on purpose")
            }
            Twist::Fails => return Err(Refusal::Refused { seed: field.seed }),
            Twist::LoopsAndPolls => return self.loop_and_poll(stop),
            Twist::LoopsAsleep => return self.loop_asleep(),
            Twist::AnswersOnce if !self.is_first(field) => return self.loop_asleep(),
            Twist::Takes { solve, .. } => {
                swathe::timed("nap in solving", || std::thread::sleep(solve))
            }
            _ => {}
        }
        let bound = field.bound() as usize;
        let composite = &mut scratch.composite;
        composite.clear();
        composite.reserve_exact(bound);
        composite.resize(bound, false);
        composite[..2.min(bound)].fill(true);
        for k in 2..bound {
            if !composite[k] {
                (k * k..bound).step_by(k).for_each(|multiple| composite[multiple] = true);
            }
        }
        let mut sums = Vec::with_capacity(field.n_rows as usize);
        for row in cells.chunks_exact(field.n_columns as usize) {
            scratch.row.clear();
            scratch.row.reserve_exact(row.len());
            scratch.row.extend_from_slice(row);
            let primes = scratch.row.iter().filter(|&&n| !composite[n as usize]);
            sums.push(primes.map(|&n| u64::from(n)).sum());
        }
        if field.twist == Twist::AnswersAnything {
            sums[0] += 1 + self.n_random.fetch_add(1, Ordering::Relaxed);
        }
        Ok(sums)
    }

    fn launch_form(&self, size: &Size) -> Option<Shape> {
        // Fields of a single column stay on the CPU.
        (size.shape.extents()[1] > 1).then_some(size.shape)
    }

    fn launch(
        &self,
        device: &Device,
        padded: Shape,
        problems: &[&Loaded],
        stop: &Stop,
    ) -> Result<Vec<Lane<Vec<u64>, Refusal>>, GpuError> {
        let [n_rows, n_columns] = padded.extents() else {
            panic!("a field has two extents");
        };
        if problems.len() > self.n_lanes_max.load(Ordering::Relaxed) {
            return Err(GpuError::OutOfMemory {
                wanted_bytes: problems.len() as u64,
                free_bytes: 1,
            });
        }
        let volume = padded.volume() as usize;
        let mut cells = vec![0; problems.len() * volume];
        for (lane, problem) in cells.chunks_exact_mut(volume).zip(problems) {
            if problem.field.twist == Twist::LaunchPanics {
                panic!("a launch on purpose");
            }
            if problem.field.twist == Twist::LaunchLoops {
                let _ = self.loop_and_poll::<()>(stop);
                return Err(GpuError::Stopped);
            }
            let rows = problem.cells.chunks(problem.field.n_columns as usize);
            for (row, cells) in lane.chunks_exact_mut(*n_columns as usize).zip(rows) {
                row[..cells.len()].copy_from_slice(cells);
            }
        }
        let sums = match device {
            Device::Gpu(gpu) => sums_on_gpu(gpu, *n_rows, *n_columns, &cells, stop)?,
            Device::Host(_) => cells
                .chunks_exact(*n_columns as usize)
                .map(|row| row.iter().filter(|&&n| is_prime(n)).sum())
                .collect(),
        };
        let lanes = sums.chunks_exact(*n_rows as usize).zip(problems);
        let lanes = lanes.map(|(sums, Loaded { field, .. })| match field.twist {
            Twist::Fails => Lane::Done(Err(Refusal::Refused { seed: field.seed })),
            Twist::AnswersOnce if !self.is_first(field) => Lane::ToCpu("once".to_owned()),
            Twist::None | Twist::AnswersOnce | Twist::LoadLoopsOnce => {
                let sums = sums.iter().take(field.n_rows as usize);
                Lane::Done(Ok(sums.map(|&sum| u64::from(sum)).collect()))
            }
            Twist::AnswersAnything => Lane::Done(Ok(vec![0; field.n_rows as usize])),
            _ => Lane::ToCpu("it is twisted".to_owned()),
        });
        Ok(lanes.collect())
    }

    fn can_compare(&self) -> bool {
        true
    }

    fn agree(
        &self,
        reference: &Vec<u64>,
        other: &Vec<u64>,
        _: DeviceKind,
    ) -> Result<(), Difference> {
        match reference.iter().zip(other).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(row) => Err(Difference {
                field: format!("row {row}"),
                expected: reference[row].to_string(),
                found: other[row].to_string(),
            }),
        }
    }
}

/// The sums of the primes in all rows, computed by the kernel.
fn sums_on_gpu(
    gpu: &Gpu,
    n_rows: u32,
    n_columns: u32,
    cells: &[u32],
    stop: &Stop,
) -> Result<Vec<u32>, GpuError> {
    let n_rows_all = (cells.len() as u32 / n_columns).next_multiple_of(n_rows);
    let cells = gpu.upload(cells)?;
    let sums = gpu.buffer(4 * u64::from(n_rows_all))?;
    let mut recording = gpu.record();
    let parameters = [n_rows_all, n_columns];
    let n_groups = u64::from(n_rows_all.div_ceil(64));
    recording.launch(&SUM_PRIMES, &parameters, &[&cells, &sums], n_groups)?;
    recording.run(stop)?;
    gpu.read(&sums, n_rows_all as usize, stop)
}

fn is_prime(n: u32) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// `n` fields of many shapes, between 1x1 and 5x12.
pub(crate) fn fields(n: usize, seed: u64) -> Vec<Field> {
    (0..n as u64)
        .map(|k| {
            let draw = mix(seed ^ mix(k));
            Field::new(draw, 1 + (draw % 5) as u32, 1 + (draw / 5 % 12) as u32)
        })
        .collect()
}

/// The outcome of every problem of a run, by number, and the run's figures.
pub(crate) struct Ran {
    pub(crate) kinds: Vec<OutcomeKind>,
    pub(crate) answers: Vec<Option<Vec<u64>>>,
    pub(crate) took: Vec<Duration>,
    pub(crate) report: Report,
}

/// Runs to the end and checks that every problem has exactly one outcome.
pub(crate) fn run(sieve: &Arc<Sieve>, fields: &Arc<Vec<Field>>, settings: &Settings) -> Ran {
    let _watchdog = Watchdog::start();
    quiet_panics();
    let mut kinds = vec![None; fields.len()];
    let mut answers = vec![None; fields.len()];
    let mut took = vec![Duration::ZERO; fields.len()];
    let report = swathe::run(sieve, &sieve.source(fields), settings, &mut |done| {
        let kind = done.outcome.kind();
        let before = kinds[done.index].replace(kind);
        assert_eq!(before, None, "problem {} has two outcomes", done.index);
        took[done.index] = done.took;
        answers[done.index] = done.outcome.into_result().ok();
        ControlFlow::Continue(())
    });
    let kinds = kinds.into_iter().enumerate();
    let kinds = kinds.map(|(k, kind)| kind.unwrap_or_else(|| panic!("problem {k} was lost")));
    Ran { kinds: kinds.collect(), answers, took, report }
}

/// The payload of a panic: a good problem exceeded a short time limit.
struct Late;

/// Runs a test that needs short time limits. On a busy machine a thread may stand still for longer
/// than such a limit, so a test that reports this by [`late_if`] runs again with a longer one.
pub(crate) fn patiently(limit_ms: u64, test: impl Fn(Duration)) {
    quiet_panics();
    let limits_ms = [limit_ms, 4 * limit_ms, 16 * limit_ms];
    for limit in limits_ms.map(Duration::from_millis) {
        match catch_unwind(AssertUnwindSafe(|| test(limit))) {
            Ok(()) => return,
            Err(payload) if payload.is::<Late>() => {}
            Err(payload) => resume_unwind(payload),
        }
    }
    panic!("good problems exceed even the longest limit of {limits_ms:?} ms");
}

/// Ends a [`patiently`] run test, because a good problem exceeded its limit.
pub(crate) fn late_if(is_late: bool) {
    if is_late {
        std::panic::panic_any(Late);
    }
}

/// Checks that all memory is released. A lost worker is not joined, so that the last of it may be
/// released a moment after the run.
pub(crate) fn released(budget: &Budget) {
    for _ in 0..1000 {
        if budget.used_bytes() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} bytes are still reserved", budget.used_bytes());
}

/// Runs to the end and checks every outcome against the oracle and the twist.
pub(crate) fn check(sieve: &Arc<Sieve>, fields: &Arc<Vec<Field>>, settings: &Settings) -> Report {
    let ran = run(sieve, fields, settings);
    for (k, field) in fields.iter().enumerate() {
        let is_late = ran.kinds[k] == OutcomeKind::TimedOut && ran.kinds[k] != field.twist.kind();
        late_if(is_late && settings.time_limit < Duration::from_secs(30));
        assert_eq!(ran.kinds[k], field.twist.kind(), "problem {k}: {field:?}");
        if matches!(field.twist, Twist::None | Twist::AnswersOnce) {
            assert_eq!(ran.answers[k].as_ref(), Some(&field.oracle()), "problem {k}");
        }
    }
    ran.report
}

/// Aborts the test process if a run hangs.
pub(crate) struct Watchdog {
    /// Dropped with the guard, which ends the wait.
    _running: std::sync::mpsc::Sender<()>,
}

impl Watchdog {
    #[expect(
        clippy::print_stderr,
        reason = "the test is aborted, so it cannot fail with a message"
    )]
    pub(crate) fn start() -> Watchdog {
        let (sender, receiver) = std::sync::mpsc::channel();
        let test = std::thread::current().name().unwrap_or("?").to_owned();
        std::thread::spawn(move || {
            let ended = receiver.recv_timeout(Duration::from_secs(60));
            if ended == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{test}: a run hangs: nothing for 60 s");
                std::process::abort();
            }
        });
        Watchdog { _running: sender }
    }
}

/// Suppresses the messages of panics on purpose.
pub(crate) fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let is_expected = text.is_some_and(|text| text.contains("on purpose"));
            if !is_expected && !payload.is::<Late>() {
                tell(info);
            }
        }));
    });
}
