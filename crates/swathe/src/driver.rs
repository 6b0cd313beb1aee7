//! The driver: threads that do what the [coordinator](crate::coordinator) decides.
//!
//! Whoever has news (a worker, the timer, the caller's thread) steps the coordinator under one lock
//! and carries out its commands: orders go into the slots of workers, outcomes to the caller through
//! a channel. A worker that reports usually gets its next order as the answer, without waking
//! another thread. No code of a workload runs under the lock.

mod clock;
mod collect;
mod finishing;
mod launch;
mod ledger;
mod routes;
mod scratches;
mod slot;
mod timer;
mod window;
mod worker;

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use memmap2::MmapMut;

pub(crate) use collect::{Collected, collect};

use ledger::Entry;
use routes::Routes;
use scratches::Scratches;
use slot::{Answered, Slot};
use timer::Trash;

use crate::coordinator::{
    Command, Coordinator, Event as News, Order, Place, Policy, Settled, Verdict, WorkerId,
};
use crate::device::DeviceUse;
use crate::memory::{MemoryLine, Reservation};
use crate::report::{
    EndCause, Event, Mismatch, Phase, Route, Sample, Setback, WorkerFigures, WorkerNow,
};
use crate::resident::Resident;
use crate::run::{
    Done, DoneOf, OutcomeOf, ProblemOf, Samples, SolutionOf, SourceOf, WorkloadOf, device_kind,
    gpu_lane, guarded, limits, may_launch, need, panic_message,
};
use crate::{
    Costs, Device, DeviceId, DeviceKind, FaultPoint, Finish, GpuLane, Need, Outcome, Settings,
    Size, Stop, Workload,
};

/// Problems are planned a window at a time, so that a plan's memory does not grow with the run.
const N_WINDOW: usize = 16_384;

/// What all threads of a run share.
pub(crate) struct Driver<F: Finish> {
    finish: Arc<F>,
    source: SourceOf<F>,
    pub(crate) settings: Settings,
    pub(crate) stop: Stop,
    /// The numbers of the problems that are solved twice.
    verify: HashSet<usize>,
    core: Mutex<Core<F>>,
    scratches: Scratches<WorkloadOf<F>>,
    memory_line: MemoryLine,
    devices: Vec<Device>,
    routes: Mutex<Routes>,
    /// Problems that no kernel supports.
    n_cpu_only: AtomicU64,
    mail: Sender<Message<F>>,
    /// Messages with outcomes that the caller has taken and the coordinator was not told of.
    n_taken: AtomicUsize,
    /// Whether the coordinator waits to be told.
    is_caller_awaited: AtomicBool,
    is_finished: AtomicBool,
    /// Outcomes taken so far; `n_unsolved` counts those without an answer.
    n_done: AtomicU64,
    n_unsolved: AtomicU64,
    samples: Mutex<Samples>,
    pub(crate) started: Instant,
    /// The memory of the workers' local state.
    _locals: Option<Reservation>,
}

/// What is changed together with the coordinator.
struct Core<F: Finish> {
    coordinator: Coordinator,
    slots: BTreeMap<WorkerId, Arc<Slot<F>>>,
    /// The threads of abandoned workers are removed and never joined.
    threads: Vec<(WorkerId, JoinHandle<()>)>,
    /// Answers that stuck workers have left, by problem.
    left: HashMap<usize, Answered<F>>,
    /// Workers that were told to quit.
    n_quit: usize,
}

/// A message to the caller's thread.
enum Message<F: Finish> {
    Outcomes {
        done: Vec<DoneOf<F>>,
        launch: Option<Entry>,
        checked: Checked,
        /// The memory of the answers, held until they are taken.
        _held: Option<Reservation>,
    },
    Setback(Setback),
    /// A worker has ended: it sends no more messages.
    Ended(WorkerFigures),
    /// The run ends before all problems are done.
    EndedBy(EndCause),
    /// A thread panicked outside of guarded code. The caller's thread resumes the panic.
    Broken(Box<dyn Any + Send>),
    /// No worker is left but those that were told to quit, so many in all.
    Over(usize),
}

/// The results of verifying the problems of a range.
#[derive(Default)]
struct Checked {
    n_checked: u64,
    mismatches: Vec<Mismatch>,
}

/// A run whose threads have started.
pub(crate) struct Started<F: Finish> {
    pub(crate) driver: Arc<Driver<F>>,
    messages: Receiver<Message<F>>,
    timer: Option<JoinHandle<()>>,
}

