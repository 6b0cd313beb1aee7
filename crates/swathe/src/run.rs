//! Runs: the execution of a plan.
//!
//! Workers take batches from one [queue](queue), reserve the memory and load the problems. They
//! then wait for a turn to solve. There are more workers than turns, so the waiting workers have
//! loaded ahead. Outcomes go to the caller's thread through a [mailbox](mailbox). Each worker keeps
//! its batch in a [state](worker_state) that the [watchdog](watchdog) can inspect: a solver that
//! does not stop is abandoned with its one problem, and a new worker continues with the rest.

mod clock;
mod collect;
mod finishing;
mod gpu_backlog;
mod gpu_pool;
mod gpu_worker;
mod guarded;
mod ledger;
mod mailbox;
mod queue;
mod samples;
mod scratch_pool;
mod watchdog;
mod worker;
mod worker_state;

use std::any::Any;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use guarded::{guarded, is_guarded, panic_message};

use collect::collect;
use gpu_backlog::WorkerKind;
use gpu_pool::GpuPool;
use ledger::Entry;
use mailbox::Mailbox;
use queue::Queue;
pub use samples::Samples;
use scratch_pool::ScratchPool;
use worker_state::WorkerState;

use crate::device::{Cpu, DeviceUse};
use crate::finish::AsSolved;
use crate::memory::Reservation;
use crate::report::{
    EndCause, Event, MemoryFigures, Mismatch, Report, Sample, Setback, SetbackCause, WorkerFigures,
    WorkerNow,
};
use crate::resident::Resident;
use crate::{
    Costs, DeviceId, DeviceKind, FaultPoint, Finish, GpuLane, Limits, Need, Outcome, OwnedWorkload,
    Plan, Planned, Remedy, Routing, Settings, Size, Source, Stop, Workload, plan,
};

/// A problem's outcome, as it is delivered.
pub struct Done<S, E> {
    /// The problem's number.
    pub index: usize,
    /// What became of the problem.
    pub outcome: Outcome<S, E>,
    /// The device that solved it.
    pub device: DeviceId,
    /// How long solving it took.
    pub took: Duration,
    /// How often it was started: more than once after a setback.
    pub n_attempts: u32,
}

/// What a run delivers to its caller.
pub enum Delivery<S, E> {
    /// An outcome.
    Done(Done<S, E>),
    /// A tick, about ten times a second, with or without outcomes in between. The caller can use it
    /// to check what is unfinished.
    Tick,
}

type WorkloadOf<F> = <F as Finish>::Workload;
type ProblemOf<F> = <WorkloadOf<F> as Workload>::Problem;
type SolutionOf<F> = <WorkloadOf<F> as Workload>::Solution;
type DoneOf<F> = Done<<F as Finish>::Finished, <F as Finish>::Failure>;
type OutcomeOf<F> = Outcome<<F as Finish>::Finished, <F as Finish>::Failure>;
type SourceOf<F> = Source<ProblemOf<F>, <F as Finish>::Failure>;

/// Solves all problems of a source and calls `done` with every outcome, in the order of completion.
///
/// `done` runs on the calling thread. While it blocks, outcomes wait and hold their memory, so slow
/// output slows the solvers down instead of filling the memory. If it breaks, the run ends early.
/// An outcome depends on its problem alone: not on batch size, order, number of threads or memory.
///
/// # Panics
/// If answers are to be verified and the workload [cannot compare](Workload::can_compare) them, and
/// if `done` panics.
pub fn run<W: OwnedWorkload>(
    workload: &Arc<W>,
    source: &Source<W::Problem, W::Failure>,
    settings: &Settings,
    done: &mut dyn FnMut(Done<W::Solution, W::Failure>) -> ControlFlow<()>,
) -> Report {
    let finish = Arc::new(AsSolved(Arc::clone(workload)));
    run_finishing(&finish, source, settings, &mut |delivery| match delivery {
        Delivery::Done(outcome) => done(outcome),
        Delivery::Tick => ControlFlow::Continue(()),
    })
}

