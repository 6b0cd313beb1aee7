//! A made-up report of a healthy run: two threads, two prefetching workers, ten seconds.

use swathe::{
    BucketFigures, Costs, Counts, Cpu, DeviceId, DeviceUse, Launch, MemoryFigures,
    OperationFigures, Phase, Report, Sample, Shape, Verification, WorkerFigures,
};

pub(crate) const N_THREADS: usize = 2;
pub(crate) const WALL_MS: f64 = 10_000.0;
const N_LAUNCHES_EACH: usize = 50;

/// A run that spent 97 % of its threads' time solving. Two threads take turns among four workers.
pub(crate) fn healthy() -> Report {
    let workers: Vec<WorkerFigures> = (0..4).map(worker).collect();
    let launches: Vec<Launch> =
        (0..N_LAUNCHES_EACH).flat_map(|k| (0..4).map(move |worker| launch(worker, k))).collect();
    Report {
        workload: "toy".to_owned(),
        devices: vec![DeviceUse::Cpu(Cpu {
            n_threads: N_THREADS,
            memory_available_bytes: 8 << 30,
            ..Cpu::detect()
        })],
        counts: Counts { n_problems: 800, n_solved: 800, ..Counts::default() },
        wall_ms: WALL_MS,
        n_launches: launches.len() as u64,
        launches_step: 1,
        buckets: vec![bucket(DeviceId::Cpu, "64x64", &workers, &launches)],
        launches,
        workers,
        samples: (0..=100).map(sample).collect(),
        memory: MemoryFigures {
            budget_bytes: 1 << 30,
            peak_bytes: 1 << 28,
            resident_peak_bytes: 1 << 27,
            n_reservations: 200,
            ..MemoryFigures::default()
        },
        setbacks: Vec::new(),
        n_setbacks: 0,
        verification: Verification::default(),
        costs: Costs::default(),
        routes: Vec::new(),
        n_cpu_only: 0,
        cancelled: false,
        ended_by: None,
    }
}

pub(crate) fn shape(text: &str) -> Shape {
    text.parse().expect("a shape")
}

/// The k-th launch of a worker: 2 ms of loading, a wait for the other two, 97 ms of solving.
fn launch(worker: usize, k: usize) -> Launch {
    // Workers 0 and 1 have the even turns, 2 and 3 the odd ones; every turn is 100 ms.
    let turn_ms = 100.0 * (2 * k + worker / 2) as f64;
    let begin_ms = (turn_ms - 100.0).max(0.0);
    Launch {
        device: DeviceId::Cpu,
        worker,
        class: 7,
        shape: shape("64x64"),
        n_lanes: 4,
        volume_real: 4 * 4096,
        volume_launched: 4 * 4096,
        bytes: 1 << 20,
        start_ms: begin_ms,
        load_start_ms: begin_ms + 0.5,
        load_end_ms: begin_ms + 2.0,
        solve_start_ms: turn_ms + 2.0,
        end_ms: turn_ms + 99.0,
    }
}

fn worker(worker: usize) -> WorkerFigures {
    let launches: Vec<Launch> = (0..N_LAUNCHES_EACH).map(|k| launch(worker, k)).collect();
    let sum = |of: fn(&Launch) -> f64| launches.iter().map(of).sum::<f64>();
    let mut figures = WorkerFigures {
        worker,
        device: DeviceId::Cpu,
        memory_ms: sum(Launch::memory_ms),
        load_ms: sum(Launch::load_ms),
        turn_ms: sum(Launch::turn_ms),
        solve_ms: sum(Launch::solve_ms),
        deliver_ms: N_LAUNCHES_EACH as f64,
        wall_ms: WALL_MS,
        ..WorkerFigures::default()
    };
    figures.idle_ms = WALL_MS - figures.phases_ms();
    figures
}

/// The figures summed over all launches, as in the engine.
pub(crate) fn bucket(
    device: DeviceId,
    padded: &str,
    workers: &[WorkerFigures],
    launches: &[Launch],
) -> BucketFigures {
    let sum = |of: fn(&WorkerFigures) -> f64| workers.iter().map(of).sum::<f64>();
    let load_ms = sum(|worker| worker.load_ms);
    let solve_ms = sum(|worker| worker.solve_ms);
    let operation = |name: &str, phase: Phase, ms: f64| OperationFigures {
        name: name.to_owned(),
        phase,
        n_calls: 800,
        ms,
    };
    BucketFigures {
        device,
        class: 7,
        class_name: "f32 <ε>".to_owned(),
        shape: shape(padded),
        n_launches: launches.len() as u64,
        n_lanes: launches.iter().map(|launch| launch.n_lanes as u64).sum(),
        n_launches_by_lanes: vec![0, 0, launches.len() as u64],
        volume_real: launches.iter().map(|launch| launch.volume_real).sum(),
        volume_launched: launches.iter().map(|launch| launch.volume_launched).sum(),
        bytes_max: 1 << 20,
        memory_ms: sum(|worker| worker.memory_ms),
        load_ms,
        turn_ms: sum(|worker| worker.turn_ms),
        solve_ms,
        operations: vec![
            operation("read", Phase::Load, 0.75 * load_ms),
            operation("sweep", Phase::Solve, 0.6 * solve_ms),
            operation("outputs & sums", Phase::Solve, 0.3 * solve_ms),
        ],
    }
}

fn sample(k: u64) -> Sample {
    Sample {
        at_ms: WALL_MS / 100.0 * k as f64,
        n_done: 8 * k,
        n_unsolved: 0,
        n_in_flight: if k < 100 { 8 } else { 0 },
        n_waiting: 800 - 8 * k,
        used_bytes: (k % 7) << 20,
        resident_bytes: (k % 5) << 20,
    }
}
