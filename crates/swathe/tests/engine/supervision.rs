//! No run hangs or loses finished outcomes, whichever part stands still.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use swathe::{
    AsSolved, BatchSize, Budget, Costs, Delivery, Device, DeviceId, DeviceUse, EndCause, Event,
    Faults, Finish, Host, Observer, Outcome, OutcomeKind, Placement, Report, Routing, SetbackCause,
    Settings, Size, Stop, Workload,
};

use crate::sieve::{
    Field, Loaded, Refusal, Sieve, Twist, Watchdog, check, fields, late_if, mix, patiently, run,
};

/// Devices that need no driver.
pub(crate) fn hosts(n: usize) -> Vec<Device> {
    let host = |number| Host { number, launch_bytes_max: None };
    (0..n).map(|number| Device::Host(host(number))).collect()
}

fn settings(n_devices: usize, faults: &str) -> Settings {
    let faults: Faults = faults.parse().unwrap();
    Settings {
        n_threads: 2,
        n_prefetch: 1,
        devices: hosts(n_devices),
        routing: Routing::Launch,
        memory: Budget::with_faults(4 << 20, faults),
        time_limit: Duration::from_millis(300),
        grace: Duration::from_millis(100),
        ..Settings::default()
    }
}

/// Fields of one class that devices can take.
fn launchable(n: u64, class: u64) -> Vec<Field> {
    (0..n).map(|k| Field::new(mix(k) / 2 * 2 + class, 3, 5)).collect()
}

fn n_launched(report: &Report) -> u64 {
    let parts = report.routes.iter().flat_map(|route| &route.devices);
    let parts = parts.filter(|part| part.device != DeviceId::Cpu);
    parts.map(|part| part.n_lanes).sum()
}

/// Problems that a placement assigns to devices are solved only there, and the rest only on the
/// CPU, however fast either is.
#[test]
fn a_placement_decides_where_problems_are_solved() {
    let mut all = launchable(60, 0);
    let n_small = all.len() as u64;
    all.extend((0..60).map(|k| Field::new(mix(k) / 2 * 2, 30, 50)));
    let mut costs = Costs::default();
    let memory = Budget::new(4 << 20);
    let sieve = Sieve::new(&memory);
    let all = Arc::new(all);
    let small = sieve.source(&all).size(0).expect("a field has a size");
    costs.learn(Sieve::NAME, &small, DeviceId::Cpu, 1, Duration::from_millis(9));
    costs.learn(Sieve::NAME, &small, DeviceId::Host(0), 1, Duration::from_millis(1));
    let form = |size: &Size| sieve.launch_form(size);
    let hosts = [DeviceId::Host(0)];
    let placement = Placement::decide(Sieve::NAME, &costs, &[small], form, &hosts, 2, None);
    for (placement, n_expected) in [(placement, n_small), (Placement::default(), 0)] {
        let settings = Settings {
            routing: Routing::Measured,
            placement: Some(placement),
            time_limit: Duration::from_secs(60),
            ..settings(1, "")
        };
        let report = check(&Sieve::new(&settings.memory), &all, &settings);
        assert_eq!(n_launched(&report), n_expected, "{:?}", report.routes);
    }
}

/// The caller gets ticks from a run in which nothing is finished for a while.
#[test]
fn ticks_come_between_outcomes() {
    let mut all = fields(20, 31);
    all[19] = all[19].twisted(Twist::LoopsAndPolls);
    let settings = Settings { time_limit: Duration::from_secs(2), ..settings(0, "") };
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(all));
    let finish = Arc::new(AsSolved(Arc::clone(&sieve)));
    let (mut n_done, mut n_ticks_late) = (0, 0);
    let _watchdog = Watchdog::start();
    swathe::run_finishing(&finish, &source, &settings, &mut |delivery| {
        match delivery {
            Delivery::Done(_) => n_done += 1,
            Delivery::Tick if n_done == 19 => n_ticks_late += 1,
            Delivery::Tick => {}
        }
        ControlFlow::Continue(())
    });
    assert_eq!(n_done, 20);
    assert!(n_ticks_late >= 2, "{n_ticks_late}");
}

