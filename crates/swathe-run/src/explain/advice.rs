//! Advice: what cost a run time and which setting affects it, from the run's figures alone.
//!
//! The advice never predicts how another machine or setting would perform. A cost is measured time
//! that was not spent on solving, and the finding holds the setting that affects it. The caller
//! turns a finding into text.

mod padding;
mod tail;
mod turns;

use std::collections::BTreeMap;
use std::mem::discriminant;

use swathe::{BucketFigures, DeviceId, Phase, Report, SetbackCause, Shape};

pub use padding::BetterBuckets;
pub use tail::TailLaunch;
pub use turns::Turns;
pub(crate) use turns::cpu;

/// Something that cost time.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// An upper bound on how much shorter the run could have been, in milliseconds.
    pub cost_ms: f64,
    /// The cause.
    pub finding: Finding,
}

/// What cost time.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Threads had nothing to solve because problems were still being loaded.
    Loading {
        /// Loading time, summed over all workers.
        load_ms: f64,
        /// How many batches were prefetched.
        n_prefetch: usize,
        /// The operation that took most of this time, if the workload measures operations.
        operation: Option<String>,
    },
    /// Threads had nothing to solve because workers waited for memory.
    Memory {
        /// What all workers together waited.
        memory_ms: f64,
        /// The budget.
        budget_bytes: u64,
        /// A larger budget that this machine has room for.
        room_bytes: Option<u64>,
    },
    /// Back-pressure: workers waited because outcomes were not written as fast as they were
    /// produced.
    Delivery {
        /// What all workers together waited.
        deliver_ms: f64,
    },
    /// Launches were so short that taking problems and delivering outcomes cost more than solving.
    TinyLaunches {
        /// How many.
        n_launches: u64,
        /// The mean solving time of a launch.
        launch_ms: f64,
        /// The mean number of problems in a launch.
        n_lanes_mean: f64,
        /// A batch size that would have made launches long enough.
        batch_size: u64,
    },
    /// At the end some threads were idle while others were still solving.
    Tail {
        /// How long that lasted.
        tail_ms: f64,
        /// The launch that ended last, if every launch was kept.
        last: Option<TailLaunch>,
    },
    /// Launches computed on padding.
    Padding {
        /// Where the worst bucket ran.
        device: DeviceId,
        /// The worst bucket's class, as the workload calls it.
        class_name: String,
        /// The shape it was padded to.
        shape: Shape,
        /// The share of this bucket's volume that was padding.
        waste: f64,
        /// The same share over all padded launches.
        waste_total: f64,
        /// Shapes that waste less, if the shapes of the problems are known.
        better: Option<BetterBuckets>,
    },
    /// A GPU solved problems that the CPU, mostly idle, would have solved faster.
    SlowDevice {
        /// The device.
        device: DeviceId,
        /// The shape that lost the most time.
        shape: Shape,
        /// The time of one problem on this device.
        lane_ms: f64,
        /// The time of one problem on a CPU thread, divided by the number of threads.
        cpu_lane_ms: f64,
    },
    /// Work was lost to setbacks and repeated.
    Setbacks {
        /// How many.
        n_setbacks: u64,
        /// How many launches there were.
        n_launches: u64,
        /// How many problems were retried.
        n_problems: u64,
        /// The most frequent cause: the first setback of that kind.
        cause: SetbackCause,
        /// Where this setback happened.
        device: DeviceId,
    },
    /// Outcomes were checked by solving them again.
    Verification {
        /// How many.
        n_checked: u64,
    },
}

/// A finding below this share of the run's time is not reported.
const SHARE_MIN: f64 = 0.05;
/// A finding below this cost is not reported, however short the run.
const COST_MS_MIN: f64 = 50.0;

/// What cost a run time, the most expensive first; empty if the time was spent on solving.
///
/// `shapes` are the unpadded shapes of the problems, empty if unknown; better buckets are computed
/// from them.
pub fn advice(report: &Report, shapes: &[Shape]) -> Vec<Advice> {
    let turns = Turns::of(report);
    let mut found = Vec::new();
    waiting(report, &turns, &mut found);
    found.extend(padding::padding(report, &turns, shapes));
    found.extend(slow_device(report));
    found.extend(setbacks(report, &turns));
    found.extend(verification(report, &turns));
    found.retain(|advice| is_worth_a_word(report, advice));
    found.sort_by(|a, b| b.cost_ms.total_cmp(&a.cost_ms));
    found
}

fn is_worth_a_word(report: &Report, advice: &Advice) -> bool {
    let is_dear = advice.cost_ms >= COST_MS_MIN.max(SHARE_MIN * report.wall_ms);
    match advice.finding {
        // Setbacks in one launch out of twenty point at a fault, even if they cost little.
        Finding::Setbacks { n_setbacks, n_launches, .. } => {
            is_dear || (n_setbacks >= 10 && n_setbacks as f64 >= SHARE_MIN * n_launches as f64)
        }
        _ => is_dear,
    }
}

