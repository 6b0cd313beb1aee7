//! Carrying out a run: from a workload and its source to a finished run folder.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use swathe::{
    Counts, Delivery, Done, Event, Finish, Need, Outcome, Report, Settings, Size, Source, Stop,
    Workload,
};

use crate::explain::trace;
use crate::kind::{Extent, RunKind};
use crate::page::{self, PageData};
use crate::store::live_file::LiveFile;
use crate::store::report_file::ReportFile;
use crate::store::rows::Rows;
use crate::store::run_folder::{
    Failure, FolderError, Identity, Merged, Part, RunFolder, Timing, check_shards_folder,
    shard_path, write_file,
};

/// Where a run's outcomes go, and which of them are wanted.
#[derive(Clone, Debug)]
pub struct Output {
    /// What the workload adds to the run.
    pub kind: &'static RunKind,
    /// The run folder.
    pub out: PathBuf,
    /// Go on with what is there.
    pub resume: bool,
    /// Only this share of the problems (number, of how many; from 1), into a folder of its own.
    pub shard: Option<(usize, usize)>,
    /// The command, to be shown in the report.
    pub command: String,
}

impl Output {
    /// The folder that is written: the run's, or its shard's.
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
    /// The run folder; of the shard, if it is one.
    pub path: PathBuf,
    /// The figures of what ran now.
    pub report: Report,
    /// What became of the problems whose outcomes were there already.
    pub before: Counts,
    /// Figures of the workload's own: what they count, how many.
    pub figures: Vec<(&'static str, u64)>,
    /// What the user should be warned of, in sentences.
    pub warnings: Vec<String>,
    /// What the kind of run has to say of its tables, in lines.
    pub notes: Vec<String>,
    /// The tables; absent if the run was interrupted.
    pub merged: Option<Merged>,
}

/// What a command has to do of its own when the tables are there, while they are hashed; it is told
/// whether there are tables. The reports, which tell of everything that is in the folder, are made
/// after it.
pub type DuringHash<'a> = Box<dyn FnOnce(bool) -> Result<(), FolderError> + 'a>;

/// Runs the problems of a source that have no outcome yet, commits outcomes as they come, and
/// merges them at the end. Interrupted, it commits what is finished.
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
    let identity = Identity {
        shard: output.shard,
        ..identity
    };
    let problems = identity.problems();
    let mut folder = RunFolder::open(&path, identity, output.resume, settings.memory.faults())?;
    let todo = folder.committed().missing(problems.start, problems.end);
    let before = folder.committed_counts();
    let opened = folder.warnings().to_vec();
    let todo = Arc::new(todo);
    rows.begin(&todo)?;
    let remaining = remaining(source, &todo);
    let numbered = Arc::new(Numbered {
        finish: Arc::clone(finish),
        numbers: Arc::clone(&todo),
    });

    // The part in the making and the one that is being written are memory like any other, but must
    // not keep out a problem that would fit without them.
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
        Counts {
            n_problems: todo.len() as u64,
            ..Counts::default()
        },
        settings.memory.cap_bytes(),
    );
    // Who shows progress learns first what was done before.
    let observer = settings.observer.as_ref();
    if let Some(observer) = observer {
        observer.tell(&Event::Progress {
            counts: live.whole(Counts {
                n_problems: todo.len() as u64,
                ..Counts::default()
            }),
            elapsed: Duration::ZERO,
        });
    }
    let settings = &Settings {
        observer: Some(live.observer(Arc::clone(&todo), observer.cloned())),
        ..settings.clone()
    };
    let report = swathe::run_finishing(&numbered, &remaining, settings, &mut |delivery| {
        if let Some(error) = part.rows().write_error() {
            trouble = Some(error);
            return ControlFlow::Break(());
        }
        if let Delivery::Done(done) = delivery {
            push(&mut part, &todo, done);
        }
        // Looked at between outcomes as well: what is finished is safe a few seconds later, however
        // long the next problem takes. Not waited for: workers would soon have nowhere to put their
        // answers.
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
        let (merged, section) = folder.finish_beside(part.rows(), settings.n_threads, || {
            during_hash(true)?;
            let notes = (kind.after_tables)(&path, extent)?;
            Ok(((kind.page)(&path)?, notes))
        })?;
        (Some(merged), Some(section))
    };
    let (section, notes) = section.unzip();
    let finished = Finished {
        path,
        report,
        before,
        figures: part.rows().figures(),
        warnings: [opened, part.rows().warnings()].concat(),
        notes: notes.unwrap_or_default(),
        merged,
    };
    write_reports(&finished, output, section)?;
    drop(live);
    Ok(finished)
}

/// Adds an outcome to the part in the making.
fn push<R: Rows, E: std::error::Error>(
    part: &mut Part<R>,
    numbers: &[u64],
    done: Done<R::Solution, E>,
) {
    let index = numbers[done.index] as usize;
    let timing = Timing {
        device: done.device.to_string(),
        milliseconds: done.took.as_secs_f64() * 1e3,
        attempts: done.n_attempts,
    };
    let answer = match &done.outcome {
        Outcome::Solved(solution) => Ok(solution),
        outcome => Err(Failure {
            kind: outcome.kind(),
            message: outcome.message().unwrap_or_default(),
        }),
    };
    part.push(index, answer, timing);
}

/// The problems of a source that are left to do.
fn remaining<P: 'static, E: 'static>(source: &Source<P, E>, todo: &Arc<Vec<u64>>) -> Source<P, E> {
    let (sizes, loads) = (source.clone(), source.clone());
    let (size_numbers, load_numbers) = (Arc::clone(todo), Arc::clone(todo));
    Source::new(
        todo.len(),
        move |at| sizes.size(size_numbers[at] as usize),
        move |at, stop| loads.load(load_numbers[at] as usize, stop),
    )
}

/// Finishes solutions under their numbers in the whole input.
struct Numbered<F> {
    finish: Arc<F>,
    numbers: Arc<Vec<u64>>,
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
        let index = self.numbers[at] as usize;
        self.finish.finish(index, problem, solution, stop)
    }
}

/// `report.json` first: the page is made from what is in the folder, so that it can be made again.
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
        result_hash: finished
            .merged
            .as_ref()
            .map(|merged| merged.result_hash.clone()),
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