/// Every worker of a device gets stuck in a load once. The device continues with new workers, and
/// problems that only it may take are solved.
#[test]
fn stuck_loaders_of_a_device_are_replaced() {
    let test = |routing, time_limit| {
        let mut all = launchable(400, 0);
        for k in [0, 1, 2, 3, 100, 101] {
            all[k] = all[k].twisted(Twist::LoadLoopsOnce);
        }
        let settings =
            Settings { routing, batch_size: BatchSize::Fixed(2), time_limit, ..settings(1, "") };
        let sieve = Sieve::new(&settings.memory);
        let report = check(&sieve, &Arc::new(all), &settings);
        sieve.released.store(true, Ordering::Relaxed);
        assert_eq!(report.counts.n_timed_out, 6, "{routing:?}");
        if routing == Routing::Launch {
            assert!(n_launched(&report) >= 300, "{:?}", report.routes);
        }
    };
    for routing in [Routing::Launch, Routing::Measured] {
        patiently(300, |time_limit| test(routing, time_limit));
    }
}

/// A driver hangs while a device is being reopened: the device is retired, and its launch continues
/// elsewhere.
#[test]
fn a_device_that_hangs_while_it_is_reopened_is_given_up() {
    patiently(300, |time_limit| {
        let all = Arc::new(launchable(60, 0));
        let settings = Settings { time_limit, ..settings(1, "lost@launch:1,slow@reopen:1=3600s") };
        let report = check(&Sieve::new(&settings.memory), &all, &settings);
        let retired = report.devices.iter().find_map(|device| match device {
            DeviceUse::Host(host) => host.retired.clone(),
            _ => None,
        });
        assert_eq!(retired.as_deref(), Some("its driver does not come back"));
        let mut causes = report.setbacks.iter().map(|setback| &setback.cause);
        assert!(causes.any(|cause| *cause == SetbackCause::DeviceTimedOut));
    });
}

/// A check that never ends does not affect the answer that it was to check.
#[test]
fn a_check_that_never_ends_changes_no_outcome() {
    let test = |n_devices, time_limit| {
        let mut all = launchable(30, 0);
        for k in [0, 7, 29] {
            all[k] = all[k].twisted(Twist::AnswersOnce);
        }
        let settings = Settings {
            n_verify: 30,
            batch_size: BatchSize::Fixed(10),
            time_limit,
            ..settings(n_devices, "")
        };
        let sieve = Sieve::new(&settings.memory);
        let report = check(&sieve, &Arc::new(all), &settings);
        sieve.released.store(true, Ordering::Relaxed);
        assert_eq!(report.counts.n_solved, 30);
        late_if(report.verification.n_skipped > 3);
        assert_eq!(report.verification.n_checked, 27);
        assert_eq!(report.verification.n_skipped, 3);
        assert!(report.verification.mismatches.is_empty());
    };
    for n_devices in [0, 1] {
        patiently(300, |time_limit| test(n_devices, time_limit));
    }
}

/// Finishes as solved, except that one problem's finishing never ends.
struct StuckFinish(Arc<Sieve>, usize);

impl Finish for StuckFinish {
    type Workload = Sieve;
    type Finished = Vec<u64>;
    type Failure = Refusal;

    fn workload(&self) -> &Sieve {
        &self.0
    }

    fn finish(
        &self,
        index: usize,
        _: &Loaded,
        solution: Vec<u64>,
        _: &Stop,
    ) -> Result<Vec<u64>, Refusal> {
        while index == self.1 && !self.0.released.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(solution)
    }
}

