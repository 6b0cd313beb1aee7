//! Executes a run: from a workload and its source to a finished run folder.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use swathe::{
    Counts, Delivery, DeviceId, Done, Event, Finish, Need, Outcome, OutcomeKind, Report, Settings,
    Size, Source, Stop, Workload,
};

use crate::explain::trace;
use crate::kind::{Apart, Extent, RunKind};
use crate::page::{self, PageData};
use crate::store::live_file::LiveFile;
use crate::store::report_file::ReportFile;
use crate::store::row_numbers::RowNumbers;
use crate::store::rows::Rows;
use crate::store::run_folder::{
    Failure, FolderError, Identity, Merged, Part, RunFolder, RunOrigin, Timing,
    check_shards_folder, shard_path, write_file,
};

/// Where a run's outcomes go, and which problems it solves.
#[derive(Clone, Debug)]
pub struct Output {
    /// What the workload adds to the run.
    pub kind: &'static RunKind,
    /// The run folder.
    pub out: PathBuf,
    /// Whether to resume the run that is in the folder.
    pub resume: bool,
    /// Solves only this shard (number from 1, count) and writes it into a folder of its own.
    pub shard: Option<(usize, usize)>,
    /// The command, to be shown in the report.
    pub command: String,
    /// The settings from variables and a settings file, which the command does not show.
    pub settings: BTreeMap<String, String>,
    /// Solves nothing: the problems without an outcome fail with this reason. It closes a shard
    /// whose process always dies, so that the others can be merged.
    pub gives_up: Option<String>,
}

