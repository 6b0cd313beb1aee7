//! Every kind of advice is given when its cause is present, and none for a healthy run.

use swathe::{
    DeviceId, Launch, Remedy, Report, Route, RouteDevice, Setback, SetbackCause, WorkerFigures,
};
use swathe_run::explain::advice::{Advice, Finding, Turns, advice};

use crate::made_up_report::{WALL_MS, bucket, healthy, shape};

/// The advice on a report, which must be exactly one.
#[track_caller]
fn only(report: &Report) -> Advice {
    let mut found = advice(report, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Moves a share of every worker's solving time to another phase, and shortens launches
/// accordingly.
fn instead_of_solving(report: &mut Report, share: f64, add: fn(&mut WorkerFigures, f64)) {
    for worker in &mut report.workers {
        let ms = share * worker.solve_ms;
        worker.solve_ms -= ms;
        add(worker, ms);
    }
    report.buckets[0].solve_ms *= 1.0 - share;
    for launch in &mut report.launches {
        launch.solve_start_ms += share * launch.solve_ms();
    }
}

#[test]
fn a_healthy_run_needs_none() {
    let report = healthy();
    assert_eq!(advice(&report, &[]), []);
    let turns = Turns::of(&report);
    assert_eq!((turns.n_turns, turns.n_workers, turns.n_prefetch), (2, 4, 2));
    assert!((turns.busy() - 0.97).abs() < 1e-9, "{}", turns.busy());
}

#[test]
fn a_blink_of_a_run_needs_none() {
    let mut report = healthy();
    instead_of_solving(&mut report, 0.5, |worker, ms| worker.load_ms += ms);
    report.wall_ms = 40.0;
    for worker in &mut report.workers {
        worker.load_ms /= WALL_MS / 40.0;
        worker.solve_ms /= WALL_MS / 40.0;
    }
    report.launches.clear();
    assert_eq!(advice(&report, &[]), []);
}

#[test]
fn nothing_at_all_needs_none() {
    let mut report = healthy();
    report.workers.clear();
    report.launches.clear();
    report.buckets.clear();
    report.wall_ms = 0.0;
    assert_eq!(advice(&report, &[]), []);
}

#[test]
fn loading_that_keeps_threads_waiting() {
    let mut report = healthy();
    instead_of_solving(&mut report, 0.4, |worker, ms| worker.load_ms += ms);
    report.buckets[0].load_ms += 8_000.0;
    report.buckets[0].operations[0].ms += 8_000.0;
    let Advice { cost_ms, finding } = only(&report);
    // 40 % of 9.7 s, plus the little time that a healthy run loses.
    assert!((3_800.0..4_200.0).contains(&cost_ms), "{cost_ms}");
    let Finding::Loading { n_prefetch, operation, .. } = finding else { panic!("{finding:?}") };
    assert_eq!((n_prefetch, operation.as_deref()), (2, Some("read")));
}

#[test]
fn waiting_for_memory() {
    let mut report = healthy();
    instead_of_solving(&mut report, 0.3, |worker, ms| worker.memory_ms += ms);
    let Finding::Memory { budget_bytes, room_bytes, .. } = only(&report).finding else { panic!() };
    assert_eq!((budget_bytes, room_bytes), (1 << 30, Some(2 << 30)));
    // If the machine has no more memory, no larger budget is offered.
    report.memory.budget_bytes = 7 << 30;
    let finding = only(&report).finding;
    assert!(matches!(finding, Finding::Memory { room_bytes: None, .. }), "{finding:?}");
}

/// Workers that wait for a turn have prefetched: in a healthy run this is half of their time.
#[test]
fn waiting_for_turns_is_not_a_cost() {
    let report = healthy();
    let turns = Turns::of(&report);
    assert!(turns.turn_ms > 0.4 * 4.0 * WALL_MS, "{}", turns.turn_ms);
    assert_eq!(advice(&report, &[]), []);
}

#[test]
fn delivery_that_holds_workers_back() {
    let mut report = healthy();
    instead_of_solving(&mut report, 0.5, |worker, ms| worker.deliver_ms += ms);
    let found = only(&report);
    assert!(matches!(found.finding, Finding::Delivery { .. }), "{found:?}");
    assert!((4_500.0..5_200.0).contains(&found.cost_ms), "{}", found.cost_ms);
}

#[test]
fn launches_that_are_too_short() {
    let mut report = healthy();
    report.n_launches = 100_000;
    report.launches_step = 16;
    report.launches.clear();
    instead_of_solving(&mut report, 0.6, |worker, ms| {
        worker.idle_ms += ms / 2.0;
        worker.deliver_ms += ms / 2.0;
    });
    report.buckets[0].n_launches = 100_000;
    report.buckets[0].n_lanes = 200_000;
    let found = only(&report);
    let Finding::TinyLaunches { n_launches, launch_ms, n_lanes_mean, batch_size } = found.finding
    else {
        panic!("{found:?}")
    };
    assert_eq!((n_launches, n_lanes_mean), (100_000, 2.0));
    assert!((launch_ms - 0.0776).abs() < 1e-4, "{launch_ms}");
    assert_eq!(batch_size, (2.0 * 5.0 / launch_ms) as u64);
    assert!((5_500.0..6_200.0).contains(&found.cost_ms), "{}", found.cost_ms);
}

#[test]
fn one_problem_that_everybody_waits_for() {
    let mut report = healthy();
    // One worker solves for four seconds after all others are idle.
    let last = Launch {
        worker: 0,
        n_lanes: 1,
        shape: shape("500x500"),
        start_ms: 9_999.0,
        load_start_ms: 9_999.0,
        load_end_ms: 10_000.0,
        solve_start_ms: 10_000.0,
        end_ms: 14_000.0,
        ..report.launches[0].clone()
    };
    report.launches.push(last);
    report.wall_ms = 14_000.0;
    for worker in &mut report.workers {
        match worker.worker {
            0 => worker.solve_ms += 4_000.0,
            _ => worker.idle_ms += 4_000.0,
        }
    }
    let Advice { cost_ms, finding } = only(&report);
    assert!((1_990.0..2_020.0).contains(&cost_ms), "half of the threads for 4 s: {cost_ms}");
    let Finding::Tail { tail_ms, last: Some(last) } = finding else { panic!("{finding:?}") };
    assert!((4_000.0..4_110.0).contains(&tail_ms), "{tail_ms}");
    assert_eq!((last.n_lanes, last.shape, last.solve_ms), (1, shape("500x500"), 4_000.0));
    // Thinned launches do not include the last one, but the samples show the tail.
    report.launches_step = 2;
    report.launches.truncate(10);
    for k in 0..40 {
        let mut sample = report.samples[99];
        sample.at_ms = 10_000.0 + 100.0 * f64::from(k);
        sample.n_waiting = 0;
        sample.n_in_flight = 1;
        report.samples.push(sample);
    }
    let mut end = report.samples[100];
    end.at_ms = 14_000.0;
    report.samples.push(end);
    report.samples.remove(100);
    let Advice { cost_ms, finding } = only(&report);
    assert!(matches!(finding, Finding::Tail { last: None, .. }), "{finding:?}");
    assert!((cost_ms - 2_000.0).abs() < 1.0, "{cost_ms}");
}

/// A report whose GPU bucket is padded by 38 %.
fn padded() -> Report {
    let mut report = healthy();
    let mut padded = bucket(DeviceId::Gpu(0), "256x512", &report.workers, &report.launches);
    padded.volume_real = 62;
    padded.volume_launched = 100;
    report.buckets = vec![padded];
    report
}

#[test]
fn padding_names_the_bucket_and_better_shapes() {
    let report = padded();
    let found = only(&report);
    let Finding::Padding { device, shape: worst, waste, better, .. } = found.finding else {
        panic!("{found:?}")
    };
    assert_eq!((device, worst), (DeviceId::Gpu(0), shape("256x512")));
    assert!((waste - 0.38).abs() < 1e-12);
    assert_eq!(better, None, "nothing is known of the problems' shapes");
    assert!((found.cost_ms - 0.38 * 9_700.0).abs() < 1.0, "{}", found.cost_ms);

    let shapes: Vec<_> =
        (0..30).map(|k| shape(if k % 3 == 0 { "256x512" } else { "192x384" })).collect();
    let Finding::Padding { better: Some(better), .. } = advice(&report, &shapes).remove(0).finding
    else {
        panic!()
    };
    assert_eq!(better.shapes, [shape("192x384"), shape("256x512")]);
    assert_eq!(better.waste, 0.0);
    // If no list of shapes is better, none is offered.
    let alike = vec![shape("256x512"); 4];
    let mut exact = report.clone();
    exact.buckets[0].volume_real = 96;
    assert_eq!(advice(&exact, &alike), []);
}

#[test]
fn a_graphics_processor_that_is_slower_than_the_idle_cpu() {
    let mut report = healthy();
    for worker in &mut report.workers {
        worker.device = DeviceId::Gpu(0);
    }
    report.workers.truncate(2);
    for launch in &mut report.launches {
        launch.device = DeviceId::Gpu(0);
    }
    let part = |device, n_lanes, lane_ms| RouteDevice { device, n_lanes, lane_ms: Some(lane_ms) };
    report.routes = vec![Route {
        class: 7,
        padded: shape("64x64"),
        volume_real: 800 * 4096,
        packed: false,
        n_problems: 800,
        devices: vec![part(DeviceId::Cpu, 0, 8.0), part(DeviceId::Gpu(0), 800, 12.0)],
        choice: Some(DeviceId::Cpu),
        other_ms: Some(9_600.0),
        choice_ms: Some(3_200.0),
    }];
    let found = only(&report);
    assert_eq!(found.cost_ms, 800.0 * (12.0 - 8.0 / 2.0));
    let expected = Finding::SlowDevice {
        device: DeviceId::Gpu(0),
        shape: shape("64x64"),
        lane_ms: 12.0,
        cpu_lane_ms: 4.0,
    };
    assert_eq!(found.finding, expected);
    // If the CPU is busy, even a slow device helps.
    let mut busy = healthy();
    busy.routes = report.routes.clone();
    assert_eq!(advice(&busy, &[]), []);
}

fn setback(cause: SetbackCause, device: DeviceId) -> Setback {
    Setback { at_ms: 1.0, device, cause, n_problems: 4, remedy: Remedy::Retried }
}

#[test]
fn setbacks_that_cost_work() {
    let mut report = healthy();
    report.setbacks = (0..20).map(|_| setback(SetbackCause::WorkerLost, DeviceId::Cpu)).collect();
    report
        .setbacks
        .insert(0, setback(SetbackCause::OutOfMemory { wanted_bytes: 9 }, DeviceId::Cpu));
    report.n_setbacks = 21;
    let Advice { cost_ms, finding } = only(&report);
    // 80 retried problems, 24.25 ms each, on two threads.
    assert!((cost_ms - 970.0).abs() < 1.0, "{cost_ms}");
    let expected = Finding::Setbacks {
        n_setbacks: 21,
        n_launches: 200,
        n_problems: 84,
        cause: SetbackCause::WorkerLost,
        device: DeviceId::Cpu,
    };
    assert_eq!(finding, expected);
    // Failed allocations cost no solving time, but many of them are reported.
    let refused = SetbackCause::OutOfMemory { wanted_bytes: 9 };
    report.setbacks = (0..12).map(|_| setback(refused.clone(), DeviceId::Cpu)).collect();
    report.n_setbacks = 12;
    let found = only(&report);
    assert_eq!(found.cost_ms, 0.0);
    assert!(matches!(found.finding, Finding::Setbacks { n_setbacks: 12, .. }));
    // A few are not reported.
    report.setbacks.truncate(3);
    report.n_setbacks = 3;
    assert_eq!(advice(&report, &[]), []);
}

#[test]
fn verification_takes_its_share_of_solving() {
    let mut report = healthy();
    report.verification.n_checked = 200;
    let found = only(&report);
    assert_eq!(found.finding, Finding::Verification { n_checked: 200 });
    assert!((found.cost_ms - 9_700.0 / 5.0).abs() < 1.0, "{}", found.cost_ms);
    report.verification.n_checked = 10;
    assert_eq!(advice(&report, &[]), []);
}

#[test]
fn the_dearest_comes_first() {
    let mut report = padded();
    report.verification.n_checked = 100;
    instead_of_solving(&mut report, 0.4, |worker, ms| worker.load_ms += ms);
    let found = advice(&report, &[]);
    assert!(found.len() >= 3, "{found:?}");
    assert!(found.windows(2).all(|pair| pair[0].cost_ms >= pair[1].cost_ms));
    assert!(matches!(found[0].finding, Finding::Loading { .. }), "{found:?}");
}
