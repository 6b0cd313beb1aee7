//! `cargo xtask new-workload NAME`: copies the template to a new workload's folder, and adds the
//! two lines that register it.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::process::{self, cargo};
use crate::setup::Ready;
use crate::step::Verdict;
use crate::tidy::files;
use crate::workspace::Workspace;

const TEMPLATE: [(&str, &str); 5] = [
    ("solver/Cargo.toml", include_str!("../template/solver/Cargo.toml")),
    ("solver/src/lib.rs", include_str!("../template/solver/src/lib.rs")),
    ("solver/tests/sample.rs", include_str!("../template/solver/tests/sample.rs")),
    ("program/Cargo.toml", include_str!("../template/program/Cargo.toml")),
    ("program/src/lib.rs", include_str!("../template/program/src/lib.rs")),
];
const CLI_MANIFEST: &str = "crates/swathe-cli/Cargo.toml";
const REGISTER: &str = "crates/swathe-cli/src/workloads.rs";

/// Makes the workload and prints what to do next.
pub(crate) fn new_workload(workspace: &Workspace, name: &str) -> bool {
    match make(&workspace.root, name) {
        Ok(()) => {
            println!(
                "made workloads/{name}/solver and workloads/{name}/program, registered in {CLI_MANIFEST} and {REGISTER}\n\
                 next: describe both in ARCHITECTURE.md, then `cargo run --release -p swathe-cli -- {name} --help`"
            );
            true
        }
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

/// Writes the folder, and the two lines, into the workspace at `root`.
fn make(root: &Path, name: &str) -> io::Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
        return Err(io::Error::other(format!(
            "{name:?} cannot be a workload's name: use lower-case letters and digits"
        )));
    }
    let folder = root.join("workloads").join(name);
    if folder.exists() {
        return Err(io::Error::other(format!("{} exists", folder.display())));
    }
    let mut type_name = name.to_owned();
    type_name[..1].make_ascii_uppercase();
    for (file, text) in TEMPLATE {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("it lies in the folder"))?;
        fs::write(path, text.replace("sample", name).replace("Sample", &type_name))?;
    }
    insert(
        &root.join(CLI_MANIFEST),
        "[dependencies]\n",
        &format!("swathe-{name}-program = {{ path = \"../../workloads/{name}/program\" }}\n"),
    )?;
    insert(
        &root.join(REGISTER),
        "_program::PROGRAM,\n",
        &format!("    &swathe_{name}_program::PROGRAM,\n"),
    )
}

/// Inserts a line after the last occurrence of `after`.
fn insert(path: &Path, after: &str, line: &str) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    let Some(at) = text.rfind(after) else {
        let place = path.display();
        return Err(io::Error::other(format!("{place} has no line {after:?}")));
    };
    let (before, rest) = text.split_at(at + after.len());
    fs::write(path, format!("{before}{line}{rest}"))
}

/// Makes a workload in a copy of the workspace, and runs its test and its command there.
pub(crate) fn verdict(workspace: &Workspace, ready: &Ready) -> Verdict {
    try_out(workspace, ready).unwrap_or_else(|error| Verdict::Failed(error.to_string()))
}

fn try_out(workspace: &Workspace, ready: &Ready) -> io::Result<Verdict> {
    let copy = tempfile::tempdir()?;
    let copy = copy.path();
    for file in files(&workspace.root).map_err(|error| io::Error::other(error.to_string()))? {
        let to = copy.join(&file);
        fs::create_dir_all(to.parent().expect("a file lies in a folder"))?;
        fs::copy(workspace.root.join(&file), to)?;
    }
    make(copy, "sample")?;
    fs::write(copy.join("numbers.txt"), "1 2 3\n\n0.5 0.25\n")?;
    // Compiled dependencies are linked from the workspace's target folder. The copy's own crates
    // are compiled without optimisation, which is fastest.
    let target = workspace.target_dir.join("xtask-template");
    let _ = fs::remove_dir_all(&target);
    fs::create_dir_all(&target)?;
    let built = workspace.target_dir.join("debug");
    let linked = process::run(Command::new("cp").arg("-al").args([&built, &target]));
    let in_copy = |command: &mut Command| {
        command
            .current_dir(copy)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        ready.export(command, workspace);
        process::run(command)
    };
    // Building through a test gives the program the same dependency features as the tests, so that
    // no dependency is compiled again.
    let build = ["test", "--offline", "--workspace", "--no-run", "--test", "cli"];
    let test = ["test", "--offline", "--workspace", "--test", "sample"];
    let program = || Command::new(target.join("debug/swathe"));
    let verdict = linked
        .and_then(|()| in_copy(cargo(copy).args(build).args(["--test", "sample"])))
        .and_then(|()| in_copy(cargo(copy).args(test)))
        .and_then(|()| in_copy(program().args(["sample", "numbers.txt", "--out", "run"])))
        .and_then(|()| in_copy(program().args(["report", "run", "--text"])))
        .into();
    fs::remove_dir_all(&target)?;
    Ok(verdict)
}
