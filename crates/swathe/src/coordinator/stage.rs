//! What the workers of a run are doing, as the coordinator sees it.

use super::message::{Padded, Place, Range, WorkerId};
use crate::report::SetbackCause;

#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct Worker {
    pub(super) place: Place,
    pub(super) doing: Doing,
}

#[derive(Clone, Debug)]
pub(super) enum Doing {
    /// Its thread does not run yet.
    Starting,
    Idle,
    Planning {
        first: usize,
        last: usize,
    },
    /// Asks for the memory of this range.
    Asking(Range),
    Carrying(Stage, Carried),
    /// Reopens its device, after so many problems had this setback.
    Reopening(SetbackCause, usize),
}

/// How far a worker is with its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(super) enum Stage {
    Loading,
    /// Loaded, waits for a turn to solve or launch.
    Loaded,
    /// Gives its loaded problems back.
    GivingBack,
    Solving,
    Launching,
    /// The device has answered, and the worker waits for a turn to finish the answers.
    Answered,
    Finishing,
}

/// A range that a worker carries.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct Carried {
    /// Problems that have no outcome and were not put back.
    pub(super) n_left: usize,
    pub(super) class: u32,
    pub(super) n_attempts: u32,
    pub(super) padded: Option<Padded>,
}

impl Doing {
    /// Whether the worker takes one of the CPU's turns.
    pub(super) fn has_turn(&self) -> bool {
        matches!(self, Doing::Carrying(Stage::Solving | Stage::Finishing, _))
    }

    /// Whether the worker has its device for itself.
    pub(super) fn has_device(&self) -> bool {
        matches!(self, Doing::Carrying(Stage::Launching, _) | Doing::Reopening(..))
    }
}

#[cfg(test)]
impl std::hash::Hash for Doing {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Doing::Starting | Doing::Idle => {}
            Doing::Planning { first, last } => (first, last).hash(state),
            Doing::Asking(range) => range.hash(state),
            Doing::Carrying(stage, carried) => (stage, carried).hash(state),
            Doing::Reopening(_, n) => n.hash(state),
        }
    }
}

/// Memory that was not free when a range needed it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortage {
    /// Whose range waits for memory. Until it has it, no other worker asks, because small ranges would
    /// overtake a large one for ever.
    pub(super) waits: Option<Waits>,
    /// Workers that ask, and whether memory may have been released meanwhile.
    pub(super) asking: Vec<(WorkerId, bool)>,
    /// Whether memory may have been released since the last refusal.
    pub(super) may_retry: bool,
    /// Since when the run has stood still for lack of memory.
    pub(super) stalled_since: Option<std::time::Duration>,
}

/// The kind of worker that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(super) enum Waits {
    Cpu,
    Device,
}

impl Waits {
    fn of(place: Place) -> Waits {
        match place {
            Place::Cpu => Waits::Cpu,
            Place::Device(_) => Waits::Device,
        }
    }
}

impl Shortage {
    pub(super) fn exists(&self) -> bool {
        self.waits.is_some()
    }

    /// Whether a worker of this place may ask for memory now.
    pub(super) fn lets_ask(&self, place: Place, keeps_order: bool) -> bool {
        match self.waits {
            None => true,
            Some(waits) => {
                let is_next = waits == Waits::of(place) || !keeps_order;
                is_next && self.may_retry && self.asking.is_empty()
            }
        }
    }

    pub(super) fn ask(&mut self, worker: WorkerId) {
        self.asking.push((worker, false));
    }

    /// Memory may have been released: the range that waits may ask again, and so may those whose
    /// request is under way if it is refused.
    pub(super) fn note_release(&mut self, to_waiting: bool, to_asking: bool) {
        self.may_retry |= to_waiting;
        for (_, has_news) in &mut self.asking {
            *has_news |= to_asking;
        }
    }

    /// The memory was not free. If some was released after the worker asked, it asks again.
    pub(super) fn begin(&mut self, worker: WorkerId, place: Place) {
        let has_news = self.end_asking(worker);
        self.waits.get_or_insert(Waits::of(place));
        self.may_retry = has_news;
    }

    /// The worker has its memory, or its range is dealt with in another way.
    pub(super) fn end(&mut self, worker: WorkerId) {
        self.end_asking(worker);
        self.waits = None;
    }

    /// Ends the shortage unless what waits is still there.
    pub(super) fn end_unless(&mut self, is_there: impl FnOnce(Waits) -> bool) {
        if self.waits.is_some_and(|waits| !is_there(waits)) {
            self.waits = None;
        }
    }

    fn end_asking(&mut self, worker: WorkerId) -> bool {
        let at = self.asking.iter().position(|&(asking, _)| asking == worker);
        at.is_some_and(|at| self.asking.swap_remove(at).1)
    }
}
