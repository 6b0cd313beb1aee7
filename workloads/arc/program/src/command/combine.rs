//! `swathe arc combine`: many programs as one function `batt`.

use std::path::PathBuf;

use swathe_arc::{Dialect, Program, combined};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::status;
use swathe_command::summary::counted;
use swathe_run::store::run_folder::write_file;

use super::usable_programs;
use crate::flags::{ArcCombineFlags, DialectName};

pub(super) fn combine(flags: &ArcCombineFlags) -> Result<Code, CliError> {
    let (programs, mut code) = batt_programs(&flags.programs)?;
    let mut differs = Vec::new();
    if !flags.differs.is_empty() {
        let (found, of_differs) = batt_programs(&flags.differs)?;
        differs = found;
        if of_differs != Code::Solved {
            code = of_differs;
        }
    }
    write_file(&flags.to, combined(&programs, &differs).as_bytes())?;
    status!(
        "{} and {} in one function",
        counted(programs.len() as u64, "program", "programs"),
        counted(differs.len() as u64, "differ", "differs")
    );
    swathe_command::stdout::line(flags.to.display())?;
    Ok(code)
}

/// The programs of files that are in the dialect of `batt`.
fn batt_programs(paths: &[PathBuf]) -> Result<(Vec<Program>, Code), CliError> {
    let (input, code) = usable_programs(paths, DialectName::Auto)?;
    let files = input.files_of_programs.iter().zip(&input.programs);
    for (file, program) in files {
        if program.dialect != Dialect::Batt {
            return Err(CliError::usage(format!(
                "{} is in the dialect {}, and a function batt calls primitives of batt",
                file.display(),
                program.dialect.name()
            ))
            .hint("give solvers of S, I and C, or generated files"));
        }
    }
    Ok((input.programs, code))
}
