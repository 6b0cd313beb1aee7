//! `swathe arc`: grid programs on tasks.

mod asked;
mod combine;
mod explain;
mod harvest;
mod made_programs;
mod mutate;
mod save;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::PROGRAM;
use crate::arc_answer::ArcRun;
use crate::arc_run::{self, ProfileRow, ProgramRow, profile_rows};
use crate::arc_table::ArcRows;
use crate::differ_parts::{DifferParts, DifferRow};
use crate::known_calls::KnownCalls;
use crate::program_input::{ProgramInput, ProgramInputError, read_programs};
use crate::program_keys::read_keys;
use crate::saved_programs;
use crate::submission::{AttemptRules, write_submission};
use crate::task_input::{TaskInput, TaskInputError, read_tasks};
use asked::{Asked, check_extended};
use harvest::add_harvest;
use made_programs::MadePrograms;
use serde_json::{Value, json};
use swathe::Source;
use swathe_arc::{Batt, Dialect, Limits, Problem};
use swathe_run::kind::Extent;
use swathe_run::store::execute::Output;
use swathe_run::store::run_folder::{FolderError, RunJson, RunState, write_file};

use crate::flags::{ArcFlags, ArcJobFlags, ArcVerb, DialectName, PairingName};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::interrupt;
use swathe_command::run_command::{Provenance, reserve_index, run_command};
use swathe_command::run_flags::RunFlags;
use swathe_command::settings::{RunSettings, resolve};
use swathe_command::summary::counted;
use swathe_command::{error, status, warning};

pub(crate) fn arc(flags: &ArcFlags) -> Result<Code, CliError> {
    let job = flags.job.as_ref();
    match (&flags.verb, flags.asked.as_ref().zip(job)) {
        (None, Some((asked, job))) => run_programs(&Asked::programs(asked, job), &flags.run),
        (Some(ArcVerb::Run(run)), _) => {
            run_programs(&Asked::programs(&run.asked, &run.job), &run.run)
        }
        (Some(ArcVerb::Batt(batt)), _) => run_programs(&Asked::batt(batt), &batt.run),
        (Some(ArcVerb::Explain(explain)), _) => explain::explain(explain),
        (Some(ArcVerb::Show(flags)), _) => show::show(flags),
        (Some(ArcVerb::Submit(submit)), _) => {
            check_kind(&submit.run)?;
            let rules = attempt_rules(submit.vote, submit.rank_by.as_deref())?;
            write_submission(&submit.run, &submit.to, &rules)?;
            swathe_command::stdout::line(submit.to.display())?;
            Ok(Code::Solved)
        }
        (Some(ArcVerb::Save(flags)), _) => save::save(flags),
        (Some(ArcVerb::Mutate(flags)), _) => mutate::mutate(flags),
        (Some(ArcVerb::Combine(flags)), _) => combine::combine(flags),
        (None, None) => Err(CliError::usage("swathe arc needs programs and tasks")
            .hint("swathe arc --programs FILE --tasks PATH --out RUN; --help shows more")),
    }
}

/// Refuses runs of other commands: they have no tasks.
fn check_kind(run: &Path) -> Result<(), CliError> {
    let workload = RunJson::read(run)?.identity.workload;
    if workload == PROGRAM.kind.name {
        return Ok(());
    }
    Err(CliError::usage(format!("{} is a run of swathe {workload}", run.display()))
        .hint("give a folder that `swathe arc … --out` made"))
}

