//! The command line of `cargo xtask`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser};

/// The repository's own chores.
///
/// Examples:
///   cargo xtask test              before you send a change
///   cargo xtask test --fast       while you work on it
#[derive(Debug, Parser, PartialEq, Eq)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", verbatim_doc_comment)]
pub(crate) enum Chore {
    /// Set up, then check everything: what continuous integration runs
    ///
    /// Steps: set-up, fmt, tidy, clippy, build, tests (doc tests too), demo, template (a new workload in
    /// a copy of the workspace). A failing step does not stop the others, except that nothing is tested
    /// after a failed set-up or build.
    ///
    /// The set-up makes a virtual environment in .venv, and adds rustfmt and clippy with rustup. System
    /// packages are installed only as root or under CI; otherwise the command to run is printed.
    ///
    /// A test that cannot run prints SKIPPED and the reason; it is listed at the end. With the variable
    /// CI set, whatever could not run counts as failed.
    ///
    /// The tests see SWATHE_PYTHON, the interpreter of .venv.
    ///
    /// Exit codes: 0 if all passed, 1 if something failed, 2 after bad usage.
    Test(TestOptions),
    /// Only the set-up of `test`
    Setup,
    /// The repository's rules: layers, names, documents
    ///
    /// Says for each breach the file, the line and what to do. Rules: crates depend only on lower
    /// layers; ARCHITECTURE.md names the crates and paths that exist; no file called utils, helpers,
    /// common or base; no path of somebody's machine; manifests inherit from the workspace;
    /// CHANGELOG.md has an Unreleased section. Files over 700 lines are warned about. Clippy checks the
    /// rest, such as that libraries do not print. The files are those git tracks or would add.
    Tidy,
    /// The tests marked #[ignore], which are too long for continuous integration
    ///
    /// The variable SWATHE_SOAK is set. The tests are listed first.
    Soak {
        /// A part of the tests' names.
        filter: Option<String>,
    },
    /// List the benchmarks, or run those whose name contains NAME, in release
    ///
    /// Benchmarks are the crates' bench targets, and their examples called bench_…. Date, machine,
    /// compiler, commit and command are printed with the figures.
    Bench {
        /// A part of the benchmarks' names.
        name: Option<String>,
        /// Arguments of the benchmark.
        #[arg(last = true, value_name = "ARGS")]
        passed_on: Vec<OsString>,
    },
    /// Make a workload's folder from the template, and register it
    ///
    /// The template is a whole workload: a solver with a test, and a command with flags, run folder,
    /// resume, shards, progress and report. Afterwards `swathe NAME FILE --out RUN` works: it sums the
    /// numbers of each line of a file. Change it from there.
    NewWorkload {
        /// Lower-case letters and digits.
        name: String,
    },
    /// Build a Python wheel for other machines, and check it
    ///
    /// It runs on every Linux with glibc 2.28 or newer, without Rust. Checked are its size, the symbols it
    /// needs, and a few calls in a fresh environment without graphics drivers. The wheel is in
    /// target/wheels; its path is the last line. maturin and zig, which links against an older glibc, are
    /// installed into target/wheel-tools. A release build takes about ten minutes.
    Wheel,
    /// Make what is generated in the documents again
    ///
    /// The pages under docs/reference come from what the code declares, the pictures of pages from a headless
    /// Chromium. For these it runs `swathe demo` into a temporary folder, and writes a PNG under docs/ for every row of PICTURES
    /// in xtask/src/docs.rs. A page with errors on its console fails. The browser is chromium,
    /// chromium-browser or google-chrome in PATH, or what SWATHE_BROWSER says; `cargo xtask setup`
    /// installs it.
    Docs {
        /// Take the demo from this swathe, and build nothing.
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
        /// Make the pages of the reference alone, without a browser.
        #[arg(long = "reference", conflicts_with = "program")]
        only_reference: bool,
    },
}

/// Options of `cargo xtask test`.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// The inner loop: leave out doc tests, demo and template, and say so.
    #[arg(long)]
    pub(crate) fast: bool,
    /// Install nothing, not even .venv; what needs it is skipped, and said so.
    #[arg(long)]
    pub(crate) no_install: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Chore, clap::Error> {
        Chore::try_parse_from(["cargo xtask"].into_iter().chain(line.split_whitespace()))
    }

    #[test]
    fn arguments_of_a_benchmark_are_passed_on() {
        for (line, name, passed_on) in [
            ("bench", None, &[][..]),
            ("bench plan -- --help x", Some("plan"), &["--help", "x"]),
            ("bench -- --help", None, &["--help"]),
        ] {
            let name = name.map(str::to_owned);
            let passed_on = passed_on.iter().map(OsString::from).collect();
            assert_eq!(parsed(line).unwrap(), Chore::Bench { name, passed_on }, "{line}");
        }
    }

    #[test]
    fn bad_usage_names_the_word() {
        for (line, word) in [
            ("tets", "tets"),
            ("--fast", "--fast"),
            ("test --slow", "--slow"),
            ("tidy now", "now"),
            ("soak a b", "b"),
            ("new-workload", "<NAME>"),
            ("docs --program", "--program"),
        ] {
            let message = parsed(line).unwrap_err().to_string();
            assert!(message.contains(word), "{line}: {message}");
        }
    }
}
