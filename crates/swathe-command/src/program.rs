//! Programs: what a workload's command is made of.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::ArgMatches;
use swathe::Gpu;
use swathe_run::kind::RunKind;

use crate::cli_error::{CliError, Code};
use crate::{interrupt, settings, stderr, variables};

/// A workload's command, as plain data. Registering it is one line where the program is put
/// together.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What it adds to its runs. The kind's name is the command's and the section's in
    /// `swathe.toml`.
    pub kind: &'static RunKind,
    /// The settings that its section may have besides those of every run.
    pub settings: &'static [&'static str],
    /// The default of `--prefetch`: one batch per thread (`None`), or a number where the problems are
    /// in memory already.
    pub n_prefetch: Option<usize>,
    /// Whether there are kernels for graphics processors: only then is a driver loaded.
    pub has_kernels: bool,
    /// The command line.
    pub command: fn() -> clap::Command,
    /// Carries the command out.
    pub run: fn(&ArgMatches) -> Result<Code, CliError>,
    /// Its part of `swathe demo`.
    pub demo: Option<Demo>,
    /// Its part of `swathe devices --calibrate`: measures operations on the CPU and on these
    /// graphics processors, and keeps what they took.
    pub calibrate: Option<Calibrate>,
}

impl Program {
    /// A program without settings of its own, kernels, a demo or calibration.
    pub const fn plain(
        kind: &'static RunKind,
        command: fn() -> clap::Command,
        run: fn(&ArgMatches) -> Result<Code, CliError>,
    ) -> Program {
        Program {
            kind,
            settings: &[],
            n_prefetch: None,
            has_kernels: false,
            command,
            run,
            demo: None,
            calibrate: None,
        }
    }
}

/// Carries out a program that is a command of its own: its command line is this process's.
pub fn main(program: &'static Program) -> ExitCode {
    // Once in a process, so that nothing is lost by never freeing it.
    prepare(Box::leak(Box::new([program])));
    carry_out((program.command)(), |matches| (program.run)(matches))
}

/// Reads the words that this process was started with, carries the command out, and gives the exit
/// status: what is wrong is told on stderr, whatever it is.
pub fn carry_out(
    command: clap::Command,
    run: impl FnOnce(&ArgMatches) -> Result<Code, CliError>,
) -> ExitCode {
    let ended = words().and_then(|words| {
        // Before the words are understood: what is wrong with them is told in the same way.
        let asks_for_json = |pair: &[String]| pair[0] == "--progress" && pair[1] == "json";
        let is_json = words.windows(2).any(asks_for_json)
            || words.iter().any(|word| word == "--progress=json")
            || std::env::var("SWATHE_PROGRESS").is_ok_and(|style| style == "json");
        stderr::set_json(is_json);
        settings::set_words(words.clone());
        let matches = match command.arg(quiet_flag()).try_get_matches_from(words) {
            Ok(matches) => matches,
            Err(error) => return help_or_fault(&error),
        };
        if matches.get_flag(QUIET) {
            stderr::set_quiet();
        }
        variables::warn_of_unknown();
        // The hook has told of a panic where it happened, unless it was expected to be caught.
        catch_unwind(AssertUnwindSafe(|| run(&matches))).unwrap_or_else(|panic| {
            let what = swathe::panic_message(panic);
            Err(CliError::new(
                Code::Output,
                format!("the command had to be given up: {what}"),
            )
            .hint("more memory may help; what a run has committed is safe, go on with --resume"))
        })
    });
    match ended {
        Ok(code) => code.into(),
        Err(fault) => {
            fault.print();
            fault.code.into()
        }
    }
}

const QUIET: &str = "quiet";

/// Every command has it, at any place.
fn quiet_flag() -> clap::Arg {
    clap::Arg::new(QUIET)
        .short('q')
        .long(QUIET)
        .global(true)
        .action(clap::ArgAction::SetTrue)
        .help("Print only warnings and errors besides the results")
}

/// The words of the command line. They end up in JSON files, which are text.
fn words() -> Result<Vec<String>, CliError> {
    let words = std::env::args_os().enumerate().map(|(at, word)| {
        word.into_string().map_err(|word| {
            CliError::usage(format!("argument {at} is not UTF-8: {word:?}"))
                .hint("rename the file, or give its folder")
        })
    });
    words.collect()
}

/// Help goes to stdout and is no fault.
pub fn help_or_fault(error: &clap::Error) -> Result<Code, CliError> {
    if !error.use_stderr() {
        // A reader that has seen enough (`| head -1`) is no fault.
        let _ = error.print();
        return Ok(Code::Solved);
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    Err(CliError::usage(text.trim_end()))
}

/// Makes the process ready for commands: signals stop runs, panics that become outcomes are silent,
/// the programs are registered.
pub fn prepare(programs: &'static [&'static Program]) {
    interrupt::install();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // It is told as an outcome or an error; a message would only tear the progress bar apart.
        if !swathe::is_guarded() {
            usual(info);
        }
    }));
    register(programs);
}

/// A workload's part of `swathe demo`.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// Writes sample data into this folder.
    pub make: fn(&Path) -> std::io::Result<()>,
    /// The commands to run: words after the program's name, in which `{data}` stands for the folder
    /// with the samples and `{out}` for the one that runs go to.
    pub commands: &'static [&'static str],
    /// What is to be said when they have run, given the folder that the runs are in.
    pub close: fn(&Path) -> Result<Option<String>, CliError>,
}

/// See [`Program::calibrate`].
pub type Calibrate = fn(&[Gpu]) -> Result<Code, CliError>;

static PROGRAMS: OnceLock<&'static [&'static Program]> = OnceLock::new();

/// Says which programs there are, once, before any command is carried out.
fn register(programs: &'static [&'static Program]) {
    PROGRAMS.get_or_init(|| programs);
}

/// The programs there are.
pub fn programs() -> &'static [&'static Program] {
    PROGRAMS.get().copied().unwrap_or_default()
}

/// The kinds of runs that the programs make.
pub fn kinds() -> Vec<&'static RunKind> {
    programs().iter().map(|program| program.kind).collect()
}
