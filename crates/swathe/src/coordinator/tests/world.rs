//! A world for the coordinator in tests: threads, devices, memory and a caller as plain data.
//!
//! It obeys commands at once, lists what may happen next, and checks the invariants after every
//! step. Whoever uses it chooses the order: by chance, every one, or one on purpose.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::coordinator::{
    Abandoned, Answers, Command, Coordinator, Event, LaunchError, Launchable, Launched,
    MemoryAnswer, MemoryNow, Order, Padded, Place, Policy, Range, Running, Stuck, Window, WorkerId,
};
use crate::report::{EndCause, Remedy, SetbackCause};
use crate::{
    BatchSize, Costs, DeviceId, GpuLane, GpuLimits, Limits, Need, Padding, Planned, Shape, Size,
};

/// A problem of a world: the memory of its lane, and how devices take it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) lane_bytes: u64,
    /// The class in which devices launch it, and whether the CPU takes it too.
    pub(super) launch: Option<(u32, bool)>,
}

/// What a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Starting,
    Idle,
    Planning {
        first: usize,
        last: usize,
    },
    Reserving {
        bytes: u64,
    },
    /// It was told that the memory is not free, and has not reported it.
    Busy,
    Granted,
    Loading,
    Loaded,
    GivingBack,
    Solving,
    Launching,
    Answered,
    Finishing,
    Reopening,
    /// Abandoned: it may return one day.
    Gone,
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Thread {
    pub(super) place: Place,
    pub(super) act: Act,
    /// It does not move by itself any more.
    is_hung: bool,
    problems: VecDeque<Planned>,
    answered: VecDeque<usize>,
    refused: Vec<Planned>,
    n_done: usize,
    bytes: u64,
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Go,
    RefuseThread,
    RefuseMemory,
    LoseWorker,
    RefuseProblem,
    Hang,
    HangCheck,
    HandOver,
    OutOfMemory,
    LoseDevice,
    TimeOut,
    Code,
    FailReopen,
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) coordinator: Coordinator,
    pub(super) items: Arc<[Item]>,
    pub(super) cap_bytes: u64,
    pub(super) threads: BTreeMap<WorkerId, Thread>,
    /// The memory of answers that a stuck worker left behind.
    pub(super) left: BTreeMap<usize, u64>,
    /// Messages that the caller has not taken, with the memory of their outcomes.
    pub(super) mail: VecDeque<u64>,
    /// Memory that somebody else holds.
    pub(super) foreign_bytes: u64,
    pub(super) n_outcomes: Vec<u8>,
    pub(super) n_finished: Vec<u8>,
    pub(super) n_too_large: usize,
    pub(super) n_timed_out: usize,
    pub(super) n_planned: usize,
    pub(super) n_launches: usize,
    pub(super) setbacks: Vec<(SetbackCause, Remedy)>,
    pub(super) ended_by: Option<EndCause>,
    pub(super) is_cancelled: bool,
    pub(super) is_over: bool,
    pub(super) now: Duration,
    /// Ranges are loaded at once and solved in one step, which leaves fewer orders.
    pub(super) is_coarse: bool,
    policy: Arc<Policy>,
}

/// The time after which everything is overdue.
const LONG: Duration = Duration::from_secs(1000);

pub(super) fn policy(n_problems: usize, n_threads: usize, n_prefetch: usize) -> Policy {
    Policy {
        workload: "w",
        n_problems,
        n_cpu_workers: n_threads + n_prefetch,
        n_threads,
        devices: Vec::new(),
        launches_in_budget: false,
        limits: Limits {
            budget_bytes: 0,
            n_batches_at_once: 1,
            batch_size: BatchSize::Fixed(2),
            batch_size_max: 100,
            gpu: Some(GpuLimits { padding: Padding::Exact, launch_bytes_max: 1000 }),
        },
        time_limit: Duration::from_secs(1),
        grace: Duration::from_secs(1),
        n_stuck_max: 100,
        n_undelivered_max: 3,
        n_window: 16,
    }
}

