//! `swathe arc mutate`: variants of programs.

use swathe_arc::{mutants, programs_text};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::summary::counted;
use swathe_command::{status, warning};
use swathe_run::store::run_folder::write_file;

use super::usable_programs;
use crate::flags::ArcMutateFlags;

pub(super) fn mutate(flags: &ArcMutateFlags) -> Result<Code, CliError> {
    let (input, code) = usable_programs(&flags.programs, flags.dialect)?;
    let dialect = input.programs[0].dialect;
    if let Some(other) = input.programs.iter().position(|p| p.dialect != dialect) {
        return Err(CliError::usage(format!(
            "the programs are in two dialects: {} in {}, {} in {}",
            dialect.name(),
            input.files_of_programs[0].display(),
            input.programs[other].dialect.name(),
            input.files_of_programs[other].display()
        ))
        .hint("make the mutants of each dialect in a command of their own"));
    }
    let made = mutants(&input.programs, flags.seed, flags.count);
    if made.is_empty() {
        return Err(CliError::usage("no mutant can be made of these programs")
            .hint("give --count 1 or more, and programs that call primitives"));
    }
    if made.len() < flags.count {
        warning!(
            "--count is {}, and no more than {} were found",
            flags.count,
            counted(made.len() as u64, "mutant", "mutants")
        );
    }
    write_file(&flags.to, programs_text(&made, dialect).as_bytes())?;
    status!(
        "{} of {}",
        counted(made.len() as u64, "mutant", "mutants"),
        counted(input.programs.len() as u64, "program", "programs")
    );
    swathe_command::stdout::line(flags.to.display())?;
    Ok(code)
}
