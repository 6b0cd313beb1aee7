//! Placement: which device solves which problems. It is decided once, before a run starts, and
//! stored with the run.
//!
//! A resumed run and all shards of a run use the stored placement. The bits of an answer therefore
//! do not depend on which device was free.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use swathe::{
    Costs, Device, DeviceId, Finish, GpuInfo, Padding, PlacedOn, Placement, Routing, Settings,
    Shape, Size, Source, Stop, Workload,
};
use swathe_run::store::cost_file;
use swathe_run::store::execute::Output;
use swathe_run::store::run_folder::{RunJson, check_shards_folder, read};

use crate::cli_error::{CliError, Code};
use crate::{status, warning};

/// The name of the placement setting in `run.json`.
const SETTING: &str = "placement";
/// The file in the folder of the shards that holds their common placement.
const SHARED_FILE: &str = "placement.json";

/// How many problems are sampled for their sizes.
const N_SIZES: usize = 4096;
/// The most size bins that are measured; the most frequent ones come first.
const N_BINS_TRIED: usize = 64;
/// Problems of a size bin that are measured on each device.
const N_TRIED: usize = 4;
/// The most time of the trials on the CPU, and of those on each device.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(5);
/// The most time of all trials, as a fraction of the run's estimated time.
const TRIAL_SHARE: f64 = 0.05;
/// Devices are not tried in less time than this: compiling the kernels alone takes about as long.
const TRIAL_TIME_MIN: Duration = Duration::from_millis(500);
/// How long a trial waits for a launch that does not stop; then it leaves it behind.
const TRIAL_GRACE: Duration = Duration::from_millis(100);
/// The time from the end of a trial's time to its return: a tick and the grace.
const TRIAL_END_TIME: Duration = Duration::from_millis(200);

type SourceOf<F> = Source<<<F as Finish>::Workload as Workload>::Problem, <F as Finish>::Failure>;

/// Gives a run the costs that earlier ones measured, and decides the placement if both devices and the
/// CPU can solve its problems. Sizes without measured costs are measured first, unless the plan is
/// only explained; the answers of these trials are dropped. `output` is the folder of the run, if it
/// has one. Returns the graphics processors.
///
/// # Errors
/// If the placement that all shards share cannot be read or written.
pub fn place<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    engine: &mut Settings,
    output: Option<&Output>,
    is_explained: bool,
) -> Result<Vec<GpuInfo>, CliError> {
    let gpus = engine.devices.iter().filter_map(|device| Some(device.gpu()?.info().clone()));
    let gpus: Vec<GpuInfo> = gpus.collect();
    engine.costs = cost_file::load(&gpus);
    decide(finish, source, engine, &gpus, output, is_explained)?;
    Ok(gpus)
}

