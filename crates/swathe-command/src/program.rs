//! Programs: a workload's command as plain data, and how a process runs it.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Once, OnceLock};

use clap::ArgMatches;
use swathe::Gpu;
use swathe_run::kind::RunKind;
use swathe_run::store::run_folder::FolderError;

use crate::cli_error::{CliError, Code};
use crate::declaration::names_of;
use crate::option_defaults::{with_defaults, wrong_value};
use crate::{interrupt, settings, status, stderr, variables};

/// A workload's command, as plain data. It is registered by one line in the list of programs.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The kind of its runs. The kind's name is also the name of the command and of its section in
    /// `swathe.toml`.
    pub kind: &'static RunKind,
    /// Declares its settings: the `augment_args` of a struct that derives clap's `Args`.
    pub settings: fn(clap::Command) -> clap::Command,
    /// The default of `--prefetch`: one batch per thread (`None`), or a number if the problems are
    /// already in memory.
    pub n_prefetch: Option<usize>,
    /// Whether there are GPU kernels; only then is a driver loaded.
    pub has_kernels: bool,
    /// The command line.
    pub command: fn() -> clap::Command,
    /// Runs the command.
    pub run: fn(&ArgMatches) -> Result<Code, CliError>,
    /// Its part of `swathe demo`.
    pub demo: Option<Demo>,
    /// Its part of `swathe devices --calibrate`: measures operations on the CPU and on these GPUs,
    /// and saves the costs.
    pub calibrate: Option<Calibrate>,
    /// How `swathe bench` learns which operations a run consists of.
    pub operations: Option<Operations>,
    /// Further ways that `swathe bench` measures on one thread: a name and the flags.
    pub bench_ways: &'static [(&'static str, &'static str)],
}

/// A workload's own timing of its operations.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    /// The flags of a run that times them.
    pub flags: &'static str,
    /// The operations of such a run, the slowest first.
    pub read: fn(&Path) -> Result<Vec<Operation>, FolderError>,
}

/// What one operation of a workload took in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The workload's name for it.
    pub name: String,
    /// How often it ran.
    pub n_calls: u64,
    /// How long it ran in all.
    pub ms: f64,
}

impl Program {
    /// A program without its own settings, kernels, demo or calibration.
    pub const fn plain(
        kind: &'static RunKind,
        command: fn() -> clap::Command,
        run: fn(&ArgMatches) -> Result<Code, CliError>,
    ) -> Program {
        Program {
            kind,
            settings: |command| command,
            n_prefetch: None,
            has_kernels: false,
            command,
            run,
            demo: None,
            calibrate: None,
            operations: None,
            bench_ways: &[],
        }
    }

    /// The names of its settings.
    pub fn setting_names(&self) -> Vec<String> {
        names_of(&(self.settings)(clap::Command::new("settings")))
    }
}

/// The `main` function of a binary that consists of one program.
pub fn main(program: &'static Program) -> ExitCode {
    // Leaking is fine, because this happens once per process.
    prepare(Box::leak(Box::new([program])));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let words = arguments.iter().map(|word| word.to_string_lossy().into_owned());
    let command = with_defaults(program, &words.collect::<Vec<String>>());
    execute(arguments, command, |matches| (program.run)(matches)).into()
}

/// Parses arguments, the program's name first, runs the command and returns the exit status. All
/// errors and panics are printed to stderr.
pub fn execute(
    arguments: Vec<OsString>,
    command: clap::Command,
    run: impl FnOnce(&ArgMatches) -> Result<Code, CliError>,
) -> Code {
    let ended = words(arguments).and_then(|words| {
        // Set before the arguments are parsed, so that parse errors are printed as JSON too.
        let asks_for_json = |pair: &[String]| pair[0] == "--progress" && pair[1] == "json";
        let is_json = words.windows(2).any(asks_for_json)
            || words.iter().any(|word| word == "--progress=json")
            || std::env::var("SWATHE_PROGRESS").is_ok_and(|style| style == "json");
        stderr::set_json(is_json);
        settings::set_words(words.clone());
        let matches = match command.arg(quiet_flag()).try_get_matches_from(&words) {
            Ok(matches) => matches,
            Err(error) => return help_or_fault(&error, &words),
        };
        if matches.get_flag(QUIET) {
            stderr::set_quiet();
        }
        variables::warn_of_unknown();
        // The panic hook has already printed the panic, unless it happened in guarded code.
        catch_unwind(AssertUnwindSafe(|| run(&matches))).unwrap_or_else(|panic| {
            let what = swathe::panic_message(panic);
            Err(CliError::new(Code::Output, format!("internal error: {what}")).hint(
                "committed results are safe; continue with --resume (more --memory may help)",
            ))
        })
    });
    match ended {
        Ok(code) => code,
        Err(fault) => {
            fault.print();
            fault.code
        }
    }
}

