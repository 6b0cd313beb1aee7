//! The queue: batches that wait for a worker.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lots::{Lots, Who};
use super::{Done, Shared, WAIT_MAX, limits, lock};
use crate::settings::BatchSize;
use crate::{Costs, DeviceId, DeviceKind, Outcome, Planned, Shape, Size, Workload, plan};

/// Problems that a worker takes at once.
pub(super) struct Range {
    pub(super) class: u32,
    /// Taken from the front, a claim at a time.
    pub(super) problems: VecDeque<Planned>,
    /// Which try this is, from 1.
    pub(super) n_attempts: u32,
    /// The size they are padded to, if they are to be launched on a graphics processor.
    pub(super) padded: Option<Size>,
}

impl Range {
    /// The memory of all lanes and answers.
    pub(super) fn lanes_bytes(&self) -> u64 {
        self.problems
            .iter()
            .map(|planned| planned.need.lane_bytes + planned.need.solution_bytes)
            .sum()
    }

    /// The scratch of the problem that wants most.
    pub(super) fn scratch_bytes(&self) -> u64 {
        self.problems
            .iter()
            .map(|planned| planned.need.scratch_bytes)
            .max()
            .unwrap_or(0)
    }

    /// The memory of all answers.
    pub(super) fn solutions_bytes(&self) -> u64 {
        self.problems
            .iter()
            .map(|planned| planned.need.solution_bytes)
            .sum()
    }

    /// The volume of all problems, without padding.
    pub(super) fn volume(&self) -> u64 {
        self.problems
            .iter()
            .map(|planned| planned.size.shape.volume())
            .sum()
    }

    pub(super) fn shape(&self) -> Shape {
        let shapes = self.problems.iter().map(|planned| planned.size.shape);
        shapes.reduce(|a, b| a.union(&b)).unwrap_or_default()
    }
}

/// What a worker gets when it asks for work.
pub(super) enum Claim<W: Workload> {
    Range(Range),
    /// Problems that need no worker: unreadable or too large.
    Settled(Vec<Done<W>>),
    End,
}

pub(super) struct Queue {
    state: Mutex<State>,
    moved: Condvar,
}

struct State {
    n_problems: usize,
    /// Problems below this number have been planned.
    planned_to: usize,
    todo: VecDeque<Range>,
    /// Launches that graphics processors take next: what was cut or put back.
    launches: VecDeque<Range>,
    /// Problems in `todo` and `launches`.
    n_todo: usize,
    /// What several devices could take.
    lots: Lots,
    /// Problems that workers have: they may yet come back.
    n_in_flight: usize,
}

impl Queue {
    /// Problems are planned a window at a time, so that a plan's memory does not grow with the run.
    const WINDOW: usize = 16_384;

    /// A claim should be worth a few hundred times its overhead (waking the next worker and
    /// whoever takes the outcomes: some ten microseconds each), and small enough to share out
    /// evenly at the end.
    const CLAIM_TIME: Duration = Duration::from_millis(20);

    /// Of problems whose cost is not known well a claim has no more: they may take far longer.
    const N_UNSURE_MAX: usize = 16;

    pub(super) fn new(n_problems: usize) -> Queue {
        let state = State {
            n_problems,
            planned_to: 0,
            todo: VecDeque::new(),
            launches: VecDeque::new(),
            n_todo: 0,
            lots: Lots::default(),
            n_in_flight: 0,
        };
        Queue {
            state: Mutex::new(state),
            moved: Condvar::new(),
        }
    }

