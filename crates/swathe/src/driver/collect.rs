//! Collecting: the work of the caller's thread while the workers solve.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::ledger::Ledger;
use super::{Message, News, Started};
use crate::report::{Counts, EndCause, Event, Report, Setback, Verification, WorkerFigures};
use crate::run::Delivery;
use crate::{Finish, Workload};

/// What the caller's thread collects.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) counts: Counts,
    pub(crate) workers: Vec<WorkerFigures>,
    pub(crate) ledger: Ledger,
    pub(crate) setbacks: Vec<Setback>,
    pub(crate) n_setbacks: u64,
    pub(crate) verification: Verification,
    pub(crate) ended_by: Option<EndCause>,
}

/// How often the caller and its observer are called while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// Receives messages until the last worker has ended.
pub(crate) fn collect<F: Finish>(
    run: &Started<F>,
    take: &mut dyn FnMut(Delivery<F::Finished, F::Failure>) -> ControlFlow<()>,
) -> Collected {
    let driver = &run.driver;
    let mut collected = Collected::default();
    collected.counts.n_problems = driver.source.n_problems() as u64;
    let tell = |event: Event| {
        if let Some(observer) = &driver.settings.observer {
            observer.tell(&event);
        }
    };
    let mut wanted = true;
    let mut take = |delivery: Delivery<F::Finished, F::Failure>, wanted: &mut bool| {
        if *wanted && take(delivery).is_break() {
            *wanted = false;
            driver.stop.end_run();
            driver.tell(News::Cancel);
        }
    };
    let mut ticked = driver.started;
    let mut n_quit = None;
    while n_quit.is_none_or(|n_quit| collected.workers.len() < n_quit) {
        let message = run.messages.recv_timeout(TICK.saturating_sub(ticked.elapsed()));
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            if driver.settings.observer.is_some() {
                tell(driver.sampled());
            }
            take(Delivery::Tick, &mut wanted);
        }
        let Ok(message) = message else { continue };
        match message {
            Message::Outcomes { done, launch, checked, _held } => {
                let has_outcomes = !done.is_empty();
                for done in done {
                    if !wanted {
                        break;
                    }
                    collected.counts.add(done.outcome.kind());
                    take(Delivery::Done(done), &mut wanted);
                }
                drop(_held);
                let counts = &collected.counts;
                driver.n_done.store(counts.n_done(), Ordering::Relaxed);
                driver.n_unsolved.store(counts.n_unsolved(), Ordering::Relaxed);
                if has_outcomes {
                    driver.took();
                }
                driver.sample();
                collected.verification.n_checked += checked.n_checked;
                for mismatch in checked.mismatches {
                    tell(Event::Mismatch(mismatch.clone()));
                    collected.verification.mismatches.push(mismatch);
                }
                tell(Event::Progress {
                    counts: collected.counts,
                    elapsed: driver.started.elapsed(),
                });
                if let Some(entry) = launch {
                    if driver.settings.observer.is_some() {
                        tell(Event::Launched(entry.launch.clone()));
                    }
                    let class_name = |class| driver.workload().class_name(class);
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
            Message::EndedBy(cause) => collected.ended_by = Some(cause),
            Message::Broken(panic) => resume_unwind(panic),
            Message::Ended(figures) => collected.workers.push(figures),
            Message::Over(n) => n_quit = Some(n),
        }
    }
    if collected.counts.n_problems == 0 {
        // A run without problems needs no thread either.
        collected.ended_by = None;
    }
    collected.verification.n_skipped =
        driver.verify.len() as u64 - collected.verification.n_checked;
    collected.workers.sort_by_key(|figures| figures.worker);
    collected.verification.mismatches.sort_by_key(|mismatch| mismatch.problem);
    collected
}
