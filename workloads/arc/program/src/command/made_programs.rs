//! Programs that a run makes of the ones that it was given: their texts are kept in its folder.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use swathe_arc::{Augmentation, Dialect, Program, augmented, parse, programs_text};
use swathe_command::status;
use swathe_command::summary::counted;
use swathe_run::store::run_folder::{FolderError, write_file};

use crate::flags::AugmentName;
use crate::program_input::ProgramInput;

/// The permutations of colours that `--augment` tries; the same in every run.
const N_COLORS: usize = 4;

/// Files for the run folder: a name and a text.
#[derive(Default)]
pub(super) struct MadePrograms(Vec<(PathBuf, String)>);

impl MadePrograms {
    pub(super) fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let mut files = self.0.iter();
        files.try_for_each(|(name, text)| write_file(&folder.join(name), text.as_bytes()))
    }

    /// Adds programs to those of the input, in a file for each dialect.
    pub(super) fn add(&mut self, input: &mut ProgramInput, kind: &str, made: &[Program]) {
        for dialect in Dialect::ALL {
            let of_dialect = made.iter().filter(|program| program.dialect == dialect);
            let of_dialect: Vec<Program> = of_dialect.cloned().collect();
            if of_dialect.is_empty() {
                continue;
            }
            let name = PathBuf::from(format!("{kind}-{}.py", dialect.name()));
            let text = programs_text(&of_dialect, dialect);
            // What runs is what the file says.
            let read = parse(&name.display().to_string(), &text).programs;
            let n_read = read.len();
            assert_eq!(n_read, of_dialect.len(), "a program that is written can be read");
            input.programs.extend(read);
            let names = std::iter::repeat_n(name.clone(), n_read);
            input.files_of_programs.extend(names);
            self.0.push((name, text));
        }
    }

    /// Adds each program on rotated, mirrored or recoloured inputs.
    pub(super) fn augment(&mut self, input: &mut ProgramInput, by: AugmentName) {
        let mut ways: Vec<(String, Augmentation)> = Vec::new();
        if by != AugmentName::Colors {
            let named = |name: &'static str| (name.to_owned(), Augmentation::Symmetry(name));
            ways.extend(Augmentation::symmetries().map(named));
        }
        if by != AugmentName::Symmetries {
            let colors = Augmentation::colors(N_COLORS, 0).into_iter();
            ways.extend(colors.zip(1..).map(|(way, k)| (format!("colors{k}"), way)));
        }
        // Programs that were augmented before are not again.
        let names: HashSet<&str> = input.programs.iter().map(|p| p.name.as_str()).collect();
        let (mut made, mut n_left_out) = (Vec::new(), 0);
        for program in &input.programs {
            let seen = ways.iter().filter_map(|(suffix, way)| {
                let name = format!("{}_{suffix}", program.name);
                augmented(program, way, &name).filter(|_| !names.contains(name.as_str()))
            });
            let n_before = made.len();
            made.extend(seen);
            n_left_out += u64::from(made.len() == n_before);
        }
        let n_made = counted(made.len() as u64, "program", "programs");
        match n_left_out {
            0 => status!("{n_made} added by --augment"),
            n => status!(
                "{n_made} added by --augment; {} read the demonstrations and have none",
                counted(n, "program", "programs")
            ),
        }
        self.add(input, "augmented", &made);
    }
}