impl World {
    /// A world in which the coordinator does not follow a rule.
    pub(super) fn without(
        off: Option<crate::coordinator::Rule>,
        items: &[Item],
        n_devices: usize,
        cap_bytes: u64,
        mut policy: Policy,
    ) -> World {
        policy.devices = (0..n_devices).map(DeviceId::Gpu).collect();
        policy.limits.budget_bytes = cap_bytes;
        let policy = Arc::new(policy);
        let (mut coordinator, commands) = Coordinator::new(Arc::clone(&policy), Costs::default());
        coordinator.off = off;
        let n = items.len();
        let mut world = World {
            coordinator,
            items: items.into(),
            cap_bytes,
            threads: BTreeMap::new(),
            left: BTreeMap::new(),
            mail: VecDeque::new(),
            foreign_bytes: 0,
            n_outcomes: vec![0; n],
            n_finished: vec![0; n],
            n_too_large: 0,
            n_timed_out: 0,
            n_planned: 0,
            n_launches: 0,
            setbacks: Vec::new(),
            ended_by: None,
            is_cancelled: false,
            is_over: false,
            now: Duration::ZERO,
            is_coarse: false,
            policy,
        };
        world.obey(commands);
        world
    }

    fn planned(&self, index: usize) -> Planned {
        let Item { lane_bytes, launch } = self.items[index];
        let class = launch.map_or(0, |(class, _)| class);
        let size = Size { class, ..Size::of(Shape::default()) };
        let need = Need { lane_bytes, scratch_bytes: 0, solution_bytes: 1 };
        let gpu = launch.map(|_| GpuLane {
            form: size.shape,
            need: Need::default(),
            host_bytes: lane_bytes + 1,
        });
        Planned { index, size, need, gpu }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let held = self.threads.values().map(|thread| thread.bytes).sum::<u64>();
        held + self.left.values().sum::<u64>() + self.mail.iter().sum::<u64>() + self.foreign_bytes
    }

    fn stranded_bytes(&self) -> u64 {
        let gone = self.threads.values().filter(|thread| thread.act == Act::Gone);
        gone.map(|thread| thread.bytes).sum()
    }

    pub(super) fn tell(&mut self, event: Event) {
        let commands = self.coordinator.step(self.now, event);
        self.obey(commands);
        self.check();
        if self.is_coarse {
            let loading = self.threads.iter().find(|(_, thread)| thread.act == Act::Loading);
            if let Some((&worker, _)) = loading {
                self.go(worker, Move::Go);
            }
        }
    }

    fn check(&self) {
        let cap = self.cap_bytes;
        assert!(self.used_bytes() <= cap, "{} of {cap} bytes", self.used_bytes());
        let n_undelivered = self.mail.len() as i64;
        let n_max = self.policy.n_undelivered_max + (self.threads.len() + self.items.len()) as i64;
        assert!(n_undelivered <= n_max, "{n_undelivered} messages wait");
        if self.is_cancelled {
            return;
        }
        let n_of = |act: Act| self.threads.values().filter(|t| t.act == act).count();
        let n_solving = n_of(Act::Solving) + n_of(Act::Finishing);
        assert!(n_solving <= self.policy.n_threads, "{n_solving} workers solve");
        for number in 0..self.policy.devices.len() {
            let uses = |thread: &&Thread| {
                thread.place == Place::Device(number)
                    && matches!(thread.act, Act::Launching | Act::Reopening)
            };
            assert!(self.threads.values().filter(uses).count() <= 1, "two launches on a device");
        }
    }

