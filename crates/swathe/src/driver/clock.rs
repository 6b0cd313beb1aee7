//! A worker's clock: every moment belongs to exactly one phase.

use std::time::{Duration, Instant};

use super::ms;
use super::slot::Slot;
use crate::Finish;
use crate::report::{Phase, WorkerFigures};

pub(super) struct Clock<'a, F: Finish> {
    slot: &'a Slot<F>,
    started: Instant,
    phase: Phase,
    since: Instant,
    spent: [Duration; 6],
}

impl<'a, F: Finish> Clock<'a, F> {
    pub(super) fn new(slot: &'a Slot<F>) -> Clock<'a, F> {
        let now = Instant::now();
        Clock { slot, started: now, phase: Phase::Idle, since: now, spent: Default::default() }
    }

    /// Ends the current phase and begins the next; returns the moment between them.
    pub(super) fn enter(&mut self, phase: Phase) -> Instant {
        let now = Instant::now();
        self.spent[self.phase as usize] += now - self.since;
        self.phase = phase;
        self.slot.set_phase(phase);
        self.since = now;
        now
    }

    pub(super) fn finish(mut self) -> WorkerFigures {
        let now = self.enter(Phase::Idle);
        let spent = |phase: Phase| ms(self.spent[phase as usize]);
        WorkerFigures {
            worker: self.slot.worker,
            device: self.slot.device,
            idle_ms: spent(Phase::Idle),
            memory_ms: spent(Phase::Memory),
            load_ms: spent(Phase::Load),
            turn_ms: spent(Phase::Turn),
            solve_ms: spent(Phase::Solve),
            deliver_ms: spent(Phase::Deliver),
            wall_ms: ms(now - self.started),
        }
    }
}
