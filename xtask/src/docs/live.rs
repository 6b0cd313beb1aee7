//! The screenshot of the live page of a run.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use swathe_browser::{Area, Browser};

use super::{DocsError, HEIGHT_PX, smallest};
use crate::process;

/// The file name under `docs/`.
pub(super) const FILE: &str = "watch.png";

/// The run's folder, beside the demo's.
const RUN: &str = "FLOW";

/// The PNG of the live page of a run that is about half done.
pub(super) fn take(
    browser: &Browser,
    program: &Path,
    scratch: &Path,
) -> Result<Vec<u8>, DocsError> {
    let swathe = || {
        let mut command = Command::new(program);
        command.current_dir(scratch);
        command.env("XDG_CACHE_HOME", scratch.join("cache"));
        command
    };
    let file_error = |source| DocsError::File { path: scratch.to_owned(), source };
    let mut synth = swathe();
    synth.args(["ot", "synth", "--out", "frames", "--series", "10"]);
    synth.args(["--frames", "24", "--shape", "256x512"]);
    process::run(&mut synth).map_err(DocsError::Command)?;
    let mut run = swathe();
    run.args(["ot", "frames/pairs.csv", "--out", RUN]);
    run.args(["--epsilon", "1e-4", "--relaxation", "10"]);
    run.args(["--progress", "none"]);
    run.stdout(Stdio::null()).stderr(Stdio::null());
    let _run = Ended(run.spawn().map_err(file_error)?);
    wait_until_half_done(&scratch.join(RUN).join("live.json"))?;
    let mut watch = swathe();
    watch.args(["watch", RUN]);
    watch.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut watch = Ended(watch.spawn().map_err(file_error)?);
    let mut url = String::new();
    if let Some(stdout) = watch.0.stdout.take() {
        BufReader::new(stdout).read_line(&mut url).map_err(file_error)?;
    }
    let shoot = || {
        let page = browser.blank()?;
        page.set_viewport(1200, HEIGHT_PX, false)?;
        page.set_feature("prefers-reduced-motion", "reduce")?;
        page.go(url.trim())?;
        page.wait_for("document.querySelectorAll('main svg').length > 1")?;
        page.screenshot(Area::Viewport)
    };
    let png = shoot().map_err(DocsError::Browser)?;
    smallest(png, FILE)
}

/// A process that is killed when this guard is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until_half_done(live: &Path) -> Result<(), DocsError> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(120) {
        let text = std::fs::read_to_string(live).unwrap_or_default();
        let counts = serde_json::from_str::<Value>(&text).unwrap_or_default()["counts"].take();
        let n = |name: &str| counts[name].as_u64().unwrap_or(0);
        if 5 * n("n_solved") > 2 * n("n_problems") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(DocsError::NoPng {
        file: FILE,
        why: "the run to be watched did not get under way".to_owned(),
    })
}
