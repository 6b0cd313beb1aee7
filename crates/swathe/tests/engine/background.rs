//! Runs in the background: as an iterator, as a future, cancelled, dropped.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use swathe::{Budget, Settings, Stop};

use crate::sieve::{Field, Refusal, Sieve, Twist, Watchdog, fields};

fn settings() -> Settings {
    Settings {
        n_threads: 2,
        memory: Budget::new(1 << 20),
        stop: Stop::new(),
        ..Settings::default()
    }
}

fn spawn(
    fields: &Arc<Vec<Field>>,
    settings: &Settings,
) -> (Arc<Sieve>, swathe::Run<Vec<u64>, Refusal>) {
    let sieve = Sieve::new(&settings.memory);
    let run = swathe::spawn(Arc::clone(&sieve), sieve.source(fields), settings.clone());
    (sieve, run)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn an_iterator() {
    let _watchdog = Watchdog::start();
    let all = Arc::new(fields(3000, 24));
    let (_, mut run) = spawn(&all, &settings());
    let mut seen = vec![false; all.len()];
    for done in run.by_ref() {
        assert!(!std::mem::replace(&mut seen[done.index], true));
        assert_eq!(done.outcome.solution(), Some(&all[done.index].oracle()));
    }
    assert!(seen.into_iter().all(|seen| seen));
    assert_eq!(run.report().counts.n_solved, 3000);
}

#[test]
fn a_future() {
    let _watchdog = Watchdog::start();
    // With few outcomes each needs the waker; with many the channel is full most of the time.
    for n in [0, 1, 5, 5000] {
        let all = Arc::new(fields(n, 25));
        let (_, run) = spawn(&all, &settings());
        let (outcomes, report) = block_on(run);
        assert_eq!(outcomes.len(), n);
        for (outcome, field) in outcomes.iter().zip(all.iter()) {
            let solution = outcome.as_ref().and_then(|outcome| outcome.solution());
            assert_eq!(solution, Some(&field.oracle()));
        }
        assert_eq!(report.counts.n_solved, n as u64);
    }
}

/// A future that is pending most of the time is woken every time.
#[test]
fn a_future_of_slow_problems() {
    let _watchdog = Watchdog::start();
    let slow = Twist::Takes { load: Duration::ZERO, solve: Duration::from_millis(3) };
    let all: Vec<Field> = fields(50, 26).into_iter().map(|field| field.twisted(slow)).collect();
    let (_, run) = spawn(&Arc::new(all), &settings());
    let (outcomes, _) = block_on(run);
    assert!(outcomes.iter().all(Option::is_some));
}

#[test]
fn cancelled() {
    let _watchdog = Watchdog::start();
    let mut all = fields(1000, 27);
    for field in &mut all[500..] {
        *field = field.twisted(Twist::LoopsAndPolls);
    }
    let settings = Settings { batch_size: swathe::BatchSize::Fixed(1), ..settings() };
    let (_, mut run) = spawn(&Arc::new(all), &settings);
    let first = run.next();
    assert!(first.is_some());
    run.cancel();
    let n_rest = run.by_ref().count() as u64;
    let report = run.report();
    assert!(!settings.stop.requested(), "other runs may follow it");
    assert_eq!(report.counts.n_done(), 1 + n_rest);
    assert!(report.cancelled);

    let (_, run) = spawn(&Arc::new(fields(1000, 28)), &settings);
    run.cancel();
    let (outcomes, report) = block_on(run);
    let n_some = outcomes.iter().flatten().count() as u64;
    assert_eq!(n_some, report.counts.n_done());
}

#[test]
fn dropped() {
    let _watchdog = Watchdog::start();
    for twist in [Twist::None, Twist::LoopsAndPolls, Twist::LoopsAsleep] {
        let all: Vec<Field> =
            fields(20_000, 29).into_iter().map(|field| field.twisted(twist)).collect();
        let settings = Settings { grace: Duration::from_millis(50), ..settings() };
        let (sieve, run) = spawn(&Arc::new(all), &settings);
        std::thread::sleep(Duration::from_millis(20));
        let began = Instant::now();
        drop(run);
        assert!(began.elapsed() < Duration::from_secs(10), "{twist:?}");
        assert!(!settings.stop.requested(), "other runs may follow it");
        sieve.released.store(true, Ordering::Relaxed);
        // All workers release the workload, abandoned ones as soon as they return.
        while Arc::strong_count(&sieve) > 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