    fn obey(&mut self, commands: Vec<Command>) {
        let mut commands = VecDeque::from(commands);
        while let Some(command) = commands.pop_front() {
            match command {
                Command::Spawn(worker, place) => {
                    let thread = Thread {
                        place,
                        act: Act::Starting,
                        is_hung: false,
                        problems: VecDeque::new(),
                        answered: VecDeque::new(),
                        refused: Vec::new(),
                        n_done: 0,
                        bytes: 0,
                    };
                    assert!(self.threads.insert(worker, thread).is_none());
                }
                Command::Order(worker, order) => self.order(worker, order),
                Command::Abandon(worker, _) => {
                    if let Some(abandoned) = self.abandon(worker) {
                        let event = Event::Abandoned(Box::new(abandoned));
                        commands.extend(self.coordinator.step(self.now, event));
                    }
                }
                Command::Expire(..) => {}
                Command::Flush(worker, _) => {
                    let thread = self.threads.get_mut(&worker).expect("it runs");
                    let n_done = std::mem::take(&mut thread.n_done);
                    if n_done > 0 {
                        self.mail.push_back(0);
                        commands.extend(
                            self.coordinator.step(self.now, Event::Flushed { worker, n_done }),
                        );
                    }
                }
                Command::Settle(settled) => {
                    self.outcome(settled.index);
                    match settled.verdict {
                        crate::coordinator::Verdict::TimedOut => self.n_timed_out += 1,
                        crate::coordinator::Verdict::TooLarge { .. } => self.n_too_large += 1,
                    }
                    self.mail.push_back(0);
                }
                Command::Setback { cause, remedy, .. } => self.setbacks.push((cause, remedy)),
                Command::EndedBy(cause) => {
                    self.ended_by = Some(cause);
                    self.is_cancelled = true;
                }
                Command::Over => {
                    assert!(!self.is_over);
                    self.is_over = true;
                }
            }
        }
    }

    fn outcome(&mut self, index: usize) {
        self.n_outcomes[index] += 1;
        assert_eq!(self.n_outcomes[index], 1, "problem {index} has two outcomes");
    }

    fn order(&mut self, worker: WorkerId, order: Order) {
        let left = match order {
            Order::Finish(index) => self.left.remove(&index),
            _ => None,
        };
        let thread = self.threads.get_mut(&worker).expect("the worker of an order has a thread");
        let (before, act) = match (order, thread.place) {
            (Order::Plan { first, last, .. }, _) => (Act::Idle, Act::Planning { first, last }),
            (Order::Reserve { bytes, .. }, _) => (Act::Idle, Act::Reserving { bytes }),
            (Order::Load(range), _) => {
                thread.problems = range.problems;
                (Act::Granted, Act::Loading)
            }
            (Order::Continue, _) if thread.act == Act::Answered => (Act::Answered, Act::Finishing),
            (Order::Continue, Place::Cpu) => (Act::Loaded, Act::Solving),
            (Order::Continue, Place::Device(_)) => (Act::Loaded, Act::Launching),
            (Order::GiveBack, _) => (Act::Loaded, Act::GivingBack),
            (Order::Finish(index), _) => {
                thread.answered.push_back(index);
                thread.bytes += left.expect("an answer is finished once");
                (Act::Idle, Act::Finishing)
            }
            (Order::Reopen, _) => (Act::Idle, Act::Reopening),
            (Order::Quit, _) => {
                assert_eq!((thread.act, thread.bytes), (Act::Idle, 0), "it has work");
                self.threads.remove(&worker);
                return;
            }
        };
        assert_eq!(thread.act, before, "worker {worker} has two jobs");
        thread.act = act;
    }

    /// Takes a hung worker apart.
    fn abandon(&mut self, worker: WorkerId) -> Option<Abandoned> {
        let thread = self.threads.get_mut(&worker)?;
        if !thread.is_hung || thread.act == Act::Gone {
            return None;
        }
        let act = std::mem::replace(&mut thread.act, Act::Gone);
        let n_done = std::mem::take(&mut thread.n_done);
        let mut rest = std::mem::take(&mut thread.refused);
        let problems = std::mem::take(&mut thread.problems);
        let mut answered = Vec::from(std::mem::take(&mut thread.answered));
        let stuck = match act {
            Act::Planning { first, .. } => Stuck::Size(first),
            Act::Loading => Stuck::Problem(problems[0].index),
            Act::Solving if !answered.is_empty() => Stuck::Check(answered[0]),
            Act::Solving => Stuck::Problem(problems[0].index),
            Act::Finishing => Stuck::Problem(answered.remove(0)),
            _ => Stuck::Other,
        };
        let n_stuck = usize::from(matches!(stuck, Stuck::Problem(_)) && act != Act::Finishing);
        rest.extend(problems.into_iter().skip(n_stuck));
        // The stuck problem keeps its memory, and a device all of it.
        let item_bytes = |items: &[Item], index: usize| items[index].lane_bytes + 1;
        let mut bytes = thread.bytes;
        if stuck != Stuck::Other {
            let stuck_bytes = match stuck {
                Stuck::Problem(index) => item_bytes(&self.items, index),
                _ => 0,
            };
            thread.bytes = stuck_bytes.min(bytes);
            bytes -= thread.bytes;
            for &index in &answered {
                let its_bytes = item_bytes(&self.items, index).min(bytes);
                bytes -= its_bytes;
                self.left.insert(index, its_bytes);
            }
        } else {
            bytes = 0;
        }
        if n_done > 0 {
            self.mail.push_back(bytes.min(n_done as u64));
        }
        Some(Abandoned { worker, stuck, spent: LONG, n_done, rest, answered })
    }