    /// The next range, waiting for one that may come back; `End` when there will be none.
    pub(super) fn claim<W: Workload>(&self, shared: &Shared<W>, who: Who) -> Claim<W> {
        let mut state = lock(&self.state);
        loop {
            if shared.stop.is_cancelled() {
                return Claim::End;
            }
            if let Who::Gpu(number) = who
                && shared.fleet.member(number).is_retired()
            {
                return Claim::End;
            }
            if let Some(range) = state.next(shared, who) {
                state.n_in_flight += range.problems.len();
                return Claim::Range(range);
            }
            // Graphics processors look ahead for their work, but not without end.
            let may_plan = who == Who::Cpu || state.n_todo < 2 * Queue::WINDOW;
            if state.planned_to < state.n_problems && may_plan {
                let settled = plan_window(&mut state, shared);
                self.moved.notify_all();
                if !settled.is_empty() {
                    state.n_in_flight += settled.len();
                    return Claim::Settled(settled);
                }
                continue;
            }
            let n_left = state.n_todo + state.lots.n_lanes() + state.n_in_flight;
            if n_left == 0 && state.planned_to == state.n_problems {
                return Claim::End;
            }
            let wait = self.moved.wait_timeout(state, WAIT_MAX);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Problems that workers have, and problems that wait for one.
    pub(super) fn n_in_flight_waiting(&self) -> (u64, u64) {
        let state = lock(&self.state);
        let n_planned = state.n_todo + state.lots.n_lanes();
        let n_waiting = n_planned + (state.n_problems - state.planned_to);
        (state.n_in_flight as u64, n_waiting as u64)
    }

    /// So many claimed problems have their outcome, or will never have one.
    pub(super) fn settle(&self, n: usize) {
        let mut state = lock(&self.state);
        state.n_in_flight -= n;
        if state.n_in_flight == 0 {
            self.moved.notify_all();
        }
    }

    /// Puts claimed problems back, to be taken next.
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

    /// No graphics processor is left: the CPU takes what was meant for them.
    pub(super) fn all_to_cpu(&self) {
        let mut state = lock(&self.state);
        let mut launches = std::mem::take(&mut state.launches);
        for range in &mut launches {
            range.padded = None;
        }
        let lots = state.lots.drain();
        state.n_todo += lots.iter().map(|range| range.problems.len()).sum::<usize>();
        state.todo.extend(launches);
        state.todo.extend(lots);
        self.moved.notify_all();
    }

    /// Lets all who wait look whether the run is cancelled.
    pub(super) fn wake(&self) {
        self.moved.notify_all();
    }
}

impl State {
    fn next<W: Workload>(&mut self, shared: &Shared<W>, who: Who) -> Option<Range> {
        let taken = match who {
            Who::Cpu => self.todo.pop_front().map(|mut range| {
                let n_rest =
                    self.n_todo + self.lots.n_lanes() + (self.n_problems - self.planned_to);
                let n = n_claimed(shared, range.problems.iter(), n_rest);
                if n == range.problems.len() {
                    return range;
                }
                let claimed = Range {
                    problems: range.problems.drain(..n).collect(),
                    ..range
                };
                self.todo.push_front(range);
                claimed
            }),
            Who::Gpu(_) => self.launches.pop_front(),
        };
        match taken {
            Some(range) => {
                self.n_todo -= range.problems.len();
                Some(range)
            }
            None => self.lots.take(shared, who),
        }
    }
}

/// How many of these problems a worker of the CPU takes at once, of so many that are left in all.
pub(super) fn n_claimed<'a, W: Workload>(
    shared: &Shared<W>,
    problems: impl ExactSizeIterator<Item = &'a Planned>,
    n_rest: usize,
) -> usize {
    let n_problems = problems.len();
    if let BatchSize::Fixed(n) = shared.settings.batch_size {
        return n_problems.min(n.max(1));
    }
    // Near the end everybody gets less, so that all workers end at about the same time.
    let n_fair = match shared.settings.n_threads {
        0 | 1 => n_rest,
        n_threads => n_rest.div_ceil(2 * n_threads),
    };
    let costs = lock(&shared.costs);
    let n_max = n_problems.min(n_fair).max(1);
    n_in_time(W::NAME, problems.take(n_max), &costs, Queue::CLAIM_TIME)
}

/// How many problems from the front take about this long; one while nothing is known.
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
                Some(lane) if n_unsure <= Queue::N_UNSURE_MAX => lane,
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

/// Plans the next window; what needs no worker is returned.
fn plan_window<W: Workload>(state: &mut State, shared: &Shared<W>) -> Vec<Done<W>> {
    let first = state.planned_to;
    let last = state.n_problems.min(first + Queue::WINDOW);
    state.planned_to = last;
    let mut settled = Vec::new();
    let mut settle = |index: usize, outcome: Outcome<W>| {
        let took = Duration::ZERO;
        settled.push(Done {
            index,
            outcome,
            device: DeviceId::Cpu,
            took,
            n_attempts: 1,
        });
    };
    let mut planned = Vec::with_capacity(last - first);
    for index in first..last {
        let sized = catch_unwind(AssertUnwindSafe(|| {
            let size = shared.source.size(index)?;
            Ok(Planned {
                index,
                size,
                need: shared.need(index, &size),
                gpu: shared.gpu_lane(&size),
            })
        }));
        match sized {
            Ok(Ok(problem)) => planned.push(problem),
            Ok(Err(failure)) => settle(index, Outcome::Failed(failure)),
            Err(panic) => settle(
                index,
                Outcome::Panicked {
                    message: super::worker::panic_message(panic),
                },
            ),
        }
    }
    let mut limits = limits(&shared.settings);
    if !shared.fleet.is_alive() {
        limits.gpu = None;
    }
    let plan = plan(W::NAME, &planned, &limits, &lock(&shared.costs));
    for (index, wanted_bytes) in plan.too_large {
        settle(
            index,
            Outcome::TooLarge {
                wanted_bytes,
                budget_bytes: limits.budget_bytes,
            },
        );
    }
    for batch in plan.batches {
        // `planned` is in the order of the numbers, so a problem is found by halving.
        let problems = batch.problems.iter().map(|index| {
            let at = planned.partition_point(|planned| planned.index < *index);
            planned[at]
        });
        if batch.device == DeviceKind::Gpu {
            state.lots.add(shared, batch.class, batch.shape, problems);
            continue;
        }
        let range = Range {
            class: batch.class,
            problems: problems.collect(),
            n_attempts: 1,
            padded: None,
        };
        if shared.fleet.n_gpus() > 0 {
            let n_problems = range.problems.len() as u64;
            shared.n_cpu_only.fetch_add(n_problems, Ordering::Relaxed);
        }
        state.n_todo += range.problems.len();
        state.todo.push_back(range);
    }
    settled
}
