//! The coordinator: decides what every worker of a run does.
//!
//! It is pure: no thread, clock, lock or I/O. [`Coordinator::step`] is told what happened and says
//! what to do; the [driver](crate::driver) has the threads that do it. Its tests therefore choose
//! the order of events themselves: `simulator.rs` draws it at random or tries every order of a
//! small run, and `scenarios.rs` has those that went wrong once.
//!
//! A worker carries one range at a time through stages: it asks for memory, loads, waits for a turn,
//! solves or launches, and finishes. It never waits with something that another worker needs: a
//! range whose memory is not free goes back to the backlog, problems that a launch leaves to the
//! CPU are queued before its answers are finished, and answers of a stuck worker are finished by
//! any other.

mod backlog;
mod device_state;
mod message;
mod rule;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod simulator;
mod stage;
#[cfg(test)]
mod world;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use message::*;

use backlog::{Backlog, ClaimLimits};
use device_state::DeviceState;
use rule::Rule;
use stage::{Carried, Doing, Shortage, Stage, Waits, Worker};

use crate::report::{EndCause, Phase, Remedy, SetbackCause};
use crate::{BatchSize, Costs, DeviceId, Limits, Planned, Size};

/// The settings of a run, as far as the coordinator decides by them.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The workload's name, for costs.
    pub(crate) workload: &'static str,
    pub(crate) n_problems: usize,
    /// Workers for the CPU: some load ahead while `n_threads` others solve.
    pub(crate) n_cpu_workers: usize,
    pub(crate) n_threads: usize,
    pub(crate) devices: Vec<DeviceId>,
    /// Whether the lanes of a launch are in the memory of the run: the device is the host.
    pub(crate) launches_in_budget: bool,
    pub(crate) limits: Limits,
    pub(crate) time_limit: Duration,
    pub(crate) grace: Duration,
    pub(crate) n_stuck_max: usize,
    /// Messages with outcomes that the caller has not taken: with more, nothing new is begun.
    pub(crate) n_undelivered_max: i64,
    /// Problems that are planned together, so that a plan's memory does not grow with the run.
    pub(crate) n_window: usize,
}

impl Policy {
    /// One worker loads the next launch while the other worker's launch runs.
    pub(crate) const N_WORKERS_OF_DEVICE: usize = 2;
}

/// A problem that takes longer than this no longer delays the outcomes of its range.
const HOLD_BACK_MAX: Duration = Duration::from_millis(100);

/// Opening a device takes a second or so. A driver that takes longer than this does not return.
const REOPEN_TIME_MAX: Duration = Duration::from_secs(30);

/// Other users of the budget, such as another run, may hold it as long as a problem takes.
const MEMORY_PATIENCE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];

/// How often a range is tried again. Temporary refusals have passed by then, and a fault that always
/// strikes must not be retried for ever.
const N_ATTEMPTS_MAX: u32 = 1000;

/// The reason why a device without a worker is not used.
const NO_THREAD: &str = "the system refused to start a thread for it";

/// Decides what every worker does.
#[derive(Clone, Debug)]
pub(crate) struct Coordinator {
    policy: Arc<Policy>,
    costs: Costs,
    backlog: Backlog,
    unplanned: VecDeque<(usize, usize)>,
    n_unplanned: usize,
    is_planning: bool,
    /// Problems that are solved and not finished, because their worker got stuck.
    answered: VecDeque<usize>,
    workers: BTreeMap<WorkerId, Worker>,
    n_workers_ever: usize,
    /// Workers without work. The last one has just reported, so its thread needs no waking.
    idle: Vec<WorkerId>,
    /// Workers that wait for a turn, first come first served.
    waiting: VecDeque<WorkerId>,
    devices: Vec<DeviceState>,
    /// Below zero only in a cancelled run, in which nobody waits.
    n_turns_free: i64,
    /// Problems without an outcome.
    n_open: usize,
    n_in_flight: usize,
    /// Below zero if a message is taken before its worker has reported it.
    n_undelivered: i64,
    shortage: Shortage,
    /// Abandoned workers whose thread has not returned.
    stuck: BTreeSet<WorkerId>,
    /// Threads that were refused and not reported yet.
    n_refused: usize,
    cancelled_at: Option<Duration>,
    is_over: bool,
    /// The rule that a test switches off.
    off: Option<Rule>,
}

