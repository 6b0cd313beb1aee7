//! Runs in the background.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use crate::finish::AsSolved;
use crate::run::{Delivery, Done, run_until};
use crate::{Outcome, OwnedWorkload, Report, Settings, Source, Stop};

/// Starts a run on a thread of its own.
///
/// ```
/// # use std::convert::Infallible;
/// # use std::sync::Arc;
/// # use swathe::{DeviceKind, Need, Settings, Shape, Size, Source, Stop, Workload};
/// # struct Square;
/// # impl Workload for Square {
/// #     type Problem = u64; type Solution = u64; type Failure = Infallible;
/// #     type Scratch = (); type Local = ();
/// #     const NAME: &'static str = "square";
/// #     fn size(&self, _: &u64) -> Size { Size::of(Shape::default()) }
/// #     fn need(&self, _: &Size, _: DeviceKind) -> Need { Need::default() }
/// #     fn scratch(&self) {}
/// #     fn local(&self) {}
/// #     fn solve(&self, n: &u64, _: &mut (), _: &mut (), _: &Stop) -> Result<u64, Infallible> { Ok(n * n) }
/// # }
/// let square = Arc::new(Square);
/// let source = Source::from_vec(&square, (0..100).collect());
/// let mut run = swathe::spawn(square, source, Settings::default());
/// let sum: u64 = run.by_ref().filter_map(|done| done.outcome.solution().copied()).sum();
/// assert_eq!(sum, 328350);
/// assert_eq!(run.report().counts.n_solved, 100);
/// ```
///
/// # Panics
/// If the system refuses to start a thread.
pub fn spawn<W: OwnedWorkload>(
    workload: Arc<W>,
    source: Source<W::Problem, W::Failure>,
    settings: Settings,
) -> Run<W::Solution, W::Failure> {
    // A small capacity gives back-pressure: the receiver of the outcomes sets the pace.
    let (sender, receiver) = sync_channel(64);
    let stop = settings.stop.for_run();
    let its_stop = stop.clone();
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let wakes = Arc::clone(&waker);
    let n_problems = source.n_problems();
    let thread = std::thread::Builder::new()
        .name("swathe-run".to_owned())
        .spawn(move || {
            // Wakes the task once more when this thread ends for any reason. The channel is closed
            // by then, because locals are dropped in reverse order.
            let last_wake = WakesAtEnd(wakes);
            let sender = sender;
            let finish = Arc::new(AsSolved(workload));
            run_until(&finish, &source, &settings, its_stop, &mut |delivery| {
                let Delivery::Done(done) = delivery else {
                    return ControlFlow::Continue(());
                };
                let taken = sender.send(done);
                last_wake.wake();
                if taken.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
        })
        .expect("the system can start a thread");
    Run { receiver, thread: Some(thread), stop, waker, n_problems, outcomes: Vec::new() }
}

struct WakesAtEnd(Arc<Mutex<Option<Waker>>>);

impl WakesAtEnd {
    fn wake(&self) {
        let waker = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for WakesAtEnd {
    fn drop(&mut self) {
        self.wake();
    }
}

/// A run in the background: an iterator over its outcomes as they arrive, or a future of all
/// outcomes in the order of the problems. Dropping it cancels the run.
///
/// Outcomes that wait in the channel (at most 64) no longer count against the memory budget.
pub struct Run<S, E> {
    receiver: Receiver<Done<S, E>>,
    thread: Option<JoinHandle<Report>>,
    stop: Stop,
    waker: Arc<Mutex<Option<Waker>>>,
    n_problems: usize,
    /// The outcomes that the future has collected. Empty until the first poll, so that a caller
    /// that iterates does not pay for the memory of all outcomes.
    outcomes: Vec<Option<Outcome<S, E>>>,
}

impl<S, E> Run<S, E> {
    /// Cancels this run. Other runs that follow the same [`Settings::stop`] continue. Outcomes that
    /// are finished can still be taken.
    pub fn cancel(&self) {
        self.stop.end_run();
    }

    /// Waits for the end of the run and returns its figures; outcomes not taken are dropped.
    ///
    /// # Panics
    /// If the thread of the run panicked.
    pub fn report(mut self) -> Report {
        while self.receiver.recv().is_ok() {}
        self.join()
    }

    fn join(&mut self) -> Report {
        let thread = self.thread.take().expect("a run is joined once");
        match thread.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl<S, E> Iterator for Run<S, E> {
    type Item = Done<S, E>;

    /// The next outcome, in the order of completion.
    fn next(&mut self) -> Option<Done<S, E>> {
        self.receiver.recv().ok()
    }
}

// No field is pinned.
impl<S, E> Unpin for Run<S, E> {}

impl<S, E> Future for Run<S, E> {
    /// The outcomes by problem (`None` for those a cancelled run did not reach) and the figures.
    type Output = (Vec<Option<Outcome<S, E>>>, Report);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Stored before the channel is polled, so that an outcome that arrives in between still
        // wakes the task.
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        if self.outcomes.is_empty() {
            let n_problems = self.n_problems;
            self.outcomes.resize_with(n_problems, || None);
        }
        loop {
            match self.receiver.try_recv() {
                Ok(done) => {
                    let index = done.index;
                    self.outcomes[index] = Some(done.outcome);
                }
                Err(TryRecvError::Empty) => return Poll::Pending,
                Err(TryRecvError::Disconnected) => {
                    let outcomes = std::mem::take(&mut self.outcomes);
                    return Poll::Ready((outcomes, self.join()));
                }
            }
        }
    }
}

impl<S, E> Drop for Run<S, E> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop.end_run();
            while self.receiver.recv().is_ok() {}
            let _ = thread.join();
        }
    }
}
