//! Parses the command line of `cargo xtask`.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::Parser;
use lexopt::prelude::*;

/// A command with its options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    Setup,
    Test(TestOptions),
    Tidy,
    Soak {
        filter: Option<String>,
    },
    Bench {
        name: Option<String>,
        passed_on: Vec<OsString>,
    },
    NewWorkload {
        name: String,
    },
    Wheel,
    Docs {
        /// The path of a program that is already built.
        program: Option<PathBuf>,
        /// Whether to make the pages of the reference alone.
        only_reference: bool,
    },
}

/// Options of `cargo xtask test`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Skips slow steps.
    pub(crate) fast: bool,
    /// Installs nothing, not even the virtual environment.
    pub(crate) no_install: bool,
}

/// The result of parsing a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedArgs {
    Help(&'static str),
    Chore(Chore),
}

/// Parses a command line.
pub(crate) fn parse(mut args: Parser) -> Result<ParsedArgs, lexopt::Error> {
    let command = match args.next()? {
        None | Some(Long("help") | Short('h')) => return Ok(ParsedArgs::Help(HELP)),
        Some(Value(command)) => command.string()?,
        Some(flag) => return Err(flag.unexpected()),
    };
    let (mut chore, help) = match command.as_str() {
        "setup" => (Chore::Setup, SETUP_HELP),
        "test" => (Chore::Test(TestOptions::default()), TEST_HELP),
        "tidy" => (Chore::Tidy, TIDY_HELP),
        "soak" => (Chore::Soak { filter: None }, SOAK_HELP),
        "bench" => {
            let (name, passed_on) = (None, Vec::new());
            (Chore::Bench { name, passed_on }, BENCH_HELP)
        }
        "new-workload" => {
            let name = String::new();
            (Chore::NewWorkload { name }, NEW_WORKLOAD_HELP)
        }
        "wheel" => (Chore::Wheel, WHEEL_HELP),
        "docs" => (Chore::Docs { program: None, only_reference: false }, DOCS_HELP),
        "help" => return Ok(ParsedArgs::Help(HELP)),
        other => return Err(format!("there is no command `{other}`").into()),
    };
    loop {
        if let Chore::Bench { passed_on, .. } = &mut chore
            && let Some(mut rest) = args.try_raw_args()
            && rest.next_if(|word| word == "--").is_some()
        {
            *passed_on = rest.collect();
        }
        let Some(arg) = args.next()? else {
            return match &chore {
                Chore::NewWorkload { name } if name.is_empty() => {
                    Err("new-workload needs a NAME".into())
                }
                _ => Ok(ParsedArgs::Chore(chore)),
            };
        };
        match (&mut chore, arg) {
            (_, Long("help") | Short('h')) => return Ok(ParsedArgs::Help(help)),
            (Chore::Test(options), Long("fast")) => options.fast = true,
            (Chore::Test(options), Long("no-install")) => options.no_install = true,
            (Chore::Docs { program, .. }, Long("program")) => *program = Some(args.value()?.into()),
            (Chore::Docs { only_reference, .. }, Long("reference")) => *only_reference = true,
            (Chore::NewWorkload { name }, Value(word)) if name.is_empty() => {
                *name = word.string()?
            }
            (
                Chore::Soak { filter: name @ None } | Chore::Bench { name: name @ None, .. },
                Value(word),
            ) => *name = Some(word.string()?),
            (_, other) => return Err(other.unexpected()),
        }
    }
}

const HELP: &str = "\
The repository's own chores.

Usage: cargo xtask COMMAND

Commands:
  test [--fast] [--no-install]  set up, then check everything: what CI runs
  setup                         only the set-up
  tidy                          the repository's rules: layers, names, papers
  soak [FILTER]                 the tests that are too long for CI
  bench [NAME] [-- ARGS]        list the benchmarks, or run those whose name contains NAME
  new-workload NAME             a workload's folder from the template, registered
  wheel                         build a Python wheel for other machines, and check it
  docs [--reference]            make the reference and the pictures of the documents again

`cargo xtask COMMAND --help` says more.

Examples:
  cargo xtask test              before you send a change
  cargo xtask test --fast       while you work on it";

const WHEEL_HELP: &str = "\
Builds a Python wheel that runs on every Linux with glibc 2.28 or newer, without Rust, and checks
it: its size, the symbols it needs, and a few calls in a fresh environment without graphics drivers.

Usage: cargo xtask wheel

The wheel is in target/wheels; its path is the last line. maturin and zig, which links against an
older glibc, are installed into target/wheel-tools. A release build takes about ten minutes.";

const TEST_HELP: &str = "\
Sets up what the tests need, then checks everything and ends with a table.

Usage: cargo xtask test [--fast] [--no-install]

Steps: set-up, fmt, tidy, clippy, build, tests (doc tests too), demo, template (a new workload in
a copy of the workspace). A failing step does not stop the others, except that nothing is tested
after a failed set-up or build.

Options:
  --fast        the inner loop: leaves out doc tests, demo and template, and says so
  --no-install  installs nothing, not even .venv; what needs it is skipped, and said so
  -h, --help    this text

The set-up makes a virtual environment in .venv, and adds rustfmt and clippy with rustup. System
packages are installed only as root or under CI; otherwise the command to run is printed.

A test that cannot run prints SKIPPED and the reason; it is listed at the end. With the variable
CI set, whatever could not run counts as failed.