/// Starts the threads of a run.
pub(crate) fn start<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    settings: &Settings,
    stop: Stop,
) -> Started<F> {
    let n_problems = source.n_problems();
    let n_threads = settings.n_threads.max(1);
    let n_cpu_workers = (n_threads + settings.n_prefetch).min(n_problems.max(1));
    let n_workers = n_cpu_workers + Policy::N_WORKERS_OF_DEVICE * settings.devices.len();
    let devices: Vec<Device> = settings
        .devices
        .iter()
        .map(|device| device.for_run(&settings.memory, settings.time_limit))
        .collect();
    let policy = Policy {
        workload: <WorkloadOf<F> as Workload>::NAME,
        n_problems,
        n_cpu_workers,
        n_threads,
        devices: devices.iter().map(Device::id).collect(),
        launches_in_budget: device_kind(settings) == DeviceKind::Host,
        limits: limits(settings),
        time_limit: settings.time_limit,
        grace: settings.grace,
        n_stuck_max: settings.n_stuck_max,
        // Room for a few batches of outcomes: enough to keep workers busy, few enough for
        // back-pressure.
        n_undelivered_max: 4 * n_workers as i64,
        n_window: N_WINDOW,
    };
    let local_bytes = finish.workload().local_bytes() * n_workers as u64;
    let chosen = crate::seed::choose(n_problems, settings.n_verify, settings.seed);
    let (coordinator, commands) = Coordinator::new(Arc::new(policy), settings.costs.clone());
    let (mail, messages) = channel();
    let driver = Arc::new(Driver {
        finish: Arc::clone(finish),
        source: source.clone(),
        settings: settings.clone(),
        stop,
        verify: chosen.into_iter().collect(),
        core: Mutex::new(Core {
            coordinator,
            slots: BTreeMap::new(),
            threads: Vec::new(),
            left: HashMap::new(),
            n_quit: 0,
        }),
        scratches: Scratches::new(&settings.memory),
        memory_line: MemoryLine::new(&settings.memory),
        devices,
        routes: Mutex::default(),
        n_cpu_only: AtomicU64::new(0),
        mail,
        n_taken: AtomicUsize::new(0),
        is_caller_awaited: AtomicBool::new(false),
        is_finished: AtomicBool::new(false),
        n_done: AtomicU64::new(0),
        n_unsolved: AtomicU64::new(0),
        samples: Mutex::new(Samples::default()),
        started: Instant::now(),
        // If there is no room for it, the problems take precedence.
        _locals: match local_bytes {
            0 => None,
            // Pinned: a problem that needs these bytes too would wait for them for ever.
            bytes => settings.memory.try_pin(bytes).ok(),
        },
    });
    driver.sample();
    // Started first: without it, a solver that does not stop would block the run for ever.
    let timer = timer::start(&driver);
    driver.start_workers(commands, timer.is_some());
    Started { driver, messages, timer }
}

impl<F: Finish> Started<F> {
    /// Waits for the threads, but for those that are stuck.
    pub(crate) fn join(&mut self) {
        self.driver.is_finished.store(true, Ordering::Release);
        if let Some(timer) = self.timer.take() {
            timer.thread().unpark();
            let _ = timer.join();
        }
        let threads = std::mem::take(&mut lock(&self.driver.core).threads);
        for (_, thread) in threads {
            let _ = thread.join();
        }
    }
}

impl<F: Finish> Drop for Started<F> {
    /// Ends the run for all of its threads, also if the caller's thread panics.
    fn drop(&mut self) {
        self.driver.is_finished.store(true, Ordering::Release);
        self.driver.stop.end_run();
        self.driver.tell(News::Cancel);
        if let Some(timer) = &self.timer {
            timer.thread().unpark();
        }
    }
}

impl<F: Finish> Driver<F> {
    /// A large stack, so that deep recursion in a solver reaches the solver's own limit first.
    const STACK_BYTES: usize = 16 << 20;

    fn start_workers(self: &Arc<Self>, commands: Vec<Command>, mut is_possible: bool) {
        // If threads are refused for lack of address space, none of it is left for the problems, so
        // this much is set aside for them. It is never touched and so takes no memory.
        const SPARED_BYTES: usize = 128 << 20;
        let mut spared = MmapMut::map_anon(SPARED_BYTES).ok();
        let mut trash = Trash::new();
        let mut core = lock(&self.core);
        let mut n_started = 0;
        for command in commands {
            let Command::Spawn(worker, place) = command else { continue };
            let mut is_started = is_possible && self.spawn(&mut core, worker, place);
            if is_possible && !is_started && n_started == 0 {
                // One worker with little address space left is better than none.
                spared = None;
                is_started = self.spawn(&mut core, worker, place);
                // No run can do without a worker for the CPU, and those come first.
                is_possible = is_started;
            }
            n_started += usize::from(is_started);
            if !is_started && spared.is_some() && !has_room(Self::STACK_BYTES) {
                // The workers that have begun need it now, not after all others were refused.
                (spared, is_possible) = (None, false);
            }
            if !is_started {
                let commands = core.coordinator.step(self.started.elapsed(), News::Refused(worker));
                self.obey(&mut core, None, commands, &mut trash);
            }
        }
        drop(core);
        drop(spared);
    }

