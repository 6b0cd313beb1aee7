//! Comparisons: two runs side by side, from the files in their folders.

mod outcomes;
mod results;

use std::collections::{BTreeMap, BTreeSet};

use swathe::{BucketFigures, DeviceId, Report, Shape};

use crate::explain::advice::{Turns, cpu};
use crate::explain::quantity;
use crate::store::reported_run::ReportedRun;
use crate::store::run_folder::FolderError;

pub use outcomes::{OutcomeChange, OutcomeChanges};
pub use results::{ResultChanges, RowChange, TableChanges, same_problems};

/// Two runs side by side.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Settings and inputs that differ: the name and the value in each run.
    pub settings: Vec<(String, [String; 2])>,
    /// The figures of both runs.
    pub figures: Vec<Figure>,
    /// The solving time of each bucket.
    pub buckets: Vec<BucketChange>,
    /// Problems whose outcome differs; absent if one of the runs has no tables, or if the workloads
    /// differ.
    pub outcomes: Option<OutcomeChanges>,
    /// Answers that differ.
    pub results: ResultChanges,
}

/// A figure of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What the figure measures.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its value in each run.
    pub values: [f64; 2],
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Milliseconds.
    Ms,
    /// A number per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Parts of a whole, 0 to 1.
    Share,
}

impl Figure {
    /// The relative change from the first run to the second; `None` if the first value is zero.
    pub fn change(&self) -> Option<f64> {
        let [before, after] = self.values;
        (before != 0.0).then(|| after / before - 1.0)
    }
}

/// A bucket of either run.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketChange {
    /// Where it ran.
    pub device: DeviceId,
    /// The class, as the workload calls it.
    pub class_name: String,
    /// The shape.
    pub shape: Shape,
    /// The number of problems and the mean time to solve one; absent if a run has no such bucket.
    pub lanes: [Option<(u64, f64)>; 2],
}

impl BucketChange {
    /// The relative change of the time per problem from the first run to the second.
    pub fn change(&self) -> Option<f64> {
        match self.lanes {
            [Some((_, before)), Some((_, after))] if before > 0.0 => Some(after / before - 1.0),
            _ => None,
        }
    }
}

/// Compares two runs. Only the two folders are read.
///
/// # Errors
/// If a table of one of the runs cannot be read or is damaged.
pub fn compare(runs: [&ReportedRun; 2]) -> Result<Comparison, FolderError> {
    Ok(Comparison {
        settings: settings(runs),
        figures: figures(runs.map(|run| &run.file.report)),
        buckets: buckets(runs.map(|run| &run.file.report)),
        outcomes: outcomes::outcomes(runs)?,
        results: results::results(runs)?,
    })
}

fn settings(runs: [&ReportedRun; 2]) -> Vec<(String, [String; 2])> {
    let mut all: Vec<(String, [String; 2])> = Vec::new();
    let mut push = |name: &str, of: &dyn Fn(&ReportedRun) -> String| {
        all.push((name.to_owned(), runs.map(of)));
    };
    push("workload", &|run| run.run.identity.workload.clone());
    let names: BTreeSet<&String> =
        runs.iter().flat_map(|run| run.run.identity.settings.keys()).collect();
    for name in names {
        push(&format!("--{name}"), &|run| match run.run.identity.settings.get(name) {
            None => "(not set)".to_owned(),
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        });
    }
    push("problems", &|run| quantity::count(run.run.identity.n_problems));
    push("input files", &|run| quantity::count(run.run.identity.inputs.len() as u64));
    push("input contents", &|run| contents(run));
    push("shard", &|run| match run.run.identity.shard {
        Some((number, n_shards)) => format!("{number}/{n_shards}"),
        None => "none".to_owned(),
    });
    push("devices", &|run| devices(&run.file.report));
    push("threads", &|run| {
        let cpu = cpu(&run.file.report);
        cpu.map_or("none".to_owned(), |cpu| cpu.n_threads.to_string())
    });
    push("loaded ahead", &|run| Turns::of(&run.file.report).n_prefetch.to_string());
    push("memory budget", &|run| quantity::bytes(run.file.report.memory.budget_bytes));
    push("version", &|run| run.run.identity.version.clone());
    push("instructions", &|run| run.run.identity.simd.clone());
    all.retain(|(_, [before, after])| before != after);
    all
}