/// Lanes that a launch hands to the CPU are solved there although the finishing, or the check, of
/// another lane of the launch never ends.
#[test]
fn lanes_handed_over_do_not_wait_for_the_rest_of_their_launch() {
    let test = |is_check: bool, time_limit| {
        let mut all = launchable(16, 0);
        for k in (1..16).step_by(4) {
            all[k] = all[k].twisted(Twist::NeedsCpu);
        }
        if is_check {
            all[2] = all[2].twisted(Twist::AnswersOnce);
        }
        let settings = Settings {
            n_verify: if is_check { 16 } else { 0 },
            batch_size: BatchSize::Fixed(16),
            time_limit,
            ..settings(1, "")
        };
        let all = Arc::new(all);
        let sieve = Sieve::new(&settings.memory);
        let index_stuck = if is_check { usize::MAX } else { 2 };
        let finish = Arc::new(StuckFinish(Arc::clone(&sieve), index_stuck));
        let (mut n_solved, mut n_timed_out) = (0, 0);
        let _watchdog = Watchdog::start();
        let source = sieve.source(&all);
        swathe::run_finishing(&finish, &source, &settings, &mut |delivery| {
            if let Delivery::Done(done) = delivery {
                match done.outcome {
                    Outcome::Solved(sums) => {
                        assert_eq!(sums, all[done.index].oracle());
                        n_solved += 1;
                    }
                    Outcome::TimedOut { .. } => n_timed_out += 1,
                    other => panic!("{other:?}"),
                }
            }
            ControlFlow::Continue(())
        });
        sieve.released.store(true, Ordering::Relaxed);
        let n_stuck = usize::from(!is_check);
        late_if(n_timed_out > n_stuck);
        assert_eq!((n_solved, n_timed_out), (16 - n_stuck, n_stuck));
    };
    for is_check in [false, true] {
        patiently(300, |time_limit| test(is_check, time_limit));
    }
}

/// Counts how often each problem is finished.
struct Counted {
    sieve: Arc<Sieve>,
    n_finished: Vec<AtomicUsize>,
}

impl Finish for Counted {
    type Workload = Sieve;
    type Finished = usize;
    type Failure = Refusal;

    fn workload(&self) -> &Sieve {
        &self.sieve
    }

    fn finish(
        &self,
        index: usize,
        _: &Loaded,
        solution: Vec<u64>,
        _: &Stop,
    ) -> Result<usize, Refusal> {
        self.n_finished[index].fetch_add(1, Ordering::Relaxed);
        Ok(solution.len())
    }
}

/// A delivered solution is finished exactly once, whatever is retried, verified or lost.
#[test]
fn solutions_are_finished_exactly_once() {
    let test = |n_devices, faults, time_limit| {
        let mut all = launchable(200, 0);
        all[50] = all[50].twisted(Twist::AnswersOnce);
        let all = Arc::new(all);
        let settings = Settings {
            n_verify: 200,
            batch_size: BatchSize::Fixed(8),
            time_limit,
            ..settings(n_devices, faults)
        };
        let sieve = Sieve::new(&settings.memory);
        let counted = Arc::new(Counted {
            sieve: Arc::clone(&sieve),
            n_finished: (0..200).map(|_| AtomicUsize::new(0)).collect(),
        });
        let _watchdog = Watchdog::start();
        let source = sieve.source(&all);
        let report = swathe::run_finishing(&counted, &source, &settings, &mut |delivery| {
            if let Delivery::Done(done) = delivery
                && !matches!(done.outcome, Outcome::TimedOut { .. })
            {
                assert!(matches!(done.outcome, Outcome::Solved(3)));
            }
            ControlFlow::Continue(())
        });
        sieve.released.store(true, Ordering::Relaxed);
        late_if(report.counts.n_timed_out > 0);
        assert_eq!(report.counts.n_solved, 200);
        for (k, n) in counted.n_finished.iter().enumerate() {
            assert_eq!(n.load(Ordering::Relaxed), 1, "problem {k}, {faults}");
        }
    };
    for (n_devices, faults) in [(0, ""), (0, "oom%10:seed=1,lost%10:seed=2"), (2, "lost%20:seed=3")]
    {
        patiently(300, |time_limit| test(n_devices, faults, time_limit));
    }
}

