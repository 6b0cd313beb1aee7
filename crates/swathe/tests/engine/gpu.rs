//! The engine with graphics processors, including faulty ones.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use swathe::{
    BatchSize, Budget, Device, DeviceId, DeviceUse, FaultPoint, Faults, Gpu, GpuSearch, Gpus,
    OutcomeKind, Padding, RefusedReason, Remedy, Report, Routing, SetbackCause, Settings,
};

use crate::sieve::{
    Field, SUM_PRIMES, Sieve, Twist, check, fields, late_if, mix, patiently, released, run,
};

/// `n` devices to test with. Software devices are enough: continuous integration has no others.
fn gpus(n: usize) -> Option<Vec<Gpu>> {
    static ALL: OnceLock<Vec<Gpu>> = OnceLock::new();
    some_of(ALL.get_or_init(|| open(4)), n)
}

/// Devices that no other test uses, for tests that lose them.
fn own_gpus(n: usize) -> Option<Vec<Gpu>> {
    some_of(&open(n), n)
}

fn open(n_copies: usize) -> Vec<Gpu> {
    let search = GpuSearch { software: true, n_copies, ..GpuSearch::default() };
    Gpus::find(&search).usable
}

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn some_of(all: &[Gpu], n: usize) -> Option<Vec<Gpu>> {
    if all.len() < n {
        println!("SKIPPED: no graphics processor, not even a software one (mesa-vulkan-drivers)");
        return None;
    }
    Some(all[..n].to_vec())
}

fn settings(gpus: &[Gpu], faults: &Faults) -> Settings {
    Settings {
        n_threads: 2,
        n_prefetch: 1,
        batch_size: BatchSize::Fixed(16),
        devices: gpus.iter().cloned().map(Device::Gpu).collect(),
        routing: Routing::Launch,
        memory: Budget::with_faults(4 << 20, faults.clone()),
        ..Settings::default()
    }
}

/// Runs with these faults and checks every answer and that all memory was released.
fn check_with(fields: &Arc<Vec<Field>>, gpus: &[Gpu], faults: &Faults) -> Report {
    let settings = settings(gpus, faults);
    let budget = settings.memory.clone();
    let sieve = Sieve::new(&budget);
    let report = check(&sieve, fields, &settings);
    drop((settings, sieve));
    released(&budget);
    report
}

fn n_on_gpus(report: &Report) -> u64 {
    let parts = report.routes.iter().flat_map(|route| &route.devices);
    let parts = parts.filter(|part| part.device != DeviceId::Cpu);
    parts.map(|part| part.n_lanes).sum()
}

#[test]
fn the_kernel_is_valid() {
    SUM_PRIMES.validate().unwrap();
}

#[test]
fn one_and_four_devices_answer_like_the_cpu() {
    for n in [1, 4] {
        let Some(gpus) = gpus(n) else { return };
        let fields = Arc::new(fields(600, 1));
        let report = check_with(&fields, &gpus, &Faults::none());
        let n_single: u64 = fields.iter().filter(|field| field.n_columns == 1).count() as u64;
        assert_eq!(report.n_cpu_only, n_single);
        assert_eq!(n_on_gpus(&report), 600 - n_single);
        assert_eq!(report.n_setbacks, 0, "{:?}", report.setbacks);
        let uses = report.devices.iter().filter_map(|device| match device {
            DeviceUse::Gpu(gpu) => Some(gpu),
            DeviceUse::Cpu(_) | DeviceUse::Host(_) => None,
        });
        let uses: Vec<_> = uses.collect();
        assert_eq!(uses.len(), n);
        for gpu in uses {
            assert!(gpu.figures.n_dispatches > 0, "{gpu:?}");
            assert!(gpu.figures.n_buffers_reused > 0, "{gpu:?}");
            assert_eq!(gpu.retired, None);
        }
    }
}

