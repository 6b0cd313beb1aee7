//! Stderr: status, warnings and errors. All output to stderr goes through this module.
//!
//! Write errors are ignored, so a closed or full stderr never ends a command. Control characters,
//! which inputs can contain, are escaped instead of sent to the terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::json;

use crate::visible::{shortened, visible};

/// Prints information about what a command does, except with `--quiet`. Takes the arguments of
/// `format!`.
#[macro_export]
macro_rules! status {
    ($($part:tt)*) => { $crate::stderr::print_status(&format!($($part)*)) };
}

/// Prints a warning, prefixed with `warning: `. Takes the arguments of `format!`.
#[macro_export]
macro_rules! warning {
    ($($part:tt)*) => { $crate::stderr::print_warning(&format!($($part)*)) };
}

/// Prints an error, prefixed with `error: `. Takes the arguments of `format!`.
#[macro_export]
macro_rules! error {
    ($($part:tt)*) => { $crate::stderr::print_error(&format!($($part)*), None) };
}

static IS_QUIET: AtomicBool = AtomicBool::new(false);
static IS_JSON: AtomicBool = AtomicBool::new(false);
/// What was printed since it is captured.
static CAPTURED: Mutex<Option<String>> = Mutex::new(None);

/// From now on, status messages are not printed.
pub fn set_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Calls `work`, and returns what it printed to stderr instead of printing it.
pub fn captured<T>(work: impl FnOnce() -> T) -> (T, String) {
    let captured = || CAPTURED.lock().unwrap_or_else(PoisonError::into_inner);
    *captured() = Some(String::new());
    let done = work();
    (done, captured().take().unwrap_or_default())
}

/// Calls `work` without printing status messages.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let was_quiet = IS_QUIET.swap(true, Ordering::Relaxed);
    let done = work();
    IS_QUIET.store(was_quiet, Ordering::Relaxed);
    done
}

/// Whether status messages are switched off.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Switches between JSON lines, for programs, and text.
pub fn set_json(is_json: bool) {
    IS_JSON.store(is_json, Ordering::Relaxed);
}

/// See [`status!`](crate::status).
pub fn print_status(text: &str) {
    if is_quiet() {
        return;
    }
    match is_json() {
        true if text.is_empty() => {}
        true => print_json(&json!({"event": "status", "text": visible(text)})),
        false => print_text(text),
    }
}

/// See [`warning!`](crate::warning).
pub fn print_warning(text: &str) {
    match is_json() {
        true => print_json(&json!({"event": "warning", "text": visible(text)})),
        false => print_text(&format!("warning: {text}")),
    }
}

/// Prints an error and a hint.
pub fn print_error(text: &str, hint: Option<&str>) {
    if is_json() {
        let hint = hint.map(visible);
        print_json(&json!({"event": "error", "text": visible(text.trim_end()), "hint": hint}));
        return;
    }
    print_text(&match hint {
        Some(hint) => format!("error: {text}\nhint: {hint}"),
        None => format!("error: {text}"),
    });
}

/// Prints a JSON document as one line.
pub fn print_json(document: &serde_json::Value) {
    write(&format!("{document}\n"));
}

fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

fn print_text(text: &str) {
    write(&styled(text, is_colored()));
}

/// The text to write: long lines are cut off, control characters are escaped, and labels are
/// coloured.
fn styled(text: &str, is_colored: bool) -> String {
    const N_CHARACTERS_MAX: usize = 4000;
    let mut styled = String::with_capacity(text.len() + 1);
    for line in text.split('\n') {
        let line = shortened(line, N_CHARACTERS_MAX);
        let line = visible(&line);
        let words = line.trim_start();
        let labels = [("error:", "31"), ("warning:", "33"), ("hint:", "32"), ("tip:", "32")];
        let label = labels.iter().find(|(label, _)| words.starts_with(label));
        match label {
            Some((label, color)) if is_colored => {
                let (indent, rest) = (line.len() - words.len(), &words[label.len()..]);
                let _ = write!(styled, "{:indent$}\x1b[1;{color}m{label}\x1b[0m{rest}", "");
            }
            _ => styled += &line,
        }
        styled.push('\n');
    }
    styled
}

/// Whether stderr is a terminal and colours are not switched off.
fn is_colored() -> bool {
    static IS_COLORED: OnceLock<bool> = OnceLock::new();
    *IS_COLORED.get_or_init(|| {
        let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        io::stderr().is_terminal() && !is_off && !is_dumb
    })
}

/// The only function that writes. A write error is ignored, because there is nowhere to report it.
fn write(text: &str) {
    if let Some(captured) = &mut *CAPTURED.lock().unwrap_or_else(PoisonError::into_inner) {
        captured.push_str(text);
        return;
    }
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_colors_and_inputs_have_none() {
        let text = "error: a\x1b[31mb\nhint: c";
        assert_eq!(styled(text, false), "error: a\\u{1b}[31mb\nhint: c\n");
        let colored = "\x1b[1;31merror:\x1b[0m a\\u{1b}[31mb\n\x1b[1;32mhint:\x1b[0m c\n";
        assert_eq!(styled(text, true), colored);
    }

    #[test]
    fn long_lines_are_cut() {
        let text = format!("short\n{}", "x".repeat(1 << 20));
        let shown = styled(&text, false);
        assert!(shown.len() < 5000, "{}", shown.len());
        assert!(shown.starts_with("short\nxxx"));
        assert!(shown.ends_with("… (1044576 more characters)\n"), "{}", &shown[3990..]);
    }
}
