//! `swathe arc save`: programs of a finished run as files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use swathe_arc::{Batt, Dialect, GridPrograms, Program, parse};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::status;
use swathe_command::summary::counted;
use swathe_formats::regular_file;
use swathe_run::store::run_folder::{FolderError, Identity, InputFile, RunJson, RunState};

use super::{check_kind, read_files};
use crate::arc_run;
use crate::flags::ArcSaveFlags;
use crate::program_input::ProgramInput;
use crate::saved_programs;

pub(super) fn save(flags: &ArcSaveFlags) -> Result<Code, CliError> {
    check_kind(&flags.run)?;
    let run = RunJson::read(&flags.run)?;
    let refused = |what: &str| CliError::usage(format!("{} {what}", flags.run.display()));
    if run.identity.shard.is_some() {
        let hint = "give the folder of the whole run, after `swathe merge`";
        return Err(refused("is a shard, which does not show the best programs").hint(hint));
    }
    if run.state != RunState::Complete {
        return Err(refused("is not finished").hint("go on with it by --resume"));
    }
    let input = programs_of_run(&flags.run, &run.identity)?;
    let workload = Batt::new(input.programs, &input.differs, GridPrograms::new);
    let n_saved = saved_programs::save(&flags.run, &workload, &flags.to)?;
    status!("{} saved", counted(n_saved, "program", "programs"));
    swathe_command::stdout::line(flags.to.display())?;
    Ok(Code::Solved)
}

/// The programs and differs of a finished run, read from their files again. Files that changed are refused: their
/// programs are not those that were run.
fn programs_of_run(run: &Path, identity: &Identity) -> Result<ProgramInput, CliError> {
    let rows = arc_run::read_programs(run)?;
    let differ_rows = arc_run::find_differ_rows(run)?;
    let of_differs = differ_rows.iter().flatten().map(|row| row.file.as_str());
    let named: HashSet<&str> = rows.iter().map(|row| row.file.as_str()).chain(of_differs).collect();
    let given = identity.inputs.iter();
    let given: Vec<&InputFile> = given.filter(|file| named.contains(file.name.as_str())).collect();
    refuse_changed(run, &given)?;
    let paths: Vec<PathBuf> = given.iter().map(|file| PathBuf::from(&file.name)).collect();
    let dialect = identity.settings.get("dialect").and_then(Value::as_str);
    let dialect = Dialect::ALL.into_iter().find(|of| Some(of.name()) == dialect);
    let mut input = match paths.is_empty() {
        true => ProgramInput::default(),
        false => read_files(&paths, dialect)?,
    };
    if differ_rows.is_none() {
        input.differs.clear();
    }
    // Programs that the run made stand in its folder.
    let mut seen: HashSet<&str> = given.iter().map(|file| file.name.as_str()).collect();
    for row in rows.iter().filter(|row| seen.insert(&row.file)) {
        let path = run.join(&row.file);
        let text = regular_file::read(&path)
            .map_err(|source| FolderError::Read { path: path.clone(), source })?;
        let made = parse(&row.file, &String::from_utf8_lossy(&text)).programs;
        let files = std::iter::repeat_n(PathBuf::from(&row.file), made.len());
        input.files_of_programs.extend(files);
        input.programs.extend(made);
    }
    let digests = |programs: &[Program]| programs.iter().map(Program::digest).collect::<Vec<_>>();
    let then = rows.iter().map(|row| &row.digest);
    let differs_then = differ_rows.iter().flatten().map(|row| &row.digest);
    if !then.eq(&digests(&input.programs)) || !differs_then.eq(&digests(&input.differs)) {
        return Err(CliError::usage(format!(
            "the files of {} do not have the programs that were run",
            run.display()
        ))
        .hint("run them again with --save-programs"));
    }
    Ok(input)
}

fn refuse_changed(run: &Path, given: &[&InputFile]) -> Result<(), CliError> {
    const N_NAMED_MAX: usize = 5;
    let mut changed: Vec<String> = Vec::new();
    for &then in given {
        let now = InputFile::of(Path::new(&then.name)).map_err(|error| {
            CliError::usage(format!("cannot read {}: {error}", then.name)).hint(
                "the programs of a run are read from its files: type the command in the folder in which the run was made",
            )
        })?;
        if now != *then {
            changed.push(then.name.clone());
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let n_more = changed.len().saturating_sub(N_NAMED_MAX);
    changed.truncate(N_NAMED_MAX);
    let mut files = changed.join(", ");
    if n_more > 0 {
        files += &format!(" and {n_more} more");
    }
    let message = format!("files of {} changed since the run: {files}", run.display());
    Err(CliError::usage(message).hint("restore them, or run them again with --save-programs"))
}