fn run_programs(asked: &Asked<'_>, run: &RunFlags) -> Result<Code, CliError> {
    let flags = asked.flags;
    let run = resolve(run, &flags.out, &PROGRAM)?;
    let limits = limits(flags);
    asked.check_flags(run.output.shard.is_some())?;
    let rules = attempt_rules(flags.vote, flags.rank_by.as_deref())?;
    if flags.submission.is_none() && (flags.vote || flags.rank_by.is_some()) {
        return Err(CliError::usage(
            "--vote and --rank-by choose attempts, but there is no submission",
        )
        .hint("add --submission FILE, or give them to `swathe arc submit RUN`"));
    }
    if let Some(finished) = &flags.extend {
        check_extended(finished, &settings(asked, &limits))?;
    }
    let mut programs = interrupt::while_reading(|| programs(asked.files, flags.dialect))?;
    print_dialects(&programs.dialects, flags.dialect);
    if programs.programs.is_empty() && (!asked.has_differs || programs.differs.is_empty()) {
        let told = told_of_programs(&programs);
        print_errors(&told, |n_more| format!("and {n_more} more"));
        return Err(none_usable());
    }
    let mut tasks = interrupt::while_reading(|| tasks(&flags.tasks))?;
    let names = tasks.tasks.iter().map(|task| task.name.as_str());
    if let Some(chosen) = run.selection.choose("task", names)? {
        let kept = chosen.into_iter().map(|at| Arc::clone(&tasks.tasks[at]));
        tasks.tasks = kept.collect();
    }
    let rejected = Rejected::of(&programs, &tasks);
    rejected.print_summary();
    let mut made = MadePrograms::default();
    if let Some(by) = flags.augment {
        made.augment(&mut programs, by);
    }
    if flags.harvest && run.explain {
        status!("the plan is without harvested programs: --explain evaluates nothing");
    } else if flags.harvest {
        refuse_finished(&run.output)?;
        let workload = |library| asked.workload(library, limits, &run.engine);
        if add_harvest(&mut programs, &tasks.tasks, &run, workload, &mut made)?.is_none() {
            status!("interrupted while harvesting: nothing was written");
            return Ok(Code::Interrupted);
        }
    }
    let job = ArcJob::new(asked, limits, programs, tasks, &run)?;
    job.warn_of_the_unpaired();
    let n_programs = counted(job.program_rows.len() as u64, "program", "programs");
    let _programs = reserve_index(&run.engine.memory, &n_programs, job.shared_bytes())?;
    let (folder, is_explained) = (run.output.folder(), run.explain);
    let is_shard = run.output.shard.is_some();
    let source = Source::from_vec(&job.finish.workload, job.problems.to_vec());
    let differs = job.differ_rows.as_ref();
    let differs = differs.map(|rows| DifferParts::new(&run.output.out, rows.len()));
    let rows = ArcRows::new(&job.finish.workload, Arc::clone(&job.problems), differs);
    let code = run_command(
        &job.finish,
        &source,
        run,
        job.provenance,
        rows,
        Box::new(|_| {
            arc_run::write_inputs(&folder, &job.problems, &job.program_rows)?;
            if let Some(differs) = &job.differ_rows {
                arc_run::write_differ_rows(&folder, differs)?;
            }
            rejected.write(&folder)?;
            made.write(&folder)?;
            if flags.profile {
                let rows = profile_rows(&job.finish.workload.profile());
                arc_run::write_profile(&folder, &rows)?;
                status!("{}", profile_text(&rows).trim_end());
            }
            Ok(())
        }),
    )?;
    // A part of the tasks does not show which programs are best.
    let has_tasks = !is_shard && !is_explained && code != Code::Interrupted;
    if let (Some(path), true) = (&flags.submission, has_tasks) {
        write_submission(&folder, path, &rules)?;
        status!("submission: {}", path.display());
    }
    if let (Some(to), true) = (&flags.save_programs, has_tasks) {
        let workload = &job.finish.workload;
        let n_saved = saved_programs::save(&folder, workload, to)?;
        let saved = counted(n_saved, "program", "programs");
        status!("{saved} saved: {}", to.display());
    }
    Ok(match code {
        Code::Solved if !rejected.is_empty() && !is_explained => Code::SomeFailed,
        code => code,
    })
}

/// Refuses a folder that holds a run, before a harvest takes its time.
fn refuse_finished(output: &Output) -> Result<(), FolderError> {
    let path = output.folder();
    match RunJson::read(&path) {
        Ok(run) if !output.resume => {
            Err(FolderError::Exists { path, complete: run.state == RunState::Complete })
        }
        _ => Ok(()),
    }
}