/// Stuck solvers that return later no longer count.
#[test]
fn solvers_that_come_back_do_not_add_up() {
    let mut all = fields(160, 34);
    for k in (0..160).step_by(2) {
        all[k] = all[k]
            .twisted(Twist::Takes { load: Duration::ZERO, solve: Duration::from_millis(150) });
    }
    let settings = Settings {
        n_stuck_max: 40,
        time_limit: Duration::from_millis(20),
        grace: Duration::from_millis(10),
        ..settings(0, "")
    };
    let ran = run(&Sieve::new(&settings.memory), &Arc::new(all), &settings);
    assert_eq!(ran.report.ended_by, None);
    // The others may exceed so short a limit too.
    let n_late = |kinds: &[OutcomeKind]| {
        let late = kinds.iter().step_by(2);
        late.filter(|kind| **kind == OutcomeKind::TimedOut).count()
    };
    assert_eq!(n_late(&ran.kinds), 80);
}

/// A caller that stalls blocks neither the watchdog nor the time limit of a solver.
#[test]
fn limits_hold_while_the_caller_stalls() {
    patiently(300, stall);
}

fn stall(time_limit: Duration) {
    // All of one kind, so that they are taken in this order.
    let mut all: Vec<Field> = (0..400).map(|k| Field::new(10 * k, 2, 2)).collect();
    for field in &mut all[..2] {
        *field = field.twisted(Twist::LoopsAsleep);
    }
    all[2] = all[2].twisted(Twist::LoopsAndPolls);
    let settings = Settings {
        n_threads: 3,
        n_prefetch: 3,
        batch_size: BatchSize::Fixed(1),
        time_limit,
        ..settings(0, "")
    };
    let sieve = Sieve::new(&settings.memory);
    let source = sieve.source(&Arc::new(all));
    let _watchdog = Watchdog::start();
    let report = swathe::run(&sieve, &source, &settings, &mut |_| {
        // Two solvers must have been abandoned and the third stopped before the caller continues.
        while sieve.n_stopped.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        ControlFlow::Continue(())
    });
    sieve.released.store(true, Ordering::Relaxed);
    late_if(report.counts.n_timed_out > 3);
    assert_eq!(report.counts.n_timed_out, 3);
    assert_eq!(report.counts.n_done(), 400);
}

/// The first thread is the timer, the second a worker for the CPU, which is tried twice.
#[test]
fn threads_that_are_refused_are_done_without() {
    let all = Arc::new(fields(100, 39));
    let settings =
        |rule: &str| Settings { time_limit: Duration::from_secs(30), ..settings(1, rule) };
    for rule in ["oom@thread:1", "oom@thread:2,oom@thread:3"] {
        let settings = settings(rule);
        let sieve = Sieve::new(&settings.memory);
        let _watchdog = Watchdog::start();
        let source = sieve.source(&all);
        let report = swathe::run(&sieve, &source, &settings, &mut |_| panic!("nothing is solved"));
        assert_eq!(report.ended_by, Some(EndCause::NoThread), "{rule}");
        assert_eq!(report.n_setbacks, 0, "{rule}");
    }
    // Three workers for the CPU, then two for the device.
    for (rule, n_refused) in
        [("oom@thread:2", 0), ("oom@thread:3,oom@thread:4", 2), ("oom@thread:5,oom@thread:6", 2)]
    {
        let settings = settings(rule);
        let report = check(&Sieve::new(&settings.memory), &all, &settings);
        let causes: Vec<_> = report.setbacks.iter().map(|setback| setback.cause.clone()).collect();
        let refused = (n_refused > 0).then_some(SetbackCause::ThreadsRefused { n_refused });
        assert_eq!(causes, Vec::from_iter(refused), "{rule}");
        assert_eq!(n_launched(&report) > 0, !rule.contains("thread:5"), "{rule}");
    }
}

