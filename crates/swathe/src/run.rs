//! Runs: a plan carried out.
//!
//! Workers take batches from one [queue](queue), reserve the memory, load the problems, wait for
//! their turn to solve (there are more workers than turns, which is what loads ahead), and send
//! the outcomes to the caller's thread. Each worker keeps its batch in a [slot](slot) that the
//! [watchdog](watchdog) can look into: a solver that does not stop is left behind with its one
//! problem, and a new worker goes on with the rest.

mod clock;
mod fleet;
mod gpu_worker;
mod ledger;
mod lots;
mod queue;
mod samples;
mod scratch;
mod slot;
mod watchdog;
mod worker;

use std::any::Any;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) use worker::panic_message;

use fleet::Fleet;
use ledger::{Entry, Ledger};
use lots::Who;
use queue::Queue;
use samples::Samples;
use scratch::ScratchRack;
use slot::Slot;

use crate::device::{Cpu, Device};
use crate::memory::Reservation;
use crate::report::{
    Counts, Event, MemoryFigures, Mismatch, Report, Sample, Setback, SetbackCause, Verification,
    WorkerFigures, WorkerNow,
};
use crate::{
    Costs, DeviceId, DeviceKind, GpuLane, Limits, Need, Outcome, Plan, Planned, Remedy, Settings,
    Size, Source, Stop, Workload, plan,
};

/// A problem's outcome, as it is delivered.
pub struct Done<W: Workload> {
    /// The problem's number.
    pub index: usize,
    /// What became of it.
    pub outcome: Outcome<W>,
    /// Where it was solved.
    pub device: DeviceId,
    /// How long solving it took.
    pub took: Duration,
    /// How often it was started: more than once after a setback.
    pub n_attempts: u32,
}

/// Solves all problems of a source and calls `done` with every outcome, as they come.
///
/// `done` runs on this thread. While it blocks, outcomes wait and hold their memory, so that slow
/// output slows the solvers down instead of filling the memory. If it breaks, the run ends early.
/// What a problem's outcome is depends on the problem alone: not on batch size, order, number of
/// threads or memory.
pub fn run<W>(
    workload: &Arc<W>,
    source: &Source<W>,
    settings: &Settings,
    done: &mut dyn FnMut(Done<W>) -> ControlFlow<()>,
) -> Report
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    run_until(workload, source, settings, settings.stop.for_run(), done)
}