/// The slowest primitives and programs.
fn profile_text(rows: &[ProfileRow]) -> String {
    const N_SHOWN: usize = 10;
    let mut text = String::new();
    for kind in ["primitive", "program"] {
        let head = format!("{:<28}{:>10}{:>12}{:>8}", kind, "calls", "ms", "share");
        text.push_str(&format!("{head}\n"));
        for row in rows.iter().filter(|row| row.kind == kind).take(N_SHOWN) {
            text.push_str(&format!(
                "{:<28}{:>10}{:>12.1}{:>7.1}%\n",
                row.name,
                row.n_calls,
                row.milliseconds,
                100.0 * row.share
            ));
        }
    }
    text
}

/// Writes which programs solve which tasks once all tasks are there, because a part of the tasks
/// does not show which programs are best.
pub(crate) fn after_tables(run: &Path, extent: Extent) -> Result<Vec<String>, FolderError> {
    match extent {
        Extent::Shard => return Ok(Vec::new()),
        Extent::Merged => arc_run::adopt_inputs(run)?,
        Extent::Whole => {}
    }
    arc_run::write_tasks(run)?;
    let mut notes = Vec::new();
    if RunJson::read(run)?.identity.settings.contains_key(DIFFERS_SETTING) {
        arc_run::write_batt_scores(run)?;
        let n_rows = arc_run::write_differs(run)?;
        notes.push(format!("{} of differs", counted(n_rows, "value", "values")));
    }
    Ok(notes)
}

fn attempt_rules(has_votes: bool, rank_by: Option<&Path>) -> Result<AttemptRules, CliError> {
    let keys = rank_by.map(read_keys).transpose()?;
    Ok(AttemptRules { has_votes, keys: keys.unwrap_or_default() })
}

/// The setting that runs with differs have: which answers they see.
const DIFFERS_SETTING: &str = "differs-see";

fn limits(flags: &ArcJobFlags) -> Limits {
    Limits { work_max: flags.call_work, bytes_max: flags.call_memory.0, ..Limits::default() }
}

fn programs(paths: &[PathBuf], dialect: DialectName) -> Result<ProgramInput, CliError> {
    read_files(paths, dialect.dialect())
}

fn read_files(paths: &[PathBuf], dialect: Option<Dialect>) -> Result<ProgramInput, CliError> {
    read_programs(paths, dialect).map_err(|error| {
        CliError::usage(error.to_string()).hint(match error {
            ProgramInputError::Read { .. } => UNREADABLE_HINT,
            ProgramInputError::Json { .. } => "give tasks with --tasks, and Python files here",
            ProgramInputError::NotText { .. } | ProgramInputError::Empty { .. } => {
                "programs are functions in Python files: def name(I), x1 = primitive(I), return x1"
            }
        })
    })
}

/// The programs of files for a command that makes other files of them: rejected ones are printed and left out, and the
/// code says so.
fn usable_programs(
    paths: &[PathBuf],
    dialect: DialectName,
) -> Result<(ProgramInput, Code), CliError> {
    let input = programs(paths, dialect)?;
    for error in &input.rejected {
        error!("{error}");
    }
    if input.programs.is_empty() {
        return Err(none_usable());
    }
    let code = match input.rejected.is_empty() {
        true => Code::Solved,
        false => Code::SomeFailed,
    };
    Ok((input, code))
}

fn none_usable() -> CliError {
    CliError::usage("none of the programs can be used")
        .hint("the errors above say what is wrong with them")
}

/// Prints the first of these errors, and how many more there are.
fn print_errors(told: &[String], more: impl Fn(usize) -> String) {
    const N_TOLD_MAX: usize = 20;
    for text in told.iter().take(N_TOLD_MAX) {
        error!("{text}");
    }
    if let Some(n_more @ 1..) = told.len().checked_sub(N_TOLD_MAX) {
        error!("{}", more(n_more));
    }
}

/// Says once which dialects the files were found to be in, unless all are in arc-dsl or the flags chose one.
fn print_dialects(dialects: &[Dialect], asked: DialectName) {
    if asked != DialectName::Auto || dialects.iter().all(|&d| d == Dialect::default()) {
        return;
    }
    let found = Dialect::ALL.into_iter().filter_map(|dialect| {
        let n_files = dialects.iter().filter(|&&d| d == dialect).count() as u64;
        let files = counted(n_files, "file", "files");
        (n_files > 0).then(|| format!("{} ({files})", dialect.name()))
    });
    let found: Vec<String> = found.collect();
    status!("dialect by imports: {}", found.join(", "));
}

