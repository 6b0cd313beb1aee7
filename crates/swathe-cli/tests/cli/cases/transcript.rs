//! A case: commands and what they print, as a text file that is run, compared and written again.
//!
//! A line of a case is one of these; anything else is an error:
//! - `# …` or an empty line: words for readers;
//! - `file NAME`: makes a file of the lines below it, which are indented by four spaces;
//! - `$ COMMAND`: runs a command. Below it stand its exit status if that is not 0 (`? 2`), its
//!   stdout (`| …`) and its stderr (`! …`), in this order. In them `[..]` stands for any text
//!   within a line, and a line `...` for any number of lines;
//! - `% COMMAND`: a command that must succeed, whatever it prints.
//!
//! A command whose first word is in [`super::vocabulary`] is carried out by the test; every other
//! one by `sh -e`, with `swathe` in its path, `$CASES` (the folder of cases)
//! and `$PYTHON` (the interpreter of tests). A command ends with its line unless the line ends with
//! a backslash.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;
use snapbox::data::DataFormat;
use snapbox::filter::NormalizeToExpected;
use snapbox::{Assert, Data, Redactions};
use swathe_testing::python;

use super::vocabulary::{self, Said};
use crate::program::{Ended, in_folder};

/// The folder of all cases, and of the files that they share.
pub(crate) fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases")
}

/// Runs a case and compares what it prints with its file.
#[track_caller]
pub(crate) fn check(name: &str) {
    let path = cases().join(format!("{name}.case"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let steps = parse(&expected).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut actual = String::new();
    for step in steps {
        match step.run(folder.path()) {
            Ok(text) => actual += &text,
            Err(skipped) => return skip(&skipped),
        }
    }
    compare(&actual, &path);
}

/// Compares a text with a file. The variable `SNAPSHOTS=overwrite` writes the file instead.
#[track_caller]
pub(crate) fn compare(actual: &str, path: &Path) {
    let expected = Data::read_from(path, Some(DataFormat::Text)).raw();
    Assert::new().action_env("SNAPSHOTS").eq(Data::text(actual).raw(), expected);
}

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    println!("SKIPPED: {reason}");
}

/// A part of a case.
enum Step {
    Words(String),
    File { name: String, lines: String },
    Command { mark: char, line: String, expected: Said },
}

fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let rest = line.get(2..).unwrap_or_default();
        if line.is_empty() || line.starts_with('#') {
            steps.push(Step::Words(line.to_owned()));
        } else if let Some(name) = line.strip_prefix("file ") {
            let mut body = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with("    ")) {
                body += &line[4..];
                body.push('\n');
            }
            steps.push(Step::File { name: name.to_owned(), lines: body });
        } else if line.starts_with("$ ") || line.starts_with("% ") {
            let mut command = rest.to_owned();
            while command.ends_with('\\') {
                let (_, more) = lines.next().ok_or("the last command has no end")?;
                command += "\n";
                command += more;
            }
            let mut expected = Said::default();
            while let Some((at, line)) =
                lines.next_if(|(_, line)| line.starts_with(['?', '|', '!']))
            {
                let rest = line.get(2..).unwrap_or_default();
                match line.as_bytes()[0] {
                    b'?' => {
                        let status = rest.parse();
                        expected.code = status.map_err(|_| format!("line {}: {line}", at + 1))?;
                    }
                    b'|' => expected.stdout += &format!("{rest}\n"),
                    _ => expected.stderr += &format!("{rest}\n"),
                }
            }
            let mark = char::from(line.as_bytes()[0]);
            steps.push(Step::Command { mark, line: command, expected });
        } else {
            return Err(format!("line {}: what is this? {line}", at + 1));
        }
    }
    Ok(steps)
}

impl Step {
    /// Carries the step out and says what belongs in the case. The error is why the case is
    /// skipped.
    fn run(self, folder: &Path) -> Result<String, String> {
        match self {
            Step::Words(line) => Ok(line + "\n"),
            Step::File { name, lines } => {
                let path = folder.join(&name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, &lines).unwrap();
                let indented = lines.lines().map(|line| format!("    {line}\n"));
                Ok(format!("file {name}\n{}", indented.collect::<String>()))
            }
            Step::Command { mark, line, expected } => {
                let said = match vocabulary::run(folder, &line) {
                    Some(said) => said?,
                    None => shell(folder, &line),
                };
                let said = match mark {
                    // A step of set-up that fails says all of it.
                    '%' if said.code == 0 => expected,
                    _ => said.settled(&expected, folder),
                };
                Ok(format!("{mark} {line}\n{said}"))
            }
        }
    }
}