    /// What a thread may do next; the first is no fault.
    pub(super) fn moves_of(&self, worker: WorkerId) -> &'static [Move] {
        use Move::*;
        let thread = &self.threads[&worker];
        if thread.is_hung {
            return if thread.act == Act::Gone { &[Go] } else { &[] };
        }
        match thread.act {
            Act::Idle | Act::Loaded | Act::Answered | Act::Granted => &[],
            Act::Starting => &[Go, RefuseThread],
            Act::Planning { .. } => &[Go, Hang],
            Act::Reserving { .. } if thread.place == Place::Cpu => {
                &[Go, RefuseMemory, LoseWorker, Hang]
            }
            Act::Reserving { .. } => &[Go, RefuseMemory],
            Act::Busy => &[Go],
            Act::Loading => &[Go, RefuseProblem, Hang],
            Act::GivingBack => &[Go],
            Act::Solving | Act::Launching if thread.problems.is_empty() => &[Go],
            Act::Solving => &[Go, RefuseProblem, Hang, HangCheck],
            Act::Launching => &[Go, HandOver, OutOfMemory, LoseDevice, TimeOut, Code, Hang],
            Act::Finishing => &[Go, Hang],
            Act::Reopening => &[Go, FailReopen, Hang],
            Act::Gone => &[Go],
        }
    }

    /// A thread moves.
    pub(super) fn go(&mut self, worker: WorkerId, step: Move) {
        let used_bytes = self.used_bytes();
        let stranded_bytes = self.stranded_bytes();
        let thread = self.threads.get_mut(&worker).expect("it has a thread");
        if matches!(step, Move::Hang | Move::HangCheck) {
            thread.is_hung = true;
            if step == Move::HangCheck {
                // It is solved, and its answer waits for its check.
                let planned = thread.problems.pop_front().expect("it solves something");
                thread.answered.push_back(planned.index);
            }
            return self.find_overdue(worker);
        }
        let event = match thread.act {
            Act::Starting => {
                if step == Move::RefuseThread {
                    self.threads.remove(&worker);
                    return self.tell(Event::Refused(worker));
                }
                thread.act = Act::Idle;
                Event::Started(worker)
            }
            Act::Planning { first, last } => {
                thread.act = Act::Idle;
                let window = self.window(first, last);
                Event::Planned { worker, window }
            }
            Act::Reserving { bytes } => {
                thread.act = Act::Idle;
                let reachable_bytes = self.cap_bytes - stranded_bytes;
                let answer = match step {
                    Move::LoseWorker => MemoryAnswer::Lost,
                    Move::RefuseMemory => MemoryAnswer::Refused { reachable_bytes },
                    _ if bytes > reachable_bytes => MemoryAnswer::Refused { reachable_bytes },
                    _ if used_bytes + bytes > self.cap_bytes => {
                        thread.act = Act::Busy;
                        return;
                    }
                    _ => {
                        thread.act = Act::Granted;
                        thread.bytes = bytes;
                        MemoryAnswer::Granted
                    }
                };
                Event::Memory { worker, answer }
            }
            Act::Busy => {
                thread.act = Act::Idle;
                Event::Memory { worker, answer: MemoryAnswer::Busy }
            }
            Act::Loading => {
                thread.act = Act::Loaded;
                if step == Move::RefuseProblem {
                    thread.refused.extend(thread.problems.pop_front());
                }
                Event::Loaded(worker)
            }
            Act::GivingBack => {
                let returned = thread.problems.drain(..).collect();
                return self.end(worker, returned);
            }
            Act::Solving => {
                let planned = thread.problems.pop_front();
                if let Some(planned) = planned {
                    if step == Move::RefuseProblem {
                        thread.refused.push(planned);
                    } else {
                        thread.n_done += 1;
                        self.finish(planned.index);
                    }
                }
                if !self.threads[&worker].problems.is_empty() {
                    return if self.is_coarse {
                        self.go(worker, Move::Go)
                    };
                }
                return self.end(worker, Vec::new());
            }
            Act::Launching => return self.launch(worker, step),
            Act::Finishing => {
                let index = thread.answered.pop_front().expect("it finishes something");
                thread.n_done += 1;
                self.finish(index);
                if !self.threads[&worker].answered.is_empty() {
                    return if self.is_coarse {
                        self.go(worker, Move::Go)
                    };
                }
                return self.end(worker, Vec::new());
            }
            Act::Reopening => {
                thread.act = Act::Idle;
                let error = (step == Move::FailReopen).then(|| "no".to_owned());
                Event::Reopened { worker, error }
            }
            Act::Gone => {
                self.threads.remove(&worker);
                Event::Returned(worker)
            }
            Act::Idle | Act::Granted | Act::Loaded | Act::Answered => return,
        };
        self.tell(event);
    }

    fn finish(&mut self, index: usize) {
        self.n_finished[index] += 1;
        assert_eq!(self.n_finished[index], 1, "problem {index} is finished twice");
        self.outcome(index);
    }

    fn end(&mut self, worker: WorkerId, returned: Vec<Planned>) {
        let thread = self.threads.get_mut(&worker).expect("it has a thread");
        thread.act = Act::Idle;
        thread.problems.clear();
        let n_done = std::mem::take(&mut thread.n_done);
        let refused = std::mem::take(&mut thread.refused);
        let bytes = std::mem::take(&mut thread.bytes);
        if n_done > 0 {
            self.mail.push_back(bytes.min(n_done as u64));
        }
        self.tell(Event::Ended { worker, n_done, refused, returned, costs: Vec::new() });
    }

    fn launch(&mut self, worker: WorkerId, step: Move) {
        self.n_launches += 1;
        let thread = self.threads.get_mut(&worker).expect("it has a thread");
        let mut problems: Vec<Planned> = thread.problems.drain(..).collect();
        let mut handed = Vec::new();
        let refused = std::mem::take(&mut thread.refused);
        let error = match step {
            Move::OutOfMemory => Some(LaunchError::OutOfMemory { wanted_bytes: 1 }),
            Move::LoseDevice => Some(LaunchError::Lost),
            Move::TimeOut => Some(LaunchError::TimedOut),
            Move::Code => Some(LaunchError::Code("no".to_owned())),
            _ => None,
        };
        let mut failed = Vec::new();
        let result = match error {
            Some(error) => {
                failed = problems;
                Err(error)
            }
            None => {
                if step == Move::HandOver && !problems.is_empty() {
                    handed.push(("no".to_owned(), vec![problems.remove(0)]));
                }
                let n_answered = problems.len();
                thread.answered = problems.iter().map(|planned| planned.index).collect();
                Ok(Answers { n_answered, n_lanes: n_answered, took: None })
            }
        };
        let has_answers = !thread.answered.is_empty();
        thread.act = if has_answers { Act::Answered } else { Act::Idle };
        if !has_answers {
            thread.bytes = 0;
        }
        let launched = Launched { worker, result, failed, handed, refused, n_done: 0 };
        self.tell(Event::Launched(Box::new(launched)));
    }

    fn window(&mut self, first: usize, last: usize) -> Window {
        let mut window = Window::default();
        self.n_planned += last - first;
        for index in first..last {
            let planned = self.planned(index);
            if planned.need.total_bytes() > self.cap_bytes {
                self.outcome(index);
                self.n_too_large += 1;
                window.n_settled += 1;
                continue;
            }
            match self.items[index].launch {
                Some((class, is_shared)) if !self.policy.devices.is_empty() => {
                    let padded = Padded { size: planned.size, lane_bytes: 1, launch_bytes: 0 };
                    let known = |l: &&mut Launchable| l.padded.size.class == class;
                    match window.launches.iter_mut().find(known) {
                        Some(launchable) => launchable.problems.push(planned),
                        None => {
                            let problems = vec![planned];
                            window.launches.push(Launchable { padded, is_shared, problems });
                        }
                    }
                }
                _ => match window.ranges.last_mut() {
                    Some(range) if range.problems.len() < 3 => range.problems.push_back(planned),
                    _ => window.ranges.push(Range {
                        class: 0,
                        problems: VecDeque::from([planned]),
                        n_attempts: 1,
                        padded: None,
                    }),
                },
            }
        }
        if window.n_settled > 0 {
            self.mail.push_back(0);
        }
        window
    }

    /// The clock finds a worker overdue.
    fn find_overdue(&mut self, worker: WorkerId) {
        self.now += LONG;
        let n_done = self.threads[&worker].n_done;
        let running = vec![Running { worker, beat: 0, spent: LONG, n_done }];
        self.tell(Event::Tick { running, memory: MemoryNow::default() });
    }

    /// The clock ticks while nothing is overdue.
    pub(super) fn tick(&mut self, spent: Duration) {
        self.now += spent;
        let running = self.threads.iter().filter(|(_, thread)| {
            let is_running = matches!(thread.act, Act::Solving | Act::Finishing);
            thread.is_hung && thread.act != Act::Gone || is_running
        });
        let running = running.map(|(&worker, thread)| Running {
            worker,
            beat: 0,
            spent: if thread.is_hung { LONG } else { spent.min(Duration::from_millis(900)) },
            n_done: thread.n_done,
        });
        let running = running.collect();
        let (held_bytes, budget_bytes) = (self.used_bytes(), self.cap_bytes);
        let memory = MemoryNow { held_bytes, budget_bytes, has_moved: false };
        self.tell(Event::Tick { running, memory });
    }

    /// The caller takes a message.
    pub(super) fn take(&mut self) {
        self.mail.pop_front();
        self.tell(Event::Took(1));
    }

    pub(super) fn cancel(&mut self) {
        self.is_cancelled = true;
        self.tell(Event::Cancel);
    }

    /// Workers that can move without a fault.
    pub(super) fn able(&self) -> impl Iterator<Item = WorkerId> + '_ {
        let workers = self.threads.keys().copied();
        workers.filter(|&worker| !self.moves_of(worker).is_empty())
    }

    /// A worker that can move, and of which this holds.
    pub(super) fn able_if(&self, holds: impl Fn(&Thread) -> bool) -> Option<WorkerId> {
        self.able().find(|worker| holds(&self.threads[worker]))
    }

    /// Everything goes on without faults until a worker of this place is in this act. Solvers and
    /// devices are slower than the rest.
    pub(super) fn until(&mut self, place: Place, is_it: impl Fn(Act) -> bool) -> WorkerId {
        for _ in 0..1000 {
            let found = self
                .threads
                .iter()
                .find(|(_, thread)| thread.place == place && is_it(thread.act) && !thread.is_hung);
            if let Some((&worker, _)) = found {
                return worker;
            }
            let is_slow = |act: Act| matches!(act, Act::Solving | Act::Launching | Act::Finishing);
            let quick = self.able_if(|thread| thread.act != Act::Gone && !is_slow(thread.act));
            match quick.or_else(|| self.able_if(|thread| thread.act != Act::Gone)) {
                Some(worker) => self.go(worker, Move::Go),
                None if !self.mail.is_empty() => self.take(),
                None => break,
            }
        }
        panic!("it does not come to that: {:?}", self.threads);
    }

    /// Everything goes on without faults, to the end.
    pub(super) fn run_out(&mut self) {
        for _ in 0..10_000 {
            if self.is_over {
                return self.check_end();
            }
            match self.able_if(|thread| thread.act != Act::Gone) {
                Some(worker) => self.go(worker, Move::Go),
                None if !self.mail.is_empty() => self.take(),
                None => panic!("nothing moves: {:?}", self.threads),
            }
        }
        panic!("it does not end");
    }

    /// What must hold at the end of a run.
    pub(super) fn check_end(&self) {
        if !self.is_cancelled {
            for (index, n) in self.n_outcomes.iter().enumerate() {
                assert_eq!(*n, 1, "problem {index} has no outcome");
            }
            let gone = self.threads.values().all(|thread| thread.act == Act::Gone);
            assert!(gone && self.left.is_empty(), "{:?}", self.threads);
        }
    }
}
