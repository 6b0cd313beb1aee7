//! Errors of the browser and its pages.

use std::path::PathBuf;
use std::time::Duration;

/// There is no browser to drive, so a test that needs one is skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBrowser {
    /// None of the usual program names is in `PATH`.
    #[error(
        "no browser: none of {} is in PATH; install the package chromium, or set SWATHE_BROWSER \
         to the program",
        names.join(", ")
    )]
    NotInPath {
        /// The names that were searched for.
        names: &'static [&'static str],
    },
    /// `SWATHE_BROWSER` is not the path of a file.
    #[error("no browser: SWATHE_BROWSER is {}, which is no file; correct it or unset it", path.display())]
    NotThere {
        /// The value of the variable.
        path: PathBuf,
    },
}

/// Why a call to the browser or a page failed.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// See [`NoBrowser`].
    #[error(transparent)]
    NoBrowser(#[from] NoBrowser),
    /// No temporary folder could be created for the profile.
    #[error("the browser's profile needs a temporary folder: {source}")]
    Profile {
        /// The error of the system.
        source: std::io::Error,
    },
    /// The program could not be started.
    #[error("{} did not start: {source}", program.display())]
    NotStarted {
        /// The browser.
        program: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A path that does not lead to a file.
    #[error("{} cannot be opened: {source}", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The browser ended, or closed its end of the pipe.
    #[error("the browser went away before {waited_for}; its last words:\n{last_words}")]
    Gone {
        /// What was being waited for.
        waited_for: String,
        /// The end of the browser's stderr.
        last_words: String,
    },
    /// A time limit passed.
    #[error(
        "{waited_for} did not come within {limit:?}{}",
        listed("; the page's troubles", troubles)
    )]
    TookTooLong {
        /// What was waited for.
        waited_for: String,
        /// The time limit.
        limit: Duration,
        /// The page's errors up to then, which are often the cause.
        troubles: Vec<String>,
    },
    /// The browser rejected a command.
    #[error("the browser refused {method}: {message}")]
    Refused {
        /// The protocol's name of the command.
        method: String,
        /// The browser's message.
        message: String,
    },
    /// An answer lacks a field that the protocol promises.
    #[error("the browser's answer to {method} has no `{field}`")]
    Incomplete {
        /// The protocol's name of the command.
        method: String,
        /// The missing field.
        field: &'static str,
    },
    /// A page could not be loaded.
    #[error("{url} was not loaded: {why}")]
    NotLoaded {
        /// The address.
        url: String,
        /// The browser's name for the reason, such as `net::ERR_FILE_NOT_FOUND`.
        why: String,
    },
    /// A script threw, or its promise was rejected.
    #[error("`{script}` threw: {message}")]
    Threw {
        /// The script.
        script: String,
        /// The exception's text.
        message: String,
    },
    /// No element matches.
    #[error("no element matches `{selector}`")]
    NoElement {
        /// The CSS selector.
        selector: String,
    },
    /// The element has no extent on the page.
    #[error("`{selector}` is not shown: it has no extent")]
    NotShown {
        /// The CSS selector.
        selector: String,
    },
    /// A click on the element's centre would hit another element.
    #[error("the centre of `{selector}` is covered by {by}")]
    Covered {
        /// The CSS selector.
        selector: String,
        /// The beginning of the tag that would be hit, or a text if there is none.
        by: String,
    },
    /// A key whose name is unknown.
    #[error(
        "there is no key `{key}`: use one character, or a name as Tab, Enter, ArrowDown, \
         with Shift+, Control+, Alt+ or Meta+ before it"
    )]
    UnknownKey {
        /// The requested key.
        key: String,
    },
}

fn listed(title: &str, lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("{title}: {}", lines.join("; ")) }
}