fn tasks(paths: &[PathBuf]) -> Result<TaskInput, CliError> {
    read_tasks(paths).map_err(|error| {
        CliError::usage(error.to_string()).hint(match error {
            TaskInputError::Read { .. } => UNREADABLE_HINT,
            TaskInputError::DuplicateName { .. } => "give every task once, under one name",
            TaskInputError::Empty { .. } | TaskInputError::NotTasks { .. } => {
                "tasks are a folder of .json files, a *_challenges.json file, or a .json file of tasks by name"
            }
        })
    })
}

const UNREADABLE_HINT: &str = "check the name, and that it may be read";

/// The programs and tasks that were rejected, a text for each.
struct Rejected {
    texts: Vec<String>,
    /// What is printed: one text for a file without a program.
    told: Vec<String>,
    /// For programs and for tasks how many were rejected, and whether others are left.
    counts: [(u64, bool); 2],
}

impl Rejected {
    fn of(programs: &ProgramInput, tasks: &TaskInput) -> Rejected {
        let of_programs = programs.rejected.iter().map(ToString::to_string);
        let of_tasks = tasks.rejected.iter().map(ToString::to_string);
        let told = told_of_programs(programs).into_iter();
        Rejected {
            told: told.chain(of_tasks.clone()).collect(),
            texts: of_programs.chain(of_tasks).collect(),
            counts: [
                (programs.rejected.len() as u64, !programs.programs.is_empty()),
                (tasks.rejected.len() as u64, !tasks.tasks.is_empty()),
            ],
        }
    }

    fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    fn print_summary(&self) {
        print_errors(&self.told, |n_more| {
            format!("and {n_more} more: all of them will be in {}", arc_run::REJECTED)
        });
        let names = [("program", "programs"), ("task", "tasks")];
        for ((n, has_others), (one, many)) in self.counts.into_iter().zip(names) {
            let others = if has_others { ", the others run" } else { "" };
            if n > 0 {
                status!("{} rejected{others}", counted(n, one, many));
            }
        }
    }

    fn write(&self, folder: &Path) -> Result<(), FolderError> {
        if self.is_empty() {
            return Ok(());
        }
        let text = self.texts.join("\n") + "\n";
        write_file(&folder.join(arc_run::REJECTED), text.as_bytes())
    }
}

/// A text for each rejected program, but only one for a file of many errors without any program: it is no file of
/// programs.
fn told_of_programs(programs: &ProgramInput) -> Vec<String> {
    const N_ERRORS_MIN: usize = 8;
    let mut told = Vec::new();
    for errors in programs.rejected.chunk_by(|a, b| a.file == b.file) {
        let file = &errors[0].file;
        let mut files = programs.files_of_programs.iter();
        let has_programs = files.any(|of_program| of_program.display().to_string() == *file);
        if has_programs || errors.len() < N_ERRORS_MIN {
            told.extend(errors.iter().map(ToString::to_string));
        } else {
            let first = errors[0].to_string();
            let first = first.lines().next().unwrap_or_default();
            told.push(format!(
                "{file} is no file of programs: {} errors, the first is {first}",
                errors.len()
            ));
        }
    }
    told
}

/// The job that the flags describe, with all inputs read.
struct ArcJob {
    finish: Arc<ArcRun>,
    problems: Arc<Vec<Problem>>,
    program_rows: Vec<ProgramRow>,
    /// The differs; None if the command has none.
    differ_rows: Option<Vec<DifferRow>>,
    provenance: Provenance,
    pairing: PairingName,
    task_names: Vec<String>,
}

