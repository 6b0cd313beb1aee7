//! `swathe report`: explains a finished run, or what differs between two.

mod advice_text;
mod columns;
mod comparison_text;
mod run_text;

use std::path::{Path, PathBuf};

use swathe::{Cpu, Shape};
use swathe_command::program::kinds;
use swathe_run::explain::advice::advice;
use swathe_run::explain::comparison::compare;
use swathe_run::explain::flame::flame_svg;
use swathe_run::kind;
use swathe_run::page::{self, PageData};
use swathe_run::store::live_file::Live;
use swathe_run::store::reported_run::{ReportError, ReportedRun};
use swathe_run::store::run_folder::{FolderError, RunJson, check_run, write_file};

use crate::flags::ReportFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::stdout;
use swathe_command::summary::counted;

pub(crate) fn report(flags: &ReportFlags) -> Result<Code, CliError> {
    if flags.check {
        return check(&flags.runs);
    }
    match flags.runs.as_slice() {
        [before, after] => {
            if flags.json || flags.flame.is_some() {
                return Err(
                    CliError::usage("two runs are compared as text only").hint("give one RUN")
                );
            }
            let runs = [read(before)?, read(after)?];
            let compared = compare([&runs[0], &runs[1]])?;
            stdout::print(&comparison_text::comparison_text([&runs[0], &runs[1]], &compared))?;
        }
        runs => {
            // The parser has ensured that there is exactly one.
            for path in runs {
                one(path, flags)?;
            }
        }
    }
    Ok(Code::Solved)
}

/// Reads everything in the folders and prints what is damaged.
fn check(runs: &[PathBuf]) -> Result<Code, CliError> {
    let mut code = Code::Solved;
    for run in runs {
        let checked = check_run(run, Cpu::detect().n_threads)?;
        for damage in &checked.damages {
            swathe_command::error!("{damage}");
        }
        let n_files = counted(checked.n_files, "file", "files");
        stdout::line(match checked.damages.len() {
            0 => format!("{}: {n_files} checked, all are what was written", run.display()),
            n => format!("{}: {n_files} checked, {n} damaged or gone", run.display()),
        })?;
        if !checked.damages.is_empty() {
            code = Code::Mismatch;
        }
    }
    Ok(code)
}

fn one(path: &Path, flags: &ReportFlags) -> Result<(), CliError> {
    let run = read(path)?;
    if flags.text {
        let found = advice(&run.file.report, &shapes(&run)?);
        let (headline, apart) = match kind::find(&kinds(), &run.run.identity.workload) {
            Some(kind) if !run.file.report.cancelled => {
                ((kind.headline)(path)?, (kind.apart)(path)?)
            }
            _ => (None, None),
        };
        stdout::print(&run_text::run_text(&run, headline, apart, &found))
    } else if flags.json {
        let text = serde_json::to_string_pretty(&run.file).unwrap_or_default();
        stdout::line(text)
    } else if let Some(to) = &flags.flame {
        write(to, &flame_svg(&run.file.report))?;
        stdout::line(to.display())
    } else {
        let to = path.join("report.html");
        let workload = RunJson::read(path)?.identity.workload;
        let kind = kind::find(&kinds(), &workload);
        write(&to, &page::page(&PageData::read(path, kind)?, kind))?;
        stdout::line(to.display())
    }
}

/// The problems' own shapes, if some were padded and the run's table records the shapes.
fn shapes(run: &ReportedRun) -> Result<Vec<Shape>, CliError> {
    let is_padded = run.file.report.buckets.iter().any(|bucket| bucket.waste() > 0.0);
    match kind::find(&kinds(), &run.run.identity.workload) {
        Some(kind) if is_padded && run.run.table.is_some() => Ok((kind.shapes)(&run.path)?),
        _ => Ok(Vec::new()),
    }
}

fn read(path: &Path) -> Result<ReportedRun, CliError> {
    ReportedRun::read(path).map_err(|error| {
        let message = error.to_string();
        let hint = match &error {
            ReportError::Folder(FolderError::NoRun { .. }) => {
                "give the folder that --out made".to_owned()
            }
            ReportError::Folder(FolderError::Damaged { .. }) => {
                "it was written by another version, or changed since".to_owned()
            }
            ReportError::Folder(_) => "check that it exists and may be read".to_owned(),
            ReportError::Unfinished { path } => match Live::read(path) {
                Ok(Some(live)) if live.process.is_alive() => {
                    format!("it is still going on: swathe watch {}", path.display())
                }
                _ => "go on with it by its command and --resume".to_owned(),
            },
            ReportError::OfShards { shard, .. } => {
                format!("every shard has one: swathe report {}", shard.display())
            }
            ReportError::Gone { .. } => {
                "the tables are there; a new run makes a new report".to_owned()
            }
        };
        CliError::usage(message).hint(hint)
    })
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    write_file(path, text.as_bytes()).map_err(|error| {
        CliError::new(Code::Output, error.to_string())
            .hint("--text prints without writing anything")
    })
}
