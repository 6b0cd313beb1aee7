//! The queue of batches that wait for a worker.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::gpu_backlog::{GpuBacklog, WorkerKind};
use super::worker_state::{Answered, WorkerState};
use super::{
    Done, DoneOf, OutcomeOf, Shared, WAIT_MAX, WorkloadOf, guarded, limits, lock, panic_message,
};
use crate::settings::BatchSize;
use crate::{Costs, DeviceId, DeviceKind, Finish, Outcome, Planned, Shape, Size, Workload, plan};

/// Problems that a worker takes together.
pub(super) struct Range {
    pub(super) class: u32,
    /// Claims take problems from the front.
    pub(super) problems: VecDeque<Planned>,
    /// The number of this attempt, from 1.
    pub(super) n_attempts: u32,
    /// The size the problems are padded to, if they are for a launch on a device.
    pub(super) padded: Option<Size>,
}

impl Range {
    /// The memory of all lanes and answers. The unfinished answers of a launch are all held at
    /// once, until they are finished one by one.
    pub(super) fn lanes_bytes(&self) -> u64 {
        let bytes = self.problems.iter().map(|planned| {
            let held_bytes = planned.need.lane_bytes + planned.need.solution_bytes;
            match (self.padded, planned.gpu) {
                (Some(_), Some(lane)) => held_bytes.max(lane.host_bytes),
                _ => held_bytes,
            }
        });
        bytes.sum()
    }

    /// The largest scratch of the problems.
    pub(super) fn scratch_bytes(&self) -> u64 {
        self.problems.iter().map(|planned| planned.need.scratch_bytes).max().unwrap_or(0)
    }

    /// The memory of all answers.
    pub(super) fn solutions_bytes(&self) -> u64 {
        self.problems.iter().map(|planned| planned.need.solution_bytes).sum()
    }

    /// The volume of all problems, without padding.
    pub(super) fn volume(&self) -> u64 {
        self.problems.iter().map(|planned| planned.size.shape.volume()).sum()
    }

    pub(super) fn shape(&self) -> Shape {
        let shapes = self.problems.iter().map(|planned| planned.size.shape);
        shapes.reduce(|a, b| a.union(&b)).unwrap_or_default()
    }
}

/// The answer to a worker's request for work.
pub(super) enum Claim<F: Finish> {
    Range(Range),
    /// A problem that is solved but not yet finished, because its worker is stuck in checking it.
    Answered(Box<Answered<F>>),
    /// Problems that need no worker: unreadable or too large.
    Settled(Vec<DoneOf<F>>),
    End,
    /// The worker was abandoned while it planned.
    Abandoned,
}

pub(super) struct Queue<F: Finish> {
    state: Mutex<State<F>>,
    moved: Condvar,
    /// The length of `answered`, for workers that wait for memory.
    n_answered: AtomicUsize,
}

struct State<F: Finish> {
    n_problems: usize,
    /// Problems below this number have been planned, or are being planned right now.
    planned_to: usize,
    /// A worker is planning a window right now, without the lock.
    is_planning: bool,
    todo: VecDeque<Range>,
    /// Launches that were split or put back. Devices take these first.
    launches: VecDeque<Range>,
    /// Problems that are solved and wait to be finished.
    answered: VecDeque<Answered<F>>,
    /// Problems in `todo`, `launches` and `answered`.
    n_todo: usize,
    /// Problems that several devices can take.
    lots: GpuBacklog,
    /// Problems that workers hold: they may still be put back.
    n_in_flight: usize,
}

/// Problems are planned a window at a time, so that a plan's memory does not grow with the run.
const WINDOW: usize = 16_384;

/// A claim should take a few hundred times its overhead (waking the next worker and the thread that
/// takes the outcomes costs some ten microseconds each). It should also be small enough to balance
/// the load at the end.
const CLAIM_TIME: Duration = Duration::from_millis(20);

/// The maximum number of problems of uncertain cost in a claim: they may take far longer.
const N_UNSURE_MAX: usize = 16;

impl<F: Finish> Queue<F> {
    pub(super) fn new(n_problems: usize) -> Queue<F> {
        let state = State {
            n_problems,
            planned_to: 0,
            is_planning: false,
            todo: VecDeque::new(),
            launches: VecDeque::new(),
            answered: VecDeque::new(),
            n_todo: 0,
            lots: GpuBacklog::default(),
            n_in_flight: 0,
        };
        Queue { state: Mutex::new(state), moved: Condvar::new(), n_answered: AtomicUsize::new(0) }
    }

