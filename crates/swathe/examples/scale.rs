//! How long a large run takes on one machine and on many: the engine's own planner and recorded
//! costs, with slow machines and machines that die.
//!
//! ```sh
//! cargo run --release -p swathe --example scale -- benches/runs/2026-11-18-zen5/scale.json
//! ```
//!
//! The file has what was measured (see `Measured`); the table is that of `docs/concepts/scale.md`.

#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Deserialize;
use swathe::seed::{nth, unit};
use swathe::{BatchSize, Costs, DeviceId, Limits, Need, Planned, Size, plan};

/// What was measured of one machine, and the jobs that are simulated.
#[derive(Deserialize)]
struct Measured {
    /// From the file of costs that every run keeps.
    costs: Costs,
    jobs: Vec<Job>,
    /// From the start of an actor or a task of a cluster to its first problem.
    actor_start_s: f64,
    /// What a block costs beside its problems: listing the input, opening and sealing files.
    block_s: f64,
    /// The merge, per row and per block.
    merge_row_ns: f64,
    merge_block_s: f64,
    cluster: Cluster,
    /// The same on a bad day: of slow machines, and of machines that die.
    bad_day: BadDay,
}

#[derive(Deserialize)]
struct BadDay {
    slow_share: f64,
    hours_between_deaths: f64,
}

#[derive(Deserialize)]
struct Job {
    name: String,
    /// As in the costs.
    workload: String,
    n_problems: usize,
    rows_per_problem: f64,
    read_bytes: f64,
    written_bytes: f64,
    /// The standard deviation of the logarithm of a problem's time.
    spread: f64,
    lane_bytes: u64,
    scratch_bytes: u64,
    solution_bytes: u64,
}

/// What is assumed of a cluster.
#[derive(Clone, Copy, Deserialize)]
struct Cluster {
    n_cores: usize,
    memory_bytes: u64,
    /// Of the storage that all machines share, together.
    storage_bytes_per_s: f64,
    /// The share of machines that have half the speed.
    slow_share: f64,
    hours_between_deaths: f64,
    /// Until another machine goes on in the place of one that died.
    replaced_s: f64,
    /// Work since the last commit, which dies with a machine.
    lost_s: f64,
}

/// How blocks get to machines.
#[derive(Clone, Copy, PartialEq)]
enum Dealt {
    /// One block for each machine, as an array of tasks without more elements.
    Once,
    /// Several for each machine; one that is free takes the next.
    Queue { n_per_machine: usize },
}

/// What became of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ran {
    solve_s: f64,
    merge_s: f64,
    /// Core time of the problems alone.
    core_s: f64,
    n_deaths: usize,
    /// The time that storage takes for all bytes.
    storage_s: f64,
}

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: scale MEASURED.json");
        return;
    };
    let text = std::fs::read_to_string(&path);
    let measured = text.map_err(|error| error.to_string()).and_then(|text| {
        serde_json::from_str::<Measured>(&text).map_err(|error| error.to_string())
    });
    match measured {
        Ok(measured) => print!("{}", table(&measured)),
        Err(error) => println!("{path}: {error}"),
    }
}

fn table(measured: &Measured) -> String {
    let mut text = rows(measured, &measured.cluster, &measured.jobs, &[1, 16, 256]);
    let bad = Cluster {
        slow_share: measured.bad_day.slow_share,
        hours_between_deaths: measured.bad_day.hours_between_deaths,
        ..measured.cluster
    };
    text += &format!(
        "\nOn a bad day: {:.0} % of the machines have half the speed, and one dies every {} hours of its time.\n\n",
        100.0 * bad.slow_share,
        bad.hours_between_deaths
    );
    text + &rows(measured, &bad, &measured.jobs[..1], &[16, 256])
}

fn rows(measured: &Measured, cluster: &Cluster, jobs: &[Job], machines: &[usize]) -> String {
    let mut text = String::from(
        "| job | machines | blocks | solving | merging | busy | deaths | held up by |\n|---|---|---|---|---|---|---|---|\n",
    );
    for job in jobs {
        for &n_machines in machines {
            for dealt in [Dealt::Once, Dealt::Queue { n_per_machine: 8 }] {
                let ran = simulate(measured, cluster, job, n_machines, dealt);
                let n_blocks = n_blocks(n_machines, dealt);
                let n_cores = (n_machines * cluster.n_cores) as f64;
                let busy = ran.core_s / (n_cores * ran.solve_s);
                text += &format!(
                    "| {} | {n_machines} | {n_blocks} | {} | {} | {:.0} % | {} | {} |\n",
                    job.name,
                    duration(ran.solve_s),
                    duration(ran.merge_s),
                    100.0 * busy,
                    ran.n_deaths,
                    held_up_by(&ran, busy),
                );
            }
        }
    }
    text
}