/// [`run`] with a stop of its own, which whoever holds a clone can end it by.
pub(crate) fn run_until<W>(
    workload: &Arc<W>,
    source: &Source<W>,
    settings: &Settings,
    stop: Stop,
    done: &mut dyn FnMut(Done<W>) -> ControlFlow<()>,
) -> Report
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    let started = Instant::now();
    let n_cpu_workers =
        (settings.n_threads.max(1) + settings.n_prefetch).min(source.n_problems().max(1));
    let fleet = Fleet::new(settings);
    let n_workers = n_cpu_workers + Fleet::N_WORKERS_EACH * fleet.n_gpus();
    // Room for a few batches of outcomes: enough to keep workers going, few enough to hold back.
    let (sender, receiver) = sync_channel(4 * n_workers);
    let chosen = crate::seed::choose(source.n_problems(), settings.n_verify, settings.seed);
    let shared = Arc::new(Shared {
        workload: Arc::clone(workload),
        source: source.clone(),
        settings: settings.clone(),
        stop,
        verify: chosen.into_iter().collect(),
        queue: Queue::new(source.n_problems()),
        scratches: ScratchRack::new(settings.n_threads.max(1), &settings.memory),
        costs: Mutex::new(settings.costs.clone()),
        n_learnt: AtomicU64::new(1),
        fleet,
        n_cpu_only: AtomicU64::new(0),
        slots: Mutex::default(),
        threads: Mutex::default(),
        n_hired: AtomicUsize::new(0),
        sender,
        finished: AtomicBool::new(false),
        n_done: AtomicU64::new(0),
        n_unsolved: AtomicU64::new(0),
        samples: Mutex::new(Samples::new()),
        started,
    });
    shared.sample();
    // Whatever happens on this thread (`done` may panic), nobody is left working for nothing.
    let over = OverAtEnd(&shared);
    for _ in 0..n_cpu_workers {
        Shared::hire(&shared, Who::Cpu);
    }
    for number in 0..shared.fleet.n_gpus() {
        for _ in 0..Fleet::N_WORKERS_EACH {
            Shared::hire(&shared, Who::Gpu(number));
        }
    }
    let watchdog = watchdog::start(&shared);
    let mut collected = collect(&shared, &receiver, n_workers, done);
    // Settled before the threads are joined: from here on nobody waits for a message.
    let wall_ms = ms(started.elapsed());
    let samples = lock(&shared.samples).finish(shared.now(wall_ms));
    drop(over);
    watchdog.thread().unpark();
    let _ = watchdog.join();
    for thread in shared.take_threads() {
        let _ = thread.join();
    }
    let (n_reservations, n_refusals) = settings.memory.n_granted_refused();
    let costs = lock(&shared.costs).clone();
    Report {
        workload: W::NAME.to_owned(),
        devices: std::iter::once(Device::Cpu(Cpu {
            n_threads: settings.n_threads.max(1),
            ..Cpu::detect()
        }))
        .chain(shared.fleet.devices())
        .collect(),
        routes: shared
            .fleet
            .routes(workload.as_ref(), &costs, settings.n_threads),
        n_cpu_only: shared.n_cpu_only.load(Ordering::Relaxed),
        cancelled: collected.counts.n_done() < collected.counts.n_problems,
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

/// The whole plan of a run that is not carried out. Problems without a size are not in it.
pub fn explain<W: Workload>(workload: &W, source: &Source<W>, settings: &Settings) -> Plan {
    let planned: Vec<Planned> = (0..source.n_problems())
        .filter_map(|index| {
            let sized = catch_unwind(AssertUnwindSafe(|| {
                let size = source.size(index).ok()?;
                let need = workload.need(&size, DeviceKind::Cpu);
                let gpu = gpu_lane(workload, &size).filter(|_| !settings.gpus.is_empty());
                Some((size, need, gpu))
            }));
            let (size, need, gpu) = sized.ok().flatten()?;
            Some(Planned {
                index,
                size,
                need,
                gpu,
            })
        })
        .collect();
    plan(W::NAME, &planned, &limits(settings), &settings.costs)
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        budget_bytes: settings.memory.cap_bytes(),
        n_batches_at_once: settings.n_threads.max(1)
            + settings.n_prefetch
            + Fleet::N_WORKERS_EACH * settings.gpus.len(),
        batch_size: settings.batch_size,
        batch_size_max: settings.batch_size_max.max(1),
        gpu: Fleet::limits(settings),
    }
}

/// How a problem of this size can be launched, if it can.
fn gpu_lane<W: Workload>(workload: &W, size: &Size) -> Option<GpuLane> {
    let form = workload.gpu_form(size)?;
    let need = fleet::lane_need(
        workload,
        &Size {
            shape: form,
            ..*size
        },
    );
    Some(GpuLane { form, need })
}

/// Ends a run for all of its threads when dropped.
struct OverAtEnd<'a, W: Workload>(&'a Shared<W>);

impl<W: Workload> Drop for OverAtEnd<'_, W> {
    fn drop(&mut self) {
        self.0.finished.store(true, Ordering::Release);
        self.0.stop.end_run();
        self.0.queue.wake();
    }
}

/// What all workers of a run share.
struct Shared<W: Workload> {
    workload: Arc<W>,
    source: Source<W>,
    settings: Settings,
    stop: Stop,
    /// The problems that are solved twice.
    verify: HashSet<usize>,
    queue: Queue,
    scratches: ScratchRack<W>,
    costs: Mutex<Costs>,
    /// Grows when something was learnt.
    n_learnt: AtomicU64,
    fleet: Fleet,
    /// Problems that no kernel can do.
    n_cpu_only: AtomicU64,
    slots: Mutex<Vec<Arc<Slot<W>>>>,
    /// By worker number; those of workers left behind are taken out and never joined.
    threads: Mutex<Vec<(usize, JoinHandle<()>)>>,
    n_hired: AtomicUsize,
    sender: SyncSender<Message<W>>,
    finished: AtomicBool,
    /// Outcomes taken so far, and those of them without an answer.
    n_done: AtomicU64,
    n_unsolved: AtomicU64,
    samples: Mutex<Samples>,
    started: Instant,
}

