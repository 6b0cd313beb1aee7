//! Runs other programs and prints their command lines.

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// It ran and returned a failure status.
    Failed { line: String, status: ExitStatus },
    /// It could not be started.
    NotStarted { line: String, source: std::io::Error },
}

/// Prints the command line and runs it; its output goes to this process's output.
pub(crate) fn run(command: &mut Command) -> Result<(), CommandError> {
    say(command);
    let status = command.status();
    judge(command, status)
}

/// Prints the command line that is about to run.
pub(crate) fn say(command: &Command) {
    println!("$ {}", line(command));
}

/// Converts the status of a command into a result that names the command.
pub(crate) fn judge(
    command: &Command,
    status: std::io::Result<ExitStatus>,
) -> Result<(), CommandError> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::Failed { line: line(command), status }),
        Err(source) => Err(CommandError::NotStarted { line: line(command), source }),
    }
}

/// Whether a command succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The output of a command, trimmed; `None` if it failed or is not installed.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// The cargo that started this process, to run in the repository's root.
pub(crate) fn cargo(root: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root);
    command
}

/// The command as a user would type it.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = name.to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { line, status } => match status.code() {
                Some(code) => write!(f, "`{line}` ended with exit code {code}"),
                None => write!(f, "`{line}` was killed ({status})"),
            },
            Self::NotStarted { line, source } => write!(f, "`{line}` did not start: {source}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named_with_its_code() {
        let error = run(Command::new("/bin/sh").args(["-c", "exit 7"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c exit 7` ended with exit code 7");
    }

    #[test]
    fn an_absent_command_is_told_apart_from_a_failing_one() {
        let absent = || Command::new("swathe-no-such-program");
        assert!(matches!(run(&mut absent()), Err(CommandError::NotStarted { .. })));
        assert!(!succeeds(&mut absent()));
        assert_eq!(answer(&mut absent()), None);
    }
}
