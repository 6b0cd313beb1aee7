//! Scratches that are kept between ranges.

use std::sync::{Arc, Mutex};

use super::lock;
use crate::memory::{Budget, ReclaimerGuard, Reservation};
use crate::{OwnedWorkload, Workload};

/// A scratch and the reservation of its memory.
pub(super) struct ScratchLease<W: Workload> {
    /// Created by the first worker that solves with it. If the workload panics while creating it,
    /// the panic is caught there.
    pub(super) scratch: Option<W::Scratch>,
    pub(super) reservation: Reservation,
}

/// Idle scratches. They give way as soon as memory is short.
pub(super) struct Scratches<W: Workload> {
    idle: Arc<Mutex<Vec<ScratchLease<W>>>>,
    budget: Budget,
    _reclaimer: ReclaimerGuard,
}

impl<W: OwnedWorkload> Scratches<W> {
    pub(super) fn new(budget: &Budget) -> Scratches<W> {
        let idle: Arc<Mutex<Vec<ScratchLease<W>>>> = Arc::default();
        let weak = Arc::downgrade(&idle);
        let reclaimer = budget.on_shortage(move || {
            if let Some(idle) = weak.upgrade() {
                let idle = std::mem::take(&mut *lock(&idle));
                drop(idle);
            }
        });
        Scratches { idle, budget: budget.clone(), _reclaimer: reclaimer }
    }

    /// A scratch, for which `reservation` was made.
    pub(super) fn take(&self, reservation: Reservation) -> ScratchLease<W> {
        let idle = lock(&self.idle).pop();
        match idle {
            // A scratch grows to the need of the largest problem it has solved, never beyond.
            Some(mut lease) => {
                if lease.reservation.bytes() < reservation.bytes() {
                    lease.reservation = reservation;
                }
                lease
            }
            None => ScratchLease { scratch: None, reservation },
        }
    }

    /// Keeps a scratch, or drops it if a reservation waits for memory.
    pub(super) fn give_back(&self, lease: ScratchLease<W>) {
        if self.budget.is_short() {
            drop(lease);
        } else {
            lock(&self.idle).push(lease);
        }
    }
}