#[test]
fn batches_orders_and_paddings_change_nothing() {
    let Some(gpus) = gpus(2) else { return };
    for size in [1, 2, 3, 7, 32, 1000] {
        for order in 0..2 {
            let mut fields = fields(300, 2);
            if order == 1 {
                fields.reverse();
            }
            let fields = Arc::new(fields);
            for padding in
                [Padding::Exact, Padding::Multiple(4), Padding::Auto { n_buckets_max: 2 }]
            {
                let settings = Settings {
                    batch_size: BatchSize::Fixed(size),
                    padding,
                    ..settings(&gpus, &Faults::none())
                };
                let report = check(&Sieve::new(&settings.memory), &fields, &settings);
                assert!(n_on_gpus(&report) > 200);
            }
        }
    }
}

#[test]
fn each_point_refused_in_turn() {
    let Some(gpus) = gpus(1) else { return };
    let fields = Arc::new(fields(120, 3));
    let counted = Faults::count_only();
    check_with(&fields, &gpus, &counted);
    let met = counted.n_met();
    for (point, n) in FaultPoint::ALL.into_iter().zip(met) {
        let is_elsewhere =
            matches!(point, FaultPoint::Store | FaultPoint::SelfTest | FaultPoint::Reopen);
        assert_eq!(n > 0, !is_elsewhere, "{point:?} was met {n} times");
    }
    let n_points: u64 = met.iter().sum();
    for k in 1..=n_points {
        let faults: Faults = format!("oom@{k}").parse().unwrap();
        check_with(&fields, &gpus, &faults);
    }
    let (mut n_injected, mut n_tried) = (0, 0);
    for (point, n) in FaultPoint::ALL.into_iter().zip(met) {
        let on_gpu =
            matches!(point, FaultPoint::Buffer | FaultPoint::Upload | FaultPoint::Readback);
        for k in (1..=n).filter(|_| on_gpu) {
            let faults: Faults = format!("oom@{}:{k}", point.name()).parse().unwrap();
            let report = check_with(&fields, &gpus, &faults);
            n_tried += 1;
            // Which points a run reaches depends on which worker claims what.
            if faults.n_injected() > 0 {
                n_injected += 1;
                let remedies: Vec<Remedy> = report.setbacks.iter().map(|s| s.remedy).collect();
                assert!(matches!(remedies[..], [Remedy::Split] | [Remedy::ToCpu]), "{remedies:?}");
            }
        }
    }
    assert!(2 * n_injected > n_tried, "{n_injected} of {n_tried}");
}

#[test]
fn points_refused_with_four_devices() {
    let Some(gpus) = gpus(4) else { return };
    let fields = Arc::new(fields(160, 13));
    let counted = Faults::count_only();
    check_with(&fields, &gpus, &counted);
    let n_points: u64 = counted.n_met().iter().sum();
    for k in (1..=n_points).step_by(3) {
        let faults: Faults = format!("oom@{k}").parse().unwrap();
        check_with(&fields, &gpus, &faults);
    }
}

#[test]
fn pairs_of_faults() {
    for n in [1, 4] {
        let Some(gpus) = own_gpus(n) else { return };
        let fields = Arc::new(fields(100, 14));
        let counted = Faults::count_only();
        check_with(&fields, &gpus, &counted);
        let met = counted.n_met();
        let n_points: u64 = met.iter().sum();
        for pair in 0..40u64 {
            let draw = |k: u64, below: u64| 1 + mix(mix(pair * 4 + k)) % below.max(1);
            let n_of = |point: FaultPoint| met[point as usize];
            let text = match pair % 4 {
                0 => format!("oom@{},oom@{}", draw(0, n_points), draw(1, n_points)),
                1 => format!(
                    "oom@{},lost@upload:{}",
                    draw(0, n_points),
                    draw(1, n_of(FaultPoint::Upload))
                ),
                2 => format!(
                    "lost@readback:{},oom@buffer:{}",
                    draw(0, n_of(FaultPoint::Readback)),
                    draw(1, n_of(FaultPoint::Buffer))
                ),
                _ => format!(
                    "lost@buffer:{},lost@{}",
                    draw(0, n_of(FaultPoint::Buffer)),
                    draw(1, n_of(FaultPoint::Launch))
                ),
            };
            check_with(&fields, &gpus, &text.parse().unwrap());
        }
    }
}