/// Why threads had nothing to solve.
fn waiting(report: &Report, turns: &Turns, found: &mut Vec<Advice>) {
    if turns.n_turns == 0 {
        return;
    }
    let tail = tail::tail(report, turns);
    let (tail_lost_ms, tail_idle_ms) =
        tail.as_ref().map_or((0.0, 0.0), |tail| (tail.lost_ms, tail.idle_ms));
    let lost_ms = (turns.lost_ms() - tail_lost_ms).max(0.0);
    let idle_ms = (turns.idle_ms - tail_idle_ms).max(0.0);
    let waits_ms = turns.memory_ms + turns.load_ms + turns.deliver_ms + idle_ms;
    // The lost time is divided among the causes in proportion to the time workers spent on each.
    let cost_ms = |phase_ms: f64| match waits_ms > 0.0 {
        true => lost_ms * (phase_ms / waits_ms) / turns.n_turns as f64,
        false => 0.0,
    };
    if let Some(tail) = tail {
        found.push(Advice {
            cost_ms: tail.lost_ms / turns.n_turns as f64,
            finding: Finding::Tail { tail_ms: tail.tail_ms, last: tail.last },
        });
    }
    found.push(Advice {
        cost_ms: cost_ms(turns.load_ms),
        finding: Finding::Loading {
            load_ms: turns.load_ms,
            n_prefetch: turns.n_prefetch,
            operation: main_load_operation(report),
        },
    });
    found.push(Advice {
        cost_ms: cost_ms(turns.memory_ms),
        finding: Finding::Memory {
            memory_ms: turns.memory_ms,
            budget_bytes: report.memory.budget_bytes,
            room_bytes: room_bytes(report),
        },
    });
    let between_ms = cost_ms(turns.deliver_ms + idle_ms);
    found.push(match tiny_launches(report, turns) {
        Some(finding) => Advice { cost_ms: between_ms, finding },
        None => Advice {
            cost_ms: cost_ms(turns.deliver_ms),
            finding: Finding::Delivery { deliver_ms: turns.deliver_ms },
        },
    });
}

/// The operation that most of the loading went into, if that was at least half of it.
fn main_load_operation(report: &Report) -> Option<String> {
    let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
    let operations = report.buckets.iter().flat_map(|bucket| &bucket.operations);
    for operation in operations.filter(|operation| operation.phase == Phase::Load) {
        *by_name.entry(&operation.name).or_default() += operation.ms;
    }
    let load_ms: f64 = report.buckets.iter().map(|bucket| bucket.load_ms).sum();
    let (name, ms) = by_name.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (ms >= 0.5 * load_ms).then(|| name.to_owned())
}

/// Twice the budget, or four fifths of the available memory if that is less; `None` if the gain
/// would be under a quarter.
fn room_bytes(report: &Report) -> Option<u64> {
    let available = cpu(report)?.memory_available_bytes;
    let budget = report.memory.budget_bytes;
    let room = budget.saturating_mul(2).min(available / 5 * 4);
    (room as f64 >= 1.25 * budget as f64).then_some(room)
}

/// Whether launches were too short to be worth their overhead.
fn tiny_launches(report: &Report, turns: &Turns) -> Option<Finding> {
    const N_LAUNCHES_MIN: u64 = 200;
    const LAUNCH_MS_TINY: f64 = 0.2;
    const LAUNCH_MS_GOOD: f64 = 5.0;
    const BATCH_SIZE_MAX: u64 = 4096;
    if report.n_launches < N_LAUNCHES_MIN {
        return None;
    }
    let (n_lanes, solve_ms) = solved_lanes(report, |_| true);
    let launch_ms = solve_ms / report.n_launches as f64;
    let n_lanes_mean = n_lanes as f64 / report.n_launches as f64;
    // Every thread should still get some launches.
    let n_lanes_fair = n_lanes / (4 * turns.n_turns as u64).max(1);
    let wanted = n_lanes_mean * LAUNCH_MS_GOOD / launch_ms.max(1e-6);
    let batch_size = (wanted as u64).min(n_lanes_fair).min(BATCH_SIZE_MAX);
    let is_tiny = launch_ms < LAUNCH_MS_TINY && batch_size as f64 >= 2.0 * n_lanes_mean;
    is_tiny.then_some(Finding::TinyLaunches {
        n_launches: report.n_launches,
        launch_ms,
        n_lanes_mean,
        batch_size,
    })
}

