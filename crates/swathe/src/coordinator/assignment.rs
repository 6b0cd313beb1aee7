//! Who begins what.

use super::backlog::ClaimLimits;
use super::rule::Rule;
use super::stage::{Carried, Doing, Stage, Waits, Worker};
use super::{Command, Coordinator, Order, Padded, Place, Range, WorkerId};
use crate::{BatchSize, Limits, Planned, Size};

impl Coordinator {
    /// Gives turns and work. Everything that a worker begins, it begins here.
    pub(super) fn assign(&mut self, out: &mut Vec<Command>) {
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
        if self.waiting.is_empty() {
            return;
        }
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
}