#[test]
fn a_lost_device_is_never_taken_for_a_full_one() {
    let Some(gpus) = own_gpus(1) else { return };
    let fields = Arc::new(fields(150, 4));
    let mut n_lost = 0;
    for point in ["launch", "upload", "readback", "buffer"] {
        for k in 1..=6 {
            let faults: Faults = format!("lost@{point}:{k}").parse().unwrap();
            let report = check_with(&fields, &gpus, &faults);
            for setback in &report.setbacks {
                let of_gpu = setback.device != DeviceId::Cpu;
                assert!(!of_gpu || setback.cause == SetbackCause::DeviceLost, "{setback:?}");
                n_lost += u64::from(of_gpu);
                assert!(!of_gpu || setback.remedy == Remedy::Reopened);
            }
        }
    }
    assert!(n_lost >= 20, "only {n_lost} losses");
}

#[test]
fn a_device_that_is_lost_again_and_again_is_retired_and_the_others_go_on() {
    let Some(gpus) = own_gpus(2) else { return };
    let fields = Arc::new(fields(300, 5));
    let faults: Faults = "lost%100:upload".parse().unwrap();
    let report = check_with(&fields, &gpus, &faults);
    assert_eq!(n_on_gpus(&report), 0);
    for device in &report.devices {
        if let DeviceUse::Gpu(gpu) = device {
            assert!(gpu.retired.is_some(), "{gpu:?}");
        }
    }
    let remedies = report.setbacks.iter().map(|setback| setback.remedy);
    assert_eq!(remedies.filter(|&r| r == Remedy::Retired).count(), 2);
    // The same devices serve the next run: a loss leaves no trace on them.
    let report = check_with(&fields, &gpus, &Faults::none());
    assert!(n_on_gpus(&report) > 200);
}

#[test]
fn a_seeded_share_of_everything() {
    for n in [1, 4] {
        let Some(gpus) = own_gpus(n) else { return };
        for seed in 0..6 {
            let fields = Arc::new(fields(200, seed));
            for rule in [
                format!("oom%10:seed={seed}"),
                format!("oom%10:seed={seed},lost%10:seed={seed}"),
                format!("lost%20:seed={seed}:readback"),
            ] {
                check_with(&fields, &gpus, &rule.parse().unwrap());
            }
        }
    }
}