The tests see SWATHE_PYTHON, the interpreter of .venv.

Exit codes: 0 all well, 1 something failed, 2 bad usage.";

const SETUP_HELP: &str = "\
Does the set-up of `cargo xtask test` and nothing else.

Usage: cargo xtask setup

A virtual environment goes into .venv (made again when xtask/requirements.txt changes), rustfmt
and clippy come through rustup. System packages are installed only as root or under CI; otherwise
the command to run is printed.";

const TIDY_HELP: &str = "\
Checks the repository's rules and says for each breach the file, the line and what to do.

Usage: cargo xtask tidy

Rules: crates depend only on lower layers; ARCHITECTURE.md names the crates and paths that exist;
no file called utils, helpers, common or base; no path of somebody's machine; manifests inherit
from the workspace; CHANGELOG.md has an Unreleased section. Files over 700 lines are warned about.
Clippy checks the rest, such as that libraries do not print.

The files are those git tracks or would add.";

const SOAK_HELP: &str = "\
Runs the tests marked #[ignore], which are too long for CI, with SWATHE_SOAK=1 set.

Usage: cargo xtask soak [FILTER]

FILTER is a part of the tests' names. The tests are listed first.";

const BENCH_HELP: &str = "\
Lists the benchmarks, or runs those whose name contains NAME, in release.

Usage: cargo xtask bench [NAME] [-- ARGS]

Benchmarks are the crates' bench targets, and their examples called bench_…. Date, machine,
compiler, commit and command are printed with the figures. ARGS go to the benchmark.

Examples:
  cargo xtask bench                    what there is
  cargo xtask bench overhead           run the one called overhead";

const NEW_WORKLOAD_HELP: &str = "\
Makes workloads/NAME from the template in xtask/template and registers it.

Usage: cargo xtask new-workload NAME

The template is a whole workload: a solver with a test, and a command with flags, run folder,
resume, shards, progress and report. Afterwards `swathe NAME FILE --out RUN` works: it sums the
numbers of each line of a file. Change it from there.

NAME has lower-case letters and digits.";

const DOCS_HELP: &str = "\
Makes what is generated in the documents again: the pages under docs/reference, from what the code
declares, and the pictures of pages, with a headless Chromium.

Usage: cargo xtask docs [--reference | --program FILE]

For the pictures it builds swathe as the tests do, runs `swathe demo` into a temporary folder, and writes a PNG under
docs/ for every row of PICTURES in xtask/src/docs.rs. A page with errors on its console fails.

Options:
  --reference     makes the reference alone, without a browser
  --program FILE  takes the demo from this swathe and builds nothing
  -h, --help      this text

The browser is chromium, chromium-browser or google-chrome in PATH, or what SWATHE_BROWSER says;
`cargo xtask setup` brings it.";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<ParsedArgs, lexopt::Error> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(Parser::from_args(words))
    }

    #[track_caller]
    fn check(line: &str, chore: Chore) {
        assert_eq!(parsed(line).unwrap(), ParsedArgs::Chore(chore), "{line}");
    }

    #[test]
    fn chores_are_understood() {
        let test = |fast, no_install| Chore::Test(TestOptions { fast, no_install });
        check("test", test(false, false));
        check("test --no-install --fast", test(true, true));
        check("setup", Chore::Setup);
        check("tidy", Chore::Tidy);
        let filter = Some("kill".to_owned());
        check("soak kill", Chore::Soak { filter });
        check("docs", Chore::Docs { program: None, only_reference: false });
        check("docs --reference", Chore::Docs { program: None, only_reference: true });
        let name = "mine".to_owned();
        check("new-workload mine", Chore::NewWorkload { name });
        let program = Some(PathBuf::from("a/swathe"));
        check("docs --program a/swathe", Chore::Docs { program, only_reference: false });
        for (line, name, passed_on) in [
            ("bench", None, &[][..]),
            ("bench plan", Some("plan"), &[]),
            ("bench plan -- --help x", Some("plan"), &["--help", "x"]),
            ("bench -- --help", None, &["--help"]),
        ] {
            let name = name.map(str::to_owned);
            let passed_on = passed_on.iter().map(OsString::from).collect();
            check(line, Chore::Bench { name, passed_on });
        }
    }

    #[test]
    fn help_fits_the_command() {
        for (line, help) in [
            ("", HELP),
            ("--help", HELP),
            ("help", HELP),
            ("test --fast --help", TEST_HELP),
            ("bench -h", BENCH_HELP),
        ] {
            assert_eq!(parsed(line).unwrap(), ParsedArgs::Help(help), "{line}");
        }
    }

    #[test]
    fn bad_usage_names_the_word() {
        for (line, word) in [
            ("tets", "`tets`"),
            ("--fast", "--fast"),
            ("test --slow", "--slow"),
            ("test --fast=yes", "--fast"),
            ("tidy now", "now"),
            ("tidy -- now", "now"),
            ("soak a b", "b"),
            ("bench --all", "--all"),
            ("bench a b", "b"),
            ("new-workload", "NAME"),
            ("new-workload a b", "b"),
            ("docs now", "now"),
            ("docs --program", "--program"),
            ("docs --program a b", "b"),
        ] {
            let message = parsed(line).unwrap_err().to_string();
            assert!(message.contains(word), "{line}: {message}");
        }
    }
}