impl ArcJob {
    fn new(
        asked: &Asked<'_>,
        limits: Limits,
        programs: ProgramInput,
        tasks: TaskInput,
        run: &RunSettings,
    ) -> Result<ArcJob, CliError> {
        let program_rows = programs.programs.iter().zip(&programs.files_of_programs);
        let program_rows = program_rows.map(|(program, file)| ProgramRow::of(program, file));
        let program_rows: Vec<ProgramRow> = program_rows.collect();
        let differs = match asked.has_differs {
            true => programs.differs,
            false => Vec::new(),
        };
        let differ_rows = differs.iter().zip(&programs.files_of_differs);
        let differ_rows = differ_rows.map(|(differ, file)| DifferRow::of(differ, file));
        let differ_rows: Option<Vec<DifferRow>> = asked.has_differs.then(|| differ_rows.collect());
        let mut workload = Batt::new(programs.programs, &differs, |library| {
            let mut programs = asked.workload(library, limits, &run.engine);
            if asked.flags.profile {
                programs.start_profile();
            }
            programs
        });
        workload.shows_tests = shows_tests(asked.flags);
        workload.batches_within_task = asked.flags.batch_within_task;
        let problems: Vec<Problem> = tasks.tasks.iter().flat_map(Problem::all).collect();
        let settings = settings(asked, &limits);
        let known_calls = match &asked.flags.extend {
            None => None,
            Some(finished) => {
                let differs = differ_rows.as_deref().unwrap_or_default();
                let known = KnownCalls::of(finished, &program_rows, differs, &problems)?;
                known.leave_out(&mut workload);
                let taken = counted(known.n_calls(), "call", "calls");
                let of_differs = match known.n_values() {
                    0 => String::new(),
                    n => format!(" and {} of differs", counted(n, "value", "values")),
                };
                status!("{taken}{of_differs} taken from {}", finished.display());
                Some(known)
            }
        };
        let inputs = programs.files.into_iter().chain(tasks.files).collect();
        Ok(ArcJob {
            provenance: Provenance { settings, inputs },
            finish: Arc::new(ArcRun { workload: Arc::new(workload), known_calls }),
            problems: Arc::new(problems),
            program_rows,
            differ_rows,
            pairing: asked.pairing,
            task_names: tasks.tasks.iter().map(|task| task.name.clone()).collect(),
        })
    }

    /// The memory of the programs, which are there as long as the run.
    fn shared_bytes(&self) -> u64 {
        let rows = self.program_rows.iter().map(ProgramRow::n_bytes);
        self.finish.workload.shared_bytes() + rows.sum::<u64>()
    }

    /// Warns of tasks without a program, which get no rows under `--pairing own`.
    fn warn_of_the_unpaired(&self) {
        if self.pairing == PairingName::All {
            return;
        }
        let without = |name: &&String| self.finish.workload.programs_for(name).is_empty();
        let names: Vec<&String> = self.task_names.iter().filter(without).collect();
        if let Some(first) = names.first() {
            warning!(
                "{} no program called solve_<task>, the first is {first}",
                if names.len() == 1 {
                    "1 task has".to_owned()
                } else {
                    format!("{} tasks have", names.len())
                }
            );
        }
    }
}

/// Whether differs see the answers of tests: not if a submission is made.
fn shows_tests(flags: &ArcJobFlags) -> bool {
    flags.submission.is_none()
}

/// The settings that results depend on.
fn settings(asked: &Asked<'_>, limits: &Limits) -> BTreeMap<String, Value> {
    let flags = asked.flags;
    let name = |value: &dyn std::fmt::Debug| json!(format!("{value:?}").to_lowercase());
    // A dialect that each file decides follows from the files, whose contents are recorded.
    let dialect = flags.dialect.dialect();
    let dialect = dialect.map(|dialect| ("dialect", json!(dialect.name())));
    let sees = match shows_tests(flags) {
        true => "all answers",
        false => "answers of demonstrations",
    };
    let harvest = flags.harvest.then_some(("harvest", json!(true)));
    let augment = flags.augment.map(|by| ("augment", name(&by)));
    let differs = asked.has_differs.then(|| (DIFFERS_SETTING, json!(sees)));
    [
        ("pairing", name(&asked.pairing)),
        ("order", name(&flags.order)),
        ("outputs", name(&flags.outputs)),
        ("call-work", json!(limits.work_max)),
        ("call-memory", json!(limits.bytes_max)),
    ]
    .into_iter()
    .chain(dialect)
    .chain(harvest)
    .chain(augment)
    .chain(differs)
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
