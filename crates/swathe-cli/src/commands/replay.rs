//! `swathe replay`: solves one problem of a run alone and compares the answer with the recorded
//! one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::layers::replaying;
use swathe_command::program::{Program, programs};
use swathe_command::{status, stdout};
use swathe_run::explain::comparison::{TableChanges, same_problems};
use swathe_run::explain::quantity::{bytes, time};
use swathe_run::store::reported_run::ReportedRun;
use swathe_run::store::run_folder::RunJson;
use swathe_run::store::timing_table::{TimedProblem, find_problem};

use crate::flags::ReplayFlags;

pub(crate) fn replay(flags: &ReplayFlags) -> Result<Code, CliError> {
    let recorded = ReportedRun::read(&flags.run)
        .map_err(|error| CliError::usage(error.to_string()).hint("give a finished run"))?;
    let workload = &recorded.run.identity.workload;
    let program =
        programs().iter().find(|program| program.kind.name == workload).ok_or_else(|| {
            CliError::usage(format!("this program does not have the workload {workload}"))
                .hint("replay it with the program that made the run")
        })?;
    let TimedProblem { row, id, ms } =
        find_problem(&flags.run, &flags.problem)?.ok_or_else(|| {
            CliError::usage(format!("the run has no problem {:?}", flags.problem))
                .hint("give an id, or a row from 0 on; timing.parquet has them all")
        })?;
    let folder = tempfile::tempdir()
        .map_err(|error| CliError::new(Code::Output, format!("no temporary folder: {error}")))?;
    let out = match &flags.out {
        Some(out) => out.clone(),
        None => folder.path().join("replay"),
    };
    let settings = settings(&recorded.run, program);
    // The report of a merged run shows the merge.
    let command = recorded.run.made.as_ref().map_or(&recorded.file.command, |made| &made.command);
    if !command.starts_with("swathe ") {
        return Err(CliError::usage(format!("the run was made by {command}, not by the command"))
            .hint("call the function again with this problem alone"));
    }
    let words = words(command, program, settings.as_ref(), &id, &out)?;
    status!("problem {row} of the run is {id:?}");
    for (name, value) in &recorded.run.identity.settings {
        status!("  {name}: {value}");
    }
    let again = || crate::type_in_quietly(words);
    let code = match settings {
        Some(settings) => replaying(workload, settings, again),
        None => again(),
    };
    let code = code.map_err(|error| {
        error.hint("replay where the run was made, with its inputs in their places")
    })?;
    if code == Code::Interrupted {
        return Ok(code);
    }
    let again = ReportedRun::read(&out).map_err(|error| CliError::usage(error.to_string()))?;
    stdout::line(format_args!(
        "{id}: {} alone, {} in the run; {} reserved",
        time(again.file.report.wall_ms),
        time(ms),
        bytes(again.file.report.memory.peak_bytes)
    ))?;
    for line in (program.kind.replayed)(&out)? {
        stdout::line(line)?;
    }
    if flags.out.is_some() {
        status!("its page, trace and tables: {}", out.display());
    }
    let Some(table) = &recorded.run.table else {
        return Err(CliError::usage("the run has no table to compare with"));
    };
    tell(&same_problems(&out, &flags.run, table)?)
}

/// Prints whether the answers equal those of the run.
fn tell(changes: &TableChanges) -> Result<Code, CliError> {
    if changes.n_compared == 0 {
        stdout::line("the run has no answer to this problem")?;
        return Ok(Code::SomeFailed);
    }
    if changes.n_changed == 0 && changes.n_alone[0] == 0 {
        stdout::line("the recorded answer, to the last bit")?;
        return Ok(Code::Solved);
    }
    stdout::line("not the recorded answer:")?;
    for change in &changes.first {
        for (name, [before, after]) in &change.values {
            stdout::line(format_args!("  {} {name}: {before} in the run, {after} now", change.id))?;
        }
    }
    Ok(Code::Mismatch)
}

/// Options with a value that do not apply to a single problem.
const DROPPED: [&str; 11] = [
    "out",
    "shard",
    "flame",
    "progress",
    "submission",
    "save-programs",
    "layout",
    "extend",
    "limit",
    "verify",
    "config",
];

/// The settings of the run that its command does not show, or not as they were resolved: those from
/// variables and the settings file, and those on which its answers depend (`--epsilon auto` would
/// choose by one pair). Earlier versions did not record the first; then there are none, and those in
/// force now are used.
fn settings(run: &RunJson, program: &Program) -> Option<BTreeMap<String, Value>> {
    let unshown = run.made.as_ref()?.settings.as_ref()?;
    let unshown = unshown.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
    let mut settings: BTreeMap<String, Value> = unshown.collect();
    settings.retain(|name, _| !DROPPED.contains(&name.as_str()));
    for name in program.setting_names() {
        settings.extend(run.identity.settings.get(&name).map(|its| (name, its.clone())));
    }
    Some(settings)
}

/// Whether an option has a value and is one of these settings.
fn is_resolved(program: &Program, settings: &BTreeMap<String, Value>, name: &str) -> bool {
    let command = (program.command)();
    let mut arguments = command.get_arguments();
    program.setting_names().iter().any(|its| its == name)
        && settings.contains_key(name)
        && arguments.any(|its| its.get_long() == Some(name) && its.get_action().takes_values())
}

/// The run's command line, limited to this problem and writing to another folder.
fn words(
    command: &str,
    program: &Program,
    settings: Option<&BTreeMap<String, Value>>,
    id: &str,
    out: &Path,
) -> Result<Vec<String>, CliError> {
    let typed = split(command).ok_or_else(|| {
        CliError::usage(format!("the run's command cannot be understood: {command}"))
    })?;
    let mut words: Vec<String> = Vec::new();
    let mut typed = typed.into_iter().peekable();
    while let Some(word) = typed.next() {
        let name = word.split('=').next().unwrap_or_default();
        let long = name.strip_prefix("--").unwrap_or_default();
        let is_resolved = settings.is_some_and(|its| is_resolved(program, its, long));
        if is_resolved || name == "-o" || DROPPED.contains(&long) {
            if !word.contains('=') {
                typed.next();
            }
        } else if name == "--only" {
            while typed.next_if(|word| !word.starts_with('-')).is_some() {}
        } else if !["--resume", "--explain", "--quiet", "-q"].contains(&name) {
            words.push(word);
        }
    }
    let chosen = (program.kind.input_id)(id);
    words.extend(["--only", chosen, "--out"].map(str::to_owned));
    words.push(out.display().to_string());
    Ok(words)
}

/// Splits a command line that was quoted with single quotes; `None` if a quote is not closed.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(characters.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quoted_words_come_back() {
        let words = split(r"swathe ot 'a b.csv' --out 'it'\''s' ''").expect("it is whole");
        assert_eq!(words, ["swathe", "ot", "a b.csv", "--out", "it's", ""]);
        assert_eq!(split("swathe 'open"), None);
    }
}
