//! The steps of every command that writes a run folder, whatever its workload.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use swathe::{
    Budget, DeviceId, DeviceUse, EndCause, Finish, GpuUse, OutcomeKind, Report, Reservation, Simd,
    Source, Workload,
};
use swathe_run::explain::failure_groups::{self, FailureGroup};
use swathe_run::explain::flame::flame_svg;
use swathe_run::explain::quantity;
use swathe_run::store::cost_file;
use swathe_run::store::execute::{DuringHash, Finished, execute};
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{Identity, InputFile, RunJson, write_file};

use crate::cli_error::{CliError, Code};
use crate::plan_text::plan_text;
use crate::progress::Progress;
use crate::settings::RunSettings;
use crate::{error, placement, status, stderr, stdout, summary, warning};

/// The settings and inputs that a run's answers depend on.
pub struct Provenance {
    /// The settings that answers depend on, under the names of their flags.
    pub settings: BTreeMap<String, Value>,
    /// The input files.
    pub inputs: Vec<InputFile>,
}

/// Plans the run, executes it, writes its folder and prints a summary. `during_hash` is the
/// command's own last step, which runs once the tables are written.
///
/// # Errors
/// If the run cannot start, or if its folder cannot be written.
pub fn run_command<F, R>(
    finish: &Arc<F>,
    source: &Source<<F::Workload as Workload>::Problem, F::Failure>,
    mut run: RunSettings,
    provenance: Provenance,
    rows: R,
    during_hash: DuringHash<'_>,
) -> Result<Code, CliError>
where
    F: Finish,
    R: Rows<Solution = F::Finished>,
{
    let name = <F::Workload as Workload>::NAME;
    if run.engine.n_verify > 0 && !finish.workload().can_compare() {
        let message = format!("answers of {name} cannot be verified: it does not compare them");
        return Err(CliError::usage(message).hint("leave --verify out"));
    }
    let gpus = placement::place(finish, source, &mut run.engine, Some(&run.output), run.explain)?;
    if run.explain {
        let plan = swathe::explain(finish.as_ref(), source, &run.engine);
        let has_kernels = run.has_kernels;
        let text =
            plan_text(finish.workload(), &plan, &run.engine, has_kernels, |index| rows.id(index));
        stdout::print(&text)?;
        return Ok(Code::Solved);
    }
    let mut settings = provenance.settings;
    run.selection.record(&mut settings)?;
    placement::record(&run.engine, &mut settings);
    let identity = Identity {
        workload: name.to_owned(),
        settings,
        inputs: provenance.inputs,
        n_problems: source.n_problems() as u64,
        shard: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        simd: Simd::detect().path().name().to_owned(),
    };
    warn_of_other_instructions(&run);
    let (progress, observer) = Progress::start(run.progress, name, source.n_problems() as u64);
    run.engine.observer = observer;
    let finished = execute(
        finish,
        source,
        &run.engine,
        identity,
        &run.output,
        rows,
        Box::new(move |has_tables| {
            // The command may print, so the progress bar must be gone.
            drop(progress);
            during_hash(has_tables)
        }),
    )?;
    cost_file::save(&finished.report.costs, &gpus);
    let code = print_summary(&finished, &run)?;
    draw_flame(&finished.report, &run)?;
    Ok(code)
}

/// Warns of the problems of a run that have no answer, with their reasons in groups.
///
/// # Errors
/// If the table of failures cannot be read.
pub fn warn_of_failures(run: &Path, n_failures: u64) -> Result<Vec<FailureGroup>, CliError> {
    let groups = failure_groups::failure_groups(run)?;
    let reasons: String =
        failure_groups::lines(&groups).iter().map(|line| format!("\n  {line}")).collect();
    warning!(
        "{} without an answer, all in {}:{reasons}",
        summary::counted(n_failures, "problem", "problems"),
        run.join("failures.parquet").display()
    );
    Ok(groups)
}

/// The flags that help with failures of these kinds, one line for each.
fn failure_hints(groups: &[FailureGroup]) -> Vec<&'static str> {
    let has = |kind: OutcomeKind| groups.iter().any(|group| group.kind == kind.name());
    let hints = [
        (OutcomeKind::TimedOut, "give a problem more time with --time-limit, in a new folder"),
        (OutcomeKind::TooLarge, "give a problem more memory with --memory, in a new folder"),
        (
            OutcomeKind::Panicked,
            "the solver panicked, which is a bug: reproduce it with `swathe replay RUN ID` and report it",
        ),
    ];
    let helpful = hints.into_iter().filter(|&(kind, _)| has(kind));
    helpful.map(|(_, hint)| hint).collect()
}

/// Reserves what is in memory as long as the run, such as the names and sizes of its problems.
///
/// # Errors
/// If `--memory` is less than that.
pub fn reserve_index(memory: &Budget, what: &str, bytes: u64) -> Result<Reservation, CliError> {
    memory.try_pin(bytes).map_err(|refused| {
        CliError::usage(format!(
            "{what} alone take {}, and --memory leaves {}",
            quantity::bytes(bytes),
            quantity::bytes(refused.free_bytes)
        ))
        .hint(format!("give --memory {}MiB or more", (2 * bytes).div_ceil(1 << 20)))
    })
}

