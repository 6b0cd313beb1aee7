//! Worker states: the range that a worker is working on, visible to the watchdog.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::gpu_backlog::WorkerKind;
use super::ledger::Entry;
use super::{Checked, DoneOf, ProblemOf, SolutionOf, lock};
use crate::memory::Reservation;
use crate::operation::{self, Spent};
use crate::report::{Launch, Phase};
use crate::{DeviceId, Finish, Planned, Stop};

pub(super) struct WorkerState<F: Finish> {
    pub(super) worker: usize,
    /// The device it works for.
    pub(super) who: WorkerKind,
    /// Passed to the solver; expires with the current problem.
    pub(super) stop: Stop,
    /// The current phase, for samples.
    phase: AtomicU8,
    in_flight: Mutex<InFlight<F>>,
}

/// A range that a worker is working on.
pub(super) struct InFlight<F: Finish> {
    /// The problem being loaded, solved, checked or finished right now.
    pub(super) current: Option<Current>,
    pub(super) class: u32,
    pub(super) n_attempts: u32,
    pub(super) to_load: VecDeque<Planned>,
    pub(super) loaded: VecDeque<(Planned, ProblemOf<F>)>,
    /// Problems that are solved and not yet finished; the first may be in its check.
    pub(super) answered: VecDeque<Answered<F>>,
    pub(super) done: Vec<DoneOf<F>>,
    /// Outcomes of the range that were sent before it ended.
    pub(super) n_sent: usize,
    /// Problems whose memory was refused while loading or solving.
    pub(super) refused: Vec<Planned>,
    /// The memory of all lanes and answers of the range.
    pub(super) reservation: Option<Reservation>,
    /// The memory of the scratch.
    pub(super) scratch_reservation: Option<Reservation>,
    /// The results of solving some problems again.
    pub(super) checked: Checked,
    /// The figures of the range, as far as known.
    pub(super) launch: Option<Launch>,
    /// The volume that every lane is padded to; `None` without padding.
    pub(super) lane_volume: Option<u64>,
    /// The volume of problems that leave the launch without an outcome.
    pub(super) volume_left: u64,
    /// The operations timed in the range.
    pub(super) operations: Vec<(Phase, Spent)>,
    /// The launch that is on a device right now.
    pub(super) on_gpu: Option<OnGpu>,
    /// Whether the worker reads the sizes of a window of problems.
    pub(super) is_planning: bool,
    /// Whether the worker has a turn to solve.
    pub(super) has_turn: bool,
    /// The worker was abandoned: its results come too late and are dropped.
    pub(super) abandoned: bool,
}

/// A problem that is solved and not yet finished.
pub(super) struct Answered<F: Finish> {
    pub(super) planned: Planned,
    pub(super) problem: ProblemOf<F>,
    pub(super) solution: SolutionOf<F>,
    pub(super) device: DeviceId,
    pub(super) took: Duration,
    pub(super) n_attempts: u32,
    /// Whether it must still be compared with a second solution.
    pub(super) to_check: bool,
    /// Its memory, if it has left the range that it was solved in.
    pub(super) held: Option<Reservation>,
}

/// A launch on a device.
pub(super) struct OnGpu {
    pub(super) number: usize,
    pub(super) problems: Vec<Planned>,
    pub(super) since: Instant,
    /// The launch failed, and the device is being reopened.
    pub(super) is_reopening: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Current {
    pub(super) planned: Planned,
    pub(super) since: Instant,
    /// It is already solved, and is being solved a second time for comparison.
    pub(super) is_check: bool,
}

impl<F: Finish> WorkerState<F> {
    pub(super) fn new(worker: usize, who: WorkerKind, stop: Stop) -> WorkerState<F> {
        let in_flight = InFlight {
            current: None,
            class: 0,
            n_attempts: 1,
            to_load: VecDeque::new(),
            loaded: VecDeque::new(),
            answered: VecDeque::new(),
            done: Vec::new(),
            n_sent: 0,
            refused: Vec::new(),
            reservation: None,
            scratch_reservation: None,
            checked: Checked::default(),
            launch: None,
            lane_volume: None,
            volume_left: 0,
            operations: Vec::new(),
            on_gpu: None,
            is_planning: false,
            has_turn: false,
            abandoned: false,
        };
        WorkerState {
            worker,
            who,
            stop,
            phase: AtomicU8::new(Phase::Idle as u8),
            in_flight: Mutex::new(in_flight),
        }
    }

    pub(super) fn in_flight(&self) -> MutexGuard<'_, InFlight<F>> {
        lock(&self.in_flight)
    }

    /// The current phase of the worker.
    pub(super) fn phase(&self) -> Phase {
        const PHASES: [Phase; 6] =
            [Phase::Idle, Phase::Memory, Phase::Load, Phase::Turn, Phase::Solve, Phase::Deliver];
        PHASES[usize::from(self.phase.load(Ordering::Relaxed)).min(PHASES.len() - 1)]
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Begins a problem and starts its time limit.
    pub(super) fn begin(&self, in_flight: &mut InFlight<F>, planned: Planned, now: Instant) {
        self.stop.renew();
        in_flight.current = Some(Current { planned, since: now, is_check: false });
    }

    /// Records that all problems are loaded, and returns the reservation of the scratch.
    pub(super) fn loaded(&self, load_end_ms: f64) -> Option<Reservation> {
        let mut in_flight = self.in_flight();
        in_flight.note_operations(Phase::Load);
        if let Some(launch) = &mut in_flight.launch {
            launch.load_end_ms = load_end_ms;
        }
        in_flight.scratch_reservation.take()
    }
}

impl<F: Finish> InFlight<F> {
    /// Records the operations that this thread has timed since the last phase.
    pub(super) fn note_operations(&mut self, phase: Phase) {
        let spent = operation::drain();
        self.operations.extend(spent.into_iter().map(|spent| (phase, spent)));
    }

    /// Subtracts problems that leave the launch without an outcome.
    pub(super) fn leave<'a>(&mut self, problems: impl IntoIterator<Item = &'a Planned>) {
        self.volume_left +=
            problems.into_iter().map(|planned| planned.size.shape.volume()).sum::<u64>();
    }

    /// The figures of the launch that has ended; `None` if all of its problems were put back.
    pub(super) fn end_launch(&mut self, n_lanes: usize, end_ms: f64) -> Option<Entry> {
        let n_lanes = n_lanes + std::mem::take(&mut self.n_sent);
        let operations = std::mem::take(&mut self.operations);
        let volume_left = std::mem::take(&mut self.volume_left);
        let lane_volume = self.lane_volume.take();
        let launch = self.launch.take().filter(|_| n_lanes > 0)?;
        let volume_real = launch.volume_real.saturating_sub(volume_left);
        // All problems may have had their outcome before the launch got its turn.
        let come = |at_ms: f64| if at_ms > 0.0 { at_ms } else { end_ms };
        Some(Entry {
            is_padded: lane_volume.is_some(),
            operations,
            launch: Launch {
                n_lanes,
                volume_real,
                volume_launched: lane_volume
                    .map_or(volume_real, |volume| volume.saturating_mul(n_lanes as u64)),
                load_end_ms: come(launch.load_end_ms),
                solve_start_ms: come(launch.solve_start_ms),
                end_ms,
                ..launch
            },
        })
    }
}
