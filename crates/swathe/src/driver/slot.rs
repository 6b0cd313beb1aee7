//! Slots: what a worker is working on, visible to the timer.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::ledger::Entry;
use super::{Checked, DoneOf, ProblemOf, SolutionOf, lock};
use crate::coordinator::{Order, Place, WorkerId};
use crate::memory::Reservation;
use crate::operation::{self, Spent};
use crate::report::{Launch, Phase};
use crate::{DeviceId, Finish, Need, Planned, Size, Stop};

pub(super) struct Slot<F: Finish> {
    pub(super) worker: WorkerId,
    pub(super) place: Place,
    pub(super) device: DeviceId,
    /// Passed to the solver; expires with the current problem.
    pub(super) stop: Stop,
    /// The current phase, for samples.
    phase: AtomicU8,
    /// The problem whose size is being read, or one of the two values below.
    pub(super) planning: AtomicUsize,
    thread: OnceLock<Thread>,
    inbox: Mutex<Option<Order>>,
    work: Mutex<Work<F>>,
}

/// No size is being read.
pub(super) const NOT_PLANNING: usize = usize::MAX;

/// The worker was abandoned while it read a size.
pub(super) const GONE: usize = usize::MAX - 1;

/// The range that a worker is working on.
pub(super) struct Work<F: Finish> {
    /// What runs right now and may not return.
    pub(super) current: Current,
    /// When it began.
    pub(super) since: Instant,
    /// Counts what began so far.
    pub(super) beat: u64,
    pub(super) class: u32,
    pub(super) n_attempts: u32,
    pub(super) to_load: VecDeque<Planned>,
    pub(super) loaded: VecDeque<(Planned, ProblemOf<F>)>,
    /// The size that the problems of a launch are padded to.
    pub(super) padded: Option<Size>,
    /// The problems of the launch that is on a device right now.
    pub(super) launched: Vec<Planned>,
    /// Problems that are solved and not yet finished; the first may be in its check.
    pub(super) answered: VecDeque<Answered<F>>,
    pub(super) done: Vec<DoneOf<F>>,
    /// Outcomes of the range that were delivered before it ended.
    pub(super) n_sent: usize,
    /// Problems whose memory was refused while loading or solving.
    pub(super) refused: Vec<Planned>,
    /// The memory of all lanes and answers of the range.
    pub(super) reservation: Option<Reservation>,
    /// The memory of the scratch.
    pub(super) scratch_reservation: Option<Reservation>,
    /// The memory of all answers.
    pub(super) solutions_bytes: u64,
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
    /// Whether the worker has a turn to solve.
    pub(super) has_turn: bool,
    /// The worker was abandoned: its results come too late and are dropped.
    pub(super) is_abandoned: bool,
}

/// What a worker is in: the number of a problem, and the memory that it keeps if it is stuck there.
#[derive(Clone, Copy)]
pub(super) enum Current {
    Nothing,
    /// A problem is being loaded, solved or finished.
    Problem(usize, u64),
    /// A problem is already solved, and is being solved a second time for comparison.
    Check(usize, u64),
    /// The driver of a device, or somebody who was asked to release memory.
    Other,
}

impl Current {
    #[inline(always)]
    pub(super) fn problem(planned: &Planned) -> Current {
        Current::Problem(planned.index, held_bytes(planned))
    }
}

/// The memory of a problem and its answer.
pub(super) fn held_bytes(planned: &Planned) -> u64 {
    let Need { lane_bytes, solution_bytes, .. } = planned.need;
    lane_bytes + solution_bytes
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

impl<F: Finish> Slot<F> {
    pub(super) fn new(worker: WorkerId, place: Place, device: DeviceId, stop: Stop) -> Slot<F> {
        Slot {
            worker,
            place,
            device,
            stop,
            phase: AtomicU8::new(Phase::Idle as u8),
            planning: AtomicUsize::new(NOT_PLANNING),
            thread: OnceLock::new(),
            inbox: Mutex::new(None),
            work: Mutex::new(Work {
                current: Current::Nothing,
                since: Instant::now(),
                beat: 0,
                class: 0,
                n_attempts: 1,
                to_load: VecDeque::new(),
                loaded: VecDeque::new(),
                padded: None,
                launched: Vec::new(),
                answered: VecDeque::new(),
                done: Vec::new(),
                n_sent: 0,
                refused: Vec::new(),
                reservation: None,
                scratch_reservation: None,
                solutions_bytes: 0,
                checked: Checked::default(),
                launch: None,
                lane_volume: None,
                volume_left: 0,
                operations: Vec::new(),
                has_turn: false,
                is_abandoned: false,
            }),
        }
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work<F>> {
        lock(&self.work)
    }

    /// Called by the worker's thread before anything else.
    pub(super) fn attach(&self) {
        let _ = self.thread.set(std::thread::current());
    }

    /// Gives the worker an order and wakes it.
    pub(super) fn give(&self, order: Order) {
        *lock(&self.inbox) = Some(order);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The next order. Called on the worker's thread.
    pub(super) fn wait(&self) -> Order {
        loop {
            let order = lock(&self.inbox).take();
            match order {
                Some(order) => return order,
                None => std::thread::park(),
            }
        }
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

    /// Begins something that may not return, and starts its time limit. `None` if the worker was
    /// abandoned.
    pub(super) fn begin(&self, current: Current, now: Instant) -> Option<()> {
        let mut work = self.work();
        (!work.is_abandoned).then(|| work.begin(self, current, now))
    }

    /// Ends what was begun. `None` if the worker was abandoned meanwhile. It is called twice for each
    /// problem, however small.
    #[inline(always)]
    pub(super) fn end(&self) -> Option<MutexGuard<'_, Work<F>>> {
        let mut work = self.work();
        work.current = Current::Nothing;
        (!work.is_abandoned).then_some(work)
    }
}

impl<F: Finish> Work<F> {
    pub(super) fn begin(&mut self, slot: &Slot<F>, current: Current, now: Instant) {
        slot.stop.renew();
        self.current = current;
        self.since = now;
        self.beat += 1;
    }

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