impl Coordinator {
    /// The coordinator of a run, and its first commands.
    pub(crate) fn new(policy: Arc<Policy>, costs: Costs) -> (Coordinator, Vec<Command>) {
        let n_problems = policy.n_problems;
        let mut coordinator = Coordinator {
            costs,
            backlog: Backlog::default(),
            unplanned: VecDeque::from([(0, n_problems)]),
            n_unplanned: n_problems,
            is_planning: false,
            answered: VecDeque::new(),
            workers: BTreeMap::new(),
            n_workers_ever: 0,
            idle: Vec::new(),
            waiting: VecDeque::new(),
            devices: vec![DeviceState::default(); policy.devices.len()],
            n_turns_free: policy.n_threads.max(1) as i64,
            n_open: n_problems,
            n_in_flight: 0,
            n_undelivered: 0,
            shortage: Shortage::default(),
            stuck: BTreeSet::new(),
            n_refused: 0,
            cancelled_at: None,
            is_over: false,
            off: None,
            policy,
        };
        let mut out = Vec::new();
        // CPU workers come first, because no run can do without one.
        for _ in 0..coordinator.policy.n_cpu_workers {
            coordinator.spawn(Place::Cpu, &mut out);
        }
        for number in 0..coordinator.devices.len() {
            for _ in 0..Policy::N_WORKERS_OF_DEVICE {
                coordinator.spawn(Place::Device(number), &mut out);
            }
        }
        (coordinator, out)
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The problems that workers hold, and the problems that wait for a worker.
    pub(crate) fn n_in_flight_waiting(&self) -> (u64, u64) {
        let n_waiting = self.backlog.n_problems() + self.answered.len() + self.n_unplanned;
        (self.n_in_flight as u64, n_waiting as u64)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled_at.is_some()
    }

    /// Why a device is not used any more.
    pub(crate) fn retired(&self, number: usize) -> Option<&str> {
        self.devices[number].retired.as_deref()
    }

    /// What an idle worker waits for.
    pub(crate) fn idle_phase(&self) -> Phase {
        if self.n_undelivered >= self.policy.n_undelivered_max {
            Phase::Deliver
        } else if self.shortage.exists() {
            Phase::Memory
        } else {
            Phase::Idle
        }
    }

    /// The only entry: what happened, and what to do. `now` is the time since the run began.
    pub(crate) fn step(&mut self, now: Duration, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        match event {
            Event::Started(worker) => {
                self.begin_idle(worker);
                self.report_refused(&mut out);
            }
            Event::Refused(worker) => self.refused(now, worker, &mut out),
            Event::Planned { worker, window } => {
                self.is_planning = false;
                self.settled(window.n_settled);
                self.backlog.add(window);
                self.begin_idle(worker);
            }
            Event::Memory { worker, answer } => self.memory(worker, answer, &mut out),
            Event::Loaded(worker) => self.wait(worker, Stage::Loaded),
            Event::Ended { worker, n_done, refused, returned, costs } => {
                for (size, n, took) in costs {
                    self.costs.learn(self.policy.workload, &size, DeviceId::Cpu, n, took);
                }
                self.ended(worker, n_done, refused, returned, &mut out);
            }
            Event::Launched(launched) => self.launched(*launched, &mut out),
            Event::Reopened { worker, error } => self.reopened(worker, error, &mut out),
            Event::Flushed { worker, n_done } => self.done(worker, n_done),
            Event::Abandoned(abandoned) => self.abandoned(now, *abandoned, &mut out),
            Event::Returned(worker) => {
                self.stuck.remove(&worker);
                self.note_release();
            }
            Event::Took => {
                self.n_undelivered -= 1;
                self.note_release();
            }
            Event::Tick { running, memory } => self.tick(now, &running, memory, &mut out),
            Event::Cancel => self.cancel(now),
        }
        self.assign(&mut out);
        out
    }

    /// Whether a rule holds: always, but for the tests that show what it is needed for.
    fn keeps(&self, rule: Rule) -> bool {
        !cfg!(test) || self.off != Some(rule)
    }

    fn is_ending(&self) -> bool {
        self.n_open == 0 || self.cancelled_at.is_some()
    }

    fn spawn(&mut self, place: Place, out: &mut Vec<Command>) {
        let worker = self.n_workers_ever;
        self.n_workers_ever += 1;
        self.workers.insert(worker, Worker { place, doing: Doing::Starting });
        out.push(Command::Spawn(worker, place));
    }

    /// Changes what a worker does, and takes or frees turns with it.
    fn set(&mut self, worker: WorkerId, doing: Doing) {
        let Some(its) = self.workers.get_mut(&worker) else { return };
        let before = std::mem::replace(&mut its.doing, doing);
        self.n_turns_free += i64::from(before.has_turn()) - i64::from(its.doing.has_turn());
        if let Place::Device(number) = its.place
            && before.has_device() != its.doing.has_device()
        {
            self.devices[number].is_busy = its.doing.has_device();
        }
    }

    fn begin_idle(&mut self, worker: WorkerId) {
        if self.workers.contains_key(&worker) {
            self.set(worker, Doing::Idle);
            self.idle.push(worker);
        }
    }

    /// Ends a worker, and frees what it holds.
    fn remove(&mut self, worker: WorkerId) -> Option<Worker> {
        let doing = self.workers.get(&worker)?.doing.clone();
        if self.keeps(Rule::FreeTurn) {
            self.set(worker, Doing::Idle);
        }
        self.waiting.retain(|&waiting| waiting != worker);
        self.idle.retain(|&idle| idle != worker);
        let place = self.workers.remove(&worker)?.place;
        Some(Worker { place, doing })
    }

    fn carried(&mut self, worker: WorkerId) -> Option<(Stage, &mut Carried)> {
        match &mut self.workers.get_mut(&worker)?.doing {
            Doing::Carrying(stage, carried) => Some((*stage, carried)),
            _ => None,
        }
    }

    fn wait(&mut self, worker: WorkerId, stage: Stage) {
        if let Some((_, &mut carried)) = self.carried(worker) {
            self.set(worker, Doing::Carrying(stage, carried));
            self.waiting.push_back(worker);
        }
    }

    /// Counts a message with so many outcomes.
    fn settled(&mut self, n: usize) {
        self.n_open -= n;
        self.n_undelivered += i64::from(n > 0);
    }

    /// Counts outcomes of a worker's range.
    fn done(&mut self, worker: WorkerId, n: usize) {
        if self.carried(worker).is_some() {
            self.settled(n);
            self.leave(worker, n);
        }
    }

    /// Counts problems that leave a worker.
    fn leave(&mut self, worker: WorkerId, n: usize) {
        if let Some((_, carried)) = self.carried(worker) {
            carried.n_left -= n;
            self.n_in_flight -= n;
        }
    }

    fn settle(&mut self, settled: Settled, out: &mut Vec<Command>) {
        self.settled(1);
        out.push(Command::Settle(settled));
    }

    fn setback(
        out: &mut Vec<Command>,
        place: Place,
        cause: SetbackCause,
        n_problems: usize,
        remedy: Remedy,
    ) {
        out.push(Command::Setback { place, cause, n_problems, remedy });
    }

    /// Memory may have been released.
    fn note_release(&mut self) {
        self.shortage.note_release(self.keeps(Rule::RetryMemory), self.keeps(Rule::NoteRelease));
    }

    fn cancel(&mut self, now: Duration) {
        self.cancelled_at.get_or_insert(now);
    }

    fn end_early(&mut self, now: Duration, cause: EndCause, out: &mut Vec<Command>) {
        if self.cancelled_at.is_none() {
            self.cancel(now);
            out.push(Command::EndedBy(cause));
        }
    }

    /// Whether any device accepts this class.
    fn is_accepted(&self, class: u32) -> bool {
        self.devices.iter().any(|device| device.accepts(class))
    }

    /// Queues problems to be tried again. After very many attempts they are given up.
    fn retry(&mut self, mut range: Range, budget_bytes: u64, out: &mut Vec<Command>) {
        range.n_attempts += 1;
        if range.n_attempts > N_ATTEMPTS_MAX && self.keeps(Rule::GiveUp) {
            self.give_up(range, budget_bytes, out);
        } else {
            self.queue(range);
        }
    }

    fn give_up(&mut self, range: Range, budget_bytes: u64, out: &mut Vec<Command>) {
        for planned in range.problems {
            let wanted_bytes = planned.need.total_bytes();
            let settled = Settled {
                index: planned.index,
                verdict: Verdict::TooLarge { wanted_bytes, budget_bytes },
                place: Place::Cpu,
                took: Duration::ZERO,
                n_attempts: range.n_attempts,
            };
            self.settle(settled, out);
        }
    }

    /// Queues a range in front: for devices if it is a launch that one of them accepts.
    fn queue(&mut self, mut range: Range) {
        if self.cancelled_at.is_none() {
            if !self.is_accepted(range.class) && self.keeps(Rule::MoveLaunches) {
                range.padded = None;
            }
            self.backlog.put_back(range);
        }
    }

    fn refused(&mut self, now: Duration, worker: WorkerId, out: &mut Vec<Command>) {
        let Some(Worker { place, .. }) = self.remove(worker) else { return };
        self.n_refused += 1;
        if self.workers.values().all(|other| other.place != place) {
            match place {
                Place::Device(number) if self.keeps(Rule::RetireWithoutThread) => {
                    self.retire(number, NO_THREAD.to_owned());
                }
                Place::Cpu if self.keeps(Rule::EndNoThread) => {
                    self.end_early(now, EndCause::NoThread, out);
                }
                _ => {}
            }
        }
        self.report_refused(out);
    }

    /// Reports the threads that were refused, once all others have started.
    fn report_refused(&mut self, out: &mut Vec<Command>) {
        let is_starting = |worker: &Worker| matches!(worker.doing, Doing::Starting);
        if self.n_refused > 0
            && self.cancelled_at.is_none()
            && !self.workers.values().any(is_starting)
        {
            let n_refused = std::mem::take(&mut self.n_refused);
            let cause = SetbackCause::ThreadsRefused { n_refused };
            Self::setback(out, Place::Cpu, cause, 0, Remedy::FewerWorkers);
        }
    }

    fn memory(&mut self, worker: WorkerId, answer: MemoryAnswer, out: &mut Vec<Command>) {
        let Some(Worker { place, doing: Doing::Asking(_) }) = self.workers.get(&worker) else {
            return;
        };
        let place = *place;
        let Some(Worker { doing: Doing::Asking(range), .. }) =
            self.workers.insert(worker, Worker { place, doing: Doing::Idle })
        else {
            return;
        };
        if answer == MemoryAnswer::Granted {
            self.shortage.end(worker);
            let n_left = range.problems.len();
            let Range { class, n_attempts, padded, .. } = range;
            let carried = Carried { n_left, class, n_attempts, padded };
            self.set(worker, Doing::Carrying(Stage::Loading, carried));
            out.push(Command::Order(worker, Order::Load(range)));
            return;
        }
        self.n_in_flight -= range.problems.len();
        match answer {
            MemoryAnswer::Granted => {}
            MemoryAnswer::Busy => {
                self.shortage.begin(worker, place);
                self.queue(range);
            }
            MemoryAnswer::Refused { reachable_bytes } => {
                self.shortage.end(worker);
                self.memory_refused(place, range, reachable_bytes, out);
            }
            MemoryAnswer::Lost => {
                self.shortage.end(worker);
                let n_problems = range.problems.len();
                Self::setback(
                    out,
                    Place::Cpu,
                    SetbackCause::WorkerLost,
                    n_problems,
                    Remedy::Replaced,
                );
                self.queue(Range { n_attempts: range.n_attempts + 1, ..range });
                self.remove(worker);
                out.push(Command::Order(worker, Order::Quit));
                if self.keeps(Rule::ReplaceWorker) {
                    self.spawn(place, out);
                }
                return;
            }
        }
        self.begin_idle(worker);
    }

    /// Two halves may fit where the whole did not.
    fn memory_refused(
        &mut self,
        place: Place,
        mut range: Range,
        reachable_bytes: u64,
        out: &mut Vec<Command>,
    ) {
        let wanted_bytes = self.bytes(&range);
        let cause = SetbackCause::OutOfMemory { wanted_bytes };
        let n_problems = range.problems.len();
        if n_problems > 1 && self.keeps(Rule::SplitRefused) {
            Self::setback(out, Place::Cpu, cause, n_problems, Remedy::Split);
            self.queue_halves(range);
        } else if place != Place::Cpu {
            Self::setback(out, place, cause, n_problems, Remedy::ToCpu);
            range.padded = None;
            self.retry(range, reachable_bytes, out);
        } else if wanted_bytes > reachable_bytes && self.keeps(Rule::RefuseStranded) {
            // The plan found it to fit, but abandoned solvers hold too much of the memory.
            self.give_up(range, reachable_bytes, out);
        } else {
            // The refusal is temporary.
            Self::setback(out, place, cause, n_problems, Remedy::Retried);
            self.retry(range, reachable_bytes, out);
        }
    }

    fn queue_halves(&mut self, mut range: Range) {
        range.n_attempts += 1;
        let second = range.problems.split_off(range.problems.len() / 2);
        self.queue(Range { problems: second, ..range });
        self.queue(range);
    }

    fn ended(
        &mut self,
        worker: WorkerId,
        n_done: usize,
        refused: Vec<Planned>,
        returned: Vec<Planned>,
        out: &mut Vec<Command>,
    ) {
        self.done(worker, n_done);
        self.note_release();
        let Some((_, &mut carried)) = self.carried(worker) else { return };
        self.n_in_flight -= carried.n_left;
        let Carried { class, n_attempts, padded, .. } = carried;
        self.problems_refused(
            Range { class, problems: refused.into(), n_attempts, padded: None },
            out,
        );
        self.queue(Range { class, problems: returned.into(), n_attempts, padded });
        self.begin_idle(worker);
    }

    /// Problems whose memory was refused while they were loaded or solved.
    fn problems_refused(&mut self, range: Range, out: &mut Vec<Command>) {
        if range.problems.is_empty() || self.cancelled_at.is_some() {
            return;
        }
        let wanted_bytes = self.bytes(&range);
        let cause = SetbackCause::OutOfMemory { wanted_bytes };
        Self::setback(out, Place::Cpu, cause, range.problems.len(), Remedy::Retried);
        self.retry(range, self.policy.limits.budget_bytes, out);
    }

    fn launched(&mut self, launched: Launched, out: &mut Vec<Command>) {
        let Launched { worker, result, failed, handed, refused, n_done } = launched;
        let Some(Worker { place: Place::Device(number), .. }) = self.workers.get(&worker) else {
            return;
        };
        let (number, place) = (*number, Place::Device(*number));
        self.done(worker, n_done);
        self.note_release();
        let Some((_, &mut carried)) = self.carried(worker) else { return };
        let Carried { class, n_attempts, padded, .. } = carried;
        // Before the answers are finished, because finishing may never end.
        for (reason, problems) in handed {
            self.leave(worker, problems.len());
            let cause = SetbackCause::HandedOver { reason };
            Self::setback(out, place, cause, problems.len(), Remedy::ToCpu);
            if self.keeps(Rule::QueueHandedOver) {
                let n_attempts = n_attempts + 1;
                self.queue(Range { class, problems: problems.into(), n_attempts, padded: None });
            }
        }
        self.leave(worker, failed.len() + refused.len());
        self.problems_refused(
            Range { class, problems: refused.into(), n_attempts, padded: None },
            out,
        );
        match result {
            Ok(answers) => {
                if let (Some(took), Some(padded)) = (answers.took, padded) {
                    self.learn(number, &padded.size, answers.n_lanes, took);
                }
                match answers.n_answered {
                    0 => self.begin_idle(worker),
                    _ => self.wait(worker, Stage::Answered),
                }
            }
            Err(error) => {
                let range = Range { class, problems: failed.into(), n_attempts, padded };
                self.launch_failed(worker, number, range, error, out);
            }
        }
    }

    fn launch_failed(
        &mut self,
        worker: WorkerId,
        number: usize,
        mut range: Range,
        error: LaunchError,
        out: &mut Vec<Command>,
    ) {
        let place = Place::Device(number);
        let n_problems = range.problems.len();
        range.n_attempts += 1;
        match error {
            LaunchError::OutOfMemory { wanted_bytes } => {
                let cause = SetbackCause::OutOfMemory { wanted_bytes };
                if n_problems > 1 {
                    Self::setback(out, place, cause, n_problems, Remedy::Split);
                    range.n_attempts -= 1;
                    self.queue_halves(range);
                } else {
                    Self::setback(out, place, cause, n_problems, Remedy::ToCpu);
                    self.queue(Range { padded: None, ..range });
                }
            }
            LaunchError::Lost => {
                self.queue(range);
                return self.reopen(worker, number, SetbackCause::DeviceLost, n_problems, out);
            }
            LaunchError::TimedOut => {
                // A launch that hung may hang again. The CPU can time out a single problem.
                self.queue(Range { padded: None, ..range });
                return self.reopen(worker, number, SetbackCause::DeviceTimedOut, n_problems, out);
            }
            LaunchError::Code(message) => {
                let class = range.class;
                if self.keeps(Rule::BanClass) {
                    self.devices[number].count_failure(class);
                }
                let cause = SetbackCause::LaunchFailed { message };
                Self::setback(out, place, cause, n_problems, Remedy::ToCpu);
                self.queue(Range { padded: None, ..range });
                if !self.is_accepted(class) {
                    self.move_launches();
                }
            }
            LaunchError::Cancelled => {}
        }
        self.begin_idle(worker);
    }

    fn reopen(
        &mut self,
        worker: WorkerId,
        number: usize,
        cause: SetbackCause,
        n_problems: usize,
        out: &mut Vec<Command>,
    ) {
        let device = &mut self.devices[number];
        device.n_losses += 1;
        let n_losses = device.n_losses;
        if n_losses > DeviceState::N_LOSSES_MAX && self.keeps(Rule::RetireLost) {
            self.retire(number, format!("{} {n_losses} times", loss(&cause)));
            Self::setback(out, Place::Device(number), cause, n_problems, Remedy::Retired);
            self.begin_idle(worker);
        } else {
            self.set(worker, Doing::Reopening(cause, n_problems));
            out.push(Command::Order(worker, Order::Reopen));
        }
    }

    fn reopened(&mut self, worker: WorkerId, error: Option<String>, out: &mut Vec<Command>) {
        let Some(Worker { place, doing: Doing::Reopening(cause, n_problems) }) =
            self.workers.get(&worker)
        else {
            return;
        };
        let (place, cause, n_problems) = (*place, cause.clone(), *n_problems);
        let remedy = match (error, place) {
            (Some(error), Place::Device(number)) => {
                self.retire(number, format!("{}, then {error}", loss(&cause)));
                Remedy::Retired
            }
            _ => Remedy::Reopened,
        };
        Self::setback(out, place, cause, n_problems, remedy);
        self.begin_idle(worker);
    }

    fn retire(&mut self, number: usize, reason: String) {
        self.devices[number].retired.get_or_insert(reason);
        self.move_launches();
    }

    fn move_launches(&mut self) {
        if self.keeps(Rule::MoveLaunches) {
            let devices = &self.devices;
            self.backlog.move_launches(|class| devices.iter().any(|device| device.accepts(class)));
        }
    }

    fn learn(&mut self, number: usize, padded: &Size, n_lanes: usize, took: Duration) {
        if n_lanes == 0 {
            return;
        }
        let (workload, device) = (self.policy.workload, self.policy.devices[number]);
        let best = self.costs.n_lanes_best(workload, padded, device);
        let n_lanes_best = self.devices[number].learn(padded, best, n_lanes, took);
        self.costs.learn(workload, padded, device, n_lanes as u64, took);
        if let Some(n_lanes) = n_lanes_best {
            self.costs.keep_n_lanes_best(workload, padded, device, n_lanes);
        }
    }

    fn abandoned(&mut self, now: Duration, abandoned: Abandoned, out: &mut Vec<Command>) {
        let Abandoned { worker, stuck, spent, n_done, rest, answered } = abandoned;
        self.done(worker, n_done);
        self.note_release();
        let Some(Worker { place, doing }) = self.remove(worker) else { return };
        self.stuck.insert(worker);
        let n_rest = rest.len() + answered.len();
        let (mut class, mut n_attempts, mut padded) = (0, 1, None);
        let mut rest: VecDeque<Planned> = rest.into();
        let mut window = 0..0;
        match doing {
            Doing::Planning { first, last } => {
                self.is_planning = false;
                window = first..last;
            }
            Doing::Asking(range) => {
                self.shortage.end(worker);
                self.n_in_flight -= range.problems.len();
                (class, n_attempts, padded) = (range.class, range.n_attempts, range.padded);
                rest = range.problems;
            }
            Doing::Carrying(stage, carried) => {
                self.n_in_flight -= carried.n_left;
                (class, n_attempts) = (carried.class, carried.n_attempts);
                padded = carried.padded.filter(|_| stage == Stage::Loading);
            }
            Doing::Starting | Doing::Idle | Doing::Reopening(..) => {}
        }
        if self.cancelled_at.is_some() {
            return;
        }
        let time_out =
            Settled { index: 0, verdict: Verdict::TimedOut, place, took: spent, n_attempts };
        let (mut cause, mut remedy) = (SetbackCause::DeviceTimedOut, Remedy::Replaced);
        match stuck {
            Stuck::Size(index) => {
                cause = SetbackCause::WorkerStuck { problem: index };
                self.settle(Settled { index, ..time_out }, out);
                let parts = [(index + 1, window.end), (window.start, index)];
                for (first, last) in parts {
                    if first < last && self.keeps(Rule::ReplanRest) {
                        self.n_unplanned += last - first;
                        self.unplanned.push_front((first, last));
                    }
                }
            }
            Stuck::Check(problem) => cause = SetbackCause::WorkerStuck { problem },
            Stuck::Problem(index) => {
                cause = SetbackCause::WorkerStuck { problem: index };
                self.settle(Settled { index, ..time_out }, out);
            }
            Stuck::Other => match place {
                Place::Device(number) => {
                    n_attempts += 1;
                    remedy = Remedy::Retired;
                    self.retire(number, "its driver does not come back".to_owned());
                }
                Place::Cpu => {
                    let problem = rest.front().map_or(0, |planned| planned.index);
                    cause = SetbackCause::WorkerStuck { problem };
                }
            },
        }
        let n_problems = n_rest + usize::from(matches!(stuck, Stuck::Size(_) | Stuck::Problem(_)));
        let at = if remedy == Remedy::Retired { place } else { Place::Cpu };
        Self::setback(out, at, cause, n_problems, remedy);
        if self.keeps(Rule::FinishLeftAnswers) {
            self.answered.extend(answered);
        }
        if self.keeps(Rule::RequeueRest) {
            self.queue(Range { class, problems: rest, n_attempts, padded });
        }
        let (n_stuck, n_stuck_max) = (self.stuck.len(), self.policy.n_stuck_max);
        if n_stuck > n_stuck_max && self.keeps(Rule::EndStarved) {
            // Stuck solvers take processor time from the others.
            self.end_early(now, EndCause::StuckSolvers { n_stuck, n_stuck_max }, out);
        } else if remedy == Remedy::Replaced && self.keeps(Rule::ReplaceWorker) {
            self.spawn(place, out);
        }
    }

    fn tick(
        &mut self,
        now: Duration,
        running: &[Running],
        memory: MemoryNow,
        out: &mut Vec<Command>,
    ) {
        self.note_release();
        let (limit, grace) = (self.policy.time_limit, self.policy.grace);
        let left_over = self.keeps(Rule::LeaveBehind)
            && self.cancelled_at.is_some_and(|at| now.saturating_sub(at) > grace);
        for &Running { worker, beat, spent, n_done } in running {
            let Some(its) = self.workers.get(&worker) else { continue };
            if n_done > 0 && spent >= HOLD_BACK_MAX && self.keeps(Rule::Flush) {
                out.push(Command::Flush(worker, beat));
            }
            if spent > limit {
                out.push(Command::Expire(worker, beat));
            }
            let is_launch = matches!(its.doing, Doing::Carrying(Stage::Launching, _));
            let time_max = match its.doing {
                // Drivers check the time limit themselves and get the time to do so.
                _ if is_launch => limit.saturating_mul(2),
                Doing::Reopening(..) => limit.min(REOPEN_TIME_MAX),
                _ => limit,
            };
            let is_overdue = spent > time_max.saturating_add(grace)
                && (!is_launch || self.keeps(Rule::AbandonLaunch));
            if is_overdue || left_over {
                out.push(Command::Abandon(worker, beat));
            }
        }
        self.end_if_stalled(now, memory, out);
    }

    /// Ends the run if for long it has waited for memory that nothing in it can release.
    fn end_if_stalled(&mut self, now: Duration, memory: MemoryNow, out: &mut Vec<Command>) {
        let is_stalled = self.shortage.exists()
            && self.n_undelivered <= 0
            && self.n_in_flight == 0
            && !self.is_planning
            && !memory.has_moved;
        if !is_stalled || !self.keeps(Rule::EndMemoryHeld) {
            self.shortage.stalled_since = None;
            return;
        }
        let since = *self.shortage.stalled_since.get_or_insert(now);
        let patience = self.policy.time_limit.saturating_add(self.policy.grace);
        if now.saturating_sub(since) > patience.clamp(MEMORY_PATIENCE[0], MEMORY_PATIENCE[1]) {
            let MemoryNow { held_bytes, budget_bytes, .. } = memory;
            self.end_early(now, EndCause::MemoryHeld { held_bytes, budget_bytes }, out);
        }
    }

    /// Gives turns and work. Everything that a worker begins, it begins here.
    fn assign(&mut self, out: &mut Vec<Command>) {
        self.give_turns(out);
        // What waits for memory may have moved from a device to the CPU.
        let devices = &self.devices;
        self.shortage.end_unless(|waits| match waits {
            Waits::Cpu => {
                let is_accepted = |class| devices.iter().any(|device| device.accepts(class));
                self.backlog.has_for_cpu(is_accepted)
            }
            Waits::Device => devices
                .iter()
                .any(|device| self.backlog.has_for_device(|class| device.accepts(class))),
        });
        if self.is_ending() {
            for worker in std::mem::take(&mut self.idle) {
                self.remove(worker);
                out.push(Command::Order(worker, Order::Quit));
            }
        } else if self.n_undelivered < self.policy.n_undelivered_max
            || !self.keeps(Rule::BackPressure)
        {
            for at in (0..self.idle.len()).rev() {
                let worker = self.idle[at];
                if self.give(worker, out) {
                    self.idle.remove(at);
                }
            }
        }
        if self.workers.is_empty() && !self.is_over {
            self.is_over = true;
            out.push(Command::Over);
        }
    }

    /// Lets workers go on that wait for a turn.
    fn give_turns(&mut self, out: &mut Vec<Command>) {
        let is_cancelled = self.cancelled_at.is_some();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|&worker| {
            let Some(Worker { place, doing: Doing::Carrying(stage, carried) }) =
                self.workers.get(&worker)
            else {
                return false;
            };
            let (place, carried) = (*place, *carried);
            let has_turn = self.n_turns_free > 0 || is_cancelled || !self.keeps(Rule::LimitTurns);
            let (next, order) = match (stage, place) {
                (Stage::Answered, _) if has_turn => (Stage::Finishing, Order::Continue),
                (Stage::Answered, _) => return true,
                _ if is_cancelled => (Stage::GivingBack, Order::GiveBack),
                (_, Place::Cpu) if has_turn => (Stage::Solving, Order::Continue),
                (_, Place::Device(number)) => {
                    let device = &self.devices[number];
                    if device.retired.is_some() && self.keeps(Rule::GiveBack) {
                        (Stage::GivingBack, Order::GiveBack)
                    } else if device.is_busy || device.retired.is_some() {
                        return true;
                    } else {
                        (Stage::Launching, Order::Continue)
                    }
                }
                _ => return true,
            };
            self.set(worker, Doing::Carrying(next, carried));
            out.push(Command::Order(worker, order));
            false
        });
        self.waiting = waiting;
    }