/// [`run`] for solutions that are finished before they are delivered, with ticks between the
/// outcomes.
///
/// # Panics
/// Like [`run`].
pub fn run_finishing<F: Finish>(
    finish: &Arc<F>,
    source: &Source<<F::Workload as Workload>::Problem, F::Failure>,
    settings: &Settings,
    take: &mut dyn FnMut(Delivery<F::Finished, F::Failure>) -> ControlFlow<()>,
) -> Report {
    run_until(finish, source, settings, settings.stop.for_run(), take)
}

/// [`run_finishing`] with a stop of its own: the holder of a clone can end the run.
pub(crate) fn run_until<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    settings: &Settings,
    stop: Stop,
    take: &mut dyn FnMut(Delivery<F::Finished, F::Failure>) -> ControlFlow<()>,
) -> Report {
    let name = <WorkloadOf<F> as Workload>::NAME;
    assert!(
        settings.n_verify == 0 || finish.workload().can_compare(),
        "answers of {name} cannot be verified: the workload does not compare them"
    );
    let started = Instant::now();
    let resident = Resident::now();
    let n_cpu_workers =
        (settings.n_threads.max(1) + settings.n_prefetch).min(source.n_problems().max(1));
    let gpu_pool = GpuPool::new(settings);
    let n_workers = n_cpu_workers + GpuPool::N_WORKERS_EACH * gpu_pool.n_gpus();
    let chosen = crate::seed::choose(source.n_problems(), settings.n_verify, settings.seed);
    let local_bytes = finish.workload().local_bytes() * n_workers as u64;
    let shared = Arc::new(Shared {
        finish: Arc::clone(finish),
        source: source.clone(),
        settings: settings.clone(),
        stop,
        verify: chosen.into_iter().collect(),
        queue: Queue::new(source.n_problems()),
        scratches: ScratchPool::new(settings.n_threads.max(1), &settings.memory),
        costs: Mutex::new(settings.costs.clone()),
        cost_version: AtomicU64::new(1),
        gpu_pool,
        n_cpu_only: AtomicU64::new(0),
        worker_states: Mutex::default(),
        threads: Mutex::default(),
        n_workers_spawned: AtomicUsize::new(0),
        n_stuck: AtomicUsize::new(0),
        // Room for a few batches of outcomes: enough to keep workers busy, few enough for
        // back-pressure.
        mailbox: Mailbox::new(4 * n_workers),
        finished: AtomicBool::new(false),
        n_done: AtomicU64::new(0),
        n_unsolved: AtomicU64::new(0),
        samples: Mutex::new(Samples::default()),
        started,
        // If there is no room for it, the problems take precedence.
        _locals: match local_bytes {
            0 => None,
            // Pinned: a problem that needs these bytes too would wait for them for ever.
            bytes => settings.memory.try_pin(bytes).ok(),
        },
    });
    shared.sample();
    // The workers end even if this thread panics (`take` may panic).
    let over = EndRunOnDrop(&shared);
    // Started first: without it, a solver that does not stop would block the run for ever.
    let watchdog = watchdog::start(&shared);
    let n_started = match &watchdog {
        Some(_) => Shared::spawn_workers(&shared, n_cpu_workers),
        None => 0,
    };
    let mut collected = collect(&shared, n_started, take);
    // Measured before the threads are joined: from here on no thread waits for a message.
    let wall_ms = ms(started.elapsed());
    let samples = lock(&shared.samples).finish(shared.now(wall_ms));
    let sampled = samples.iter().map(|sample| sample.resident_bytes);
    let resident_peak_bytes = resident.peak_since(sampled);
    drop(over);
    if let Some(watchdog) = watchdog {
        watchdog.thread().unpark();
        let _ = watchdog.join();
    }
    for thread in shared.take_threads() {
        let _ = thread.join();
    }
    let (n_reservations, n_refusals) = settings.memory.n_granted_refused();
    let costs = lock(&shared.costs).clone();
    Report {
        workload: name.to_owned(),
        devices: std::iter::once(DeviceUse::Cpu(Cpu {
            n_threads: settings.n_threads.max(1),
            ..Cpu::detect()
        }))
        .chain(shared.gpu_pool.devices())
        .collect(),
        routes: shared.gpu_pool.routes(finish.workload(), &costs, settings.n_threads),
        n_cpu_only: shared.n_cpu_only.load(Ordering::Relaxed),
        cancelled: collected.counts.n_done() < collected.counts.n_problems,
        ended_by: collected.ended_by,
        counts: collected.counts,
        wall_ms,
        workers: collected.workers,
        n_launches: collected.ledger.n_launches,
        launches_step: collected.ledger.step(),
        buckets: collected.ledger.buckets(),
        launches: collected.ledger.kept,
        samples,
        memory: MemoryFigures {
            budget_bytes: settings.memory.cap_bytes(),
            peak_bytes: settings.memory.peak_bytes(),
            resident_peak_bytes,
            n_reservations,
            n_refusals,
            pool: settings.memory.pool_figures(),
        },
        setbacks: collected.setbacks,
        n_setbacks: collected.n_setbacks,
        verification: collected.verification,
        costs,
    }
}

