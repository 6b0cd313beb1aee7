//! The figures of a run add up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use swathe::{Budget, Event, Observer, Settings};

use crate::sieve::{Field, Sieve, Twist, check, fields, late_if, patiently, run};

fn settings() -> Settings {
    Settings { n_threads: 2, memory: Budget::new(1 << 20), ..Settings::default() }
}

fn taking(load_ms: u64, solve_ms: u64) -> Twist {
    Twist::Takes { load: Duration::from_millis(load_ms), solve: Duration::from_millis(solve_ms) }
}

/// Phases and idle time add up to the wall time of every worker, and every worker lives as long as
/// the run.
#[test]
fn phases_add_up_to_the_wall() {
    let fields: Vec<Field> = fields(200, 11)
        .into_iter()
        .enumerate()
        .map(|(k, field)| if k % 4 == 0 { field.twisted(taking(3, 5)) } else { field })
        .collect();
    let report = check(&Sieve::new(&settings().memory), &Arc::new(fields), &settings());
    assert_eq!(report.workers.len(), settings().n_threads + settings().n_prefetch);
    for worker in &report.workers {
        let gap = (worker.phases_ms() - worker.wall_ms).abs();
        assert!(gap <= 0.02 * worker.wall_ms, "{worker:?}");
        assert!(worker.wall_ms <= report.wall_ms);
    }
    // Fifty problems that sleep three and five milliseconds.
    let load_ms: f64 = report.workers.iter().map(|worker| worker.load_ms).sum();
    let solve_ms: f64 = report.workers.iter().map(|worker| worker.solve_ms).sum();
    assert!(load_ms >= 150.0 && solve_ms >= 250.0, "{load_ms} {solve_ms}");
}

#[test]
fn outcomes_add_up_to_the_input() {
    patiently(500, add_up);
}

fn add_up(time_limit: Duration) {
    let mut fields = fields(3000, 12);
    for (k, twist) in [Twist::Panics, Twist::Fails, Twist::SizeFails, Twist::HasWrongSize]
        .into_iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        fields[k * 70] = fields[k * 70].twisted(twist);
    }
    let settings = Settings { memory: Budget::new(20_000), ..settings() };
    fields[5] = Field::new(1, 1000, 10);
    fields[6] = fields[6].twisted(Twist::LoopsAndPolls);
    let settings = Settings { time_limit, ..settings };
    let report = run(&Sieve::new(&settings.memory), &Arc::new(fields), &settings).report;
    let counts = report.counts;
    assert_eq!(counts.n_problems, 3000);
    assert_eq!(
        counts.n_problems,
        counts.n_solved
            + counts.n_failed
            + counts.n_too_large
            + counts.n_timed_out
            + counts.n_panicked
    );
    assert_eq!(counts.n_done(), 3000);
    let failed = (counts.n_failed, counts.n_too_large, counts.n_timed_out, counts.n_panicked);
    late_if(counts.n_timed_out > 1);
    assert_eq!(failed, (30, 1, 1, 10));
    assert!(!report.cancelled);
    // Problems without a size and the one that exceeds the budget were in no launch.
    assert_eq!(lanes(&report), 3000 - 11);
}

/// The lanes of all launches.
fn lanes(report: &swathe::Report) -> usize {
    assert_eq!(report.n_launches as usize, report.launches.len());
    report.launches.iter().map(|launch| launch.n_lanes).sum()
}

#[test]
fn lanes_add_up_whatever_happens() {
    for text in ["", "oom%10:seed=1", "oom@5,lost@2", "lost%20:seed=3"] {
        let fields = Arc::new(fields(500, 13));
        let settings =
            Settings { memory: Budget::with_faults(1 << 20, text.parse().unwrap()), ..settings() };
        let report = check(&Sieve::new(&settings.memory), &fields, &settings);
        assert_eq!(lanes(&report), 500, "{text}");
        for launch in &report.launches {
            assert!(launch.start_ms <= launch.load_start_ms, "{launch:?}");
            assert!(launch.load_start_ms <= launch.load_end_ms, "{launch:?}");
            assert!(launch.load_end_ms <= launch.solve_start_ms, "{launch:?}");
            assert!(launch.solve_start_ms <= launch.end_ms, "{launch:?}");
            assert!(launch.end_ms <= report.wall_ms, "{launch:?}");
            assert!(launch.bytes > 0);
        }
    }
}