/// The GPU that lost the most time on problems that the CPU would have solved faster.
fn slow_device(report: &Report) -> Option<Advice> {
    /// If the CPU is busier than this, even a slow device helps.
    const CPU_BUSY_MAX: f64 = 0.5;
    /// A smaller ratio can be measurement noise.
    const SLOWER_MIN: f64 = 1.2;
    let n_threads = turns::n_threads(report).max(1) as f64;
    let is_cpu = |device: DeviceId| device == DeviceId::Cpu;
    let cpu_workers = report.workers.iter().filter(|worker| is_cpu(worker.device));
    let cpu_ms: f64 = cpu_workers.map(|worker| worker.solve_ms).sum();
    if cpu_ms > CPU_BUSY_MAX * n_threads * report.wall_ms {
        return None;
    }
    let mut dearest: Option<(f64, Finding)> = None;
    let mut cost_ms = 0.0;
    for route in &report.routes {
        let on_cpu = route.devices.iter().find(|part| is_cpu(part.device));
        let Some(cpu_lane_ms) = on_cpu.and_then(|part| part.lane_ms) else {
            continue;
        };
        let cpu_lane_ms = cpu_lane_ms / n_threads;
        for part in route.devices.iter().filter(|part| !is_cpu(part.device)) {
            let slower = part.lane_ms.filter(|ms| *ms >= SLOWER_MIN * cpu_lane_ms);
            let Some(lane_ms) = slower else {
                continue;
            };
            let lost_ms = part.n_lanes as f64 * (lane_ms - cpu_lane_ms);
            cost_ms += lost_ms;
            if dearest.as_ref().is_none_or(|(most_ms, _)| *most_ms < lost_ms) {
                let finding = Finding::SlowDevice {
                    device: part.device,
                    shape: route.padded,
                    lane_ms,
                    cpu_lane_ms,
                };
                dearest = Some((lost_ms, finding));
            }
        }
    }
    dearest.map(|(_, finding)| Advice { cost_ms: cost_ms.min(report.wall_ms), finding })
}

/// The cost of retried problems, at the mean time of a problem on the same device.
fn setbacks(report: &Report, turns: &Turns) -> Option<Advice> {
    if report.setbacks.is_empty() || turns.n_turns == 0 {
        return None;
    }
    // Only some setbacks are kept; their figures are scaled up to all of them.
    let scale = report.n_setbacks as f64 / report.setbacks.len() as f64;
    let mut n_problems = 0.0;
    let mut again_ms = 0.0;
    for setback in &report.setbacks {
        n_problems += scale * setback.n_problems as f64;
        // An allocation fails before anything is computed, so no solving time is lost.
        if !matches!(setback.cause, SetbackCause::OutOfMemory { .. }) {
            again_ms += scale * setback.n_problems as f64 * lane_ms(report, setback.device);
        }
    }
    let n_alike = |one: &&swathe::Setback| {
        let is_alike = |other: &&swathe::Setback| {
            one.device == other.device && discriminant(&one.cause) == discriminant(&other.cause)
        };
        report.setbacks.iter().filter(is_alike).count()
    };
    let first_of_most = report.setbacks.iter().rev().max_by_key(n_alike)?;
    Some(Advice {
        cost_ms: (again_ms / turns.n_turns as f64).min(report.wall_ms),
        finding: Finding::Setbacks {
            n_setbacks: report.n_setbacks,
            n_launches: report.n_launches,
            n_problems: n_problems.round() as u64,
            cause: first_of_most.cause.clone(),
            device: first_of_most.device,
        },
    })
}

/// The mean solving time of a problem on a device.
fn lane_ms(report: &Report, device: DeviceId) -> f64 {
    let (n_lanes, solve_ms) = solved_lanes(report, |bucket| bucket.device == device);
    solve_ms / n_lanes.max(1) as f64
}

/// How many problems were solved in the counted buckets, and their solving time.
fn solved_lanes(report: &Report, is_counted: impl Fn(&BucketFigures) -> bool) -> (u64, f64) {
    let buckets = report.buckets.iter().filter(|bucket| is_counted(bucket));
    buckets.fold((0, 0.0), |(n_lanes, solve_ms), bucket| {
        (n_lanes + bucket.n_lanes, solve_ms + bucket.solve_ms)
    })
}

/// A check solves a problem again; its time is part of the solving time.
fn verification(report: &Report, turns: &Turns) -> Option<Advice> {
    let n_checked = report.verification.n_checked;
    if n_checked == 0 || turns.n_turns == 0 {
        return None;
    }
    let (n_lanes, _) = solved_lanes(report, |_| true);
    let lane_ms = turns.solve_ms / (n_lanes + n_checked) as f64;
    Some(Advice {
        cost_ms: n_checked as f64 * lane_ms / turns.n_turns as f64,
        finding: Finding::Verification { n_checked },
    })
}
