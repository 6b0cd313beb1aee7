//! `swathe demo`: makes sample data, runs every workload on it and prints where the results are.

use std::fs;
use std::path::Path;

use crate::flags::DemoFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::program::{Demo, programs};
use swathe_command::status;

/// A file that marks the folder as made by a demo, so that the next demo may replace it.
const MARK: &str = ".swathe-demo";

pub(crate) fn demo(flags: &DemoFlags) -> Result<Code, CliError> {
    let out = &flags.out;
    let output_fault = |error: &dyn std::fmt::Display| {
        CliError::new(Code::Output, format!("cannot write {}: {error}", out.display()))
            .hint("choose another folder with --out")
    };
    clear(out)?;
    fs::create_dir_all(out.join("data")).map_err(|error| output_fault(&error))?;
    fs::write(out.join(MARK), "").map_err(|error| output_fault(&error))?;
    let data = out.join("data");
    status!("making sample data in {}", data.display());
    let demos: Vec<Demo> = programs().iter().filter_map(|program| program.demo).collect();
    for demo in &demos {
        (demo.make)(&data).map_err(|error| output_fault(&error))?;
    }
    for line in demos.iter().flat_map(|demo| demo.commands) {
        let fill = |word: &str| {
            let word = word.replace("{data}", &data.display().to_string());
            word.replace("{out}", &out.display().to_string())
        };
        let mut words: Vec<String> = line.split(' ').map(fill).collect();
        status!("\n$ swathe {}", words.join(" "));
        words.insert(0, "swathe".to_owned());
        words.extend(["--progress".to_owned(), flags.progress.clone()]);
        let code = crate::type_in(words)?;
        if code != Code::Solved {
            return Ok(code);
        }
    }
    status!("");
    for demo in &demos {
        if let Some(sentence) = (demo.close)(out)? {
            status!("{sentence}");
        }
    }
    let first = demos.iter().flat_map(|demo| demo.commands).next();
    let run = first.and_then(|line| line.split("{out}/").nth(1)?.split(' ').next());
    if let Some(run) = run {
        let page = out.join(run).join("report.html");
        status!("Open {} in a browser.", page.display());
    }
    swathe_command::stdout::line(out.display())?;
    Ok(Code::Solved)
}

/// Removes the folder of an earlier demo. Fails if another folder is not empty.
fn clear(out: &Path) -> Result<(), CliError> {
    if out.join(MARK).exists() {
        return fs::remove_dir_all(out).map_err(|error| {
            CliError::new(Code::Output, format!("cannot replace {}: {error}", out.display()))
        });
    }
    match fs::read_dir(out).map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            Err(CliError::usage(format!("{} is not empty and no demo made it", out.display()))
                .hint("choose another folder with --out"))
        }
        _ => Ok(()),
    }
}