    /// Gives work to an idle worker; `false` if there is none for it now.
    fn give(&mut self, worker: WorkerId, out: &mut Vec<Command>) -> bool {
        let Some(&Worker { place, .. }) = self.workers.get(&worker) else { return true };
        let lets_ask = self.shortage.lets_ask(place, self.keeps(Rule::KeepOrder));
        let devices = &self.devices;
        let takes_lots = self.keeps(Rule::TakeLots);
        let is_accepted =
            |class: u32| !takes_lots || devices.iter().any(|device| device.accepts(class));
        let range = match place {
            Place::Cpu => {
                if self.n_turns_free > 0
                    && (self.keeps(Rule::FinishBeforeMemory)
                        || !self.backlog.has_for_cpu(is_accepted))
                    && let Some(index) = self.answered.pop_front()
                {
                    // It holds memory, which others may wait for.
                    self.n_in_flight += 1;
                    let carried = Carried { n_left: 1, class: 0, n_attempts: 1, padded: None };
                    self.set(worker, Doing::Carrying(Stage::Finishing, carried));
                    out.push(Command::Order(worker, Order::Finish(index)));
                    return true;
                }
                if lets_ask {
                    let policy = &self.policy;
                    let limits = ClaimLimits {
                        workload: policy.workload,
                        batch_size: policy.limits.batch_size,
                        n_threads: policy.n_threads,
                        n_rest: self.backlog.n_problems() + self.n_unplanned,
                        costs: &self.costs,
                    };
                    self.backlog.take_for_cpu(&limits, is_accepted)
                } else if self.backlog.has_for_cpu(is_accepted) {
                    return false;
                } else {
                    None
                }
            }
            Place::Device(number) => {
                if self.devices[number].retired.is_some() {
                    self.workers.remove(&worker);
                    out.push(Command::Order(worker, Order::Quit));
                    return true;
                }
                let accepts = |class: u32| devices[number].accepts(class);
                if !self.backlog.has_for_device(accepts) {
                    None
                } else if lets_ask {
                    self.take_for_device(number)
                } else {
                    return false;
                }
            }
        };
        if let Some(range) = range {
            self.n_in_flight += range.problems.len();
            let (bytes, n_attempts) = (self.bytes(&range), range.n_attempts);
            self.shortage.ask(worker);
            self.set(worker, Doing::Asking(range));
            out.push(Command::Order(worker, Order::Reserve { bytes, n_attempts }));
            return true;
        }
        self.plan(worker, out)
    }

