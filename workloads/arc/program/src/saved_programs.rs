//! Programs of a run as files of their own, for the next generation of programs.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use swathe_arc::Batt;
use swathe_run::store::run_folder::{FolderError, write_file};

use crate::arc_run::{Ranked, ranking};

/// Writes the programs of a complete run that solve a task, or are the best at one, into a folder, each into a file of
/// its own, minimised, and returns how many there are. `workload` has the run's programs and differs; the rest is read from the tables of the run.
///
/// # Errors
/// If a table of the run cannot be read, or a file cannot be written.
pub(crate) fn save(run: &Path, workload: &Batt, to: &Path) -> Result<u64, FolderError> {
    let kept: BTreeSet<usize> = ranking(run)?.values().flat_map(|r| kept(r)).collect();
    std::fs::create_dir_all(to)
        .map_err(|source| FolderError::Write { path: to.to_owned(), source })?;
    let mut names: HashSet<String> = HashSet::new();
    for &number in &kept {
        let program = workload.program(number);
        // The name of a candidate has that of its task, in which there may be hyphens.
        let mut name = program.name.replace('-', "_");
        if !names.insert(name.clone()) {
            name = format!("{name}_{}", program.digest());
        }
        let text = program.file_text(&name);
        write_file(&to.join(format!("{name}.py")), text.as_bytes())?;
    }
    Ok(kept.len() as u64)
}

/// The programs that solve a task, and the best.
fn kept(ranked: &[Ranked]) -> impl Iterator<Item = usize> {
    let ranked = ranked.iter().enumerate();
    let kept = ranked.filter(|(rank, program)| *rank == 0 || program.solves());
    kept.map(|(_, program)| program.number)
}