impl Output {
    /// The folder that is written: the folder of the run, or of its shard.
    pub fn folder(&self) -> PathBuf {
        match self.shard {
            Some((number, n_shards)) => shard_path(&self.out, number, n_shards),
            None => self.out.clone(),
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// The folder of the run, or of its shard.
    pub path: PathBuf,
    /// The figures of this process, without what was done before a resume.
    pub report: Report,
    /// The counts of problems that had an outcome before this process started.
    pub before: Counts,
    /// The workload's own figures: a name and a count.
    pub figures: Vec<(&'static str, u64)>,
    /// Warnings for the user, in sentences.
    pub warnings: Vec<String>,
    /// Lines for the user from [`RunKind::after_tables`].
    pub notes: Vec<String>,
    /// What the run achieved, from [`RunKind::headline`].
    pub headline: Option<String>,
    /// The answered problems that are not counted as solved, from [`RunKind::apart`].
    pub apart: Option<Apart>,
    /// The tables; absent if the run was interrupted.
    pub merged: Option<Merged>,
}

/// A command's own last step. It runs while the tables are hashed; its argument is false if the run
/// was interrupted and there are no tables. The reports are written after it, because they cover
/// everything in the folder.
pub type DuringHash<'a> = Box<dyn FnOnce(bool) -> Result<(), FolderError> + 'a>;

/// Runs the problems of a source that have no outcome yet, commits outcomes as they arrive, and
/// merges them at the end. If it is interrupted, it commits the finished outcomes.
///
/// # Errors
/// If the folder cannot be used or written.
pub fn execute<F, R>(
    finish: &Arc<F>,
    source: &Source<<F::Workload as Workload>::Problem, F::Failure>,
    settings: &Settings,
    identity: Identity,
    output: &Output,
    mut rows: R,
    during_hash: DuringHash<'_>,
) -> Result<Finished, FolderError>
where
    F: Finish,
    R: Rows<Solution = F::Finished>,
{
    let (name, kind) = (<F::Workload as Workload>::NAME, output.kind);
    if output.shard.is_some() {
        check_shards_folder(&output.out)?;
    }
    let path = output.folder();
    let identity = Identity { shard: output.shard, ..identity };
    let problems = identity.problems();
    let mut folder = RunFolder::open(&path, identity, output.resume, settings.memory.faults())?;
    let todo = folder.committed().missing(problems.start, problems.end);
    folder.made_by(RunOrigin::now(&output.command, &output.settings))?;
    let before = folder.committed_counts();
    let opened = folder.warnings().to_vec();
    let todo = Arc::new(RowNumbers::new(&todo));
    rows.begin(&todo)?;
    let to_solve = match output.gives_up {
        Some(_) => remaining(source, &Arc::default()),
        None => remaining(source, &todo),
    };
    let numbered = Arc::new(Numbered { finish: Arc::clone(finish), numbers: Arc::clone(&todo) });

    // The current part and the part being written count against the memory budget. They release
    // their reservation if a problem would not fit otherwise.
    let part_bytes = (settings.memory.cap_bytes() / 16).min(Part::<R>::N_BYTES_MAX as u64);
    let held = Arc::new(Mutex::new(settings.memory.try_reserve(2 * part_bytes).ok()));
    let _gives_way = settings.memory.on_shortage(move || {
        let held = held.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
    });
    let mut part = Part::new(rows, part_bytes as usize);
    let mut trouble: Option<FolderError> = None;
    let live = LiveFile::start(
        &path,
        name,
        &output.command,
        before,
        Counts { n_problems: todo.len() as u64, ..Counts::default() },
        settings.memory.cap_bytes(),
    );
    // The first progress event includes what was done before a resume.
    let observer = settings.observer.as_ref();
    if let Some(observer) = observer {
        observer.tell(&Event::Progress {
            counts: live.whole(Counts { n_problems: todo.len() as u64, ..Counts::default() }),
            elapsed: Duration::ZERO,
        });
    }
    let settings = &Settings {
        observer: Some(live.observer(Arc::clone(&todo), observer.cloned())),
        ..settings.clone()
    };
    if let Some(reason) = &output.gives_up {
        fail_all(&mut part, &mut folder, &todo, reason)?;
    }
    let mut report = swathe::run_finishing(&numbered, &to_solve, settings, &mut |delivery| {
        if let Some(error) = part.rows().write_error() {
            trouble = Some(error);
            return ControlFlow::Break(());
        }
        match delivery {
            Delivery::Done(done) => push(&mut part, &todo, done),
            Delivery::Tick => live.name_problems(|number| part.rows().id(number as usize)),
        }
        // Ticks check for a due commit too, so finished outcomes are safe within a few seconds
        // however long the next problem takes. The commit runs in the background: waiting for it
        // would block workers that deliver outcomes.
        let committed = match part.is_due() {
            true => folder.start_commit(&mut part),
            false => folder.end_commit_if_written(),
        };
        if let Err(error) = committed {
            trouble = Some(error);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    if let Some(error) = trouble {
        return Err(error);
    }
    if output.gives_up.is_some() {
        report.counts.n_problems = todo.len() as u64;
        report.counts.n_failed = todo.len() as u64;
    }
    live.merging();
    folder.commit(&mut part)?;
    let extent = match output.shard {
        Some(_) => Extent::Shard,
        None => Extent::Whole,
    };
    let (merged, section) = if report.cancelled {
        folder.interrupted()?;
        during_hash(false)?;
        (None, None)
    } else {
        let (merged, section) = folder.finish_during(part.rows(), settings.n_threads, || {
            during_hash(true)?;
            let notes = (kind.after_tables)(&path, extent)?;
            let texts = (notes, (kind.headline)(&path)?, (kind.apart)(&path)?);
            Ok(((kind.page)(&path)?, texts))
        })?;
        (Some(merged), Some(section))
    };
    let (section, texts) = section.unzip();
    let (notes, headline, apart) = texts.unwrap_or_default();
    let handed_over = report.handed_over();
    let finished = Finished {
        path,
        report,
        before,
        figures: part.rows().figures(),
        warnings: [opened, part.rows().warnings(), handed_over].concat(),
        notes,
        headline,
        apart,
        merged,
    };
    write_reports(&finished, output, section)?;
    drop(live);
    Ok(finished)
}

/// Adds an outcome to the current part.
fn push<R: Rows, E: std::error::Error>(
    part: &mut Part<R>,
    numbers: &RowNumbers,
    done: Done<R::Solution, E>,
) {
    let index = numbered(numbers, done.index);
    let timing = Timing {
        device: done.device.to_string(),
        milliseconds: done.took.as_secs_f64() * 1e3,
        attempts: done.n_attempts,
    };
    let answer = match &done.outcome {
        Outcome::Solved(solution) => Ok(solution),
        outcome => {
            Err(Failure { kind: outcome.kind(), message: outcome.message().unwrap_or_default() })
        }
    };
    part.push(index, answer, timing);
}

/// Adds a failure for each of these problems.
fn fail_all<R: Rows>(
    part: &mut Part<R>,
    folder: &mut RunFolder,
    numbers: &RowNumbers,
    reason: &str,
) -> Result<(), FolderError> {
    for at in 0..numbers.len() {
        let timing =
            Timing { device: DeviceId::default().to_string(), milliseconds: 0.0, attempts: 0 };
        let failure = Failure { kind: OutcomeKind::Failed, message: reason.to_owned() };
        part.push(numbered(numbers, at), Err(failure), timing);
        if part.is_due() {
            folder.start_commit(part)?;
        }
    }
    Ok(())
}

/// A source with only the problems in `todo`.
fn remaining<P: 'static, E: 'static>(
    source: &Source<P, E>,
    todo: &Arc<RowNumbers>,
) -> Source<P, E> {
    let (sizes, loads) = (source.clone(), source.clone());
    let (size_numbers, load_numbers) = (Arc::clone(todo), Arc::clone(todo));
    Source::new(
        todo.len(),
        move |at| sizes.size(numbered(&size_numbers, at)),
        move |at, stop| loads.load(numbered(&load_numbers, at), stop),
    )
}

/// The input's number of one of the engine's problems.
fn numbered(numbers: &RowNumbers, at: usize) -> usize {
    numbers.number(at).expect("the engine has only these") as usize
}

/// Translates the engine's problem indices into numbers of the whole input.
struct Numbered<F> {
    finish: Arc<F>,
    numbers: Arc<RowNumbers>,
}

impl<F: Finish> Finish for Numbered<F> {
    type Workload = F::Workload;
    type Finished = F::Finished;
    type Failure = F::Failure;

    fn workload(&self) -> &F::Workload {
        self.finish.workload()
    }

    fn need(&self, size: &Size, solving: Need) -> Need {
        self.finish.need(size, solving)
    }

    fn finish(
        &self,
        at: usize,
        problem: &<F::Workload as Workload>::Problem,
        solution: <F::Workload as Workload>::Solution,
        stop: &Stop,
    ) -> Result<F::Finished, F::Failure> {
        let index = numbered(&self.numbers, at);
        self.finish.finish(index, problem, solution, stop)
    }
}

/// Writes the reports. `report.json` comes first, because the page is made from the files in the
/// folder and can be made again from them.
fn write_reports(
    finished: &Finished,
    output: &Output,
    section: Option<Value>,
) -> Result<(), FolderError> {
    let path: &Path = &finished.path;
    let figures = finished.figures.iter();
    ReportFile {
        report: finished.report.clone(),
        n_before: finished.before.n_problems,
        before: finished.before,
        figures: figures.map(|&(what, n)| (what.to_owned(), n)).collect(),
        warnings: finished.warnings.clone(),
        command: output.command.clone(),
        result_hash: finished.merged.as_ref().map(|merged| merged.result_hash.clone()),
        places: Vec::new(),
    }
    .write(path)?;
    write_file(
        &path.join("trace.json"),
        trace::chrome_trace(&finished.report, &output.command).as_bytes(),
    )?;
    let data = match section {
        Some(section) => PageData::read_with(path, Some(output.kind), section)?,
        None => PageData::read(path, Some(output.kind))?,
    };
    let page = page::page(&data, Some(output.kind));
    write_file(&path.join("report.html"), page.as_bytes())
}
