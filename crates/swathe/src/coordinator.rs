//! The coordinator: decides what every worker of a run does.
//!
//! It is pure: no thread, clock, lock or I/O. [`Coordinator::step`] is told what happened and says
//! what to do; the [driver](crate::driver) has the threads that do it. Its tests therefore choose
//! the order of events themselves: `tests/simulator.rs` draws it at random or tries every
//! order of a small run, and `tests/scenarios.rs` has those that went wrong once.
//!
//! A worker carries one range at a time through stages: it asks for memory, loads, waits for a turn,
//! solves or launches, and finishes. It never waits with something that another worker needs: a
//! range whose memory is not free goes back to the backlog, problems that a launch leaves to the
//! CPU are queued before its answers are finished, and answers of a stuck worker are finished by
//! any other.

mod assignment;
mod backlog;
mod device_state;
mod launching;
mod message;
mod overdue;
mod rule;
mod stage;
#[cfg(test)]
mod tests {
    mod scenarios;
    mod simulator;
    mod world;
}

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use message::*;

use backlog::Backlog;
use device_state::DeviceState;
use rule::Rule;
use stage::{Carried, Doing, Shortage, Stage, Worker};

use crate::report::{EndCause, Phase, Remedy, SetbackCause};
use crate::{Costs, DeviceId, Limits, Planned};

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
    /// Below zero only in a cancelled run, in which no worker waits.
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

    /// Whether something waits for the caller to take outcomes.
    pub(crate) fn waits_for_caller(&self) -> bool {
        self.idle_phase() != Phase::Idle
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
            Event::Took(n) => {
                self.n_undelivered -= n as i64;
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