/// What workers and the watchdog tell the caller's thread.
enum Message<W: Workload> {
    Outcomes {
        done: Vec<Done<W>>,
        launch: Option<Entry>,
        checked: Checked,
        /// The memory of the answers, held until they are taken.
        _held: Option<Reservation>,
    },
    Setback(Setback),
    /// A worker was started in place of a lost one.
    Hired,
    /// A worker has no more to do (or is lost): it sends nothing any more.
    Ended(WorkerFigures),
    /// A worker was left behind.
    Abandoned,
    /// A worker panicked outside of what it guards: the panic is the caller's.
    Broken(Box<dyn Any + Send>),
}

/// What solving problems of a range again showed.
#[derive(Default)]
struct Checked {
    n_checked: u64,
    mismatches: Vec<Mismatch>,
}

impl<W> Shared<W>
where
    W: Workload + 'static,
    W::Problem: 'static,
    W::Solution: 'static,
    W::Failure: 'static,
    W::Scratch: 'static,
{
    /// Starts a worker.
    fn hire(shared: &Arc<Self>, who: Who) {
        // Deep recursion in a solver should meet the solver's own limit before the stack's end.
        const STACK_BYTES: usize = 16 << 20;
        let worker = shared.n_hired.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::new(Slot::new(worker, who, shared.stop.for_worker()));
        lock(&shared.slots).push(Arc::clone(&slot));
        let its = Arc::clone(shared);
        let thread = std::thread::Builder::new()
            .name(format!("swathe-worker-{worker}"))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let work = || match who {
                    Who::Cpu => worker::work(&its, &slot),
                    Who::Gpu(number) => gpu_worker::work(&its, &slot, number),
                };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                    its.send(Message::Broken(panic));
                }
            })
            .expect("the system can start a thread");
        lock(&shared.threads).push((worker, thread));
    }
}

impl<W: Workload> Shared<W> {
    fn send(&self, message: Message<W>) {
        // The receiver outlives all who send, except those left behind, whom nobody hears.
        let _ = self.sender.send(message);
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
        self.send(Message::Setback(Setback {
            at_ms,
            device,
            cause,
            n_problems,
            remedy,
        }));
    }

    /// The run at this moment.
    fn now(&self, at_ms: f64) -> Sample {
        let (n_in_flight, n_waiting) = self.queue.n_in_flight_waiting();
        Sample {
            at_ms,
            n_done: self.n_done.load(Ordering::Relaxed),
            n_unsolved: self.n_unsolved.load(Ordering::Relaxed),
            n_in_flight,
            n_waiting,
            used_bytes: self.settings.memory.used_bytes(),
        }
    }

    /// Takes a sample if it is time.
    fn sample(&self) {
        let mut samples = lock(&self.samples);
        let at_ms = ms(self.started.elapsed());
        if samples.is_due(at_ms) {
            samples.push(self.now(at_ms));
        }
    }

    /// Tells the observer of this moment and of what these workers do.
    fn tell_sample(&self, slots: &[Arc<Slot<W>>]) {
        let Some(observer) = &self.settings.observer else {
            return;
        };
        let workers = slots.iter().map(|slot| {
            let current = slot.hand().current;
            WorkerNow {
                worker: slot.worker,
                device: match slot.who {
                    Who::Cpu => DeviceId::Cpu,
                    Who::Gpu(number) => self.fleet.id(number),
                },
                phase: slot.phase(),
                problem: current
                    .map(|current| (current.planned.index, ms(current.since.elapsed()))),
            }
        });
        observer.tell(&Event::Sampled {
            sample: self.now(ms(self.started.elapsed())),
            workers: workers.collect(),
        });
    }

    /// Forgets a worker that is left behind: it is not joined and not watched any more.
    fn forget(&self, worker: usize) {
        lock(&self.slots).retain(|slot| slot.worker != worker);
        lock(&self.threads).retain(|&(number, _)| number != worker);
    }

