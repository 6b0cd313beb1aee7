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
use crate::warning;

/// The name of the placement setting in `run.json`.
pub(crate) const SETTING: &str = "placement";
/// The file in the folder of the shards that holds their common placement.
const SHARED_FILE: &str = "placement.json";

/// How many problems are sampled for their sizes.
const N_SIZES: usize = 4096;
/// The most size bins that are measured; the most frequent ones come first.
const N_BINS_TRIED: usize = 64;
/// Problems of a size bin that are measured on each device.
const N_TRIED: usize = 4;
/// The time limit of each trial run.
const TRIAL_TIME: Duration = Duration::from_secs(5);

type SourceOf<F> = Source<<<F as Finish>::Workload as Workload>::Problem, <F as Finish>::Failure>;

/// Decides the placement if both devices and the CPU can solve problems of this run. Sizes without
/// measured costs are measured first, unless the plan is only explained; the answers of these
/// trials are dropped.
pub(crate) fn decide<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    engine: &mut Settings,
    gpus: &[GpuInfo],
    output: &Output,
    is_explained: bool,
) -> Result<(), CliError> {
    if let Some(begun_with) = recorded(output) {
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
        let is_known = |size: &Size| {
            let launched = form(size).map(|shape| Size { shape, ..*size });
            let on = |size: &Size, device| engine.costs.measured(name, size, device).is_some();
            on(size, DeviceId::Cpu)
                && launched.is_some_and(|size| devices.iter().all(|&device| on(&size, device)))
        };
        let mut unknown: Vec<&Vec<usize>> = sizes
            .iter()
            .filter(|size| !is_known(size))
            .map(|size| &by_bin[&(size.class, size.shape.bin())])
            .collect();
        unknown.sort_by_key(|indices| std::cmp::Reverse(indices.len()));
        let tried: Vec<usize> = unknown
            .iter()
            .take(N_BINS_TRIED)
            .flat_map(|indices| indices.iter().take(N_TRIED).copied())
            .collect();
        if !tried.is_empty() {
            engine.costs = try_out(finish, source, engine, tried);
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
    engine.placement = Some(match output.shard {
        Some(_) => share(output, decided)?,
        None => decided,
    });
    Ok(())
}

/// The placement as a value for `run.json`.
pub(crate) fn setting(placement: &Placement) -> Value {
    serde_json::to_value(placement).unwrap_or(Value::Null)
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

/// Measures these problems on the CPU and on each device, and drops the answers.
fn try_out<F: Finish>(
    finish: &Arc<F>,
    source: &SourceOf<F>,
    engine: &Settings,
    tried: Vec<usize>,
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
    let mut costs = engine.costs.clone();
    let solve =
        |devices: Vec<Device>, costs: Costs| {
            let until = Instant::now() + TRIAL_TIME;
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
                ..engine.clone()
            };
            let report =
                swathe::run_finishing(&dropped, &part, &settings, &mut |_| match Instant::now()
                    < until
                {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                });
            report.costs
        };
    costs = solve(Vec::new(), costs);
    for device in &engine.devices {
        // The first launches include the compilation of kernels, so their times are discarded.
        solve(vec![device.clone()], costs.clone());
        costs = solve(vec![device.clone()], costs);
    }
    costs
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
