//! `--harvest`: the nodes of the programs' graph that solve tasks, as programs of their own.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swathe::{AsSolved, Delivery, Settings, Source};
use swathe_arc::{Dialect, GridPrograms, Harvest, Library, Program, Task, parse, programs_text};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::progress::Progress;
use swathe_command::settings::RunSettings;
use swathe_command::status;
use swathe_command::summary::counted;
use swathe_run::store::run_folder::{FolderError, write_file};

use crate::program_input::ProgramInput;

/// Programs that were harvested, as files for the run folder: a name and a text.
#[derive(Default)]
pub(super) struct HarvestFiles(Vec<(PathBuf, String)>);

impl HarvestFiles {
    pub(super) fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let mut files = self.0.iter();
        files.try_for_each(|(name, text)| write_file(&folder.join(name), text.as_bytes()))
    }
}

/// Adds the nodes that solve tasks to the programs. What is found depends on the programs and the tasks alone, so that
/// all shards of a run and its resumption find the same. None if the search was interrupted.
pub(super) fn add_harvest(
    input: &mut ProgramInput,
    tasks: &[Arc<Task>],
    run: &RunSettings,
    made: impl FnOnce(Library) -> GridPrograms,
) -> Result<Option<HarvestFiles>, CliError> {
    let library = Library::new(input.programs.clone());
    let harvest = Arc::new(Harvest::new(made(library)));
    let Some(nodes) = solving_nodes(&harvest, tasks, run)? else {
        return Ok(None);
    };
    let names: HashSet<&str> = input.programs.iter().map(|p| p.name.as_str()).collect();
    let mut found = harvest.programs(&nodes);
    found.retain(|program| !names.contains(program.name.as_str()));
    status!(
        "{} harvested",
        counted(found.len() as u64, "program", "programs")
    );
    let mut files = HarvestFiles::default();
    for dialect in Dialect::ALL {
        let of_dialect = found.iter().filter(|program| program.dialect == dialect);
        let of_dialect: Vec<Program> = of_dialect.cloned().collect();
        if of_dialect.is_empty() {
            continue;
        }
        let name = PathBuf::from(format!("harvest-{}.py", dialect.name()));
        let text = programs_text(&of_dialect, dialect);
        // What runs is what the file says.
        let read = parse(&name.display().to_string(), &text).programs;
        let n_read = read.len();
        assert_eq!(
            n_read,
            of_dialect.len(),
            "a program that is written can be read"
        );
        input.programs.extend(read);
        let names = std::iter::repeat_n(name.clone(), n_read);
        input.files_of_programs.extend(names);
        files.0.push((name, text));
    }
    Ok(Some(files))
}

/// The nodes that solve each task; None if the search was interrupted.
fn solving_nodes(
    harvest: &Arc<Harvest>,
    tasks: &[Arc<Task>],
    run: &RunSettings,
) -> Result<Option<Vec<Vec<u32>>>, CliError> {
    let source = Source::from_vec(harvest, tasks.to_vec());
    let (progress, observer) = Progress::start(run.progress, "arc harvest", tasks.len() as u64);
    let settings = Settings {
        observer,
        n_verify: 0,
        ..run.engine.clone()
    };
    let finish = Arc::new(AsSolved(Arc::clone(harvest)));
    let mut nodes: Vec<Vec<u32>> = vec![Vec::new(); tasks.len()];
    let mut failed: Option<CliError> = None;
    let report = swathe::run_finishing(&finish, &source, &settings, &mut |delivery| {
        if let Delivery::Done(done) = delivery {
            match done.outcome.into_result() {
                Ok(found) => nodes[done.index] = found,
                Err(_) if settings.stop.requested() => {}
                Err(unsolved) => {
                    let (name, why) = (&tasks[done.index].name, unsolved.message);
                    let message = format!("the task {name} cannot be harvested: {why}");
                    let error = CliError::new(Code::SomeFailed, message);
                    let hint = "give more memory with --memory or more time with --time-limit, or leave --harvest out";
                    failed.get_or_insert(error.hint(hint));
                }
            }
        }
        match failed {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    drop(progress);
    match failed {
        Some(error) => Err(error),
        None if report.cancelled => Ok(None),
        None => Ok(Some(nodes)),
    }
}