/// Buckets cover all launches, and operations lie within the phases they belong to.
#[test]
fn buckets_add_up_to_the_launches() {
    for text in ["", "oom%10:seed=1", "lost%20:seed=3"] {
        let fields: Vec<Field> = fields(300, 16)
            .into_iter()
            .enumerate()
            .map(|(k, field)| match k % 10 {
                0 => field.twisted(taking(1, 2)),
                _ => field,
            })
            .collect();
        let volume: u64 = fields.iter().map(|field| field.size().shape.volume()).sum();
        let settings =
            Settings { memory: Budget::with_faults(1 << 20, text.parse().unwrap()), ..settings() };
        let report = check(&Sieve::new(&settings.memory), &Arc::new(fields), &settings);
        let sum =
            |of: fn(&swathe::BucketFigures) -> u64| report.buckets.iter().map(of).sum::<u64>();
        assert_eq!(sum(|bucket| bucket.n_launches), report.n_launches, "{text}");
        assert_eq!(sum(|bucket| bucket.n_lanes), 300, "{text}");
        assert_eq!(sum(|bucket| bucket.volume_real), volume, "{text}");
        assert_eq!(sum(|bucket| bucket.volume_launched), volume, "nothing is padded");
        let by_lanes = sum(|bucket| bucket.n_launches_by_lanes.iter().sum());
        assert_eq!(by_lanes, report.n_launches);
        let launched_ms: f64 = report.launches.iter().map(|launch| launch.solve_ms()).sum();
        let bucket_ms: f64 = report.buckets.iter().map(|bucket| bucket.solve_ms).sum();
        assert!((launched_ms - bucket_ms).abs() < 1e-6 * launched_ms.max(1.0));
        for (phase, name, least_ms) in [
            (swathe::Phase::Load, "nap in loading", 30.0),
            (swathe::Phase::Solve, "nap in solving", 60.0),
        ] {
            let operations = report.buckets.iter().flat_map(|bucket| &bucket.operations);
            let naps: Vec<_> = operations.filter(|operation| operation.name == name).collect();
            assert!(naps.iter().all(|nap| nap.phase == phase), "{naps:?}");
            // A problem that is refused after loading is loaded again.
            let n_naps: u64 = naps.iter().map(|nap| nap.n_calls).sum();
            assert!(n_naps == 30 || (n_naps > 30 && !text.is_empty()), "{n_naps}");
            assert!(naps.iter().map(|nap| nap.ms).sum::<f64>() >= least_ms);
        }
        for bucket in &report.buckets {
            let solving = bucket.operations.iter();
            let solving = solving.filter(|operation| operation.phase == swathe::Phase::Solve);
            let ms: f64 = solving.map(|operation| operation.ms).sum();
            assert!(ms <= bucket.solve_ms, "{bucket:?}");
        }
    }
}

#[test]
fn samples_tell_the_course_of_a_run() {
    let fields: Vec<Field> =
        fields(200, 17).into_iter().map(|field| field.twisted(taking(0, 2))).collect();
    let settings = settings();
    let report = check(&Sieve::new(&settings.memory), &Arc::new(fields), &settings);
    let samples = &report.samples;
    assert!(samples.len() > 10, "{samples:?}");
    assert!(samples.windows(2).all(|pair| pair[0].at_ms < pair[1].at_ms));
    assert!(samples.windows(2).all(|pair| pair[0].n_done <= pair[1].n_done));
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    assert_eq!((first.n_done, first.n_waiting), (0, 200));
    assert_eq!((last.n_done, last.n_unsolved), (200, 0));
    assert_eq!((last.n_waiting, last.n_in_flight), (0, 0));
    assert_eq!(last.at_ms, report.wall_ms);
    let highest = samples.iter().map(|sample| sample.used_bytes).max();
    assert!(highest > Some(0) && highest <= Some(report.memory.peak_bytes));
}

