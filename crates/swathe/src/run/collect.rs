//! Collecting: the work of the caller's thread while the workers solve.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::ledger::Ledger;
use super::{Delivery, Message, Shared};
use crate::report::{Counts, EndCause, Event, Report, Setback, Verification, WorkerFigures};
use crate::{Finish, Workload};

/// What the caller's thread collects.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) counts: Counts,
    pub(super) workers: Vec<WorkerFigures>,
    pub(super) ledger: Ledger,
    pub(super) setbacks: Vec<Setback>,
    pub(super) n_setbacks: u64,
    pub(super) verification: Verification,
    pub(super) ended_by: Option<EndCause>,
}

/// How often the caller and its observer are called while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// Receives messages until the last worker has ended.
pub(super) fn collect<F: Finish>(
    shared: &Shared<F>,
    n_workers: usize,
    take: &mut dyn FnMut(Delivery<F::Finished, F::Failure>) -> ControlFlow<()>,
) -> Collected {
    let mut collected = Collected::default();
    collected.counts.n_problems = shared.source.n_problems() as u64;
    let tell = |event: Event| {
        if let Some(observer) = &shared.settings.observer {
            observer.tell(&event);
        }
    };
    let mut n_live = n_workers;
    let mut wanted = true;
    let mut take = |delivery: Delivery<F::Finished, F::Failure>, wanted: &mut bool| {
        if *wanted && take(delivery).is_break() {
            *wanted = false;
            shared.stop.end_run();
            shared.queue.wake();
        }
    };
    let mut ticked = shared.started;
    while n_live > 0 {
        let message = shared.mailbox.receive(TICK.saturating_sub(ticked.elapsed()));
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            if shared.settings.observer.is_some() {
                tell(shared.sampled());
            }
            take(Delivery::Tick, &mut wanted);
        }
        let Some(message) = message else { continue };
        match message {
            Message::Outcomes { done, launch, checked, _held } => {
                for done in done {
                    if !wanted {
                        break;
                    }
                    collected.counts.add(done.outcome.kind());
                    take(Delivery::Done(done), &mut wanted);
                }
                let counts = &collected.counts;
                shared.n_done.store(counts.n_done(), Ordering::Relaxed);
                shared.n_unsolved.store(counts.n_unsolved(), Ordering::Relaxed);
                shared.sample();
                collected.verification.n_checked += checked.n_checked;
                for mismatch in checked.mismatches {
                    tell(Event::Mismatch(mismatch.clone()));
                    collected.verification.mismatches.push(mismatch);
                }
                tell(Event::Progress {
                    counts: collected.counts,
                    elapsed: shared.started.elapsed(),
                });
                if let Some(entry) = launch {
                    if shared.settings.observer.is_some() {
                        tell(Event::Launched(entry.launch.clone()));
                    }
                    let class_name = |class| shared.workload().class_name(class);
                    collected.ledger.enter(entry, class_name);
                }
            }
            Message::Setback(setback) => {
                collected.n_setbacks += 1;
                tell(Event::Setback(setback.clone()));
                if collected.setbacks.len() < Report::N_SETBACKS_KEPT {
                    collected.setbacks.push(setback);
                }
            }
            Message::WorkerSpawned => n_live += 1,
            Message::Abandoned => n_live -= 1,
            Message::EndedBy(cause) => collected.ended_by = Some(cause),
            Message::Broken(panic) => resume_unwind(panic),
            Message::Ended(figures) => {
                n_live -= 1;
                collected.workers.push(figures);
            }
        }
    }
    if n_workers == 0 && collected.counts.n_problems > 0 {
        collected.ended_by = Some(EndCause::NoThread);
    }
    collected.verification.n_skipped =
        shared.verify.len() as u64 - collected.verification.n_checked;
    collected.workers.sort_by_key(|figures| figures.worker);
    collected.verification.mismatches.sort_by_key(|mismatch| mismatch.problem);
    collected
}
