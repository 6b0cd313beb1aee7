//! What takes too long: problems, workers, devices, and the wait for memory.

use std::collections::VecDeque;
use std::time::Duration;

use super::rule::Rule;
use super::stage::{Doing, Stage, Worker};
use super::{
    Abandoned, Command, Coordinator, MemoryNow, Place, Range, Running, Settled, Stuck, Verdict,
};
use crate::Planned;
use crate::report::{EndCause, Remedy, SetbackCause};

/// A problem that takes longer than this no longer delays the outcomes of its range.
const HOLD_BACK_MAX: Duration = Duration::from_millis(100);

/// Opening a device takes a second or so. A driver that takes longer than this does not return.
const REOPEN_TIME_MAX: Duration = Duration::from_secs(30);

/// Other users of the budget, such as another run, may hold it as long as a problem takes.
const MEMORY_PATIENCE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];

impl Coordinator {
    pub(super) fn abandoned(
        &mut self,
        now: Duration,
        abandoned: Abandoned,
        out: &mut Vec<Command>,
    ) {
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

    pub(super) fn tick(
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
}