fn decide<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    engine: &mut Settings,
    gpus: &[GpuInfo],
    output: Option<&Output>,
    is_explained: bool,
) -> Result<(), CliError> {
    if let Some(begun_with) = output.and_then(recorded) {
        let rows = begun_with.iter().flat_map(Placement::rows);
        let mut on = rows.map(|row| row.on);
        if engine.devices.is_empty() && on.any(|on| on == PlacedOn::Devices) {
            warning!(
                "the run solved problems on devices that are not used now: floats may differ in the last bits"
            );
        }
        engine.placement = begun_with;
        return Ok(());
    }
    if engine.devices.is_empty() || engine.routing != Routing::Measured {
        return Ok(());
    }
    let workload = finish.workload();
    let name = <F::Workload as Workload>::NAME;
    let form = |size: &Size| workload.launch_form(size);
    let mut by_bin: BTreeMap<(u32, Shape), Vec<usize>> = BTreeMap::new();
    let mut sizes = Vec::new();
    let n_problems = source.n_problems();
    for index in (0..n_problems).step_by(n_problems.div_ceil(N_SIZES).max(1)) {
        let Ok(size) = source.size(index) else {
            continue;
        };
        if form(&size).is_some() && !workload.launch_is_exact(size.class) {
            let of_bin = by_bin.entry((size.class, size.shape.bin())).or_default();
            if of_bin.is_empty() {
                sizes.push(size);
            }
            of_bin.push(index);
        }
    }
    let devices: Vec<DeviceId> = engine.devices.iter().map(Device::id).collect();
    if !is_explained {
        let on = |size: &Size, device| engine.costs.measured(name, size, device).is_some();
        let is_known_on_cpu = |size: &Size| on(size, DeviceId::Cpu);
        let is_known = |size: &Size| {
            let launched = form(size).map(|shape| Size { shape, ..*size });
            is_known_on_cpu(size)
                && launched.is_some_and(|size| devices.iter().all(|&device| on(&size, device)))
        };
        let of_unknown = |is_known: &dyn Fn(&Size) -> bool| -> Vec<usize> {
            let unknown = sizes.iter().filter(|size| !is_known(size));
            let mut unknown: Vec<&Vec<usize>> =
                unknown.map(|size| &by_bin[&(size.class, size.shape.bin())]).collect();
            unknown.sort_by_key(|indices| std::cmp::Reverse(indices.len()));
            let unknown = unknown.into_iter().take(N_BINS_TRIED);
            unknown.flat_map(|indices| indices.iter().take(N_TRIED).copied()).collect()
        };
        let tried = of_unknown(&is_known);
        if !tried.is_empty() {
            let on_cpu = of_unknown(&is_known_on_cpu);
            let n_of = |size: &Size| by_bin[&(size.class, size.shape.bin())].len();
            let n_sampled: usize = sizes.iter().map(n_of).sum();
            let n_all = n_sampled * n_problems.div_ceil(N_SIZES).max(1);
            let estimate = |costs: &Costs| {
                let lane = |size| Some((n_of(size), costs.measured(name, size, DeviceId::Cpu)?));
                let known = sizes.iter().filter_map(lane);
                let (n, took) = known.fold((0, 0.0), |(n, took), (of_size, lane)| {
                    (n + of_size, took + of_size as f64 * lane.as_secs_f64())
                });
                // Sizes that are not known take as long as the others.
                (n > 0).then(|| took * n_all as f64 / (n * engine.n_threads.max(1)) as f64)
            };
            let (costs, skipped) =
                try_out(finish, source, engine, [on_cpu, tried], n_all, estimate);
            engine.costs = costs;
            if let Some(reason) = skipped {
                status!("sizes that were not measured are the cpu's: {reason}");
            }
        }
    }
    let n_threads = engine.n_threads;
    let before = cost_file::placement(name, gpus, n_threads);
    let decided =
        Placement::decide(name, &engine.costs, &sizes, form, &devices, n_threads, before.as_ref());
    if is_explained {
        engine.placement = Some(decided);
        return Ok(());
    }
    cost_file::save(&engine.costs, gpus);
    cost_file::keep_placement(name, gpus, n_threads, &decided);
    engine.placement = Some(match output {
        Some(output) if output.shard.is_some() => share(output, decided)?,
        _ => decided,
    });
    Ok(())
}

/// Adds the placement of a run to its settings.
pub fn record(engine: &Settings, settings: &mut BTreeMap<String, Value>) {
    if let Some(placement) = &engine.placement {
        let value = serde_json::to_value(placement).unwrap_or(Value::Null);
        settings.insert(SETTING.to_owned(), value);
    }
}

/// The placement that the resumed run, or another shard of the run, started with; the inner value
/// is `None` if it started without one. The outer value is `None` if there is no such run.
fn recorded(output: &Output) -> Option<Option<Placement>> {
    if output.resume
        && let Ok(run) = RunJson::read(&output.folder())
    {
        let value = run.identity.settings.get(SETTING);
        return Some(value.and_then(|value| serde_json::from_value(value.clone()).ok()));
    }
    output.shard?;
    let text = read(&output.folder().with_file_name(SHARED_FILE)).ok()?;
    Some(Some(serde_json::from_slice(&text).ok()?))
}

/// Writes the placement for all shards, or returns the one that another shard wrote first.
fn share(output: &Output, decided: Placement) -> Result<Placement, CliError> {
    check_shards_folder(&output.out)?;
    let path = output.folder().with_file_name(SHARED_FILE);
    let cannot = |error: std::io::Error| {
        CliError::new(Code::Output, format!("cannot write {}: {error}", path.display()))
    };
    let own = path.with_file_name(format!(".{SHARED_FILE}.{}.tmp", std::process::id()));
    if let Some(shards) = path.parent() {
        std::fs::create_dir_all(shards).map_err(cannot)?;
    }
    let text = serde_json::to_vec_pretty(&decided).unwrap_or_default();
    std::fs::write(&own, text).map_err(cannot)?;
    // A hard link, unlike a rename, does not replace the file of a faster shard.
    let linked = std::fs::hard_link(&own, &path);
    std::fs::remove_file(&own).map_err(cannot)?;
    match linked {
        Ok(()) => Ok(decided),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = read(&path).map_err(cannot)?;
            serde_json::from_slice(&text).map_err(|error| cannot(error.into()))
        }
        Err(error) => Err(cannot(error)),
    }
}

