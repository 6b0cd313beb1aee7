//! What was asked for on the command line.

use std::path::PathBuf;

/// A chore with its options.
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
        passed_on: Vec<String>,
    },
    Docs {
        /// A swathe that is built already.
        program: Option<PathBuf>,
    },
}

/// How much `cargo xtask test` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Leave out what is slow.
    pub(crate) fast: bool,
    /// Whether anything may be installed, the virtual environment included.
    pub(crate) may_install: bool,
}

/// Why there is no chore to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// The help text was asked for.
    Asked(&'static str),
    /// The command line cannot be understood; `text` is the help that fits.
    Wrong { message: String, text: &'static str },
}

/// Reads a command line, without the program's name.
pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Chore, Usage> {
    let mut words = words.into_iter();
    let Some(command) = words.next() else {
        return Err(Usage::Asked(HELP));
    };
    let rest: Vec<String> = words.collect();
    let help = match command.as_str() {
        "setup" => SETUP_HELP,
        "test" => TEST_HELP,
        "tidy" => TIDY_HELP,
        "soak" => SOAK_HELP,
        "bench" => BENCH_HELP,
        "docs" => DOCS_HELP,
        "help" | "--help" | "-h" => return Err(Usage::Asked(HELP)),
        other => {
            return Err(Usage::Wrong {
                message: format!("there is no command `{other}`"),
                text: HELP,
            });
        }
    };
    // What follows `--` belongs to the benchmark, its `--help` included.
    let ours = rest
        .iter()
        .position(|word| word == "--")
        .unwrap_or(rest.len());
    if rest[..ours]
        .iter()
        .any(|word| word == "--help" || word == "-h")
    {
        return Err(Usage::Asked(help));
    }
    let wrong = |word: &str| Usage::Wrong {
        message: format!("`cargo xtask {command}` does not understand `{word}`"),
        text: help,
    };
    match command.as_str() {
        "test" => {
            let mut options = TestOptions {
                fast: false,
                may_install: true,
            };
            for word in &rest {
                match word.as_str() {
                    "--fast" => options.fast = true,
                    "--no-install" => options.may_install = false,
                    _ => return Err(wrong(word)),
                }
            }
            Ok(Chore::Test(options))
        }
        "soak" => Ok(Chore::Soak {
            filter: at_most_one_name(&rest).map_err(wrong)?,
        }),
        "bench" => Ok(Chore::Bench {
            name: at_most_one_name(&rest[..ours]).map_err(wrong)?,
            passed_on: rest.into_iter().skip(ours + 1).collect(),
        }),
        "docs" => match rest.as_slice() {
            [] => Ok(Chore::Docs { program: None }),
            [flag, program] if flag == "--program" => Ok(Chore::Docs {
                program: Some(program.into()),
            }),
            [flag] if flag == "--program" => Err(wrong("--program without a file")),
            [flag, _, word, ..] if flag == "--program" => Err(wrong(word)),
            [word, ..] => Err(wrong(word)),
        },
        nothing_more => match rest.first() {
            Some(word) => Err(wrong(word)),
            None if nothing_more == "setup" => Ok(Chore::Setup),
            None => Ok(Chore::Tidy),
        },
    }
}

/// The one name among `words`, or the first word that is too many or a flag.
fn at_most_one_name(words: &[String]) -> Result<Option<String>, &str> {
    match words
        .iter()
        .enumerate()
        .find(|(i, word)| *i > 0 || word.starts_with('-'))
    {
        Some((_, word)) => Err(word),
        None => Ok(words.first().cloned()),
    }
}

const HELP: &str = "\
The repository's own chores.

Usage: cargo xtask COMMAND

Commands:
  test [--fast] [--no-install]  set up, then check everything: what CI runs
  setup                         only the set-up
  tidy                          the repository's rules: layers, printing, names, papers
  soak [FILTER]                 the tests that are too long for CI
  bench [NAME] [-- ARGS]        list the benchmarks, or run those whose name contains NAME
  docs [--program FILE]         make the pictures of the documents again

`cargo xtask COMMAND --help` says more.

Examples:
  cargo xtask test              before you send a change
  cargo xtask test --fast       while you work on it";

const TEST_HELP: &str = "\
Sets up what the tests need, then checks everything and ends with a table.

Usage: cargo xtask test [--fast] [--no-install]

Steps: set-up, fmt, tidy, clippy, build, tests (doc tests too), demo, python (once there is a
python/tests folder). A failing step does not stop the others, except that nothing is tested
after a failed set-up or build.

Options:
  --fast        the inner loop: leaves out doc tests, the demo and python, and says so
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
libraries do not print; no todo!() or unimplemented!(); no file called utils, helpers, common or
base; no path of somebody's machine; manifests inherit from the workspace; CHANGELOG.md has an
Unreleased section. Files over 700 lines are warned about.

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

const DOCS_HELP: &str = "\
Makes the pictures of pages that stand in the documents again, with a headless Chromium.

Usage: cargo xtask docs [--program FILE]

Builds swathe as the tests do, runs `swathe demo` into a temporary folder, and writes a PNG under
docs/ for every row of PICTURES in xtask/src/docs.rs. A page with errors on its console fails.

Options:
  --program FILE  takes the demo from this swathe and builds nothing
  -h, --help      this text

The browser is chromium, chromium-browser or google-chrome in PATH, or what SWATHE_BROWSER says;
`cargo xtask setup` brings it.";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Chore, Usage> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn chores_are_understood() {
        let test = |fast, may_install| Ok(Chore::Test(TestOptions { fast, may_install }));
        assert_eq!(parsed("test"), test(false, true));
        assert_eq!(parsed("test --no-install --fast"), test(true, false));
        assert_eq!(parsed("setup"), Ok(Chore::Setup));
        assert_eq!(parsed("tidy"), Ok(Chore::Tidy));
        assert_eq!(
            parsed("soak kill"),
            Ok(Chore::Soak {
                filter: Some("kill".to_owned())
            })
        );
        assert_eq!(
            parsed("bench plan -- --help"),
            Ok(Chore::Bench {
                name: Some("plan".to_owned()),
                passed_on: vec!["--help".to_owned()]
            })
        );
    }

    #[test]
    fn pictures_are_made_by_a_new_or_a_given_program() {
        assert_eq!(parsed("docs"), Ok(Chore::Docs { program: None }));
        let program = Some(PathBuf::from("a/swathe"));
        assert_eq!(
            parsed("docs --program a/swathe"),
            Ok(Chore::Docs { program })
        );
    }

    #[test]
    fn help_fits_the_command() {
        assert_eq!(parsed(""), Err(Usage::Asked(HELP)));
        assert_eq!(parsed("test --fast --help"), Err(Usage::Asked(TEST_HELP)));
        assert_eq!(parsed("bench -h"), Err(Usage::Asked(BENCH_HELP)));
    }

    #[test]
    fn bad_usage_names_the_word() {
        for (line, word) in [
            ("tets", "`tets`"),
            ("test --slow", "`--slow`"),
            ("tidy now", "`now`"),
            ("soak a b", "`b`"),
            ("bench --all", "`--all`"),
            ("docs now", "`now`"),
            ("docs --program", "`--program without a file`"),
            ("docs --program a b", "`b`"),
        ] {
            match parsed(line) {
                Err(Usage::Wrong { message, .. }) => assert!(message.contains(word), "{message}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