const QUIET: &str = "quiet";

/// A global flag, accepted by every command at any position.
fn quiet_flag() -> clap::Arg {
    clap::Arg::new(QUIET)
        .short('q')
        .long(QUIET)
        .global(true)
        .action(clap::ArgAction::SetTrue)
        .help("Print only warnings and errors besides the results")
}

/// The arguments as text. They must be UTF-8, because they are written to JSON files.
fn words(arguments: Vec<OsString>) -> Result<Vec<String>, CliError> {
    let words = arguments.into_iter().enumerate().map(|(at, word)| {
        word.into_string().map_err(|word| {
            CliError::usage(format!("argument {at} is not UTF-8: {word:?}"))
                .hint("rename the file, or give its folder")
        })
    });
    let words: Vec<String> = words.collect::<Result<_, _>>()?;
    Ok(without_help_of_help(words))
}

/// `swathe help --help` and `swathe ot help --help` mean `swathe --help` and `swathe ot --help`.
fn without_help_of_help(mut words: Vec<String>) -> Vec<String> {
    if let [.., help, flag] = words.as_slice()
        && help == "help"
        && matches!(flag.as_str(), "--help" | "-h")
    {
        words.remove(words.len() - 2);
    }
    words
}

/// Prints help to stdout and returns success; turns any other parse result of these words into an
/// error.
///
/// # Errors
/// If the arguments could not be parsed.
pub fn help_or_fault(error: &clap::Error, words: &[String]) -> Result<Code, CliError> {
    if !error.use_stderr() {
        // A closed pipe (`| head -1`) is not an error.
        let _ = error.print();
        return Ok(Code::Solved);
    }
    if let Some(wrong) = wrong_value(error, words) {
        return Err(wrong);
    }
    let text = error.render().to_string();
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        status!("{}", text.trim_end());
        return Ok(Code::Usage);
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    Err(CliError::usage(text.trim_end()))
}

/// Prepares the process for commands: installs the signal handlers, silences panics that become
/// outcomes, and registers the programs.
pub fn prepare(programs: &'static [&'static Program]) {
    interrupt::install();
    // A process of Python runs many commands, and one hook is enough.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // A guarded panic becomes an outcome or an error; a message would only break the
            // progress bar.
            if !swathe::is_guarded() {
                usual(info);
            }
        }));
    });
    register(programs);
}

/// A workload's part of `swathe demo`.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// Writes sample data into this folder.
    pub make: fn(&Path) -> std::io::Result<()>,
    /// The commands to run, without the program's name. `{data}` is replaced by the folder of the
    /// samples and `{out}` by the folder for runs.
    pub commands: &'static [&'static str],
    /// Returns a closing message, given the folder of the runs.
    pub close: fn(&Path) -> Result<Option<String>, CliError>,
}

/// See [`Program::calibrate`].
pub type Calibrate = fn(&[Gpu]) -> Result<Code, CliError>;

static PROGRAMS: OnceLock<&'static [&'static Program]> = OnceLock::new();

/// Registers the programs, once, before any command runs.
fn register(programs: &'static [&'static Program]) {
    PROGRAMS.get_or_init(|| programs);
}

/// The registered programs.
pub fn programs() -> &'static [&'static Program] {
    PROGRAMS.get().copied().unwrap_or_default()
}

/// The kinds of runs of the registered programs.
pub fn kinds() -> Vec<&'static RunKind> {
    programs().iter().map(|program| program.kind).collect()
}
