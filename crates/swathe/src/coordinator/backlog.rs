//! The backlog: planned problems that wait for a worker.

use std::collections::VecDeque;
use std::time::Duration;

use super::message::{Launchable, Padded, Range, Window};
use crate::{BatchSize, Costs, DeviceId, Planned, Shape};

#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct Backlog {
    /// Ranges for the CPU.
    todo: VecDeque<Range>,
    /// Launches that were split or put back. Devices take these first.
    launches: VecDeque<Range>,
    /// Problems that devices have not taken yet, by class and padded shape.
    lots: Vec<Lot>,
    /// Problems in all of them.
    n_problems: usize,
}

#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Hash))]
struct Lot {
    padded: Padded,
    is_shared: bool,
    problems: VecDeque<Planned>,
}

/// The sizes of claims.
pub(super) struct ClaimLimits<'a> {
    pub(super) workload: &'a str,
    pub(super) batch_size: BatchSize,
    pub(super) n_threads: usize,
    /// Problems that are left in all.
    pub(super) n_rest: usize,
    pub(super) costs: &'a Costs,
}

impl Backlog {
    pub(super) fn n_problems(&self) -> usize {
        self.n_problems
    }

    pub(super) fn add(&mut self, window: Window) {
        for range in window.ranges {
            self.n_problems += range.problems.len();
            self.todo.push_back(range);
        }
        for Launchable { padded, is_shared, problems } in window.launches {
            self.n_problems += problems.len();
            let known = self.lots.iter_mut().find(|lot| {
                lot.padded.size.class == padded.size.class
                    && lot.padded.size.shape == padded.size.shape
            });
            match known {
                Some(lot) => lot.problems.extend(problems),
                None => self.lots.push(Lot { padded, is_shared, problems: problems.into() }),
            }
        }
    }

    /// Puts a range back in front of others of its kind.
    pub(super) fn put_back(&mut self, range: Range) {
        if range.problems.is_empty() {
            return;
        }
        self.n_problems += range.problems.len();
        match range.padded {
            None => self.todo.push_front(range),
            Some(_) => self.launches.push_front(range),
        }
    }

    /// Turns launches that no device accepts any more into work for the CPU. (Lots stay, because
    /// the CPU takes from them as soon as no device does.)
    pub(super) fn move_launches(&mut self, is_accepted: impl Fn(u32) -> bool) {
        let launches = std::mem::take(&mut self.launches);
        for mut range in launches {
            if is_accepted(range.class) {
                self.launches.push_back(range);
            } else {
                range.padded = None;
                self.todo.push_back(range);
            }
        }
    }

    /// Whether there is something for the CPU.
    pub(super) fn has_for_cpu(&self, is_accepted: impl Fn(u32) -> bool) -> bool {
        !self.todo.is_empty() || self.lots.iter().any(|lot| lot.is_for_cpu(&is_accepted))
    }

    /// A range for the CPU. `is_accepted` says whether any device accepts a class.
    pub(super) fn take_for_cpu(
        &mut self,
        limits: &ClaimLimits<'_>,
        is_accepted: impl Fn(u32) -> bool,
    ) -> Option<Range> {
        if let Some(range) = self.todo.front_mut() {
            let n = n_claimed(limits, range.problems.iter());
            self.n_problems -= n;
            if n == range.problems.len() {
                return self.todo.pop_front();
            }
            let problems = range.problems.drain(..n).collect();
            return Some(Range { problems, ..*range });
        }
        let lot = self.lots.iter_mut().find(|lot| lot.is_for_cpu(&is_accepted))?;
        let n = n_claimed(limits, lot.problems.iter());
        self.n_problems -= n;
        Some(lot.take(n, None))
    }

    /// Whether there is something for a device that accepts these classes.
    pub(super) fn has_for_device(&self, accepts: impl Fn(u32) -> bool) -> bool {
        self.launches.iter().any(|range| accepts(range.class))
            || self.lots.iter().any(|lot| lot.is_for_device(&accepts))
    }

    /// A launch for a device that accepts these classes, of at most as many lanes as `n_lanes`
    /// says.
    pub(super) fn take_for_device(
        &mut self,
        accepts: impl Fn(u32) -> bool,
        n_lanes: impl FnOnce(&Padded, &Planned) -> usize,
    ) -> Option<Range> {
        let at = self.launches.iter().position(|range| accepts(range.class));
        if let Some(range) = at.and_then(|at| self.launches.remove(at)) {
            self.n_problems -= range.problems.len();
            return Some(range);
        }
        let lot = self.lots.iter_mut().find(|lot| lot.is_for_device(&accepts))?;
        let n = n_lanes(&lot.padded, lot.problems.front()?).clamp(1, lot.problems.len());
        self.n_problems -= n;
        Some(lot.take(n, Some(lot.padded)))
    }
}

impl Lot {
    fn is_for_cpu(&self, is_accepted: impl Fn(u32) -> bool) -> bool {
        !self.problems.is_empty() && (self.is_shared || !is_accepted(self.padded.size.class))
    }

    fn is_for_device(&self, accepts: impl Fn(u32) -> bool) -> bool {
        !self.problems.is_empty() && accepts(self.padded.size.class)
    }

    fn take(&mut self, n: usize, padded: Option<Padded>) -> Range {
        Range {
            class: self.padded.size.class,
            problems: self.problems.drain(..n).collect(),
            n_attempts: 1,
            padded,
        }
    }
}

/// A claim should take a few hundred times its overhead (waking the next worker and the thread that
/// takes the outcomes costs some ten microseconds each). It should also be small enough to balance
/// the load at the end.
const CLAIM_TIME: Duration = Duration::from_millis(20);

/// The maximum number of problems of uncertain cost in a claim: they may take far longer.
const N_UNSURE_MAX: usize = 16;

/// How many of these problems a CPU worker claims at once.
fn n_claimed<'a>(
    limits: &ClaimLimits<'_>,
    problems: impl ExactSizeIterator<Item = &'a Planned>,
) -> usize {
    let n_problems = problems.len();
    if let BatchSize::Fixed(n) = limits.batch_size {
        return n_problems.min(n.max(1));
    }
    // Near the end every worker gets less, so that all workers end at about the same time.
    let n_fair = match limits.n_threads {
        0 | 1 => limits.n_rest,
        n_threads => limits.n_rest.div_ceil(2 * n_threads),
    };
    n_in_time(limits, problems.take(n_problems.min(n_fair).max(1)))
}

/// How many problems from the front take about as long as a claim should; one while no cost is
/// known.
fn n_in_time<'a>(
    limits: &ClaimLimits<'_>,
    problems: impl ExactSizeIterator<Item = &'a Planned>,
) -> usize {
    let ClaimLimits { workload, costs, .. } = *limits;
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
        if spent > CLAIM_TIME {
            return n.max(1);
        }
    }
    n_problems
}
