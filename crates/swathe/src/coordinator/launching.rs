//! The ends of launches: what becomes of their problems and of their device.

use std::time::Duration;

use super::device_state::DeviceState;
use super::rule::Rule;
use super::stage::{Carried, Doing, Stage, Worker};
use super::{Command, Coordinator, LaunchError, Launched, Order, Place, Range, WorkerId};
use crate::Size;
use crate::report::{Remedy, SetbackCause};

impl Coordinator {
    pub(super) fn launched(&mut self, launched: Launched, out: &mut Vec<Command>) {
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

    pub(super) fn reopened(
        &mut self,
        worker: WorkerId,
        error: Option<String>,
        out: &mut Vec<Command>,
    ) {
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

    pub(super) fn retire(&mut self, number: usize, reason: String) {
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
}

fn loss(cause: &SetbackCause) -> &'static str {
    match cause {
        SetbackCause::DeviceLost => "lost",
        _ => "did not answer",
    }
}
