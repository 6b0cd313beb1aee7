//! Slots: what a worker has in hand, where the watchdog can see it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::{Checked, Done, lock};
use crate::memory::Reservation;
use crate::report::Launch;
use crate::{Planned, Stop, Workload};

pub(super) struct Slot<W: Workload> {
    pub(super) worker: usize,
    /// Told to the solver; expires with the problem in hand.
    pub(super) stop: Stop,
    hand: Mutex<Hand<W>>,
}

/// A range on its way through a worker.
pub(super) struct Hand<W: Workload> {
    /// The problem being loaded or solved right now.
    pub(super) current: Option<Current>,
    pub(super) class: u32,
    pub(super) n_attempts: u32,
    pub(super) to_load: VecDeque<Planned>,
    pub(super) loaded: VecDeque<(Planned, W::Problem)>,
    pub(super) done: Vec<Done<W>>,
    /// Problems whose memory was refused on the way.
    pub(super) refused: Vec<Planned>,
    /// The memory of all lanes and answers of the range.
    pub(super) reservation: Option<Reservation>,
    /// The memory of the scratch.
    pub(super) scratch_reservation: Option<Reservation>,
    /// What solving some of them again showed.
    pub(super) checked: Checked,
    /// The figures of the range, as far as they are known.
    pub(super) launch: Option<Launch>,
    /// The launch that is on a graphics processor right now.
    pub(super) on_gpu: Option<OnGpu>,
    /// Whether the worker has a turn to solve.
    pub(super) has_turn: bool,
    /// The worker was left behind: whatever it brings is too late.
    pub(super) abandoned: bool,
}

/// A launch on a graphics processor.
pub(super) struct OnGpu {
    pub(super) number: usize,
    pub(super) problems: Vec<Planned>,
    pub(super) since: Instant,
}

#[derive(Clone, Copy)]
pub(super) struct Current {
    pub(super) planned: Planned,
    pub(super) since: Instant,
}

impl<W: Workload> Slot<W> {
    pub(super) fn new(worker: usize, stop: Stop) -> Slot<W> {
        let hand = Hand {
            current: None,
            class: 0,
            n_attempts: 1,
            to_load: VecDeque::new(),
            loaded: VecDeque::new(),
            done: Vec::new(),
            refused: Vec::new(),
            reservation: None,
            scratch_reservation: None,
            checked: Checked::default(),
            launch: None,
            on_gpu: None,
            has_turn: false,
            abandoned: false,
        };
        Slot {
            worker,
            stop,
            hand: Mutex::new(hand),
        }
    }

    pub(super) fn hand(&self) -> MutexGuard<'_, Hand<W>> {
        lock(&self.hand)
    }

    /// The worker begins with a problem now: its time starts.
    pub(super) fn begin(&self, hand: &mut Hand<W>, planned: Planned, now: Instant) {
        self.stop.renew();
        hand.current = Some(Current {
            planned,
            since: now,
        });
    }

    /// The problem in hand is begun once more, with all of its time.
    pub(super) fn begin_again(&self) {
        let mut hand = self.hand();
        if let Some(Current { planned, .. }) = hand.current
            && !hand.abandoned
        {
            self.begin(&mut hand, planned, Instant::now());
        }
    }
}
