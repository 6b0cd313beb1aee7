//! The part of `swathe demo` with grid programs.

use std::fs;
use std::path::Path;

use swathe_command::program::Demo;

pub(crate) const DEMO: Demo = Demo {
    make,
    commands: &[
        "arc --programs {data}/programs.py --tasks {data}/tasks.json --out {out}/grids --verify 5",
    ],
    close: |_| Ok(None),
};

/// The project's own grid programs, and their tasks in one file.
fn make(folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("programs.py"), swathe_arc::samples::PROGRAMS)?;
    fs::write(folder.join("tasks.json"), swathe_arc::samples::tasks_json())
}