#[test]
fn the_longest_limit_is_no_limit() {
    for n_devices in [0, 1] {
        let settings =
            Settings { time_limit: Duration::MAX, grace: Duration::MAX, ..settings(n_devices, "") };
        let all = Arc::new(fields(300, 36));
        check(&Sieve::new(&settings.memory), &all, &settings);
    }
}

/// All events arrive on the thread that called `run`.
#[test]
fn the_observer_is_called_on_the_callers_thread() {
    let threads: Arc<Mutex<HashSet<ThreadId>>> = Arc::default();
    let has_sampled = Arc::new(AtomicBool::new(false));
    let (seen, sampled) = (Arc::clone(&threads), Arc::clone(&has_sampled));
    let observer = Observer::new(move |event| {
        if matches!(event, Event::Sampled { .. }) {
            sampled.store(true, Ordering::Relaxed);
        }
        seen.lock().unwrap().insert(std::thread::current().id());
    });
    patiently(300, |time_limit| {
        let mut all = fields(50, 37);
        all[10] = all[10].twisted(Twist::LoopsAsleep);
        let settings = Settings {
            observer: Some(observer.clone()),
            time_limit,
            ..settings(1, "oom%10:seed=1")
        };
        let sieve = Sieve::new(&settings.memory);
        check(&sieve, &Arc::new(all), &settings);
        sieve.released.store(true, Ordering::Relaxed);
    });
    assert!(has_sampled.load(Ordering::Relaxed));
    let here = HashSet::from([std::thread::current().id()]);
    assert_eq!(*threads.lock().unwrap(), here);
}

/// Verifying a workload that cannot compare answers is refused, not silently skipped.
#[test]
#[should_panic(expected = "cannot be verified")]
fn verifying_what_cannot_be_compared_is_refused() {
    struct Blind;
    impl Workload for Blind {
        type Problem = ();
        type Solution = ();
        type Failure = std::convert::Infallible;
        type Scratch = ();
        type Local = ();
        const NAME: &'static str = "blind";
        fn size(&self, (): &()) -> Size {
            Size::of(swathe::Shape::default())
        }
        fn need(&self, _: &Size, _: swathe::DeviceKind) -> swathe::Need {
            swathe::Need::default()
        }
        fn scratch(&self) {}
        fn local(&self) {}
        fn solve(
            &self,
            (): &(),
            (): &mut (),
            (): &mut (),
            _: &Stop,
        ) -> Result<(), std::convert::Infallible> {
            Ok(())
        }
    }
    let blind = Arc::new(Blind);
    let source = swathe::Source::from_vec(&blind, vec![(); 3]);
    let settings = Settings { n_verify: 1, ..Settings::default() };
    swathe::run(&blind, &source, &settings, &mut |_| ControlFlow::Continue(()));
}

/// Panics that become outcomes can be distinguished from others, whatever the name of the thread.
#[test]
fn panics_of_solvers_are_guarded() {
    assert!(!swathe::is_guarded());
    static N_GUARDED: AtomicUsize = AtomicUsize::new(0);
    crate::sieve::quiet_panics();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        N_GUARDED.fetch_add(usize::from(swathe::is_guarded()), Ordering::Relaxed);
        usual(info);
    }));
    let mut all = fields(20, 38);
    all[3] = all[3].twisted(Twist::Panics);
    all[4] = all[4].twisted(Twist::LoadPanics);
    all[5] = all[5].twisted(Twist::SizePanics);
    let settings = Settings { time_limit: Duration::from_secs(30), ..settings(0, "") };
    check(&Sieve::new(&settings.memory), &Arc::new(all), &settings);
    assert!(N_GUARDED.load(Ordering::Relaxed) >= 3);
}
