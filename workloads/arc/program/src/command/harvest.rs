//! `--harvest`: the nodes of the programs' graph that solve tasks, as programs of their own.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use swathe::{AsSolved, Delivery, Settings, Source};
use swathe_arc::{GridPrograms, Harvest, Library, Task};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::progress::Progress;
use swathe_command::run_command::reserve_index;
use swathe_command::settings::RunSettings;
use swathe_command::status;
use swathe_command::summary::counted;

use super::made_programs::MadePrograms;
use crate::program_input::ProgramInput;

/// Adds the nodes that solve tasks to the programs. What is found depends on the programs and the tasks alone, so that
/// all shards of a run and its resumption find the same. None if the search was interrupted.
pub(super) fn add_harvest(
    input: &mut ProgramInput,
    tasks: &[Arc<Task>],
    run: &RunSettings,
    made: impl FnOnce(Library) -> GridPrograms,
    files: &mut MadePrograms,
) -> Result<Option<()>, CliError> {
    let workload = made(Library::new(&input.programs));
    let n_programs = counted(input.programs.len() as u64, "program", "programs");
    let _programs = reserve_index(&run.engine.memory, &n_programs, workload.shared_bytes())?;
    let harvest = Arc::new(Harvest::new(workload));
    let Some(nodes) = solving_nodes(&harvest, tasks, run)? else {
        return Ok(None);
    };
    let names: HashSet<&str> = input.programs.iter().map(|p| p.name.as_str()).collect();
    let mut found = harvest.programs(&nodes);
    found.retain(|program| !names.contains(program.name.as_str()));
    status!("{} harvested", counted(found.len() as u64, "program", "programs"));
    files.add(input, "harvest", &found);
    Ok(Some(()))
}

/// The nodes that solve each task; None if the search was interrupted.
fn solving_nodes(
    harvest: &Arc<Harvest>,
    tasks: &[Arc<Task>],
    run: &RunSettings,
) -> Result<Option<Vec<Vec<u32>>>, CliError> {
    let source = Source::from_vec(harvest, tasks.to_vec());
    let (progress, observer) = Progress::start(run.progress, "arc harvest", tasks.len() as u64);
    let settings = Settings { observer, n_verify: 0, ..run.engine.clone() };
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