    /// Starts the thread of a worker; `false` if the system refuses it.
    fn spawn(self: &Arc<Self>, core: &mut Core<F>, worker: WorkerId, place: Place) -> bool {
        if self.settings.memory.faults().refuses(FaultPoint::Thread) || !has_room(Self::STACK_BYTES)
        {
            return false;
        }
        let slot = Arc::new(Slot::new(worker, place, self.id(place), self.stop.for_worker()));
        let (driver, its) = (Arc::clone(self), Arc::clone(&slot));
        let thread = std::thread::Builder::new()
            .name(format!("swathe-worker-{worker}"))
            .stack_size(Self::STACK_BYTES)
            .spawn(move || {
                let work = || worker::work(&driver, &its);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                    driver.send(Message::Broken(panic));
                }
            });
        let Ok(thread) = thread else { return false };
        core.slots.insert(worker, slot);
        core.threads.push((worker, thread));
        true
    }

    /// Tells the coordinator what happened, and carries out its commands.
    pub(crate) fn tell(self: &Arc<Self>, news: News) {
        self.tell_as(None, news);
    }

    /// [`tell`](Self::tell) as a worker. Returns its order, if it has one, and otherwise what an
    /// idle worker waits for.
    fn tell_as(self: &Arc<Self>, worker: Option<WorkerId>, news: News) -> (Option<Order>, Phase) {
        let mut trash = Trash::new();
        let mut core = lock(&self.core);
        let mut order = None;
        let mut next = Some(news);
        while let Some(news) = next {
            let commands = core.coordinator.step(self.started.elapsed(), news);
            order = self.obey(&mut core, worker, commands, &mut trash).or(order);
            // Announced before the count is read, and read after it is announced: either this
            // thread or the caller's sees what the other did.
            let waits = core.coordinator.waits_for_caller();
            self.is_caller_awaited.store(waits, Ordering::SeqCst);
            next = if waits { self.taken() } else { None };
        }
        let phase = core.coordinator.idle_phase();
        drop(core);
        (order, phase)
    }

    /// The caller has taken a message with outcomes, and released their memory. The coordinator is
    /// told at once only if it waits for that.
    fn took(self: &Arc<Self>) {
        self.n_taken.fetch_add(1, Ordering::SeqCst);
        if self.is_caller_awaited.load(Ordering::SeqCst)
            && let Some(news) = self.taken()
        {
            self.tell(news);
        }
    }

    fn taken(&self) -> Option<News> {
        let n = self.n_taken.swap(0, Ordering::SeqCst);
        (n > 0).then_some(News::Took(n))
    }

    /// Carries out commands. Returns the order of worker `me`.
    fn obey(
        self: &Arc<Self>,
        core: &mut Core<F>,
        me: Option<WorkerId>,
        commands: Vec<Command>,
        trash: &mut Trash,
    ) -> Option<Order> {
        let mut own = None;
        for command in commands {
            let news = match command {
                Command::Order(worker, order) => {
                    if matches!(order, Order::Quit) {
                        core.n_quit += 1;
                    }
                    if me == Some(worker) {
                        own = Some(order);
                    } else if let Some(slot) = core.slots.get(&worker) {
                        slot.give(order);
                    }
                    None
                }
                Command::Spawn(worker, place) => {
                    (!self.spawn(core, worker, place)).then_some(News::Refused(worker))
                }
                Command::Abandon(worker, beat) => {
                    let abandoned = timer::take_apart(self, core, worker, beat, trash);
                    abandoned.map(|abandoned| News::Abandoned(Box::new(abandoned)))
                }
                Command::Expire(worker, beat) => {
                    if let Some(slot) = core.slots.get(&worker) {
                        timer::expire(slot, beat);
                    }
                    None
                }
                Command::Flush(worker, beat) => {
                    let slot = core.slots.get(&worker);
                    let n_done = slot.map_or(0, |slot| timer::flush(self, slot, beat));
                    (n_done > 0).then_some(News::Flushed { worker, n_done })
                }
                Command::Settle(settled) => {
                    self.settle(settled);
                    None
                }
                Command::Setback { place, cause, n_problems, remedy } => {
                    let at_ms = ms(self.started.elapsed());
                    let device = self.id(place);
                    self.send(Message::Setback(Setback {
                        at_ms,
                        device,
                        cause,
                        n_problems,
                        remedy,
                    }));
                    None
                }
                Command::EndedBy(cause) => {
                    self.stop.end_run();
                    self.send(Message::EndedBy(cause));
                    None
                }
                Command::Over => {
                    self.send(Message::Over(core.n_quit));
                    None
                }
            };
            if let Some(news) = news {
                let commands = core.coordinator.step(self.started.elapsed(), news);
                own = self.obey(core, me, commands, trash).or(own);
            }
        }
        own
    }

    /// Delivers an outcome that the coordinator has decided.
    fn settle(&self, settled: Settled) {
        let outcome = match settled.verdict {
            Verdict::TimedOut => Outcome::TimedOut { after: self.settings.time_limit },
            Verdict::TooLarge { wanted_bytes, budget_bytes } => {
                Outcome::TooLarge { wanted_bytes, budget_bytes }
            }
        };
        let done = Done {
            index: settled.index,
            outcome,
            device: self.id(settled.place),
            took: settled.took,
            n_attempts: settled.n_attempts,
        };
        self.send(Message::Outcomes {
            done: vec![done],
            launch: None,
            checked: Checked::default(),
            _held: None,
        });
    }

    /// Sends a message to the caller's thread. Without it, the message is dropped.
    fn send(&self, message: Message<F>) {
        let _ = self.mail.send(message);
    }

    /// The thread of an abandoned worker has ended after all.
    fn returned(self: &Arc<Self>, slot: &Slot<F>) {
        let mut work = slot.work();
        let held = (work.reservation.take(), work.scratch_reservation.take());
        drop(work);
        drop(held);
        self.tell(News::Returned(slot.worker));
    }

    fn workload(&self) -> &F::Workload {
        self.finish.workload()
    }

    fn id(&self, place: Place) -> DeviceId {
        match place {
            Place::Cpu => DeviceId::Cpu,
            Place::Device(number) => self.devices[number].id(),
        }
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
        if self.devices.is_empty() || !may_launch(self.workload(), size, &self.settings) {
            return None;
        }
        gpu_lane(self.workload(), size, device_kind(&self.settings))
    }

    /// Whether a problem is to be solved twice: it was chosen, and there is room to hold it twice.
    fn is_verified(&self, index: usize, size: &Size) -> bool {
        self.verify.contains(&index) && {
            let need = need(&*self.finish, size);
            let bytes = need.total_bytes().saturating_add(self.check_bytes(size));
            bytes <= self.settings.memory.reachable_bytes()
        }
    }

    /// The state of the run now.
    fn now(&self, at_ms: f64) -> Sample {
        let (n_in_flight, n_waiting) = lock(&self.core).coordinator.n_in_flight_waiting();
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

    /// All samples, with the end of the run as the last one.
    pub(crate) fn all_samples(&self, at_ms: f64) -> Vec<Sample> {
        let last = self.now(at_ms);
        lock(&self.samples).finish(last)
    }

    /// The current sample and what the workers are doing.
    fn sampled(&self) -> Event {
        let slots: Vec<Arc<Slot<F>>> = lock(&self.core).slots.values().cloned().collect();
        let workers = slots.iter().map(|slot| {
            let work = slot.work();
            let problem = match work.current {
                slot::Current::Problem(index, _) | slot::Current::Check(index, _) => {
                    Some((index, ms(work.since.elapsed())))
                }
                slot::Current::Nothing | slot::Current::Other => None,
            };
            drop(work);
            WorkerNow { worker: slot.worker, device: slot.device, phase: slot.phase(), problem }
        });
        let workers = workers.collect();
        Event::Sampled { sample: self.now(ms(self.started.elapsed())), workers }
    }

    pub(crate) fn costs(&self) -> Costs {
        lock(&self.core).coordinator.costs().clone()
    }

    /// The devices of the run in its report.
    pub(crate) fn device_uses(&self) -> Vec<DeviceUse> {
        let core = lock(&self.core);
        let devices = self.devices.iter().enumerate();
        let uses = devices.map(|(number, device)| {
            device.used(core.coordinator.retired(number).map(str::to_owned))
        });
        uses.collect()
    }

    pub(crate) fn routes(&self, costs: &Costs) -> Vec<Route> {
        let ids: Vec<DeviceId> = self.devices.iter().map(Device::id).collect();
        lock(&self.routes).rows(self.workload(), &ids, costs, self.settings.n_threads)
    }

    pub(crate) fn n_cpu_only(&self) -> u64 {
        self.n_cpu_only.load(Ordering::Relaxed)
    }
}

impl<F: Finish> Core<F> {
    /// Removes an abandoned worker: it is neither joined nor watched any more.
    fn forget(&mut self, worker: WorkerId) {
        self.slots.remove(&worker);
        self.threads.retain(|&(number, _)| number != worker);
    }
}

/// Whether there is address space for the stack of another thread and for what threads map when they
/// begin: the process aborts if that is refused, and it is after the last stack that just fits.
fn has_room(stack_bytes: usize) -> bool {
    const BEGIN_BYTES: usize = 8 << 20;
    MmapMut::map_anon(stack_bytes + BEGIN_BYTES).is_ok()
}

/// Locks a mutex and ignores poisoning, because no holder can leave a partial change behind.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