/// The whole plan of a run, without its execution. Problems without a size are not in it.
pub fn explain<F: Finish>(finish: &F, source: &SourceOf<F>, settings: &Settings) -> Plan {
    let workload = finish.workload();
    let planned: Vec<Planned> = (0..source.n_problems())
        .filter_map(|index| {
            let sized = guarded(|| {
                let size = source.size(index).ok()?;
                let kind = GpuPool::kind(settings);
                let gpu = gpu_lane(workload, &size, kind).filter(|_| {
                    !settings.devices.is_empty() && may_launch(workload, &size, settings)
                });
                Some((size, need(finish, &size), gpu))
            });
            let (size, need, gpu) = sized.ok().flatten()?;
            Some(Planned { index, size, need, gpu })
        })
        .collect();
    let name = <WorkloadOf<F> as Workload>::NAME;
    plan(name, &planned, &limits(settings), &settings.costs)
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        budget_bytes: settings.memory.reachable_bytes(),
        n_batches_at_once: settings.n_threads.max(1)
            + settings.n_prefetch
            + GpuPool::N_WORKERS_EACH * settings.devices.len(),
        batch_size: settings.batch_size,
        batch_size_max: settings.batch_size_max.max(1),
        gpu: GpuPool::limits(settings),
    }
}

/// The memory that solving and finishing a problem takes on the CPU.
fn need<F: Finish>(finish: &F, size: &Size) -> Need {
    let solving = finish.workload().need(size, DeviceKind::Cpu);
    finish.need(size, solving)
}

/// Whether the placement allows a problem of this size to be launched.
fn may_launch<W: Workload>(workload: &W, size: &Size, settings: &Settings) -> bool {
    settings.placement.as_ref().is_none_or(|placement| {
        workload.launch_is_exact(size.class) || placement.is_on_devices(size)
    })
}

/// How a problem of this size can be launched, if it can.
fn gpu_lane<W: Workload>(workload: &W, size: &Size, on: DeviceKind) -> Option<GpuLane> {
    let form = workload.launch_form(size)?;
    let need = workload.need(&Size { shape: form, ..*size }, on);
    // All answers of a launch exist before the first of them is finished.
    let solving = workload.need(size, DeviceKind::Cpu);
    Some(GpuLane {
        form,
        need,
        host_bytes: solving.lane_bytes.saturating_add(solving.solution_bytes),
    })
}

/// Ends a run for all of its threads when dropped.
struct EndRunOnDrop<'a, F: Finish>(&'a Shared<F>);

impl<F: Finish> Drop for EndRunOnDrop<'_, F> {
    fn drop(&mut self) {
        self.0.finished.store(true, Ordering::Release);
        self.0.stop.end_run();
        self.0.mailbox.close();
        self.0.queue.wake();
    }
}

/// The reason why a device without a worker is not used.
const NO_THREAD: &str = "the system refused to start a thread for it";