/// Measures problems on the CPU, and others on each device, and drops the answers. Returns why the
/// devices were not tried, or not to the end, if so. `n_all` is the number of problems of the run
/// that devices can solve, and `estimate` computes from costs how many seconds they take on the
/// CPU.
fn try_out<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    engine: &Settings,
    [mut on_cpu, tried]: [Vec<usize>; 2],
    n_all: usize,
    estimate: impl Fn(&Costs) -> Option<f64>,
) -> (Costs, Option<String>) {
    let started = Instant::now();
    let mut costs = engine.costs.clone();
    // Half of the share is the CPU's, counted in problems, because no time is known yet.
    let n_on_cpu = (n_all as f64 * TRIAL_SHARE / 2.0) as usize;
    if estimate(&costs).is_none() && n_on_cpu == 0 {
        let n_min = (2.0 / TRIAL_SHARE).ceil();
        let reason = format!("a run of fewer than {n_min} problems is too short to try devices");
        return (costs, Some(reason));
    }
    on_cpu.truncate(n_on_cpu);
    if !on_cpu.is_empty() {
        costs = try_on(finish, source, engine, Vec::new(), costs, on_cpu, TRIAL_TIME_MAX);
    }
    let Some(run_s) = estimate(&costs) else {
        let reason = format!("none was solved there within {TRIAL_TIME_MAX:?}");
        return (costs, Some(reason));
    };
    let trials = Duration::try_from_secs_f64(run_s * TRIAL_SHARE).unwrap_or(Duration::MAX);
    for (n_before, device) in engine.devices.iter().enumerate() {
        let n_left = (engine.devices.len() - n_before) as u32;
        let left = trials.saturating_sub(started.elapsed()) / n_left;
        if left < TRIAL_TIME_MIN {
            let reason = format!(
                "the run takes about {:.1?} on the cpu, too short to try {}",
                Duration::try_from_secs_f64(run_s).unwrap_or(Duration::MAX),
                device.id()
            );
            return (costs, Some(reason));
        }
        let until = Instant::now() + left.min(2 * TRIAL_TIME_MAX);
        // The first launches include the compilation of kernels, so their times are discarded.
        for _ in 0..2 {
            let left = until.saturating_duration_since(Instant::now()).min(TRIAL_TIME_MAX);
            if left > TRIAL_END_TIME {
                let on = vec![device.clone()];
                costs = try_on(finish, source, engine, on, costs, tried.clone(), left);
            }
        }
    }
    (costs, None)
}

/// Solves these problems on one device, or on the CPU, for at most `time`, and returns the costs.
fn try_on<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    engine: &Settings,
    devices: Vec<Device>,
    costs: Costs,
    tried: Vec<usize>,
    time: Duration,
) -> Costs {
    let n_tried = tried.len();
    let tried = Arc::new(tried);
    let (sized, loaded) = (source.clone(), source.clone());
    let (of_size, of_load) = (Arc::clone(&tried), tried);
    let part = Source::new(
        n_tried,
        move |index| sized.size(of_size[index]),
        move |index, stop: &Stop| loaded.load(of_load[index], stop),
    );
    let dropped = Arc::new(Dropped(Arc::clone(finish)));
    let settings = Settings {
        routing: match devices.is_empty() {
            true => Routing::Measured,
            false => Routing::Launch,
        },
        devices,
        costs,
        // Without padding, costs are recorded under the sizes that are looked up later.
        padding: Padding::Exact,
        n_verify: 0,
        observer: None,
        grace: TRIAL_GRACE,
        ..engine.clone()
    };
    let until = Instant::now() + time.saturating_sub(TRIAL_END_TIME);
    // Ticks come without outcomes too, and the break stops launches that are on the device.
    let report =
        swathe::run_finishing(&dropped, &part, &settings, &mut |_| match Instant::now() < until {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        });
    report.costs
}

/// A [`Finish`] that drops solutions: only their times are needed, and no files must be written.
struct Dropped<F>(Arc<F>);

impl<F: Finish> Finish for Dropped<F> {
    type Workload = F::Workload;
    type Finished = ();
    type Failure = F::Failure;

    fn workload(&self) -> &F::Workload {
        self.0.workload()
    }

    fn finish(
        &self,
        _: usize,
        _: &<F::Workload as Workload>::Problem,
        _: <F::Workload as Workload>::Solution,
        _: &Stop,
    ) -> Result<(), F::Failure> {
        Ok(())
    }
}