    /// The next range. Waits while claimed problems may still be put back; `End` when there will be
    /// none.
    pub(super) fn claim(&self, shared: &Shared<F>, worker_state: &WorkerState<F>) -> Claim<F> {
        let who = worker_state.who;
        let mut state = lock(&self.state);
        loop {
            if shared.stop.is_cancelled() {
                return Claim::End;
            }
            if let WorkerKind::Gpu(number) = who
                && shared.gpu_pool.member(number).is_retired()
            {
                return Claim::End;
            }
            if who == WorkerKind::Cpu
                && let Some(answered) = state.answered.pop_front()
            {
                self.n_answered.store(state.answered.len(), Ordering::Release);
                state.n_todo -= 1;
                state.n_in_flight += 1;
                return Claim::Answered(Box::new(answered));
            }
            if let Some(range) = state.next(shared, who) {
                state.n_in_flight += range.problems.len();
                return Claim::Range(range);
            }
            // If no planned problem suits this worker, it plans further ahead. That is limited,
            // because planned problems take memory and other workers will take them.
            let n_planned = state.n_todo + state.lots.n_lanes();
            if state.has_unplanned() && !state.is_planning && n_planned < 2 * WINDOW {
                let first = state.planned_to;
                state.planned_to = state.n_problems.min(first + WINDOW);
                state.is_planning = true;
                let last = state.planned_to;
                // Sizes are read without the lock, because the watchdog and workers that put work
                // back need it.
                drop(state);
                worker_state.in_flight().is_planning = true;
                let window = plan_window(shared, first, last);
                let mut in_flight = worker_state.in_flight();
                in_flight.is_planning = false;
                if in_flight.abandoned {
                    return Claim::Abandoned;
                }
                drop(in_flight);
                state = lock(&self.state);
                state.is_planning = false;
                let settled = state.add(shared, window);
                self.moved.notify_all();
                if !settled.is_empty() {
                    state.n_in_flight += settled.len();
                    return Claim::Settled(settled);
                }
                continue;
            }
            let n_left = state.n_todo + state.lots.n_lanes() + state.n_in_flight;
            if n_left == 0 && !state.has_unplanned() && !state.is_planning {
                return Claim::End;
            }
            let wait = self.moved.wait_timeout(state, WAIT_MAX);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The problems that workers hold, and the problems that wait for a worker.
    pub(super) fn n_in_flight_waiting(&self) -> (u64, u64) {
        let state = lock(&self.state);
        let n_planned = state.n_todo + state.lots.n_lanes();
        let n_waiting = n_planned + (state.n_problems - state.planned_to);
        (state.n_in_flight as u64, n_waiting as u64)
    }

    /// Records that `n` claimed problems have their outcome, or will never have one.
    pub(super) fn settle(&self, n: usize) {
        let mut state = lock(&self.state);
        state.n_in_flight -= n;
        if state.n_in_flight == 0 {
            self.moved.notify_all();
        }
    }

    /// Puts claimed problems back at the front.
    pub(super) fn put_back(&self, ranges: impl IntoIterator<Item = Range>) {
        let mut state = lock(&self.state);
        for range in ranges {
            if range.problems.is_empty() {
                continue;
            }
            state.n_in_flight -= range.problems.len();
            state.n_todo += range.problems.len();
            match range.padded {
                None => state.todo.push_front(range),
                Some(_) => state.launches.push_front(range),
            }
        }
        self.moved.notify_all();
    }

    /// Puts claimed problems back that are solved but not finished.
    pub(super) fn put_back_answered(&self, answered: Vec<Answered<F>>) {
        let mut state = lock(&self.state);
        state.n_in_flight -= answered.len();
        state.n_todo += answered.len();
        state.answered.extend(answered);
        self.n_answered.store(state.answered.len(), Ordering::Release);
        self.moved.notify_all();
    }

    /// Whether a solved problem waits to be finished.
    pub(super) fn has_answered(&self) -> bool {
        self.n_answered.load(Ordering::Acquire) > 0
    }

    /// Wakes all waiting workers: the run may be cancelled, or a cost may have changed.
    pub(super) fn wake(&self) {
        // Under the lock, so that a worker that has just checked is already waiting.
        let _state = lock(&self.state);
        self.moved.notify_all();
    }
}

impl<F: Finish> State<F> {
    fn has_unplanned(&self) -> bool {
        self.planned_to < self.n_problems
    }

    fn next(&mut self, shared: &Shared<F>, who: WorkerKind) -> Option<Range> {
        let taken = match who {
            WorkerKind::Cpu => self.next_for_cpu(shared),
            WorkerKind::Gpu(_) => self.launches.pop_front(),
        };
        match taken {
            Some(range) => {
                self.n_todo -= range.problems.len();
                Some(range)
            }
            None => self.lots.take(shared, who),
        }
    }

    fn next_for_cpu(&mut self, shared: &Shared<F>) -> Option<Range> {
        // Without a usable device, launches become ordinary CPU problems.
        if !self.launches.is_empty() && !shared.gpu_pool.is_alive() {
            for mut range in self.launches.drain(..) {
                range.padded = None;
                self.todo.push_back(range);
            }
        }
        let mut range = self.todo.pop_front()?;
        let n_rest = self.n_todo + self.lots.n_lanes() + (self.n_problems - self.planned_to);
        let n = n_claimed(shared, range.problems.iter(), n_rest);
        if n == range.problems.len() {
            return Some(range);
        }
        let claimed = Range { problems: range.problems.drain(..n).collect(), ..range };
        self.todo.push_front(range);
        Some(claimed)
    }

    /// Adds a planned window; returns the problems that need no worker.
    fn add(&mut self, shared: &Shared<F>, window: Window<F>) -> Vec<DoneOf<F>> {
        for (class, padded, problems) in window.launches {
            self.lots.add(shared, class, padded, problems);
        }
        for range in window.ranges {
            self.n_todo += range.problems.len();
            self.todo.push_back(range);
        }
        window.settled
    }
}

/// How many of these problems a CPU worker claims at once, if `n_rest` problems are left in all.
pub(super) fn n_claimed<'a, F: Finish>(
    shared: &Shared<F>,
    problems: impl ExactSizeIterator<Item = &'a Planned>,
    n_rest: usize,
) -> usize {
    let n_problems = problems.len();
    if let BatchSize::Fixed(n) = shared.settings.batch_size {
        return n_problems.min(n.max(1));
    }
    // Near the end every worker gets less, so that all workers end at about the same time.
    let n_fair = match shared.settings.n_threads {
        0 | 1 => n_rest,
        n_threads => n_rest.div_ceil(2 * n_threads),
    };
    let costs = lock(&shared.costs);
    let n_max = n_problems.min(n_fair).max(1);
    n_in_time(WorkloadOf::<F>::NAME, problems.take(n_max), &costs, CLAIM_TIME)
}

/// How many problems from the front take about this long; one while no cost is known.
fn n_in_time<'a>(
    workload: &str,
    problems: impl ExactSizeIterator<Item = &'a Planned>,
    costs: &Costs,
    time: Duration,
) -> usize {
    let n_problems = problems.len();
    let mut spent = Duration::ZERO;
    let mut n_unsure = 0;
    let mut known: Option<(Shape, Duration)> = None;
    for (n, planned) in problems.enumerate() {
        let bin = planned.size.shape.bin();
        let sure = match known {
            Some((known_bin, lane)) if known_bin == bin => Some(lane),
            _ => costs.lane(workload, &planned.size, DeviceId::Cpu),
        };
        let lane = if let Some(lane) = sure {
            known = Some((bin, lane));
            lane
        } else {
            n_unsure += 1;
            match costs.rough_lane(workload, &planned.size, DeviceId::Cpu) {
                Some(lane) if n_unsure <= N_UNSURE_MAX => lane,
                _ => return n.max(1),
            }
        };
        spent += lane;
        if spent > time {
            return n.max(1);
        }
    }
    n_problems
}