/// Draws the flame graph if `--flame` is set.
///
/// # Errors
/// If the file cannot be written.
pub fn draw_flame(report: &Report, run: &RunSettings) -> Result<(), CliError> {
    if let Some(to) = &run.flame {
        write_file(to, flame_svg(report).as_bytes()).map_err(|error| {
            CliError::new(Code::Output, error.to_string())
                .hint("the run itself is safe: swathe report RUN --flame FILE draws it again")
        })?;
        status!("flame graph: {}", to.display());
    }
    Ok(())
}

/// Warns if a resumed run continues with another instruction set: its answers are right, but floats
/// may differ in the last bits.
fn warn_of_other_instructions(run: &RunSettings) {
    let now = Simd::detect().path().name();
    if let Ok(before) = RunJson::read(&run.output.folder())
        && run.output.resume
        && before.identity.simd != now
    {
        warning!(
            "the run began with {} instructions and goes on with {now}: floats may differ in the last bits",
            before.identity.simd
        );
    }
}

/// Prints how many problems each device solved, and warns about devices that were retired.
fn print_gpu_summary(report: &Report) {
    let gpus = report.devices.iter().filter_map(|device| match device {
        DeviceUse::Gpu(gpu) => Some(gpu),
        DeviceUse::Cpu(_) | DeviceUse::Host(_) => None,
    });
    let gpus: Vec<&GpuUse> = gpus.collect();
    if gpus.is_empty() {
        return;
    }
    let mut n_lanes: BTreeMap<DeviceId, u64> = BTreeMap::new();
    for part in report.routes.iter().flat_map(|route| &route.devices) {
        *n_lanes.entry(part.device).or_default() += part.n_lanes;
    }
    let parts: Vec<String> = n_lanes.iter().map(|(device, n)| format!("{device} {n}")).collect();
    let mut line = match parts.is_empty() {
        true => "nothing here has kernels for graphics processors".to_owned(),
        false => format!("taken by {}", parts.join(", ")),
    };
    if report.n_cpu_only > 0 && !parts.is_empty() {
        line += &format!(", and {} by the cpu, which alone can", report.n_cpu_only);
    }
    status!("{line}");
    let took_over = match gpus.iter().all(|gpu| gpu.retired.is_some()) {
        true => "no device is left, so the CPU",
        false => "the others and the CPU",
    };
    for gpu in gpus {
        if let Some(reason) = &gpu.retired {
            warning!(
                "gpu:{} ({}) was given up: {reason}; {took_over} took over (`swathe devices` tests it, --device cpu does without)",
                gpu.info.number,
                gpu.info.name
            );
        }
    }
}

/// Prints the summary to stderr and the folder to stdout, and returns the exit status.
fn print_summary(finished: &Finished, run: &RunSettings) -> Result<Code, CliError> {
    let report = &finished.report;
    if let Some(headline) = &finished.headline {
        status!("{headline}");
    }
    status!(
        "{}: {} in {:.2} s ({:.1} a second)",
        report.workload,
        summary::outcomes(report, finished.before, finished.apart).join(", "),
        report.wall_ms / 1e3,
        report.solved_per_s()
    );
    status!("{}", summary::figures(report));
    print_gpu_summary(report);
    for (what, n) in &finished.figures {
        if *n > 0 {
            status!("{n} {what}");
        }
    }
    for note in &finished.notes {
        status!("{note}");
    }
    for warning in &finished.warnings {
        warning!("{warning}");
    }
    stdout::line(finished.path.display())?;
    let Some(merged) = &finished.merged else {
        if let Some(cause) = report.ended_by {
            let hint = match cause {
                EndCause::StuckSolvers { .. } => {
                    "what was finished is kept; go on with --resume and a longer --time-limit, or leave out the problems that timed out (they stand in the report)"
                }
                EndCause::MemoryHeld { .. } => {
                    "what was finished is kept; go on with --resume and a larger --memory"
                }
                EndCause::NoThread => {
                    "raise the limits (ulimit -u, ulimit -v), then go on with --resume"
                }
            };
            stderr::print_error(&cause.to_string(), Some(hint));
            return Ok(Code::SomeFailed);
        }
        status!("interrupted: what was finished is kept; go on with the same command and --resume");
        return Ok(Code::Interrupted);
    };
    let verification = &report.verification;
    if !verification.mismatches.is_empty() {
        for mismatch in verification.mismatches.iter().take(10) {
            error!(
                "problem {} solved again gives another answer: {}",
                mismatch.problem, mismatch.difference
            );
        }
        return Ok(Code::Mismatch);
    }
    if verification.n_checked > 0 {
        status!("{} problems solved again, all agree", verification.n_checked);
    }
    if let Some((number, n_shards)) = run.output.shard {
        status!(
            "shard {number}/{n_shards} is done; when all are: swathe merge {}",
            run.output.out.display()
        );
    } else {
        status!("report: {}", finished.path.join("report.html").display());
    }
    if merged.n_failures > 0 {
        let groups = warn_of_failures(&finished.path, merged.n_failures)?;
        for hint in failure_hints(&groups) {
            status!("hint: {hint}");
        }
        return Ok(Code::SomeFailed);
    }
    Ok(Code::Solved)
}