/// A device with room for one lane finishes everything, and no lane is started more often than its
/// launch can be halved.
#[test]
fn a_device_that_fits_one_lane_halves_its_way_there() {
    let Some(gpus) = gpus(1) else { return };
    // All of one class and shape, so that 32 of them share a launch.
    let fields: Vec<Field> = (0..64).map(|k| Field::new(mix(k) & !1, 4, 4)).collect();
    let fields = Arc::new(fields);
    let settings =
        Settings { batch_size: BatchSize::Fixed(32), ..settings(&gpus, &Faults::none()) };
    let sieve = Sieve::new(&settings.memory);
    sieve.n_lanes_max.store(1, std::sync::atomic::Ordering::Relaxed);
    let mut n_attempts_max = 0;
    let mut n_solved = 0;
    let report = swathe::run(&sieve, &sieve.source(&fields), &settings, &mut |done| {
        assert_eq!(done.device, DeviceId::Gpu(0));
        assert_eq!(done.outcome.solution(), Some(&fields[done.index].oracle()));
        n_attempts_max = n_attempts_max.max(done.n_attempts);
        n_solved += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(n_solved, 64);
    assert!(n_attempts_max <= 1 + 5, "{n_attempts_max} starts, log2 32 is 5");
    let n_cut = report.setbacks.iter().filter(|s| s.remedy == Remedy::Split);
    assert!((31..=63).contains(&n_cut.count()), "{:?}", report.setbacks);
}

/// A device that refuses even a single lane leaves everything to the CPU.
#[test]
fn a_device_that_fits_nothing_leaves_all_to_the_cpu() {
    let Some(gpus) = gpus(1) else { return };
    let fields: Vec<Field> = (0..64).map(|k| Field::new(mix(k) & !1, 4, 4)).collect();
    let fields = Arc::new(fields);
    let report = check_with(&fields, &gpus, &"oom%100:upload".parse().unwrap());
    assert_eq!(n_on_gpus(&report), 0);
    let n_to_cpu = report.setbacks.iter().filter(|s| s.remedy == Remedy::ToCpu);
    assert_eq!(n_to_cpu.count(), 64);
}

#[test]
fn slow_devices_time_out_and_the_cpu_takes_over() {
    patiently(300, slow_device);
}

fn slow_device(time_limit: Duration) {
    let Some(gpus) = own_gpus(1) else { return };
    // Every field has more than one column, so that all of them can be launched.
    let fields: Vec<Field> = (0..60).map(|k| Field::new(mix(k), 3, 5)).collect();
    let fields = Arc::new(fields);
    let faults: Faults = "slow@launch:1=30s".parse().unwrap();
    let settings = Settings { time_limit, ..settings(&gpus, &faults) };
    let report = check(&Sieve::new(&settings.memory), &fields, &settings);
    let causes: Vec<_> = report.setbacks.iter().map(|s| s.cause.clone()).collect();
    late_if(causes.len() > 1 && causes.iter().all(|c| *c == SetbackCause::DeviceTimedOut));
    assert_eq!(causes, [SetbackCause::DeviceTimedOut]);
    assert!(n_on_gpus(&report) > 0, "it was opened again");
}

#[test]
fn bad_problems_harm_nobody() {
    let Some(gpus) = gpus(2) else { return };
    for (twist, at) in [
        (Twist::Fails, 40),
        (Twist::NeedsCpu, 41),
        (Twist::LaunchPanics, 42),
        (Twist::Panics, 43),
        (Twist::HasWrongSize, 44),
        (Twist::LoadPanics, 45),
    ] {
        let mut fields = fields(200, 8);
        fields[at] = Field::new(fields[at].seed, 3, 5).twisted(twist);
        let fields = Arc::new(fields);
        let settings = settings(&gpus, &Faults::none());
        let report = check(&Sieve::new(&settings.memory), &fields, &settings);
        let expect = match twist {
            Twist::NeedsCpu | Twist::Panics => {
                Some(SetbackCause::HandedOver { reason: "it is twisted".to_owned() })
            }
            Twist::LaunchPanics => {
                Some(SetbackCause::LaunchFailed { message: "a launch on purpose".to_owned() })
            }
            _ => None,
        };
        let causes: Vec<_> = report.setbacks.iter().map(|s| s.cause.clone()).collect();
        assert_eq!(causes, Vec::from_iter(expect), "{twist:?}");
    }
}

#[test]
fn a_launch_that_never_ends_is_given_up() {
    patiently(300, endless_launch);
}

fn endless_launch(time_limit: Duration) {
    let Some(gpus) = own_gpus(1) else { return };
    let mut fields = fields(60, 9);
    fields[10] = Field::new(fields[10].seed, 3, 5).twisted(Twist::LaunchLoops);
    let fields = Arc::new(fields);
    let settings = Settings { time_limit, ..settings(&gpus, &Faults::none()) };
    let report = check(&Sieve::new(&settings.memory), &fields, &settings);
    let causes: Vec<_> = report.setbacks.iter().map(|s| s.cause.clone()).collect();
    late_if(causes.len() > 1 && causes.iter().all(|c| *c == SetbackCause::DeviceTimedOut));
    assert_eq!(causes, [SetbackCause::DeviceTimedOut]);
}

#[test]
fn an_item_that_panics_does_so_alone() {
    let Some(gpus) = gpus(1) else { return };
    let fields = Arc::new(fields(50, 10));
    let settings = settings(&gpus, &"panic@item:17".parse().unwrap());
    let ran = run(&Sieve::new(&settings.memory), &fields, &settings);
    for (k, kind) in ran.kinds.iter().enumerate() {
        let expected = match k {
            17 => OutcomeKind::Panicked,
            _ => OutcomeKind::Solved,
        };
        assert_eq!(*kind, expected, "problem {k}");
    }
}

#[test]
fn wrong_answers_are_found_by_solving_again() {
    let Some(gpus) = gpus(1) else { return };
    let mut fields = fields(40, 11);
    for field in &mut fields {
        *field = Field::new(field.seed, 2, 30);
    }
    fields[7] = fields[7].twisted(Twist::AnswersAnything);
    let fields = Arc::new(fields);
    let settings = Settings { n_verify: 40, ..settings(&gpus, &Faults::none()) };
    let ran = run(&Sieve::new(&settings.memory), &fields, &settings);
    let verification = &ran.report.verification;
    assert_eq!(verification.n_checked, 40);
    let problems: Vec<usize> = verification.mismatches.iter().map(|m| m.problem).collect();
    assert_eq!(problems, [7]);
}

#[test]
fn a_run_is_cancelled_between_launches() {
    let Some(gpus) = gpus(2) else { return };
    let fields = Arc::new(fields(2000, 12));
    let settings = settings(&gpus, &Faults::none());
    let sieve = Sieve::new(&settings.memory);
    let mut n_done = 0;
    let report = swathe::run(&sieve, &sieve.source(&fields), &settings, &mut |_| {
        n_done += 1;
        match n_done < 100 {
            true => std::ops::ControlFlow::Continue(()),
            false => std::ops::ControlFlow::Break(()),
        }
    });
    assert!(report.cancelled);
    assert!(n_done < 2000);
}

/// Many lanes in one launch: more workgroups than the maximum width of a grid.
#[test]
fn sixty_five_thousand_lanes() {
    let Some(gpus) = gpus(1) else { return };
    let fields: Vec<Field> = (0..65_536).map(|k| Field::new(mix(k) & !1, 1, 2)).collect();
    let fields = Arc::new(fields);
    let settings = Settings {
        batch_size: BatchSize::Fixed(65_536),
        batch_size_max: 65_536,
        memory: Budget::new(1 << 30),
        ..settings(&gpus, &Faults::none())
    };
    let report = check(&Sieve::new(&settings.memory), &fields, &settings);
    assert_eq!(n_on_gpus(&report), 65_536);
    assert!(report.n_setbacks == 0, "{:?}", report.setbacks);
}

/// With measured costs the faster device gets the work; against a software device that is the CPU.
#[test]
fn routes_are_measured_and_told() {
    let Some(gpus) = gpus(1) else { return };
    let fields: Vec<Field> = (0..6000).map(|k| Field::new(mix(k) & !1, 5, 200)).collect();
    let fields = Arc::new(fields);
    let settings = Settings {
        batch_size: BatchSize::Auto,
        routing: Routing::Measured,
        memory: Budget::new(64 << 20),
        ..settings(&gpus, &Faults::none())
    };
    let report = check(&Sieve::new(&settings.memory), &fields, &settings);
    assert_eq!(report.routes.len(), 1);
    let route = &report.routes[0];
    assert_eq!(route.n_problems, 6000);
    let n_lanes: u64 = route.devices.iter().map(|part| part.n_lanes).sum();
    assert_eq!(n_lanes, 6000);
    let cpu = &route.devices[0];
    assert!(cpu.lane_ms.is_some() && cpu.n_lanes > 0);
    assert!(route.choice.is_some() && route.choice_ms.is_some());
    assert_eq!(route.waste(), 0.0);
}

#[test]
fn a_device_that_fails_its_self_test_is_refused() {
    if gpus(1).is_none() {
        return;
    }
    let search = GpuSearch {
        software: true,
        faults: "oom@selftest:1".parse().unwrap(),
        ..GpuSearch::default()
    };
    let found = Gpus::find(&search);
    assert!(found.usable.is_empty());
    assert!(matches!(found.refused[0].reason, RefusedReason::SelfTest { .. }));
    let hung = GpuSearch {
        faults: "slow@selftest:1=3600s".parse().unwrap(),
        time_max: Duration::from_millis(500),
        ..search
    };
    let found = Gpus::find(&hung);
    assert!(found.usable.is_empty());
    assert!(matches!(found.refused[0].reason, RefusedReason::Hung { .. }));
    let hardware = Gpus::find(&GpuSearch::default());
    let refused = hardware.refused.iter().map(|refused| &refused.reason);
    assert!(refused.into_iter().any(|r| *r == RefusedReason::Software));
}

/// Concurrent runs share a device without disturbing each other.
#[test]
fn two_runs_on_one_device() {
    let Some(gpus) = gpus(1) else { return };
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let gpus = &gpus;
            scope.spawn(move || {
                let fields = Arc::new(fields(400, 20 + seed));
                let report = check_with(&fields, gpus, &Faults::none());
                assert_eq!(report.n_setbacks, 0, "{:?}", report.setbacks);
            });
        }
    });
}
