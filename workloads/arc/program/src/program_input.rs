//! Program input: files of grid programs.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use swathe_arc::{Dialect, Excerpt, ParseError, Program, Reason, parse, parse_in};
use swathe_formats::regular_file;

use swathe_run::store::run_folder::InputFile;

/// Programs that can run, and why others cannot.
#[derive(Debug, Default)]
pub struct ProgramInput {
    /// The programs in the order of the files, all of different names.
    pub programs: Vec<Program>,
    /// The dialect of each file, in the order of the files.
    pub dialects: Vec<Dialect>,
    /// The file of each program.
    pub files_of_programs: Vec<PathBuf>,
    /// The rows that `batt` functions append to `s`, in the order of the files.
    pub differs: Vec<Program>,
    /// The file of each differ.
    pub files_of_differs: Vec<PathBuf>,
    /// Why others were rejected.
    pub rejected: Vec<ParseError>,
    /// The files that were read.
    pub files: Vec<InputFile>,
}

/// Why a file of programs named on the command line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProgramInputError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not text.
    #[error("{path} is not text in UTF-8 (byte {at})", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is not UTF-8.
        at: usize,
    },
    /// It is JSON, as tasks are.
    #[error("{path} is JSON, not Python: it has no programs", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
    },
    /// It has no programs.
    #[error("{path} has no programs", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Reads files of programs, in this dialect or in the one that each file's imports ask for. A program with an error, or
/// with the name of an earlier program, is rejected alone. A row of a `batt` function has the name of its file added
/// if an earlier file has a row of the same number and task.
///
/// # Errors
/// If a file cannot be read, is not UTF-8 text, is JSON, or has no programs.
pub fn read_programs(
    paths: &[PathBuf],
    dialect: Option<Dialect>,
) -> Result<ProgramInput, ProgramInputError> {
    let mut input = ProgramInput::default();
    let mut first_by_name: HashMap<String, (PathBuf, usize)> = HashMap::new();
    for path in paths {
        let text = text_of(path, &mut input.files)?;
        // No Python file of programs begins like this.
        if text.trim_start().starts_with(['{', '[']) {
            return Err(ProgramInputError::Json { path: path.clone() });
        }
        let name = path.display().to_string();
        let parsed = match dialect {
            Some(dialect) => parse_in(&name, &text, dialect),
            None => parse(&name, &text),
        };
        let (programs, errors) = (parsed.programs, parsed.errors);
        if programs.is_empty() && errors.is_empty() {
            return Err(ProgramInputError::Empty { path: path.clone() });
        }
        input.dialects.push(parsed.dialect);
        input.rejected.extend(errors);
        let files = std::iter::repeat_n(path.clone(), parsed.differs.len());
        input.files_of_differs.extend(files);
        input.differs.extend(parsed.differs);
        let mut starts: Vec<usize> = Vec::new();
        for mut program in programs {
            // Rows of different files often have one number and task.
            if program.row.is_some() && first_by_name.contains_key(&program.name) {
                program.name = format!("{}_{}", identifier(path), program.name);
            }
            if let Some((file, line)) = first_by_name.get(&program.name) {
                if starts.is_empty() {
                    let ends = text.match_indices('\n');
                    starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
                }
                let from = starts.get(program.line - 1).copied().unwrap_or(0);
                let error = defined_elsewhere(path, &text, from, &program, file, *line);
                input.rejected.push(error);
                continue;
            }
            first_by_name.insert(program.name.clone(), (path.clone(), program.line));
            input.files_of_programs.push(path.clone());
            input.programs.push(program);
        }
    }
    Ok(input)
}

/// The name of a file as a part of a program's name.
fn identifier(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.replace(|c: char| !c.is_alphanumeric(), "_")
}

fn text_of(path: &Path, files: &mut Vec<InputFile>) -> Result<String, ProgramInputError> {
    let bytes = regular_file::read(path)
        .map_err(|source| ProgramInputError::Read { path: path.to_owned(), source })?;
    files.push(InputFile::of_bytes(path, &bytes));
    String::from_utf8(bytes).map_err(|error| ProgramInputError::NotText {
        path: path.to_owned(),
        at: error.utf8_error().valid_up_to(),
    })
}

fn defined_elsewhere(
    path: &Path,
    text: &str,
    line_start: usize,
    program: &Program,
    first: &Path,
    first_line: usize,
) -> ParseError {
    // The head of the program is in this line: `def`, then its name.
    let lead_bytes = text[line_start..].find(&program.name).unwrap_or(0);
    let at = line_start + lead_bytes;
    ParseError {
        file: path.display().to_string(),
        line: program.line,
        column: 1 + text[line_start..at].chars().count(),
        program: Some(program.name.clone()),
        token: program.name.clone(),
        excerpt: Excerpt::around(text, at),
        reason: Reason::DefinedElsewhere {
            name: program.name.clone(),
            file: first.display().to_string(),
            line: first_line,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_files_have_different_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "def batt(task_id, S, I, C, log_path):\n    s = []\n    o = []\n    t1 = vmirror_t(I)\n    o.append((1, True, 'a', t1))\n    return o, s\n";
        let paths = ["one.py", "two-2.py", "two.2.py"].map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::write(path, text).expect("a file");
        }
        let input = read_programs(&paths, None).expect("programs");
        let names: Vec<&str> = input.programs.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["batt_a_1", "two_2_batt_a_1"]);
        // Names that are the same even so are an error, as for other programs.
        assert_eq!(input.rejected.len(), 1);
    }

    #[test]
    fn each_file_is_read_in_its_own_dialect() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let paths = [
            write("arc.py", "def a(I):\n    return vmirror(I)\n"),
            write("batt.py", "def b(S, I, C):\n    return vmirror_t(I)\n"),
            write(
                "re.py",
                "from dsl import *\ndef verify_c(I: Grid) -> Grid:\n    return vmirror(I)\n",
            ),
        ];
        let input = read_programs(&paths, None).expect("programs");
        assert_eq!(input.rejected, []);
        assert_eq!(input.dialects, [Dialect::ArcDsl, Dialect::Batt, Dialect::ReArc]);
        let dialects: Vec<Dialect> = input.programs.iter().map(|p| p.dialect).collect();
        assert_eq!(dialects, input.dialects);
        // One dialect for all: the names of another are unknown.
        let input = read_programs(&paths, Some(Dialect::ReArc)).expect("programs");
        assert_eq!((input.programs.len(), input.rejected.len()), (2, 1));
        assert_eq!(input.rejected[0].line, 2);
    }
}