/// A planned window of problems.
struct Window<F: Finish> {
    /// Problems for the CPU alone.
    ranges: Vec<Range>,
    /// Problems for the device that is best at them: class, padded shape, problems.
    launches: Vec<(u32, Shape, Vec<Planned>)>,
    /// Problems that are unreadable or too large.
    settled: Vec<DoneOf<F>>,
}

/// Plans the problems from `first` to `last`.
fn plan_window<F: Finish>(shared: &Shared<F>, first: usize, last: usize) -> Window<F> {
    let mut window = Window { ranges: Vec::new(), launches: Vec::new(), settled: Vec::new() };
    let mut settle = |index: usize, outcome: OutcomeOf<F>| {
        window.settled.push(Done {
            index,
            outcome,
            device: DeviceId::Cpu,
            took: Duration::ZERO,
            n_attempts: 1,
        });
    };
    let mut planned = Vec::with_capacity(last - first);
    for index in first..last {
        let sized = guarded(|| {
            let size = shared.source.size(index)?;
            Ok(Planned {
                index,
                size,
                need: shared.need(index, &size),
                gpu: shared.gpu_lane(&size),
            })
        });
        match sized {
            Ok(Ok(problem)) => planned.push(problem),
            Ok(Err(failure)) => settle(index, Outcome::Failed(failure)),
            Err(panic) => settle(index, Outcome::Panicked { message: panic_message(panic) }),
        }
    }
    let mut limits = limits(&shared.settings);
    if !shared.gpu_pool.is_alive() {
        limits.gpu = None;
    }
    let costs = lock(&shared.costs).clone();
    let plan = plan(WorkloadOf::<F>::NAME, &planned, &limits, &costs);
    for (index, wanted_bytes) in plan.too_large {
        settle(index, Outcome::TooLarge { wanted_bytes, budget_bytes: limits.budget_bytes });
    }
    for batch in plan.batches {
        // `planned` is sorted by number, so a binary search finds a problem.
        let problems = batch.problems.iter().map(|index| {
            let at = planned.partition_point(|planned| planned.index < *index);
            planned[at]
        });
        if batch.device == DeviceKind::Gpu {
            let launch = (batch.class, batch.shape, problems.collect());
            window.launches.push(launch);
            continue;
        }
        let range =
            Range { class: batch.class, problems: problems.collect(), n_attempts: 1, padded: None };
        if shared.gpu_pool.n_gpus() > 0 {
            let n_problems = range.problems.len() as u64;
            shared.n_cpu_only.fetch_add(n_problems, Ordering::Relaxed);
        }
        window.ranges.push(range);
    }
    window
}