fn held_up_by(ran: &Ran, busy: f64) -> &'static str {
    if ran.merge_s > ran.solve_s {
        "the merge"
    } else if ran.storage_s > 0.9 * ran.solve_s {
        "storage"
    } else if busy < 0.85 {
        "the slowest machine"
    } else {
        "the solver"
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn n_blocks(n_machines: usize, dealt: Dealt) -> usize {
    match dealt {
        Dealt::Once => n_machines,
        Dealt::Queue { n_per_machine } => n_machines * n_per_machine,
    }
}

/// One run of a job. The same seed gives every machine the same speed and every problem the same
/// time, however blocks are dealt.
fn simulate(
    measured: &Measured,
    cluster: &Cluster,
    job: &Job,
    n_machines: usize,
    dealt: Dealt,
) -> Ran {
    let n_blocks = n_blocks(n_machines, dealt);
    let blocks: Vec<Block> = (0..n_blocks)
        .map(|number| {
            let from = job.n_problems * number / n_blocks;
            let to = job.n_problems * (number + 1) / n_blocks;
            Block::of(measured, cluster, job, from..to)
        })
        .collect();
    let core_s: f64 = blocks.iter().map(|block| block.core_s).sum();
    let n_bytes = (job.read_bytes + job.written_bytes) * job.n_problems as f64;
    let storage_s = n_bytes / cluster.storage_bytes_per_s;
    // Machines share storage evenly, and read and write while they solve.
    let block_storage_s = storage_s / n_blocks as f64 * n_machines as f64;
    let speed = |machine: usize| {
        let is_slow = at_random(1, machine) < cluster.slow_share;
        // A machine alone is not compared with others.
        if is_slow && n_machines > 1 { 0.5 } else { 1.0 }
    };
    // Machines by the time at which they are free, then by number: times are not negative, so their
    // bits are in their order.
    let mut free: BinaryHeap<Reverse<(u64, usize)>> = (0..n_machines)
        .map(|machine| Reverse((measured.actor_start_s.to_bits(), machine)))
        .collect();
    // Blocks that wait, by the share of them that is left.
    let mut waiting: Vec<(usize, f64)> = (0..n_blocks).rev().map(|number| (number, 1.0)).collect();
    let mut n_draws = 0;
    let (mut end_s, mut n_deaths) = (0.0f64, 0);
    while let Some((number, left)) = waiting.pop() {
        let Reverse((bits, machine)) = free.pop().expect("as many as there are machines");
        let now_s = f64::from_bits(bits);
        let solves_s = blocks[number].wall_s / speed(machine);
        let takes_s = measured.block_s + left * solves_s.max(block_storage_s);
        n_draws += 1;
        let dies_after_s =
            -at_random(2, n_draws).max(1e-12).ln() * cluster.hours_between_deaths * 3600.0;
        if dies_after_s < takes_s {
            n_deaths += 1;
            let done = ((dies_after_s - cluster.lost_s).max(0.0) / takes_s).min(1.0);
            waiting.push((number, left * (1.0 - done)));
            let back_s = now_s + dies_after_s + cluster.replaced_s + measured.actor_start_s;
            free.push(Reverse((back_s.to_bits(), machine)));
            continue;
        }
        end_s = end_s.max(now_s + takes_s);
        free.push(Reverse(((now_s + takes_s).to_bits(), machine)));
    }
    let n_rows = job.n_problems as f64 * job.rows_per_problem;
    Ran {
        solve_s: end_s,
        merge_s: n_rows * measured.merge_row_ns / 1e9 + n_blocks as f64 * measured.merge_block_s,
        core_s,
        n_deaths,
        storage_s,
    }
}

/// A number from 0 to 1 that depends on its purpose and its number alone.
fn at_random(purpose: u64, number: usize) -> f64 {
    unit(&mut nth(purpose, number as u64))
}

struct Block {
    /// On a machine of full speed.
    wall_s: f64,
    core_s: f64,
}

impl Block {
    /// The batches of the engine's plan for these problems, each taken by the core that is free
    /// first.
    fn of(
        measured: &Measured,
        cluster: &Cluster,
        job: &Job,
        numbers: std::ops::Range<usize>,
    ) -> Block {
        let rows: Vec<_> = (measured.costs.rows())
            .filter(|row| row.workload == job.workload && row.device == DeviceId::Cpu)
            .collect();
        let n_measured: u64 = rows.iter().map(|row| row.n_samples).sum();
        let need = Need {
            lane_bytes: job.lane_bytes,
            scratch_bytes: job.scratch_bytes,
            solution_bytes: job.solution_bytes,
        };
        let n_cores = cluster.n_cores;
        let limits = Limits {
            budget_bytes: cluster.memory_bytes,
            n_batches_at_once: 2 * n_cores,
            batch_size: BatchSize::Auto,
            batch_size_max: 1 << 16,
            gpu: None,
        };
        let mut cores = vec![0.0f64; n_cores];
        let mut core_s = 0.0;
        // The engine plans windows of problems too.
        const N_PLANNED: usize = 4096;
        for first in numbers.clone().step_by(N_PLANNED) {
            let window = first..(first + N_PLANNED).min(numbers.end);
            let mut times_s = Vec::with_capacity(window.len());
            let problems: Vec<Planned> = window
                .clone()
                .map(|index| {
                    let mut at = (at_random(3, index) * n_measured as f64) as u64;
                    let row = rows.iter().find(|row| {
                        let is_it = at < row.n_samples;
                        at = at.saturating_sub(row.n_samples);
                        is_it
                    });
                    let row = row.unwrap_or(&rows[0]);
                    times_s.push(row.lane_ns / 1e9 * log_normal(job.spread, index));
                    let size = Size { class: row.class, ..Size::of(row.bin) };
                    let gpu = None;
                    Planned { index, size, need, gpu }
                })
                .collect();
            let planned = plan(&job.workload, &problems, &limits, &measured.costs);
            for batch in planned.batches {
                let time_s: f64 = batch.problems.iter().map(|at| times_s[at - first]).sum();
                let next = cores.iter_mut().min_by(|a, b| a.total_cmp(b));
                *next.expect("a machine has cores") += time_s;
                core_s += time_s;
            }
        }
        let wall_s = cores.into_iter().fold(0.0, f64::max);
        Block { wall_s, core_s }
    }
}

/// Times vary around their mean: mean 1, with this standard deviation of the logarithm.
fn log_normal(spread: f64, number: usize) -> f64 {
    let (a, b) = (at_random(4, number).max(1e-12), at_random(5, number));
    let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
    (spread * normal - spread * spread / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        let path = "../../benches/runs/2026-11-18-zen5/scale.json";
        let text = std::fs::read_to_string(path).expect("the measured figures are there");
        let mut measured: Measured = serde_json::from_str(&text).expect("they can be read");
        for job in &mut measured.jobs {
            job.n_problems /= 100;
        }
        measured
    }

    #[test]
    fn a_machine_alone_takes_its_core_time() {
        let measured = measured();
        let cluster = Cluster {
            hours_between_deaths: f64::INFINITY,
            storage_bytes_per_s: f64::INFINITY,
            ..measured.cluster
        };
        for job in &measured.jobs {
            let ran = simulate(&measured, &cluster, job, 1, Dealt::Once);
            let least_s = ran.core_s / cluster.n_cores as f64;
            let rest_s = ran.solve_s - measured.actor_start_s - measured.block_s;
            let is_near = rest_s >= least_s * 0.999 && rest_s < least_s * 1.1 + 1.0;
            assert!(is_near, "{ran:?}");
        }
    }

    #[test]
    fn machines_that_die_or_are_slow_cost_time_and_a_queue_costs_less() {
        let measured = measured();
        let with = |slow_share: f64, hours_between_deaths: f64, dealt: Dealt| {
            let cluster = Cluster { slow_share, hours_between_deaths, ..measured.cluster };
            simulate(&measured, &cluster, &measured.jobs[0], 16, dealt)
        };
        let good = with(0.0, f64::INFINITY, Dealt::Once);
        let bad = with(0.3, 0.0005, Dealt::Once);
        assert_eq!(bad, with(0.3, 0.0005, Dealt::Once));
        assert!(bad.n_deaths > 0, "{bad:?}");
        assert!(bad.solve_s > 1.5 * good.solve_s, "{bad:?} {good:?}");
        assert_eq!(bad.core_s, good.core_s);
        let queue = Dealt::Queue { n_per_machine: 8 };
        let slow = |dealt: Dealt| with(0.3, f64::INFINITY, dealt).solve_s;
        assert!(slow(queue) < slow(Dealt::Once));
    }

    #[test]
    fn the_page_has_the_table() {
        let page = std::fs::read_to_string("../../docs/concepts/scale.md").expect("the page");
        let path = "../../benches/runs/2026-11-18-zen5/scale.json";
        let text = std::fs::read_to_string(path).expect("the measured figures are there");
        let measured = serde_json::from_str(&text).expect("they can be read");
        let table = table(&measured);
        assert!(page.contains(&table), "docs/concepts/scale.md has another table:\n{table}");
    }
}