/// Whether there is address space for the stack of another thread and for what threads map when they
/// begin: the process aborts if that is refused, and it is after the last stack that just fits.
fn has_room(stack_bytes: usize) -> bool {
    const BEGIN_BYTES: usize = 8 << 20;
    memmap2::MmapMut::map_anon(stack_bytes + BEGIN_BYTES).is_ok()
}

/// What all workers of a run share.
struct Shared<F: Finish> {
    finish: Arc<F>,
    source: SourceOf<F>,
    settings: Settings,
    stop: Stop,
    /// The numbers of the problems that are solved twice.
    verify: HashSet<usize>,
    queue: Queue<F>,
    scratches: ScratchPool<WorkloadOf<F>>,
    costs: Mutex<Costs>,
    /// Incremented when costs change.
    cost_version: AtomicU64,
    gpu_pool: GpuPool,
    /// Problems that no kernel supports.
    n_cpu_only: AtomicU64,
    worker_states: Mutex<Vec<Arc<WorkerState<F>>>>,
    /// By worker number. The threads of abandoned workers are removed and never joined.
    threads: Mutex<Vec<(usize, JoinHandle<()>)>>,
    n_workers_spawned: AtomicUsize,
    /// Workers that were abandoned and have not returned since.
    n_stuck: AtomicUsize,
    mailbox: Mailbox<Message<F>>,
    finished: AtomicBool,
    /// Outcomes taken so far; `n_unsolved` counts those without an answer.
    n_done: AtomicU64,
    n_unsolved: AtomicU64,
    samples: Mutex<Samples>,
    started: Instant,
    /// The memory of the workers' local state.
    _locals: Option<Reservation>,
}

/// A message from a worker or the watchdog to the caller's thread.
enum Message<F: Finish> {
    Outcomes {
        done: Vec<DoneOf<F>>,
        launch: Option<Entry>,
        checked: Checked,
        /// The memory of the answers, held until they are taken.
        _held: Option<Reservation>,
    },
    Setback(Setback),
    /// A worker was started in place of a lost one.
    WorkerSpawned,
    /// A worker has ended or is lost: it sends no more messages.
    Ended(WorkerFigures),
    /// A worker was abandoned.
    Abandoned,
    /// The run ends before all problems are done.
    EndedBy(EndCause),
    /// A worker panicked outside of guarded code. The caller's thread resumes the panic.
    Broken(Box<dyn Any + Send>),
}

/// The result of verifying the problems of a range.
#[derive(Default)]
struct Checked {
    n_checked: u64,
    mismatches: Vec<Mismatch>,
}

impl<F: Finish> Shared<F> {
    /// Starts the workers and returns how many there are: fewer than requested if the system
    /// refuses threads, none if it refuses the first CPU worker.
    fn spawn_workers(shared: &Arc<Self>, n_cpu_workers: usize) -> usize {
        // If threads are refused for lack of address space, none of it is left for the problems, so
        // this much is set aside for them. It is never touched and so takes no memory.
        const SPARED_BYTES: usize = 128 << 20;
        let mut spared = memmap2::MmapMut::map_anon(SPARED_BYTES).ok();
        let n_gpus = shared.gpu_pool.n_gpus();
        let gpus = (0..n_gpus).flat_map(|number| {
            std::iter::repeat_n(WorkerKind::Gpu(number), GpuPool::N_WORKERS_EACH)
        });
        // CPU workers come first, because no run can do without one.
        let wanted: Vec<WorkerKind> =
            std::iter::repeat_n(WorkerKind::Cpu, n_cpu_workers).chain(gpus).collect();
        let mut n_started = vec![0; 1 + n_gpus];
        for &who in &wanted {
            let mut is_started = Shared::spawn_worker(shared, who);
            if !is_started && n_started[0] == 0 {
                // One worker with little address space left is better than none.
                spared = None;
                is_started = Shared::spawn_worker(shared, who);
            }
            n_started[who.device()] += usize::from(is_started);
            if n_started[0] == 0 {
                return 0;
            }
        }
        drop(spared);
        let n_all = n_started.iter().sum();
        if n_all < wanted.len() {
            let n_refused = wanted.len() - n_all;
            let cause = SetbackCause::ThreadsRefused { n_refused };
            shared.send_setback(cause, 0, Remedy::FewerWorkers);
        }
        for number in (0..n_gpus).filter(|number| n_started[1 + number] == 0) {
            shared.gpu_pool.member(number).retire(NO_THREAD);
        }
        n_all
    }

