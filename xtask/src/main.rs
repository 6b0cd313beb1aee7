//! The repository's own tasks: `cargo xtask COMMAND`.
//!
//! Every task of a contributor or of continuous integration beyond plain cargo is implemented here,
//! so that there is one way to do it. `cargo xtask --help` lists the commands.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "chores tell what they do")]

mod bench;
mod docs;
mod flags;
mod machine;
mod new_workload;
mod process;
mod setup;
mod skipped;
mod soak;
mod step;
mod test;
mod tidy;
mod wheel;
mod workspace;

use std::process::ExitCode;

use clap::Parser;
use flags::Chore;
use workspace::Workspace;

fn main() -> ExitCode {
    let chore = Chore::parse();
    let workspace = match Workspace::load() {
        Ok(workspace) => workspace,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let well = match chore {
        Chore::Setup => setup::setup(&workspace),
        Chore::Test(options) => test::test(&workspace, options),
        Chore::Tidy => tidy::tidy(&workspace),
        Chore::Soak { filter } => soak::soak(&workspace, filter.as_deref()),
        Chore::Bench { name, passed_on } => bench::bench(&workspace, name.as_deref(), &passed_on),
        Chore::NewWorkload { name } => new_workload::new_workload(&workspace, &name),
        Chore::Wheel => wheel::wheel(&workspace),
        Chore::Docs { only_reference: true, .. } => docs::reference(&workspace),
        Chore::Docs { program, .. } => {
            docs::reference(&workspace) && docs::docs(&workspace, program.as_deref())
        }
    };
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
