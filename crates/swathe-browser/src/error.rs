//! What can go wrong between a test and its page.

use std::path::PathBuf;
use std::time::Duration;

/// There is no browser to drive, which for a test is a reason to be skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBrowser {
    /// None of the names it goes by is a program in `PATH`.
    #[error(
        "no browser: none of {} is in PATH; install the package chromium, or set SWATHE_BROWSER \
         to the program",
        names.join(", ")
    )]
    NotInPath {
        /// What was looked for.
        names: &'static [&'static str],
    },
    /// `SWATHE_BROWSER` names something that is no file.
    #[error("no browser: SWATHE_BROWSER is {}, which is no file; correct it or unset it", path.display())]
    NotThere {
        /// What the variable says.
        path: PathBuf,
    },
}

/// Why the browser or a page did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// See [`NoBrowser`].
    #[error(transparent)]
    NoBrowser(#[from] NoBrowser),
    /// No temporary folder could be made for the profile.
    #[error("the browser's profile needs a temporary folder: {source}")]
    Profile {
        /// What the system said.
        source: std::io::Error,
    },
    /// The program could not be started at all.
    #[error("{} did not start: {source}", program.display())]
    NotStarted {
        /// The browser.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A path that no address can be made of.
    #[error("{} cannot be opened: {source}", path.display())]
    NoFile {
        /// What was to be opened.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The browser ended, or closed its end of the pipe.
    #[error("the browser went away before {waited_for}; its last words:\n{last_words}")]
    Gone {
        /// What did not come any more.
        waited_for: String,
        /// The end of its stderr.
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
        /// What the page had complained about by then, which is often why.
        troubles: Vec<String>,
    },
    /// The browser answered that it would not.
    #[error("the browser refused {method}: {message}")]
    Refused {
        /// The protocol's name of what was asked.
        method: String,
        /// The browser's words.
        message: String,
    },
    /// An answer lacks a field that the protocol promises.
    #[error("the browser's answer to {method} has no `{field}`")]
    Incomplete {
        /// The protocol's name of what was asked.
        method: String,
        /// What is not there.
        field: &'static str,
    },
    /// A page could not be fetched.
    #[error("{url} was not loaded: {why}")]
    NotLoaded {
        /// What was to be opened.
        url: String,
        /// The browser's name for the reason, as `net::ERR_FILE_NOT_FOUND`.
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
    /// The element takes no room on the page.
    #[error("`{selector}` is not shown: it has no extent")]
    NotShown {
        /// The CSS selector.
        selector: String,
    },
    /// A click on the element's centre would hit another.
    #[error("the centre of `{selector}` is covered by {by}")]
    Covered {
        /// The CSS selector.
        selector: String,
        /// The beginning of the tag that would be hit, or that it is nothing.
        by: String,
    },
    /// A key that has no name here.
    #[error(
        "there is no key `{key}`: use one character, or a name as Tab, Enter, ArrowDown, \
         with Shift+, Control+, Alt+ or Meta+ before it"
    )]
    UnknownKey {
        /// What was asked for.
        key: String,
    },
}

fn listed(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("{title}: {}", lines.join("; "))
    }
}