    /// Starts a worker; `false` if the system refuses a thread.
    fn spawn_worker(shared: &Arc<Self>, who: WorkerKind) -> bool {
        // A large stack, so that deep recursion in a solver reaches the solver's own limit first.
        const STACK_BYTES: usize = 16 << 20;
        if shared.settings.memory.faults().refuses(FaultPoint::Thread) || !has_room(STACK_BYTES) {
            return false;
        }
        let worker = shared.n_workers_spawned.fetch_add(1, Ordering::Relaxed);
        let worker_state = Arc::new(WorkerState::new(worker, who, shared.stop.for_worker()));
        lock(&shared.worker_states).push(Arc::clone(&worker_state));
        let its = Arc::clone(shared);
        let thread = std::thread::Builder::new()
            .name(format!("swathe-worker-{worker}"))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let work = || match who {
                    WorkerKind::Cpu => worker::work(&its, &worker_state),
                    WorkerKind::Gpu(number) => gpu_worker::work(&its, &worker_state, number),
                };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                    its.mailbox.post(Message::Broken(panic));
                }
            });
        let is_started = thread.is_ok();
        match thread {
            Ok(thread) => lock(&shared.threads).push((worker, thread)),
            Err(_) => {
                lock(&shared.worker_states).retain(|worker_state| worker_state.worker != worker)
            }
        }
        is_started
    }

    /// Starts a worker in place of one that was abandoned or lost. If the system refuses a thread,
    /// the other workers of its kind continue. Without any other CPU worker the run ends.
    fn replace(shared: &Arc<Self>, lost: &WorkerState<F>) {
        // Sent before the worker starts, because it may end at once.
        shared.mailbox.post(Message::WorkerSpawned);
        if Shared::spawn_worker(shared, lost.who) {
            return;
        }
        shared.mailbox.post(Message::Abandoned);
        let cause = SetbackCause::ThreadsRefused { n_refused: 1 };
        shared.send_setback(cause, 0, Remedy::FewerWorkers);
        let mut others = lock(&shared.worker_states).clone();
        others.retain(|worker_state| {
            worker_state.who == lost.who && worker_state.worker != lost.worker
        });
        match lost.who {
            _ if !others.is_empty() => {}
            WorkerKind::Gpu(number) => {
                shared.gpu_pool.member(number).retire(NO_THREAD);
                shared.costs_changed();
            }
            WorkerKind::Cpu => shared.end_early(EndCause::NoThread),
        }
    }

    fn workload(&self) -> &F::Workload {
        self.finish.workload()
    }

    fn send_setback(&self, cause: SetbackCause, n_problems: usize, remedy: Remedy) {
        self.send_setback_of(DeviceId::Cpu, cause, n_problems, remedy);
    }

    fn send_setback_of(
        &self,
        device: DeviceId,
        cause: SetbackCause,
        n_problems: usize,
        remedy: Remedy,
    ) {
        let at_ms = ms(self.started.elapsed());
        self.mailbox.post(Message::Setback(Setback { at_ms, device, cause, n_problems, remedy }));
    }

    /// A cost has changed or a device was retired, so workers that wait for work may decide
    /// differently now.
    fn costs_changed(&self) {
        self.cost_version.fetch_add(1, Ordering::Release);
        if self.gpu_pool.n_gpus() > 0 {
            self.queue.wake();
        }
    }

    /// Ends the run if too many workers are stuck, because these starve the others.
    fn end_if_starved(&self) {
        let n_stuck = self.n_stuck.load(Ordering::Acquire);
        let n_stuck_max = self.settings.n_stuck_max;
        if n_stuck > n_stuck_max && !self.stop.is_cancelled() {
            self.end_early(EndCause::StuckSolvers { n_stuck, n_stuck_max });
        }
    }

    /// Ends the run before all problems are done.
    fn end_early(&self, cause: EndCause) {
        self.mailbox.post(Message::EndedBy(cause));
        self.stop.end_run();
        self.queue.wake();
    }

    /// The state of the run now.
    fn now(&self, at_ms: f64) -> Sample {
        let (n_in_flight, n_waiting) = self.queue.n_in_flight_waiting();
        Sample {
            at_ms,
            n_done: self.n_done.load(Ordering::Relaxed),
            n_unsolved: self.n_unsolved.load(Ordering::Relaxed),
            n_in_flight,
            n_waiting,
            used_bytes: self.settings.memory.used_bytes(),
            resident_bytes: Resident::now().bytes,
        }
    }

    /// Takes a sample if one is due.
    fn sample(&self) {
        let mut samples = lock(&self.samples);
        let at_ms = ms(self.started.elapsed());
        if samples.is_due(at_ms) {
            samples.push(self.now(at_ms));
        }
    }

    /// The current sample and what the workers are doing.
    fn sampled(&self) -> Event {
        let worker_states: Vec<Arc<WorkerState<F>>> = lock(&self.worker_states).clone();
        let workers = worker_states.iter().map(|worker_state| {
            let current = worker_state.in_flight().current;
            WorkerNow {
                worker: worker_state.worker,
                device: match worker_state.who {
                    WorkerKind::Cpu => DeviceId::Cpu,
                    WorkerKind::Gpu(number) => self.gpu_pool.id(number),
                },
                phase: worker_state.phase(),
                problem: current
                    .map(|current| (current.planned.index, ms(current.since.elapsed()))),
            }
        });
        Event::Sampled { sample: self.now(ms(self.started.elapsed())), workers: workers.collect() }
    }

    /// Removes an abandoned worker: it is neither joined nor watched any more.
    fn forget(&self, worker: usize) {
        lock(&self.worker_states).retain(|worker_state| worker_state.worker != worker);
        lock(&self.threads).retain(|&(number, _)| number != worker);
    }

    fn take_threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *lock(&self.threads)).into_iter().map(|(_, thread)| thread).collect()
    }

    /// The memory a problem takes in this run. A problem that is solved twice is held twice, if
    /// that fits.
    fn need(&self, index: usize, size: &Size) -> Need {
        let need = need(&*self.finish, size);
        if !self.is_verified(index, size) {
            return need;
        }
        Need { lane_bytes: need.lane_bytes + self.check_bytes(size), ..need }
    }

    /// The memory that solving a problem a second time takes.
    fn check_bytes(&self, size: &Size) -> u64 {
        self.workload().need(size, DeviceKind::Cpu).total_bytes()
    }

    /// How a problem can be launched on the devices of this run, if it can.
    fn gpu_lane(&self, size: &Size) -> Option<GpuLane> {
        if self.gpu_pool.n_gpus() == 0 || !may_launch(self.workload(), size, &self.settings) {
            return None;
        }
        gpu_lane(self.workload(), size, GpuPool::kind(&self.settings))
    }

    /// Whether the CPU leaves launchable problems of this class to the devices, as long as a device
    /// can solve them.
    fn is_for_devices(&self, class: u32) -> bool {
        let settings = &self.settings;
        let is_placed = settings.placement.is_some() && !self.workload().launch_is_exact(class);
        (is_placed || settings.routing == Routing::Launch) && self.gpu_pool.can(class)
    }

    /// Whether a problem is to be solved twice: it was chosen, and there is room to hold it twice.
    fn is_verified(&self, index: usize, size: &Size) -> bool {
        self.verify.contains(&index) && {
            let need = need(&*self.finish, size);
            let bytes = need.total_bytes().saturating_add(self.check_bytes(size));
            bytes <= self.settings.memory.reachable_bytes()
        }
    }
}

/// The maximum wait of a thread for work or for a turn. A wake-up normally comes earlier; this
/// bounds the wait should one ever be missed.
const WAIT_MAX: Duration = Duration::from_millis(250);

/// Locks a mutex and ignores poisoning, because no holder can leave a partial change behind.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