    fn take_threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *lock(&self.threads))
            .into_iter()
            .map(|(_, thread)| thread)
            .collect()
    }

    /// The memory a problem takes here. One that is solved twice is held twice, if that fits.
    fn need(&self, index: usize, size: &Size) -> Need {
        let need = self.workload.need(size, DeviceKind::Cpu);
        if !self.is_verified(index, size) {
            return need;
        }
        Need {
            lane_bytes: need.lane_bytes + need.total_bytes(),
            ..need
        }
    }

    /// How a problem can be launched on the graphics processors of this run, if it can.
    fn gpu_lane(&self, size: &Size) -> Option<GpuLane> {
        match self.fleet.n_gpus() {
            0 => None,
            _ => gpu_lane(&*self.workload, size),
        }
    }

    /// Whether a problem is to be solved twice: it was chosen, and there is room to hold it twice.
    fn is_verified(&self, index: usize, size: &Size) -> bool {
        self.verify.contains(&index) && {
            let need = self.workload.need(size, DeviceKind::Cpu);
            need.total_bytes().saturating_mul(2) <= self.settings.memory.cap_bytes()
        }
    }
}

/// What the caller's thread gathers.
#[derive(Default)]
struct Collected {
    counts: Counts,
    workers: Vec<WorkerFigures>,
    ledger: Ledger,
    setbacks: Vec<Setback>,
    n_setbacks: u64,
    verification: Verification,
}

/// Takes messages until the last worker has ended.
fn collect<W: Workload>(
    shared: &Shared<W>,
    receiver: &Receiver<Message<W>>,
    n_workers: usize,
    take: &mut dyn FnMut(Done<W>) -> ControlFlow<()>,
) -> Collected {
    let mut collected = Collected::default();
    collected.counts.n_problems = shared.source.n_problems() as u64;
    let tell = |event: Event| {
        if let Some(observer) = &shared.settings.observer {
            observer.tell(&event);
        }
    };
    let mut n_live = n_workers;
    let mut wanted = true;
    while n_live > 0 {
        let Ok(message) = receiver.recv() else { break };
        match message {
            Message::Outcomes {
                done,
                launch,
                checked,
                _held,
            } => {
                for done in done {
                    if !wanted {
                        break;
                    }
                    collected.counts.add(done.outcome.kind());
                    if take(done).is_break() {
                        wanted = false;
                        shared.stop.end_run();
                        shared.queue.wake();
                    }
                }
                let counts = &collected.counts;
                shared.n_done.store(counts.n_done(), Ordering::Relaxed);
                shared
                    .n_unsolved
                    .store(counts.n_unsolved(), Ordering::Relaxed);
                shared.sample();
                collected.verification.n_checked += checked.n_checked;
                for mismatch in checked.mismatches {
                    tell(Event::Mismatch(mismatch.clone()));
                    collected.verification.mismatches.push(mismatch);
                }
                tell(Event::Progress {
                    counts: collected.counts,
                    elapsed: shared.started.elapsed(),
                });
                if let Some(entry) = launch {
                    if shared.settings.observer.is_some() {
                        tell(Event::Launched(entry.launch.clone()));
                    }
                    let class_name = |class| shared.workload.class_name(class);
                    collected.ledger.enter(entry, class_name);
                }
            }
            Message::Setback(setback) => {
                collected.n_setbacks += 1;
                tell(Event::Setback(setback.clone()));
                if collected.setbacks.len() < Report::N_SETBACKS_KEPT {
                    collected.setbacks.push(setback);
                }
            }
            Message::Hired => n_live += 1,
            Message::Abandoned => n_live -= 1,
            Message::Broken(panic) => resume_unwind(panic),
            Message::Ended(figures) => {
                n_live -= 1;
                collected.workers.push(figures);
            }
        }
    }
    collected.verification.n_skipped =
        shared.verify.len() as u64 - collected.verification.n_checked;
    collected.workers.sort_by_key(|figures| figures.worker);
    collected
        .verification
        .mismatches
        .sort_by_key(|mismatch| mismatch.problem);
    collected
}

/// Those who wait for work or for their turn are woken when there is some; this is for the case
/// that nobody is left to do so.
const WAIT_MAX: Duration = Duration::from_millis(250);

/// A lock whose holders cannot leave half a change behind.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