/// Runs a line as a shell does, in a folder, with the program under test in the path.
pub(crate) fn shell(folder: &Path, line: &str) -> Said {
    let program = Path::new(env!("CARGO_BIN_EXE_swathe")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = in_folder(Command::new("sh"), folder);
    command
        .args(["-e", "-c", line])
        .env("PATH", format!("{}:{path}", program.display()))
        .env("CASES", cases())
        .env("PYTHON", python::interpreter())
        .env("LC_ALL", "C.UTF-8");
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said {
        // As a shell tells it.
        code: output.status.code().unwrap_or(128),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// What differs from run to run, and what stands for it.
static PATTERNS: LazyLock<Redactions> = LazyLock::new(|| {
    let mut patterns = Redactions::new();
    for (name, pattern) in [
        ("[TIME]", r" in (?<redacted>\d+\.\d+ s) \("),
        ("[TIME]", r"(?<redacted>\d+(\.\d+)? (ns|µs|ms|s|min)) (alone|in the run|together)"),
        ("[TIME]", r"borrowed for (?<redacted>\d+\.\d+ s)"),
        ("[TIME]", r"(?m) (?<redacted> *\d+\.\d) +\d+/\d+$"),
        ("[TIME]", r"(?<redacted>\d+\.\d) times the time per pair"),
        ("[MEMORY]", r"; (?<redacted>\d+ MiB) reserved"),
        ("[MEMORY]", r"within (?<redacted>\d+(\.\d+)? GiB) of memory"),
        ("[N]", r"batch(es)? on (?<redacted>\d+) threads?"),
        ("[RATE]", r"\((?<redacted>\d+(\.\d+)?) a second\)"),
        ("[FIGURES]", r"(?m)^.*; memory .* at most, reserved .*$"),
        ("[N]", r": (?<redacted>\d+) files? checked"),
        ("[N]", r"but was written with (?<redacted>\d+)"),
        ("[N]", r"made again from (?<redacted>\d+) parts"),
        ("[HASH]", r"\b[0-9a-f]{32,64}\b"),
    ] {
        patterns.insert(name, Regex::new(pattern).unwrap()).unwrap();
    }
    patterns
});

/// Lines that appear only where a machine is slow.
static PROGRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^[^\n]* of \d+ done, [^\n]*\n").unwrap());

impl Said {
    /// Both streams as a terminal shows them, messages before data.
    pub(crate) fn without_progress(&self) -> String {
        format!("{}{}", PROGRESS.replace_all(&self.stderr, ""), self.stdout)
    }

    /// What is expected if it was said; otherwise what was said, with patterns for what differs
    /// from run to run.
    fn settled(self, expected: &Said, folder: &Path) -> Said {
        let settle = |actual: &str, expected: &str| {
            let actual = visible(&actual.replace(folder.to_str().unwrap(), "[FOLDER]"));
            let filter = NormalizeToExpected::new().redact_with(&PATTERNS);
            filter.normalize(Data::text(actual), &Data::text(expected)).to_string()
        };
        Said {
            code: self.code,
            stdout: settle(&self.stdout, &expected.stdout),
            stderr: settle(&PROGRESS.replace_all(&self.stderr, ""), &expected.stderr),
        }
    }
}

/// Shows control characters, and an end without a line break.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '\n' => shown.push(c),
            c if c.is_control() => shown += &format!("<0x{:02x}>", u32::from(c)),
            c => shown.push(c),
        }
    }
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown += "<no line break>\n";
    }
    shown
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.code != 0 {
            writeln!(f, "? {}", self.code)?;
        }
        for (mark, text) in [('|', &self.stdout), ('!', &self.stderr)] {
            for line in text.lines() {
                let space = if line.is_empty() { "" } else { " " };
                writeln!(f, "{mark}{space}{line}")?;
            }
        }
        Ok(())
    }
}

impl From<Ended> for Said {
    fn from(ended: Ended) -> Said {
        Said { code: ended.code, stdout: ended.stdout, stderr: ended.stderr }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stdout: &str, stderr: &str) -> Said {
        Said { code: 0, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    fn settled(actual: &str, expected: &str) -> String {
        said(actual, "").settled(&said(expected, ""), Path::new("/folder")).stdout
    }

    #[test]
    fn what_is_expected_stays_and_what_differs_shows() {
        assert_eq!(settled("a\nb\nc\n", "...\nc\n"), "...\nc\n");
        assert_eq!(settled("one 1 two\n", "one [..] two\n"), "one [..] two\n");
        assert_eq!(settled("one 1 three\n", "one [..] two\n"), "one 1 three\n");
        assert_eq!(settled("a\n", ""), "a\n");
        assert_eq!(settled("", "a\n"), "");
        assert_eq!(settled("", "...\n"), "...\n");
        assert_eq!(settled("\u{1b}[1m/folder", ""), "<0x1b>[1m[FOLDER]<no line break>\n");
        let figures = "x: 3 solved in 0.01 s (53962.6 a second)\n2 threads busy 4.2 %; memory 45 MiB at most, reserved 135 MiB of 17.1 GiB\n";
        assert_eq!(settled(figures, ""), "x: 3 solved in [TIME] ([RATE] a second)\n[FIGURES]\n");
    }

    #[test]
    fn lines_that_are_no_step_are_refused() {
        assert!(parse("swathe demo\n").is_err());
        assert!(parse("$ swathe demo\n? many\n").is_err());
        assert!(parse("$ swathe \\\n").is_err());
        assert_eq!(parse("# words\n\n$ a\n| b\n% c\nfile d\n    e\n").unwrap().len(), 5);
    }

    /// An exit status that is not expected is no part of `...`.
    #[test]
    fn a_status_always_counts() {
        let folder = tempfile::tempdir().unwrap();
        for (text, shown) in [
            ("$ exit 3\n! ...\n", "$ exit 3\n? 3\n! ...\n"),
            ("$ true\n? 3\n", "$ true\n"),
            ("% echo a; exit 4\n", "% echo a; exit 4\n? 4\n| a\n"),
            ("% echo a\n", "% echo a\n"),
        ] {
            let steps = parse(text).unwrap();
            let run: String =
                steps.into_iter().map(|step| step.run(folder.path()).unwrap()).collect();
            assert_eq!(run, shown);
        }
    }
}
