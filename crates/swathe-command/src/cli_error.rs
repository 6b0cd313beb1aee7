//! Errors of a command: a message, a hint for the user and the exit status.

use std::process::ExitCode;

use swathe_run::store::run_folder::FolderError;

use crate::declaration::WrongSetting;
use crate::stderr;

/// The exit status of the program. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// All problems are solved.
    Solved = 0,
    /// At least one problem failed or was rejected; the others are solved.
    SomeFailed = 1,
    /// Bad usage, or an input named on the command line that cannot be used.
    Usage = 2,
    /// Verification found different answers.
    Mismatch = 3,
    /// The output cannot be written.
    Output = 4,
    /// Interrupted; finished outcomes are committed.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// Why a command ends early.
#[derive(Debug)]
pub struct CliError {
    /// The exit status.
    pub code: Code,
    message: String,
    hint: Option<String>,
}

impl CliError {
    /// An error with this exit status.
    pub fn new(code: Code, message: impl Into<String>) -> CliError {
        CliError { code, message: message.into(), hint: None }
    }

    /// Bad usage, or an input that cannot be used.
    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::new(Code::Usage, message)
    }

    /// A setting that has a wrong value; `origin` is where the value comes from.
    pub fn wrong_setting(origin: &str, wrong: &WrongSetting) -> CliError {
        let WrongSetting { value, wrong, .. } = wrong;
        CliError::usage(format!("{origin} is '{value}', {}", wrong.complaint)).hint(&wrong.hint)
    }

    /// The same with a hint for the user.
    pub fn hint(self, hint: impl Into<String>) -> CliError {
        CliError { hint: Some(hint.into()), ..self }
    }

    /// The message and the hint, for a caller that raises exceptions.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        }
    }

    /// Prints the message and the hint to stderr.
    pub fn print(&self) {
        stderr::print_error(&self.message, self.hint.as_deref());
    }
}

impl From<FolderError> for CliError {
    fn from(error: FolderError) -> CliError {
        let message = error.to_string();
        let (code, hint) = match &error {
            FolderError::Exists { complete: true, .. } => {
                (Code::Usage, "the run is complete: choose another --out, or remove the folder")
            }
            FolderError::Exists { complete: false, .. } => {
                (Code::Usage, "add --resume to go on with it, or choose another --out")
            }
            FolderError::NotARun { .. } => (Code::Usage, "choose a new or empty folder for --out"),
            FolderError::NoRun { .. } => (Code::Usage, "give the folder that --out made"),
            FolderError::Differs { .. } => (
                Code::Usage,
                "repeat the settings and inputs it was made with, or choose another --out",
            ),
            FolderError::InUse { .. } => (Code::Output, "wait for the other process, or stop it"),
            FolderError::Damaged { .. } => {
                (Code::Usage, "what is whole can be read; start again in another --out")
            }
            FolderError::Foreign { .. } => (
                Code::Usage,
                "put the files of this run back, or begin anew in another --out: no row was written from it",
            ),
            FolderError::NoId { .. } => (
                Code::Usage,
                "report, merge and swathe.open_run read it; go on with it by the version that began it, or choose another --out",
            ),
            FolderError::Vanished { .. } => (
                Code::Output,
                "the folder was changed during the run and may be incomplete; start again in a new one",
            ),
            FolderError::Link { .. } => (
                Code::Output,
                "remove the link, or choose another --out (which may be a link to a folder itself)",
            ),
            FolderError::ManifestLine { .. } => (
                Code::Usage,
                "no row was written from it; move manifest.jsonl aside and add --resume: it is made again from the parts",
            ),
            FolderError::Incomplete { .. } => (Code::Usage, "finish every shard, then merge again"),
            FolderError::Write { .. } => (
                Code::Output,
                "what was committed before is safe: make room or allow writing, then add --resume",
            ),
            FolderError::Read { .. } => (Code::Usage, "check that it exists and may be read"),
        };
        CliError::new(code, message).hint(hint)
    }
}