/// The events that the observer receives add up to the report.
#[test]
fn events_add_up() {
    let events: Arc<Mutex<Vec<Event>>> = Arc::default();
    let told = Arc::clone(&events);
    let observer = Observer::new(move |event| told.lock().unwrap().push(event.clone()));
    let settings = Settings {
        observer: Some(observer),
        memory: Budget::with_faults(1 << 20, "oom%5:seed=2".parse().unwrap()),
        n_verify: 30,
        ..settings()
    };
    let mut fields = fields(600, 14);
    for field in &mut fields[100..120] {
        *field = field.twisted(Twist::AnswersAnything);
    }
    let report = check(&Sieve::new(&settings.memory), &Arc::new(fields), &settings);
    let events = events.lock().unwrap();
    let (mut n_launches, mut n_setbacks, mut n_mismatches, mut n_lanes) = (0, 0, 0, 0);
    let mut last = swathe::Counts::default();
    for event in events.iter() {
        match event {
            Event::Progress { counts, .. } => {
                assert!(counts.n_done() >= last.n_done(), "progress goes forward");
                last = *counts;
            }
            Event::Launched(launch) => {
                n_launches += 1;
                n_lanes += launch.n_lanes;
            }
            Event::Setback(_) => n_setbacks += 1,
            Event::Mismatch(_) => n_mismatches += 1,
            Event::Sampled { sample, workers } => {
                assert!(sample.n_done <= 600 && sample.n_waiting <= 600, "{sample:?}");
                assert!(!workers.is_empty());
            }
        }
    }
    assert_eq!(last, report.counts);
    assert_eq!((n_launches, n_lanes), (report.n_launches, 600));
    assert_eq!(n_setbacks, report.n_setbacks);
    assert!(n_setbacks > 0);
    assert_eq!(n_mismatches, report.verification.mismatches.len());
}

/// With more workers than turns, one worker loads while another solves. Otherwise loading and
/// solving alternate.
#[test]
fn loading_ahead_overlaps() {
    let fields: Vec<Field> =
        (0..40).map(|seed| Field::new(seed, 2, 2).twisted(taking(5, 5))).collect();
    let fields = Arc::new(fields);
    let n_overlaps = |n_prefetch| {
        let settings = Settings {
            n_threads: 1,
            n_prefetch,
            batch_size: swathe::BatchSize::Fixed(1),
            ..settings()
        };
        let launches = check(&Sieve::new(&settings.memory), &fields, &settings).launches;
        let overlaps = launches.iter().filter(|loading| {
            launches.iter().any(|solving| {
                solving.worker != loading.worker
                    && loading.load_start_ms < solving.end_ms
                    && solving.solve_start_ms < loading.load_end_ms
            })
        });
        overlaps.count()
    };
    assert_eq!(n_overlaps(0), 0);
    assert!(n_overlaps(2) >= 20);
}

/// Costs are learnt from solving alone: neither loading nor verifying counts.
#[test]
fn costs_are_those_of_solving() {
    let fields: Vec<Field> =
        (0..40).map(|seed| Field::new(2 * seed, 2, 2).twisted(taking(6, 2))).collect();
    let settings = Settings { n_verify: 40, ..settings() };
    let ran = run(&Sieve::new(&settings.memory), &Arc::new(fields.clone()), &settings);
    assert_eq!(ran.report.verification.n_checked, 40);
    let costs = &ran.report.costs;
    let lane = costs.lane("sieve", &fields[0].size(), swathe::DeviceId::Cpu);
    let lane = lane.expect("forty are enough");
    let (shortest, longest) = (ran.took.iter().min(), ran.took.iter().max());
    assert!(shortest.is_some_and(|&took| took >= Duration::from_millis(2)));
    assert!(shortest.is_some_and(|&took| lane >= took), "{lane:?}");
    assert!(longest.is_some_and(|&took| lane <= took), "{lane:?}");
    // Every problem was loaded and solved twice, and only one of the two solves counts.
    let took_ms: f64 = ran.took.iter().map(|took| took.as_secs_f64() * 1e3).sum();
    let solve_ms: f64 = ran.report.workers.iter().map(|w| w.solve_ms).sum();
    assert!(took_ms < 0.5 * solve_ms, "{took_ms} of {solve_ms}");
}

/// The figures survive serialisation.
#[test]
fn a_report_can_be_written_and_read() {
    let report = check(&Sieve::new(&settings().memory), &Arc::new(fields(50, 15)), &settings());
    let text = serde_json::to_string(&report).unwrap();
    let again: swathe::Report = serde_json::from_str(&text).unwrap();
    assert_eq!(again.counts, report.counts);
    assert_eq!(again.launches.len(), report.launches.len());
    assert_eq!(again.costs.rows().count(), report.costs.rows().count());
    assert!((again.wall_ms - report.wall_ms).abs() < 1e-9 * report.wall_ms);
    let empty = check(&Sieve::new(&settings().memory), &Arc::new(Vec::new()), &settings());
    assert_eq!(empty.counts.n_problems, 0);
    assert!(!empty.cancelled);
}