    /// Plans ahead for a worker that no planned problem suits. That is limited, because planned
    /// problems take memory and other workers will take them.
    fn plan(&mut self, worker: WorkerId, out: &mut Vec<Command>) -> bool {
        let n_window = self.policy.n_window;
        let is_ahead = self.backlog.n_problems() >= 2 * n_window && self.keeps(Rule::PlanAhead);
        if self.is_planning || is_ahead {
            return false;
        }
        let Some((first, end)) = self.unplanned.pop_front() else { return false };
        let last = end.min(first + n_window);
        if last < end {
            self.unplanned.push_front((last, end));
        }
        self.is_planning = true;
        self.n_unplanned -= last - first;
        self.set(worker, Doing::Planning { first, last });
        let with_devices = self.devices.iter().any(|device| device.retired.is_none());
        out.push(Command::Order(worker, Order::Plan { first, last, with_devices }));
        true
    }

    fn take_for_device(&mut self, number: usize) -> Option<Range> {
        let Coordinator { policy, costs, devices, backlog, .. } = self;
        let device = &devices[number];
        let limits = &policy.limits;
        let n_lanes = |padded: &Padded, first: &Planned| {
            let Size { class, shape, .. } = padded.size;
            let n_max = match limits.batch_size {
                BatchSize::Fixed(n) => n.max(1),
                BatchSize::Auto => {
                    let (name, id) = (policy.workload, policy.devices[number]);
                    let best = costs.n_lanes_best(name, &padded.size, id);
                    let n_next = device.n_lanes_next(class, shape, best);
                    costs.lane(name, &padded.size, id).map_or(n_next, |lane| {
                        let time = Limits::BATCH_TIME_MAX.as_secs_f64();
                        n_next.min((time / lane.as_secs_f64().max(1e-9)) as usize)
                    })
                }
            };
            let launch_bytes_max = limits.gpu.as_ref().map_or(0, |gpu| gpu.launch_bytes_max);
            let n_fit =
                launch_bytes_max.saturating_sub(padded.launch_bytes) / padded.lane_bytes.max(1);
            // The host also holds the problems and their answers meanwhile.
            let host_bytes_max = limits.budget_bytes / (2 * limits.n_batches_at_once.max(1)) as u64;
            let held_bytes = first.need.lane_bytes + first.need.solution_bytes;
            let host_bytes = held_bytes.max(first.gpu.map_or(0, |lane| lane.host_bytes));
            let n_held = host_bytes_max / host_bytes.max(1);
            n_max.min(limits.batch_size_max).min(n_fit.min(n_held) as usize)
        };
        backlog.take_for_device(|class| device.accepts(class), n_lanes)
    }

    /// The memory of a range, with that of its launch if the device shares it.
    fn bytes(&self, range: &Range) -> u64 {
        let launch_bytes = match range.padded {
            Some(padded) if self.policy.launches_in_budget => {
                let n_lanes = range.problems.len() as u64;
                padded.launch_bytes.saturating_add(padded.lane_bytes.saturating_mul(n_lanes))
            }
            _ => 0,
        };
        range.lanes_bytes() + range.scratch_bytes() + launch_bytes
    }
}

fn loss(cause: &SetbackCause) -> &'static str {
    match cause {
        SetbackCause::DeviceLost => "lost",
        _ => "did not answer",
    }
}