/// A short hash over the contents of all inputs. It depends on their order, but not on their names.
fn contents(run: &ReportedRun) -> String {
    let mut hasher = blake3::Hasher::new();
    for input in &run.run.identity.inputs {
        hasher.update(input.blake3.as_bytes());
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

fn devices(report: &Report) -> String {
    let names = report.devices.iter().map(|device| device.id().to_string());
    names.collect::<Vec<_>>().join(", ")
}

fn figures(reports: [&Report; 2]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut push = |name: &'static str, unit: Unit, of: &dyn Fn(&Report) -> f64| {
        figures.push(Figure { name, unit, values: reports.map(of) });
    };
    push("time", Unit::Ms, &|report| report.wall_ms);
    push("solved a second", Unit::PerSecond, &Report::solved_per_s);
    push("solved", Unit::Count, &|report| report.counts.n_solved as f64);
    push("failed", Unit::Count, &|report| report.counts.n_failed as f64);
    push("too large", Unit::Count, &|report| report.counts.n_too_large as f64);
    push("timed out", Unit::Count, &|report| report.counts.n_timed_out as f64);
    push("panicked", Unit::Count, &|report| report.counts.n_panicked as f64);
    push("setbacks", Unit::Count, &|report| report.n_setbacks as f64);
    push("launches", Unit::Count, &|report| report.n_launches as f64);
    // Reports of earlier versions do not say it.
    if reports.iter().all(|report| report.memory.resident_peak_bytes > 0) {
        push("peak memory", Unit::Bytes, &|report| report.memory.resident_peak_bytes as f64);
    }
    push("peak reserved", Unit::Bytes, &|report| report.memory.peak_bytes as f64);
    push("threads busy", Unit::Share, &|report| Turns::of(report).busy());
    push("padding", Unit::Share, &padding);
    type Phase = fn(&swathe::WorkerFigures) -> f64;
    let phases: [(&'static str, Phase); 6] = [
        ("solving", |worker| worker.solve_ms),
        ("loading", |worker| worker.load_ms),
        ("waiting for memory", |worker| worker.memory_ms),
        ("waiting for a turn", |worker| worker.turn_ms),
        ("handing over", |worker| worker.deliver_ms),
        ("idle", |worker| worker.idle_ms),
    ];
    for (name, phase) in phases {
        push(name, Unit::Ms, &|report| report.workers.iter().map(phase).sum());
    }
    figures
}

/// The share of the launched volume that is padding.
fn padding(report: &Report) -> f64 {
    let sum = |of: fn(&BucketFigures) -> u64| -> f64 {
        report.buckets.iter().map(|bucket| of(bucket) as f64).sum()
    };
    let launched = sum(|bucket| bucket.volume_launched);
    let real = sum(|bucket| bucket.volume_real.min(bucket.volume_launched));
    match launched > 0.0 {
        true => 1.0 - real / launched,
        false => 0.0,
    }
}

/// Buckets of either run, those with the longest solving time first.
fn buckets(reports: [&Report; 2]) -> Vec<BucketChange> {
    let mut found: BTreeMap<(DeviceId, String, Shape), (BucketChange, f64)> = BTreeMap::new();
    for (which, report) in reports.into_iter().enumerate() {
        for bucket in &report.buckets {
            let key = (bucket.device, bucket.class_name.clone(), bucket.shape);
            let (change, solve_ms) = found.entry(key).or_insert_with(|| {
                let change = BucketChange {
                    device: bucket.device,
                    class_name: bucket.class_name.clone(),
                    shape: bucket.shape,
                    lanes: [None, None],
                };
                (change, 0.0)
            });
            let lane_ms = bucket.solve_ms / bucket.n_lanes.max(1) as f64;
            change.lanes[which] = Some((bucket.n_lanes, lane_ms));
            *solve_ms = solve_ms.max(bucket.solve_ms);
        }
    }
    let mut found: Vec<(BucketChange, f64)> = found.into_values().collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.into_iter().map(|(change, _)| change).collect()
}
