//! The browser process: how it is found, started and cleaned up.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::connection::Connection;
use crate::error::{BrowserError, NoBrowser};
use crate::page::Page;

/// Program names of Chromium, the likeliest first.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The time limit of every wait, unless a page sets another.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// How long the browser may take to exit by itself.
const GRACE: Duration = Duration::from_secs(5);

/// Headless, quiet, the same on every machine, and without access to other machines.
const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    // A machine without a mouse is not a desktop to style sheets; these values mean `fine` and
    // `hover`.
    "--blink-settings=primaryPointerType=4,availablePointerTypes=4,primaryHoverType=2,availableHoverTypes=2",
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    // Containers often have little shared memory.
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-quic",
    "--disable-renderer-backgrounding",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--password-store=basic",
];

/// The browser reads commands from descriptor 3 and writes answers to 4, but a child process gets
/// only the first three descriptors. The shell therefore redirects its stdin and stdout to 3 and 4.
/// It runs until the browser exits and then removes the profile. This works even if the test
/// process is killed: its end of the pipe closes, and the browser then exits by itself.
const SHELL: &str = r#"profile=$1; shift
"$@" 3<&0 4>&1 0</dev/null 1>&2
rm -rf "$profile""#;

/// A headless browser with its own process and profile. Dropping it ends the process and removes
/// the profile.
///
/// Starting one takes a good part of a second, so tests in one file may share one in a `static
/// OnceLock`. A static is never dropped, but the browser detects the end of the test process and
/// cleans up.
#[derive(Debug)]
pub struct Browser {
    connection: Connection,
    child: Child,
    /// Removed when it is dropped.
    _profile: TempDir,
}

impl Browser {
    /// The path of the browser: the value of `SWATHE_BROWSER`, or the first of the usual names in
    /// `PATH`. A test that gets an error prints it as the reason why it is skipped.
    ///
    /// # Errors
    /// If `SWATHE_BROWSER` is set but no file, or none of the names is in `PATH`.
    pub fn find() -> Result<PathBuf, NoBrowser> {
        if let Some(path) = env::var_os("SWATHE_BROWSER").map(PathBuf::from) {
            return if path.is_file() { Ok(path) } else { Err(NoBrowser::NotThere { path }) };
        }
        let folders: Vec<PathBuf> =
            env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
        NAMES
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
            .find(|path| path.is_file())
            .ok_or(NoBrowser::NotInPath { names: NAMES })
    }

    /// Starts the browser that [`find`](Self::find) returns, and waits until it answers.
    ///
    /// # Errors
    /// If there is no browser, it does not start, or it does not answer in time.
    pub fn start() -> Result<Self, BrowserError> {
        let program = Self::find()?;
        let profile = tempfile::Builder::new().prefix("swathe-browser-").tempdir();
        let profile = profile.map_err(|source| BrowserError::Profile { source })?;
        let started = start(&program, profile.path());
        let (mut child, log) = started
            .map_err(|source| BrowserError::NotStarted { program: program.clone(), source })?;
        let to_browser = child.stdin.take().expect("stdin was asked to be piped");
        let from_browser = child.stdout.take().expect("stdout was asked to be piped");
        let browser = Self {
            connection: Connection::new(to_browser, from_browser, log),
            child,
            _profile: profile,
        };
        // The first start on a busy machine is slow, so it gets more time.
        let first_limit = 3 * LIMIT;
        browser.connection.call(None, "Browser.getVersion", json!({}), first_limit)?;
        Ok(browser)
    }

    /// Opens an address (`file://` or `http://`) in a new page and waits until it is loaded.
    /// [`file_url`] makes the address of a file.
    ///
    /// # Errors
    /// If the address cannot be loaded within the time limit.
    pub fn open(&self, url: &str) -> Result<Page<'_>, BrowserError> {
        let page = self.blank()?;
        page.go(url)?;
        Ok(page)
    }

    /// An empty page, for settings that must precede the first [`go`](Page::go): a viewport, dark
    /// colours.
    ///
    /// # Errors
    /// If the browser does not open a page within the time limit.
    pub fn blank(&self) -> Result<Page<'_>, BrowserError> {
        Page::blank(&self.connection)
    }
}

/// The address of a file that exists.
///
/// # Errors
/// If there is no such file.
pub fn file_url(path: &Path) -> Result<String, BrowserError> {
    let absolute = path
        .canonicalize()
        .map_err(|source| BrowserError::NoFile { path: path.to_owned(), source })?;
    let mut url = "file://".to_owned();
    for &byte in absolute.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            url.push(byte.into());
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(url)
}

/// Starts the process and returns it with the file that receives its stderr.
fn start(program: &Path, profile: &Path) -> std::io::Result<(Child, File)> {
    let log = tempfile::tempfile()?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SHELL, "swathe-browser"]).arg(profile);
    command.arg(program).args(FLAGS);
    let mut user_data = std::ffi::OsString::from("--user-data-dir=");
    user_data.push(profile);
    command.arg(user_data);
    // This process made the folder, so the folder's owner is its user. Chromium's sandbox does not
    // work as root.
    if fs::metadata(profile)?.uid() == 0 {
        command.arg("--no-sandbox");
    }
    command.arg("about:blank");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log.try_clone()?)
        // A process group of its own, so that all its children can be killed with it.
        .process_group(0);
    Ok((command.spawn()?, log))
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A failure does not matter: the process group is killed below.
        let _ = self.connection.call(None, "Browser.close", json!({}), GRACE);
        self.connection.wait_for_end(GRACE);
        // The shell is not reaped yet, so its id is still the id of the process group.
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("/bin/sh");
        kill.args(["-c", "kill -KILL -- \"$1\"", "kill", &group]);
        // There may be no process left to kill.
        let _ = kill.stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_survive_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b#ü%.html");
        fs::write(&path, "").unwrap();
        let url = file_url(&path).unwrap();
        assert!(url.starts_with("file:///"), "{url}");
        assert!(url.ends_with("/a%20b%23%C3%BC%25.html"), "{url}");
        let absent = file_url(&folder.path().join("b")).unwrap_err().to_string();
        assert!(absent.contains("/b cannot be opened"), "{absent}");
    }

    /// Linux lists processes as folders.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_left_of_a_dropped_browser() {
        if let Err(reason) = Browser::find() {
            assert!(env::var_os("CI").is_none(), "{reason}");
            println!("SKIPPED: {reason}");
            return;
        }
        let browser = Browser::start().unwrap();
        let profile = browser._profile.path().to_owned();
        let n_processes = || {
            let named = profile.to_str().unwrap().as_bytes();
            let processes = fs::read_dir("/proc").unwrap().flatten();
            let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            lines.filter(|line| line.windows(named.len()).any(|part| part == named)).count()
        };
        let page = browser.blank().unwrap();
        assert_eq!(page.evaluate("1 + 1").unwrap(), 2);
        drop(page);
        assert!(profile.is_dir());
        assert!(n_processes() > 1);
        drop(browser);
        assert!(!profile.exists());
        assert_eq!(n_processes(), 0);
    }
}
